"""Symmetric matrices as vectors."""

import numpy as np

from vips_core.kernels.symmetric import from_triangles, packed_size, symmetrised, triangle_scale, triangles


def test_the_average_of_both_triangles_is_symmetric_and_unbiased():
    matrix = np.random.default_rng(0).normal(size=(6, 6))
    symmetric = matrix + matrix.T
    assert np.array_equal(symmetrised(symmetric), symmetric)
    noisy = symmetrised(np.random.default_rng(1).normal(size=(400, 400)))
    assert np.array_equal(noisy, noisy.T)
    assert abs(noisy[np.triu_indices(400, 1)].std() - 0.5**0.5) < 0.01


def test_stacks_of_triangles_keep_norm_and_matrix():
    matrices = np.random.default_rng(1).normal(size=(2, 3, 4, 4))
    matrices = matrices + matrices.swapaxes(-1, -2)
    upper = triangles(matrices)
    assert upper.shape == (2, 3, packed_size(4))
    assert np.array_equal(from_triangles(upper, 4), matrices)
    np.testing.assert_allclose(
        np.linalg.norm(upper * triangle_scale(4), axis=-1), np.linalg.norm(matrices, axis=(-2, -1))
    )
