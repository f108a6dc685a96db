"""Workers: progress, cancel, failure, and never a release that was not announced."""

import errno
import json
from types import SimpleNamespace

import numpy as np
import pytest

from tests.jobs import STEPS, announced, releases, request
from tests.toy import coin_flips
from vips_core import load, saved
from vips_core.jobs import execution, lifecycle, submission, worker
from vips_core.jobs.submission import submit
from vips_core.privacy.accountants import stated
from vips_core.store import budget
from vips_core.store.database import StoreError
from vips_core.store.store import Store


def test_progress_is_stored_at_every_step(store):
    run, seen = submit(store, request()), []

    def on_step(progress):
        row = store.run(run)
        seen.append((progress.step, row.status, row.step, announced(store, run)))

    worker.work(store, run, on_step)
    # While step t runs, the store says that t - 1 are done, and the ledger announces the t-th release.
    assert seen == [(step, "running", step - 1, list(range(1, step + 1))) for step in range(1, STEPS + 1)]
    row = store.run(run)
    assert (row.status, row.step, row.error) == ("done", STEPS, None)
    assert row.created <= row.started <= row.ended
    assert [step for step, _ in row.validation_scores][-1] == STEPS
    assert all(0 <= value <= 1 for _, value in row.validation_scores)
    assert releases(store, run) == STEPS
    fit = load(store.folder(run))
    assert fit.epsilon("pld") == pytest.approx(row.epsilon)
    assert not lifecycle.is_lock_held(store.folder(run))


def test_a_run_is_cancelled_within_one_step(store):
    run = submit(store, request())
    worker.work(store, run, lambda progress: store.cancel(run) if progress.step == 3 else None)
    row = store.run(run)
    assert (row.status, row.step, releases(store, run)) == ("cancelled", 3, 3)
    assert (store.folder(run) / "params.npz").exists()  # the results are kept
    result = json.loads((store.folder(run) / execution.RESULT).read_text(encoding="utf-8"))
    plan = submission.prepare(request(), store.load("flips")).plan
    assert result["epsilon"]["pld"] < plan.epsilon()
    (caution,) = [text for text in result["cautions"] if f"stopped after 3 of {STEPS} steps" in text]
    assert f"ε of the whole plan holds: {stated(plan.epsilon())}" in caution


def test_a_run_that_is_cancelled_before_its_first_release_costs_nothing(store, monkeypatch):
    run = submit(store, request())
    load = store.load

    def cancel_then_load(name):
        store.cancel(run)
        return load(name)

    monkeypatch.setattr(store, "load", cancel_then_load)
    worker.work(store, run)
    assert (store.run(run).status, releases(store, run)) == ("cancelled", 0)


def test_a_run_on_public_data_needs_no_ledger(store):
    store.add_data("open", coin_flips(seed=3), private=False, unit="one image")
    run = submit(store, request(data="open", noise=0.0, seed=1))
    worker.work(store, run)
    row = store.run(run)
    assert (row.status, row.epsilon, row.seed, row.validation_scores) == ("done", None, 1, [])
    assert [entry.kind for entry in store.ledger("open")] == ["data"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("step 2 is\nbad"), "step 2 is bad"),
        (ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full: No space left on device"),
        (MemoryError(), "there is not enough memory for this run"),
    ],
)
def test_an_error_ends_the_run_in_one_sentence_and_its_cost_counts(
    store, error, sentence, tmp_path, monkeypatch
):
    monkeypatch.setenv("VIPS_RESCUE", str(tmp_path))
    run = submit(store, request())

    def fail(progress):
        if progress.step == 2:
            raise error

    worker.work(store, run, fail)
    row = store.run(run)
    assert row.status == "failed"
    assert row.error.startswith(sentence)
    assert "\n" not in row.error
    assert releases(store, run) == 2
    assert row.epsilon == pytest.approx(store.budget("flips").planned_epsilon)
    assert "Traceback" in (store.folder(run) / "worker.log").read_text()


def test_an_interrupt_settles_the_run(store):
    run = submit(store, request())

    def interrupt(progress):
        if progress.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worker.work(store, run, interrupt)
    assert (store.run(run).status, releases(store, run)) == ("cancelled", 4)


def test_only_a_queued_run_can_be_started(store):
    run = submit(store, request())
    store.cancel(run)
    with pytest.raises(ValueError, match=f"run {run} cannot be started: it is cancelled"):
        worker.work(store, run)
    with pytest.raises(ValueError, match="there is no run 'nothing'"):
        worker.work(store, "nothing")


