"""Places that are emptied when their content changes, and sentences of bounded length."""

from streamlit.testing.v1 import AppTest

from tests.pages import checked


def one_place():
    import streamlit as st

    from dashboard.components import layout

    with layout.fresh("place", st.session_state["shape"]):
        st.markdown("inside")


def test_another_shape_is_drawn_in_another_place_and_the_one_before_is_emptied():
    """In the same place, the browser would go on showing what this run has not replaced yet."""
    at = AppTest.from_function(one_place)
    places = []
    for shape in ("a", "a", "b", "b", "a"):
        at.session_state["shape"] = shape
        kinds = {number: node.type for number, node in checked(at.run()).main.children.items()}
        places.append([number for number, kind in kinds.items() if kind != "empty"])
        assert sorted(kinds) == [0, 1]
    assert places == [[1], [1], [0], [0], [1]]


def long_problem():
    from dashboard.components import layout

    layout.problem("x " * 1000)


def test_a_problem_is_said_in_at_most_300_characters():
    (error,) = checked(AppTest.from_function(long_problem).run()).error
    assert (len(error.value), error.value[-1]) == (300, "…")
