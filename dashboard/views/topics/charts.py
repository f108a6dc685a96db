"""Charts of the Topics page."""

import html
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard.views.topics.data import COHERENCE, Topics, best_words
from vips_core.kernels import Array
from vips_core.reports.figures import (
    GREY,
    METHOD_COLOURS,
    METHOD_NAMES,
    METHOD_SYMBOLS,
    NO_LEGEND,
    TRANSPARENT,
    VERMILION,
    Figure,
    figure,
)
from vips_core.reports.traces import axis, bars, line, markers

_STRIPES = {"shape": "/", "fillmode": "overlay", "fgcolor": "#FFFFFF", "fgopacity": 0.55}
_DOWNWARDS = {"autorange": "reversed", "ticks": "", "showgrid": False}
_NUMBERED = 1e-3  # smallest share of a numbered topic: empty topics overlap, and so would their numbers
_BLANK = {"showgrid": False, "showticklabels": False, "ticks": ""}


def intertopic_map(topic_map: Mapping[str, Array], topics: Mapping[str, Topics], chosen: int) -> Figure:
    """Draw topics as circles, with area by share; the reference's are hollow and joined to their partners."""
    traces: list[dict[str, Any]] = []
    every = np.stack(list(topic_map.values()), axis=1)  # topics × methods × 2
    if len(topic_map) == 2:
        gaps = np.full((len(every), 1, 2), np.nan)
        x, y = np.concatenate([every, gaps], axis=1).reshape(-1, 2).T
        thin = {"color": GREY, "width": 1}
        traces.append(line("", x, y, GREY, line=thin, opacity=0.5, showlegend=False))
    for turn, (method, places) in enumerate(topic_map.items()):
        shares, size = topics[method].shares, len(places)
        colour, hollow = METHOD_COLOURS[method], turn == 1
        marker = {
            "size": 14 + 90 * np.sqrt(shares),
            "opacity": 0.95,  # numbers keep their contrast on dark pages too
            "color": TRANSPARENT if hollow else colour,
            "line": {
                "color": colour if hollow else "#FFFFFF",
                "width": [4 if number == chosen and not hollow else 1.5 for number in range(size)],
            },
        }
        traces.append(
            markers(
                METHOD_NAMES[method],
                places[:, 0],
                places[:, 1],
                colour,
                hover=f"{METHOD_NAMES[method]}, topic %{{customdata[0]}}: %{{customdata[1]}}% of the words",
                mode="markers" if hollow else "markers+text",
                text=[str(number + 1) if shares[number] >= _NUMBERED else "" for number in range(size)],
                textfont={"color": "#000000", "size": 11},  # readable on the colours of all methods
                marker=marker,
                unselected={"marker": {"opacity": 1}},  # a click dims no topic
                customdata=[[number + 1, round(100 * float(shares[number]), 1)] for number in range(size)],
            )
        )
    low, high = every.min(axis=(0, 1)), every.max(axis=(0, 1))
    margin = 0.14 * np.maximum(high - low, 1e-6)  # keeps circles at the edge whole
    axes = (
        axis(title, **_BLANK, range=[low[place] - margin[place], high[place] + margin[place]])
        for place, title in enumerate(("First direction of Jensen–Shannon distance", "Second direction"))
    )
    return figure(traces, *axes, height=520)


def word_bars(
    topics: Mapping[str, Topics],
    vocabulary: tuple[str, ...],
    methods: tuple[str, ...],
    number: int,
    weight: float,
) -> tuple[Figure, pd.DataFrame]:
    """Draw the top words of a topic with their probability, and that of its partner in the reference."""
    best = best_words(topics[methods[0]], weight, 15)[number]
    words = [vocabulary[word] for word in best]
    table = pd.DataFrame({"Word": words})
    words = list(map(_verbatim, words))
    traces: list[dict[str, Any]] = []
    for turn, method in enumerate(methods):
        name, values = METHOD_NAMES[method], topics[method].words[number, best]
        table[name] = values
        drawn = bars(name, values, words, METHOD_COLOURS[method], hover=f"%{{y}}, {name}: %{{x:.4f}}")
        drawn["marker"]["pattern"] = _STRIPES if turn else {}
        traces.append(drawn)
    all_words = topics[methods[0]].marginal[best]
    table["All topics"] = all_words
    tick = {"symbol": "line-ns", "size": 12, "line": {"width": 2.5, "color": VERMILION}}
    hover = "%{y}, all topics: %{x:.4f}"
    traces.append(markers("All topics", all_words, words, VERMILION, hover=hover, marker=tick))
    return figure(traces, axis("Probability in the topic", rangemode="tozero"), _DOWNWARDS, height=520), table


def coherence(table: pd.DataFrame) -> Figure:
    """Draw the coherence of each topic, one symbol for each method."""
    table = table.round({COHERENCE: 4})  # an axis over rounding errors would have no ticks
    traces = [
        markers(
            f"{METHOD_NAMES[method]} (mean {rows[COHERENCE].mean():.3f})",
            rows["Topic"].tolist(),
            rows[COHERENCE].tolist(),
            METHOD_COLOURS[method],
            METHOD_SYMBOLS[method],
            hover=f"{METHOD_NAMES[method]}, topic %{{x}}: %{{y:.3f}}",
        )
        for method, rows in table.groupby("Method", sort=False)
    ]
    whole = {"tick0": 1, "dtick": math.ceil(table["Topic"].max() / 12)}
    return figure(traces, axis("Topic", **whole), axis(COHERENCE))


def text_bars(shares: Mapping[str, Array], names: list[str]) -> Figure:
    """Draw the largest topic proportions of a text."""
    largest = np.argsort(-np.max(list(shares.values()), axis=0))[:6]
    labels = [_verbatim(names[number]) for number in largest]
    traces = [
        bars(name, values[largest], labels, METHOD_COLOURS[method], hover=f"%{{y}}, {name}: %{{x:.1%}}")
        for method, values in shares.items()
        for name in [METHOD_NAMES[method]]
    ]
    x = axis("Share of the text", tickformat=".0%", rangemode="tozero")
    margin = NO_LEGEND | {"t": 36}
    return figure(traces, x, _DOWNWARDS, height=80 + len(largest) * (24 + 16 * len(shares)), margin=margin)


def _verbatim(word: str) -> str:
    """Escape a word: Plotly reads some HTML."""
    return html.escape(word, quote=False)
