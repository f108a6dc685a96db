"""Charts of one run of a risk model, of topics and of digits."""

import math

import numpy as np
import numpy.typing as npt

from dashboard.views.learn.lessons.figures import Plot, figure, heat_map, point, side_by_side
from sample_data.lessons import EPSILONS, FALSE_POSITIVES, LEVELS, Results
from vips_core.kernels import Array
from vips_core.reports.figures import BLUE, GREY, Figure
from vips_core.reports.traces import axis, line, markers

COLUMNS = 5  # topics that fit side by side with readable words
CELL = 30  # pixels of an image with its margin
_BARE = {"showgrid": False, "ticks": ""}


def label(epsilon: float) -> str:
    """Format an ε of the results."""
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def risk(results: Results, place: int, run: int, revealed: bool) -> Figure:
    """Draw one run's ROC and every run's AUC; before the reveal, only runs without noise."""
    places = np.arange(len(EPSILONS))
    shown = places if revealed else places[-1:]
    jitter = np.linspace(-0.22, 0.22, results.auc.shape[1])
    hover = "false alarms %{x:.0%}, found %{y:.0%}"
    curves = [
        line("This run", FALSE_POSITIVES, results.roc[place, run], BLUE, hover=hover),
        line("Without noise", FALSE_POSITIVES, results.roc[-1, 0], GREY, "dash", hover),
    ]
    runs, aucs = (shown[:, None] + jitter).ravel(), results.auc[shown]
    small = {"size": 5, "color": BLUE, "opacity": 0.8}
    dash = {"size": 26, "symbol": "line-ew-open", "color": GREY, "line": {"width": 3}}
    dots = [
        markers("", runs, aucs.ravel(), BLUE, hover="AUC %{y:.3f}", marker=small),
        markers("", shown, aucs.mean(axis=1), GREY, hover="mean AUC %{y:.3f}", marker=dash),
        point("This run", place + jitter[run], results.auc[place, run], "this run: AUC %{y:.3f}"),
    ]
    false, true = ("False positive rate", [0, 1]), ("True positive rate", [0, 1.02])
    x, y = (axis(title, range=ends, tickformat=".0%") for title, ends in (false, true))
    ticks = {"tickvals": places, "ticktext": [label(epsilon) for epsilon in EPSILONS]}
    tried = axis("ε", range=[-0.5, len(EPSILONS) - 0.5], **ticks)
    auc = axis("Held-out AUC", range=[float(results.auc.min()) - 0.02, 0.9])
    return side_by_side(Plot("", curves, x, y), Plot("", dots, tried, auc))


def topics(results: Results, place: int, run: int, revealed: bool) -> Figure:
    """Draw the top words of one run's topics, coloured if the first run without noise shares them.

    The topics are those on which the runs without noise agree most.
    """
    ranks = results.words.shape[-1]
    x, y = np.meshgrid(np.arange(COLUMNS), np.arange(ranks), indexing="ij")
    stable = np.sort(np.argsort(-results.overlap[-1].mean(axis=0))[:COLUMNS])
    pairs = zip(results.words[place, run, stable], results.words[-1, 0, stable], strict=True)
    kept = np.concatenate([np.isin(topic, exact) for topic, exact in pairs])
    words = [results.vocabulary[word] for word in results.words[place, run, stable].ravel()]
    text = [f"<b>{word}</b>" if keep else word for word, keep in zip(words, kept, strict=True)]
    font = {"color": np.where(kept, BLUE, GREY).tolist(), "size": 17}
    trace = {"type": "scatter", "mode": "text", "x": x.ravel(), "y": y.ravel(), "hoverinfo": "skip"}
    names = {"tickvals": list(range(COLUMNS)), "ticktext": [f"Topic {k + 1}" for k in range(COLUMNS)]}
    return figure(
        [trace | {"text": text, "textfont": font}],
        {"range": [-0.5, COLUMNS - 0.5], "side": "bottom", **names, **_BARE},
        {"range": [ranks - 0.4, -0.6], "showticklabels": False, **_BARE},
        showlegend=False,
    )


def digits(results: Results, place: int, run: int, revealed: bool) -> Figure:
    """Draw ten test digits, each above its reconstruction by one run."""
    bare = {**_BARE, "constrain": "domain"}
    rows = {"tickvals": [(row + 0.5) * CELL for row in range(4)], "ticktext": ["test image", "this run"] * 2}
    return figure(
        [heat_map(_pairs(results.digits, results.reconstructions[place, run]), LEVELS, GREY)],
        {**bare, "showticklabels": False},
        {**bare, "autorange": "reversed", "scaleanchor": "x", **rows},
        showlegend=False,
    )


def _pairs(images: Array, reconstructed: Array) -> npt.NDArray[np.int8]:
    """Return rows of five images (below 0) and their reconstructions (above 0), in the file's grey levels."""
    rows = [part for five in (slice(0, 5), slice(5, 10)) for part in (-images[five], reconstructed[five])]
    padded = np.pad(np.array(rows) * LEVELS, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded.transpose(0, 2, 1, 3).reshape(4 * CELL, 5 * CELL).round().astype(np.int8)
