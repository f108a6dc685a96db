"""The letters that pages use, in words that need no course."""

import streamlit as st

TERMS = {
    "ε": "Privacy cost. One person's record makes whatever is published at most e^ε times as likely. 0 tells "
    "nothing about anyone; the smaller, the more private.",
    "δ": "How far the promise of ε may be missed, as a probability. Keep it far below 1/N.",
    "σ": "Noise multiplier: how large the random noise is, compared with what one person can change.",
    "N": "How many records there are. It is public.",
    "S": "Batch size: how many records a training step draws on average.",
    "q": "Sampling rate: the chance that a step draws a record, S divided by N.",
    "T": "How many steps a training run takes.",
}


def show() -> None:
    """Offer the glossary, one click away."""
    with st.popover("What ε, δ, σ, S and q mean", type="tertiary", icon=":material/dictionary:"):
        st.markdown("\n".join(f"- **{letter}**: {meaning}" for letter, meaning in TERMS.items()))
