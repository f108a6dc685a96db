"""Results of a sweep's cells as tidy frames: one row per score, evaluation while training, or setting."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vips_core.jobs.request import Request
from vips_core.store.store import Store
from vips_core.sweeps.cells import cells_of
from vips_core.sweeps.grid import Sweep, canonical

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95  # of the interval of a mean over seeds
_OFTEN_MISSING = ("epsilon", "epsilon_pld", "epsilon_moments", "batch", "noise_multiplier", "epochs", "delta")


def frame(sweep: Sweep, store: Store) -> "pd.DataFrame":
    """Return one row for each finished cell and held-out score.

    Parameters
    ----------
    sweep
        Its finished cells are read; nothing is run.
    store
        Store of the cells.

    Returns
    -------
    pandas.DataFrame
        The setting in the columns from series to seed, then seconds, score and value; empty if no cell is
        finished. `epsilon` is what a method claims, `epsilon_pld` and `epsilon_moments` are the cost of its
        releases.
    """
    import pandas as pd

    table = pd.DataFrame(
        [
            cell.settings() | {"seconds": cell.content["seconds"], "score": name, "value": value}
            for cell in _finished_cells(sweep, store)
            for name, value in cell.content["scores"].items()
        ]
    )
    # A column of only None would have dtype object.
    return table.astype({name: float for name in _OFTEN_MISSING if name in table})


def traces(sweep: Sweep, store: Store) -> "pd.DataFrame":
    """Return validation scores during training of the cells that keep parameters: a row per evaluation."""
    import pandas as pd

    return pd.DataFrame(
        [
            {"series": cell.series, "method": cell.request.method, "seed": cell.request.seed}
            | {"epsilon": cell.epsilon, "step": step, "value": value}
            for cell in _finished_cells(sweep, store)
            if cell.kept
            for step, value in cell.content["trace"]
        ]
    )


def ledgers(sweep: Sweep, store: Store) -> list[dict[str, Any]]:
    """Return each finished cell's request with the ledger of its releases, None if it has none."""
    return [
        {"request": cell.request.to_mapping(), "ledger": cell.content["ledger"]}
        for cell in _finished_cells(sweep, store)
    ]


def failures(sweep: Sweep, store: Store) -> list[tuple[Request, str]]:
    """Return the failed cells, each with its reason."""
    return [
        (cell.request, cell.content["error"])
        for cell in _known_cells(sweep, store)
        if cell.content["error"] is not None
    ]


def summarise(cells: "pd.DataFrame", by: Sequence[str] = ()) -> "pd.DataFrame":
    """Return mean, standard deviation and the 95 % t-interval of the mean over seeds, for each setting.

    Parameters
    ----------
    cells
        With the columns seed and value, as `frame` has them.
    by
        The columns that define a setting; by default all except seed, seconds and value.

    Returns
    -------
    pandas.DataFrame
        The settings with the columns mean, sd, seeds, low and high; sd and interval are NaN with one seed.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"series": "a", "seed": [0, 1, 2], "value": [1.0, 2.0, 3.0]})
    >>> summarise(cells).round(2).to_dict("records")
    [{'series': 'a', 'mean': 2.0, 'sd': 1.0, 'seeds': 3, 'low': -0.48, 'high': 4.48}]
    """
    import numpy as np
    from scipy.special import stdtrit  # the quantile of t; `scipy.stats` takes long to import

    keys = list(by) or [name for name in cells.columns if name not in ("seed", "seconds", "value")]
    groups = cells.groupby(keys, dropna=False, sort=False)["value"]
    summary = groups.agg(mean="mean", sd="std", seeds="count").reset_index()
    freedom = np.maximum(summary["seeds"] - 1, 1)
    half = stdtrit(freedom, (1 + CONFIDENCE) / 2) * summary["sd"] / np.sqrt(summary["seeds"])
    return summary.assign(low=summary["mean"] - half, high=summary["mean"] + half)


@dataclass(frozen=True)
class _KnownCell:
    """A cell that was run: `series` names its line in figures, `content` is what its file holds."""

    series: str
    kept: bool
    request: Request
    content: Mapping[str, Any]

    @property
    def epsilon(self) -> float | None:
        """The claimed ε: the target, or ε of the releases if the noise was given."""
        target: float | None = self.request.get("epsilon")
        own = self.request.task.methods[self.request.method].accountant
        spent: float | None = self.content["epsilon"].get(own or "pld")
        return spent if target is None else target

    def settings(self) -> dict[str, Any]:
        """Return the requested and the resolved settings."""
        request, plan, spent = self.request, self.content["plan"], self.content["epsilon"]
        return {
            "series": self.series,
            "method": request.method,
            "epsilon": self.epsilon,
            "epsilon_pld": spent.get("pld"),
            "epsilon_moments": spent.get("moments"),
            **{name: plan.get(name) for name in ("noise_multiplier", "expected_batch", "steps")},
            **{name: request.get(name) for name in ("batch", "epochs", "delta", "accountant")},
            **{name: request.get(name) for name in request.task.options},
            "seed": request.seed,
        }


def _known_cells(sweep: Sweep, store: Store) -> Iterator[_KnownCell]:
    """Yield the cells that were run, each once per series."""
    cells = cells_of(sweep, store)
    known: dict[tuple[str, str], _KnownCell] = {}
    for grid, request in sweep.requests:
        content, key = cells.read(request), (grid.label, canonical(request))
        if content is not None:
            kept = grid.keep or (key in known and known[key].kept)
            known[key] = _KnownCell(grid.label or request.method, kept, request, content)
    yield from known.values()


def _finished_cells(sweep: Sweep, store: Store) -> Iterator[_KnownCell]:
    return (cell for cell in _known_cells(sweep, store) if cell.content["error"] is None)
