"""Words of topics as HTML tables: all topics side by side, and a few as in the paper's Table 1."""

import html
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dashboard.views.topics.data import Topics, best_words
from vips_core.reports.figures import METHOD_NAMES


def side_by_side(topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> str:
    """All topics as a table for people: one row per topic, one column per method."""
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
    """Words and probabilities of the first topics, methods side by side, as in the paper's Table 1."""
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
