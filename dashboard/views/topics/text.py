"""The sentences of the Topics page."""

from collections.abc import Sequence

from dashboard.components import layout
from vips_core.reports.figures import METHOD_NAMES

WORDS_ALT = "Words of each topic, by method."
MAP_CAPTION = (
    "Topics close together have similar words. Area: share of all words. Hollow circles: topics of the "
    "reference, joined to their partners. Click a circle to see its words."
)
MAP_ALT = "Topics as numbered circles, close together where their words are similar."
BARS_CAPTION = "Probabilities of the topic's top words. Ticks: their probabilities in all topics together."
BARS_ALT = "Probabilities of the chosen topic's top words, beside those of the reference."
PERPLEXITY_CAPTION = (
    "How many words the model effectively chooses among when it predicts half of a held-out document from "
    "the other half (at most 500 documents). Lower is better. Topics help only below the dashed line."
)
PERPLEXITY_ALT = "Held-out perplexity against iterations for each method, with the unigram line."
COHERENCE_CAPTION = (
    "How much more often than by chance a topic's top ten words occur together in held-out documents (NPMI). "
    "Higher is better."
)
COHERENCE_ALT = "Coherence of each topic, one symbol for each method."
TEXT_ALT = "Topic shares of the pasted text, for each method."
PLACEHOLDER = "Paste a few sentences, such as part of a speech or a news article."


def failed(methods: Sequence[str]) -> str:
    """Name the methods that failed."""
    return (
        f"{layout.failed(methods)}: the topics predict no better than one word distribution for all "
        "documents. Their coherence means nothing and is not shown."
    )


def empty(method: str, found: int, topics: int) -> str:
    """Say that some topics of a method were not told apart."""
    return (
        f"**{method}** found {found} of {topics} topics: the noise is too large to tell more apart. The "
        "others repeat the first words of these or of all documents, and the table leaves them out."
    )


def matched(reference: str, count: int) -> str:
    """Explain how topics of several runs are matched."""
    if count == 1:
        return "Top words of each topic with their probabilities, largest topic first."
    return (
        f"Each row is one topic of {METHOD_NAMES[reference]} and its best match in each other method. “In "
        "common” is the probability mass that they share."
    )
