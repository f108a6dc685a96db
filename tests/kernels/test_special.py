"""Special functions of kernels against scipy."""

import math

import numpy as np
import pytest
from scipy.special import digamma

from vips_core.kernels.special import exp_digamma


def test_exp_digamma_over_its_range():
    for x in np.geomspace(0.012, 1e6, 400).astype(np.float32):
        expected = math.exp(digamma(float(x)))
        assert exp_digamma(x) == pytest.approx(expected, rel=3e-5 if x < 1 else 2e-6)
