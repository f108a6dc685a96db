"""Results of the paper's three experiments at full size, for every ε, method and seed.

They are made from the public samples by::

    python -m sample_data.frontiers [paper-logistic] [paper-sbn] [paper-lda]

This command trains on all cores, keeps finished cells in the store of `VIPS_HOME`, and writes one file per
name into this folder. If interrupted, it can be run again and continues where it stopped. The grids are those
of `vips_core/sweeps/presets`. Scores are on held-out records. The data are public and the runs are seeded, so
anyone can reproduce them: their ε describes the noise and protects nobody.
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
# The experiment whose results ship for each sample.
ON_DATA = {"nhanes-stroke": "paper-logistic", "sotu": "paper-lda", "mnist": "paper-sbn"}


@dataclass(frozen=True, eq=False)
class Frontier:
    """Results of one experiment.

    Attributes
    ----------
    sweep
        The experiment.
    cells
        One row for each run and held-out score, as in `vips_core.sweeps.results.frame`, with the hash of the
        code in column "code".
    looks
        Validation scores during training, as in `vips_core.sweeps.results.traces`.
    topics
        Top words of matched topics, for topic models.
    runs
        Number of runs.
    version, packages
        Versions of the project and of the packages with which the file was made.
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
        """Hashes of the code that made the runs; several if only some methods were run again."""
        return sorted(set(self.cells["code"]))


def path(name: str) -> Path:
    """Return the path of an experiment's file."""
    return sample_data.FOLDER / f"frontier-{validate.one_of('name', name, NAMES)}.json.gz"


@functools.cache
def load(name: str) -> Frontier:
    """Return the results of an experiment, which ship with the package.

    Parameters
    ----------
    name
        One of `NAMES`.

    Returns
    -------
    Frontier
        A cached object that all callers share: do not modify its frames.

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
    """Run an experiment's missing cells, and write its file."""
    sweep = preset(name, "full")
    end = run_missing(sweep, store, lambda progress: _show_progress(name, progress))
    for request, error in results.failures(sweep, store):
        raise ValueError(f"{name}: {request.method}, seed {request.seed}: {error}")
    cells = results.frame(sweep, store).assign(code=code_hash())
    content = {
        "version": versions()["vips-explorer"],
        "packages": package_versions(),
        "sweep": sweep.to_mapping(),
        "runs": end.cells,
        "cells": _columns(cells.drop(columns="seconds")),  # times depend on the machine's load
        "looks": _columns(results.traces(sweep, store)),
        "topics": [
            vars(exhibit) | {"table": _columns(exhibit.table)} for exhibit in side_by_side(sweep, store)
        ],
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    path(name).write_bytes(gzip.compress(text.encode(), mtime=0))


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = frame.astype(object).where(frame.notna(), None).to_dict("list")
    return columns


def _show_progress(name: str, progress: CellProgress) -> None:
    print(f"\r{name}: {progress.done:,} of {progress.cells:,} runs", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Make the files named on the command line, or all files."""
    wanted = [validate.one_of("name", name, NAMES) for name in sys.argv[1:]] or list(NAMES)
    for name in wanted:
        make(name, Store())


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
