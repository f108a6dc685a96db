"""Pages: users' input stays text, numbers are readable, and nothing is fetched."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

from tests.reports import text_of, worked
from tests.small_rows import rows
from vips_core.models.task import TASKS
from vips_core.reports import figures, page, report
from vips_core.reports.exhibits import Exhibit
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.job import submit_sweep

MARKUP = "<script>alert(1)</script><b>bold</b> & \"quotes\" 'too'"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&lt;b&gt;bold&lt;/b&gt; &amp; &#34;quotes&#34; &#39;too&#39;"


def test_nothing_is_fetched(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in html
    assert html.count("plotly.js v") == 1
    assert "<link" not in html
    assert "src=" not in html.split("<script>")[0]


def test_the_unit_of_a_data_set_is_text(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "<b>row</b>" not in html
    assert "one &lt;b&gt;row&lt;/b&gt;" in html


def test_names_units_titles_and_errors_are_text(store):
    store.add_data("marked", rows(300, 5), rows(200, 6), private=False, unit=MARKUP)
    html = report.html_for_run(store, worked(store, data="marked", epsilon=1.0, seed=1))
    assert MARKUP not in html
    assert f"one record, {ESCAPED}, by nothing." in text_of(html)
    table = {"title": MARKUP, "model": "logistic", "data": "marked", "delta": 1e-3, "epsilon": 1.0}
    run_id = submit_sweep(store, table | {"label": MARKUP, "batch": 10**6})
    html = report.html_for_run(store, run_id)
    assert MARKUP not in html
    assert f"<title>{ESCAPED}</title>" in html
    assert f"<h1>{ESCAPED}</h1>" in html
    assert f"One record is {ESCAPED}." in html


def test_names_in_figures_and_tables_are_text():
    trace = {"type": "scatter", "name": MARKUP, "x": [1], "y": [1]}
    exhibit = Exhibit(
        "steps", MARKUP, MARKUP, figures.figure([trace], {}, {}), pd.DataFrame({MARKUP: [MARKUP]})
    )
    sweep = Sweep.from_mapping({"model": "logistic", "data": MARKUP, "delta": 0.1, "epsilon": 1.0})
    values = {"task": TASKS["logistic"], "cells": 1, "finished": 0, "summary": None, "failure_table": None}
    html = page.render(
        "sweep.html.j2",
        title="",
        sweep=sweep,
        exhibits=[exhibit],
        unit="",
        deltas=[],
        pure_methods=[],
        versions={},
        **values,
    )
    before_plotly = html.split("<script>")[0]
    assert "<b>" not in before_plotly
    assert "<script>alert" not in html
    for place in (
        f"<h2>{ESCAPED}</h2>",
        f'aria-label="{ESCAPED}"',
        f"<figcaption>{ESCAPED}</figcaption>",
        f"<th>{ESCAPED}</th>",
        f"{ESCAPED}</td>",
        f"data {ESCAPED}.",
    ):
        assert place in text_of(before_plotly)
    figure = before_plotly.split('<script type="application/json">')[1].split("</script>")[0]
    assert json.loads(figure)["data"][0]["name"] == MARKUP


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError, match="title"):
        page.render("sweep.html.j2")


def test_figures_are_plain_json():
    rates = np.array([0.0, 0.5, 1.0])
    for figure in (
        figures.attacker_roc(rates, rates, [(0.1, 0.2)]),
        figures.roc(pd.DataFrame({"false positive rate": rates, "true positive rate": rates})),
        figures.score_of_run([1, 2], [0.5, math.nan], "AUC"),
    ):
        assert json.loads(json.dumps(page.plain(figure), allow_nan=False))["data"]


def test_tables_show_readable_numbers():
    head, rows = page.as_table(
        pd.DataFrame({"a": ["x" * 41, None], "n": [1234.5678, math.nan], "i": [10**6, 2]})
    )
    assert head == [("a", ""), ("n", "n"), ("i", "n")]
    assert rows == [
        [("x" * 41, "wrap"), ("1,235", "n"), ("1,000,000", "n")],
        [("–", ""), ("–", "n"), ("2", "n")],
    ]
    few = page.as_table(pd.DataFrame({"e": [math.inf, 0.000123456, 2.5e6]}))
    assert [text for ((text, _),) in few[1]] == ["∞", "0.0001235", "2.5e+06"]
