"""Symmetric matrices as vectors of the same L2 norm: the upper triangle with off-diagonals times √2.

Noise on such a vector has the right size for the matrix's Frobenius norm (errata to the Analyze Gauss step).
"""

import math

import numpy as np

from vips_core.models.base import FloatArray


def packed_size(d: int) -> int:
    """Cells of a packed d × d matrix."""
    return d * (d + 1) // 2


def pack(matrix: FloatArray) -> FloatArray:
    """Upper triangle of a symmetric matrix, row by row, off-diagonals times √2."""
    d = len(matrix)
    rows, columns = np.triu_indices(d)
    vector = matrix[rows, columns] * math.sqrt(2.0)
    vector[rows == columns] = np.diagonal(matrix)
    return vector


def unpack(vector: FloatArray, d: int) -> FloatArray:
    """Symmetric d × d matrix from its packed form."""
    if vector.shape != (packed_size(d),):
        raise ValueError(f"a packed {d} × {d} matrix has {packed_size(d)} cells, got shape {vector.shape}")
    rows, columns = np.triu_indices(d)
    matrix = np.empty((d, d))
    values = vector / math.sqrt(2.0)
    values[rows == columns] = vector[rows == columns]
    matrix[rows, columns] = values
    matrix[columns, rows] = values
    return matrix
