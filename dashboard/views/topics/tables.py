"""Tables of the Topics page: words of topics as HTML, and the numbers behind its charts."""

import html
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.views.topics.data import Topics, best_words
from vips_core.kernels import Array
from vips_core.reports.figures import METHOD_NAMES

NOT_FOUND = "Not told apart from the other topics"


def side_by_side(topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> str:
    """Return the words of all topics as HTML: a row for each topic, a column for each method."""
    head = "".join(f"<th>{html.escape(METHOD_NAMES[method])}</th>" for method in topics)
    columns = (
        [
            _cell(one_run, best, vocabulary, number)
            for number, best in enumerate(best_words(one_run, weight, 8))
        ]
        for one_run in topics.values()
    )
    rows = [
        f'<tr><th scope="row">{number}</th>{"".join(cells)}</tr>'
        for number, cells in enumerate(itertools.zip_longest(*columns, fillvalue="<td></td>"), 1)
    ]
    return (
        f'<div class="vips-topics" tabindex="0" role="region" aria-label="Words of all topics"><table>'
        f"<thead><tr><th>Topic</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _probability(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "&lt;0.001"


def _cell(one_run: Topics, best: npt.NDArray[np.int64], vocabulary: tuple[str, ...], number: int) -> str:
    if one_run.order[number] >= one_run.found:
        return f"<td><em>{NOT_FOUND}</em></td>"
    words = " ".join(
        f"<span>{html.escape(vocabulary[word])}<small>{_probability(probability)}</small></span>"
        for word, probability in zip(best, one_run.words[number, best], strict=True)
    )
    note = f"{one_run.shares[number]:.1%} of the words"
    if one_run.overlap is not None:
        note += f", {one_run.overlap[number]:.0%} in common"
    return f"<td>{words}<em>{note}</em></td>"


def as_in_paper(table: pd.DataFrame, count: int) -> str:
    """Return the first topics of `words_table` as HTML like the paper's Table 1, methods side by side."""
    names = table["Method"].unique()
    head = "".join(f'<th colspan="2">{html.escape(name)}</th>' for name in names)
    tables = []
    for number in range(1, count + 1):
        rows = ""
        for _, methods in table[table["Topic"] == number].groupby("Rank"):
            cells = (
                f"<td>{html.escape(word)}</td><td>{probability:.4f}</td>"
                for word, probability in zip(methods["Word"], methods["Probability"], strict=True)
            )
            rows += f"<tr>{''.join(cells)}</tr>"
        tables.append(
            f"<div><table><caption>Topic {number}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    return f'<div class="vips-paper" style="--narrowest: {11 * len(names)}rem">{"".join(tables)}</div>'


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


def paper_table(table: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the numbers of `as_in_paper`, two columns for each topic and method."""
    first = table[table["Topic"] <= count].sort_values("Topic", kind="stable")
    columns: dict[str, list[Any]] = {}
    for (number, method), rows in first.groupby(["Topic", "Method"], sort=False):
        columns[f"Topic {number}, {method}"] = rows["Word"].tolist()
        columns[f"Topic {number}, {method}, probability"] = rows["Probability"].round(5).tolist()
    return pd.DataFrame(columns)


def map_table(topic_map: Mapping[str, Array], topics: Mapping[str, Topics]) -> pd.DataFrame:
    """Return the map, one row for each topic."""
    rows = [
        (METHOD_NAMES[method], number, share, *place)
        for method, places in topic_map.items()
        for number, (share, place) in enumerate(zip(topics[method].shares, places, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["Method", "Topic", "Share", "First direction", "Second direction"])


def text_table(shares: Mapping[str, Array], topic_names: list[str]) -> pd.DataFrame:
    """Return the topic proportions of a text, one row for each topic."""
    return pd.DataFrame(
        {"Topic": topic_names, **{METHOD_NAMES[name]: values for name, values in shares.items()}}
    )
