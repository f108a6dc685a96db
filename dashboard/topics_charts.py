"""Charts and the word table of the Topics page."""

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.charts import GREY, METHOD_COLOURS, METHOD_SYMBOLS, NO_LEGEND, VERMILION, Figure, figure
from dashboard.topics import LABELS, Map, Topics, best_words

_STRIPES = {"shape": "/", "fillmode": "overlay", "fgcolor": "#FFFFFF", "fgopacity": 0.55}
_BLANK = {"showgrid": False, "showticklabels": False, "ticks": ""}


def intertopic_map(found: Map, topics: Mapping[str, Topics], chosen: int) -> Figure:
    """Circles for topics, their area by share; those of the reference are hollow, partners are joined."""
    traces: list[dict[str, Any]] = []
    size = len(found.places) // len(found.methods)
    if len(found.methods) == 2:
        ends = np.stack([found.places[:size], found.places[size:], np.full((size, 2), np.nan)], axis=1)
        traces.append(
            {"type": "scatter", "mode": "lines", "x": ends[:, :, 0].ravel(), "y": ends[:, :, 1].ravel(),
             "line": {"color": GREY, "width": 1}, "opacity": 0.5, "hoverinfo": "skip", "showlegend": False}
        )  # fmt: skip
    for turn, method in enumerate(found.methods):
        places, part = found.places[turn * size : (turn + 1) * size], topics[method]
        colour, hollow = METHOD_COLOURS[method], turn == 1
        traces.append(
            {
                "type": "scatter",
                "mode": "markers" if hollow else "markers+text",
                "name": LABELS[method],
                "x": places[:, 0],
                "y": places[:, 1],
                "text": [str(number + 1) for number in range(size)],
                "textfont": {"color": "#FFFFFF", "size": 11},
                "marker": {
                    "size": 14 + 90 * np.sqrt(part.shares),
                    "sizemode": "diameter",
                    "color": "rgba(0,0,0,0)" if hollow else colour,
                    "opacity": 1 if hollow else 0.85,
                    "line": {
                        "color": colour if hollow else "#FFFFFF",
                        "width": [4 if number == chosen and not hollow else 1.5 for number in range(size)],
                    },
                },
                "unselected": {"marker": {"opacity": 1 if hollow else 0.85}},  # a click dims nothing
                "customdata": np.round(100 * part.shares, 1),
                "hovertemplate": f"{LABELS[method]}, topic %{{text}}: %{{customdata}} % of the words"
                "<extra></extra>",
            }
        )
    low, high = found.places.min(axis=0), found.places.max(axis=0)
    room = 0.14 * np.maximum(high - low, 1e-6)  # circles at the edge are whole
    x, y = (
        {**_BLANK, "range": [low[axis] - room[axis], high[axis] + room[axis]], "title": {"text": title}}
        for axis, title in enumerate(("First direction of Jensen–Shannon distance", "Second direction"))
    )
    return figure(traces, x, y, height=520)


def word_bars(
    topics: Mapping[str, Topics],
    vocabulary: tuple[str, ...],
    methods: tuple[str, ...],
    number: int,
    weight: float,
) -> tuple[Figure, pd.DataFrame]:
    """The first words of a topic with their probability in this run, and in the reference's partner."""
    best = best_words(topics[methods[0]], weight, 15)[number]
    words = [vocabulary[word] for word in best]
    table = pd.DataFrame({"Word": words})
    traces: list[dict[str, Any]] = []
    for turn, method in enumerate(methods):
        values = topics[method].words[number, best]
        table[LABELS[method]] = values
        traces.append(
            {"type": "bar", "orientation": "h", "name": LABELS[method], "x": values, "y": words,
             "marker": {"color": METHOD_COLOURS[method], "pattern": _STRIPES if turn else {}},
             "hovertemplate": f"%{{y}}, {LABELS[method]}: %{{x:.4f}}<extra></extra>"}
        )  # fmt: skip
    all_words = topics[methods[0]].marginal[best]
    table["All topics"] = all_words
    traces.append(
        {"type": "scatter", "mode": "markers", "name": "All topics", "x": all_words, "y": words,
         "marker": {"symbol": "line-ns", "size": 12, "line": {"width": 2.5, "color": VERMILION}},
         "hovertemplate": "%{y}, all topics: %{x:.4f}<extra></extra>"}
    )  # fmt: skip
    y = {"autorange": "reversed", "ticks": "", "showgrid": False}
    drawn = figure(
        traces, {"title": {"text": "Probability in the topic"}, "rangemode": "tozero"}, y, height=520
    )
    return drawn, table


def coherence_chart(found: pd.DataFrame) -> Figure:
    """Coherence of each topic, one symbol for each method."""
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{LABELS[method]} (mean {part['Coherence (NPMI)'].mean():.3f})",
            "x": part["Topic"].tolist(),
            "y": part["Coherence (NPMI)"].tolist(),
            "marker": {"symbol": METHOD_SYMBOLS[method], "size": 10, "color": METHOD_COLOURS[method]},
            "hovertemplate": f"{LABELS[method]}, topic %{{x}}: %{{y:.3f}}<extra></extra>",
        }
        for method, part in found.groupby("Method", sort=False)
    ]
    return figure(traces, {"title": {"text": "Topic"}}, {"title": {"text": "Coherence (NPMI)"}})