def test_a_worker_that_was_given_up_wrongly_releases_nothing_more(store, monkeypatch):
    """A worker that hung: its heartbeat is old, another process ends the run, and the worker goes on."""
    run, steps = submit(store, request()), []

    def on_step(progress):
        steps.append(progress.step)
        if progress.step == 3:
            with monkeypatch.context() as patch:
                patch.setattr(lifecycle, "BEAT", 0.01)
                patch.setattr(lifecycle, "STALE", -1.0)
                assert lifecycle.end_abandoned(Store()) == [run]

    worker.work(store, run, on_step)
    row = store.run(run)
    assert steps == [1, 2, 3]
    assert (row.status, row.error) == ("failed", f"its worker died after 2 of {STEPS} steps")
    assert releases(store, run) == 3
    assert [entry.kind for entry in store.ledger("flips")].count("settle") == 1


def test_results_that_do_not_fit_on_the_disk_still_count(store, monkeypatch):
    def full(*arguments, **arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    run = submit(store, request())
    monkeypatch.setattr(execution.np, "savez_compressed", full)
    worker.work(store, run)
    error = store.run(run).error
    assert error.startswith("the disk is full")
    assert "at δ = 1e-5, is counted and could be kept nowhere else" in error
    assert releases(store, run) == STEPS


def test_a_failed_run_shows_no_path_and_at_most_its_target(store):
    """RDP, which is fast, is looser than PLD, which chose the noise: the target of the run still holds."""
    store.add_data("open", coin_flips(seed=3), coin_flips(seed=1), private=False, unit="one image")
    run = submit(store, request(data="open", noise=None, epsilon=1.0, batch=20))
    store.folder(run).mkdir(parents=True)
    (store.folder(run) / "ledger.json").mkdir()  # in place of a file
    worker.work(store, run)
    row = store.run(run)
    assert (row.status, row.step, row.epsilon) == ("failed", row.steps, 1.0)
    assert row.error.startswith(
        "a file of this run cannot be used: is a directory; what was released, ε = 1 "
    )
    assert not any(word in row.error.partition(";")[0] for word in ("Errno", str(store.home)))


def test_results_that_cannot_be_written_are_kept_elsewhere(store, monkeypatch, tmp_path):
    """Issue 16: four fits on a full disk spent ε = 2.15 and left no result."""
    monkeypatch.setenv("VIPS_RESCUE", str(tmp_path))
    run, write = submit(store, request()), saved.write_params

    def full(path, params):
        if path.is_relative_to(store.home):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, params)

    monkeypatch.setattr(saved, "write_params", full)
    worker.work(store, run)
    row, folder = store.run(run), tmp_path / f"vips-run-{run}"
    assert row.error.endswith(f"is counted and was kept in {folder}")
    assert f"ε = {row.epsilon:.4g} at δ = 1e-5" in row.error
    assert load(folder).ledger.steps == STEPS
    assert not (store.folder(run) / lifecycle.DISK_SPACE).exists()


