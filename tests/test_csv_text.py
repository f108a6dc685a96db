"""CSV files: no foreign text is a formula in a spreadsheet, and reading returns the original table."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports import worked
from tests.test_architecture import SOURCES
from vips_core import Documents
from vips_core.csv_text import from_csv, to_csv
from vips_core.jobs import worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.records import Table
from vips_core.reports import report
from vips_core.store.store import Store

FORMULAS = [
    "=1+1",
    "+1+cmd",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "'=1",
    "''-x",
    "x\r=1",
    "x\n=1",
    "＝1",
    '=HYPERLINK("x")',
]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=6)
starts = st.sampled_from(["", "=", "+", "-", "@", "'", "'=", "''+", "-1"])


@pytest.mark.parametrize("cell", FORMULAS)
def test_what_looks_like_a_formula_gets_a_quote(cell):
    table = pd.DataFrame({cell: [cell, "plain"], "number": [-1.5, 2]})
    rows = list(csv.reader(io.StringIO(to_csv(table).decode(), newline="")))
    quoted = cell if cell.startswith("x") else f"'{cell}"  # within a cell, a new line begins no formula
    assert rows == [[quoted, "number"], [quoted, "-1.5"], ["plain", "2.0"]]


def test_numbers_stay_numbers():
    table = pd.DataFrame({"float": [-1.5], "int": [-2], "text": ["-3.5e-2"], "any": [-4], "none": [None]})
    table["any"] = table["any"].astype(object)
    assert to_csv(table).decode() == "float,int,text,any,none\r\n-1.5,-2,-3.5e-2,-4,\r\n"


@given(st.lists(st.builds(str.__add__, starts, texts), min_size=1, max_size=5))
def test_what_is_read_again_is_as_it_was(cells):
    table = pd.DataFrame({"n": range(len(cells)), "text": [f"x{cell}" for cell in cells], "cell": cells})
    again = from_csv(io.BytesIO(to_csv(table)))
    if again["cell"].dtype.kind not in "fi":  # a column of numbers alone is read as numbers
        assert again["cell"].fillna("").astype(str).tolist() == cells
    assert again["text"].tolist() == table["text"].tolist()


def test_the_files_of_a_run_hold_no_formulas(tmp_path):
    """Issue 32: column names and words come from other people's files."""
    names, rng = ("=cmd|'/c calc'!A1", "-b", "@c"), np.random.default_rng(0)
    people = [Table(rng.random((60, 3)) / 2, np.arange(60) % 2, names, 1.0) for _ in range(2)]
    store = Store()
    store.add_data("small", *people, private=False, unit="one row")
    words = ("=1+1", "+2", "-three", "@four")
    letters = [Documents.from_counts(rng.integers(1, 5, (40, 4)), words) for _ in range(2)]
    store.add_data("letters", *letters, private=False, unit="one document")
    runs = [worked(store, epsilon=1.0, seed=1)]
    table = {
        "model": "lda",
        "data": "letters",
        "topics": 2,
        "epsilon": 1.0,
        "delta": 1e-3,
        "seed": 1,
        "epochs": 1,
    }
    runs.append(submit(store, Request.from_mapping(table)))
    worker.work(store, runs[1])
    for run, names_given in zip(runs, (names, words), strict=True):
        report.write_run(store, run, tmp_path / run)
        assert "error" not in (store.run(run).error or "")
        cells = set()
        for file in sorted((tmp_path / run).rglob("*.csv")):
            with file.open(encoding="utf-8", newline="") as opened:
                cells |= {cell for row in csv.reader(opened) for cell in row}
        assert {f"'{name}" for name in names_given if name != "+2"} <= cells
        risky = {cell for cell in cells if cell[:1] in tuple("=+-@\t\r")}
        assert all(np.isfinite(float(cell)) for cell in risky)
    html = (tmp_path / runs[0] / "report.html").read_text(encoding="utf-8")
    assert "<td>-b</td>" in html  # people read the text as it was given


def test_there_is_one_way_to_write_csv():
    places = [
        module
        for module, source in SOURCES.items()
        if ".to_csv(" in source and not module.startswith("sample_data.")
    ]
    assert places == ["vips_core.csv_text"]
