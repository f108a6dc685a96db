"""The Images page without a browser: pictures and numbers against the core, and a visitor's own image."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy.special import expit

from dashboard import stored
from dashboard.views.images import board, data, pixels
from dashboard.views.images.definition import PAGE
from tests.pages import address, checked, trained, trained_by, view, widget
from vips_core import Images, reconstruct
from vips_core.store.budget import Cap
from vips_core.store.store import Store

SHAPE = (12, 10)
BASE = {"model": "sbn", "data": "bars", "delta": 1e-5, "epochs": 3, "hidden": 6, "seed": 1}
METHODS = ("refined", "paper", "strong", "non-private")


def bars(count, seed):
    """Images with one vertical or horizontal bar."""
    rng = np.random.default_rng(seed)
    images = np.zeros((count, *SHAPE))
    for image in images:
        start = rng.integers(2, 7)
        (image if rng.random() < 0.5 else image.T)[start : start + 2] = 1
    return Images.from_images(images, 0.5)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store with public and private images, and a run of each method."""
    store = Store(tmp_path_factory.mktemp("images"))
    store.add_data("bars", bars(400, 1), bars(25, 2), private=False, cap=None, unit="one image")
    store.add_data("secret", bars(300, 3), None, private=True, cap=Cap(4.0, 1e-5), unit="one image")
    runs = trained_by(METHODS, store, epsilon=8.0, **BASE)
    runs["secret"] = trained(store, **BASE | dict(method="refined", epsilon=2.0, data="secret", seed=None))
    return store, runs


@pytest.fixture(autouse=True)
def home(shared, monkeypatch):
    monkeypatch.setenv("VIPS_HOME", str(shared[0].home))


@pytest.fixture
def finished(shared):
    return {method: stored.finished(shared[1][method]) for method in METHODS}


def page(runs, data="bars", **address):
    return view("images", data=data, runs=",".join(runs), **address)


def markup(at):
    return "".join(element.proto.body for element in at.get("html"))


def alts(at):
    return re.findall(r'alt="([^"]+)"', markup(at))


def button(at, label):
    (match,) = [item for item in at.button if item.label == label]
    return match


def decoded(html):
    """The pictures in some HTML as arrays."""
    return [
        np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
        for data in re.findall(r"data:image/png;base64,([^\"]+)", html)
    ]


def test_a_method_that_one_picture_beats_has_failed(shared, finished):
    rows = finished["refined"].data.test
    pixels_of_all = np.asarray(rows.unpack(np.float64))
    common = pixels_of_all.mean(axis=0) >= 0.5
    baseline = data.accuracy_of_one_image(("all",), rows)
    assert baseline == pytest.approx((pixels_of_all == common).mean())
    reached = {method: run.result["held_out"]["pixel accuracy"] for method, run in finished.items()}
    failed = [method for method, accuracy in reached.items() if accuracy <= baseline]
    assert data.failed(finished, baseline) == failed
    at = page([shared[1][method] for method in METHODS])
    assert any("failed here: one picture for all images" in item.value for item in at.warning) == bool(failed)
    assert data.failed(finished, 1.0) == list(METHODS)


def test_every_method_is_beside_the_original(shared):
    at = page([shared[1][method] for method in METHODS])
    assert not at.error
    for label in ("Original", "Refined", "As published", "Strong composition", "Non-private"):
        assert f'<th scope="row">{label}<small>' in markup(at)
    assert sum(alt.startswith("Original of image") for alt in alts(at)) == 10
    assert sum("of pixels right" in alt for alt in alts(at)) == 10 * len(METHODS)
    assert sum(alt.startswith("Hidden unit") for alt in alts(at)) == 6
    assert sum(", sample " in alt for alt in alts(at)) == 10 * len(METHODS)


def test_reconstructions_are_the_core_s(finished):
    rows = data.from_number(finished["refined"].data.test, 3)
    assert len(rows) == 10
    shares = data.reconstructions(finished, rows)
    for method, run in finished.items():
        expected = reconstruct(run.fit.model, run.fit.params, rows)
        assert shares[method].reshape(10, -1) == pytest.approx(expected)
    everything = finished["refined"].data.test
    originals = data.truth(everything)
    for method, shown in data.reconstructions(finished, everything).items():
        score = finished[method].result["held_out"]["pixel accuracy"]
        assert data.accuracies(shown, originals).mean() == pytest.approx(score)
        assert f"{score:.1%} right" in data.score_note(finished[method])


