"""Rules of the architecture, read off the syntax trees. Imports inside functions count like all others."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

import vips_core

ROOT = Path(vips_core.__file__).parent.parent
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("vips_core", "dashboard", "sample_data")
    for path in sorted((ROOT / package).rglob("*.py"))
}
SOURCES = {module: path.read_text(encoding="utf-8") for module, path in FILES.items()}
TREES = {module: ast.parse(source) for module, source in SOURCES.items()}

# From the ground up: a module imports from its own layer and from those before it.
LAYERS = (
    "vips_core.rounding",
    "vips_core.validate",
    "vips_core.files",
    "vips_core.toml",
    "vips_core.csv_text",
    "vips_core.options",
    "vips_core.kernels",
    "vips_core.records",
    "sample_data",
    "vips_core.records.samples",  # loads what sample_data reads or draws
    "vips_core.privacy",
    "vips_core.engines",
    "vips_core.privacy.wall",  # has engines sum on its behalf
    "vips_core.models.base",
    "vips_core.models.task",
    "vips_core.models",
    "vips_core.saved",
    "vips_core.fit",
    "vips_core.models.check",  # trains a model, to try it
    "vips_core.audits",
    "vips_core.store",
    "vips_core.jobs",
    "vips_core",  # the public names
    "sample_data.lessons",  # made by training
    "vips_core.sweeps",
    "vips_core.audits.job",
    "vips_core.reports",
    "sample_data.frontiers",  # made by sweeps, with tables of their reports
    "vips_core.cli",
    "vips_core.__main__",
    "dashboard.components.formats",  # numbers as text
    "dashboard.clicks",
    "dashboard.state",
    "dashboard.background",
    "dashboard.stored",
    "dashboard.pages",
    "dashboard.components",
    "dashboard.model_page",
    "dashboard.views",
    "dashboard.app",
    "dashboard.access",
    "dashboard.launch",
    "dashboard",
)


def imports(module):
    """Yield the names of the modules that a module imports, ours by their full name."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in FILES else node.module


def within(module, package):
    return module == package or module.startswith(f"{package}.")


def layer(module):
    """Return the layer with the longest name that holds the module; the packages hold only themselves."""
    holding = [name for name in LAYERS if within(module, name)]
    holding = [name for name in holding if name == module or name not in ("vips_core", "dashboard")]
    return LAYERS.index(max(holding, key=len)) if holding else None


def callers(name):
    """Modules that call a function, method or class of this name."""
    return {
        module
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and name in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
    }


def test_every_module_has_a_layer():
    assert [module for module in FILES if layer(module) is None] == []


def test_layers_import_downwards_only():
    upwards = {
        f"{module} imports {name}"
        for module in FILES
        for name in imports(module)
        if name in FILES and layer(name) > layer(module)
    }
    assert upwards == set()


def test_the_core_knows_neither_the_dashboard_nor_streamlit():
    wrong = {
        f"{module} imports {name}"
        for module in FILES
        if not within(module, "dashboard")
        for name in imports(module)
        if name.split(".")[0] in ("dashboard", "streamlit")
    }
    assert wrong == set()


def test_only_the_wall_sees_raw_sums_and_makes_released_ones():
    # The check of a model and the attacks sum records that are public or made up.
    on_public_records = {"vips_core.models.check", "vips_core.audits.inspection"}
    assert callers("e_step") == {"vips_core.engines.base", *on_public_records}
    assert callers("StepSums") == {"vips_core.privacy.wall"}
    assert callers("Released") == {"vips_core.privacy.wall"}


def test_only_the_wall_records_in_a_ledger():
    assert callers("record") == {"vips_core.privacy.wall"}


def test_only_the_loop_the_check_and_audits_call_the_wall():
    audits = {"vips_core.models.check", "vips_core.audits.inspection", "vips_core.audits.wall_attack"}
    assert callers("release") == {"vips_core.fit", *audits}


def test_no_view_imports_another_view():
    def view(module):
        return module.split(".")[2] if module.startswith("dashboard.views.") else None

    crossing = {
        f"{module} imports {name}"
        for module in FILES
        if view(module)
        for name in imports(module)
        if view(name) and view(name) != view(module)
    }
    assert crossing == set()


def test_components_know_no_page():
    assert any(within(module, "dashboard.components") for module in FILES)
    wrong = {
        f"{module} imports {name}"
        for module in FILES
        if within(module, "dashboard.components")
        for name in imports(module)
        if within(name, "dashboard.views") or within(name, "dashboard.model_page")
    }
    assert wrong == set()


def test_a_page_imports_its_own_folder_shared_parts_and_public_names():
    pages = [module for module in FILES if within(module, "dashboard.views") and module.endswith(".page")]
    assert len(pages) >= 8
    shared = ("dashboard.components", "dashboard.model_page", "dashboard.state", "dashboard.stored")
    shared += ("dashboard.background", "dashboard.pages", "streamlit")
    wrong = {
        f"{module} imports {name}"
        for module in pages
        for name in imports(module)
        if name not in ("vips_core", "sample_data")
        and not any(within(name, allowed) for allowed in (*shared, module.removesuffix(".page")))
        and name.split(".")[0] not in sys.stdlib_module_names
    }
    assert wrong == set()


def test_few_files_lie_directly_in_the_dashboard():
    assert len(list((ROOT / "dashboard").glob("*.py"))) <= 9


def test_no_module_is_long():
    lines = {module: len(source.splitlines()) for module, source in SOURCES.items()}
    assert {module: count for module, count in lines.items() if count > 400} == {}


COMPILED = [module for module in FILES if any(within(name, "numba") for name in imports(module))]


@pytest.mark.parametrize("module", COMPILED)
def test_kernels_are_serial_and_cached_and_draw_no_numbers(module):
    for node in ast.walk(TREES[module]):
        name = getattr(node, "attr", getattr(node, "id", ""))
        assert name not in ("prange", "random", "default_rng"), f"{module}:{node.lineno}"
        if isinstance(node, ast.Call) and name_of(node.func) == "njit":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            assert "parallel" not in given, f"{module}:{node.lineno}"
            assert "inline" in given or {"nogil", "cache"} <= set(given), f"{module}:{node.lineno}"
        for decorator in getattr(node, "decorator_list", ()):
            assert name_of(decorator) not in ("njit", "jit"), f"{module}:{node.lineno} has no options"


def name_of(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def test_kernels_are_found():
    assert {"vips_core.models.sbn.kernels", "vips_core.models.lda.shrink_kernels"} <= set(COMPILED)


def test_public_names():
    names = "PrivacyPlan fit fit_registered load recommend Documents Table Images Ledger"
    assert set(names.split()) <= set(vips_core.__all__)
    assert all(hasattr(vips_core, name) for name in vips_core.__all__)


@pytest.mark.parametrize("name", [name for name in vips_core.__all__ if callable(getattr(vips_core, name))])
def test_public_names_are_explained_with_an_example(name):
    value = getattr(vips_core, name)
    text = inspect.getdoc(value)
    if not getattr(value, "_is_protocol", False):  # a protocol is implemented, not called
        assert ">>> " in text
        assert "Parameters\n---" in text or "Attributes\n---" in text
        assert inspect.isclass(value) or "Returns\n---" in text
