"""What a lesson is: a question, controls, formulas, and what it shows for the values of its controls."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from dashboard.background import Later
from dashboard.state import Choice, Number
from vips_core.reports.figures import Figure

LETTERS = "abcd"
_NO_YES = {"0": "no", "1": "yes"}


class Scale(Choice):
    """A choice of words in an order, shown as a slider."""


@dataclass(frozen=True)
class Formula:
    """One formula: for the page, in HTML without any script for print, and where the paper has it."""

    latex: str
    html: str
    source: str


class Answer(NamedTuple):
    """An answer to choose, and, unless it is right, what is wrong with it."""

    text: str
    mistake: str = ""


@dataclass(frozen=True)
class Question:
    """What is asked before anything is shown; exactly one of the answers has no mistake."""

    text: str
    answers: tuple[Answer, ...]

    @property
    def right(self) -> int:
        """Place of the right answer."""
        return [answer.mistake for answer in self.answers].index("")


@dataclass(frozen=True)
class Outcome:
    """What a lesson shows for the present values; None is being computed.

    Attributes
    ----------
    numbers
        Label and value of a few large numbers, which the reveal uncovers.
    figure
        The chart; before the reveal, without what would give the answer away.
    table
        The numbers of the chart.
    explanation
        Why the answer is right, in the present numbers.
    """

    numbers: tuple[tuple[str, str | None], ...]
    figure: Figure | None
    table: Callable[[], pd.DataFrame]
    explanation: str


@dataclass(frozen=True)
class Lesson:
    """One screen of the classroom.

    Attributes
    ----------
    key
        Its name in addresses, with which those of its controls begin, so that it keeps its own values.
    objective
        What a student can do afterwards.
    notes
        What a lecturer may say, and when.
    question
        Function of the values of the controls.
    exercise, solution
        What to work out on paper, and how; the outcome's numbers belong to the solution.
    look
        Function of the values, whether the answer is revealed, and the page's slow calls.
    caption, alt
        What the chart shows, below it and for those who do not see it.
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
        """The values of its controls at first."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    @property
    def answer(self) -> Choice:
        """The answer picked, in the address as a letter."""
        letters = dict.fromkeys(LETTERS[: len(self.question(self.defaults).answers)], "")
        return Choice(f"{self.key}_answer", "Your answer", "none", {"none": "–", **letters}, "")

    @property
    def shown(self) -> Choice:
        """Whether the answer is revealed."""
        return Choice(f"{self.key}_shown", "Revealed", "0", _NO_YES, "")

    @property
    def state(self) -> tuple[Number | Choice, ...]:
        """All that the address has to hold to open the lesson as it is."""
        return (self.answer, self.shown, *self.parameters)


def lesson(
    module: str,
    *,
    parameters: tuple[Number | Choice, ...],
    look: Callable[[Mapping[str, Any], bool, Later], Outcome],
    **computed: Any,
) -> Lesson:
    """Return the lesson of a module's file, whose words are in the TOML file beside it.

    Parameters
    ----------
    module
        The module's `__file__`.
    parameters, look
        As in `Lesson`.
    computed
        Further attributes that are no plain words.
    """
    words = tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))
    words["notes"] = tuple(words["notes"])
    words["formulas"] = tuple(Formula(**formula) for formula in words["formulas"])
    if "question" in words:
        answers = (Answer(*answer) for answer in words["question"]["answers"])
        words["question"] = always(words["question"]["text"], *answers)
    return Lesson(**words, **computed, parameters=parameters, look=look)


def always(text: str, *answers: Answer) -> Callable[[Mapping[str, Any]], Question]:
    """Return a question that is the same for all values."""
    asked = Question(text, answers)
    return lambda values: asked
