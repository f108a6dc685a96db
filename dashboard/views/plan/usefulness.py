"""What plans of this ε were good for on the public samples, from the results that ship with the project."""

import functools
from dataclasses import dataclass

import numpy as np

from dashboard.components.formats import number
from dashboard.state import Choice
from sample_data import lessons
from vips_core.reports.figures import BLUE, GREY, NO_LEGEND, VERMILION, Array, Figure, figure, log_axis
from vips_core.reports.traces import axis, band, line, marked_line, markers

USE = Choice(
    "use",
    "What the model is for",
    "risk",
    {"risk": "Risk of each person", "topics": "Topics of texts", "images": "Images"},
    "Which of the public samples the plan is compared with.",
)


@dataclass(frozen=True)
class Sample:
    """Results on one public sample: scores by ε (rows) and seed (columns), the last row without noise."""

    score: str
    data: str
    records: int
    size: str
    scores: Array
    larger_is_better: bool = True


@functools.cache
def sample(use: str) -> Sample:
    """Return the results on the sample that suits a use."""
    results = lessons.load()
    if use == "risk":
        return Sample("AUC", "NHANES stroke", 4_204, "45 features", results.auc)
    if use == "topics":
        return Sample("perplexity", "State of the Union", 19_070, "10 topics", results.perplexity, False)
    return Sample("pixel accuracy", "MNIST digits", lessons.TRAIN_IMAGES, "50 hidden units", results.accuracy)


EPSILONS = np.array(lessons.EPSILONS[:-1])


def expected(use: str, epsilon: float) -> tuple[float, float, float]:
    """Return median, least and largest score at an ε, between those that were tried in log ε."""
    tried = sample(use).scores[:-1]
    at = np.log(np.clip(epsilon, EPSILONS[0], EPSILONS[-1]))
    low, middle, high = (
        float(np.interp(at, np.log(EPSILONS), values))
        for values in (tried.min(axis=1), np.median(tried, axis=1), tried.max(axis=1))
    )
    return middle, low, high


def chart(use: str, epsilon: float) -> Figure:
    """The score against ε with its spread over seeds, the level without privacy, and this plan."""
    of = sample(use)
    tried, free = of.scores[:-1], float(np.median(of.scores[-1]))
    middle = np.median(tried, axis=1)
    at = float(np.clip(epsilon, EPSILONS[0], EPSILONS[-1]))
    traces = [
        band(EPSILONS, tried.min(axis=1), tried.max(axis=1), BLUE),
        marked_line("Private", EPSILONS, middle, BLUE, hover=f"ε = %{{x}}: {of.score} %{{y:.3g}}"),
        line("Without privacy", EPSILONS[[0, -1]], [free, free], GREY, "dash"),
        markers(
            "This plan",
            [at],
            [expected(use, epsilon)[0]],
            VERMILION,
            "diamond",
            hover=f"This plan: {of.score} %{{y:.3g}}",
        ),
    ]
    traces[-1]["marker"]["size"] = 14
    x = log_axis("ε (log scale)", np.log10(EPSILONS[0]) - 0.05, np.log10(EPSILONS[-1]) + 0.05)
    return figure(traces, x, axis(f"Held-out {of.score}"), height=320, margin={**NO_LEGEND, "t": 36})


def sentence(use: str, epsilon: float, records: int) -> str:
    """Say what was reached at this ε, and how far the plan is from what was tried."""
    of, (middle, low, high) = sample(use), expected(use, epsilon)
    free = float(np.median(of.scores[-1]))
    beyond = "" if EPSILONS[0] <= epsilon <= EPSILONS[-1] else ", the nearest that was tried"
    near = min(max(epsilon, EPSILONS[0]), EPSILONS[-1])
    times = records / of.records
    if 0.5 <= times <= 2:
        distance = "about as many as here, so that this is a fair guess for similar data"
    elif times > 2:
        distance = (
            f"and the plan has {number(times)} times as many: at the same ε the noise per person is that "
            "much smaller, so expect to come closer to training without privacy"
        )
    else:
        distance = (
            f"and the plan has {number(1 / times)} times fewer: at the same ε the noise per person is that "
            "much larger, so expect less than this"
        )
    return (
        f"At ε = {number(near)}{beyond}, runs on {of.data} had a held-out {of.score} of **{number(middle)}** "
        f"({number(low)} to {number(high)} over {of.scores.shape[1]} runs), against {number(free)} without "
        f"privacy. That data has {of.records:,} records and {of.size}, {distance}."
    )
