"""Scores on public samples that shipped runs reached at a plan's ε."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dashboard.components.charts import score_by_epsilon
from dashboard.components.formats import at_most, brief, number
from dashboard.components.inputs import optional_number
from dashboard.state import Choice, Number, log_stops
from sample_data import lessons
from vips_core.kernels import Array
from vips_core.models.task import TASKS, Score
from vips_core.reports.figures import BLUE, VERMILION, Figure
from vips_core.reports.traces import band, markers

USE = Choice(
    "use",
    "Purpose of the model",
    "risk",
    {"risk": "Predict each person's risk", "topics": "Topics of texts", "images": "Images"},
    "The public sample that the plan is compared with.",
)
_MOST = 10**6
_STOPS = log_stops(1, _MOST, whole=True, mantissas=(1, 1.5, 2, 3, 4, 5, 6, 8))
WIDTHS = {
    use: Number(name, label, None, 1, _MOST, help, _STOPS, whole=True)
    for use, name, label, help in (
        ("risk", "predictors", "Predictors", "Columns that predict; each category counts as one."),
        ("topics", "vocabulary", "Words in the vocabulary", "Number of distinct words."),
        ("images", "pixels", "Pixels of an image", "Width times height."),
    )
}


@dataclass(frozen=True)
class Sample:
    """Runs of one model on a public sample.

    Attributes
    ----------
    records, width
        Numbers of training records and of predictors, words or pixels.
    record, unit
        The nouns for these two.
    training
        The model and the length of its training, in words.
    column
        The attribute of the shipped results with the held-out scores.
    """

    model: str
    data: str
    records: int
    record: str
    width: int
    unit: str
    training: str
    column: str

    @property
    def score(self) -> Score:
        """The model's most important score."""
        task = TASKS[self.model]
        return task.scores[task.validation_score]

    @property
    def name(self) -> str:
        """The short name of the score."""
        return self.score.name.split(" (")[0]

    @property
    def scores(self) -> Array:
        """Held-out scores by ε (rows) and seed (columns); the last row is without noise."""
        return np.asarray(getattr(lessons.load(), self.column))

    @property
    def by_epsilon(self) -> pd.DataFrame:
        """Median, lowest and highest score over the seeds, one row for each ε."""
        tried = self.scores[:-1]
        spread = {"lowest": tried.min(axis=1), "highest": tried.max(axis=1)}
        return pd.DataFrame(
            {"ε": EPSILONS, f"Held-out {self.name}, median": np.median(tried, axis=1), **spread}
        )


EPSILONS = np.array(lessons.EPSILONS[:-1])
_TOPICS, _HIDDEN = f"{lessons.TOPICS} topics, 20 steps", f"{lessons.HIDDEN} hidden units, 12 steps"
_WEIGHTS = "logistic regression, 16 steps"
SAMPLES = {
    "risk": Sample("logistic", "NHANES stroke", 4_204, "people", 44, "predictors", _WEIGHTS, "auc"),
    "topics": Sample(
        "lda", "State of the Union", 19_070, "texts", 6_000, "different words", _TOPICS, "perplexity"
    ),
    "images": Sample(
        "sbn", "MNIST digits", lessons.TRAIN_IMAGES, "images", 784, "pixels", _HIDDEN, "accuracy"
    ),
}


def expected(use: str, epsilon: float) -> tuple[float, float, float]:
    """Return the median, lowest and highest score at an ε, interpolated in log ε."""
    tried, *columns = SAMPLES[use].by_epsilon.to_numpy().T
    at = np.clip(epsilon, tried[0], tried[-1])
    middle, low, high = (float(np.interp(np.log(at), np.log(tried), column)) for column in columns)
    return middle, low, high


def chart(use: str, epsilon: float) -> Figure:
    """Draw the score against ε with its range over seeds, the level without privacy, and this plan."""
    of = SAMPLES[use]
    tried, _, low, high = of.by_epsilon.to_numpy().T
    drawn = score_by_epsilon(lessons.EPSILONS, of.scores, of.name)
    at, middle = float(np.clip(epsilon, tried[0], tried[-1])), expected(use, epsilon)[0]
    diamond = {"size": 14, "color": VERMILION, "symbol": "diamond"}
    here = markers("This plan", [at], [middle], VERMILION, hover="This plan: %{y:.3g}", marker=diamond)
    traces = [band(tried, low, high, BLUE), *drawn["data"], here]
    return {"data": traces, "layout": drawn["layout"] | {"height": 320}}


def sentence(use: str, epsilon: float) -> str:
    """State the score that runs reached at this ε."""
    of, (middle, low, high) = SAMPLES[use], expected(use, epsilon)
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
        "Seeded runs that ship with the project, the same as in Learn: refined "
        f"({SAMPLES[use].training}), full batches, δ = {brief(lessons.DELTA)}, "
        f"ε = {epsilons}. Your own data may give better or worse scores: this is a first guess before any "
        "budget is spent. Frontier compares methods."
    )


def distance(use: str, records: int, width: int | None) -> str:
    """Compare the size of the visitor's data with the sample's, and state what to expect."""
    of = SAMPLES[use]
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
        return "one difference helps and the other hurts, so this is a rough guess"
    if people + wide == 0:
        return "about the same size, so this is a fair guess for similar data"
    return (
        "expect to come closer to training without privacy" if people + wide > 0 else "expect a worse score"
    )


def ask_width(use: str) -> None:
    """Offer an input for the number of predictors, words or pixels."""
    unit = SAMPLES[use].unit
    help = "Used only to compare your data with the public sample. It does not change the protection."
    optional_number(WIDTHS[use], f"Enter the number of {unit}", help, SAMPLES[use].width)
