"""Cells of sweeps: one demonstration run each, kept under a hash so that none is ever run twice."""

import functools
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import vips_core
from vips_core.fit import Progress
from vips_core.runs import execution
from vips_core.runs.request import Request
from vips_core.runs.rows import versions
from vips_core.sweeps.grid import canonical

FORMAT = "vips-cell/1"


@dataclass(frozen=True)
class Cells:
    """Finished cells in a folder.

    Attributes
    ----------
    fingerprint
        Of the data set; with the version of the code and the request, it names a cell's file.
    """

    folder: Path
    fingerprint: str

    def path(self, request: Request) -> Path:
        """Return the file of a cell's scores; its parameters are beside it with the ending `.npz`."""
        text = json.dumps([FORMAT, code_version(), self.fingerprint, canonical(request)])
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"

    def read(self, request: Request) -> dict[str, Any] | None:
        """Return what is known of a cell, which may be its error; None where it was not run."""
        try:
            content = json.loads(self.path(request).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # an unreadable file is a cell that has to run again
            return None
        return content if isinstance(content, dict) and content.get("format") == FORMAT else None

    def parameters(self, request: Request) -> dict[str, Any] | None:
        """Return a cell's arrays, None where they were not kept."""
        try:
            with np.load(self.path(request).with_suffix(".npz"), allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError):
            return None

    def finished(self, request: Request, keep: bool) -> bool:
        """Whether nothing is left to do; a cell that failed is tried again."""
        content = self.read(request)
        return (
            content is not None
            and content["error"] is None
            and (not keep or self.path(request).with_suffix(".npz").exists())
        )


@functools.cache
def code_version() -> str:
    """Return the package's version with a hash of the code that results depend on, so that none is stale."""
    package = Path(vips_core.__file__).parent
    files = [package / "data.py", package / "fit.py", package / "runs" / "request.py"]
    files += [package / "runs" / "tasks.py", package / "runs" / "execution.py"]
    for folder in ("baselines", "kernels", "metrics", "models", "privacy"):
        files += sorted((package / folder).glob("*.py"))
    code = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{versions()['vips-explorer']}+{code[:16]}"


def run_cell(home: str, path: Path, table: Mapping[str, Any], keep: bool) -> str | None:
    """Run one cell in this process, keep its scores in the file `path`, and return its error, if any."""
    request = Request.from_mapping(table)
    start = time.perf_counter()
    error, found = None, {}
    try:
        found = _train(request, home, path.with_suffix(".npz") if keep else None)
    except Exception as problem:  # one cell must not stop the others
        kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
        error = kind + (str(problem).splitlines() or ["no reason was given"])[0]
    content = {
        "format": FORMAT,
        "version": versions()["vips-explorer"],
        "request": request.to_mapping(),
        "error": error,
        "seconds": round(time.perf_counter() - start, 3),
        **found,
    }
    _replace(path, json.dumps(content, ensure_ascii=False, allow_nan=False).encode())
    return error


def _train(request: Request, home: str, parameters: Path | None) -> dict[str, Any]:
    prepared = execution.prepare(request, _data(home, request.data))
    trace: list[tuple[int, float]] = []

    def watch(progress: Progress[Any]) -> None:
        score = execution.watch(prepared, progress)
        if score is not None:
            trace.append((progress.step, score))

    with tempfile.TemporaryDirectory(prefix="vips-cell-") as folder:
        outcome = execution.run(prepared, Path(folder), watch)
        ledger = Path(folder) / "ledger.json"
        released = json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else None
        if parameters is not None:
            _replace(parameters, (Path(folder) / "params.npz").read_bytes())
    return {
        "plan": outcome.result["plan"],
        "epsilon": outcome.result["epsilon"],
        "scores": outcome.result["held_out"],
        "cautions": outcome.result["cautions"],
        "trace": trace,
        "ledger": released,
    }


@functools.lru_cache(maxsize=1)
def _data(home: str, name: str) -> Any:
    from vips_core.runs.store import Store  # here: the store hands sweeps to this package

    return Store(Path(home)).load(name)


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
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
