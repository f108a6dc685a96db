"""A store of the version before: a private data set, a finished run, a waiting one, two caps and a sweep.

`version_before/` holds its database as SQL, and the files beside it.
"""

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.toy import coin_flips
from vips_core.jobs import execution, worker
from vips_core.jobs.request import Request
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.filter import PrivacyFilter
from vips_core.store import budget
from vips_core.store.budget import Cap
from vips_core.store.database import MIGRATIONS
from vips_core.store.store import Store

FINISHED, WAITING, SWEEP = "ccc4e970", "0f39cc0d", "ce2d2539"


@pytest.fixture
def store(tmp_path):
    home = tmp_path / "home"
    shutil.copytree(Path(__file__).parent / "version_before", home)
    connection = sqlite3.connect(home / "store.db")
    connection.executescript((home / "store.sql").read_text(encoding="utf-8"))
    connection.close()
    return Store(home)


def test_it_opens_lists_and_verifies(store):
    assert store.database.read("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    assert store.verify() == []
    runs = {run.id: run for run in store.runs()}
    assert {name: run.status for name, run in runs.items()} == {
        FINISHED: "done",
        WAITING: "queued",
        SWEEP: "cancelled",
    }
    assert [run.plan for run in runs.values()] == [None, None, None]
    assert [value for _, value in runs[FINISHED].scores][-1] == 0.625
    row = store.data_row("flips")
    assert (row.records, row.unit, row.cap) == (40, "one image", Cap(6.0, 1e-5))
    state = store.budget("flips")
    settled = [event for use in budget.uses(store.ledger("flips")) if use.settled for event in use.events]
    assert budget.cost(settled, 1e-5) == pytest.approx(runs[FINISHED].epsilon)
    assert min(state.spent_share, state.reserved_share, state.left_share) > 0


def test_its_caps_become_filters_on_the_safe_side(store):
    (*_, content) = [row.content for row in store.ledger("flips") if row.kind == "cap"]
    assert "order" not in content
    assert budget.filter_of(store.ledger("flips")) == PrivacyFilter.for_cap(6.0, 1e-5)
    state = store.budget("flips")
    assert state.left_epsilon < 6.0
    store.set_cap("flips", Cap(6.0, 1e-5), by="Ada", reason="a new version")
    assert store.ledger("flips")[-1].content["order"] == PrivacyFilter.for_cap(6.0, 1e-5).order
    assert store.budget("flips") == state


def test_a_finished_run_can_be_looked_at(store):
    row = store.run(FINISHED)
    prepared = execution.prepare(Request.from_mapping(row.request), store.load("flips"), row.plan)
    fit = execution.restore(prepared, store.folder(FINISHED))
    assert fit.epsilon("pld") == pytest.approx(row.epsilon)


def test_a_waiting_run_goes_on_with_what_it_had_reserved(store):
    worker.work(store, WAITING)
    row = store.run(WAITING)
    assert (row.status, row.step, row.error) == ("done", 4, None)
    use = budget.uses(store.ledger("flips"))[1]
    assert (use.run, use.settled) == (WAITING, True)
    assert use.events == (SampledGaussian(1.0, 7.461263269639335, 4),)
    assert store.verify() == []


def test_what_its_chain_says_of_a_data_set_still_protects_it(store):
    with store.database.write() as connection:
        connection.execute("UPDATE data SET private = 0")
    assert store.verify() == ["The data set flips has another private in its table than in the ledger."]


def test_its_data_set_may_be_registered_again_with_more_said(store):
    data = store.load("flips")
    store.add_data("flips", data.train, data.test, unit="one image", by="Ada", reason="a new version")
    last = store.ledger("flips")[-1].content
    assert (last["private"], last["unit"], last["by"]) == (True, "one image", "Ada")
    assert store.verify() == []
    assert store.budget("flips").left_share < 1


def test_its_people_are_not_said_to_be_others_until_they_are_known(store):
    assert "flips was registered by an older version, without digests of its rows" in store.notes()[0]
    new = {"cap": Cap(1.0, 1e-5), "unit": "one image"}
    with pytest.raises(ValueError, match="whether it shares people with these records is not known"):
        store.add_data("new", coin_flips(seed=5), **new)
    store.add_data("other", coin_flips(seed=6), **new, separate="of another hospital", by="Ada")
    assert "kept apart from flips by Ada" in store.separations("other")[0]
    data = store.load("flips")
    store.add_data("flips", data.train, data.test, unit="one image")
    assert store.notes() == []
    store.add_data("new", coin_flips(seed=5), **new)
