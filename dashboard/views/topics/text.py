"""What the Topics page says."""

from collections.abc import Sequence

from dashboard.components import layout
from vips_core.reports.figures import METHOD_NAMES

WORDS_ALT = "Words of each topic, by method."
MAP_CAPTION = (
    "Near topics have similar words. Area: share of the words. Hollow circles are the reference's topics, "
    "joined to their partners. Click a circle to see its words."
)
MAP_ALT = "Topics as numbered circles in the plane, near each other where their words are alike."
BARS_CAPTION = "Probability of the topic's first words; a tick marks the word's probability in all topics."
BARS_ALT = "Bars of the probabilities of the chosen topic's first words, with the reference beside them."
PERPLEXITY_CAPTION = (
    "How surprised the model is by half of the words of up to 500 held-out documents, given the other half. "
    "Lower is better; topics earn their keep below the dashed line."
)
PERPLEXITY_ALT = "Held-out perplexity against iterations for each method, with the unigram line."
COHERENCE_CAPTION = (
    "Whether a topic's ten first words occur together in held-out documents. Higher is better."
)
COHERENCE_ALT = "Coherence of each topic, one symbol for each method."
TEXT_ALT = "Shares of the pasted text by topic, for each method."
PLACEHOLDER = "Paste some sentences, for instance from a speech or a newspaper."


def failed(methods: Sequence[str]) -> str:
    """Say which methods failed."""
    return (
        f"{layout.failed(methods)}: the topics predict no better than one distribution of words for all "
        "documents, so their coherence says nothing and has no chart."
    )


def empty(method: str, measured: int, topics: int) -> str:
    """Say that a method has topics that were not measured."""
    return (
        f"**{method}** measured {measured} of {topics} topics: with this much noise there is no room for "
        "more. The others are empty: they have the words of all documents and next to no share."
    )


def matched(reference: str, count: int) -> str:
    """Say how the topics of several runs stand next to each other."""
    if count == 1:
        return "Each topic's first words with their probabilities, the largest topic first."
    return (
        f"Each row is one topic of {METHOD_NAMES[reference]} with the topics of the other methods that "
        "overlap with it most; “in common” is the probability mass that they share."
    )
