"""No page has a serious finding of axe-core: contrast, names of controls, order of headings, and the like."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from dashboard import pages
from tests.pages import trained
from tests.small_rows import rows
from vips_core.store.budget import Cap

expect.set_options(timeout=60_000)
SMALL = {"width": 400, "height": 800}
STILL = "() => document.getAnimations().every(one => one.playState !== 'running')"  # new elements fade in

SIDEWAYS = """() => [...document.querySelectorAll('[data-testid="stMain"] *')]
    .filter(part => part.clientWidth && !part.closest('svg, .js-plotly-plot'))
    .filter(part => ['auto', 'scroll'].includes(getComputedStyle(part).overflowX))
    .filter(part => part.scrollWidth > part.clientWidth + 1)
    .map(part => part.outerHTML.slice(0, 200))"""  # elements that scroll sideways


def loaded(context, address):
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=180_000)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_function(STILL)
    return page


def fits(page):
    """Whether the page is no wider than the window."""
    return page.evaluate(
        """() => [document.documentElement, document.querySelector('[data-testid="stMain"]')]
            .every(part => part.scrollWidth <= part.clientWidth)"""
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium, server, theme):
    """Each page in one theme, and the two with the most kinds of elements in both."""
    names = sorted(pages.TITLES)
    names = {"plan", "learn", *(names[::2] if theme == "light" else names[1::2])}
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=theme)
    findings = {}
    for name in names:
        page = loaded(context, f"{server}/{'' if name == 'start' else name}")
        violations = Axe().run(page).response["violations"]
        serious = [
            f"{item['id']}: {item['nodes'][0]['html']}" for item in violations if item["impact"] != "minor"
        ]
        findings[name] = serious
        page.close()
    context.close()
    assert findings == dict.fromkeys(names, [])


@pytest.mark.parametrize("width", [400, 800])
def test_history_and_ledger_do_not_scroll_sideways(chromium, server, shelf, width):
    name = f"clinic{width}"
    shelf.add_data(
        name, rows(60, width), None, private=True, cap=Cap(3.0, 1e-3), unit="one patient", reason="a test"
    )
    run = trained(shelf, model="logistic", data=name, epsilon=1.0, delta=1e-4, epochs=2)
    context = chromium.new_context(viewport={"width": width, "height": 900})
    for address in (f"runs?runs={run}", "runs?part=budgets"):
        page = loaded(context, f"{server}/{address}")
        expect(page.get_by_text(name).filter(visible=True).first).to_be_visible()
        assert fits(page)
        assert page.evaluate(SIDEWAYS) == []
    context.close()


def test_a_narrow_screen_clips_nothing_and_shows_the_way(chromium, server):
    context = chromium.new_context(viewport=SMALL)
    page = loaded(context, server)
    for title, _ in pages.TITLES.values():
        expect(page.locator(".st-key-pages").get_by_role("link", name=title, exact=True)).to_be_visible()
    assert fits(page)
    for link in page.locator(".st-key-examples a p").all():
        assert link.evaluate("element => element.scrollWidth <= element.clientWidth")
    for name in ("plan", "risk", "frontier", "runs"):
        assert fits(loaded(context, f"{server}/{name}")), name
    context.close()
