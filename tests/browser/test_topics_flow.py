"""Train topics, watch, cancel, close the page and come back, and run out of budget, in a real browser."""

import re
import time

import pytest
from playwright.sync_api import expect

from tests.dashboard.topics_page import documents
from vips_core.store.budget import Cap

expect.set_options(timeout=120_000)  # generous, for busy machines

LONG = "methods=paper&epochs=200&noise=8&topics=2&batch=1"  # tens of thousands of quick steps


@pytest.fixture(scope="module", autouse=True)
def clinic(shelf):
    for name, seed in (("clinic", 10), ("ward", 20)):
        shelf.add_data(
            name, documents(200, seed), documents(40, 1), private=True, cap=Cap(1.0, 1e-4), unit="one person"
        )


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def status(page):
    return page.get_by_role("status").filter(has_text="Data")


def test_from_the_start_page_an_example_begins_with_one_click(visit, shelf):
    page = visit()
    expect(page.get_by_role("img", name=re.compile("Records stay behind the wall"))).to_be_visible()
    page.get_by_role("link", name="Find the topics").click()
    expect(page).to_have_url(re.compile(r"/topics\?.*runs=[0-9a-f]{8}"))
    expect(status(page)).to_contain_text("Data sotu")
    runs = re.search(r"runs=([0-9a-f%C,]+)", page.url).group(1).replace("%2C", ",").split(",")
    assert [shelf.run(run).request["method"] for run in runs] == ["refined", "strong", "non-private"]
    for run in runs:
        if shelf.run(run).status in ("queued", "running"):
            shelf.cancel(run)


def test_train_from_sample_data_to_the_picture(visit):
    page = visit("/topics?data=sotu&topics=3&epochs=0.5&words=10&epsilon=5&seed=1&methods=refined")
    button(page, "Train").click()
    expect(page.get_by_text(re.compile(r"Refined.*(waits|step \d+ of 10)"))).to_be_visible()
    expect(page.get_by_text("Topics side by side")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    rows = page.locator(".vips-topics tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("of the words")
    expect(page.get_by_text("this is a demonstration")).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)

    circles = page.get_by_role("figure", name=re.compile("numbered circles")).locator(".textpoint text")
    circles.filter(has_text="2").click(force=True)
    expect(page).to_have_url(re.compile("topic=2"))

    page.get_by_label("Text", exact=True).fill(
        "The army and the navy fight the war; taxes pay the public debt."
    )
    page.get_by_label("Text", exact=True).press("Control+Enter")
    expect(page.get_by_text("Words in the public vocabulary")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(5)

    other = visit(page.url)
    expect(other.locator(".vips-topics tbody tr").first).to_have_text(
        rows.first.inner_text(), use_inner_text=True
    )
    expect(other.get_by_label("Text", exact=True)).to_have_value("")


def test_close_the_page_come_back_by_its_address_and_cancel(visit, shelf):
    page = visit(f"/topics?data=clinic&{LONG}")
    expect(status(page)).to_contain_text("Private, ε = 1.00 of 1 left")
    button(page, "Train").click()
    button(page, "Spend and train").click()
    expect(page.get_by_text(re.compile(r"step [1-9][\d,]* of 40,000"))).to_be_visible()
    address = page.url
    run = re.search(r"runs=([0-9a-f]{8})", address).group(1)
    page.close()
    seen = shelf.run(run).step

    page = visit(address)
    expect(
        page.get_by_text(re.compile(r"As published.*step [\d,]+ of 40,000, ε = [\d.e-]+ so far"))
    ).to_be_visible()
    deadline = time.monotonic() + 60  # on a busy machine the first ε takes a while
    while shelf.run(run).step <= seen:
        assert time.monotonic() < deadline
        page.wait_for_timeout(100)
    expect(status(page)).to_contain_text("reserved")
    button(page, "Cancel").click()
    expect(
        page.get_by_text(re.compile(r"As published was cancelled after [\d,]+ of 40,000 steps"))
    ).to_be_visible()
    ended = shelf.run(run)
    assert ended.status == "cancelled"
    assert ended.step < 40000
    budget = shelf.budget("clinic")
    assert 0 < budget.planned_epsilon < 1
    expect(status(page)).not_to_contain_text("reserved")
    expect(status(page)).to_contain_text("Private, ε = 0.")


def test_run_out_of_budget_and_read_the_refusal(visit, shelf):
    page = visit("/topics?data=ward&methods=refined&epsilon=0.9&topics=2&epochs=10")
    expect(page.get_by_text("Non-private")).to_have_count(0)
    button(page, "Train").scroll_into_view_if_needed()
    place = button(page, "Train").bounding_box()
    middle = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.click(*middle)
    expect(button(page, "Spend and train")).to_be_enabled()
    page.mouse.click(*middle)  # a slow double click
    page.mouse.dblclick(*middle)
    expect(button(page, "Train")).to_be_disabled()
    assert not shelf.runs(data="ward")
    button(page, "Spend and train").click()
    expect(page.get_by_text("Topics side by side")).to_be_visible()
    expect(status(page)).to_contain_text("Private, ε = 0.2")
    expect(page.get_by_text("Held-out perplexity while training")).to_be_visible()
    button(page, "Train").click()
    alert = page.get_by_test_id("stAlert").filter(has_text="does not fit in the budget of ward")
    expect(alert).to_contain_text("of the cap of ε = 1")
    expect(alert).to_contain_text("fit with ε of at most")
    assert len(shelf.runs(data="ward")) == 1
    expect(page.get_by_text("Topics side by side")).to_be_visible()
