"""Requests: one table for commands, config files and pages."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vips_core.jobs.request import SPENDING, Request
from vips_core.models.task import TASKS

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@st.composite
def tables(draw):
    model = draw(st.sampled_from(sorted(TASKS)))
    task = TASKS[model]
    method = draw(st.sampled_from([name for name in task.methods if name != "non-private"]))
    table = {"model": model, "method": method, "data": draw(names), "delta": draw(st.floats(1e-12, 0.1))}
    by_noise = method != "perm" and draw(st.booleans())
    table["noise" if by_noise else "epsilon"] = draw(st.floats(1e-3, 100))
    for name, option in {**SPENDING, **task.options}.items():
        if option.kind is int and draw(st.booleans()):
            table[name] = draw(st.integers(max(1, int(max(option.low, 1))), int(min(option.high, 10**9))))
    return table


def test_options_that_a_method_ignores_are_not_in_its_request():
    table = {"model": "logistic", "data": "nhanes-stroke", "epsilon": 1.0, "delta": 1e-5, "batch": 30}
    assert Request.from_mapping(table | {"method": "perm"}).values == {"epsilon": 1.0}
    assert "accountant" not in Request.from_mapping(table | {"method": "strong"}).values
    del table["delta"]
    assert Request.from_mapping(table | {"method": "perm"}).values == {"epsilon": 1.0}
    with pytest.raises(ValueError, match="delta must be given"):
        Request.from_mapping(table | {"method": "sgd"})


@given(tables())
@settings(max_examples=150, deadline=None)
def test_requests_round_trip_as_config_files(table):
    made = Request.from_mapping(table)
    ignored = TASKS[table["model"]].methods[table["method"]].ignored_options
    used = {name: value for name, value in table.items() if name not in ignored}
    assert {name: value for name, value in made.to_mapping().items() if name in table} == used
    assert Request.from_toml(made.to_toml()) == made
    assert Request.from_mapping(json.loads(json.dumps(made.to_mapping()))) == made
