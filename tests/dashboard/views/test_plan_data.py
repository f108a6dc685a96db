"""What the Plan page asks of the core: plans, surfaces, what more epochs buy, and code to copy."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from dashboard.views.plan import charts, data, form, text
from dashboard.views.plan.form import PlanInputs
from vips_core import PrivacyPlan
from vips_core.jobs.request import SPENDING

PLAN = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-7)


def test_code_to_copy_makes_the_same_plan(capsys):
    by_risk = {"solve": "sigma", "by": "found", "most": 0.05}
    for changes in ({}, {"solve": "sigma"}, by_risk, {"solve": "epochs", "target": 4.0}, {"solve": "s"}):
        values = {"solve": "epsilon", "target": 1.0, "accountant": "moments"} | changes
        inputs = PlanInputs(400_000, 20_000, 1.24, 1.0, 1e-7, **values)
        plan = data.make_plan(inputs)
        scope = {}
        exec(text.python_code(inputs, plan), scope)
        assert scope["plan"] == plan
        assert "took part" in capsys.readouterr().out


def test_noise_that_follows_from_a_fear_is_handed_over_in_four_digits_and_never_less():
    inputs = PlanInputs(300, 300, 1.24, 20.0, 1e-4, "sigma", 1.0, "moments", "found", 0.05)
    plan = data.make_plan(inputs)
    noise = float(data.hand_over(plan, inputs)["noise"])
    assert len(f"{noise}") <= 5
    assert plan.noise_multiplier <= noise <= 1.001 * plan.noise_multiplier


def test_surface_agrees_with_plans():
    surface = data.surface(400_000, 2.0, 1e-7, data.USUAL_NOISE)
    for row in range(0, surface.batches.size, 7):
        for column in range(0, surface.noise.size, 5):
            batch, noise = int(surface.batches[row]), surface.noise[column]
            plan = PLAN.replace(expected_batch=batch, epochs=2.0, noise_multiplier=noise)
            assert -1e-9 <= surface.epsilon[row, column] / plan.epsilon("moments") - 1 < 1e-3  # rounded up


def test_surface_is_not_recomputed_when_noise_or_batch_move():
    inputs = PlanInputs(400_000, 30_000, 1.24, 1.0, 1e-7, "epsilon", 1.0, "moments")
    plan = data.make_plan(inputs)
    moved = data.surface_window(plan.replace(noise_multiplier=3.0), inputs)
    assert moved == data.surface_window(plan, inputs) == (400_000, 1.0, 1e-7, data.USUAL_NOISE)
    assert data.surface_window(plan.replace(noise_multiplier=0.02), inputs)[-1] == (0.01, 30.0)
    assert data.surface_window(plan.replace(noise_multiplier=200.0), inputs)[-1] == (0.3, 1000.0)


def test_log_axis_only_where_epsilon_spans_decades():
    for epsilons, kind in (([1.0, 1.1, 1.2], None), ([0.1, 1, 20], "log")):
        curves = {"moments": pd.DataFrame({"Iterations": [1, 2, 3], "ε": epsilons})}
        figure = charts.epsilon_over_steps(curves)
        assert figure["layout"]["yaxis"].get("type") == kind


def test_no_batch_that_fits_gives_a_sentence():
    with pytest.raises(ValueError, match="No batch size meets ε = 0.001 with noise σ = 0.5 in 2 epochs"):
        data.make_plan(PlanInputs(400, 100, 0.5, 2.0, 1e-6, "s", 0.001, "moments"))


def test_cells_that_can_be_clicked_are_round_and_within_bounds():
    surface = data.surface(12_345, 3.0, 1e-7, data.USUAL_NOISE)
    assert surface.batches[0] == 1
    assert surface.batches[-1] == 12_345
    assert all(batch == int(batch) for batch in surface.batches)
    assert {1.0, 2.2, 10.0} <= set(surface.noise)
    assert np.all(np.diff(surface.batches) > 0)


def test_more_epochs_keep_epsilon_and_gain_what_is_said():
    gain = data.more_epochs(PLAN)
    epochs, noise, factor = gain.to_numpy().T
    assert np.all(np.diff(factor) > 0)
    index = int(np.flatnonzero(np.isclose(epochs, 4.0))[0])
    plan = PLAN.replace(epochs=4.0, noise_multiplier=noise[index])
    assert plan.epsilon("moments") == pytest.approx(PLAN.epsilon("moments"), rel=1e-3)
    assert factor[index] == pytest.approx(plan.signal_to_noise / PLAN.signal_to_noise)
    assert "4 instead of 1" in text.more_epochs(gain)
    full = PLAN.replace(expected_batch=PLAN.records, epochs=20.0, noise_multiplier=6.0)
    assert "gain nothing" in text.more_epochs(data.more_epochs(full))
    one = pd.DataFrame([[1.0, 1.0, 1.0]], columns=gain.columns)
    assert text.more_epochs(one).startswith("The accountants cannot handle more epochs")


def test_plotly_accepts_the_figures_that_it_is_not_asked_to_check():
    surface = data.surface(400_000, 1.0, 1e-7, data.USUAL_NOISE)
    gain = data.more_epochs(PLAN)
    curves = {"moments": data.trajectory(PLAN, "moments", 20)}
    table = charts.accounts_table(PLAN.accounts())
    for figure in (
        charts.epsilon_surface(surface, (1.24, 20_000, 1.2)),
        charts.more_epochs(gain),
        charts.epsilon_over_steps(curves, 1.0),
        charts.accountants_dots(table),
    ):
        assert go.Figure(**figure).to_dict()["data"]


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        (form.BATCH, "batch"),
        (form.NOISE, "noise"),
        (form.EPOCHS, "epochs"),
        (form.DELTA, "delta"),
        (form.TARGET, "epsilon"),
    ],
)
def test_inputs_allow_what_requests_allow(parameter, name):
    option = SPENDING[name]
    assert parameter.label == option.title
    for value in (parameter.low, parameter.default, parameter.high):
        assert option.check(name, value) == value
    for value in (parameter.low / 2, parameter.high * 2):
        with pytest.raises(ValueError, match=f"{parameter.name} must be"):
            parameter.parse(repr(value))
    if name != "noise":  # noise may also be 0
        with pytest.raises(ValueError, match=f"{name} must be"):
            option.check(name, 0)
