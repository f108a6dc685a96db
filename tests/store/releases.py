"""Releases for tests of budgets."""

from vips_core.privacy.events import SampledGaussian

DELTA = 1e-5


def full(noise, count=1):
    return SampledGaussian(1.0, noise, count)
