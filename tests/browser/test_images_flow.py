"""From MNIST to reconstructions, a drawn digit and an uploaded one, in a real browser."""

import io
import re

from PIL import Image, ImageDraw
from playwright.sync_api import expect

expect.set_options(timeout=120_000)  # generous, for busy machines


def stroke(page, canvas, points):
    """Draw with the pointer; points are fractions of the board's sides."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def photograph():
    image = Image.new("L", (200, 300), 240)
    ImageDraw.Draw(image).line([(100, 40), (100, 260)], fill=20, width=20)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return {"name": "one.png", "mimeType": "image/png", "buffer": buffer.getvalue()}


def test_train_on_digits_then_draw_and_upload_one(visit):
    page = visit("/images?data=mnist&methods=refined&hidden=8&epochs=0.2&epsilon=2")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page).to_have_url(re.compile(r"[?&]runs=[0-9a-f]{8}"))
    expect(page.get_by_role("img", name="Original of image 10")).to_be_visible()
    expect(
        page.get_by_role("img", name=re.compile(r"^Refined, image 10: \d+\.\d% of pixels right"))
    ).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Hidden unit "))).to_have_count(8)
    expect(page.get_by_role("img", name=re.compile("^Refined, sample "))).to_have_count(10)

    board = page.get_by_role("img", name="Drawing of 28 by 28 pixels")
    yours = page.get_by_role("img", name="Your image as the models see it")
    stroke(page, board, [(0.35, 0.25), (0.65, 0.25), (0.55, 0.5), (0.45, 0.8)])
    expect(yours).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Your image, Refined"))).to_be_visible()
    drawn = yours.get_attribute("src")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.get_by_role("img", name="Original of image 20")).to_be_visible()
    expect(yours).to_have_attribute("src", drawn)  # other inputs leave the drawing in place

    page.get_by_role("button", name="Clear", exact=True).click()
    expect(yours).to_have_count(0)
    board.focus()
    board.press("ArrowDown")
    board.press(" ")
    expect(yours).to_be_visible()

    drawn = yours.get_attribute("src")
    page.locator("input[type=file]").last.set_input_files(photograph())
    expect(yours).not_to_have_attribute("src", drawn)
    page.locator("input[type=file]").last.set_input_files(
        {"name": "bad.png", "mimeType": "image/png", "buffer": b"no image"}
    )
    expect(page.get_by_text("The file must be a PNG or JPEG image, got something else")).to_be_visible()
    assert "1" * 9 not in page.url  # the drawing is not in the address

    other = visit(page.url)
    expect(other.get_by_role("img", name="Original of image 20")).to_be_visible()
    expect(other.get_by_role("img", name="Your image as the models see it")).to_have_count(0)