def test_pictures_hold_the_pixels():
    shares = np.array([[0.0, 0.6], [1.0, 0.2]])
    (plain,) = decoded(pixels.tiles([pixels.ink(shares, "x")]))
    assert plain[..., 3].tolist() == [[0, 153], [255, 51]]
    truth = np.array([[1.0, 1.0], [0.0, 0.0]])
    (marked,) = decoded(pixels.tiles([pixels.ink(shares, "x", truth=truth)]))
    vermilion = (marked[..., :3] == [0xD5, 0x5E, 0x00]).all(axis=-1)
    assert vermilion.tolist() == [[True, False], [True, False]]
    assert marked[0, 0, 3] < marked[1, 0, 3] == 255
    (weights,) = decoded(pixels.tiles([pixels.weights(np.array([[-2.0, 1.0]]), 2.0, "x")]))
    assert weights[0, :, 3].tolist() == [255, 128]
    assert weights[0, 0, 0] > weights[0, 0, 2]
    assert weights[0, 1, 0] < weights[0, 1, 2]


def test_names_and_alt_texts_are_not_markup():
    picture = pixels.ink(np.zeros((2, 2)), '"><script>', "<b>")
    for html in (pixels.table([pixels.Row("<i>", "<u>", [picture])]), pixels.tiles([picture])):
        assert not re.search(r"<script|<b>|<i>|<u>", html)


def test_sheet_is_a_png_of_all_pictures():
    picture = pixels.ink(np.ones(SHAPE), "x")
    sheet = Image.open(io.BytesIO(pixels.sheet([pixels.Row("", "", [picture] * count) for count in (3, 2)])))
    assert sheet.size == (6 * (3 * 12 + 2), 6 * (2 * 14 + 2))
    assert sheet.getpixel((18, 18)) == (0x1F, 0x83, 0xC4)
    assert sheet.getpixel((sheet.width - 20, sheet.height - 20)) == (255, 255, 255)


def test_images_are_turned_over_and_the_address_follows(shared):
    at = page([shared[1]["refined"]])
    assert button(at, "Previous").disabled
    checked(button(at, "Next").click().run())
    assert address(at)["first"] == "11"
    checked(button(at, "Next").click().run())
    assert address(at)["first"] == "16"  # the last ten of 25
    assert button(at, "Next").disabled
    assert "Original of image 25" in alts(at)
    assert "Original of image 25" in alts(page([shared[1]["refined"]], first=999))


def test_wrong_pixels_are_marked_on_request(shared):
    at = page([shared[1]["strong"]])
    before = markup(at)
    checked(widget(at.toggle, "own:wrong").set_value(True).run())
    assert address(at)["wrong"] == "1"
    assert markup(at) != before
    assert "Vermilion marks wrong pixels" in "".join(caption.value for caption in at.caption)


def test_dictionary_is_the_core_s_and_of_the_chosen_method(shared, finished):
    tiles, table = data.dictionary(finished["refined"])
    model, params = finished["refined"].fit.model, finished["refined"].fit.params
    strength = np.linalg.norm(params.weights, axis=0)
    assert table["Strength"].to_numpy() == pytest.approx(np.sort(strength)[::-1])
    assert sorted(table["Probability of being on"]) == pytest.approx(sorted(expit(params.hidden_logit)))
    assert tiles[0].rgba.shape == (*SHAPE, 4)
    assert f"Hidden unit {strength.argmax() + 1}:" in tiles[0].alt
    assert model.hidden == len(table) == 6
    first = page([shared[1][method] for method in METHODS])
    other = page([shared[1][method] for method in METHODS], units="paper")
    units = [[alt for alt in alts(at) if alt.startswith("Hidden unit")] for at in (first, other)]
    assert units[0] == [tile.alt for tile in tiles]
    assert units[1] == [tile.alt for tile in data.dictionary(finished["paper"])[0]]


def test_samples_are_drawn_anew_and_restored_by_the_address(shared):
    at = page([shared[1]["refined"]])
    before = markup(at)
    checked(button(at, "Draw new samples").click().run())
    assert address(at)["drawn"] == "2"
    assert markup(at) != before
    assert markup(page([shared[1]["refined"]], drawn=2)) == markup(at)
    at = page([shared[1]["refined"]], drawn=10**6)  # the last that an address may hold
    assert address(checked(button(at, "Draw new samples").click().run()))["drawn"] == "1"


def test_private_images_are_never_shown(shared):
    at = page([shared[1]["secret"]], data="secret")
    assert at.info[0].value == PAGE.nothing_held_out
    assert not [alt for alt in alts(at) if "image" in alt]
    assert [alt for alt in alts(at) if ", sample " in alt]


