"""What plans of this ε were good for on the public samples, from the results that ship with the project."""

import functools
from dataclasses import dataclass

import numpy as np

from dashboard.components.bounds import at_most
from dashboard.components.formats import brief, number
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
    "Which of the public samples the plan is compared with.",
)
_MOST = 10**6
_STOPS = log_stops(1, _MOST, whole=True, mantissas=(1, 1.5, 2, 3, 4, 5, 6, 8))
WIDTHS = {
    use: Number(name, label, None, 1, _MOST, help, _STOPS, whole=True)
    for use, name, label, help in (
        ("risk", "predictors", "Predictors", "Columns that predict; each category is one of its own."),
        ("topics", "vocabulary", "Words in the vocabulary", "Different words that are counted."),
        ("images", "pixels", "Pixels of an image", "Width times height."),
    )
}


@dataclass(frozen=True)
class Sample:
    """Results on one public sample: values by ε (rows) and seed (columns), the last row without noise.

    Attributes
    ----------
    records, width
        How many records were trained on, and of how many predictors, words or pixels.
    record, unit
        What these two count.
    model
        What was trained, and for how long.
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
        """Of the score, without what tells it from others of its kind."""
        return self.score.name.split(" (")[0]


@functools.cache
def sample(use: str) -> Sample:
    """Return the results on the sample that suits a use."""
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


def sentence(use: str, epsilon: float) -> str:
    """Say what was reached at this ε."""
    of, (middle, low, high) = sample(use), expected(use, epsilon)
    free = float(np.median(of.scores[-1]))
    near = min(max(epsilon, EPSILONS[0]), EPSILONS[-1])
    tried = "" if near in EPSILONS else ", read off between the ε that were tried"
    if near != epsilon:
        tried = ", the nearest that was tried"
    return (
        f"At ε = {at_most(near)}{tried}, runs on {of.data} had a held-out {of.name} of **{number(middle)}** "
        f"({number(low)} to {number(high)} over {of.scores.shape[1]} runs), against {number(free)} without "
        f"privacy. {of.score.explained()}"
    )


def origin(use: str) -> str:
    """Say which runs the numbers are of."""
    epsilons = f"{', '.join(f'{epsilon:g}' for epsilon in EPSILONS[:-1])} and {EPSILONS[-1]:g}"
    return (
        f"These runs come with the project, and Learn shows them too: VIPS, improved ({sample(use).model}), "
        f"with full batches, seeded, at δ = {brief(lessons.DELTA)} and ε = {epsilons}. Your own data may do "
        "better or worse: this is a first guess before anything is spent. Frontier has other methods."
    )


def distance(use: str, records: int, width: int | None) -> str:
    """Say how far the visitor's data are from those, and what that means for what can be expected."""
    of = sample(use)
    people = _side(records, of.records)  # at the same ε, noise per person falls with their number
    wide = 0 if width is None else -_side(width, of.width)  # and more numbers share the same budget
    yours = f"{records:,} {of.record}" + ("" if width is None else f" and {width:,} {of.unit}")
    theirs = f"{of.records:,} {of.record} and {of.width:,} {of.unit}"
    return f"That is with {theirs}; you have {yours}: **{_outlook(people, wide)}**."


def _side(mine: int, theirs: int) -> int:
    """Return 1 for more than twice as many, -1 for less than half, 0 for about as many."""
    return (mine > 2 * theirs) - (2 * mine < theirs)


def _outlook(people: int, wide: int) -> str:
    if people * wide < 0:
        return "one makes it easier and the other harder, so take this as a rough guess"
    if people + wide == 0:
        return "about the same, so that this is a fair guess for similar data"
    return (
        "expect to come closer to training without privacy" if people + wide > 0 else "expect less than this"
    )


def ask_width(use: str) -> None:
    """Offer to say how many predictors, words or pixels the visitor's data have."""
    unit = sample(use).unit
    help = "To compare with the public sample. It changes nothing about the protection."
    optional_number(WIDTHS[use], f"I know how many {unit} there are", help, sample(use).width)