def test_a_run_without_disk_space_spends_nothing(store, monkeypatch):
    run = submit(store, request())
    monkeypatch.setattr(submission.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(ValueError, match=r"has 0\.0 MB left, and the run needs 0\.1 MB: nothing was spent"):
        submit(store, request())
    worker.work(store, run)
    assert "nothing was spent, free some space and try again" in store.run(run).error
    assert releases(store, run) == 0


def test_disk_space_is_reserved_while_training(store):
    run, sizes = submit(store, request()), []

    def look(progress):
        file = store.folder(run) / lifecycle.DISK_SPACE
        sizes.append(file.stat().st_size)

    worker.work(store, run, look)
    assert len(sizes) == STEPS
    assert min(sizes) > 64 * 1024
    assert not (store.folder(run) / lifecycle.DISK_SPACE).exists()


def test_a_store_that_cannot_grow_refuses_in_one_sentence_and_loses_nothing(store):
    run = submit(store, request())
    pages = store.database.read("PRAGMA page_count")[0][0]
    store.database.read(f"PRAGMA max_page_count = {pages}")
    accepted = 0

    def submit_many():
        nonlocal accepted
        for _ in range(100):
            submit(store, request())
            accepted += 1

    with pytest.raises(StoreError, match=r"the disk that holds .* is full or failing") as error:
        submit_many()
    assert "\n" not in str(error.value)
    assert len(store.runs()) == 1 + accepted == len(budget.uses(store.ledger("flips")))
    assert store.verify() == []
    assert store.run(run).status == "queued"
    assert submit(Store(), request())  # another connection has no such limit


def test_a_run_whose_store_is_full_stops_and_is_settled_later(store, monkeypatch, tmp_path):
    run, steps = submit(store, request()), []

    def full(*arguments, **values):
        raise StoreError("the disk is full")

    def on_step(progress):
        steps.append(progress.step)
        if progress.step == 3:
            monkeypatch.setattr(lifecycle.ClaimedRun, "advance", full)
            monkeypatch.setattr(lifecycle.ClaimedRun, "finish", full)

    monkeypatch.setenv("VIPS_RESCUE", str(tmp_path))
    with pytest.raises(StoreError, match="the disk is full; .* is counted and was kept in"):
        worker.work(store, run, on_step)
    assert (tmp_path / f"vips-run-{run}" / "params.npz").exists()
    assert store.run(run).status == "running"
    (store.folder(run) / lifecycle.DISK_SPACE).write_bytes(b"as a worker leaves it that was killed")
    assert lifecycle.end_abandoned(store) == [run]
    assert not (store.folder(run) / lifecycle.DISK_SPACE).exists()
    assert steps == [1, 2, 3]
    assert releases(store, run) == 3


def test_seeds_repeat_a_run_whatever_trains_it(store):
    store.add_data("open", coin_flips(seed=3), private=False, unit="one image")
    runs = [submit(store, request(data="open", seed=7)) for _ in range(2)]
    for run in runs:
        worker.work(store, run)
    one, two = (np.load(store.folder(run) / "params.npz") for run in runs)
    assert all(np.array_equal(one[name], two[name]) for name in one.files)


def edited(store, run, **columns):
    """Change the table of runs, as anyone with write access to the database could."""
    with store.database.write() as connection:
        for column, value in columns.items():
            connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", [value, run])


def test_a_settled_run_that_waits_again_releases_nothing_and_gives_nothing_back(store):
    run = submit(store, request())
    worker.work(store, run)
    left = store.budget("flips").left_share
    edited(store, run, status="queued")
    worker.work(store, run)
    assert "settled already: submit it again" in store.run(run).error
    edited(store, run, status="queued", step=0)
    store.cancel(run)
    assert (releases(store, run), store.budget("flips").left_share) == (STEPS, left)


def begun(store, steps):
    """A run that was killed after some steps."""
    run = submit(store, request())
    in_hand = lifecycle.begin(store, run)
    for step in range(steps):
        in_hand.advance(step, step + 1)
    return run


def test_no_edit_of_the_table_changes_what_a_killed_run_is_charged(store):
    """Issue 32: `intended` was in the table alone, where a 0 gave the budget of a killed run back."""
    run = begun(store, 5)
    for row in store.database.read("SELECT * FROM pragma_table_info('runs') WHERE type = 'INTEGER'"):
        if row["name"] not in ("number", "pinned", "cancel"):
            edited(store, run, **{row["name"]: 0})
    assert lifecycle.end_abandoned(store) == [run]
    assert releases(store, run) == 5
    assert store.verify() == []


def test_announcements_are_sealed(store):
    begun(store, 2)
    with store.database.write() as connection:
        connection.execute("DROP TRIGGER ledger_is_not_cut")
        connection.execute("DROP TRIGGER ledger_is_not_changed")
        connection.execute("DELETE FROM ledger WHERE number = (SELECT max(number) FROM ledger)")
        connection.execute("DELETE FROM meta WHERE key = 'ledger head'")
    assert store.verify() == ["The ledger was cut: it had 5 rows and now has 4."]


def test_a_killed_run_that_waits_again_releases_nothing_more(store):
    run = begun(store, 3)
    edited(store, run, status="queued", worker=None, fingerprint=None)
    worker.work(store, run)
    assert "may have released something already: submit it again" in store.run(run).error
    assert not (store.folder(run) / "params.npz").exists()


def test_a_long_run_announces_blocks_of_releases(store):
    run = submit(store, request(epochs=250.0))
    worker.work(store, run)
    assert announced(store, run) == [1, 2, 4, 8, *range(16, 250, 13), 250]
    assert releases(store, run) == 250
    killed = submit(store, request(epochs=250.0))
    in_hand = lifecycle.begin(store, killed)
    for step in range(14):
        in_hand.advance(step, step + 1)
    lifecycle.end_abandoned(store)
    assert releases(store, killed) == 16


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"seed": 1}, "a run with a seed is refused"), ({"noise": 0.0}, "a run without noise is refused")],
)
def test_a_waiting_run_that_was_edited_is_refused(store, change, sentence):
    run = submit(store, request())
    table = json.dumps(request(**change).to_mapping())
    plan = json.loads(store.database.read("SELECT plan FROM runs WHERE id = ?", [run])[0][0])
    edited(store, run, request=table, plan=json.dumps(plan | {"noise_multiplier": change.get("noise", 20.0)}))
    with store.database.write() as connection:
        connection.execute("UPDATE data SET private = 0")
    worker.work(store, run)
    assert sentence in store.run(run).error
    assert not (store.folder(run) / "params.npz").exists()
