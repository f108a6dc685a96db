"""Budgets: everything ever released or reserved composes, and a run that does not fit is refused."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.store import SIGNED
from tests.store.releases import DELTA, full
from tests.toy import coin_flips
from vips_core import PrivacyPlan
from vips_core.jobs import lifecycle, submission, worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.privacy import accountants
from vips_core.privacy.filter import PrivacyFilter
from vips_core.privacy.plan import PurePlan
from vips_core.store import budget
from vips_core.store.budget import Cap, cap_held, cap_in, cap_rows, caps_of_run
from vips_core.store.people import Sources
from vips_core.store.store import Store


def request(**values):
    table = {"model": "sbn", "data": "flips", "hidden": 2, "delta": DELTA, "epochs": 12}
    spend = {} if {"noise", "epsilon", "method"} & set(values) else {"epsilon": 1.0}
    return Request.from_mapping(table | spend | values)


@pytest.fixture
def store(home):
    found = Store()
    found.add_data("flips", coin_flips(), coin_flips(seed=1), cap=Cap(2.0, DELTA), unit="one image")
    return found


def test_a_run_reserves_its_plan_and_settles_to_its_ledger(store):
    run = submit(store, request())
    reserved = store.budget("flips")
    assert reserved.spent_share == 0
    assert reserved.planned_epsilon == pytest.approx(1.0, rel=1e-6)
    assert reserved.reserved_share + reserved.left_share == pytest.approx(1)
    worker.work(store, run)
    row, settled = store.run(run), store.budget("flips")
    assert row.status == "done", row.error
    assert settled.reserved_share == 0
    assert settled.spent_share == pytest.approx(reserved.reserved_share)
    assert settled.planned_epsilon == pytest.approx(row.epsilon) == pytest.approx(1.0, rel=1e-6)
    assert [(entry[1], entry[2]) for entry in settled.history] == [(run, settled.spent_share)]
    kinds = ["data", "cap", "reserve", *["announce"] * row.steps, "settle"]
    assert [entry.kind for entry in store.ledger()] == kinds
    assert [entry.kind for entry in store.ledger("flips")] == ["data", "cap", "reserve", "settle"]


def test_a_run_of_exactly_the_cap_fits_and_nothing_after_it(store):
    submit(store, request(epsilon=2.0))
    assert store.budget("flips").left_epsilon == store.budget("flips").left_share == 0
    with pytest.raises(ValueError, match="no useful run fits any more"):
        submit(store, request(epsilon=0.1))


def test_a_run_that_fits_only_as_a_whole_is_charged_its_reservation_after_any_release(store):
    """Stopping a run is an adaptive choice, and only the filter allows those."""
    run = submit(store, request(epsilon=2.0))
    worker.work(store, run, lambda progress: progress.step == 1)
    assert store.run(run).step == 1
    assert store.budget("flips").left_share == 0
    store.set_cap("flips", Cap(3.0, DELTA), **SIGNED)  # the run fits under it by the filter, stopped or not
    assert store.budget("flips").left_share > 0.5


def test_a_run_that_ended_before_its_first_release_costs_nothing(store):
    store.cancel(submit(store, request(epsilon=2.0)))
    assert store.budget("flips").left_epsilon == 2.0
    submit(store, request(epsilon=2.0))


def test_the_largest_run_that_is_said_to_fit_fits(store):
    submit(store, request(epsilon=1.0))
    left = store.budget("flips").left_epsilon
    assert 0.5 < left < 2
    with pytest.raises(ValueError, match="does not fit"):
        submit(store, request(epsilon=left * 1.001))
    submit(store, request(epsilon=left * 0.999))


def test_the_order_is_recorded_with_the_cap(store):
    (content,) = [row.content for row in store.ledger("flips") if row.kind == "cap"]
    assert content["order"] == pytest.approx(PrivacyFilter.for_cap(2.0, DELTA).order)
    recorded = [replace(row, content=dict(row.content) | {"order": 3.0}) for row in store.ledger("flips")]
    assert budget.Balance.of(recorded).cap_filter.order == 3.0


def test_two_runs_cost_less_than_the_sum(store):
    first, second = (submit(store, request(epsilon=1.0)) for _ in range(2))
    assert 1.3 < store.budget("flips").planned_epsilon < 1.6
    store.cancel(second)
    assert store.budget("flips").planned_epsilon == pytest.approx(1.0, rel=1e-6)
    assert store.run(first).status == "queued"


def test_the_same_records_share_a_budget_under_any_name(store):
    shuffled = coin_flips()
    store.add_data("others", type(shuffled)(shuffled.bits[::-1], shuffled.shape), unit="one image")
    run = submit(store, request(data="others", epsilon=1.5))
    assert store.budget("flips").history[0][1] == run
    with pytest.raises(ValueError, match="this run does not fit in the budget of flips"):
        submit(store, request(epsilon=1.5))
    with pytest.raises(ValueError, match="they share a cap of ε = 2"):
        store.add_data("third", shuffled, cap=Cap(50.0, DELTA), unit="one image")


@pytest.mark.parametrize("given", [{"epsilon": 1.8}, {"noise": 1.0}, {"noise": 1.5, "batch": 20}])
def test_what_a_refusal_suggests_fits(store, given):
    submit(store, request(epsilon=1.0))
    with pytest.raises(ValueError, match="does not fit in the budget of flips: ") as error:
        submit(store, request(**given))
    sentence = str(error.value)
    assert "\n" not in sentence
    before, total = re.search(r": (\d+)% of the cap .* the total would be (.+?);", sentence).groups()
    assert total == "far more than all" or int(total.removesuffix("%")) > 100
    assert f"{before}%" == budget.percent(store.budget("flips").reserved_share)
    epsilon = float(re.search(r"ε of at most ([\d.]+)", sentence)[1])
    noise = float(re.search(r"noise of at least ([\d.]+)", sentence)[1])
    shape = {name: value for name, value in given.items() if name == "batch"}
    for suggestion in ({"epsilon": epsilon}, {"noise": noise}):
        store.cancel(submit(store, request(**shape, **suggestion)))
    with pytest.raises(ValueError, match="does not fit"):
        submit(store, request(**shape, noise=noise * 0.99))


def test_runs_at_another_delta_are_judged_at_the_delta_of_the_cap(store):
    run = submit(store, request(epsilon=1.2, delta=1e-3))
    plan = PrivacyPlan(records=200, expected_batch=200, steps=12, delta=1e-3).calibrate(1.2)
    at_cap = accountants.epsilon(plan.events(), DELTA, "pld")
    assert 1.4 < at_cap < 2
    assert store.budget("flips").planned_epsilon == pytest.approx(at_cap, rel=1e-3)
    assert store.run(run).status == "queued"


def test_a_cap_may_change_and_the_ledger_keeps_it(store):
    submit(store, request(epsilon=2.0))
    store.set_cap("flips", Cap(4.0, DELTA), **SIGNED)
    submit(store, request(epsilon=2.0))
    store.set_cap("flips", Cap(0.5, DELTA), **SIGNED)
    assert store.budget("flips").left_epsilon == 0
    caps = [row.content["epsilon"] for row in store.ledger("flips") if row.kind == "cap"]
    assert caps == [2.0, 4.0, 0.5]
    assert store.verify() == []
    with pytest.raises(ValueError, match="mnist is public and has no budget"):
        store.set_cap("mnist", Cap(1.0, DELTA))


@pytest.mark.parametrize(
    ("signature", "missing"),
    [
        ({}, "neither"),
        ({"by": "Ada"}, "no reason"),
        ({"reason": "more data"}, "no name"),
        ({"by": " ", "reason": "\t"}, "neither"),
    ],
)
def test_a_cap_that_grows_or_follows_a_run_needs_a_name_and_a_reason(store, signature, missing):
    """Issue 32: a cap could be changed without name or reason, and a report stated one never in force."""
    for larger in (Cap(2.1, DELTA), Cap(2.0, 2 * DELTA), Cap(1.0, 2 * DELTA)):
        with pytest.raises(ValueError, match=f"a larger cap needs a name and a reason, got {missing}"):
            store.set_cap("flips", larger, **signature)
    store.set_cap("flips", Cap(1.5, DELTA), **signature)  # smaller, and no run has a promise yet
    store.cancel(submit(store, request(epsilon=1.0)))
    for cap in (Cap(1.0, DELTA), Cap(1.5, DELTA)):
        with pytest.raises(ValueError, match=f"changed after a run needs a name and a reason, got {missing}"):
            store.set_cap("flips", cap, **signature)
    assert [row.content["epsilon"] for row in cap_rows(store.ledger("flips"))] == [2.0, 1.5]


def test_the_cap_of_a_run_is_the_one_in_force_at_its_reservation(store):
    first = submit(store, request(epsilon=1.0))
    store.set_cap("flips", Cap(4.0, DELTA), **SIGNED)
    second = submit(store, request(epsilon=1.0))
    store.set_cap("flips", Cap(0.1, DELTA), **SIGNED)
    rows = store.ledger("flips")
    assert [cap_in(cap_held(rows, run)).epsilon for run in (first, second)] == [2.0, 4.0]
    assert [row.content["epsilon"] for row in caps_of_run(rows, first)] == [2.0, 4.0, 0.1]
    assert (cap_held(rows, "nothing"), caps_of_run(rows, "nothing")) == (None, [])


def test_caps_of_records_that_join_later_never_apply_to_an_earlier_run(store):
    def add(name, seed, rows, cap=None):
        sources = Sources(rows=[row.encode() for row in rows])
        store.add_data(
            name,
            coin_flips(seed=seed),
            cap=cap,
            unit="one image",
            sources=sources,
            share_budget=name == "both",
        )

    add("one", 11, ["a", "x"], Cap(3.0, DELTA))
    add("two", 12, ["b", "y"], Cap(1.0, DELTA))
    run = submit(store, request(data="one", epsilon=0.5))
    add("both", 13, ["x", "y"])  # joins them under the smaller cap
    later = submit(store, request(data="one", epsilon=0.2))
    rows = store.ledger("one")
    assert [row.data for row in caps_of_run(rows, run)] == ["one", "both"]
    assert cap_in(cap_held(rows, run)) == Cap(3.0, DELTA)
    assert cap_in(cap_held(rows, later)) == Cap(1.0, DELTA)
    assert cap_held(rows, later).content["reason"] == "budgets were joined, and the smallest cap holds"


def test_an_early_end_gives_back_the_rest(store):
    run = submit(store, request())
    worker.work(store, run, lambda progress: progress.step == 1)
    row = store.run(run)
    assert (row.status, row.step) == ("cancelled", 1)
    (use,) = budget.uses(store.ledger("flips"))
    assert sum(event.count for event in use.events) == 1
    assert store.budget("flips").planned_epsilon == pytest.approx(row.epsilon)
    assert row.epsilon < 0.5


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"noise": 0.0}, "flips is private: a run without noise is refused"),
        ({"method": "non-private"}, "flips is private: a run without noise is refused"),
        ({"seed": 1}, "flips is private: a run with a seed is refused"),
    ],
)
def test_private_data_refuse(store, values, sentence):
    with pytest.raises(ValueError, match=sentence):
        submit(store, request(**values))
    assert store.budget("flips").history == []
    assert store.runs() == []


def test_private_data_refuse_a_rival_without_ledger(store):
    import numpy as np

    from vips_core import Table

    rows = Table(np.eye(4) / 2, np.array([0, 1, 0, 1]), tuple("abcd"), 1.0)
    store.add_data("rows", rows, cap=Cap(2.0, DELTA), unit="one person")
    table = {"model": "logistic", "data": "rows", "method": "perm", "epsilon": 1.0, "delta": DELTA}
    with pytest.raises(ValueError, match="method perm is refused, because its ε is for replacing a record"):
        submit(store, Request.from_mapping(table))
    with pytest.raises(ValueError, match="rows is private: its cap counts only releases at the wall"):
        store.queue("fit", table, 1, PurePlan(4, 1.0))
    assert (store.runs(), store.budget("rows").left_share) == ([], 1)


def test_private_data_need_a_cap(store):
    with pytest.raises(ValueError, match="the private data set new needs a cap"):
        store.add_data("new", coin_flips(seed=9), unit="one image")


def test_a_plan_that_is_not_the_reserved_one_releases_nothing(store, monkeypatch):
    run = submit(store, request())
    monkeypatch.setattr(lifecycle, "reserved", lambda *given: (full(9.0, 3),))
    worker.work(store, run)
    assert store.run(run).status == "failed"
    assert "not the one whose cost was reserved" in store.run(run).error
    assert store.budget("flips").spent_share == 0


def test_concurrent_reservations_never_overspend(store, home):
    """Eight processes ask 25 times each; the reservations made are as many as fit one after another."""
    store.set_cap("flips", Cap(2.0, DELTA))
    store.database.close()
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.reserve", str(home), "8", "25"],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "VIPS_THREADS": "1"},
        check=True,
    )
    answers = done.stdout.split()
    assert len(answers) == 200, done.stderr
    plan = submission.prepare(request(epsilon=0.25), store.load("flips")).plan
    cap_filter = PrivacyFilter.for_cap(2.0, DELTA)
    most = max(n for n in range(200) if cap_filter.fits(plan.events() * n))
    assert 10 < most < 100
    assert (answers.count("reserved"), answers.count("refused")) == (most, 200 - most)
    assert store.budget("flips").planned_epsilon <= 2.0
    assert len(store.runs()) == most
    assert store.verify() == []
