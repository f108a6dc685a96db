"""What the Plan page grew by: the largest batch, clicks on the surface, more epochs, and going on."""

import math

import numpy as np
import plotly.graph_objects as go
import pytest

from dashboard import charts, plan_parts, planning, session, solving, words
from tests.test_dashboard import PLAN, metrics, page, settled, texts
from vips_core import PrivacyPlan


def request(**changes):
    values = {
        "records": 5000, "expected_batch": 100, "noise_multiplier": 1.5, "epochs": 2.0, "delta": 1e-6,
        "solve": "s", "target": 1.0, "accountant": "moments",
    }  # fmt: skip
    return planning.Request(**values | changes)


@pytest.mark.parametrize(
    ("records", "noise", "epochs", "target"),
    [
        (300, 1.0, 2.5, 1.5),
        (300, 2.0, 10.0, 4.0),
        (200, 0.5, 0.7, 9.0),
        (257, 0.4, 3.0, 60.0),
        (150, 3.0, 1.0, 0.5),
    ],
)
def test_the_largest_batch_is_that_of_trying_them_all(records, noise, epochs, target):
    def make(batch):
        return PrivacyPlan(
            records=records, expected_batch=batch, epochs=epochs, noise_multiplier=noise, delta=1e-4
        )

    most = min(records, math.floor(epochs * records))
    fitting = [batch for batch in range(1, most + 1) if make(batch).epsilon("moments") <= target]
    found = solving.largest_batch(make, epochs, records, target, "moments")
    assert fitting
    assert found == make(max(fitting))


def test_page_solves_for_the_batch_and_says_what_is_held_fixed():
    at = page(solve="s", target=2, s=77, sigma=1.5)
    plan = planning.make_plan(planning.Request(400_000, 77, 1.5, 1.0, 1e-7, "s", 2.0, "moments"))
    assert plan.epsilon("moments") <= 2.0
    assert f"S = {plan.expected_batch:,}" in texts(at)
    assert "at this noise and these epochs" in texts(at)
    assert f"--batch {plan.expected_batch} " in at.code[0].value
    assert metrics(at)["ε by the moments accountant"] == f"{plan.epsilon('moments'):.2f}"
    assert not [box for box in at.number_input if box.key.startswith("number:s:")]


def test_no_batch_that_fits_gives_a_sentence():
    with pytest.raises(ValueError, match="No batch size meets ε = 0.001 with noise σ = 0.5 in 2 epochs"):
        planning.make_plan(request(noise_multiplier=0.5, target=0.001, records=400))


def test_a_click_on_the_surface_takes_what_is_not_solved_for(monkeypatch):
    taken, drawn = [], {}
    monkeypatch.setattr(session, "change", lambda name, value: taken.append((name, value)))
    monkeypatch.setattr(plan_parts.components, "refresh", lambda name: None)
    monkeypatch.setattr(plan_parts.components, "table_twin", lambda *rest: None)
    monkeypatch.setattr(plan_parts.components, "clickable", lambda *rest: drawn.update(take=rest[-1]))
    found = planning.surface(400_000, 1.0, 1e-7, wide=False)
    for solve, expected in (
        ("epsilon", {("sigma", 2.2), ("s", 1500)}), ("s", {("sigma", 2.2)}), ("sigma", {("s", 1500)}),
    ):  # fmt: skip
        plan_parts.surface(found, (1.24, 20_000, 1.2), solve)
        taken.clear()
        drawn["take"]([{"x": 2.2, "y": 1500.0}])
        assert set(taken) == expected
        taken.clear()
        drawn["take"]([])
        assert not taken


def test_cells_that_can_be_clicked_are_round_and_within_bounds():
    found = planning.surface(12_345, 3.0, 1e-7, wide=False)
    assert found.batches[0] == 1
    assert found.batches[-1] == 12_345
    assert all(batch == int(batch) for batch in found.batches)
    assert {1.0, 2.2, 10.0} <= set(found.noise)
    assert np.all(np.diff(found.batches) > 0)


def test_more_epochs_keep_epsilon_and_gain_what_is_said():
    found = planning.more_epochs(PLAN)
    assert np.all(np.diff(found.factor) > 0)
    index = int(np.flatnonzero(np.isclose(found.epochs, 4.0))[0])
    plan = PLAN.replace(epochs=4.0, noise_multiplier=found.noise[index])
    assert plan.epsilon("moments") == pytest.approx(PLAN.epsilon("moments"), rel=1e-3)
    assert found.factor[index] == pytest.approx(plan.signal_to_noise / PLAN.signal_to_noise)
    assert "4.00 instead of 1.00" in words.more_epochs(found)
    one = planning.Gain(np.array([1.0]), np.array([1.0]), np.array([1.0]))
    assert words.more_epochs(one).startswith("No more epochs")


def test_the_plan_goes_on_to_every_model_page():
    at = settled(page(sigma=2.5, s=777, epochs=3.5, delta=2e-6))
    links = {link.proto.page: link.proto.query_string for link in at.get("page_link")}
    for name in ("topics", "risk", "images"):
        assert links[name] == "noise=2.5&batch=777&epochs=3.5&delta=2e-06"


def test_an_order_at_the_edge_of_the_grid_is_warned_of():
    at = page(sigma=100, s=10, epochs=0.1)
    assert any("last one tried" in warning.value for warning in at.warning)
    assert "Batches of fixed size or a seed that others know void it" in texts(at)


def test_plotly_accepts_the_figures_that_it_is_not_asked_to_check():
    found = planning.surface(400_000, 1.0, 1e-7, wide=False)
    gain = planning.more_epochs(PLAN)
    curves = {"moments": planning.trajectory(PLAN, "moments", 20)}
    table = planning.accounts_table(PLAN.accounts())
    for figure in (
        charts.epsilon_surface(found, (1.24, 20_000, 1.2)),
        charts.more_epochs(gain.epochs, gain.factor),
        charts.epsilon_over_steps(curves, planning.LABELS, 1.0),
        charts.accountants_bars(table["Accountant"], table["ε"]),
    ):
        assert go.Figure(**figure).to_dict()["data"]
