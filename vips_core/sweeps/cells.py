"""Cells of sweeps: one demonstration run each, kept under a hash so that a finished cell is not run again.

The hash covers the request, the code, the samples and the packages. In doubt, a cell runs again: an
unnecessary run costs time, but a stale result would be wrong.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import vips_core
from vips_core.fit import Progress
from vips_core.jobs import execution
from vips_core.jobs.request import Request
from vips_core.jobs.submission import prepare
from vips_core.kernels.pool import one_thread
from vips_core.records import DataSet
from vips_core.records.files.npz import load_arrays
from vips_core.records.samples import SAMPLES, load_sample
from vips_core.store.rows import versions
from vips_core.store.store import Store
from vips_core.sweeps.grid import Sweep, canonical

# Packages that show or store results and cannot change them.
ROOMS_WITHOUT_EFFECT = ("cli", "reports", "store")
PACKAGES = ("llvmlite", "numba", "numpy", "pandas", "scikit-learn", "scipy", "threadpoolctl")
SAMPLE_ENDINGS = (".csv.gz", ".npz", ".py", ".txt")


@functools.cache
def code_hash() -> str:
    """Return a hash of the code that results depend on: `vips_core` without `ROOMS_WITHOUT_EFFECT`."""
    package = Path(vips_core.__file__).parent
    return files_hash(package, code_files(package))


@functools.cache
def samples_hash() -> str:
    """Return a hash of the shipped samples and of the code that loads and generates them."""
    import sample_data  # here: it loads pandas, and readers of registered data do not need it

    return files_hash(sample_data.FOLDER, sample_files(sample_data.FOLDER))


@functools.cache
def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute results."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in PACKAGES
    }


def code_files(package: Path) -> list[Path]:
    """Return the modules of a package that results depend on."""
    modules = package.rglob("*.py")
    return [file for file in modules if file.relative_to(package).parts[0] not in ROOMS_WITHOUT_EFFECT]


def sample_files(folder: Path) -> list[Path]:
    """Return the files of a folder that hold, load or generate samples."""
    return [file for file in folder.rglob("*") if file.name.endswith(SAMPLE_ENDINGS)]


def files_hash(folder: Path, files: Iterable[Path]) -> str:
    """Return a hash of the contents of files, and of their names in the folder."""
    total = hashlib.sha256()
    for name, file in sorted((file.relative_to(folder).as_posix(), file) for file in files):
        for part in (name.encode(), file.read_bytes()):
            # Digests have a fixed length, so that different lists of files cannot collide.
            total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


FORMAT = "vips-cell/1"


@dataclass(frozen=True)
class Cells:
    """Finished cells in a folder.

    Attributes
    ----------
    folder
        Where the files are.
    records
        Identifies the records, including held-out records and public facts about them.
    code
        Identifies the code. Together with the records, the request and the versions of packages, it names a
        cell's file.
    """

    folder: Path
    records: str
    code: str = field(default_factory=lambda: code_hash())

    def path(self, request: Request) -> Path:
        """Return the file of a cell's scores; its parameters are beside it with the ending `.npz`."""
        key = [FORMAT, self.code, package_versions(), self.records, canonical(request)]
        return self.folder / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()}.json"

    def read(self, request: Request) -> dict[str, Any] | None:
        """Return the content of a cell, which may be an error; None if it was not run."""
        try:
            content = json.loads(self.path(request).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # an unreadable cell runs again
            return None
        return content if isinstance(content, dict) and content.get("format") == FORMAT else None

    def parameters(self, request: Request) -> dict[str, Any] | None:
        """Return a cell's arrays, None if they were not kept."""
        try:
            return load_arrays(self.path(request).with_suffix(".npz"))
        except ValueError:
            return None

    def keep(self, request: Request, content: Mapping[str, Any], parameters: bytes | None) -> str | None:
        """Write the content of a cell, parameters first, and return its error, if any."""
        path = self.path(request)
        if parameters is not None:
            _replace(path.with_suffix(".npz"), parameters)
        _replace(path, json.dumps(content, ensure_ascii=False, allow_nan=False).encode())
        error: str | None = content["error"]
        return error

    def finished(self, request: Request, keep: bool) -> bool:
        """Return whether the cell is complete; a failed cell is tried again."""
        content = self.read(request)
        scored = content is not None and content["error"] is None
        return scored and (not keep or self.path(request).with_suffix(".npz").exists())


def cells_of(sweep: Sweep, store: Store) -> Cells:
    """Return the sweep's cells in the store; `ValueError` if its data are private."""
    row = store.data_row(sweep.data)
    if row.private:
        raise ValueError(f"a sweep needs public or generated data, but {sweep.data} is private")
    # The fingerprint covers the training records in any order. Registering again may change their order,
    # their public fields, and the held-out records.
    registered = f"{row.fingerprint} {row.created}"
    return Cells(store.home / "cells", samples_hash() if sweep.data in SAMPLES else registered)


def run_cell(home: str, cells: Cells, table: Mapping[str, Any], keep: bool) -> str | None:
    """Run one cell in this process, write it, and return its error, if any."""
    return cells.keep(Request.from_mapping(table), *computed_cell(home, cells, table, keep))


def computed_cell(
    home: str, cells: Cells, table: Mapping[str, Any], keep: bool
) -> tuple[dict[str, Any], bytes | None]:
    """Run one cell in this process; return its content, and its parameters if they are kept."""
    if cells.code != code_hash():
        raise ValueError("the code has changed since the sweep started: start it again")
    request = Request.from_mapping(table)
    start = time.perf_counter()
    error, parameters = None, None
    outcome: dict[str, Any] = {}
    try:
        outcome, parameters = _train(request, _data(home, request.data, cells.records), keep)
    except Exception as problem:  # one cell must not stop the others
        kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
        error = kind + (str(problem).splitlines() or ["no reason given"])[0]
    content = {
        "format": FORMAT,
        "version": versions()["vips-explorer"],
        "request": request.to_mapping(),
        "error": error,
        "seconds": round(time.perf_counter() - start, 3),
        **outcome,
    }
    return content, parameters


def cell_of_worker(*arguments: Any) -> tuple[dict[str, Any], bytes | None]:
    """Run one cell on a cluster worker, which may run one in each of its threads."""
    with one_thread():
        return computed_cell(*arguments)


def _train(request: Request, data: DataSet, keep: bool) -> tuple[dict[str, Any], bytes | None]:
    prepared = prepare(request, data)
    trace: list[tuple[int, float]] = []

    def watch(progress: Progress[Any]) -> None:
        score = execution.watch(prepared, progress)
        if score is not None:
            trace.append((progress.step, score))

    with tempfile.TemporaryDirectory(prefix="vips-cell-") as folder:
        result = execution.run(prepared, Path(folder), watch)
        ledger = Path(folder) / "ledger.json"
        released = json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else None
        parameters = (Path(folder) / "params.npz").read_bytes() if keep else None
    outcome = {
        "plan": result["plan"],
        "epsilon": result["epsilon"],
        "scores": result["held_out"],
        "cautions": result["cautions"],
        "trace": trace,
        "ledger": released,
    }
    return outcome, parameters


@functools.lru_cache(maxsize=1)
def _data(home: str, name: str, records: str) -> DataSet:
    """Return the records, read once; `records` distinguishes data sets that had the same name."""
    return load_sample(name) if name in SAMPLES else Store(Path(home)).load(name)


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
