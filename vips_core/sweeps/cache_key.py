"""What a cell's result depends on besides its request: code, samples and packages, as one hash.

Generous rather than clever: a change that could not matter costs time, one that was overlooked costs truth.
"""

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable
from pathlib import Path

import vips_core

# Rooms that show or keep results and cannot change them.
ROOMS_WITHOUT_EFFECT = ("cli", "reports", "store")
PACKAGES = ("llvmlite", "numba", "numpy", "pandas", "scikit-learn", "scipy", "threadpoolctl")
SAMPLE_ENDINGS = (".csv.gz", ".npz", ".py", ".txt")


@functools.cache
def code_hash() -> str:
    """Return a hash of the code that results depend on: all of `vips_core` but what only shows or keeps."""
    return files_hash(code_files(Path(vips_core.__file__).parent))


@functools.cache
def samples_hash() -> str:
    """Return a hash of the samples that ship with the project, and of the code that loads and generates."""
    import sample_data  # here: it loads pandas, and readers of registered data do not need it

    return files_hash(sample_files(Path(sample_data.__file__).parent))


@functools.cache
def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute results."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in PACKAGES
    }


def code_files(package: Path) -> dict[str, Path]:
    """Return the modules of a package that results depend on, by their place in it."""
    return {
        name: file
        for name, file in _by_place(package, package.rglob("*.py")).items()
        if name.split("/")[0] not in ROOMS_WITHOUT_EFFECT
    }


def sample_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder that hold, load or generate samples, by their place in it."""
    return _by_place(folder, (file for file in folder.rglob("*") if file.name.endswith(SAMPLE_ENDINGS)))


def files_hash(files: dict[str, Path]) -> str:
    """Return a hash of the names and contents of files.

    Examples
    --------
    >>> files_hash({}) == files_hash({})
    True
    """
    total = hashlib.sha256()
    for name in sorted(files):
        for part in (name.encode(), files[name].read_bytes()):
            total.update(hashlib.sha256(part).digest())  # of one length, so that no two lists look alike
    return total.hexdigest()


def _by_place(folder: Path, files: Iterable[Path]) -> dict[str, Path]:
    return {file.relative_to(folder).as_posix(): file for file in files}
