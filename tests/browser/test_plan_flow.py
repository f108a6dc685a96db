"""Plan a budget and share it, in a real browser."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from dashboard.components.formats import at_most, number
from vips_core import PrivacyPlan

expect.set_options(timeout=60_000)  # generous, for busy machines

PLAN = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-7)


def headline(page):
    return page.get_by_test_id("stMetric").filter(has_text="ε by moments")


def settle(page):
    """Wait until the slow accountants have answered and every chart is drawn."""
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    expect(page.get_by_text("Computing…")).to_have_count(0)


def test_move_an_input_and_share_the_address(visit):
    page = visit("/plan")
    expect(headline(page)).to_contain_text(at_most(PLAN.epsilon("moments")))
    box = page.get_by_label("Noise σ, exact")
    box.fill("2")
    box.press("Enter")
    moved = at_most(PLAN.replace(noise_multiplier=2.0).epsilon("moments"))
    expect(headline(page)).to_contain_text(moved)
    expect(page).to_have_url(re.compile(r"[?&]sigma=2\.0"))

    slider = page.get_by_role("slider", name="Epochs")
    slider.focus()
    slider.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"[?&]epochs=1\.1"))
    settle(page)
    expect(page).to_have_url(re.compile(r"[?&]sigma=2\.0"))  # the slider leaves other values alone

    other = visit(page.url)
    expect(other.get_by_label("Noise σ, exact")).to_have_value("2")
    expect(other.get_by_label("Epochs, exact")).to_have_value("1.1")
    settle(other)
    expect(headline(other)).to_have_text(headline(page).inner_text(), use_inner_text=True)
    for name in ("Found at 1% false alarms", "Efficiency relative to full batches"):
        shown = page.get_by_test_id("stMetric").filter(has_text=name).inner_text()
        again = other.get_by_test_id("stMetric").filter(has_text=name)
        expect(again).to_have_text(shown, use_inner_text=True)
    assert "%" in shown
    assert parse_qs(urlsplit(other.url).query) == parse_qs(urlsplit(page.url).query)


def test_solve_for_noise_with_a_slow_accountant(visit):
    page = visit("/?accountant=pld&target=2")
    page.get_by_test_id("stSidebar").get_by_text("σ", exact=True).click()
    noise = number(PLAN.calibrate(2.0, "pld").noise_multiplier)
    expect(page.get_by_text(f"Noise σ = {noise} meets the target ε = 2.")).to_be_visible()
    expect(page).to_have_url(re.compile("solve=sigma"))


def test_bad_address_shows_a_sentence(visit):
    page = visit("/?sigma=abc&s=-5")
    alerts = page.get_by_test_id("stAlert")
    expect(alerts).to_contain_text(
        [
            "of at least 1 and at most 1,000,000,000, got -5; 20,000 is used instead.",
            "sigma must be a number of at least 0.001 and at most 1e7, got 'abc'; 1.24 is used instead.",
        ]
    )
    expect(headline(page)).to_contain_text(at_most(PLAN.epsilon("moments")))
    expect(page.get_by_text("Traceback")).to_have_count(0)


def test_tables_and_charts_are_there(visit):
    page = visit("/plan")
    settle(page)
    page.get_by_text("As a table").nth(2).click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("Accountant,Iterations,ε\nMoments,1,")


def test_nothing_is_fetched_from_elsewhere(chromium, server):
    context = chromium.new_context()
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server}/plan")
    settle(page)
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith((server, "data:", "blob:"))] == []
