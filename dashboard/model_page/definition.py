"""What a model page adds to its task, and the values that its address holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard import stored
from dashboard.state import Choice, Number, Parameter, Text, log_stops
from vips_core.jobs.request import SPENDING
from vips_core.models.task import Task
from vips_core.store.rows import DataRow

EPSILON = Number.of("epsilon", SPENDING["epsilon"], log_stops(0.01, 100), default=1.0)
NOISE = Number.of(
    "noise",
    SPENDING["noise"],
    log_stops(0.1, 100),
    help="Noise multiplier: standard deviation of the noise divided by one record's largest effect.",
    step=0.2,
)
DELTA = Number.of("delta", SPENDING["delta"], log_stops(1e-12, 1e-2, mantissas=(1, 2, 5)), step=1e-6)
BATCH = Number.of("batch", SPENDING["batch"], log_stops(1, 10**9, whole=True))
ACCOUNTANT = Choice.of("accountant", SPENDING["accountant"])
SEED = Number.of("seed", SPENDING["seed"])
ENGINE = Text("engine", None, "cluster")
_PLANNED_HELP = "Number of records in the plan that the values come from."
PLANNED = Number("n", "Records N", None, 1, 10**9, _PLANNED_HELP, (), whole=True)
RUNS = Text("runs", None, r"[0-9a-f]{8}", several=True)
EXAMPLE = Text("example", None, "1")
UPLOAD = Text("upload", None, "1")
SAME_TRAINING = (
    "At a given σ, strong composition trains exactly like “As published”: only the accounting differs."
)


def method_choice(name: str, label: str, task: Task, help: str) -> Choice:
    """Return a choice between the methods of a task, the default first."""
    labels = {method.name: method.label for method in task.methods.values()}
    return Choice(name, label, next(iter(labels)), labels, help)


@dataclass(frozen=True)
class ModelPage:
    """What a model page has besides its model.

    Attributes
    ----------
    example
        Values of the ready example, by their names in the address; empty where there is none.
    preview
        Draws an example of results, from shipped runs, and returns its caption.
    views
        Further values of the address: how results are shown.
    nothing_held_out
        What the page says if a data set has no public held-out records.
    headline
        Sums up finished runs in a sentence; empty where it has nothing to say.
    """

    task: Task
    title: str
    introduction: str
    example: Mapping[str, Any] = field(default_factory=dict)
    preview: Callable[[], str] = str
    views: tuple[Parameter, ...] = ()
    nothing_held_out: str = ""
    headline: Callable[[Mapping[str, stored.Finished]], str] = lambda runs: ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The values of the address."""
        data = Text("data", stored.data_sets(self.task.name)[0].name, r"\w[\w .-]{0,63}")
        methods = Text("methods", next(iter(self.task.methods)), r"[a-z-]{1,20}", several=True)
        spending = (EPSILON, NOISE, DELTA, self.epochs, BATCH, ACCOUNTANT, SEED, ENGINE, PLANNED)
        return (data, methods, *spending, *self.options, RUNS, EXAMPLE, UPLOAD, *self.views)

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults of the address, by name."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    @property
    def epochs(self) -> Number:
        """Passes over the data, by default the task's."""
        return Number.of("epochs", SPENDING["epochs"], log_stops(0.1, 200), default=self.task.epochs)

    @property
    def options(self) -> tuple[Number, ...]:
        """The model's own options."""
        return tuple(
            Number.of(name, option, log_stops(option.low, option.high, whole=option.kind is int))
            for name, option in self.task.options.items()
        )

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the methods, by name."""
        return {name: method.label for name, method in self.task.methods.items()}

    def followed(self, data: str) -> str:
        """Say how many held-out records are scored while training; empty where all are."""
        test, scored = stored.data(data).test, self.task.validation_records
        if scored is None or test is None or len(test) <= scored:
            return ""
        return f" (on {scored} of {len(test):,} {self.task.records.record}s)"

    def methods_for(self, row: DataRow) -> list[str]:
        """Return the methods that a data set allows."""
        methods = self.task.methods.items()
        return [name for name, method in methods if not (row.private and method.refused_on_private)]
