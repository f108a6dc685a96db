"""Budgets: everything ever released or reserved composes, and a run that does not fit is refused."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toy import coin_flips
from vips_core import PrivacyPlan
from vips_core.privacy import accountants
from vips_core.privacy.events import SampledGaussian
from vips_core.runs import budget, lifecycle, worker
from vips_core.runs.budget import Cap
from vips_core.runs.request import Request
from vips_core.runs.store import Store

DELTA = 1e-5


def request(**values):
    table = {"model": "sbn", "data": "flips", "hidden": 2, "delta": DELTA, "epochs": 12}
    spend = {} if {"noise", "epsilon", "method"} & set(values) else {"epsilon": 1.0}
    return Request.from_mapping(table | spend | values)


@pytest.fixture
def store(home):
    found = Store()
    found.add_data("flips", coin_flips(), coin_flips(seed=1), cap=Cap(2.0, DELTA), unit="one image")
    return found


def full(noise, count=1):
    return SampledGaussian(1.0, noise, count)


# Composition


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.5, 50), st.integers(1, 50)), max_size=4),
    st.integers(0, 99),
)
@settings(max_examples=100, deadline=None)
def test_a_prefix_holds_exactly_so_many_releases(parts, releases):
    events = [SampledGaussian(*part) for part in parts]
    found = budget.prefix(events, releases)
    one_by_one = [(e.sampling_rate, e.noise_multiplier) for e in events for _ in range(e.count)]
    assert [(e.sampling_rate, e.noise_multiplier) for e in found for _ in range(e.count)] == one_by_one[
        :releases
    ]
    assert budget.from_lists(budget.to_lists(found)) == found


def test_cost_is_that_of_the_composition():
    assert budget.cost([], DELTA) == 0
    one = budget.cost([full(4.0, 4)], DELTA)
    assert one == pytest.approx(accountants.epsilon([full(2.0)], DELTA, "gaussian"))
    mixed = [full(4.0, 4), SampledGaussian(0.05, 1.1, 100)]
    assert one < budget.cost(mixed, DELTA) <= accountants.epsilon(mixed, DELTA, "rdp")


def test_noise_that_differs_by_rounding_is_one_event():
    noise = 1.1
    apart = [SampledGaussian(0.1, noise * (1 + step * 1e-16), 10) for step in range(8)]
    assert budget.cost(apart, DELTA) == budget.cost([SampledGaussian(0.1, noise, 80)], DELTA)


def test_pld_lets_in_what_rdp_alone_would_refuse():
    events = [SampledGaussian(0.05, 1.2, 20)]
    rdp, pld = (accountants.epsilon(events, DELTA, name) for name in ("rdp", "pld"))
    assert pld < rdp * 0.9
    assert budget.fits(events, Cap(pld, DELTA))
    assert budget.fits(events, Cap(rdp, DELTA))
    assert not budget.fits(events, Cap(pld * 0.999, DELTA))


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-5), (float("inf"), 1e-5), (1, 0), (1, 0.7), (-1, 1e-5)]
)
def test_bad_caps(epsilon, delta):
    with pytest.raises(ValueError, match=r"the cap's (epsilon|delta) must be"):
        Cap(epsilon, delta)


# Reserving and settling


def test_a_run_reserves_its_plan_and_settles_to_its_ledger(store):
    run = store.submit(request())
    reserved = store.budget("flips")
    assert reserved.spent_epsilon == 0
    assert reserved.reserved_epsilon == pytest.approx(1.0, rel=1e-6)
    assert reserved.left_epsilon == pytest.approx(1.0, rel=1e-6)
    worker.work(store, run)
    row, settled = store.run(run), store.budget("flips")
    assert row.status == "done", row.error
    assert settled.reserved_epsilon == 0
    assert settled.spent_epsilon == pytest.approx(row.epsilon) == pytest.approx(1.0, rel=1e-6)
    assert [(entry[1], entry[2]) for entry in settled.history] == [(run, settled.spent_epsilon)]
    assert [entry.kind for entry in store.ledger("flips")] == ["data", "cap", "reserve", "settle"]


def test_a_run_of_exactly_the_cap_fits_and_nothing_after_it(store):
    store.submit(request(epsilon=2.0))
    with pytest.raises(ValueError, match="nothing that is worth running fits any more"):
        store.submit(request(epsilon=0.1))


def test_two_runs_cost_less_than_the_sum(store):
    first, second = (store.submit(request(epsilon=1.0)) for _ in range(2))
    total = store.budget("flips").reserved_epsilon
    assert 1.3 < total < 1.6
    store.cancel(second)
    assert store.budget("flips").reserved_epsilon == pytest.approx(1.0, rel=1e-6)
    assert store.run(first).status == "queued"


def test_the_same_records_share_a_budget_under_any_name(store):
    shuffled = coin_flips()
    store.add_data("others", type(shuffled)(shuffled.bits[::-1], shuffled.shape), unit="one image")
    run = store.submit(request(data="others", epsilon=1.5))
    assert store.budget("flips").history[0][1] == run
    with pytest.raises(ValueError, match="this run does not fit in the budget of flips"):
        store.submit(request(epsilon=1.5))
    with pytest.raises(ValueError, match="they share a cap of ε = 2"):
        store.add_data("third", shuffled, cap=Cap(50.0, DELTA), unit="one image")


@pytest.mark.parametrize("given", [{"epsilon": 1.8}, {"noise": 1.0}, {"noise": 1.5, "batch": 20}])
def test_what_a_refusal_suggests_fits(store, given):
    store.submit(request(epsilon=1.0))
    with pytest.raises(ValueError, match="does not fit in the budget of flips: with it ε would be") as error:
        store.submit(request(**given))
    sentence = str(error.value)
    assert "\n" not in sentence
    above = float(re.search(r"([\d.]+) above the cap of 2 ", sentence)[1])
    total = float(re.search(r"ε would be ([\d.]+)", sentence)[1])
    assert above == pytest.approx(total - 2, abs=0.006 * total)
    epsilon = float(re.search(r"epsilon of at most ([\d.]+)", sentence)[1])
    noise = float(re.search(r"noise of at least ([\d.]+)", sentence)[1])
    shape = {name: value for name, value in given.items() if name == "batch"}
    for suggestion in ({"epsilon": epsilon}, {"noise": noise}):
        store.cancel(store.submit(request(**shape, **suggestion)))
    with pytest.raises(ValueError, match="does not fit"):
        store.submit(request(**shape, noise=noise * (0.75 if shape else 0.99)))


def test_runs_at_another_delta_are_judged_at_the_caps(store):
    run = store.submit(request(epsilon=1.2, delta=1e-3))
    plan = PrivacyPlan(records=200, expected_batch=200, steps=12, delta=1e-3).calibrate(1.2)
    at_cap = accountants.epsilon(plan.events(), DELTA, "pld")
    assert 1.4 < at_cap < 2
    assert store.budget("flips").reserved_epsilon == pytest.approx(at_cap, rel=1e-3)
    assert store.run(run).status == "queued"


def test_a_cap_may_change_and_the_ledger_keeps_it(store):
    store.submit(request(epsilon=2.0))
    store.set_cap("flips", Cap(4.0, DELTA))
    store.submit(request(epsilon=2.0))
    store.set_cap("flips", Cap(0.5, DELTA))
    assert store.budget("flips").left_epsilon == 0
    caps = [row.content["epsilon"] for row in store.ledger("flips") if row.kind == "cap"]
    assert caps == [2.0, 4.0, 0.5]
    assert store.verify() == []
    with pytest.raises(ValueError, match="mnist is public and has no budget"):
        store.set_cap("mnist", Cap(1.0, DELTA))


def test_an_early_end_gives_back_the_rest(store):
    run = store.submit(request())
    worker.work(store, run, lambda progress: progress.step == 1)
    row = store.run(run)
    assert (row.status, row.step) == ("cancelled", 1)
    (use,) = budget.uses(store.ledger("flips"))
    assert sum(event.count for event in use.events) == 1
    assert store.budget("flips").spent_epsilon == pytest.approx(row.epsilon)
    assert row.epsilon < 0.5


def test_a_slow_cost_is_remembered(store, monkeypatch):
    store.submit(request(noise=3.0, batch=20))
    store.submit(request(epsilon=0.3))
    first = store.budget("flips")
    monkeypatch.setattr(budget, "cost", lambda events, delta: pytest.fail("again") if events else 0.0)
    assert Store().budget("flips").history[-1] == first.history[-1]


# What private data refuse


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
        store.submit(request(**values))
    assert store.budget("flips").history == []
    assert store.runs() == []


def test_private_data_refuse_a_rival_without_ledger(store):
    import numpy as np

    from vips_core import LabelledRows

    rows = LabelledRows(np.eye(4) / 2, np.array([0, 1, 0, 1]), tuple("abcd"), 1.0)
    store.add_data("rows", rows, cap=Cap(2.0, DELTA), unit="one person")
    table = {"model": "logistic", "data": "rows", "method": "perm", "epsilon": 1.0, "delta": DELTA}
    with pytest.raises(ValueError, match="method perm is refused, because its ε is for replacing a record"):
        store.submit(Request.from_mapping(table))


def test_private_data_need_a_cap(store):
    with pytest.raises(ValueError, match="the private data set new needs a cap"):
        store.add_data("new", coin_flips(seed=9), unit="one image")


def test_a_plan_that_is_not_the_reserved_one_releases_nothing(store, monkeypatch):
    run = store.submit(request())
    monkeypatch.setattr(lifecycle, "reserved", lambda store, run_id: (full(9.0, 3),))
    worker.work(store, run)
    assert store.run(run).status == "failed"
    assert "not the one whose cost was reserved" in store.run(run).error
    assert store.budget("flips").spent_epsilon == 0


# Many at once


def test_concurrent_reservations_never_overspend(store, home):
    """Eight processes ask 25 times each; exactly as many get a reservation as fit one after the other."""
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
    plan = worker.execution.prepare(request(epsilon=0.25), store.load("flips")).plan
    most = max(n for n in range(200) if budget.cost(plan.events() * n, DELTA) <= 2.0)
    assert 10 < most < 100
    assert (answers.count("reserved"), answers.count("refused")) == (most, 200 - most)
    assert store.budget("flips").reserved_epsilon <= 2.0
    assert len(store.runs()) == most
    assert store.verify() == []
