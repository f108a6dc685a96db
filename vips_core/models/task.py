"""What a model's task is: its methods, scores, options and words, how a fit is reported, and the registry.

A model is one folder in `vips_core/models`. The `task.py` in it ends with `register(...)`; a line in
`vips_core/models/__init__.py` imports it. Commands, config files, workers, sweeps, audits, reports and pages
find it in `TASKS` and know no model by name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vips_core import validate
from vips_core.models.base import Fitted, Variant
from vips_core.options import Option
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import KINDS, Kind

TOP = 10  # words of a topic, or coefficients, in a text
REFINED, PAPER = "refined", "paper"
NON_PRIVATE = "non-private"  # the refined variant without noise
STRONG = "strong"  # the paper's variant, its ε and noise related by strong composition


@dataclass(frozen=True)
class Method:
    """One way to train a model.

    Attributes
    ----------
    label
        What people call it.
    variant
        Variant of the model that it trains.
    accountant
        The accountant it always uses; None where the request chooses.
    refused_options
        Options that cannot be given with it, each with the reason.
    ignored_options
        Options that it ignores; its requests leave them out.
    pure
        How it trains in one release outside the wall, with its own proof of pure ε-DP; None for all others.
    refused_on_private
        Why it is refused on private data; empty where it is allowed.
    proof
        With `pure`: the mechanism and what its proof covers, for reports.
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
    """A number that says how good a fit is, on public held-out records.

    Attributes
    ----------
    meaning
        Continues the sentence "{name} says …"; no colon, because ": larger is better" follows.
    in_paper
        Whether the paper's figures show it: only then titles refer to them. It is shown in any case.
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
    """Where the paper shows this model.

    Attributes
    ----------
    figures
        Maps each chart of a sweep to the paper's figure or table that shows the same.
    records
        N of the paper's data; None where a sweep's own data set has that many.
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
        Start of its files' names.
    title, caption
        Above and below it.
    table
        The numbers.
    drawn_as
        Name of a drawing of `vips_core.reports.exhibits`, empty where the table is shown.
    """

    name: str
    title: str
    caption: str
    table: Any
    drawn_as: str = ""


@dataclass(frozen=True)
class Report:
    """What may be published of a fit: scores on public held-out records, tables, and a text for people."""

    scores: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class PureTraining:
    """How a method trains in one release outside the wall.

    Attributes
    ----------
    train
        Function of the request's values, training records and held-out ones (or None); it returns what may be
        published, and the arrays to store.
    code
        Function of the values, which returns imports and further lines of Python that do the same, given
        `data`.
    """

    train: Callable[[Mapping[str, Any], Any, Any], tuple[Report, Mapping[str, Any]]]
    code: Callable[[Mapping[str, Any]], tuple[str, str]]


_NO_NOISE = "which adds no noise"
ON_THE_WALL = (
    Method(REFINED, "VIPS, improved"),
    Method(PAPER, "VIPS, as published", variant="paper"),
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
)  # the methods that every model has


class Task:
    """All that is particular to a model outside of training.

    Attributes
    ----------
    name, title, help
        In commands and config files, in menus, and in one line.
    product
        Title of a fit's report.
    kind
        Name of the kind of records that it reads.
    model_types
        Classes that its methods train, which a saved fit may name.
    methods
        By name, the default first.
    scores
        By name, the most important first.
    validation_records
        Held-out records, evenly spread, that are scored while training; None scores all of them.
    tables
        Names of the tables in its reports.
    epochs
        Passes over the data when a request does not say.
    options
        The model's own options, besides `SPENDING`.
    clipping, tuning
        How one record is bounded, and on which data constants were chosen.
    paper
        Where the paper shows the model; None where it does not.
    score_code
        Python expression of the validation score, given `fit` and `data`.
    """

    name: str
    title: str
    help: str
    product: str
    kind: str
    model_types: tuple[type, ...]
    methods: Mapping[str, Method] = {method.name: method for method in ON_THE_WALL}
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
        """Name of the score that is followed while training: the most important one."""
        return next(iter(self.scores))

    @property
    def validation_records_named(self) -> str:
        """The held-out records that are scored while training, in words."""
        if self.validation_records is None:
            return "all held-out records"
        return f"up to {self.validation_records} held-out records, evenly spread"

    def validation_sample(self, test: Any) -> Any:
        """Return the held-out records that are scored while training."""
        return test if self.validation_records is None else evenly_spread(test, self.validation_records)

    @property
    def records(self) -> Kind:
        """The kind of records that it reads."""
        return KINDS[self.kind]

    def model(self, method: str, values: Mapping[str, Any], train: Any) -> Any:
        """Return the model, from public properties of the data only."""
        raise NotImplementedError

    def model_code(self, method: str, values: Mapping[str, Any]) -> str:
        """Return the Python expression that makes the same model, given `vips` and `data`."""
        raise NotImplementedError

    def imports(self, method: str) -> str:
        """Return the lines that `model_code` and `score_code` need besides `import vips_core as vips`."""
        return ""

    def check(self, test: Any) -> None:
        """Refuse public held-out records that cannot be scored, before anything is spent."""

    def score_validation(self, fit: Fitted[Any], test: Any) -> float:
        """Return the score to follow, on public held-out records."""
        raise NotImplementedError

    def report(self, fit: Fitted[Any], test: Any) -> Report:
        """Return what may be published; `test` is public, or None."""
        raise NotImplementedError

    def charts(self, fit: Fitted[Any], test: Any, scores: Mapping[str, float]) -> list[Chart]:
        """Return what to show of a fit on public held-out records, given the scores of its report."""
        return []

    def side_by_side(self, fits: Mapping[str, Mapping[str, Any]], train: Any) -> list[Chart]:
        """Return what to show of several fits, given their labels and arrays, and public records."""
        return []

    def cautions(self, model: Any, plan: PrivacyPlan) -> list[str]:
        """Return warnings about a plan for a model, from public quantities."""
        return []


def by_name(*scores: Score) -> Mapping[str, Score]:
    """Return scores by their names."""
    return {score.name: score for score in scores}


def evenly_spread(records: Any, count: int) -> Any:
    """Return at most `count` records, evenly spread: files are often in an order that means something."""
    chosen = np.zeros(len(records), bool)
    chosen[np.linspace(0, len(records) - 1, min(count, len(records))).astype(int)] = True
    return records[chosen]


TASKS: dict[str, Task] = {}  # registered tasks by the name of their model
TITLES: dict[str, str] = {}  # their titles, for menus
METHODS: dict[str, Method] = {}  # methods of all tasks by name


def register(task: Task) -> None:
    """Make a model known to commands, config files, workers, sweeps, audits, reports and pages.

    Parameters
    ----------
    task
        With a name that is not registered yet.
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
