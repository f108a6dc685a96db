"""Results of cells as frames."""

import math

import numpy as np
import pandas as pd
import pytest

from tests.small_rows import small_store
from tests.sweeps import BASE, without_failure
from vips_core.models.task import TASKS
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports.sweep_report import sweep_exhibits
from vips_core.sweeps import results
from vips_core.sweeps.cells import cells_of, run_cell
from vips_core.sweeps.grid import Sweep


def test_the_frame_is_tidy(executed):
    store, _, definition, _ = executed
    found = results.frame(definition, store)
    assert len(found) == 10 * len(TASKS["logistic"].scores)
    assert (found["value"] >= 0).all()
    assert set(found["score"]) == set(TASKS["logistic"].scores)
    assert found.loc[found["method"] == "non-private", "epsilon"].isna().all()
    refined = found[found["method"] == "refined"]
    assert sorted(refined["epsilon"].unique()) == [0.5, 2.0]
    assert np.allclose(refined["epsilon_pld"], refined["epsilon"], rtol=1e-4)
    sampled = found[found["series"] == "Sampled"].to_dict("records")[0]
    plan = PrivacyPlan(records=300, expected_batch=30, epochs=2, noise_multiplier=4.0, delta=1e-3)
    assert sampled["steps"] == plan.steps
    assert sampled["epsilon"] == pytest.approx(plan.epsilon("pld"))  # from the ledger, not from the request
    ledgers = [item["ledger"]["records"] for item in results.ledgers(definition, store)]
    assert ledgers == [300] * 10


def test_noise_costs_what_the_methods_accountant_charges(home):
    definition = Sweep.from_mapping(BASE | {"method": ["paper", "strong"], "noise": 4.0, "batch": 30})
    place = cells_of(definition, home)
    for cell in definition.cells():
        assert run_cell(str(home.home), place, cell.to_mapping(), False) is None
    found = results.frame(definition, home)
    paper, strong = (found[found["method"] == method].reset_index() for method in ("paper", "strong"))
    plan = PrivacyPlan(records=300, expected_batch=30, epochs=2, noise_multiplier=4.0, delta=1e-3)
    assert paper["epsilon"].to_numpy() == pytest.approx(plan.epsilon("pld"))
    assert strong["epsilon"].to_numpy() == pytest.approx(plan.epsilon("strong"))
    assert (paper["value"] == strong["value"]).all()


def test_a_method_with_its_own_proof_lists_only_its_own_settings(tmp_path):
    """Issue 32: objective perturbation was listed with σ, batch and steps of a plan that it never used."""
    store = small_store(tmp_path)
    table = {"model": "logistic", "data": "small", "epsilon": 1.0, "delta": 1e-3, "epochs": 2}
    definition = Sweep.from_mapping(table | {"method": ["perm", "sgd"], "batch": [30, 60]})
    assert len(definition.cells()) == 3  # perm ignores batches
    cells = cells_of(definition, store)
    for request in definition.cells():
        assert run_cell(str(tmp_path), cells, request.to_mapping(), keep=False) is None
    found = results.frame(definition, store)
    missing = ["noise_multiplier", "expected_batch", "steps", "batch", "epochs", "delta", "epsilon_pld"]
    assert found.loc[found["method"] == "perm", missing].isna().all(axis=None)
    assert found.loc[found["method"] == "sgd", missing].notna().all(axis=None)
    exhibits = sweep_exhibits(definition, store)
    against_batch = [exhibit for exhibit in exhibits if exhibit.name.startswith("batch-")]
    assert against_batch
    assert all(set(exhibit.table["method"]) == {"sgd"} for exhibit in against_batch)


def test_traces_are_of_kept_cells(executed):
    store, _, definition, _ = executed
    looks = results.traces(definition, store)
    assert set(looks["series"]) == {"Sampled"}
    assert looks["step"].max() == 20


def test_a_cell_of_two_grids_with_one_label_counts_once(executed):
    store, _, definition, _ = executed
    table = without_failure(definition).to_mapping()
    table["grid"].append(table["grid"][1])
    assert len(results.frame(Sweep.from_mapping(table), store)) == 10 * len(TASKS["logistic"].scores)


def test_summaries_give_the_interval_of_the_mean():
    values = [1.0, 2.0, 4.0]
    cells = pd.DataFrame({"series": "a", "epsilon": math.nan, "seed": range(3), "value": values})
    (row,) = results.summarise(cells).to_dict("records")
    half = 4.302652729911275 * np.std(values, ddof=1) / math.sqrt(3)  # t quantile of 2 degrees of freedom
    assert row["seeds"] == 3
    assert row["mean"] == pytest.approx(7 / 3)
    assert row["high"] - row["mean"] == pytest.approx(half)
    assert row["mean"] - row["low"] == pytest.approx(half)
    (one,) = results.summarise(cells.iloc[:1]).to_dict("records")
    assert (one["seeds"], math.isnan(one["sd"]), math.isnan(one["low"])) == (1, True, True)
