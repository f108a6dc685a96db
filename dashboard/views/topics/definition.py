"""The Topics page: its words on top, its ready example, and how its results can be looked at."""

from dashboard.model_page.definition import ModelPage, method_choice
from dashboard.state import Number, Text
from dashboard.views.topics import preview
from vips_core.models.task import TASKS

RELEVANCE = Number(
    "relevance",
    "Relevance λ",
    1.0,
    0.0,
    1.0,
    "1 ranks a topic's words by probability. Towards 0 those come first that the topic has more often than "
    "all topics together (lift).",
    tuple(round(0.05 * i, 2) for i in range(21)),
)
SHOWN = method_choice("shown", "Method", TASKS["lda"], "The run whose topics are drawn.")
TOPIC = Text("topic", "1", r"[1-9][0-9]{0,3}")
PAGE = ModelPage(
    task=TASKS["lda"],
    title="Topics of documents",
    introduction="Topics are groups of words that occur together. They are learned from noisy sums and from "
    "what is publicly known of words, so that no single document can be told from them.",
    example={
        "data": "sotu",
        "methods": "refined,strong,non-private",
        "epsilon": 3.0,
        "delta": 1e-5,
        "epochs": 5.0,
        "topics": 10,
        "seed": 1,
    },
    preview=preview.show,
    follows_some=True,
    views=(RELEVANCE, SHOWN, TOPIC),
)
