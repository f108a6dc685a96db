"""What topics look like before some are learned here: words and perplexities of the shipped results."""

import pandas as pd

from dashboard.components.charts import plot, score_by_epsilon
from dashboard.components.tables import text_table
from sample_data import lessons

CAPTION = (
    "State of the Union: the likeliest words of four of ten topics, learned at ε = 3, beside the topics that "
    "training without privacy finds, and the median perplexity of {runs} runs at each ε."
)


def show() -> str:
    """Show words and perplexities, and return what they are."""
    results = lessons.load()
    private, free = (
        [", ".join(results.vocabulary[word] for word in topic) for topic in results.words[place, 0, :4]]
        for place in (lessons.EPSILONS.index(3.0), -1)
    )
    text_table(pd.DataFrame({"At ε = 3": private, "Without privacy": free}))
    figure = score_by_epsilon(lessons.EPSILONS, results.perplexity, "perplexity")
    plot(figure, "preview", "Perplexity of private topics by ε, and of topics without privacy.")
    return CAPTION.format(runs=results.perplexity.shape[1])
