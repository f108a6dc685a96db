"""Tables of the Topics page: words of topics as HTML, and the numbers behind its charts."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.views.topics.data import TopicMap, Topics, best_words
from vips_core.kernels import Array
from vips_core.reports.figures import METHOD_NAMES


def side_by_side(topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> str:
    """Return the words of all topics as HTML: a row for each topic, a column for each method."""
    best = {method: best_words(one_run, weight, 8) for method, one_run in topics.items()}
    head = "".join(f"<th>{html.escape(METHOD_NAMES[method])}</th>" for method in topics)
    rows = []
    for number in range(max(len(one_run.words) for one_run in topics.values())):
        cells = [f'<th scope="row">{number + 1}</th>']
        for method, one_run in topics.items():
            cells.append("<td></td>")
            if number < len(one_run.words):
                cells[-1] = _cell(one_run, best[method][number], vocabulary, number)
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="vips-topics" tabindex="0" role="region" aria-label="Words of all topics"><table>'
        f"<thead><tr><th>Topic</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _probability(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "&lt;0.001"


def _cell(one_run: Topics, best: npt.NDArray[np.int64], vocabulary: tuple[str, ...], number: int) -> str:
    words = " ".join(
        f"<span>{html.escape(vocabulary[word])}<small>{_probability(probability)}</small></span>"
        for word, probability in zip(best, one_run.words[number, best], strict=True)
    )
    note = f"{one_run.shares[number]:.1%} of the words"
    if one_run.overlap is not None:
        note += f", {one_run.overlap[number]:.0%} in common"
    return f"<td>{words}<em>{note}</em></td>"


def as_in_paper(topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float, count: int) -> str:
    """Return the first topics as HTML like the paper's Table 1, with methods side by side."""
    best = {method: best_words(one_run, weight) for method, one_run in topics.items()}
    tables = []
    for number in range(count):
        head = "".join(f'<th colspan="2">{html.escape(METHOD_NAMES[method])}</th>' for method in topics)
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(vocabulary[best[method][number][rank]])}</td>"
                f"<td>{one_run.words[number, best[method][number][rank]]:.4f}</td>"
                for method, one_run in topics.items()
            )
            + "</tr>"
            for rank in range(next(iter(best.values())).shape[1])
        )
        tables.append(
            f"<div><table><caption>Topic {number + 1}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    return f'<div class="vips-paper" style="--narrowest: {11 * len(topics)}rem">{"".join(tables)}</div>'


def words_table(all_topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> pd.DataFrame:
    """Return the top words of all topics, one row for each."""
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
    """Return the numbers of `as_in_paper`."""
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
    """Return the map, one row for each topic."""
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
    """Return scores while training, one row for each, and the baselines."""
    rows: list[tuple[str, int | None, float]] = [
        (METHOD_NAMES[method], step, value) for method, points in curves.items() for step, value in points
    ]
    rows += [(name, None, value) for name, value in lines.items()]
    return pd.DataFrame(rows, columns=["Method", "Iteration", "Perplexity"])


def text_table(shares: Mapping[str, Array], topic_names: list[str]) -> pd.DataFrame:
    """Return the topic proportions of a text, one row for each topic."""
    return pd.DataFrame(
        {"Topic": topic_names, **{METHOD_NAMES[name]: values for name, values in shares.items()}}
    )
