"""What images look like before a model is trained here: digits from the shipped results."""

import streamlit as st

from dashboard.views.images import pixels
from sample_data import lessons

CAPTION = "MNIST: ten public test digits, and what models of 50 hidden units make of them."


def show() -> str:
    """Draw the digits, and return what they are."""
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
    return CAPTION
