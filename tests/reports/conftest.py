"""A store with public and private records, and the report of a run in it."""

import pytest

from tests.reports import worked
from tests.small_rows import small_store
from vips_core.reports import report


@pytest.fixture(scope="package")
def store(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("home"), "one <b>row</b>")


@pytest.fixture(scope="package")
def seeded(store):
    return worked(store, epsilon=1.0, seed=3)


@pytest.fixture(scope="package")
def folder(store, seeded, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    report.write_run(store, seeded, out)
    return out
