"""Rules of the architecture, read off the syntax trees."""

import ast
from pathlib import Path

import pytest

import vips_core

CORE = Path(vips_core.__file__).parent
ROOT = CORE.parent
CORE_FILES = sorted(CORE.rglob("*.py"))
VIEWS = sorted((ROOT / "dashboard" / "views").glob("*.py"))


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path, name):
    return [
        node
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and (getattr(node.func, "attr", None) == name or getattr(node.func, "id", None) == name)
    ]


def imports(path):
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_only_the_wall_calls_e_step_and_makes_released():
    for name in ("e_step", "Released"):
        assert [path.name for path in CORE_FILES if calls(path, name)] == ["wall.py"]


def test_only_the_wall_records_in_a_ledger():
    assert [path.name for path in CORE_FILES if calls(path, "record")] == ["wall.py"]


def test_only_the_loop_calls_the_wall():
    callers = [path.name for path in [*CORE_FILES, *VIEWS] if calls(path, "release")]
    assert callers == ["fit.py"]


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_the_core_knows_no_streamlit(path):
    assert not any(name.split(".")[0] == "streamlit" for name in imports(path))


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.name)
def test_views_import_public_names_only(path):
    allowed = {"vips_core", "dashboard", "sample_data", "streamlit"}
    for name in imports(path):
        package = name.split(".")[0]
        assert not name.startswith("vips_core."), f"{name} is not public"
        assert package in allowed or package in __import__("sys").stdlib_module_names, name


def test_kernels_are_serial_and_draw_no_numbers():
    for path in sorted((CORE / "kernels").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "parallel=True" not in text, path.name
        assert "np.random" not in text, path.name
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", getattr(node.func, "id", "")) == "njit"
            ):
                given = {keyword.arg for keyword in node.keywords}
                assert "inline" in given or {"nogil", "cache"} <= given, f"{path.name}:{node.lineno}"


def test_public_names():
    for name in ("PrivacyPlan", "fit", "recommend", "Corpus", "LabelledRows", "BinaryRows", "Ledger"):
        assert hasattr(vips_core, name)
    assert all(hasattr(vips_core, name) for name in vips_core.__all__)