def test_table_behind_the_grid_opens(shared):
    at = page([shared[1][method] for method in METHODS])
    for name in ("reconstructions", "dictionary"):
        at.session_state[f"table:{name}"] = True
    checked(at.run())
    accuracy, units = (frame.value for frame in at.dataframe)
    assert list(accuracy.columns) == [
        "Image",
        "Refined",
        "As published",
        "Strong composition",
        "Non-private",
    ]
    assert len(accuracy) == 10
    assert len(units) == 6


def photograph(mode="L", paper=230, pen=20, size=(300, 200), form="PNG"):
    """A stroke on paper, near the upper left corner."""
    image = Image.new(mode, size, paper)
    ImageDraw.Draw(image).line([(60, 30), (60, 120)], fill=pen, width=14)
    buffer = io.BytesIO()
    image.save(buffer, form)
    return buffer.getvalue()


@pytest.mark.parametrize("content", [photograph(), photograph(paper=10, pen=240), photograph(form="JPEG")])
def test_upload_is_cropped_scaled_and_centred(content):
    digit = data.truth(board.as_digit(board.ink_of_writing(board.read_upload(content)), (28, 28)))[0]
    rows, columns = np.nonzero(digit)
    assert rows.max() - rows.min() + 1 == 20
    assert columns.max() - columns.min() + 1 in (2, 3, 4)
    assert rows.mean() == pytest.approx(13.5, abs=1)
    assert columns.mean() == pytest.approx(13.5, abs=1)


def test_transparent_ground_is_paper():
    image = Image.new("RGBA", (50, 50), (0, 0, 0, 0))
    ImageDraw.Draw(image).line([(25, 10), (25, 40)], fill=(0, 0, 0, 255), width=4)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    ink = board.ink_of_writing(board.read_upload(buffer.getvalue()))
    assert ink[25, 25] == 1
    assert ink[0, 0] == 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "must be a PNG or JPEG image"),
        (b"not an image", "must be a PNG or JPEG image"),
        (photograph()[:200], "must be a PNG or JPEG image"),
        (photograph(form="BMP"), "must be a PNG or JPEG image"),
        (photograph(pen=230), "all its pixels are alike"),
        (photograph(size=(26_000, 1_000)), "at most 25,000,000 pixels, got 26,000 × 1,000"),
    ],
)
def test_what_is_no_digit_gets_a_sentence(content, sentence):
    with pytest.raises(ValueError, match=sentence):
        board.ink_of_writing(board.read_upload(content))


def test_uploaded_image_is_reconstructed_by_each_method(shared):
    at = page([shared[1][method] for method in METHODS])
    assert "Your image" not in markup(at)
    checked(at.file_uploader[0].upload("digit.png", photograph(), "image/png").run())
    assert "Your image as the models see it" in alts(at)
    assert sum(alt.startswith("Your image, ") for alt in alts(at)) == len(METHODS)
    checked(at.file_uploader[0].upload("digit.png", b"broken", "image/png").run())
    assert "must be a PNG or JPEG image" in at.error[0].value.replace("\\", "")


@pytest.mark.parametrize("text", [None, 3, "", "01", "0" * 120, "2" * 120, "1" * 121, ["1"] * 120])
def test_a_board_without_ink_is_nothing(text):
    assert board.parse_drawing(text, SHAPE) is None


def test_a_board_with_ink_is_an_image():
    ink = board.parse_drawing("0" * 100 + "1" * 20, SHAPE)
    assert ink.shape == SHAPE
    assert ink[10:].all()
    assert not ink[:10].any()
    whole = data.truth(board.as_digit(np.ones(SHAPE), SHAPE))[0]
    assert whole.any()
    assert not whole.all()


def test_an_own_image_of_other_data_is_taken_as_it_is():
    ink = board.parse_drawing("0" * 100 + "1" * 20, SHAPE)
    assert (data.truth(board.as_image(ink, SHAPE))[0] == ink).all()
    dark_stroke = data.truth(board.as_image(board.read_upload(photograph()), (20, 30)))[0]
    assert dark_stroke.mean() == pytest.approx(1 - 14 * 91 / (300 * 200), abs=0.01)
    assert not dark_stroke[4:11, 6].any()
    light_stroke = data.truth(board.as_image(board.read_upload(photograph(paper=10, pen=240)), (20, 30)))[0]
    assert (light_stroke == ~(dark_stroke > 0)).all()
