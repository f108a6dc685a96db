"""From the sample survey to a person's risk, in a real browser."""

import re

from playwright.sync_api import expect

expect.set_options(timeout=120_000)  # generous, for busy machines

PARTS = (
    "Finding cases among held-out people", "Predicted and observed risk", "Area under the curve",
    "What if: one person's risk", "Coefficients",
)  # fmt: skip


def answer(page):
    return page.get_by_text(re.compile(r"^Refined: a risk of [\d.]+%, between"))


def test_train_on_the_survey_and_ask_for_one_person(visit):
    page = visit("/risk?data=nhanes-stroke&methods=refined,non-private&epochs=4&epsilon=2&seed=1")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page).to_have_url(re.compile(r"[?&]runs=[0-9a-f]{8}%2C[0-9a-f]{8}"))
    for part in PARTS:
        expect(page.get_by_role("heading", name=part, exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    expect(page.get_by_text("Non-private: 90% credible interval")).to_be_visible()

    before = answer(page).inner_text()
    age = page.get_by_role("slider", name="Age")
    age.focus()
    age.press("End")
    expect(page).to_have_url(re.compile(r"[?&]person=0%3A80"))
    expect(answer(page)).not_to_have_text(before, use_inner_text=True)
    page.get_by_role("button", name="smokes now", exact=True).click()
    expect(page).to_have_url(re.compile(r"person=0%3A80%2C\d+%3A1"))
    expect(page.get_by_text("Traceback")).to_have_count(0)

    other = visit(page.url)
    expect(answer(other)).to_have_text(answer(page).inner_text(), use_inner_text=True)

    page.get_by_text("As a table").first.click()
    tables = page.get_by_role("button", name="Download CSV")
    expect(tables).to_have_count(2)  # the curves' table, and the table of spent ε
    app = page.get_by_test_id("stApp")  # buttons move while the page is redrawn, and a click may miss
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    with page.expect_download() as download:
        tables.first.click()
    text = download.value.path().read_text(encoding="utf-8")
    assert text.startswith("Method,False positive rate,True positive rate,low (90%),high (90%)\nRefined,0.0,")


def test_a_click_right_after_another_is_done_as_well(visit):
    page = visit("/risk?data=nhanes-stroke&epochs=1&seed=7")
    train, noise = (
        page.get_by_role("button", name="Train", exact=True),
        page.get_by_text("Noise σ", exact=True),
    )
    expect(train).to_be_visible()
    train.evaluate(
        "button => button.click()"
    )  # Playwright's own click would wait for the page between the two
    page.wait_for_timeout(60)
    noise.first.evaluate("choice => choice.click()")
    expect(page).to_have_url(re.compile(r"[?&]runs=[0-9a-f]{8}"))
    expect(page).to_have_url(re.compile(r"[?&]noise=2\.0"))
