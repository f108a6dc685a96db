"""Compare runs, export a report and open it, import a config; click the surface; a sweep fills in."""

import re
import zipfile

import pytest
from playwright.sync_api import expect

from dashboard.components.formats import at_most
from tests.small_rows import rows
from vips_core import PrivacyPlan
from vips_core.jobs import worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store.budget import Cap

expect.set_options(timeout=90_000)  # generous, for busy machines

BASE = {"model": "logistic", "data": "small-runs", "delta": 1e-3, "epochs": 4.0}
PLAN = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-7)


@pytest.fixture(scope="module")
def runs(shelf):
    """Two finished runs in the served store, and one on private data."""
    store = shelf
    store.add_data("small-runs", rows(300, 0), rows(200, 1), private=False, unit="one row")
    store.add_data("clinic-runs", rows(300, 2), rows(200, 3), cap=Cap(3.0, 1e-4), unit="one patient")
    found = []
    for table in (
        BASE | {"epsilon": 1.0, "seed": 3},
        BASE | {"method": "paper", "noise": 4.0, "seed": 3},
        BASE | {"data": "clinic-runs", "epsilon": 1.0, "delta": 1e-4},
    ):
        found.append(submit(store, Request.from_mapping(table)))
        worker.work(store, found[-1])
    return found


def test_export_a_report_and_open_it_without_network(visit, runs, chromium, tmp_path):
    page = visit(f"/runs?runs={runs[0]},{runs[1]}")
    expect(page.get_by_text(f"run {runs[0]}: done")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Report").first.click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    with page.expect_download() as download:
        page.get_by_role("button", name="ZIP").first.click()
    assert zipfile.is_zipfile(download.value.path())

    context = chromium.new_context(offline=True)
    opened, asked = context.new_page(), []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(report.as_uri())
    expect(opened.get_by_role("heading", name=re.compile(runs[0]))).to_be_visible()
    opened.locator(".chart .main-svg").first.wait_for()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_a_narrow_window_lists_the_runs_instead_of_a_wide_table(visit, runs):
    page = visit(f"/runs?runs={runs[0]}")
    table, listed = page.get_by_test_id("stDataFrame").first, page.locator(".vips-rows")
    expect(table).to_be_visible()
    expect(listed).to_be_hidden()
    page.set_viewport_size({"width": 800, "height": 1000})
    expect(listed).to_be_visible()
    expect(table).to_be_hidden()
    expect(listed.locator("[aria-current]")).to_have_count(1)
    listed.locator(f'a[href$="{runs[1]}"]').click()
    expect(page).to_have_url(re.compile(f"runs={runs[0]}(,|%2C){runs[1]}"))
    expect(listed.locator("[aria-current]")).to_have_count(2)


def test_pin_and_delete_with_confirmation(visit, runs, shelf):
    store = shelf
    extra = submit(store, Request.from_mapping(BASE | {"epsilon": 2.0, "seed": 4}))
    worker.work(store, extra)
    page = visit(f"/runs?runs={extra}")
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Unpin")).to_be_visible()
    assert store.run(extra).pinned
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)  # what the click asked for is drawn
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name=f"Delete run {extra}").click()
    expect(page.get_by_text(f"run {extra}: done")).to_have_count(0)
    assert extra not in [run.id for run in store.runs()]


def test_budget_is_drawn_and_the_ledger_verified(visit, runs):
    page = visit("/runs?part=budgets")
    expect(page.get_by_role("heading", name="clinic-runs")).to_be_visible()
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_test_id("stAlert").filter(has_text="The ledger is intact")).to_be_visible()


def test_an_imported_config_is_trained(visit, runs):
    page = visit("/runs?part=import")
    box = page.get_by_label("Or paste it here")
    box.fill(Request.from_mapping(BASE | {"epsilon": 3.0, "seed": 11}).to_toml())
    box.press("Control+Enter")
    expect(page.get_by_text("A run of logistic")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("runs=[0-9a-f]{8}"))
    expect(page.get_by_text(re.compile("run [0-9a-f]{8}: done"))).to_be_visible()


def test_a_small_sweep_fills_in_and_its_address_restores_it(visit, runs):
    page = visit(
        "/frontier?preset=own&model=logistic&data=small-runs&epsilons=0.5,4&seeds=2&methods=refined,non-private"
    )
    page.get_by_role("button", name="Start 6 runs").click()
    expect(page).to_have_url(re.compile("sweep=[0-9a-f]{8}"))
    expect(page.get_by_text("6 of 6 runs finished.")).to_be_visible()
    expect(page.get_by_text("there and at every larger ε.")).to_be_visible()
    other = visit(page.url)
    expect(other.get_by_text("6 of 6 runs finished.")).to_be_visible()
    expect(other.get_by_test_id("stSlider")).to_have_count(2)  # seeds, utility


def test_a_click_on_the_surface_takes_its_values_and_the_plan_goes_on(visit):
    page = visit("/plan?sigma=1.24")
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    expect(page.get_by_text("Computing…")).to_have_count(0)
    surface = page.get_by_role("figure", name=re.compile("Heat map of ε")).locator(".js-plotly-plot")
    surface.scroll_into_view_if_needed()
    box = surface.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=5)
    page.wait_for_timeout(300)
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"])
    expect(page).not_to_have_url(re.compile(r"[?&]sigma=1\.24"))
    noise = float(re.search(r"sigma=([\d.]+)", page.url)[1])
    batch = int(re.search(r"[?&]s=(\d+)", page.url)[1])
    moved = PLAN.replace(noise_multiplier=noise, expected_batch=batch, epochs=1.0)
    headline = page.get_by_test_id("stMetric").filter(has_text="ε by moments")
    expect(headline).to_contain_text(at_most(moved.epsilon("moments")))
    expect(page.get_by_label("Noise σ, exact").first).to_have_value(f"{noise:g}")
    page.get_by_test_id("stMain").get_by_role("link", name="Train a risk model").click()
    expect(page).to_have_url(re.compile(rf"/risk\?.*noise={noise:g}"))


def test_a_cap_is_changed_with_a_name_and_a_reason_that_stay_in_view(visit, runs, shelf):
    page = visit("/runs?part=budgets")
    card = page.locator('[class*="st-key-narrow-budget-clinic-runs"]').locator(
        "xpath=ancestor::*[@data-testid='stVerticalBlock'][1]"
    )
    card.get_by_text("Change the cap").click()
    card.get_by_label("Cap on ε").fill("4")
    card.get_by_label("Your name").fill("Grace")
    card.get_by_role("button", name="Set the cap").click()
    expect(page.get_by_text("A larger cap needs a name and a reason, got no reason")).to_be_visible()
    assert shelf.data_row("clinic-runs").cap == Cap(3.0, 1e-4)
    card.get_by_role("textbox", name="Why").fill("a second study")
    card.get_by_role("button", name="Set the cap").click()
    expect(card.locator("table").get_by_text("a second study")).to_be_visible()
    assert shelf.data_row("clinic-runs").cap == Cap(4.0, 1e-4)


def test_tables_are_downloaded_in_our_way_alone(visit, runs):
    """Streamlit's own CSV would keep texts that a spreadsheet takes for formulas."""
    page = visit("/runs?part=budgets")
    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_role("button", name="Search: The ledger")).to_be_visible()
    expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
    expect(page.get_by_role("button", name="Download CSV")).to_be_visible()
