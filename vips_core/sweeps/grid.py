"""The definition of a sweep: grids of requests with seeds, from a config file or a shipped preset."""

import functools
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vips_core import validate
from vips_core.jobs.request import SPENDING, Request
from vips_core.models.task import METHODS, TASKS
from vips_core.toml import read_toml, to_toml

LARGEST = 10_000  # cells of one grid, so that a typo does not queue weeks of work
FIGURES = ("epsilon", "batch", "steps", "topics", "accounting")
Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = ("quick", "full")  # minutes, or the paper's grids
_PRESETS = Path(__file__).parent / "presets"
PRESETS = tuple(sorted(file.name.removesuffix("-full.toml") for file in _PRESETS.glob("*-full.toml")))
_SWEEP_KEYS = ("title", "model", "data", "figures")
_GRID_KEYS = ("label", "keep", "seeds")


@dataclass(frozen=True)
class Grid:
    """All combinations of the given values, each with every seed.

    Attributes
    ----------
    label
        Name of its results in figures and tables; the method's name where it is empty.
    keep
        Whether parameters are kept, for figures that show single fits.
    seeds
        Each combination is trained once with each.
    options
        The values of each option of a request, by name.
    """

    label: str
    keep: bool
    seeds: tuple[int, ...]
    options: Mapping[str, tuple[Any, ...]]

    def requests(self, model: str, data: str) -> Iterator[Request]:
        """Return each cell once, in order."""
        seen = set()
        for values in itertools.product(*self.options.values()):
            table = dict(zip(self.options, values, strict=True)) | {"model": model, "data": data}
            method = METHODS.get(str(table.get("method")))
            for name in method.ignored_options if method else ():  # given, some would be refused
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
    title
        Name of its report.
    model, data
        Names of a model and a data set.
    figures
        Figures to draw, from `FIGURES`.
    grids
        Grids of its cells.
    """

    title: str
    model: str
    data: str
    figures: tuple[str, ...]
    grids: tuple[Grid, ...]

    def cells(self) -> list[Request]:
        """Return every cell of every grid once: complete requests with seeds."""
        return list({canonical(request): request for _, request in self.requests}.values())

    def kept(self) -> set[str]:
        """Return the canonical texts of the cells that keep their parameters."""
        return {canonical(request) for grid, request in self.requests if grid.keep}

    @functools.cached_property
    def requests(self) -> list[tuple[Grid, Request]]:
        """The cells of each grid, with the grid; made and checked once."""
        return [(grid, request) for grid in self.grids for request in grid.requests(self.model, self.data)]

    def to_mapping(self) -> dict[str, Any]:
        """Return the sweep as a table, as in a config file."""
        grids = [
            {"label": grid.label, "keep": grid.keep, "seeds": list(grid.seeds)}
            | {name: list(values) for name, values in grid.options.items()}
            for grid in self.grids
        ]
        table = {"title": self.title, "model": self.model, "data": self.data}
        return table | {"figures": list(self.figures), "grid": grids}

    def to_toml(self) -> str:
        """Return the sweep as a config file."""
        return to_toml(self.to_mapping())

    @classmethod
    def from_toml(cls, text: str) -> "Sweep":
        """Read a config file."""
        return cls.from_mapping(read_toml(text))

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "Sweep":
        """Check a table; `ValueError` with one sentence for the first mistake.

        Parameters
        ----------
        table
            Options of a run may hold one value or a list. A list of tables `grid` makes several grids, for
            which the values beside it are defaults.

        Returns
        -------
        Sweep
            Complete, with every cell checked.

        Examples
        --------
        >>> table = {"model": "logistic", "data": "nhanes-stroke", "delta": 1e-4}
        >>> sweep = Sweep.from_mapping(table | {"epsilon": [0.5, 1.0], "seeds": 3})
        >>> len(sweep.cells()), sweep.figures
        (6, ('epsilon',))
        """
        title = validate.text("title", table.get("title", ""))
        model = validate.one_of("model", table.get("model"), TASKS)
        data = validate.text("data", table.get("data"))
        common = {name: value for name, value in table.items() if name not in {*_SWEEP_KEYS, "grid"}}
        grids = tuple(_grid(model, {**common, **own}) for own in _grid_tables(table.get("grid", [{}])))
        figures = _figures(table.get("figures"), grids)
        sweep = cls(title, model, data, figures, grids)
        sweep.cells()  # every cell is checked here
        return sweep


def canonical(request: Request) -> str:
    """Return the same text for equal requests, whatever the order of their options."""
    return json.dumps(request.to_mapping(), sort_keys=True, ensure_ascii=False)


def _grid_tables(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        raise ValueError(f"grid must be a list of tables ([[grid]]), got {value!r}")
    return value


def _grid(model: str, table: Mapping[str, Any]) -> Grid:
    label = validate.text("label", table.get("label", ""))
    keep = table.get("keep", False)
    if not isinstance(keep, bool):
        raise ValueError(f"keep must be true or false, got {keep!r}")
    if "seed" in table:
        raise ValueError("seed is not an option of a sweep: give seeds, a number or a list")
    options = {name: _listed(name, value) for name, value in table.items() if name not in _GRID_KEYS}
    known = [name for name in ("method", *SPENDING, *TASKS[model].options) if name != "seed"]
    validate.known_options(f"a sweep of {model}", options, [*_GRID_KEYS, *known])
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
        seeds = tuple(SPENDING["seed"].check("seeds", seed) for seed in _listed("seeds", value))
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds must differ from each other, got {list(seeds)}")
        return seeds
    return tuple(range(validate.whole("seeds", value, low=1, high=LARGEST)))


def _figures(value: Any, grids: tuple[Grid, ...]) -> tuple[str, ...]:
    """Return the figures to draw, by default against the options that the grids vary."""
    if value is None:
        varied = {name for grid in grids for name, values in grid.options.items() if len(values) > 1}
        against_batch = "batch" in varied
        wanted = {
            "epsilon": bool(varied & {"epsilon", "noise"}) or not against_batch,
            "batch": against_batch,
            "steps": any(grid.keep for grid in grids),
        }
        return tuple(name for name in FIGURES if wanted.get(name))
    if not isinstance(value, list | tuple):
        raise ValueError(f"figures must be a list of {', '.join(FIGURES)}, got {value!r}")
    return tuple(validate.one_of("figures", name, FIGURES) for name in value)


def preset(name: str, size: Size) -> Sweep:
    """Return a shipped sweep of the folder `presets`: quick in minutes, full with the paper's grids.

    Parameters
    ----------
    name
        One of `PRESETS`.
    size
        "quick" or "full".

    Examples
    --------
    >>> len(preset("paper-sbn", "quick").cells())
    20
    """
    file = _PRESETS / f"{validate.one_of('preset', name, PRESETS)}-{size}.toml"
    return Sweep.from_toml(file.read_text(encoding="utf-8"))
