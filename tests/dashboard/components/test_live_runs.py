"""Following runs: progress is shown, the page reruns in time, and the supervisor is called seldom."""

import dataclasses

import pytest
import streamlit as st

from dashboard import background, stored
from dashboard.components import live_runs
from vips_core.jobs import supervisor
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit

REQUEST = {"model": "logistic", "data": "nhanes-stroke", "epsilon": 1.0, "delta": 1e-4}


class RanAgainError(Exception):
    """The page was run again."""


@pytest.fixture
def started(monkeypatch):
    """Every call of the supervisor."""
    calls = []
    monkeypatch.setattr(supervisor, "start", calls.append)
    hourly = st.cache_data(ttl=3600.0)(stored._supervised.__wrapped__)
    monkeypatch.setattr(stored, "_supervised", hourly)
    return calls


@pytest.fixture
def clock(monkeypatch, started):
    """Time passes only in pauses, of which there are at most a hundred."""
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        assert len(pauses) < 100

    monkeypatch.setattr(background.time, "monotonic", lambda: sum(pauses))
    monkeypatch.setattr(background, "pause", pause)

    def run_again():
        raise RanAgainError

    monkeypatch.setattr(live_runs.st, "rerun", run_again)


def as_it_goes(run, *changes):
    """Return a function that reads a run after one change after another; the last change stays."""
    rows = iter([dataclasses.replace(run, **change) for change in changes])
    last = []

    def read():
        last[:] = [next(rows, *last)]
        return list(last)

    return read


@pytest.fixture
def run(started):
    return stored.store().run(submit(stored.store(), Request.from_mapping(REQUEST)))


def test_progress_is_shown_until_a_run_changes_its_state(run, clock):
    read, steps = as_it_goes(run, {"step": 1}, {"step": 2}, {"step": 3, "status": "done"}), []
    with pytest.raises(RanAgainError):
        live_runs.follow([run], read=read, show=lambda now: steps.append(now[0].step))
    assert steps == [1, 2]


def test_a_change_since_the_page_was_drawn_is_not_missed(run, clock):
    with pytest.raises(RanAgainError):
        live_runs.follow([dataclasses.replace(run, status="running")])


def test_mere_progress_runs_the_page_again_after_a_while(run, clock):
    looks = []
    read = as_it_goes(run, {}, {"step": 1})
    with pytest.raises(RanAgainError):
        live_runs.follow([run], read=read, show=looks.append, redraw=3.0)
    assert [now[0].step for now in looks] == [0, 1]


def test_a_run_that_has_begun_is_drawn_in_its_place_and_runs_the_page_again_after_a_second(run, clock):
    looks = []
    read = as_it_goes(run, {}, {"status": "running"})
    with pytest.raises(RanAgainError):
        live_runs.follow([run], read=read, show=looks.append)
    assert [now[0].status for now in looks] == ["queued", "running"]
    assert 1.0 < background.time.monotonic() < 1.2


def test_a_browser_draws_results_before_the_next_come(run, clock):
    looks = []
    read = as_it_goes(run, {"status": "done"})
    with pytest.raises(RanAgainError):
        live_runs.follow([run], read=read, show=looks.append, rest=0.5)
    assert [now[0].status for now in looks] == ["done"]
    assert 0.5 <= background.time.monotonic() < 0.7


def test_the_supervisor_is_asked_only_where_something_waits_and_not_too_often(started):
    assert stored.supervise() == []
    assert started == []
    stored._supervised.clear()  # as if the cached answer had expired
    run_id = submit(stored.store(), Request.from_mapping(REQUEST))
    assert stored.supervise() == ["queued"]
    stored.supervise()
    assert started == [stored.store()]
    stored.store().cancel(run_id)
    assert stored.supervise() == []
