"""Plans that the paper published."""

from vips_core import PrivacyPlan


def lda_plan(batch=20_000, noise=1.24):
    return PrivacyPlan(records=400_000, expected_batch=batch, epochs=1, noise_multiplier=noise, delta=1e-4)
