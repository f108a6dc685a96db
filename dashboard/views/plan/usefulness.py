"""The scores that shipped runs at a plan's ε reached on the public samples."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dashboard.components.formats import at_most, brief, number
from dashboard.components.inputs import optional_number
from dashboard.state import Choice, Number, log_stops
from sample_data import lessons
from vips_core.kernels import Array
from vips_core.models.task import TASKS, Score
from vips_core.reports.figures import BLUE, GREY, NO_LEGEND, VERMILION, Figure, figure, log_axis
from vips_core.reports.traces import axis, band, line, marked_line, markers

USE = Choice(
    "use",
    "What the model is for",
    "risk",
    {"risk": "Risk of each person", "topics": "Topics of texts", "images": "Images"},
    "The public sample that the plan is compared with.",
)
_MOST = 10**6
_STOPS = log_stops(1, _MOST, whole=True, mantissas=(1, 1.5, 2, 3, 4, 5, 6, 8))
WIDTHS = {
    use: Number(name, label, None, 1, _MOST, help, _STOPS, whole=True)
    for use, name, label, help in (
        ("risk", "predictors", "Predictors", "Predicting columns; each category counts as one."),
        ("topics", "vocabulary", "Words in the vocabulary", "Number of distinct words."),
        ("images", "pixels", "Pixels of an image", "Width times height."),
    )
}


@dataclass(frozen=True)
class Sample:
    """Results on one public sample.

    Attributes
    ----------
    records, width
        Numbers of training records and of predictors, words or pixels.
    record, unit
        The nouns for these two.
    model
        The model, and the length of its training.
    scores
        Held-out scores by ε (rows) and seed (columns); the last row is without noise.
    """

    score: Score
    data: str
    records: int
    record: str
    width: int
    unit: str
    model: str
    scores: Array

    @property
    def name(self) -> str:
        """The short name of the score."""
        return self.score.name.split(" (")[0]


@functools.cache
def sample(use: str) -> Sample:
    """Return the results on the sample for a use."""
    results = lessons.load()
    if use == "risk":
        size = (4_204, "people", 44, "predictors", "logistic regression, 16 steps")
        return Sample(_score("logistic"), "NHANES stroke", *size, results.auc)
    if use == "topics":
        size = (19_070, "texts", 6_000, "different words", f"{lessons.TOPICS} topics, 20 steps")
        return Sample(_score("lda"), "State of the Union", *size, results.perplexity)
    size = (lessons.TRAIN_IMAGES, "images", 784, "pixels", f"{lessons.HIDDEN} hidden units, 12 steps")
    return Sample(_score("sbn"), "MNIST digits", *size, results.accuracy)


def _score(model: str) -> Score:
    return TASKS[model].scores[TASKS[model].validation_score]


EPSILONS = np.array(lessons.EPSILONS[:-1])


def expected(use: str, epsilon: float) -> tuple[float, float, float]:
    """Return the median, lowest and highest score at an ε, interpolated in log ε."""
    tried = sample(use).scores[:-1]
    at = np.log(np.clip(epsilon, EPSILONS[0], EPSILONS[-1]))
    low, middle, high = (
        float(np.interp(at, np.log(EPSILONS), values))
        for values in (tried.min(axis=1), np.median(tried, axis=1), tried.max(axis=1))
    )
    return middle, low, high


def chart(use: str, epsilon: float) -> Figure:
    """Draw the score against ε with its range over seeds, the level without privacy, and this plan."""
    of = sample(use)
    tried, free = of.scores[:-1], float(np.median(of.scores[-1]))
    middle = np.median(tried, axis=1)
    at = float(np.clip(epsilon, EPSILONS[0], EPSILONS[-1]))
    traces = [
        band(EPSILONS, tried.min(axis=1), tried.max(axis=1), BLUE),
        marked_line("Private", EPSILONS, middle, BLUE, hover=f"ε = %{{x}}: {of.name} %{{y:.3g}}"),
        line("Without privacy", EPSILONS[[0, -1]], [free, free], GREY, "dash"),
        markers(
            "This plan",
            [at],
            [expected(use, epsilon)[0]],
            VERMILION,
            "diamond",
            hover=f"This plan: {of.name} %{{y:.3g}}",
        ),
    ]
    traces[-1]["marker"]["size"] = 14
    x = log_axis("ε (log scale)", np.log10(EPSILONS[0]) - 0.05, np.log10(EPSILONS[-1]) + 0.05)
    return figure(traces, x, axis(f"Held-out {of.name}"), height=320, margin={**NO_LEGEND, "t": 36})


def table(use: str) -> pd.DataFrame:
    """Return the scores on a public sample, one row for each tested ε."""
    tried, score = sample(use).scores[:-1], f"Held-out {sample(use).name}"
    columns = {"ε": EPSILONS, f"{score}, median": np.median(tried, axis=1)}
    return pd.DataFrame(columns | {"lowest": tried.min(axis=1), "highest": tried.max(axis=1)})


def sentence(use: str, epsilon: float) -> str:
    """State the score that runs at this ε reached."""
    of, (middle, low, high) = sample(use), expected(use, epsilon)
    free = float(np.median(of.scores[-1]))
    near = min(max(epsilon, EPSILONS[0]), EPSILONS[-1])
    tried = "" if near in EPSILONS else ", interpolated between the tested ε"
    if near != epsilon:
        tried = ", the nearest tested value"
    return (
        f"At ε = {at_most(near)}{tried}, runs on {of.data} reached a held-out {of.name} of "
        f"**{number(middle)}** ({number(low)} to {number(high)} over {of.scores.shape[1]} runs); without "
        f"privacy it is {number(free)}. {of.score.explained()}"
    )


def origin(use: str) -> str:
    """Describe the runs behind the numbers."""
    epsilons = f"{', '.join(f'{epsilon:g}' for epsilon in EPSILONS[:-1])} and {EPSILONS[-1]:g}"
    return (
        f"Seeded runs that come with the project and that Learn shows too: VIPS, improved "
        f"({sample(use).model}), with full batches, at δ = {brief(lessons.DELTA)} and "
        f"ε = {epsilons}. Your own data may give better or worse scores: this is a first guess before any "
        "budget is spent. Frontier compares methods."
    )


def distance(use: str, records: int, width: int | None) -> str:
    """Compare the size of the visitor's data with the sample's, and state what to expect."""
    of = sample(use)
    people = _side(records, of.records)  # at the same ε, noise per person falls as N grows
    wide = 0 if width is None else -_side(width, of.width)  # more numbers share the same budget
    yours = f"{records:,} {of.record}" + ("" if width is None else f" and {width:,} {of.unit}")
    theirs = f"{of.records:,} {of.record} and {of.width:,} {of.unit}"
    return f"The sample has {theirs}; you have {yours}: **{_outlook(people, wide)}**."


def _side(mine: int, theirs: int) -> int:
    """Return 1 if `mine` is above twice `theirs`, -1 if below half of it, otherwise 0."""
    return (mine > 2 * theirs) - (2 * mine < theirs)


def _outlook(people: int, wide: int) -> str:
    if people * wide < 0:
        return "one makes it easier and the other harder, so this is a rough guess"
    if people + wide == 0:
        return "about the same, so this is a fair guess for similar data"
    return (
        "expect to come closer to training without privacy" if people + wide > 0 else "expect less than this"
    )


def ask_width(use: str) -> None:
    """Offer an input for the number of predictors, words or pixels."""
    unit = sample(use).unit
    help = "For the comparison with the public sample. It does not change the protection."
    optional_number(WIDTHS[use], f"Enter the number of {unit}", help, sample(use).width)
