"""What images look like before a model is trained here: digits and accuracies of the shipped results."""

import streamlit as st

from dashboard.components.charts import plot, score_by_epsilon
from dashboard.views.images import pixels
from sample_data import lessons

CAPTION = (
    "MNIST: ten public test digits, what models of 50 hidden units that were trained on {images:,} images "
    "make of them, and the median pixel accuracy of {runs} runs at each ε."
)


def show() -> str:
    """Draw digits and accuracies, and return what they are."""
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
    figure = score_by_epsilon(lessons.EPSILONS, results.accuracy, "pixel accuracy")
    plot(figure, "preview", "Pixel accuracy of private image models by ε, and without privacy.")
    return CAPTION.format(images=lessons.TRAIN_IMAGES, runs=results.accuracy.shape[1])
