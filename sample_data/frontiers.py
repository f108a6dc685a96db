"""The paper's three experiments in full size, ready to be drawn: what every ε, method and seed came to.

Made from the public samples by::

    python -m sample_data.frontiers [paper-logistic] [paper-sbn] [paper-lda]

which runs what the store in `VIPS_HOME` does not have yet, on all cores, and writes a file for each name next
to itself. Stopped, the same command goes on where it was. The grids are those of `vips_core/sweeps/presets`.
Scores are of records that were not trained on. Runs are seeded, so that they can be made again: their ε
describes the noise, but they protect nobody, and need not, because the data are public.
"""

import functools
import gzip
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import sample_data
from vips_core import validate
from vips_core.reports.exhibits import Exhibit
from vips_core.reports.sweep_report import side_by_side
from vips_core.store.rows import versions
from vips_core.store.store import Store
from vips_core.sweeps import results
from vips_core.sweeps.cells import code_hash, package_versions
from vips_core.sweeps.grid import PRESETS, Sweep, preset
from vips_core.sweeps.job import CellProgress, run_missing

NAMES = PRESETS
# Which experiment ships for a sample.
ON_DATA = {"nhanes-stroke": "paper-logistic", "sotu": "paper-lda", "mnist": "paper-sbn"}


@dataclass(frozen=True, eq=False)
class Frontier:
    """What the runs of one experiment came to.

    Attributes
    ----------
    sweep
        What was run.
    cells
        One row for each run and held-out score, as `vips_core.sweeps.results.frame` has them; the column
        code holds a hash of the code that ran it.
    looks
        Scores while training, as `vips_core.sweeps.results.traces` has them.
    topics
        The first words of matched topics, where topics were learned.
    runs
        How many runs there are.
    version, packages
        What made the file: the version of the project, and of the packages that it used.
    """

    sweep: Sweep
    cells: pd.DataFrame
    looks: pd.DataFrame
    topics: list[Exhibit]
    runs: int
    version: str
    packages: Mapping[str, str]

    @property
    def codes(self) -> list[str]:
        """The hashes of the code that made the runs; several where it changed for some methods only."""
        return sorted(set(self.cells["code"]))


def path(name: str) -> Path:
    """Return the file of an experiment."""
    return sample_data.FOLDER / f"frontier-{validate.one_of('name', name, NAMES)}.json.gz"


@functools.cache
def load(name: str) -> Frontier:
    """Return the results that ship with the package.

    Parameters
    ----------
    name
        One of `NAMES`.

    Returns
    -------
    Frontier
        Shared by all callers: do not change its frames.

    Examples
    --------
    >>> frontier = load("paper-logistic")
    >>> frontier.sweep.data, "AUC" in set(frontier.cells["score"])
    ('nhanes-stroke', True)
    """
    content = json.loads(gzip.decompress(path(name).read_bytes()))
    frames = {key: pd.DataFrame(content[key]) for key in ("cells", "looks")}
    topics = [Exhibit(**item | {"table": pd.DataFrame(item["table"])}) for item in content["topics"]]
    sweep = Sweep.from_mapping(content["sweep"])
    return Frontier(**content | frames | {"sweep": sweep, "topics": topics})


def make(name: str, store: Store) -> None:
    """Run what is missing of an experiment, and write its file."""
    sweep = preset(name, "full")
    end = run_missing(sweep, store, lambda progress: _tell(name, progress))
    for request, error in results.failures(sweep, store):
        raise ValueError(f"{name}: {request.method}, seed {request.seed}: {error}")
    cells = results.frame(sweep, store).assign(code=code_hash())
    content = {
        "version": versions()["vips-explorer"],
        "packages": package_versions(),
        "sweep": sweep.to_mapping(),
        "runs": end.cells,
        "cells": _columns(cells.drop(columns="seconds")),  # times depend on what else the machine did
        "looks": _columns(results.traces(sweep, store)),
        "topics": [
            vars(exhibit) | {"table": _columns(exhibit.table)} for exhibit in side_by_side(sweep, store)
        ],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    path(name).write_bytes(gzip.compress(text.encode(), mtime=0))


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    known = frame.astype(object).where(frame.notna(), None)
    return {str(name): known[name].tolist() for name in known}


def _tell(name: str, progress: CellProgress) -> None:
    print(f"\r{name}: {progress.done:,} of {progress.cells:,} runs", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Make the files that were asked for, or all."""
    wanted = [validate.one_of("name", name, NAMES) for name in sys.argv[1:]] or list(NAMES)
    for name in wanted:
        make(name, Store())


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
