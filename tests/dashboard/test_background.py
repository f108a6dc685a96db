"""Slow work that pages share, and waiting for it."""

import math
import threading

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException

from dashboard import background


def test_background_shares_cancels_and_resubmits():
    shared = background.Background(threads=1, keep=2)
    gate = threading.Event()
    blocked = shared.ask(gate.wait)
    queued = shared.ask(math.sqrt, 4.0)
    assert shared.ask(math.sqrt, 4.0) is queued
    assert queued.cancel()
    again = shared.ask(math.sqrt, 4.0)
    gate.set()
    assert blocked.result(10) is True
    assert again.result(10) == 2.0


def test_a_page_waits_until_something_is_ready_or_the_time_is_over(monkeypatch):
    monkeypatch.setattr(background, "visit", {})
    answers = iter([False, False, True])
    background.wait_until(lambda: next(answers), every=0.001)
    assert next(answers, None) is None
    background.wait_until(lambda: False, every=0.001, most=0.01)


def test_input_of_the_visitor_ends_the_wait(monkeypatch):
    class Impatient(dict):
        def get(self, key, default=None):
            raise RerunException(RerunData())

    monkeypatch.setattr(background, "visit", Impatient())
    with pytest.raises(RerunException):
        background.wait_until(lambda: False, every=60.0)
