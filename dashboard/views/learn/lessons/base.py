"""The parts of a lesson (question, controls, formulas, outcome), and what several lessons share."""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.state import Choice, Number, log_stops
from vips_core import PrivacyPlan
from vips_core.kernels import Array
from vips_core.reports.figures import Figure

LETTERS = "abcd"  # names of the answers
_NO_YES = {"0": "no", "1": "yes"}
_RECORDS = 1_000_000  # records of sampled plans, for which only the ratio q = S/N matters


class Scale(Choice):
    """An ordered choice, shown as a slider."""


@dataclass(frozen=True)
class Formula:
    """One formula: LaTeX for the page, HTML without scripts for print, and its place in the paper."""

    latex: str
    html: str
    source: str


class Answer(NamedTuple):
    """A possible answer and, unless it is right, the mistake behind it."""

    text: str
    mistake: str = ""


@dataclass(frozen=True)
class Question:
    """A question with its possible answers, exactly one of which has no mistake."""

    text: str
    answers: tuple[Answer, ...]

    @property
    def right(self) -> int:
        """Index of the right answer."""
        return [answer.mistake for answer in self.answers].index("")


@dataclass(frozen=True)
class Outcome:
    """What a lesson shows at the current values, with None for what is still being computed.

    Attributes
    ----------
    numbers
        Labels and values of a few large numbers, which the reveal uncovers.
    figure
        The chart; before the reveal, without the curves that would give the answer away.
    table
        The numbers of the chart.
    explanation
        Why the answer is right, in the current numbers.
    """

    numbers: tuple[tuple[str, str | None], ...]
    figure: Figure | None
    table: Callable[[], pd.DataFrame]
    explanation: str


@dataclass(frozen=True)
class Lesson:
    """One screen of the course.

    Attributes
    ----------
    key
        The lesson's name in addresses; it also begins its controls' names, so that lessons keep their own
        values.
    objective
        What students can do afterwards.
    notes
        Suggestions for the lecturer.
    question
        Function of the values of the controls.
    exercise, solution
        A task on paper and its solution, to which the outcome's numbers belong.
    look
        Function of the values, whether the answer is revealed, and the page's slow calls.
    caption, alt
        Descriptions of the chart, below it and for screen readers.
    """

    key: str
    title: str
    introduction: str
    objective: str
    minutes: int
    notes: tuple[str, ...]
    question: Callable[[Mapping[str, Any]], Question]
    exercise: str
    solution: str
    parameters: tuple[Number | Choice, ...]
    formulas: tuple[Formula, ...]
    look: Callable[[Mapping[str, Any], bool, Later], Outcome]
    caption: str
    alt: str
    optional: bool = False

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of its controls."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    @property
    def answer(self) -> Choice:
        """The picked answer, as a letter in the address."""
        letters = dict.fromkeys(LETTERS[: len(self.question(self.defaults).answers)], "")
        return Choice(f"{self.key}_answer", "Your answer", "none", {"none": "–", **letters}, "")

    @property
    def shown(self) -> Choice:
        """Whether the answer is revealed."""
        return Choice(f"{self.key}_shown", "Revealed", "0", _NO_YES, "")

    @property
    def state(self) -> tuple[Number | Choice, ...]:
        """All values that the address needs to reopen the lesson in its present state."""
        return (self.answer, self.shown, *self.parameters)


def lesson(
    module: str,
    *,
    parameters: tuple[Number | Choice, ...],
    look: Callable[[Mapping[str, Any], bool, Later], Outcome],
    **computed: Any,
) -> Lesson:
    """Return the lesson of a module, with its words from the TOML file beside the module.

    Parameters
    ----------
    module
        The module's `__file__`.
    parameters, look
        As in `Lesson`.
    computed
        Further attributes that are not plain words.
    """
    words = tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))
    words["notes"] = tuple(words["notes"])
    words["formulas"] = tuple(Formula(**formula) for formula in words["formulas"])
    if "question" in words:
        answers = (Answer(*answer) for answer in words["question"]["answers"])
        words["question"] = always(words["question"]["text"], *answers)
    return Lesson(**words, **computed, parameters=parameters, look=look)


