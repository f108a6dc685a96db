"""Charts of one run of a risk model, of topics and of digits, with the other runs as frames."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dashboard.views.learn.lessons import figures
from sample_data.lessons import EPSILONS, FALSE_POSITIVES, LEVELS, Results
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREY, Figure
from vips_core.reports.traces import axis, line, markers

NON_PRIVATE = len(EPSILONS) - 1
COLUMNS = 5  # topics that fit side by side with readable words
MILLISECONDS = 600  # per frame: long enough to see a curve or an image, not to read words
ROUNDS = 4  # times that Play shows all runs
CELL = 30  # pixels of an image with its margin


def label(epsilon: float) -> str:
    """Format an ε of the results."""
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def risk(results: Results, place: int, run: int, revealed: bool) -> Figure:
    """Draw the ROC of one run, and the AUC of every run at every ε."""
    ticks = [label(epsilon) for epsilon in EPSILONS]
    places = np.arange(len(EPSILONS))
    shown = places if revealed else places[-1:]
    jitter = np.linspace(-0.22, 0.22, results.auc.shape[1])
    everywhere = (shown[:, None] + jitter).ravel()
    small = {"size": 5, "color": BLUE, "opacity": 0.8}
    spread = markers("", everywhere, results.auc[shown].ravel(), BLUE, hover="AUC %{y:.3f}", marker=small)
    dash = {"size": 26, "symbol": "line-ew-open", "color": GREY, "line": {"width": 3}}
    averages = results.auc[shown].mean(axis=1)
    means = markers("", shown, averages, GREY, hover="mean AUC %{y:.3f}", marker=dash)
    if not revealed:
        place = NON_PRIVATE

    def moving(seed: int) -> list[dict[str, Any]]:
        return [
            {"y": results.roc[place, seed]},
            {"x": [place + jitter[seed]], "y": [results.auc[place, seed]]},
        ]

    curve, dot = moving(run)
    hover = "false alarms %{x:.0%}, found %{y:.0%}"
    left = [
        {**line("This run", FALSE_POSITIVES, None, BLUE, "solid", hover), **curve},
        line("Without noise", FALSE_POSITIVES, results.roc[-1, 0], GREY, "dash", hover),
    ]
    right = [spread, means, {**figures.point("This run", 0, 0, "this run: AUC %{y:.3f}"), **dot}]
    lowest = float(results.auc.min())
    drawn = figures.side_by_side(
        left,
        right,
        (
            axis("False positive rate", range=[0, 1], tickformat=".0%"),
            axis("True positive rate", range=[0, 1.02], tickformat=".0%"),
            axis("ε", tickvals=places, ticktext=ticks, range=[-0.5, NON_PRIVATE + 0.5]),
            axis("Held-out AUC", range=[lowest - 0.02, 0.9]),
        ),
        ("", ""),
    )
    return _played(drawn, place, run, results.auc.shape[1], moving, traces=(0, 4))


def topics(results: Results, place: int, run: int, revealed: bool) -> Figure:
    """Draw the first words of one run's topics, in colour those that the first run without noise shares.

    The topics are those on which the runs without noise agree most.
    """
    if not revealed:
        place = NON_PRIVATE
    ranks = results.words.shape[-1]
    x, y = np.meshgrid(np.arange(COLUMNS), np.arange(ranks), indexing="ij")
    stable = np.sort(np.argsort(-results.overlap[-1].mean(axis=0))[:COLUMNS])
    truth = [set(topic) for topic in results.words[-1, 0, stable].tolist()]

    def moving(seed: int) -> list[dict[str, Any]]:
        topics_of_run = results.words[place, seed, stable].tolist()
        kept = [word in truth[column] for column, topic in enumerate(topics_of_run) for word in topic]
        words = [results.vocabulary[word] for topic in topics_of_run for word in topic]
        text = [f"<b>{word}</b>" if keep else word for word, keep in zip(words, kept, strict=True)]
        return [{"text": text, "textfont": {"color": [BLUE if k else GREY for k in kept]}}]

    trace = {"type": "scatter", "mode": "text", "x": x.ravel(), "y": y.ravel(), "hoverinfo": "skip"}
    (first,) = moving(run)
    first = {**first, "textfont": {**first["textfont"], "size": 17}}
    hidden = {"showticklabels": False, "showgrid": False, "ticks": ""}
    drawn = figures.figure(
        [{**trace, **first}],
        {
            "range": [-0.5, COLUMNS - 0.5],
            "side": "bottom",
            "showgrid": False,
            "ticks": "",
            "tickvals": list(range(COLUMNS)),
            "ticktext": [f"Topic {k + 1}" for k in range(COLUMNS)],
        },
        {"range": [ranks - 0.4, -0.6], **hidden},
        showlegend=False,
    )
    return _played(drawn, place, run, results.words.shape[1], moving, milliseconds=2 * MILLISECONDS)


def digits(results: Results, place: int, run: int, revealed: bool) -> Figure:
    """Draw ten test digits, each above its reconstruction by one run."""
    if not revealed:
        place = NON_PRIVATE

    def moving(seed: int) -> list[dict[str, Any]]:
        return [{"type": "heatmap", "z": _pairs(results.digits, results.reconstructions[place, seed])}]

    fixed = {
        "zmin": -LEVELS,
        "zmax": LEVELS,
        "showscale": False,
        "hoverinfo": "skip",
        "colorscale": [[0, GREY], [0.5, "rgba(127,138,149,0.13)"], [1, BLUE]],
    }
    bare = {"showgrid": False, "ticks": "", "constrain": "domain"}
    middles = [(row + 0.5) * CELL for row in range(4)]
    drawn = figures.figure(
        [{**fixed, **moving(run)[0]}],
        {**bare, "showticklabels": False},
        {
            **bare,
            "autorange": "reversed",
            "scaleanchor": "x",
            "tickvals": middles,
            "ticktext": ["test image", "this run"] * 2,
        },
        showlegend=False,
    )
    return _played(drawn, place, run, results.reconstructions.shape[1], moving)


def _pairs(images: Array, reconstructed: Array) -> npt.NDArray[np.int8]:
    """Return rows of five images (below 0) and their reconstructions (above 0), in the file's grey levels."""
    rows = [part for five in (slice(0, 5), slice(5, 10)) for part in (-images[five], reconstructed[five])]
    padded = np.pad(np.array(rows) * LEVELS, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded.transpose(0, 2, 1, 3).reshape(4 * CELL, 5 * CELL).round().astype(np.int8)


def _played(
    drawn: Figure,
    place: int,
    run: int,
    runs: int,
    moving: Callable[[int], list[dict[str, Any]]],
    traces: Sequence[int] = (0,),
    milliseconds: int = MILLISECONDS,
) -> Figure:
    """Add a frame for each run to a figure of one of them, with the run in the headline."""

    def layout(seed: int) -> dict[str, Any]:
        noise = "Without noise" if place == NON_PRIVATE else f"ε = {label(EPSILONS[place])}"
        return {"annotations": [figures.headline(f"<b>{noise}</b>, run {seed + 1}")]}

    frames: list[dict[str, Any]] = [
        {"name": f"run {seed + 1}", "data": moving(seed), "traces": list(traces), "layout": layout(seed)}
        for seed in range(runs)
    ]
    drawn = {**drawn, "layout": drawn["layout"] | layout(run)}
    return figures.played(drawn, frames, run, milliseconds, ROUNDS)
