"""`vips_core.fit_registered`: a notebook spends from a budget, by the rules of the shell."""

import os
import signal
import subprocess
import sys
import zipfile

import pytest

import vips_core as vips
from tests.jobs import STEPS, releases
from tests.small_rows import rows
from tests.toy import BetaBernoulli, coin_flips
from vips_core.cli import main
from vips_core.jobs import lifecycle
from vips_core.models.check import _equal
from vips_core.store import budget
from vips_core.store.budget import Cap

OPTIONS = {"method": "paper", "hidden": 2, "noise": 20.0, "delta": 1e-5, "epochs": STEPS}


def spend(data="flips", **others):
    return vips.fit_registered("sbn", data, **OPTIONS | others)


def only_run(store):
    (row,) = store.runs()
    return row


def test_every_fit_spends_from_the_cap_until_one_does_not_fit(store, capsys):
    """Issue 32: five fits in Python on private records touched no cap."""
    store.add_data("few", coin_flips(seed=7), cap=Cap(1.0, 1e-5), unit="one image")
    fits = [spend("few", noise=23.0) for _ in range(4)]
    released = budget.joined([event for fit in fits for event in fit.ledger.events()])
    share = budget.Balance.of(store.ledger("few")).cap_filter.share(released)
    assert 0.8 < share <= 1
    with pytest.raises(ValueError, match="this run does not fit in the budget of few") as error:
        spend("few", noise=23.0)
    state = store.budget("few")
    assert (state.spent_share, state.reserved_share) == (pytest.approx(share), 0)
    assert [row.status for row in store.runs(data="few")] == ["done"] * 4
    capsys.readouterr()
    shell = [f"--{name}={value}" for name, value in (OPTIONS | {"noise": 23.0}).items()]
    assert main(["fit", "sbn", "--data", "few", *shell]) == 2
    assert capsys.readouterr().err == f"vips-explorer fit: {error.value}\n"


def test_the_whole_cost_is_reserved_before_the_first_release(store):
    shares = []

    def look(progress):
        state = store.budget("flips")
        shares.append((state.spent_share, state.reserved_share))

    spend(on_step=look)
    assert len(shares) == STEPS
    assert set(shares) == {(0, store.budget("flips").spent_share)}


def test_the_fit_is_the_one_that_the_store_keeps(store):
    seen = []
    fit = spend(on_step=seen.append)
    row = only_run(store)
    kept = vips.load(store.folder(row.id))
    assert (fit.model, fit.plan, fit.ledger) == (kept.model, kept.plan, kept.ledger)
    assert _equal(fit.params, kept.params)
    assert _equal(fit.params, seen[-1].params)
    assert fit.ledger == seen[-1].ledger
    assert (row.status, row.plan, row.epsilon) == ("done", fit.plan, pytest.approx(fit.epsilon()))
    assert releases(store, row.id) == fit.ledger.steps == STEPS


