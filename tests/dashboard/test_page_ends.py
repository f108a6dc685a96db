"""A sample of `tests.benchmarks.page_ends`: no value that a page takes ends in its error page."""

import random

import pytest

from dashboard import pages
from tests.benchmarks import page_ends
from vips_core.store.store import Store


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("furnished"))
    page_ends.furnish(store)
    return store


@pytest.mark.parametrize("page", pages.TITLES)
def test_no_control_ends_in_an_error(furnished, monkeypatch, page):
    monkeypatch.setenv("VIPS_HOME", str(furnished.home))
    of_page = {name: visit for name, visit in page_ends.visits(furnished).items() if visit.page == page}
    assert of_page
    with page_ends.nothing_trains():
        for name, visit in of_page.items():
            found = page_ends.sample(visit, random.Random(name), most=2)
            assert page_ends.problems(name, found) == []
