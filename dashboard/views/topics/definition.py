"""The Topics page: its introduction, ready example and preview, and how its results can be looked at."""

import pandas as pd

from dashboard.components.charts import plot, score_by_epsilon
from dashboard.components.tables import text_table
from dashboard.model_page.definition import ModelPage, method_choice
from dashboard.state import Number, Text
from sample_data import lessons
from vips_core.models.task import TASKS


def _preview() -> str:
    """Show shipped words and perplexities, and return their caption."""
    results = lessons.load()
    private, free = (
        [", ".join(results.vocabulary[word] for word in topic) for topic in results.words[place, 0, :4]]
        for place in (lessons.EPSILONS.index(3.0), -1)
    )
    text_table(pd.DataFrame({"At ε = 3": private, "Without privacy": free}))
    alt = "Perplexity of private topics by ε, and of topics without privacy."
    plot(score_by_epsilon(lessons.EPSILONS, results.perplexity, "perplexity"), "preview", alt)
    return (
        "State of the Union: the most likely words of four of ten topics, at ε = 3 and without privacy, and "
        f"median perplexity over {results.perplexity.shape[1]} runs at each ε."
    )


RELEVANCE = Number(
    "relevance",
    "Relevance λ",
    1.0,
    0.0,
    1.0,
    "1 ranks a topic's words by probability. Lower values favour words that are more frequent in this topic "
    "than in all topics together (lift).",
    tuple(round(0.05 * i, 2) for i in range(21)),
)
SHOWN = method_choice("shown", "Method", TASKS["lda"], "The method whose topics are drawn.")
TOPIC = Text("topic", "1", r"[1-9][0-9]{0,3}")
PAGE = ModelPage(
    task=TASKS["lda"],
    title="Topics of documents",
    introduction="Topics are groups of words that occur together. They are learned from noisy sums and from "
    "public knowledge of English words, so no document can be identified.",
    example={
        "data": "sotu",
        "methods": "refined,strong,non-private",
        "epsilon": 3.0,
        "delta": 1e-5,
        "epochs": 5.0,
        "topics": 10,
        "seed": 1,
    },
    preview=_preview,
    views=(RELEVANCE, SHOWN, TOPIC),
)
