"""Small networks and their images, for tests."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import vips_core as vips
from vips_core.models.sbn.model import SBN

VARIANTS = pytest.mark.parametrize("variant", ["refined", "paper"])


SHAPE = (3, 4)


PIXELS, HIDDEN = 12, 3


def patterns(count=40, seed=0):
    """Return images in which each of two random patterns is present or not, with some pixels flipped."""
    rng = np.random.default_rng(seed)
    parts = rng.random((2, PIXELS)) < 0.4
    present = rng.random((count, 2, 1)) < 0.5
    images = (present & parts).any(axis=1) ^ (rng.random((count, PIXELS)) < 0.05)
    return vips.Images.from_images(images.reshape(count, *SHAPE), 0.5)


def small(variant, prior="tpbn"):
    return SBN(PIXELS, HIDDEN, SHAPE, variant, prior)


def plan_for(data, steps=4, noise=0.0, batch=None):
    return vips.PrivacyPlan(
        records=len(data),
        expected_batch=batch or len(data),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-4,
    )


def trained(variant, noise=0.0, steps=4, prior="tpbn"):
    data = patterns()
    return vips.fit(small(variant, prior), data, plan_for(data, steps, noise), seed=1).params


@pytest.fixture(scope="module")
def digits():
    images = load_digits().images
    return vips.Images.from_images(images, 7).split(0.2, 0)
