"""Symmetric matrices as vectors: the upper triangle by rows, plain or scaled to the matrix's norm.

Scaling multiplies cells off the diagonal by √2, so the vector has the matrix's Frobenius norm, which the
noise is calibrated to. (Analyze Gauss as in the paper adds √2 times more noise off the diagonal.)
"""

import math

import numpy as np
import numpy.typing as npt

from vips_core.kernels import Array


def packed_size(d: int) -> int:
    """Return the number of cells in the upper triangle of a d × d matrix."""
    return d * (d + 1) // 2


def triangle_scale(d: int) -> Array:
    """Return a triangle's factors, 1 on the diagonal and √2 off it, which give it the Frobenius norm."""
    return np.asarray(np.where(np.equal(*np.triu_indices(d)), 1.0, math.sqrt(2)))


def triangles(matrices: npt.NDArray[np.floating]) -> Array:
    """Return the upper triangles of symmetric matrices, by rows, for any leading axes."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns], np.float64)


def from_triangles(upper: npt.NDArray[np.floating], d: int) -> Array:
    """Return the symmetric d × d matrices of upper triangles, for any leading axes."""
    rows, columns = np.triu_indices(d)
    matrices = np.empty((*upper.shape[:-1], d, d))
    matrices[..., rows, columns] = upper
    matrices[..., columns, rows] = upper
    return matrices


def symmetrised(matrix: npt.NDArray[np.floating]) -> Array:
    """Return the average of a noisy matrix and its transpose, which divides noise off the diagonal by √2."""
    return np.asarray((matrix + matrix.T) / 2, np.float64)
