"""A request: everything that says what one run does, as a config file, a command or a page gives it."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vips_core.fit import recommend
from vips_core.privacy.plan import PrivacyPlan
from vips_core.runs.options import SPENDING, Option
from vips_core.runs.tasks import NON_PRIVATE, STRONG, TASKS, Task


@dataclass(frozen=True)
class Request:
    """One run on one data set, complete with its defaults.

    Attributes
    ----------
    model, data, method
        Names: of a task, of a data set, and of one of the task's methods.
    values
        The spending options that were given or have a default, and the model's own options.
    """

    model: str
    data: str
    method: str
    values: Mapping[str, Any]

    @property
    def task(self) -> Task:
        """What is known of the model."""
        return TASKS[self.model]

    @property
    def private(self) -> bool:
        """Whether noise is added at all."""
        return self.method != NON_PRIVATE and self.get("noise") != 0

    @property
    def seed(self) -> int | None:
        """The seed of a demonstration, or None for the operating system's entropy."""
        return self.values.get("seed")

    def get(self, name: str) -> Any:
        """Return a value, None where it is open."""
        return self.values.get(name)

    def to_mapping(self) -> dict[str, Any]:
        """Return the request as a flat table, as it stands in a config file."""
        return {"model": self.model, "data": self.data, "method": self.method, **self.values}

    def to_toml(self) -> str:
        """Return the request as a config file."""
        return "".join(f"{name} = {_toml(value)}\n" for name, value in self.to_mapping().items())

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "Request":
        """Check a flat table and complete it; `ValueError` with one sentence for the first mistake."""
        model = Option(str, "", choices=tuple(TASKS)).check("model", table.get("model"))
        task = TASKS[model]
        known = {**SPENDING, **task.options}
        unknown = [name for name in table if name not in {"model", "data", "method", *known}]
        if unknown:
            raise ValueError(
                f"{unknown[0]} is not an option of {model}; known are {', '.join(['data', 'method', *known])}"
            )
        data = Option(str, "").check("data", table.get("data"))
        method = Option(str, "", choices=task.methods).check("method", table.get("method", task.methods[0]))
        defaults = {name: option.default for name, option in known.items()} | {"epochs": task.epochs}
        given = {name: table[name] for name in known if table.get(name) is not None}
        values = {
            name: known[name].check(name, value)
            for name, value in (defaults | given).items()
            if value is not None
        }
        if "delta" not in values:
            raise ValueError("delta must be given: choose it well below 1/N")
        _check_spending(method, values)
        return cls(model, data, method, values)

    @classmethod
    def from_toml(cls, text: str) -> "Request":
        """Read a config file."""
        return cls.from_mapping(read_toml(text))


def read_toml(text: str) -> dict[str, Any]:
    """Parse TOML; `ValueError` with one sentence that names the line where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the config is not TOML: {error}") from None


def read_config(path: Path) -> dict[str, Any]:
    """Parse a TOML file; `ValueError` where it cannot be read."""
    try:
        return read_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the config {path.name} cannot be read: {error}") from None


def plan_for(request: Request, model: Any, records: int) -> PrivacyPlan:
    """Return the plan that a request asks for; public quantities only."""
    epsilon, delta, epochs = (request.get(name) for name in ("epsilon", "delta", "epochs"))
    plan = recommend(model, records=records, epsilon=epsilon or 1.0, delta=delta, epochs=epochs)
    batch = request.get("batch")
    if batch is not None:
        plan = plan.replace(expected_batch=batch, epochs=epochs)
    if not request.private:
        return plan.replace(noise_multiplier=0.0)
    if request.get("noise") is not None:
        return plan.replace(noise_multiplier=request.get("noise"))
    accountant = "strong" if request.method == STRONG else request.get("accountant")
    return plan if batch is None and accountant == "pld" else plan.calibrate(epsilon, accountant)


def _check_spending(method: str, values: Mapping[str, Any]) -> None:
    given = [name for name in ("epsilon", "noise") if name in values]
    if method == NON_PRIVATE and given:
        raise ValueError(f"{given[0]} cannot be given with method non-private, which adds no noise")
    if method != NON_PRIVATE and len(given) != 1:
        raise ValueError(f"give either epsilon or noise, got {' and '.join(given) or 'neither'}")
    if method == STRONG and "noise" in values:
        raise ValueError("noise cannot be given with method strong, which derives it from epsilon")
    if method == "perm" and "noise" in values:
        raise ValueError("noise cannot be given with method perm, whose proof is about epsilon")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # the one that JSON allows
    return repr(value)
