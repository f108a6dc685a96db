"""A report opens from a file, without network, with its charts drawn."""

import xml.etree.ElementTree as ElementTree

import pytest

from tests.reports import TABLE
from tests.small_rows import rows
from vips_core.jobs import worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.reports import report
from vips_core.store.store import Store


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("home"))
    store.add_data("small", rows(300, 0), rows(200, 1), private=False, unit="one row")
    run_id = submit(store, Request.from_mapping(TABLE | {"epsilon": 1.0, "seed": 3}))
    worker.work(store, run_id)
    out = tmp_path_factory.mktemp("report")
    report.write_run(store, run_id, out)
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_offline_with_charts(chromium, written, scheme):
    context = chromium.new_context(
        viewport={"width": 1440, "height": 1000}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.set_default_timeout(120_000)
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto((written / "report.html").as_uri())
    page.locator(".chart .main-svg").first.wait_for()
    assert page.locator(".chart").count() == 4  # score per step, ROC, calibration, attack
    for chart in page.locator(".chart").all():
        assert chart.locator(".scatterlayer path.js-line").count() >= 1
        box = chart.bounding_box()
        assert box["width"] > 600
        assert box["height"] >= 300
    ink = page.locator(".chart text").first.evaluate("text => getComputedStyle(text).fill")
    assert (ink == "rgb(230, 234, 238)") == (scheme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    assert not wrong
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_a_chart_can_be_saved_as_svg(chromium, written, tmp_path):
    context = chromium.new_context(color_scheme="dark", offline=True)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto((written / "report.html").as_uri())
    chart = page.locator(".chart[data-name=roc]")
    chart.locator(".main-svg").first.wait_for()
    with page.expect_download() as download:
        chart.locator(".modebar-btn").click()
    assert download.value.suggested_filename == "roc.svg"
    download.value.save_as(tmp_path / "roc.svg")
    picture = ElementTree.parse(tmp_path / "roc.svg").getroot()
    texts = {"".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"False positive rate", "This model", "Guessing"} <= texts
    background = picture.find("{http://www.w3.org/2000/svg}rect").get("style")
    assert "rgb(18, 22, 27)" in background  # light text needs a dark background
    context.close()
