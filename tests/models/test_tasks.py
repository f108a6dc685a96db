"""Everything specific to a model is in its task, and nowhere else."""

import ast
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import vips_core
from vips_core import BayesianLogistic
from vips_core.jobs.request import SPENDING
from vips_core.models.lda.scores import halves
from vips_core.models.logistic.task import per_unit
from vips_core.models.task import METHODS, NON_PRIVATE, REFINED, TASKS
from vips_core.options import Option
from vips_core.records import KINDS

ROOT = Path(vips_core.__file__).parent.parent
OWN_ROOMS = {  # a model's folder; the page that shows one model
    *(f"vips_core/models/{name}" for name in TASKS),
    *(f"dashboard/views/{page}" for page in ("topics", "risk", "images")),
}
EXAMPLES = {  # shown before a visitor has chosen; another model needs no change here
    "dashboard/pages.py",  # which models have a page of their own
    "dashboard/views/plan/usefulness.py",  # results that ship
    "dashboard/views/audit/form.py",
    "dashboard/views/frontier/form.py",
}
OTHERS = sorted(
    name
    for package in ("vips_core", "dashboard")
    for file in (ROOT / package).rglob("*.py")
    if (name := file.relative_to(ROOT).as_posix()) not in EXAMPLES
    and not any(name.startswith(f"{room}/") for room in OWN_ROOMS)
)


@pytest.mark.parametrize("file", OTHERS)
def test_only_a_models_own_rooms_name_it(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    assert not [node.value for node in constants if isinstance(node.value, str) and node.value in TASKS]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_is_complete(task):
    assert TASKS[task.name] is task
    assert next(iter(task.methods)) == REFINED
    assert NON_PRIVATE in task.methods
    assert task.kind in KINDS
    assert task.records is KINDS[task.kind]
    for text in (task.title, task.help, task.product, task.clipping, task.tuning, task.records.upload_help):
        assert text
    for name, option in task.options.items():
        assert option.label
        assert name not in SPENDING
        assert option.check(name, option.default) == option.default


def test_methods_are_the_same_everywhere():
    for task in TASKS.values():
        assert all(
            METHODS[name] == method == task.methods[method.name] for name, method in task.methods.items()
        )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("epsilon", 0, "a number of at least 0.001 and at most 1,000"),
        ("epsilon", float("nan"), "a number of at least 0.001 and at most 1,000"),
        ("delta", 0.2, "a number of at least 1e-15 and at most 0.1"),
        ("noise", 1e-9, "0 or a number of at least 0.001 and at most 1e7"),
        ("noise", 1e300, "0 or a number of at least 0.001 and at most 1e7"),
        ("epochs", 0, "a number above 0 and at most 10,000"),
        ("batch", 1.5, "a whole number of at least 1 and at most 1,000,000,000"),
        ("seed", 2**63, "a whole number of at least 0 and at most 9,223,372,036,854,775,807"),
        ("accountant", "hope", "one of "),
    ],
)
def test_bounds_of_what_a_run_may_spend(name, value, allowed):
    with pytest.raises(ValueError, match=f"^{name} must be ") as error:
        SPENDING[name].check(name, value)
    assert f"must be {allowed}" in str(error.value)


def test_ends_of_the_bounds_are_allowed():
    for name, option in SPENDING.items():
        for end in (option.low, option.high):
            assert math.isinf(end) or option.check(name, end) == end
    assert SPENDING["noise"].check("noise", 0) == 0


def test_names_of_options_for_people():
    option = Option(int, "How many.", 3, label="Topics", symbol="K")
    assert (option.title, option.short_help) == ("Topics K", "K: How many (default: 3)")
    assert SPENDING["delta"].title == "δ"


def test_few_records_for_a_plan_are_said_to_be_few_from_public_quantities():
    model = BayesianLogistic(tuple(f"feature {j}" for j in range(32)))
    plans = [model.recommend(records=n, epsilon=0.25, delta=1e-6, epochs=16) for n in (400, 40_000)]
    few, enough = (TASKS["logistic"].cautions(model, plan) for plan in plans)
    assert "400 records are few for 32 coefficients" in few[0]
    assert enough == []
    assert TASKS["logistic"].cautions(model, plans[0].replace(noise_multiplier=0)) == []


def test_intervals_that_do_not_know_of_the_noise_are_said_to_be_too_narrow():
    model = BayesianLogistic(("age",), variant="paper")
    plan = model.recommend(records=40_000, epsilon=1, delta=1e-6, epochs=16)
    assert TASKS["logistic"].cautions(model, plan) == [
        "The paper's posterior ignores the noise: its intervals are too narrow."
    ]
    assert TASKS["logistic"].cautions(model, plan.replace(noise_multiplier=0)) == []


def test_coefficients_have_a_unit_where_the_range_is_public():
    table = pd.DataFrame({"feature": ["intercept", "age"], "mean": [1.0, 3.0]})
    assert per_unit(table, {"age": (20.0, 80.0)}).tolist() == pytest.approx([np.nan, 0.05], nan_ok=True)


def test_watched_documents_are_cut_in_halves_once_a_run():
    """The same documents are scored after every step, and halving takes longer than scoring."""
    corpus = vips_core.Documents.from_texts(
        ["tea milk tea", "sun rain sun rain"] * 30, ["tea", "milk", "sun", "rain"]
    )
    fit = vips_core.fit(
        vips_core.LDA(2, corpus.vocabulary, 4),
        corpus,
        vips_core.PrivacyPlan(records=60, expected_batch=60, steps=3, noise_multiplier=0, delta=1e-5),
        seed=0,
    )
    halves.cache_clear()
    scores = {TASKS["lda"].score_validation(fit, corpus) for _ in range(4)}
    assert len(scores) == 1
    assert halves.cache_info().misses == 1
