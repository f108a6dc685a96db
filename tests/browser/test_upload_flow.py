"""Upload good and bad files and train on them, in a real browser."""

import re

import numpy as np
from playwright.sync_api import TimeoutError, expect

expect.set_options(timeout=120_000)  # a busy machine is no failure


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def alert(page, text):
    return page.get_by_test_id("stAlert").filter(has_text=text)


def attach(page, place, name, content, kind="text/csv"):
    files = page.get_by_test_id("stFileUploader").nth(place)
    files.locator("input[type=file]").set_input_files({"name": name, "mimeType": kind, "buffer": content})
    expect(files.get_by_text(name)).to_be_visible()


def test_rows_with_ranges_typed_into_the_table(visit, shelf):
    page = visit("/risk")
    button(page, "Use your own data").click()
    expect(page.get_by_text("never unpickled")).to_be_visible()
    attach(page, 0, "bad.csv", b"\xff\xfe\x00\x01")
    expect(alert(page, "The file must be text in UTF-8")).to_be_visible()

    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(20, 90)},{rng.integers(0, 2)},{rng.integers(0, 2)}" for _ in range(300)]
    content = "\n".join(["age,smokes,stroke", *lines]).encode()
    attach(page, 0, "patients.csv", content)
    expect(alert(page, "UTF-8")).to_have_count(0)
    expect(page.get_by_text("Public ranges of the predictors")).to_be_visible()
    page.get_by_label("Target", exact=True).click()
    page.get_by_role("option", name="stroke").click()
    button(page, "Add data set").click()
    expect(alert(page, "Say whether each row is of another person")).to_be_visible()
    page.get_by_text("Yes, one row per person").click()
    page.get_by_label("Name", exact=True).fill("patients")
    page.get_by_label("Name", exact=True).press("Tab")
    page.get_by_label("Budget δ", exact=True).fill("0.0001")
    page.get_by_label("Budget δ", exact=True).press("Tab")
    button(page, "Add data set").click()
    expect(alert(page, "Give at least one column a public range")).to_be_visible()

    line = page.get_by_role("status").filter(has_text="Data patients, 300 records")
    for _ in range(4):  # on a busy machine the table may move under a click into one of its cells
        fill_ranges(page, [("20", "90"), ("0", "1")])
        button(page, "Add data set").click()  # at once: the table sends its last cell a moment later
        try:
            expect(line).to_be_visible(timeout=20_000)
            break
        except AssertionError:
            continue
    expect(line).to_be_visible(timeout=1_000)
    expect(line).to_contain_text("Private, ε = 3.00 left of 3")
    expect(page).to_have_url(re.compile("data=patients"))
    rows = shelf.load("patients").train
    assert rows.feature_names == ("intercept", "age", "smokes")
    assert rows.norm_bound == np.sqrt(3)
    assert shelf.data_row("patients").unit == "one person"


def fill_ranges(page, pairs):
    """Type into the cells Lowest and Highest of each row, as a visitor does."""
    for row, pair in enumerate(pairs):
        for share, value in zip((0.375, 0.625), pair, strict=True):
            entry = open_cell(page, row, share)
            entry.fill(value)
            entry.press("Enter")
            expect(entry).to_have_count(0)


def open_cell(page, row, share):
    """Open the entry of a cell; the table may still be moving when it is clicked."""
    grid, entry = page.get_by_test_id("stDataFrame").first, page.locator("#portal input")
    for _ in range(10):
        grid.scroll_into_view_if_needed()
        box = grid.bounding_box()
        page.mouse.dblclick(box["x"] + share * box["width"], box["y"] + 36 + 35 * row + 17)
        try:
            entry.wait_for(timeout=5000)
            return entry
        except TimeoutError:
            continue
    return entry


def test_bad_and_good_documents(visit, shelf):
    page = visit("/topics?upload=1")
    attach(page, 0, "words.npz", b"not a zip", "application/octet-stream")
    page.get_by_text("No, or not always").click()
    expect(alert(page, "one document is protected, not one person")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("letters")
    page.get_by_label("Name", exact=True).press("Tab")
    button(page, "Add data set").click()
    expect(alert(page, "The file is not a readable .npz of plain arrays")).to_be_visible()
    attach(page, 0, "letters.txt", b"peace and war\nthe army and the navy\n" * 40, "text/plain")
    page.get_by_label("Budget δ", exact=True).fill("0.001")
    page.get_by_label("Budget δ", exact=True).press("Tab")
    button(page, "Add data set").click()
    expect(page).to_have_url(re.compile("data=letters"))
    row = shelf.data_row("letters")
    assert (row.records, row.private, row.unit, row.has_test) == (80, True, "one document", False)
    expect(page.get_by_text("letters is private.")).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)
