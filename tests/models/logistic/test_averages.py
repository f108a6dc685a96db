"""Averages over steps, and the conditions on which a curvature matrix guides steps."""

import numpy as np
import pytest

import vips_core as vips
from tests.models.logistic.people import cohort, plan_for
from tests.models.logistic.ways import model_for
from vips_core.models.logistic.refined import CURVATURE, DEFAULT

VISIBLE, CLEAR = DEFAULT.visible_matrix, DEFAULT.clear_matrix


def test_averages_are_over_all_steps_and_late_ones_weigh_more():
    rows, _ = cohort(n=500, d=6)
    model, points, last = model_for(rows), [], []

    def remember(progress):
        last[:] = [progress.params.state]
        points.append(progress.params.state.last_point)

    vips.fit(model, rows, plan_for(rows, 200.0, steps=9), seed=0, on_step=remember)
    schedule = last[0].schedule
    iterates = np.array(points[-schedule.gradients - schedule.calibration :][: schedule.gradients])
    weights = last[0].schedule.step_weights(len(iterates) - 1)
    assert weights[-1] == pytest.approx(len(iterates) ** last[0].schedule.averaging * weights[0])
    np.testing.assert_allclose(last[0].mean_point, weights @ iterates, atol=1e-12)


def test_late_steps_weigh_the_more_the_less_noise_there_is():
    rows, _ = cohort(n=500, d=6)
    powers = [model_for(rows).algorithm.schedule(plan_for(rows, noise)).averaging for noise in (1e6, 50, 0.1)]
    assert powers == sorted(set(powers))
    assert (powers[0], powers[-1]) == (pytest.approx(DEFAULT.averaging), 2 * DEFAULT.averaging)


@pytest.mark.parametrize(
    ("seen", "matrices"),
    [(0.9 * VISIBLE, 0), (1.1 * VISIBLE, 1), (0.9 * CLEAR, 1), (1.1 * CLEAR, 2)],
)
def test_a_matrix_is_released_where_it_can_be_seen_and_early_too_where_it_is_clear(seen, matrices):
    rows, _ = cohort(n=500, d=6)
    model, steps = model_for(rows), 16
    noise = 500 * steps**0.5 / (seen * (len(rows.feature_names) + 1) ** 1.5)
    plan = vips.PrivacyPlan(records=500, expected_batch=500, steps=steps, noise_multiplier=noise, delta=1e-5)
    released = [step for step in range(steps) if CURVATURE in model.blocks(plan, step)]
    assert len(released) == matrices
    fit = vips.fit(model, rows, plan, seed=0)
    assert np.isfinite(fit.params.mean).all()
    schedule = fit.params.state.schedule
    assert (schedule.matrix and schedule.early < schedule.late) == (matrices == 2)
