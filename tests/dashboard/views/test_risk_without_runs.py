"""Pieces of the Risk page that need no run: intervals of shares, the person form, names of predictors."""

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views.risk import charts, data, person_form
from vips_core import Table


def test_wilson_interval_is_open_where_there_are_no_cases():
    low, high = data.wilson(np.array([0.0, 0.5, 1.0]), np.array([20.0, 20.0, 20.0]))
    assert low == pytest.approx([0, 0.3274, 0.8808], abs=1e-3)  # 2.7055/(20 + 2.7055) = 0.1192
    assert high == pytest.approx([0.1192, 0.6726, 1.0], abs=1e-3)


def test_person_without_a_schema_has_what_applies():
    rows = Table(np.eye(3), [0, 1, 0], ("intercept", "drug 1", "drug 2"), 2.0)
    assert person_form.usual(rows, rows) == {"drug 1": 0.0, "drug 2": 0.0}
    row = person_form.as_row(rows, {"drug 1": 0.0, "drug 2": 1.0})
    assert row.x.toarray().tolist() == [[1.0, 0.0, 1.0]]


def test_a_predictor_from_0_to_1_is_yes_or_no_unless_public_people_have_something_between():
    frame = pd.DataFrame({"smokes": [0, 1, 1], "share": [0.2, 0.4, 1.0], "y": [0, 1, 0]})
    rows = Table.from_frame(frame, "y", {"smokes": (0.0, 1.0), "share": (0.0, 1.0)})
    assert person_form.yes_or_no(rows, rows) == ["smokes"]
    assert person_form.usual(rows, rows) == {"smokes": 1.0, "share": 0.4}
    assert person_form.yes_or_no(rows, None) == ["smokes", "share"]


def test_names_of_predictors_leave_room_for_their_coefficients():
    """Questionnaires have columns named by whole questions, with quotes that Plotly shows as they are."""
    names = ['Told to "rest"', 40 * "x", 41 * "x", "Has a doctor told you “and” yours of it, ever?"]
    table = pd.DataFrame({"method": "refined", "feature": names, "mean": 1.0, "low": 0.5, "high": 2.0})
    figure, _ = charts.forest(table.assign(reruns=0, least=np.nan, greatest=np.nan), names)
    assert figure["layout"]["yaxis"]["ticktext"] == [
        'Told to "rest"',
        f"{20 * 'x'}<br>{20 * 'x'}",
        f"{20 * 'x'}<br>…",
        "Has a doctor told<br>you “and” yours of…",
    ]
    assert figure["data"][0]["customdata"][:, 0].tolist() == names
    assert figure["layout"]["margin"]["l"] < 160


def test_names_of_predictors_are_not_markup():
    name = "![x](http://example.org/x.png)<b>"
    frame = pd.DataFrame({name: [0.2, 0.4], "y": [0, 1]})
    rows = Table.from_frame(frame, "y", {name: (0.0, 2.0)})
    table = pd.DataFrame(
        {"method": "refined", "feature": rows.feature_names, "mean": 1.0, "low": 0.5, "high": 2.0}
    )
    table = table.assign(reruns=0, least=np.nan, greatest=np.nan)
    figure, _ = charts.forest(table, [name])
    assert figure["layout"]["yaxis"]["ticktext"] == ["![x](http://example.<br>org/x.png)&lt;b&gt;"]
    assert figure["data"][0]["customdata"][0][0].endswith("&lt;b&gt;")

    def form(rows):
        import streamlit as st

        from dashboard import state
        from dashboard.views.risk import person_form
        from vips_core.records import DataSet

        state.load((person_form.PARAMETER,))
        st.write(person_form.show(DataSet("data", rows, None, private=False)))

    (slider,) = AppTest.from_function(form, args=(rows,)).run().slider
    assert slider.label.startswith("\\!\\[x\\]\\(http")
