"""What the Images page shows of finished runs: reconstructions of public images, dictionaries, samples."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import expit

from dashboard import pixels, session
from dashboard.library import Finished
from dashboard.pixels import Picture
from dashboard.session import Choice, Number, Text, log_stops
from dashboard.training import Bench
from vips_core import BinaryRows, reconstruct
from vips_core.reports.figures import METHOD_NAMES, Array

COLUMNS = 10  # images beside each other
MOST_UNITS = 60  # hidden units in a picture of the dictionary
LARGEST = 0.995  # quantile of the weights that gets full colour

FIRST = Number("first", "First image", 1, 1, 10**9, "", (), whole=True)
DRAWN = Number("drawn", "Samples", 1, 1, 10**6, "", (), whole=True)
WRONG = Text("wrong", None, "1")
UNITS = Choice("units", "Dictionary of", "refined", METHOD_NAMES, "Whose hidden units are shown.")

BENCH = Bench(
    "sbn",
    "Images from hidden causes",
    "A sigmoid belief network explains binary images by hidden units that are on or off, each with weights "
    "for all pixels. Each training image is protected; what is shown are public held-out images.",
    {name: label for name, label in METHOD_NAMES.items() if name not in ("sgd", "perm")},
    (
        Number(
            "hidden", "Hidden units K", 50, 1, 1000, "How many hidden causes to learn.",
            log_stops(1, 1000, whole=True), whole=True,
        ),
    ),
    {
        "data": "mnist", "methods": "refined,paper,strong,non-private", "epsilon": 1.0, "hidden": 30,
        "epochs": 0.5, "seed": 1,
    },
    (FIRST, WRONG, UNITS, DRAWN),
)  # fmt: skip
NOTHING_HELD_OUT = (
    "This data set has no public held-out images, and training images are never shown. Draw or upload a "
    "digit below to see it reconstructed."
)
DICTIONARY_CAPTION = (
    "Weights W of each hidden unit. Blue: the unit adds ink here; vermilion: it takes ink away. The "
    "strongest first."
)
SAMPLES_CAPTION = (
    "Drawn from the model itself: each hidden unit is tossed with its own probability, then each pixel. "
    "Units do not know of each other, so samples look less like digits than reconstructions do."
)
ACCURACY_ALT = "Share of pixels that each method gets right, for each image shown."
OWN_CAPTION = (
    "It is cropped, scaled and centred like the training images, then reconstructed by each method. It stays "
    "in this visit: it is not stored and does not leave this machine."
)


def comparison_caption(rows: BinaryRows, first: int, mark: bool) -> str:
    """Say which images are shown, and what colours mean."""
    last = min(first + COLUMNS - 1, len(rows))
    marked = (
        "Vermilion marks wrong pixels, strong where ink is too much and pale where it is missing."
        if mark
        else "The stronger the blue, the likelier the ink."
    )
    return (
        f"Images {first:,} to {last:,} of {len(rows):,}. Beside each method: pixel accuracy and log "
        f"likelihood given the hidden units, over all held-out images. {marked}"
    )


def shown_units(runs: Mapping[str, Finished]) -> str:
    """Ask whose dictionary to show, of the methods that were run."""
    names = [method for method, run in runs.items() if run.fit is not None]
    chosen, key = session.get(UNITS.name), f"units:{','.join(names)}"
    st.segmented_control(
        UNITS.label, names, default=chosen if chosen in names else names[0], required=True, key=key,
        format_func=METHOD_NAMES.get, label_visibility="collapsed",
        on_change=session.takes(UNITS.name, key),
    )  # fmt: skip
    return chosen if chosen in names else names[0]


def some(rows: BinaryRows, first: int) -> BinaryRows:
    """Return `COLUMNS` images from number `first`, counted from 1."""
    places = np.arange(len(rows))
    return rows[(places >= first - 1) & (places < first - 1 + COLUMNS)]


def reconstructions(runs: Mapping[str, Finished], rows: BinaryRows) -> dict[str, Array]:
    """Return p(ink) of every pixel by each method, (images, height, width)."""
    return {
        method: reconstruct(run.fit.model, run.fit.params, rows).reshape(-1, *rows.shape)
        for method, run in runs.items()
        if run.fit is not None
    }


def truth(rows: BinaryRows) -> Array:
    """Return images of zeros and ones."""
    return np.asarray(rows.unpack(np.float64)).reshape(-1, *rows.shape)


def accuracies(found: Array, originals: Array) -> Array:
    """Return each image's share of pixels that the binary reconstruction gets right."""
    return np.asarray(((found >= 0.5) == (originals >= 0.5)).mean(axis=(1, 2)))


