"""The key of a cell changes with everything that can change its result, and with nothing else."""

import importlib.metadata
import shutil
from pathlib import Path

import numpy as np
import pytest

import sample_data
import vips_core
from tests.small_rows import rows
from tests.sweeps import BASE
from vips_core.records import Table
from vips_core.store.store import Store
from vips_core.sweeps import cells
from vips_core.sweeps.cells import Cells, cells_of
from vips_core.sweeps.grid import Sweep

CODE = Path(vips_core.__file__).parent
SAMPLES = Path(sample_data.__file__).parent
REQUEST = Sweep.from_mapping(BASE | {"epsilon": 1.0}).cells()[0]


@pytest.fixture
def copied(tmp_path):
    """Copies of the core and the samples, for changes."""
    for source in (CODE, SAMPLES):
        shutil.copytree(source, tmp_path / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def hashes(root):
    code, samples = root / "vips_core", root / "sample_data"
    return (
        cells.files_hash(code, cells.code_files(code)),
        cells.files_hash(samples, cells.sample_files(samples)),
    )


def append(file):
    with file.open("ab") as content:
        content.write(b"\n")


def test_copies_have_the_hashes_of_the_originals(copied):
    assert hashes(copied) == (cells.code_hash.__wrapped__(), cells.samples_hash.__wrapped__())


ROOMS = sorted({file.relative_to(CODE).parts[0] for file in CODE.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS)
def test_a_change_of_any_module_that_trains_is_seen(copied, room):
    code, samples = hashes(copied)
    place = copied / "vips_core" / room
    append(place if place.is_file() else sorted(place.rglob("*.py"))[-1])
    matters = room not in ("cli", "reports", "store")
    assert (hashes(copied)[0] != code) == matters
    assert hashes(copied)[1] == samples


@pytest.mark.parametrize("name", [file.name for file in sorted(SAMPLES.iterdir()) if file.is_file()])
def test_a_change_of_a_sample_or_a_generator_is_seen(copied, name):
    code, samples = hashes(copied)
    append(copied / "sample_data" / name)
    holds_no_samples = name in ("README.md", "py.typed") or name.startswith("frontier-")  # results
    assert (hashes(copied)[1] != samples) == (not holds_no_samples)
    assert hashes(copied)[0] == code


def test_a_new_module_and_a_new_name_are_seen(copied):
    before = hashes(copied)[0]
    (copied / "vips_core" / "models" / "other.py").touch()
    added = hashes(copied)[0]
    (copied / "vips_core" / "models" / "other.py").rename(copied / "vips_core" / "models" / "another.py")
    assert len({before, added, hashes(copied)[0]}) == 3


def path_with(monkeypatch, name, value):
    with monkeypatch.context() as changed:
        changed.setattr(cells, name, lambda: value)
        return Cells(Path("cells"), "records").path(REQUEST)


def test_the_key_has_code_packages_and_records(monkeypatch):
    place = Cells(Path("cells"), "records")
    paths = {
        place.path(REQUEST),
        Cells(Path("cells"), "other records").path(REQUEST),
        path_with(monkeypatch, "code_hash", "other code"),
        path_with(monkeypatch, "package_versions", {"numpy": "other"}),
    }
    assert len(paths) == 4
    assert place.path(REQUEST) in paths


@pytest.mark.parametrize("package", ["numpy", "scipy", "numba", "scikit-learn"])
def test_a_package_of_another_version_is_seen(monkeypatch, package):
    true_version = importlib.metadata.version
    before = cells.package_versions()
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "0.0" if name == package else true_version(name)
    )
    after = cells.package_versions.__wrapped__()
    assert {name for name in after if after[name] != before[name]} == {package}


def test_shipped_records_are_named_by_the_samples(tmp_path, monkeypatch):
    store = Store(tmp_path)
    shipped = Sweep.from_mapping(BASE | {"data": "nhanes-stroke", "epsilon": 1.0})
    before = cells_of(shipped, store)
    monkeypatch.setattr(cells, "samples_hash", lambda: "other samples")
    assert cells_of(shipped, store) != before


def test_registered_records_are_named_with_their_order_and_held_out_records(tmp_path):
    store = Store(tmp_path)
    definition = Sweep.from_mapping(BASE | {"epsilon": 1.0})
    versions = set()
    train, test = rows(300, 0), rows(200, 1)
    reordered = Table(train.x[::-1], train.y[::-1], train.feature_names, train.norm_bound)
    fewer = test[np.arange(len(test)) < 100]
    for records, held_out in ((train, test), (reordered, test), (train, fewer)):
        store.add_data("small", records, held_out, private=False, unit="one row")
        versions.add(cells_of(definition, store).records)
    assert len(versions) == 3
    assert len({cells_of(definition, store).records for _ in range(2)}) == 1  # and stay when nothing changes