def test_the_run_is_listed_shown_and_reported_like_others(store, tmp_path, capsys):
    spend()
    row = only_run(store)
    assert main(["runs", "list"]) == 0
    assert f"{row.id:<10}done" in capsys.readouterr().out
    assert main(["runs", "show", row.id]) == 0
    assert "sbn (paper) on flips" in capsys.readouterr().out
    assert main(["runs", "export", row.id, "--out", str(tmp_path / "report.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "report.zip") as bundle:
        assert any(name.endswith("report.html") for name in bundle.namelist())
    assert store.verify() == []


def test_on_step_stops_the_run_and_only_what_was_released_counts(store):
    fit = spend(on_step=lambda progress: progress.step == 3)
    row = only_run(store)
    assert (row.status, releases(store, row.id), fit.ledger.steps) == ("cancelled", 3, 3)


def test_an_interrupt_keeps_what_was_released_and_settles(store):
    def interrupt(progress):
        if progress.step == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="is cancelled; what it released is in"):
        spend(on_step=interrupt)
    row = only_run(store)
    assert (row.status, releases(store, row.id)) == ("cancelled", 3)
    assert vips.load(store.folder(row.id)).ledger.steps == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_stops_at_once_and_settles(store):
    def interrupt(progress):
        if progress.step == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        spend(on_step=interrupt)
    row = only_run(store)
    assert (row.status, releases(store, row.id)) == ("cancelled", 3)
    assert not (store.folder(row.id) / "params.npz").exists()


def test_an_error_in_on_step_ends_the_run_and_its_cost_counts(store):
    def fail(progress):
        if progress.step == 2:
            raise ZeroDivisionError("oh")

    with pytest.raises(ValueError, match=r"run \w+ failed: ZeroDivisionError: oh"):
        spend(on_step=fail)
    row = only_run(store)
    assert (row.status, releases(store, row.id)) == ("failed", 2)


KILLED = """
import os, signal
from tests.jobs.test_registered import spend
spend(on_step=lambda progress: os.kill(os.getpid(), signal.SIGKILL) if progress.step == 3 else None)
"""


def test_a_killed_notebook_is_noticed_and_its_releases_count(store):
    ended = subprocess.run([sys.executable, "-c", KILLED], env=os.environ | {"VIPS_THREADS": "1"})
    assert ended.returncode == -signal.SIGKILL
    row = only_run(store)
    reserved = store.budget("flips").reserved_share
    assert row.status == "running"
    assert reserved > 0
    assert lifecycle.end_abandoned(store) == [row.id]
    row, state = store.run(row.id), store.budget("flips")
    assert (row.status, releases(store, row.id)) == ("failed", 3)
    assert row.error == f"its worker died after 2 of {STEPS} steps"
    assert row.epsilon == pytest.approx(state.planned_epsilon)
    assert state.spent_share == pytest.approx(reserved * 3 / STEPS)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seed": 1}, "flips is private: a run with a seed is refused"),
        ({"noise": 0}, "flips is private: a run without noise is refused"),
        ({"method": "non-private", "noise": None}, "flips is private: a run without noise is refused"),
        ({"data": "nobody"}, "there is no data set 'nobody'"),
        ({"engine": "cluster"}, "no cluster is known: set VIPS_CLUSTER"),
        ({"sampling": "fixed"}, "sampling is not an option of sbn; its options are"),
        ({"epsilon": 1.0}, "give either epsilon or noise, got epsilon and noise"),
    ],
)
def test_bad_options_are_refused_in_one_sentence_and_cost_nothing(store, changes, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        spend(**changes)
    assert "\n" not in str(error.value)
    assert store.runs() == []
    assert store.budget("flips").spent_share == store.budget("flips").reserved_share == 0


def test_records_and_names_are_not_mixed_up_and_no_record_is_shown(store):
    plan = vips.PrivacyPlan(records=200, expected_batch=20, steps=2, noise_multiplier=4.0, delta=1e-5)
    with pytest.raises(ValueError, match=r"got the text 'flips': vips_core\.fit_registered trains on"):
        vips.fit(BetaBernoulli(12, 0.5), "flips", plan)
    with pytest.raises(ValueError, match="the name of a registered data set, got Images: vips_core"):
        spend(coin_flips())
    assert store.runs() == []


def test_records_in_memory_touch_no_cap_and_leave_no_run(store):
    plan = vips.PrivacyPlan(records=200, expected_batch=20, steps=2, noise_multiplier=4.0, delta=1e-5)
    vips.fit(BetaBernoulli(12, 0.5), coin_flips(), plan)
    assert store.runs() == []
    assert store.budget("flips").spent_share == 0


def test_public_data_take_seeds_and_a_method_without_a_ledger_leaves_no_fit(store):
    store.add_data("open", rows(60, 0), private=False, unit="one row")
    options = {"epsilon": 1.0, "delta": 1e-4, "epochs": 2, "seed": 5}
    one, two = (vips.fit_registered("logistic", "open", **options) for _ in range(2))
    assert _equal(one.params, two.params)
    with pytest.raises(ValueError, match=r"run \w+ is done and left no fit, only what is in"):
        vips.fit_registered("logistic", "open", method="perm", **options)
