"""Pictures and numbers of the Images page: reconstructions of public images, dictionaries, samples."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st
from scipy.special import expit

from dashboard.stored import Finished
from dashboard.views.images import pixels
from dashboard.views.images.pixels import Picture
from vips_core import Images, reconstruct
from vips_core.kernels import Array
from vips_core.models.task import TASKS
from vips_core.reports.figures import METHOD_NAMES

COLUMNS = 10  # images in a row
MOST_UNITS = 60  # most hidden units drawn of a dictionary
LARGEST = 0.995  # quantile of the absolute weights that gets full colour: a few outliers would fade the rest


def from_number(rows: Images, first: int) -> Images:
    """Return `COLUMNS` images from number `first`, counted from 1."""
    return Images(rows.bits[first - 1 : first - 1 + COLUMNS], rows.shape)


def reconstructions(runs: Mapping[str, Finished], rows: Images) -> dict[str, Array]:
    """Return p(ink) of every pixel by each method, (images, height, width)."""
    return {
        method: reconstruct(run.trained.model, run.trained.params, rows).reshape(-1, *rows.shape)
        for method, run in runs.items()
    }


def truth(rows: Images) -> Array:
    """Return images of zeros and ones."""
    return np.asarray(rows.unpack(np.float64)).reshape(-1, *rows.shape)


@st.cache_data(max_entries=8, show_spinner=False)
def accuracy_of_one_image(run_ids: tuple[str, ...], _rows: Images) -> float:
    """Return the pixel accuracy of the best constant reconstruction: ink where most images have ink."""
    ink = _rows.unpack(np.uint8).mean(axis=0)
    return float(np.maximum(ink, 1 - ink).mean())


def failed(runs: Mapping[str, Finished], baseline: float) -> list[str]:
    """Return the methods that do no better than the best constant reconstruction."""
    accuracy = next(iter(TASKS["sbn"].scores))
    scores = {method: run.result["held_out"].get(accuracy, 1.0) for method, run in runs.items()}
    return [method for method, score in scores.items() if score <= baseline]


def accuracies(images: Array, originals: Array) -> Array:
    """Return the pixel accuracy of each image, rounded to black and white."""
    return np.asarray(((images >= 0.5) == (originals >= 0.5)).mean(axis=(1, 2)))


def comparison(
    runs: Mapping[str, Finished], by_method: Mapping[str, Array], originals: Array, first: int, mark: bool
) -> list[pixels.Row]:
    """Return rows of pictures: the originals, then each method's reconstructions."""
    pictures = [
        pixels.ink(image, f"Original of image {number}") for number, image in enumerate(originals, first)
    ]
    rows = [pixels.Row("Original", "held out, public", pictures)]
    for method, images in by_method.items():
        label, shares = METHOD_NAMES[method], accuracies(images, originals)
        pictures = []
        for place, (image, original) in enumerate(zip(images, originals, strict=True)):
            alt = f"{label}, image {first + place}: {shares[place]:.1%} of pixels right"
            pictures.append(pixels.ink(image, alt, truth=original if mark else None))
        rows.append(pixels.Row(label, score_note(runs[method]), pictures))
    return rows


def score_note(run: Finished) -> str:
    """Return a run's scores on all held-out images in a few words."""
    scores = run.result["held_out"]
    if not scores:
        return ""
    accuracy, likelihood, *_ = (scores[name] for name in TASKS["sbn"].scores)
    return f"{accuracy:.1%} right, {likelihood:,.0f} nats".replace("-", "−")


def accuracy_table(by_method: Mapping[str, Array], originals: Array, first: int) -> pd.DataFrame:
    """Return each shown image's pixel accuracy by each method."""
    numbers = range(first, first + len(originals))
    shares = {METHOD_NAMES[method]: accuracies(images, originals) for method, images in by_method.items()}
    return pd.DataFrame({"Image": numbers, **shares})


def dictionary(run: Finished) -> tuple[list[Picture], pd.DataFrame]:
    """Return the strongest hidden units as pictures, and all units as a table."""
    model, params = run.trained.model, run.trained.params
    images = model.dictionary(params)
    flat = images.reshape(len(images), -1)
    strength = np.linalg.norm(flat, axis=1)
    order = np.argsort(-strength, kind="stable")
    table = pd.DataFrame(
        {
            "Hidden unit": order + 1,
            "Strength": strength[order],
            "Probability of being on": expit(params.hidden_logit)[order],
            "Smallest weight": flat.min(axis=1)[order],
            "Largest weight": flat.max(axis=1)[order],
        }
    )
    largest = max(float(np.quantile(np.abs(flat), LARGEST)), 1e-12)
    strongest = [
        pixels.weights(
            images[unit],
            largest,
            f"Hidden unit {unit + 1}: strength {strength[unit]:.2f}, "
            f"weights from {flat[unit].min():.2f} to {flat[unit].max():.2f}",
        )
        for unit in order[:MOST_UNITS]
    ]
    return strongest, table


def samples(runs: Mapping[str, Finished], sample: int) -> list[pixels.Row]:
    """Return rows of images drawn from each model; `sample` seeds the draw."""
    rows = []
    for method, run in runs.items():
        label, fit = METHOD_NAMES[method], run.trained
        images = truth(fit.model.sample(fit.params, COLUMNS, np.random.default_rng(sample)))
        pictures = [pixels.ink(image, f"{label}, sample {number}") for number, image in enumerate(images, 1)]
        rows.append(pixels.Row(label, "", pictures))
    return rows


def of_own(runs: Mapping[str, Finished], own: Images) -> list[Picture]:
    """Return the visitor's image as the models see it, and each method's reconstruction."""
    original = truth(own)
    shown = [pixels.ink(original[0], "Your image as the models see it", "As the models see it")]
    for method, image in reconstructions(runs, own).items():
        share, label = accuracies(image, original)[0], METHOD_NAMES[method]
        shown.append(
            pixels.ink(
                image[0],
                f"Your image, {label}: {share:.1%} of pixels right",
                f"{label}, {share:.1%} right",
            )
        )
    return shown
