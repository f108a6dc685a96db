"""Tasks: a model's methods, scores, options, texts and reports, and the registry of all tasks.

Each model has a folder in `vips_core/models`, whose `task.py` ends with `register(...)` and is imported in
`vips_core/models/__init__.py`. Commands, config files, workers, sweeps, audits, reports and pages look models
up in `TASKS` and refer to none by name.
"""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vips_core import validate
from vips_core.models.base import Fitted, Variant
from vips_core.options import Option
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import KINDS, Kind

TOP = 10  # most words of a topic, or coefficients, that a report's text lists
REFINED, PAPER = "refined", "paper"
NON_PRIVATE = "non-private"  # the refined variant without noise
STRONG = "strong"  # the paper's variant with ε accounted by strong composition


@dataclass(frozen=True)
class Method:
    """One way to train a model.

    Attributes
    ----------
    label
        Its name for people.
    variant
        Variant of the model that it trains.
    accountant
        The accountant that it always uses; None if the request chooses.
    refused_options
        Options that it refuses, each with the reason.
    ignored_options
        Options that it ignores; its requests omit them.
    pure
        Training in one release outside the wall, with its own proof of pure ε-DP; None if it uses the wall.
    refused_on_private
        Why it is refused on private data; empty if it is allowed.
    proof
        With `pure`: the mechanism, and what its proof covers, for reports.
    """

    name: str
    label: str
    variant: Variant = "refined"
    accountant: str | None = None
    refused_options: Mapping[str, str] = field(default_factory=dict)
    ignored_options: tuple[str, ...] = ()
    pure: "PureTraining | None" = None
    refused_on_private: str = ""
    proof: str = ""


@dataclass(frozen=True)
class Score:
    """A measure of how good a fit is, on public held-out records.

    Attributes
    ----------
    meaning
        The rest of a sentence that starts "{name} says"; no colon, because ": larger is better" follows.
    in_paper
        Whether the paper's figures show it. If so, titles refer to these figures; it is shown in any case.
    """

    name: str
    larger_is_better: bool
    meaning: str
    in_paper: bool = False

    def explained(self) -> str:
        """Return one sentence that explains the score to a newcomer.

        Examples
        --------
        >>> Score("AUC", True, "how often a case is ranked above a non-case").explained()
        'AUC says how often a case is ranked above a non-case: larger is better.'
        """
        better = "larger" if self.larger_is_better else "smaller"
        return f"{self.name[:1].upper()}{self.name[1:]} says {self.meaning}: {better} is better."


@dataclass(frozen=True)
class PaperSettings:
    """The paper's experiments with a model.

    Attributes
    ----------
    figures
        Maps each chart of a sweep to the corresponding figure or table of the paper.
    records
        N of the paper's data; None to take N of the sweep's own data set.
    batches, noises, delta
        S, σ and δ at which the paper states its ε.
    """

    figures: Mapping[str, str]
    batches: tuple[int, ...]
    noises: tuple[float, ...]
    delta: float = 1e-4
    records: int | None = None


@dataclass(frozen=True)
class Chart:
    """A table about one or more fits, which reports draw.

    Attributes
    ----------
    name
        Prefix of its file names.
    title, caption
        Texts above and below it.
    table
        The numbers.
    drawn_as
        Name of a drawing in `vips_core.reports.exhibits`; empty to show the table itself.
    """

    name: str
    title: str
    caption: str
    table: Any
    drawn_as: str = ""


@dataclass(frozen=True)
class Report:
    """The publishable results of a fit: scores on public held-out records, tables, and a text for people."""

    scores: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class PureTraining:
    """Training in one release outside the wall.

    Attributes
    ----------
    train
        Function of the request's values, the training records and the held-out records (or None). It returns
        the report and the arrays to store.
    code
        Function of the request's values. It returns imports and further lines of Python that do the same,
        given `data`.
    """

    train: Callable[[Mapping[str, Any], Any, Any], tuple[Report, Mapping[str, Any]]]
    code: Callable[[Mapping[str, Any]], tuple[str, str]]


_NO_NOISE = "which adds no noise"
WALL_METHODS = (
    Method(REFINED, "Refined"),
    Method(PAPER, "As published", variant="paper"),
    Method(
        STRONG,
        "Strong composition",
        variant="paper",
        accountant="strong",
        ignored_options=("accountant",),
    ),
    Method(
        NON_PRIVATE,
        "Non-private",
        refused_options={"epsilon": _NO_NOISE, "noise": _NO_NOISE},
        ignored_options=("epsilon", "noise", "accountant"),
        refused_on_private="it adds no noise",
    ),
)  # methods of every model, all of which train behind the wall


