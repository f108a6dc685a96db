"""The Images page: its introduction, ready example and preview, and how its results can be looked at."""

import streamlit as st

from dashboard.components.charts import plot, score_by_epsilon
from dashboard.model_page.definition import ModelPage, method_choice
from dashboard.state import Number, Text
from dashboard.views.images import pixels
from sample_data import lessons
from vips_core.models.task import TASKS


def _preview() -> str:
    """Draw shipped digits and accuracies, and return their caption."""
    results = lessons.load()
    images = {
        "Original": results.digits,
        "At ε = 1": results.reconstructions[lessons.EPSILONS.index(1.0), 0],
        "Without privacy": results.reconstructions[-1, 0],
    }
    rows = [
        pixels.Row(name, "", [pixels.ink(one, f"{name}, digit {digit}") for digit, one in enumerate(drawn)])
        for name, drawn in images.items()
    ]
    st.html(pixels.table(rows))
    alt = "Pixel accuracy of private image models by ε, and without privacy."
    plot(score_by_epsilon(lessons.EPSILONS, results.accuracy, "pixel accuracy"), "preview", alt)
    return (
        "MNIST: ten public test digits, their reconstructions by models of 50 hidden units trained on "
        f"{lessons.TRAIN_IMAGES:,} images, and median pixel accuracy at each ε over "
        f"{results.accuracy.shape[1]} runs."
    )


FIRST = Number("first", "First image", 1, 1, 10**9, "", (), whole=True)
SAMPLE = Number("drawn", "Samples", 1, 1, 10**6, "", (), whole=True)
WRONG = Text("wrong", None, "1")
UNITS = method_choice("units", "Method", TASKS["sbn"], "The method whose hidden units are shown.")
PAGE = ModelPage(
    task=TASKS["sbn"],
    title="Images from hidden causes",
    introduction="Builds black-and-white images from hidden causes that are on or off (a sigmoid belief "
    "network). Each training image is protected; only public held-out images are shown.",
    example={
        "data": "mnist",
        "methods": "refined,non-private,paper,strong",
        "epsilon": 1.0,
        "hidden": 30,
        "epochs": 0.5,
        "seed": 1,
    },
    preview=_preview,
    views=(FIRST, WRONG, UNITS, SAMPLE),
    nothing_held_out="This data set has no public held-out images, and training images are never shown. Draw "
    "or upload an image below to see its reconstruction.",
)
