"""What a lesson is: a question, controls, formulas, and what it shows for the values of its controls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dashboard.background import Later
from dashboard.charts import Figure
from dashboard.session import Choice, Number

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
    right
        Place of the right answer among `answers`.
    exercise, solution
        What to work out on paper, and how; the outcome's numbers belong to the solution.
    parameters
        The controls. Their names end in the lesson's number, so that every lesson keeps its own values.
    look
        Function of the values, whether the answer is revealed, and the page's slow calls.
    caption, alt
        What the chart shows, below it and for those who do not see it.
    """

    number: int
    name: str
    title: str
    introduction: str
    question: str
    answers: tuple[str, ...]
    right: int
    exercise: str
    solution: str
    parameters: tuple[Number | Choice, ...]
    formulas: tuple[Formula, ...]
    look: Callable[[Mapping[str, Any], bool, Later], Outcome]
    caption: str
    alt: str

    @property
    def answer(self) -> Choice:
        """The answer picked, in the address as a letter."""
        letters = dict(zip(LETTERS, self.answers, strict=False))
        return Choice(f"answer{self.number}", "Your answer", "none", {"none": "–", **letters}, "")

    @property
    def shown(self) -> Choice:
        """Whether the answer is revealed."""
        return Choice(f"shown{self.number}", "Revealed", "0", _NO_YES, "")

    @property
    def state(self) -> tuple[Number | Choice, ...]:
        """All that the address has to hold to open the lesson as it is."""
        return (self.answer, self.shown, *self.parameters)