def comparison(
    runs: Mapping[str, Finished], found: Mapping[str, Array], originals: Array, first: int, mark: bool
) -> list[tuple[str, str, list[Picture]]]:
    """Return rows of pictures: the originals, then each method's reconstructions."""
    numbers = range(first, first + len(originals))
    rows = [("Original", "held out, public", [
        pixels.ink(image, f"Original of image {number}")
        for number, image in zip(numbers, originals, strict=True)
    ])]  # fmt: skip
    for method, images in found.items():
        label, shares = METHOD_NAMES[method], accuracies(images, originals)
        rows.append((label, score_note(runs[method]), [
            pixels.ink(
                image, f"{label}, image {number}: {share:.1%} of pixels right",
                truth=original if mark else None,
            )
            for number, image, share, original in zip(numbers, images, shares, originals, strict=True)
        ]))  # fmt: skip
    return rows


def score_note(run: Finished) -> str:
    """Say how well a run does on all held-out images."""
    scores = run.result["held_out"]
    if "pixel accuracy" not in scores:
        return ""
    nats = scores["log likelihood (nats per image)"]
    return f"{scores['pixel accuracy']:.1%} right, {nats:,.0f} nats".replace("-", "−")


def accuracy_table(found: Mapping[str, Array], originals: Array, first: int) -> pd.DataFrame:
    """Return each shown image's pixel accuracy by each method."""
    table = pd.DataFrame({"Image": range(first, first + len(originals))})
    for method, images in found.items():
        table[METHOD_NAMES[method]] = accuracies(images, originals)
    return table


def dictionary(run: Finished) -> tuple[list[Picture], pd.DataFrame]:
    """Return the strongest hidden units as pictures, and all of them as a table."""
    model, params = run.fit.model, run.fit.params
    images = model.dictionary(params)
    used = expit(params.hidden_logit)
    flat = images.reshape(len(images), -1)
    strength = np.linalg.norm(flat, axis=1)
    order = np.argsort(-strength, kind="stable")
    table = pd.DataFrame(
        {
            "Hidden unit": order + 1,
            "Strength": strength[order],
            "On with probability": used[order],
            "Least weight": flat.min(axis=1)[order],
            "Greatest weight": flat.max(axis=1)[order],
        }
    )
    largest = max(float(np.quantile(np.abs(flat), LARGEST)), 1e-12)
    shown = [
        pixels.weights(
            images[unit], largest, f"Hidden unit {unit + 1}: strength {strength[unit]:.2f}, "
            f"weights from {flat[unit].min():.2f} to {flat[unit].max():.2f}",
        )
        for unit in order[:MOST_UNITS]
    ]  # fmt: skip
    return shown, table


def samples(runs: Mapping[str, Finished], drawn: int) -> list[tuple[str, str, list[Picture]]]:
    """Return rows of images drawn from each model; the number `drawn` gives the same ones again."""
    rows = []
    for method, run in runs.items():
        if run.fit is not None:
            label = METHOD_NAMES[method]
            images = truth(run.fit.model.sample(run.fit.params, COLUMNS, np.random.default_rng(drawn)))
            rows.append((label, "", [
                pixels.ink(image, f"{label}, sample {number}") for number, image in enumerate(images, 1)
            ]))  # fmt: skip
    return rows


def of_digit(runs: Mapping[str, Finished], digit: BinaryRows) -> list[Picture]:
    """Return a visitor's digit as the models see it, and its reconstruction by each method."""
    original = truth(digit)
    shown = [pixels.ink(original[0], "Your digit as the models see it", "As the models see it")]
    for method, image in reconstructions(runs, digit).items():
        share, label = accuracies(image, original)[0], METHOD_NAMES[method]
        shown.append(
            pixels.ink(
                image[0],
                f"Your digit by {label}: {share:.1%} of pixels right",
                f"{label}, {share:.1%} right",
            )
        )
    return shown


def named_pictures(rows: Sequence[tuple[str, str, list[Picture]]]) -> list[list[Picture]]:
    """Return the pictures of rows without their names."""
    return [images for _, _, images in rows]
