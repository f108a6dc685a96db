"""Upload good and bad files and train on them, in a real browser."""

import re

import numpy as np
from playwright.sync_api import expect

expect.set_options(timeout=120_000)  # generous, for busy machines


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def alert(page, text):
    return page.get_by_test_id("stAlert").filter(has_text=text)


def attach(page, place, name, content, kind="text/csv"):
    files = page.get_by_test_id("stFileUploader").nth(place)
    files.locator("input[type=file]").set_input_files({"name": name, "mimeType": kind, "buffer": content})
    expect(files.get_by_text(name)).to_be_visible()


def test_a_steward_goes_from_the_first_question_to_a_report(visit, shelf):
    """Four questions, a plan, a private file with ranges typed into its table, a model, its report."""
    page = visit("/plan")
    button(page, "Guide me in four questions").click()
    # Within the questions: until they are drawn, the plan's own sidebar still has a field of this name.
    people = page.get_by_test_id("stMain").get_by_label("Records N, exact")
    people.fill("300")
    people.press("Enter")
    expect(page).to_have_url(re.compile(r"[?&]n=300&"))
    for number, answer in enumerate(("Next", "Next", "Next", "Show the plan"), 1):
        expect(page.get_by_role("heading", name=f"{number} of 4: ")).to_be_visible()
        button(page, answer).click()
    expect(page.get_by_text("In words, for example for an ethics board:")).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("link", name="Train a risk model").click()
    expect(page).to_have_url(re.compile(r"/risk\?.*noise="))

    button(page, "Use your own data").click()
    expect(page.get_by_text("Still missing: a file.")).to_be_visible()
    attach(page, 0, "bad.csv", b"\xff\xfe\x00\x01")
    expect(alert(page, "The file is not text in UTF-8")).to_be_visible()
    attach(page, 0, "patients.csv", patients())
    expect(page.get_by_text("Still missing: the target, whose rows they are.")).to_be_visible()
    choose(page, "Target", "stroke")
    expect(page.get_by_text("Still missing: whose rows they are.")).to_be_visible()
    choose(page, "Does each row belong to a different person?", "No: patient names the person")
    page.get_by_label("Budget δ", exact=True).fill("0.0001")
    page.get_by_label("Budget δ", exact=True).press("Tab")
    page.get_by_label("Name", exact=True).fill("patients")
    page.get_by_label("Name", exact=True).press("Tab")
    button(page, "Add data set").click()
    expect(alert(page, "Give at least one column a public range")).to_be_visible()
    fill_ranges(page, [("20", "90"), ("0", "1")])
    button(page, "Add data set").click()  # at once: the table sends its last cell a moment later
    line = page.get_by_role("status").filter(has_text="Data patients, 300 records")
    expect(line).to_be_visible()
    expect(line).to_contain_text("Private, ε = 3.00 of 3 left")
    expect(page).to_have_url(re.compile("data=patients"))
    rows = shelf.load("patients").train
    assert rows.feature_names == ("intercept", "age", "smokes")
    assert rows.norm_bound == np.sqrt(3)
    assert (len(rows), rows.row_count) == (300, 400)
    protected = "one person (all rows with the same value of patient)"
    assert shelf.data_row("patients").unit == protected

    button(page, "Train").click()
    button(page, "Spend and train").click()
    reports = page.get_by_test_id("stMain").get_by_role("link", name="Reports of these runs")
    expect(reports).to_be_visible(timeout=300_000)  # after an installation, code is compiled first
    expect(page.get_by_text("Nothing trained here yet")).to_have_count(0)
    reports.click()
    expect(page).to_have_url(re.compile(r"/runs\?(.*&)?runs=[0-9a-f]{8}"))
    with page.expect_download() as download:
        button(page, "Report").click()
    assert protected in download.value.path().read_text(encoding="utf-8")


def patients():
    """Return a table of 400 rows about 300 people."""
    rng = np.random.default_rng(0)
    rows = [
        f"{row % 300},{rng.integers(20, 90)},{rng.integers(0, 2)},{rng.integers(0, 2)}" for row in range(400)
    ]
    return "\n".join(["patient,age,smokes,stroke", *rows]).encode()


def scroll_to(element):
    """Scroll to an element and see it there, as a visitor does before aiming at it.

    Playwright's click scrolls and presses within one frame, before the page has heard of the scrolling:
    a list then closes again, because the page scrolls under it, and a table looks for the cell elsewhere.
    """
    element.scroll_into_view_if_needed()
    await_drawing(element)


def await_drawing(place):
    """Wait until the browser has drawn a frame, so that the page has handled earlier events."""
    place.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def choose(page, label, option):
    entry = page.get_by_label(label, exact=True)
    scroll_to(entry)
    entry.click()
    page.get_by_role("option", name=option).click()


def fill_ranges(page, pairs):
    """Type into the cells Lowest and Highest of each row, as a visitor does."""
    grid, entry = page.get_by_test_id("stDataFrame").first, page.locator("#portal input")
    scroll_to(grid)
    for row, pair in enumerate(pairs):
        for column, value in enumerate(pair, 1):
            box = grid.bounding_box()
            page.mouse.move(box["x"] + (column / 4 + 0.125) * box["width"], box["y"] + 53 + 35 * row)
            await_drawing(page)
            page.mouse.down()
            await_drawing(page)
            page.mouse.up()
            cell = page.get_by_test_id(f"glide-cell-{column}-{row}")
            expect(cell).to_have_attribute("aria-selected", "true")
            page.keyboard.press("Enter")
            entry.fill(value)
            entry.press("Enter")
            expect(entry).to_have_count(0)


def test_bad_and_good_documents(visit, shelf):
    page = visit("/topics?upload=1")
    attach(page, 0, "words.npz", b"not a zip", "application/octet-stream")
    page.get_by_label("Name", exact=True).fill("letters")
    page.get_by_label("Name", exact=True).press("Tab")
    button(page, "Add data set").click()
    expect(alert(page, "The file is not a readable .npz of plain arrays")).to_be_visible()
    expect(alert(page, "protects one document of the file, not one person")).to_be_visible()
    attach(page, 0, "letters.txt", b"peace and war\nthe army and the navy\n" * 40, "text/plain")
    page.get_by_label("Budget δ", exact=True).fill("0.001")
    page.get_by_label("Budget δ", exact=True).press("Tab")
    button(page, "Add data set").click()
    expect(page).to_have_url(re.compile("data=letters"))
    row = shelf.data_row("letters")
    assert (row.records, row.private, row.unit, row.has_test) == (80, True, "one document of the file", False)
    expect(page.get_by_text("letters is private.")).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)
