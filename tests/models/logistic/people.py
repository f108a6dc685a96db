"""Small labelled rows and plans for tests."""

from dataclasses import replace

import numpy as np
from scipy import sparse

import vips_core as vips


def cohort(n=400, d=5, seed=0, scale=1.0, density=1.0):
    """Return rows with an intercept, from known weights."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, d - 1)) * (rng.random((n, d - 1)) < density)])
    weights = scale * rng.normal(size=d)
    y = rng.random(n) < 1 / (1 + np.exp(-x @ weights))
    names = ("intercept", *(f"feature {j}" for j in range(1, d)))
    return vips.Table(x, y, names, float(np.sqrt(d))), weights


def as_sparse(rows):
    return replace(rows, x=sparse.csr_array(rows.x))


def plan_for(rows, noise, steps=4, batch=None):
    return vips.PrivacyPlan(
        records=len(rows),
        expected_batch=batch or len(rows),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-4,
    )
