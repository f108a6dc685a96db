"""Compiled kernels are remade after a change of their sources or of functions that they call."""

import subprocess
import sys

import pytest

from vips_core.kernels import remove_outdated

CALLEE = "import numba as nb\n\n\n@nb.njit(cache=True)\ndef answer(x):\n    return x + {}\n"
CALLER = """import numba as nb
from {}.kernels.callee import answer


@nb.njit(cache=True)
def ask(x):
    return 10 * answer(x)
"""
ASK = """
from pathlib import Path
from vips_core.kernels import remove_outdated
remove_outdated(Path("house"))
from house.models.caller import ask
print(ask(1), sum(ask.stats.cache_hits.values()))
"""


@pytest.fixture
def house(tmp_path):
    package = tmp_path / "house"
    for room in ("kernels", "models", "privacy"):
        (package / room).mkdir(parents=True)
    (package / "kernels" / "callee.py").write_text(CALLEE.format(1))
    (package / "models" / "caller.py").write_text(CALLER.format("house"))
    return package


def asked(package):
    return subprocess.run(
        [sys.executable, "-c", ASK], cwd=package.parent, capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_kernel_is_compiled_again_when_a_function_that_it_calls_has_changed(house):
    assert asked(house) == ["20", "0"]
    assert asked(house) == ["20", "1"]
    (house / "kernels" / "callee.py").write_text(CALLEE.format(2))
    assert asked(house) == ["30", "0"]
    assert asked(house) == ["30", "1"]


def test_what_was_compiled_stays_while_sources_are_the_same(house):
    remove_outdated(house)
    kept = house / "models" / "__pycache__" / "caller.ask-5.py311.1.nbc"
    kept.parent.mkdir()
    kept.write_bytes(b"compiled")
    (house / "models" / "text.py").write_text("nothing = 'that is compiled'\n")
    remove_outdated(house)
    assert kept.exists()
    (house / "models" / "caller.py").write_text(CALLER.format("another"))
    remove_outdated(house)
    assert not kept.exists()


def test_a_broken_stamp_is_written_again(house):
    remove_outdated(house)
    stamp = house / "__pycache__" / "kernels.sha256"
    whole = stamp.read_bytes()
    stamp.write_bytes(b"\xff\xfe")
    remove_outdated(house)
    assert stamp.read_bytes() == whole


def test_a_package_that_cannot_be_written_to_is_left_alone(house):
    (house / "__pycache__").write_text("not a folder")
    remove_outdated(house)
    assert (house / "__pycache__").read_text() == "not a folder"
