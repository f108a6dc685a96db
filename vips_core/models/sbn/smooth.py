"""What images have in common, used against noise: a basis of smooth images, and covariances by displacement.

symbol    code       shape
--------  ---------  -------------------------------------------------------
G         agreement  (J, J), only as eigenvectors along each side
B         basis      (J, r), orthonormal, the smoothest first
D         deviation  (J,): standard deviations of the pixels
κ(Δ)      -          (2·height, 2·width): correlation of pixels displaced by Δ
"""

import numpy as np

from vips_core.kernels import Array

COLUMNS = 32  # images transformed at a time
TINY = 1e-9  # against division by 0
FEW_PAIRS = 1e-3  # least weight of the pairs behind a correlation, as a share of the largest


class Smooth:
    """Images from smooth to rough: the eigenvectors of G, the expected agreement of two pixels.

    G = exp(−distance²/2ℓ²) is a Kronecker product over the two sides, and so are its eigenvectors.
    """

    def __init__(self, shape: tuple[int, int], neighbour_range: float) -> None:
        self.shape, length = shape, min(shape) * neighbour_range
        values, self.sides = [], []
        for size in shape:
            places = np.arange(size)
            agreement = np.exp(-((places[:, None] - places) ** 2) / (2 * length**2))
            along, vectors = np.linalg.eigh(agreement)
            values.append(np.maximum(along, 0))
            self.sides.append(vectors)
        self.values = np.outer(*values).ravel()
        self.order = np.argsort(-self.values, kind="stable")

    def roots(self, rank: int) -> Array:
        """Return the leading eigenvectors, each times the root of its eigenvalue: (J, rank)."""
        (first, second), leading = self.sides, self.order[:rank]
        rows, columns = np.unravel_index(leading, self.shape)
        products = first[:, None, rows] * second[None, :, columns]
        return np.asarray(products.reshape(-1, len(leading)) * np.sqrt(self.values[leading]))

    def coordinates(self, image: Array) -> Array:
        """Return an image's coordinates along all eigenvectors, the smoothest first."""
        first, second = self.sides
        return np.asarray((first.T @ image.reshape(self.shape) @ second).ravel()[self.order])

    def image(self, coordinates: Array) -> Array:
        """Return the image of given coordinates."""
        along, (first, second) = np.empty_like(coordinates), self.sides
        along[self.order] = coordinates
        return np.asarray((first @ along.reshape(self.shape) @ second.T).ravel())


def group_means(values: Array) -> Array:
    """Return the mean of each value's group; a group ends at an index √2 times that of the one before."""
    _, group = np.unique((2 * np.log2(np.arange(1, len(values) + 1))).astype(int), return_inverse=True)
    return np.asarray((np.bincount(group, values) / np.bincount(group))[group])


def denoised(covariance: Array, noise_std: float) -> Array:
    """Return the posterior mean of a covariance matrix with symmetric noise, without negative eigenvalues.

    Variances are normal around the mean of their group. Given variances t, the covariance of i and j is
    N(0, ρ·tᵢ·tⱼ), as under a Wishart prior. Moments estimate all of these.

    Parameters
    ----------
    covariance
        (r, r) noisy covariance along the basis; on the diagonal the noise has twice the variance.
    noise_std
        Standard deviation of the noise off the diagonal, above 0.
    """
    variances, noise = np.diag(covariance).copy(), noise_std**2
    typical = np.maximum(group_means(variances), 0)
    spread = np.maximum(group_means((variances - typical) ** 2) - 2 * noise, 0)
    variances = np.maximum(typical + (variances - typical) * spread / (spread + 2 * noise), 0)
    products, squares = np.outer(variances, variances), covariance**2 - noise
    np.fill_diagonal(products, 0)
    np.fill_diagonal(squares, 0)
    ratio = 1.0
    for _ in range(3):  # each pair's moment is weighted by its precision, which depends on the ratio
        precision = products / (ratio * products + noise) ** 2
        weight = max(float((precision * products).sum()), TINY)  # 0 for a single direction
        ratio = max(float((precision * squares).sum()) / weight, TINY)
    signal = ratio * products
    posterior = covariance * (signal / (signal + noise))
    np.fill_diagonal(posterior, variances)
    values, vectors = np.linalg.eigh(posterior)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def posterior(
    covariance: Array, noise_std: float, basis: Array, deviation: Array, shape: tuple[int, int] | None
) -> Array:
    """Return the posterior mean of a noisy covariance along a basis, without negative eigenvalues.

    The basis orders directions by a guess of how neighbours agree. From a first posterior follows a better
    guess, in which the correlation of two pixels may be any function of their displacement.

    Parameters
    ----------
    covariance
        (r, r) covariance along the basis with symmetric noise.
    noise_std
        Standard deviation of the noise off the diagonal, above 0.
    basis, deviation
        B and the pixels' standard deviations.
    shape
        (height, width) of an image, or None if pixels have no order; then the first posterior is returned.
    """
    first = denoised(covariance, noise_std)
    if shape is None:
        return first
    axes = np.linalg.eigh(by_displacement(first, basis, deviation, shape))[1][:, ::-1]
    return np.asarray(axes @ denoised(axes.T @ covariance @ axes, noise_std) @ axes.T, np.float64)


def by_displacement(covariance: Array, basis: Array, deviation: Array, shape: tuple[int, int]) -> Array:
    """Return the covariance along the basis if pixels' correlations depended on their displacement alone.

    κ(Δ) is the covariance of all pairs displaced by Δ over the product of their standard deviations. Fourier
    transforms of the padded images give it, and its products with images, in a time linear in pixels.
    """
    padded, rank = (2 * shape[0], 2 * shape[1]), basis.shape[1]
    chunks = [slice(start, start + COLUMNS) for start in range(0, rank, COLUMNS)]

    def transformed(columns: Array) -> Array:
        return np.asarray(np.fft.rfft2(columns.T.reshape(-1, *shape), padded))

    values, vectors = np.linalg.eigh(covariance)
    images = basis @ vectors
    power = sum(np.tensordot(values[part], np.abs(transformed(images[:, part])) ** 2, 1) for part in chunks)
    pairs = np.fft.irfft2(np.abs(transformed(deviation[:, None])[0]) ** 2, padded)
    correlation = np.fft.irfft2(power, padded) / np.maximum(pairs, FEW_PAIRS * pairs.max())
    spectrum, weighted, along = np.fft.rfft2(correlation), deviation[:, None] * basis, np.empty((rank, rank))
    for part in chunks:
        products = np.fft.irfft2(spectrum * transformed(weighted[:, part]), padded)
        along[part] = products[:, : shape[0], : shape[1]].reshape(-1, len(basis)) @ weighted
    return np.asarray((along + along.T) / 2, np.float64)
