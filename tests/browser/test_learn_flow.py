"""Teach all lessons with the keyboard, in a real browser."""

import re

from playwright.sync_api import expect

from dashboard.views.learn import lessons

expect.set_options(timeout=60_000)  # generous, for busy machines


def title(page, lesson):
    return page.get_by_role("heading", name=lessons.heading(lessons.LESSONS[lesson]))


def chart(page):
    return page.locator(".js-plotly-plot")


def test_arrow_keys_walk_all_lessons_on_one_screen_each(visit):
    page = visit(f"/learn?lesson={next(iter(lessons.LESSONS))}&present=1")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    expect(chart(page)).to_have_count(1, timeout=180_000)  # the first visitor waits for the imports
    for lesson, taught in lessons.LESSONS.items():
        expect(title(page, lesson)).to_be_visible()
        expect(page).to_have_url(re.compile(rf"[?&]lesson={lesson}&present=1"))
        expect(page.get_by_text(taught.question(taught.defaults).text)).to_be_visible()
        expect(chart(page)).to_have_count(1)
        expect(page.get_by_text("Computing…")).to_have_count(0)
        expect(page.get_by_text("Traceback")).to_have_count(0)
        height = page.get_by_test_id("stMainBlockContainer").evaluate("block => block.scrollHeight")
        assert height <= page.viewport_size["height"]
        page.keyboard.press("ArrowRight")  # there is no page after the last one
    page.keyboard.press("ArrowLeft")
    expect(title(page, list(lessons.LESSONS)[-2])).to_be_visible()
    server = page.url.split("/learn")[0]
    assert [url for url in asked if not url.startswith((server, "data:", "blob:"))] == []


SEEN = """() => {
    const chart = document.querySelector('.js-plotly-plot')?.getBoundingClientRect();
    const parts = '.js-plotly-plot :is(.xtick, .ytick, .annotation, .g-xtitle) text';
    const words = [...document.querySelectorAll(parts)].map(word => [word, word.getBoundingClientRect()])
        .filter(([word, box]) => word.textContent && box.width);
    const size = ([word, box]) => parseFloat(getComputedStyle(word).fontSize) * word.getScreenCTM().a;
    const inside = ([_, box]) => box.left >= chart.left && box.right <= Math.min(chart.right, innerWidth);
    return words.length > 3 && words.every(inside) && Math.min(...words.map(size));
}"""


def test_charts_grow_with_the_window_of_a_lecture_and_are_never_cut(visit):
    page = visit("/learn?lesson=wall&present=1&wall_shown=1")
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function(f"() => ({SEEN})() >= 24")
    matrix = chart(page).locator(".x2y2 .nsewdrag")
    matrix.hover(position={"x": 10, "y": 10})  # Plotly finds the cell under the pointer in a magnified page
    expect(chart(page).locator(".hovertext").first).to_contain_text("intercept × intercept")
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(f"() => ({SEEN})() >= 12")


def test_arrow_keys_in_a_slider_move_the_slider_alone(visit):
    page = visit("/learn?lesson=noise&present=1")
    slider = page.get_by_role("slider", name="Sensitivity Δ")
    slider.focus()
    slider.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"[?&]noise_sens=1\.1"))
    expect(title(page, "noise")).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]lesson=noise"))


def test_answer_reveal_and_open_the_hand_out_s_link(visit):
    page = visit("/learn?lesson=promise")
    expect(page.get_by_role("button", name="Reveal")).to_be_disabled()
    page.get_by_text("About 73%").click()
    page.get_by_role("button", name="Reveal").click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("Right. About 73%")
    expect(page).to_have_url(re.compile("promise_answer=c&promise_shown=1"))
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    app = page.get_by_test_id("stApp")  # buttons move while the page is redrawn, and a click may miss
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    page.get_by_role("button", name="Hand-outs").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Solution").click()
    text = download.value.path().read_text(encoding="utf-8")
    (link,) = re.findall(r'<footer>.*href="([^"]*)"', text)
    other = visit(link.replace("&amp;", "&"))
    expect(other.get_by_test_id("stAlert")).to_contain_text("Right. About 73%")
    expect(other.get_by_test_id("stMetric").first).to_have_text(
        page.get_by_test_id("stMetric").first.inner_text(), use_inner_text=True
    )
    page.get_by_role("button", name="The mathematics").click()
    expect(page.locator(".katex").first).to_be_visible()


def test_outcomes_play_and_pause_by_mouse_and_keyboard(visit):
    page = visit("/learn?lesson=outcomes&outcomes_shown=1")
    expect(chart(page).get_by_text("run 1", exact=False)).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(chart(page).get_by_text("run 3", exact=False)).to_be_visible()
    pause = page.get_by_role("button", name="Pause")
    pause.focus()
    pause.press("Enter")
    page.wait_for_timeout(1500)
    headline = chart(page).locator(".annotation-text").first
    shown = headline.inner_html()
    page.wait_for_timeout(2500)
    assert headline.inner_html() == shown


def test_less_motion_is_respected(chromium, server):
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{server}/learn?lesson=outcomes&outcomes_shown=1")
    expect(chart(page)).to_have_count(1)
    style = "getComputedStyle(document.querySelector('button')).transitionProperty"
    assert page.evaluate(style) in {"none", "all"}
    assert page.evaluate(style.replace("transitionProperty", "transitionDuration")) == "0s"
    headline = chart(page).locator(".annotation-text").first
    shown = headline.inner_html()
    page.wait_for_timeout(2500)  # nothing plays by itself
    assert headline.inner_html() == shown
    context.close()


BELOW = """stacked => {
    const [chart, first, second] = ['.js-plotly-plot', '.g-xtitle', '.g-x2title']
        .map(part => document.querySelector(part)?.getBoundingClientRect());
    return second && chart.right <= window.innerWidth && second.top > first.bottom + 100 === stacked;
}"""


def test_plots_are_below_each_other_where_the_window_is_narrow_and_only_there(visit):
    page = visit("/learn?lesson=noise&noise_shown=1")
    page.wait_for_function(BELOW, arg=False)
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(BELOW, arg=True)
    expect(chart(page).get_by_role("button", name="Pause")).to_be_visible()
    other = visit(page.url)
    other.wait_for_function(BELOW, arg=False)
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.wait_for_function(BELOW, arg=False)