def always(text: str, *answers: Answer) -> Callable[[Mapping[str, Any]], Question]:
    """Return a question that does not depend on the values."""
    asked = Question(text, answers)
    return lambda values: asked


# Controls that several lessons have. The name of a control begins with its lesson's key.


def whole(name: str, label: str, default: int, stops: Sequence[float], help: str) -> Number:
    """Return a control of a whole number, from the first of its stops to the last."""
    return Number(name, label, default, stops[0], stops[-1], help, tuple(stops), whole=True)


def count(name: str, label: str, default: int, low: int, high: int, help: str) -> Number:
    """Return a control of a whole number with stops at 1, 2 and 5 times the powers of ten."""
    return whole(name, label, default, log_stops(low, high, whole=True, mantissas=(1, 2, 5)), help)


def draw_of_noise(name: str, most: int) -> Number:
    """Return the control of the seed of the noise."""
    help = "A known seed: for teaching, never for private data."
    return whole(name, "Draw of the noise", 1, range(1, most + 1), help)


def epsilon(lesson: str, default: float, help: str, label: str = "ε", high: float = 5) -> Number:
    """Return the control of ε."""
    return Number(f"{lesson}_eps", label, default, 0.1, high, help, log_stops(0.1, high))


def noise_multiplier(lesson: str, default: float) -> Number:
    """Return the control of the noise in each step."""
    help = "Standard deviation of the noise in each step, divided by the largest effect of one record."
    return Number(f"{lesson}_noise", "Noise multiplier", default, 0.5, 100, help, log_stops(0.5, 100))


def sampling_rate(lesson: str, default: float, least: float) -> Number:
    """Return the control of q."""
    help = "Probability that a step's batch contains a given record."
    return Number(f"{lesson}_q", "Sampling rate q", default, least, 1.0, help, log_stops(least, 1.0))


def steps(lesson: str, default: int, least: int, most: int) -> Number:
    """Return the control of T."""
    help = "Number of releases from the data."
    return whole(f"{lesson}_steps", "Steps T", default, log_stops(least, most, whole=True), help)


def delta(lesson: str) -> Number:
    """Return the control of δ."""
    stops = log_stops(1e-12, 0.1, mantissas=(1, 2, 5))
    help = "Probability mass for which ε need not hold."
    return Number(f"{lesson}_delta", "δ", 1e-5, 1e-12, 0.1, help, stops)


def sampled_plan(noise: float, rate: float, steps: int, delta: float) -> PrivacyPlan:
    """Return the plan with this sampling rate, rounded to a millionth."""
    return PrivacyPlan(
        records=_RECORDS,
        expected_batch=max(1, round(rate * _RECORDS)),
        steps=steps,
        noise_multiplier=noise,
        delta=delta,
    )


# Randomised response, in two lessons: each person's own coin decides whether the answer is true.


def truth_probability(epsilon: float) -> float:
    """Return the probability of a true answer under ε-private randomised response (Warner 1965)."""
    return 1 / (1 + math.exp(-epsilon))


def unbiased(said_yes: Array, epsilon: float) -> Array:
    """Estimate the true share of yes from the share of people who said yes."""
    truth = truth_probability(epsilon)
    return np.asarray((said_yes - (1 - truth)) / (2 * truth - 1))


def survey_estimates(share: float, people: int, epsilon: float, surveys: int, seed: int) -> Array:
    """Return the estimates of simulated surveys in which this share of people would truly say yes."""
    truth, rng = truth_probability(epsilon), np.random.default_rng(seed)
    yes = round(share * people)
    said_yes = rng.binomial(yes, truth, surveys) + rng.binomial(people - yes, 1 - truth, surveys)
    return unbiased(said_yes / people, epsilon)


def survey_error(people: Any, epsilon: float) -> Any:
    """Return the standard error that the coins alone give an estimate."""
    truth = truth_probability(epsilon)
    return np.sqrt(truth * (1 - truth) / people) / (2 * truth - 1)
