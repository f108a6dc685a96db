"""The numbers of the Topics page as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dashboard.views.topics.data import TopicMap, Topics, best_words
from vips_core.kernels import Array
from vips_core.reports.figures import METHOD_NAMES


def words_table(all_topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> pd.DataFrame:
    """One row for each word among the first of a topic of a run."""
    rows = [
        {
            "Topic": number + 1,
            "Method": METHOD_NAMES[method],
            "Share": topics.shares[number],
            "Overlap with reference": None if topics.overlap is None else topics.overlap[number],
            "Rank": rank + 1,
            "Word": vocabulary[word],
            "Probability": topics.words[number, word],
        }
        for method, topics in all_topics.items()
        for number, best in enumerate(best_words(topics, weight))
        for rank, word in enumerate(best)
    ]
    return pd.DataFrame(rows)


def paper_table(
    all_topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float, chosen: Sequence[int]
) -> pd.DataFrame:
    """The paper's Table 1: words and probabilities of a few topics, methods side by side."""
    columns: dict[str, list[Any]] = {}
    best_of = {method: best_words(topics, weight) for method, topics in all_topics.items()}
    for number in chosen:
        for method, topics in all_topics.items():
            best = best_of[method][number]
            head = f"Topic {number + 1}, {METHOD_NAMES[method]}"
            columns[head] = [vocabulary[word] for word in best]
            columns[f"{head}, probability"] = [round(float(topics.words[number, word]), 5) for word in best]
    return pd.DataFrame(columns)


def map_table(topic_map: TopicMap, topics: Mapping[str, Topics]) -> pd.DataFrame:
    """The map as one row for each topic."""
    frames = [
        pd.DataFrame(
            {
                "Method": METHOD_NAMES[method],
                "Topic": np.arange(1, len(topics[method].shares) + 1),
                "Share": topics[method].shares,
                "First direction": topic_map.of(turn)[:, 0],
                "Second direction": topic_map.of(turn)[:, 1],
            }
        )
        for turn, method in enumerate(topic_map.methods)
    ]
    return pd.concat(frames, ignore_index=True)


def curves_table(
    curves: Mapping[str, Sequence[tuple[int, float]]], lines: Mapping[str, float]
) -> pd.DataFrame:
    """Scores while training as one row for each, and the lines to compare with."""
    rows: list[tuple[str, int | None, float]] = [
        (METHOD_NAMES[method], step, value) for method, points in curves.items() for step, value in points
    ]
    rows += [(name, None, value) for name, value in lines.items()]
    return pd.DataFrame(rows, columns=["Method", "Iteration", "Perplexity"])


def text_table(shares: Mapping[str, Array], topic_names: list[str]) -> pd.DataFrame:
    """A text's topic proportions, one row for each topic."""
    return pd.DataFrame(
        {"Topic": topic_names, **{METHOD_NAMES[name]: values for name, values in shares.items()}}
    )