def text_bars(shares: Mapping[str, npt.NDArray[np.float64]], names: list[str]) -> Figure:
    """Topic proportions of a text, for the topics that matter."""
    largest = np.argsort(-np.max(list(shares.values()), axis=0))[:6]
    traces = [
        {"type": "bar", "orientation": "h", "name": LABELS[method], "x": values[largest],
         "y": [names[number] for number in largest], "marker": {"color": METHOD_COLOURS[method]},
         "hovertemplate": f"%{{y}}, {LABELS[method]}: %{{x:.1%}}<extra></extra>"}
        for method, values in shares.items()
    ]  # fmt: skip
    y = {"autorange": "reversed", "ticks": "", "showgrid": False}
    x = {"title": {"text": "Share of the text"}, "tickformat": ".0%", "rangemode": "tozero"}
    margin = NO_LEGEND | {"t": 36}
    return figure(traces, x, y, height=80 + len(largest) * (24 + 16 * len(shares)), margin=margin)


def topics_html(topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> str:
    """All topics as a table for people: one row per topic, one column per method."""
    best = {method: best_words(part, weight, 8) for method, part in topics.items()}
    head = "".join(f"<th>{html.escape(LABELS[method])}</th>" for method in topics)
    rows = []
    for number in range(max(len(part.words) for part in topics.values())):
        cells = [f'<th scope="row">{number + 1}</th>']
        for method, part in topics.items():
            cells.append("<td></td>")
            if number < len(part.words):
                cells[-1] = _cell(part, best[method][number], vocabulary, number)
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="vips-topics" tabindex="0" role="region" aria-label="Words of all topics"><table>'
        f"<thead><tr><th>Topic</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _probability(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "&lt;0.001"


def _cell(part: Topics, best: npt.NDArray[np.int64], vocabulary: tuple[str, ...], number: int) -> str:
    words = " ".join(
        f"<span>{html.escape(vocabulary[word])}<small>{_probability(part.words[number, word])}</small></span>"
        for word in best
    )
    note = f"{part.shares[number]:.1%} of the words"
    if part.overlap is not None:
        note += f", {part.overlap[number]:.0%} in common"
    return f"<td>{words}<em>{note}</em></td>"


def paper_html(topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float, count: int) -> str:
    """Words and probabilities of the first topics, methods side by side, as in the paper's Table 1."""
    best = {method: best_words(part, weight) for method, part in topics.items()}
    tables = []
    for number in range(count):
        head = "".join(f'<th colspan="2">{html.escape(LABELS[method])}</th>' for method in topics)
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(vocabulary[best[method][number][rank]])}</td>"
                f"<td>{part.words[number, best[method][number][rank]]:.4f}</td>"
                for method, part in topics.items()
            )
            + "</tr>"
            for rank in range(next(iter(best.values())).shape[1])
        )
        tables.append(
            f"<div><table><caption>Topic {number + 1}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )
    return f'<div class="vips-paper" style="--narrowest: {11 * len(topics)}rem">{"".join(tables)}</div>'


STYLE = """<style>
.vips-paper { display: grid; gap: 1.5rem; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(var(--narrowest), 100%), 1fr)); }
.vips-paper div { overflow-x: auto; }
.vips-paper table { border-collapse: collapse; font-size: 0.85rem; }
.vips-paper caption { text-align: left; font-weight: 600; padding-bottom: 0.25rem; }
.vips-paper th { text-align: left; font-weight: 600; border-bottom: 2px solid currentColor; padding: 0.2rem; }
.vips-paper td { padding: 0.15rem 0.2rem; }
.vips-paper td:nth-child(even) { opacity: 0.7; font-variant-numeric: tabular-nums; padding-right: 0.8rem; }
.vips-topics { max-height: 34rem; overflow: auto; }
.vips-topics table { border-collapse: collapse; width: 100%; font-size: 0.95rem; }
.vips-topics th, .vips-topics td { text-align: left; vertical-align: top; padding: 0.5rem 0.75rem;
  border-bottom: 1px solid color-mix(in srgb, currentColor 16%, transparent); }
.vips-topics thead th { position: sticky; top: 0; background: var(--st-background-color); z-index: 1; }
.vips-topics span { display: inline-block; margin-right: 0.6rem; white-space: nowrap; }
.vips-topics small { opacity: 0.65; margin-left: 0.2rem; font-size: 0.72rem; }
@media (max-width: 1000px) {
  .vips-topics table { font-size: 0.85rem; }
  .vips-topics small { display: none; }
  .vips-topics th, .vips-topics td { padding: 0.4rem 0.25rem; }
}
.vips-topics em { display: block; font-style: normal; opacity: 0.7; font-size: 0.8rem; }
</style>"""
