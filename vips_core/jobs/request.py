"""A request: the full description of one run, given by a config file, a command or a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vips_core import validate
from vips_core.models.task import NON_PRIVATE, REFINED, TASKS, Method, Task
from vips_core.options import Option
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.events import LEAST_NOISE, MOST_NOISE
from vips_core.toml import read_toml, to_toml

LARGEST_SEED = 2**63 - 1  # largest integer of the store's database
SPENDING: Mapping[str, Option] = {
    "epsilon": Option(
        float,
        "The privacy cost of the run: a smaller ε is more private.",
        low=1e-3,
        high=1000,
        label="Target",
        symbol="ε",
    ),
    "noise": Option(
        float,
        "Noise multiplier, instead of ε: standard deviation of the noise divided by the most that one record "
        "can change a release. 0 trains without privacy.",
        low=LEAST_NOISE,
        high=MOST_NOISE,
        or_zero=True,
        label="Noise",
        symbol="σ",
    ),
    "delta": Option(
        float,
        "Allowed chance that the guarantee fails. Keep it well below 1/N.",
        low=1e-15,
        high=0.1,
        symbol="δ",
    ),
    "epochs": Option(
        float,
        "Expected passes over the data; some methods need fewer.",
        above=0,
        high=10_000,
        label="Epochs",
    ),
    "batch": Option(
        int,
        "Expected records in one step, by default the model's choice. Each record is drawn with "
        "probability S/N.",
        low=1,
        high=10**9,
        label="Batch size",
        symbol="S",
    ),
    "accountant": Option(
        str,
        "The accountant whose ε must meet the target. Strong composition always uses its own.",
        "pld",
        choices={name: accountant.label for name, accountant in ACCOUNTANTS.items()},
        label="Accountant",
    ),
    "seed": Option(
        int,
        "The same seed gives the same run. Whoever knows it can subtract the noise, so such a run is a "
        "demonstration without a guarantee.",
        low=0,
        high=LARGEST_SEED,
        label="Seed",
    ),
}
PLACE: Mapping[str, Option] = {
    "engine": Option(
        str,
        "Where sums are computed: on this machine, or by the cluster that VIPS_CLUSTER names. The result is "
        "the same, bit for bit.",
        choices={"threads": "This machine", "cluster": "The cluster"},
        label="Compute on",
    )
}


@dataclass(frozen=True)
class Request:
    """One run on one data set, complete with its defaults.

    Attributes
    ----------
    model, data, method
        Names of a task, a data set, and one of the task's methods.
    values
        The spending options that were given or have a default, and the model's own options; none that the
        method ignores.
    """

    model: str
    data: str
    method: str
    values: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash((self.model, self.data, self.method, frozenset(self.values.items())))

    @property
    def task(self) -> Task:
        """The task of the model."""
        return TASKS[self.model]

    @property
    def chosen_method(self) -> Method:
        """The method of this name."""
        return self.task.methods[self.method]

    @property
    def private(self) -> bool:
        """Whether noise is added at all."""
        return self.method != NON_PRIVATE and self.get("noise") != 0

    @property
    def seed(self) -> int | None:
        """The seed of a demonstration, or None for the operating system's entropy."""
        return self.values.get("seed")

    @property
    def on_cluster(self) -> bool:
        """Whether a cluster computes the sums."""
        return bool(self.get("engine") == "cluster")

    @property
    def accountant(self) -> str:
        """The accountant whose ε must meet the target: the method's own, or the chosen one."""
        return self.chosen_method.accountant or self.values.get("accountant", "pld")

    def get(self, name: str) -> Any:
        """Return an option's value, None if it was left open."""
        return self.values.get(name)

    def to_mapping(self) -> dict[str, Any]:
        """Return the request as a flat table, as in a config file."""
        return {"model": self.model, "data": self.data, "method": self.method, **self.values}

    def to_toml(self) -> str:
        """Return the request as a config file."""
        return to_toml(self.to_mapping())

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "Request":
        """Check a flat table and complete it; `ValueError` with one sentence for the first mistake.

        Parameters
        ----------
        table
            With model, data, δ, and ε or noise; everything else has a default. Options that the method
            ignores are left out.

        Returns
        -------
        Request
            The completed request.

        Examples
        --------
        >>> request = Request.from_mapping({"model": "lda", "data": "sotu", "epsilon": 1, "delta": 1e-6})
        >>> request.method, request.get("topics"), request.private
        ('refined', 20, True)
        """
        model = validate.one_of("model", table.get("model"), TASKS)
        task = TASKS[model]
        known = {**SPENDING, **PLACE, **task.options}
        validate.known_options(model, (name for name in table if name != "model"), ["data", "method", *known])
        data = validate.text("data", table.get("data"))
        method = validate.one_of("method", table.get("method", REFINED), task.methods)
        defaults = {name: option.default for name, option in known.items()} | {"epochs": task.epochs}
        given = {name: table[name] for name in known if table.get(name) is not None}
        values = {
            name: known[name].check(name, value)
            for name, value in (defaults | given).items()
            if value is not None
        }
        ignored = task.methods[method].ignored_options
        if "delta" not in values and "delta" not in ignored:
            raise ValueError("delta must be given: choose it well below 1/N")
        _check_spending(task.methods[method], values)
        used = {name: value for name, value in values.items() if name not in ignored}
        return cls(model, data, method, used)

    @classmethod
    def from_toml(cls, text: str) -> "Request":
        """Read a config file."""
        return cls.from_mapping(read_toml(text))


def _check_spending(method: Method, values: Mapping[str, Any]) -> None:
    given = [name for name in ("epsilon", "noise") if name in values]
    if method.name != NON_PRIVATE and len(given) != 1:
        raise ValueError(f"give either epsilon or noise, got {' and '.join(given) or 'neither'}")
    for name, reason in method.refused_options.items():
        if name in values:
            raise ValueError(f"{name} cannot be given with method {method.name}, {reason}")
