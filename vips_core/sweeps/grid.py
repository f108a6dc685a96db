"""A sweep's definition: grids of requests with seeds, as a config file gives them."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vips_core.runs.options import SPENDING, Option
from vips_core.runs.request import Request, read_toml
from vips_core.runs.tasks import NON_PRIVATE, STRONG, TASKS

LARGEST = 10_000  # cells of one sweep
FIGURES = ("epsilon", "batch", "steps", "topics", "accounting")
_SEED = SPENDING["seed"]
_SWEEP_KEYS = ("title", "model", "data", "figures")
_GRID_KEYS = ("label", "keep", "seeds")
# What a method does not look at is left out, so that equal cells are one cell.
_IGNORED = {NON_PRIVATE: ("epsilon", "noise", "accountant"), STRONG: ("accountant",), "perm": ("accountant",)}


@dataclass(frozen=True)
class Grid:
    """All combinations of some values, each with every seed.

    Attributes
    ----------
    label
        Name of its results in figures and tables; the method's name where it is empty.
    keep
        Whether parameters are kept, for figures that look into single fits.
    options
        Name of a request's option to the values that it takes.
    """

    label: str
    keep: bool
    seeds: tuple[int, ...]
    options: Mapping[str, tuple[Any, ...]]

    def requests(self, model: str, data: str) -> Iterator[Request]:
        """Return each cell once, in order."""
        seen = set()
        names = list(self.options)
        for values in itertools.product(*self.options.values()):
            table = dict(zip(names, values, strict=True)) | {"model": model, "data": data}
            for name in _IGNORED.get(str(table.get("method")), ()):
                table.pop(name, None)
            for seed in self.seeds:
                request = Request.from_mapping(table | {"seed": seed})
                if canonical(request) not in seen:
                    seen.add(canonical(request))
                    yield request


@dataclass(frozen=True)
class Sweep:
    """One model on one public data set, over one or several grids.

    Attributes
    ----------
    figures
        What is drawn, of `FIGURES`.
    """

    title: str
    model: str
    data: str
    figures: tuple[str, ...]
    grids: tuple[Grid, ...]

    def cells(self) -> list[Request]:
        """Return every cell of every grid once: complete requests with seeds."""
        unique = {
            canonical(request): request
            for grid in self.grids
            for request in grid.requests(self.model, self.data)
        }
        return list(unique.values())

    def kept(self) -> set[str]:
        """Return the canonical texts of cells whose parameters are kept."""
        return {
            canonical(request)
            for grid in self.grids
            if grid.keep
            for request in grid.requests(self.model, self.data)
        }

    def to_mapping(self) -> dict[str, Any]:
        """Return the sweep as a table, as it stands in a config file."""
        grids = [
            {"label": grid.label, "keep": grid.keep, "seeds": list(grid.seeds)}
            | {name: list(values) for name, values in grid.options.items()}
            for grid in self.grids
        ]
        table = {"title": self.title, "model": self.model, "data": self.data}
        return table | {"figures": list(self.figures), "grid": grids}

    def to_toml(self) -> str:
        """Return the sweep as a config file."""
        table = self.to_mapping()
        grids = table.pop("grid")
        text = _lines(table)
        return text + "".join(f"\n[[grid]]\n{_lines(grid)}" for grid in grids)

    @classmethod
    def from_toml(cls, text: str) -> "Sweep":
        """Read a config file."""
        return cls.from_mapping(read_toml(text))

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "Sweep":
        """Check a table; `ValueError` with one sentence for the first mistake.

        Options of a run may hold one value or a list. A list of tables `grid` makes several grids, for which
        the values beside it are defaults.
        """
        title = Option(str, "").check("title", table.get("title", ""))
        model = Option(str, "", choices=tuple(TASKS)).check("model", table.get("model"))
        data = Option(str, "").check("data", table.get("data"))
        common = {name: value for name, value in table.items() if name not in {*_SWEEP_KEYS, "grid"}}
        parts = table.get("grid", [{}])
        if not isinstance(parts, list) or not parts or not all(isinstance(part, Mapping) for part in parts):
            raise ValueError(f"grid must be a list of tables ([[grid]]), got {parts!r}")
        grids = tuple(_grid(model, {**common, **part}) for part in parts)
        figures = _figures(table.get("figures"), grids)
        sweep = cls(title, model, data, figures, grids)
        for grid in grids:  # every cell is checked here, once
            for _ in grid.requests(model, data):
                pass
        return sweep


def canonical(request: Request) -> str:
    """Return one text for one request, whatever the order of its options."""
    return json.dumps(request.to_mapping(), sort_keys=True, ensure_ascii=False)


def _grid(model: str, table: Mapping[str, Any]) -> Grid:
    label = Option(str, "").check("label", table.get("label", ""))
    keep = table.get("keep", False)
    if not isinstance(keep, bool):
        raise ValueError(f"keep must be true or false, got {keep!r}")
    if "seed" in table:
        raise ValueError("seed cannot be given in a sweep: give seeds, a number of seeds or a list of them")
    options = {name: _listed(name, value) for name, value in table.items() if name not in _GRID_KEYS}
    known = ("method", *SPENDING, *TASKS[model].options)
    for name in options:
        if name not in known or name == "seed":
            allowed = [*_GRID_KEYS, *(option for option in known if option != "seed")]
            raise ValueError(f"{name} is not an option of a sweep of {model}; known are {', '.join(allowed)}")
    seeds = _seeds(table.get("seeds", 1))
    size = len(seeds) * math.prod(len(values) for values in options.values())
    if size > LARGEST:
        raise ValueError(f"a grid must have at most {LARGEST:,} cells, got {size:,}")
    return Grid(label, keep, seeds, options)


def _listed(name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        return (value,)
    if not value:
        raise ValueError(f"{name} must have at least one value, got an empty list")
    return tuple(value)


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, list | tuple):
        seeds = tuple(_SEED.check("seeds", seed) for seed in _listed("seeds", value))
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds must differ from each other, got {list(seeds)}")
        return seeds
    return tuple(range(Option(int, "", low=1, high=LARGEST).check("seeds", value)))


def _figures(value: Any, grids: tuple[Grid, ...]) -> tuple[str, ...]:
    """Return what to draw; left out, what the grids vary."""
    if value is None:
        varied = {name for grid in grids for name, values in grid.options.items() if len(values) > 1}
        found = ["epsilon"] if varied & {"epsilon", "noise"} or "batch" not in varied else []
        found += ["batch"] if "batch" in varied else []
        return (*found, *(["steps"] if any(grid.keep for grid in grids) else []))
    one = Option(str, "", choices=FIGURES)
    if not isinstance(value, list | tuple):
        raise ValueError(f"figures must be a list of {', '.join(FIGURES)}, got {value!r}")
    return tuple(one.check("figures", name) for name in value)


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_toml(value)}\n" for name, value in table.items())


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
