"""Room on the disk: checked before anything is spent, set aside while training, elsewhere if it is lost."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vips_core import saved
from vips_core.jobs.execution import Prepared
from vips_core.jobs.lifecycle import ROOM_FILE
from vips_core.privacy.plan import PurePlan

RESCUE = "VIPS_RESCUE"  # environment variable: folder for results that the store cannot take
_TIMES_PARAMETERS = 3  # parameters, tables of them, and progress in the store
_BESIDES = 64 * 1024  # bytes of ledger, summary and result


def needed(prepared: Prepared) -> int:
    """Return about how many bytes the results of a run take."""
    if isinstance(prepared.plan, PurePlan):  # a few numbers
        return _BESIDES
    params = prepared.model.init(prepared.plan, np.random.default_rng(0))
    return _TIMES_PARAMETERS * sum(int(array.nbytes) for array in saved.arrays(params).values()) + _BESIDES


def check(folder: Path, size: int) -> None:
    """Refuse a run whose results do not fit on the disk, before it spends anything."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise ValueError(
            f"the disk that holds {folder} has {free / 1e6:,.1f} MB left, and the run needs "
            f"{size / 1e6:,.1f} MB: nothing was spent, make room and try again"
        )


def set_aside(folder: Path, size: int) -> Path:
    """Take the room that results need, and return the file that holds it until they are written."""
    path = folder / ROOM_FILE
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.write(bytes(size))
    return path


def rescue(name: str, write: Callable[[Path], Any]) -> Path | None:
    """Write results into the folder of `VIPS_RESCUE`, or the system's temporary one; None if neither can.

    Parameters
    ----------
    name
        Of the run.
    write
        Writes into the folder that it is given.
    """
    for place in (os.environ.get(RESCUE), tempfile.gettempdir()):
        if place:
            folder = Path(place) / f"vips-run-{name}"
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write(folder)
                return folder
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
    return None
