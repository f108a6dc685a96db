"""Scores of image models."""

import numpy as np
import pytest

import vips_core as vips


@pytest.mark.parametrize("score", [vips.pixel_accuracy, vips.reconstruction_log_likelihood])
def test_no_images_give_a_sentence(score):
    rows = vips.Images.from_images(np.random.default_rng(0).random((20, 3, 3)), 0.5)
    plan = vips.PrivacyPlan(records=20, expected_batch=20, steps=2, noise_multiplier=1.0, delta=1e-3)
    fit = vips.fit(vips.SBN(9, 2), rows, plan, seed=0)
    with pytest.raises(ValueError, match="held-out images must be at least one, got none"):
        score(fit, rows[np.zeros(20, bool)])