class Task(abc.ABC):
    """Everything specific to a model except its training.

    Attributes
    ----------
    name, title, help
        Name in commands and config files, name in menus, and description in one line.
    product
        Title of a fit's report.
    kind
        Name of the kind of records that it reads.
    model_types
        Classes that its methods train; a saved fit may name any of them.
    methods
        Methods by name, the default first.
    scores
        Scores by name, the most important first.
    validation_records
        Number of held-out records, evenly spread, that are scored during training; None scores all.
    tables
        Names of the tables in its reports.
    epochs
        Default number of passes over the data.
    options
        The model's own options, besides `SPENDING`.
    clipping, tuning
        How a record's contribution is bounded, and on which data the constants were chosen.
    paper
        The paper's experiments with the model; None if there are none.
    score_code
        Python expression of the validation score, given `fit` and `data`.
    """

    name: str
    title: str
    help: str
    product: str
    kind: str
    model_types: tuple[type, ...]
    methods: Mapping[str, Method] = {method.name: method for method in WALL_METHODS}
    scores: Mapping[str, Score]
    validation_records: int | None = None
    tables: tuple[str, ...]
    epochs: float
    options: Mapping[str, Option]
    clipping: str
    tuning: str
    paper: PaperSettings | None = None
    score_code: str

    @property
    def validation_score(self) -> str:
        """Name of the score computed during training: the most important one."""
        return next(iter(self.scores))

    @property
    def validation_records_named(self) -> str:
        """Description of the held-out records that are scored during training."""
        if self.validation_records is None:
            return "all held-out records"
        return f"up to {self.validation_records} held-out records, evenly spread"

    def validation_sample(self, test: Any) -> Any:
        """Return the held-out records that are scored during training."""
        return test if self.validation_records is None else evenly_spread(test, self.validation_records)

    @property
    def records(self) -> Kind:
        """The kind of records that the model reads."""
        return KINDS[self.kind]

    @abc.abstractmethod
    def model(self, method: str, values: Mapping[str, Any], train: Any) -> Any:
        """Build the model from public properties of the data only."""

    @abc.abstractmethod
    def model_code(self, method: str, values: Mapping[str, Any]) -> str:
        """Return a Python expression for the same model, given `vips` and `data`."""

    def imports(self, method: str) -> str:
        """Return the lines that `model_code` and `score_code` need besides `import vips_core as vips`."""
        return ""

    def check(self, test: Any) -> None:  # noqa: B027  (optional)
        """Refuse public held-out records that cannot be scored, before any budget is spent."""

    @abc.abstractmethod
    def score_validation(self, fit: Fitted[Any], test: Any) -> float:
        """Return the validation score on public held-out records."""

    @abc.abstractmethod
    def report(self, fit: Fitted[Any], test: Any) -> Report:
        """Return the publishable results; `test` is public, or None."""

    def charts(self, fit: Fitted[Any], test: Any, scores: Mapping[str, float]) -> list[Chart]:
        """Return charts of a fit on public held-out records, given the scores of its report."""
        return []

    def side_by_side(self, fits: Mapping[str, Mapping[str, Any]], train: Any) -> list[Chart]:
        """Return charts that compare several fits, given their labels and arrays and the public records."""
        return []

    def cautions(self, model: Any, plan: PrivacyPlan) -> list[str]:
        """Return warnings about a plan for a model, from public quantities."""
        return []


def by_name(*scores: Score) -> Mapping[str, Score]:
    """Return scores by their names."""
    return {score.name: score for score in scores}


def evenly_spread(records: Any, count: int) -> Any:
    """Return at most `count` records, evenly spread, because the order of a file is often meaningful."""
    chosen = np.zeros(len(records), bool)
    chosen[np.linspace(0, len(records) - 1, min(count, len(records))).astype(int)] = True
    return records[chosen]


TASKS: dict[str, Task] = {}  # registered tasks by the name of their model
TITLES: dict[str, str] = {}  # their titles, for menus
METHODS: dict[str, Method] = {}  # methods of all tasks by name


def register(task: Task) -> None:
    """Register a task with commands, config files, workers, sweeps, audits, reports and pages.

    Parameters
    ----------
    task
        A task whose name is not registered yet.
    """
    if task.name in TASKS:
        raise ValueError(f"the model {task.name} is registered already")
    validate.one_of("kind", task.kind, KINDS)
    for method in task.methods.values():
        if method.pure and not method.refused_on_private:
            raise ValueError(f"the method {method.name} has no ledger: say why it is refused on private data")
    TASKS[task.name], TITLES[task.name] = task, task.title
    METHODS.update({name: method for name, method in task.methods.items() if name not in METHODS})


def model_types() -> dict[str, type]:
    """Return the classes of all registered models, by name."""
    return {kind.__name__: kind for task in TASKS.values() for kind in task.model_types}
