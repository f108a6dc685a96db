"""Values of a visit: callbacks are finished, and no value of the address is lost."""

import contextlib
from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.testing.v1 import AppTest

from dashboard import clicks, state
from dashboard.views.plan import form
from tests.pages import checked


class Impatient(dict):
    """A state in which newer input arrives at the nth access, and interrupts it, as in Streamlit's."""

    def __init__(self, turn):
        super().__init__()
        self.left = turn
        self._yield_callback = self._look

    def _look(self):
        self.left -= 1
        if self.left == 0:
            raise RerunException(RerunData())

    def __getitem__(self, key):
        self._yield_callback()
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self._yield_callback()
        super().__setitem__(key, value)

    def __contains__(self, key):
        self._yield_callback()
        return super().__contains__(key)

    def get(self, key, default=None):
        self._yield_callback()
        return super().get(key, default)


@pytest.fixture
def visited(monkeypatch):
    """Let a mapping be the state of the visit, and another its address."""

    def visit(values, address):
        monkeypatch.setattr(state, "visit", values)
        monkeypatch.setattr(clicks, "get_session_state", lambda: values)
        monkeypatch.setattr(state, "st", SimpleNamespace(query_params=address, went_back=False))
        monkeypatch.setattr(
            state, "get_script_run_ctx", lambda: SimpleNamespace(is_history_navigation=state.st.went_back)
        )

    return visit


@pytest.mark.parametrize("turn", range(1, 25))
def test_a_run_that_is_abandoned_loses_no_value_of_the_address(turn, visited):
    values = Impatient(turn)
    visited(values, QueryParams(sigma="2", s="none"))
    with contextlib.suppress(RerunException):
        state.enter("plan")
        state.load(form.PARAMETERS)
    values.left = 0
    state.enter("plan")
    state.load(form.PARAMETERS)
    assert state.get("sigma") == 2.0
    assert state.get("epochs") == form.EPOCHS.default
    assert len(state.problems()) == 1


def test_a_widget_that_was_replaced_says_nothing_any_more(visited):
    """The browser reports it until a run has ended, as if the visitor had changed the value back."""
    visited({"page": "plan", "value:plan/sigma": 1.24}, QueryParams())
    slider, entry = state.widget_key("sigma", "slider"), state.widget_key("sigma", "number")
    state.visit |= {slider: 1.24, entry: 2.0}
    state.store_widget_value("sigma", entry)()
    assert state.get("sigma") == 2.0
    assert state.widget_key("sigma", "number") == entry  # the visitor is still in it
    assert state.widget_key("sigma", "slider") != slider  # starts from the new value
    state.store_widget_value("sigma", slider)()
    assert state.get("sigma") == 2.0
    state.change("sigma", 3.0)
    state.store_widget_value("sigma", entry)()
    assert state.get("sigma") == 3.0
    entry = state.widget_key("sigma", "number")
    state.visit["entered"] = 2
    assert state.widget_key("sigma", "number") != entry
    assert state.widget_key("sigma", "number", 5) != state.widget_key("sigma", "number", 6)


class QueryParams(dict):
    """The address of a page."""

    def to_dict(self):
        return dict(self)


def values_of_two_pages():
    import streamlit as st

    from dashboard import state
    from dashboard.state import Number

    number = Number("x", "x", 1.0, 0, 10, "", ())
    seen = []
    for name in ("a", "b", "a"):
        state.enter(name)
        state.load([number])
        seen.append(state.get("x"))
        state.change("x", state.get("x") + 1)
    st.session_state["seen"] = seen


def test_pages_have_values_of_their_own():
    at = AppTest.from_function(values_of_two_pages).run()
    assert checked(at).session_state["seen"] == [1.0, 1.0, 2.0]
    at = AppTest.from_function(values_of_two_pages)
    at.query_params["x"] = "5"
    assert checked(at.run()).session_state["seen"] == [5.0, 5.0, 5.0]  # each link with values sets them anew


class WrittenParams(QueryParams):
    """An address that the page can write."""

    def from_dict(self, values):
        self.clear()
        self.update(values)


def drawn(address=None, *, went_back=False):
    """Draw a page once more, at the address that the browser reports."""
    state.st.went_back = went_back
    if address is not None:
        state.st.query_params.from_dict(address)
    state.enter("plan")
    state.load(form.PARAMETERS)
    state.save(form.PARAMETERS)
    return state.get("sigma")


def test_a_link_that_arrives_after_the_first_run_is_taken_and_old_news_is_not_unless_by_back(visited):
    visited(Impatient(0), WrittenParams())
    assert drawn() == form.NOISE.default
    first = dict(state.st.query_params)
    assert drawn({"sigma": "2"}) == 2.0
    linked = dict(state.st.query_params)
    state.change("sigma", 3.0)
    assert drawn() == 3.0
    for older in ({"sigma": "2"}, first, linked, {}):
        assert drawn(older) == 3.0
    assert drawn(linked, went_back=True) == 2.0
    assert drawn(first, went_back=True) == form.NOISE.default
    assert drawn({}, went_back=True) == form.NOISE.default  # an address without values means the defaults


def test_an_address_that_restores_the_page_is_left_alone(visited):
    """Each write is a step in the browser's history, so Back would not lead to the previous page."""
    visited(Impatient(0), WrittenParams())
    for address in ({}, {"sigma": "2"}, {"sigma": "2.0", "epochs": "3"}):
        drawn(address)
        assert dict(state.st.query_params) == address
    state.change("sigma", 3.0)
    drawn()
    assert float(state.st.query_params["sigma"]) == 3.0
    assert drawn({"sigma": "2", "unknown": "1"}) == 2.0
    assert "unknown" not in state.st.query_params
