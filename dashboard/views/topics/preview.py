"""What topics look like before some are learned here: words from the shipped results."""

import pandas as pd

from dashboard.components.tables import text_table
from sample_data import lessons

CAPTION = (
    "State of the Union: the likeliest words of four of ten topics, learned at ε = 3, beside the topics that "
    "training without privacy finds."
)


def show() -> str:
    """Show the words, and return what they are."""
    results = lessons.load()
    private, free = (
        [", ".join(results.vocabulary[word] for word in topic) for topic in results.words[place, 0, :4]]
        for place in (lessons.EPSILONS.index(3.0), -1)
    )
    text_table(pd.DataFrame({"At ε = 3": private, "Without privacy": free}))
    return CAPTION
