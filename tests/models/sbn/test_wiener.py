"""The Wiener filter of the refined variant."""

import numpy as np
import pytest

from vips_core.models.sbn.refined import filtered


@pytest.mark.parametrize("pixels", [1, 2, 3, 40])
def test_the_filter_is_the_posterior_mean(pixels):
    rng = np.random.default_rng(pixels)
    root, columns = rng.standard_normal((pixels, pixels)), 2 * rng.standard_normal((pixels, 5))
    prior, noise = root @ root.T, 0.7
    moment = np.einsum("jk,jl,lk->k", columns, prior, columns)
    sizes = np.maximum((moment - noise**2 * np.trace(prior)) / np.linalg.norm(prior) ** 2, 0)
    result = filtered(columns, prior, noise)
    for size, column, signal in zip(sizes, columns.T, result.T, strict=True):
        both = size * prior + noise**2 * np.eye(pixels)
        np.testing.assert_allclose(signal, size * prior @ np.linalg.solve(both, column), atol=1e-10)


def test_columns_without_signal_are_emptied():
    assert not filtered(np.full((3, 2), 1e-3), np.eye(3), 1.0).any()
