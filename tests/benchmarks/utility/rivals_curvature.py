"""Rivals that use the Hessian: Gaussian objective perturbation, noisy normal equations and DP-Newton.

Records longer than a radius weigh less: f = min(1, R/‖z‖, RM/‖z‖²) depends on z alone, so the model keeps its
coefficients (scaling rows down cost .02 to .06 of log loss). A record's gradient f(p − y)z is within R, and
fzzᵀ within RM.

| symbol | code        | shape |
|--------|-------------|-------|
| R      | `radius`    | scalar |
| M      | `longest`   | scalar, at which fzzᵀ is cut |
| Λ      | `ridge`     | scalar |
| b      | `noise`     | (d,), of the loss Σ f·loss + bᵀw + Λ‖w‖²/2 |
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse
from scipy.special import expit, ndtr

from tests.benchmarks.utility.rivals_gradient import Centred, noisy
from vips_core.kernels.symmetric import symmetrised
from vips_core.privacy import gaussian

SLOPES, DRAWS = 200, 2000  # cells of the numeric bound on δ


def record_weights(people: Centred, radius: float) -> np.ndarray:
    """Return f."""
    norms = np.maximum(people.norms, 1e-12)
    return np.minimum(1.0, np.minimum(1.0, people.longest / norms) * radius / norms)


def weighted_squares(people: Centred, weights: np.ndarray) -> np.ndarray:
    """Return Σ weight·zzᵀ."""
    z = people.columns
    if sparse.issparse(z):
        return (z.T @ (sparse.diags_array(weights) @ z)).toarray()
    return z.T @ (z * weights[:, None])


def noisy_matrix(total: np.ndarray, bound: float, part: float, rng: np.random.Generator) -> np.ndarray:
    """Release all d × d cells, and average the two triangles."""
    return symmetrised(noisy(total, bound, part, rng))


def edge(bound: float, part: float, d: int) -> float:
    """Return the largest eigenvalue that the noise of `noisy_matrix` alone has (Wigner)."""
    return bound / part * math.sqrt(2 * d)


# --- Objective perturbation --------------------------------------------------------------------------------


def perturbation_delta(epsilon: float, noise: float, ridge: float) -> float:
    """Return an upper bound on δ(ε), with the noise in units of R and the ridge in units of RM.

    The minimiser w determines b = −Σ f∇loss − Λw, so its density at w is that of b times det(Hessian) (Kifer
    et al. 2012). All gradients of a record are along z, so the privacy loss is one of a Gaussian in one
    dimension (Redberg et al. 2023). Their bound is sharpened in three ways. The sign of the logistic slope
    along z is known from y, so their factor 2 falls away. The ratio of determinants is 1 + f·loss″·zᵀH⁻¹z
    with the Hessian H of the other records, at most 1 + f‖z‖²p(1−p)/Λ. And slope and curvature are bounded
    jointly.

    Let a in [0, 1] be the length of the record's gradient over R, and x the noise along z in standard
    deviations. If the record is in the data,

        loss(x) = max over a of a²/(2·noise²) + a·x/noise + log(1 + h(a)/ridge),  x ~ N(0, 1),

    with h(a) the largest curvature at this slope, over RM: a(1−a) if f‖z‖ = R, and up to ¼ for a ≤ ½, because
    f‖z‖ may be less. If it is not, determinants help, and the loss is at most the positive part of the
    Gaussian one, which is less than this. loss(x) increases with x, so δ(ε) = E(1 − exp(ε − loss))₊ is at
    most its upper sum over cells of x. Cells of a take the largest of each term.
    """
    a = np.linspace(0.0, 1.0, SLOPES + 1)
    curvature = np.log1p(np.where(a <= 0.5, 0.25, a * (1 - a)) / ridge)[:-1]  # decreases with a
    x = np.linspace(-10.0, 12.0, DRAWS + 1)
    along = a**2 / (2 * noise**2) + np.outer(x, a) / noise  # convex in a
    loss = (np.maximum(along[:, 1:], along[:, :-1]) + curvature).max(axis=1)
    revealed = -np.expm1(np.minimum(epsilon - loss, 0.0))
    inside = np.diff(ndtr(x)) @ revealed[1:]
    return float(inside + ndtr(x[0]) * revealed[0] + ndtr(-x[-1]))


@functools.cache
def perturbation_noise(epsilon: float, delta: float, ridge: float) -> float:
    """Return the least noise, from above, in units of R; at least that of the Gaussian mechanism."""
    low = high = 1 / gaussian.mu(epsilon, delta)
    while perturbation_delta(epsilon, high, ridge) > delta:
        low, high = high, 1.25 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if perturbation_delta(epsilon, middle, ridge) > delta else (low, middle)
    return high


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Gaussian objective perturbation; the ridge is `per_noise` times the Gaussian mechanism's noise.

    The guarantee is that of the exact minimiser. The solver stops at an average gradient of 1e-9.
    """

    per_noise: float
    radius: float = 1.0

    def unit_ridge(self, longest: float, epsilon: float, delta: float) -> float:
        """Return Λ/(RM), to two digits, so that few are calibrated; log(1 + ¼/ridge) stays below ε/2."""
        least = 0.25 / math.expm1(epsilon / 2)
        return float(f"{max(1.05 * least, self.per_noise / gaussian.mu(epsilon, delta) / longest):.1e}")

    def fit(self, people: Centred, epsilon: float, delta: float, rng: np.random.Generator) -> np.ndarray:
        n, d = people.columns.shape
        unit = self.unit_ridge(people.longest, epsilon, delta)
        noise = self.radius * perturbation_noise(epsilon, delta, unit) * rng.standard_normal(d)
        return self.minimiser(people, noise, unit * self.radius * people.longest)

    def minimiser(self, people: Centred, noise: np.ndarray, ridge: float) -> np.ndarray:
        z, f, sign = people.columns, record_weights(people, self.radius), 2 * people.labels - 1
        n = len(sign)

        def objective(w):
            margin = sign * (z @ w)
            value = f @ np.logaddexp(0.0, -margin) + noise @ w + ridge / 2 * (w @ w)
            return value / n, (z.T @ (-f * sign * expit(-margin)) + noise + ridge * w) / n

        options = {"maxiter": 10_000, "maxfun": 20_000, "gtol": 1e-9, "ftol": 0.0}
        return optimize.minimize(
            objective, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B", options=options
        ).x


# --- Normal equations and Newton ---------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalEquations:
    """Noisy Σ fzzᵀ and Σ f(y−½)z, solved with the Pólya–Gamma mean ⟨ξ⟩ that all records share.

    With the ridge of AdaSSP (Wang 2018): a multiple of the matrix noise's largest eigenvalue. ⟨ξ⟩ starts at
    ¼, the logistic curvature at 0, and follows the mean square of the log odds, which the matrix gives.
    """

    radius: float
    per_edge: float
    per_noise: float  # ridge over the noise of the vector
    share: float = 0.5  # of the matrix, in μ²

    def fit(self, people: Centred, budget: float, rng: np.random.Generator) -> np.ndarray:
        f, (n, d) = record_weights(people, self.radius), people.columns.shape
        of_matrix, of_vector = budget * math.sqrt(self.share), budget * math.sqrt(1 - self.share)
        bound = self.radius * people.longest
        matrix = noisy_matrix(weighted_squares(people, f), bound, of_matrix, rng)
        vector = noisy(people.columns.T @ (f * (people.labels - 0.5)), self.radius / 2, of_vector, rng)
        values, axes = np.linalg.eigh(matrix)
        values, along, xi = np.maximum(values, 0.0), axes.T @ vector, 0.25
        for _ in range(30):
            damped = xi * (values + self.per_edge * edge(bound, of_matrix, d))
            weights = along / np.maximum(damped + self.per_noise * self.radius / 2 / of_vector, 1e-9)
            spread = max(math.sqrt(values @ weights**2 / n), 1e-6)
            xi = math.tanh(spread / 2) / (2 * spread)
        return axes @ weights


@dataclass(frozen=True)
class Newton:
    """DP-Newton (Ganesh et al. 2023): noisy gradients and Hessians, whose small eigenvalues are raised.

    Also a ridge of `per_noise` times the noise that the average gradient of all steps has, and the average of
    the last iterates, which leaves only part of the last step's noise.
    """

    steps: int
    per_edge: float
    per_noise: float
    averaged: float = 0.3
    share: float = 0.1  # of Hessians, in μ²
    radius: float = 1.0

    def fit(self, people: Centred, budget: float, rng: np.random.Generator) -> np.ndarray:
        f, d = record_weights(people, self.radius), people.columns.shape[1]
        part = budget / math.sqrt(self.steps)
        of_hessian, of_gradient = part * math.sqrt(self.share), part * math.sqrt(1 - self.share)
        bound = self.radius * people.longest / 4
        ridge = self.per_noise * self.radius / of_gradient / math.sqrt(self.steps)
        weights = mean = np.zeros(d)
        first = min(round(self.steps * (1 - self.averaged)), self.steps - 1)
        for t in range(self.steps):
            p = expit(people.columns @ weights)
            gradient = people.columns.T @ (f * (p - people.labels))
            gradient = noisy(gradient, self.radius, of_gradient, rng) + ridge * weights
            hessian = noisy_matrix(weighted_squares(people, f * p * (1 - p)), bound, of_hessian, rng)
            values, axes = np.linalg.eigh(hessian)
            values = np.maximum(values, self.per_edge * edge(bound, of_hessian, d)) + ridge
            weights = weights - axes @ (axes.T @ gradient / np.maximum(values, 1e-9))
            mean = mean + (weights - mean) / max(t - first + 1, 1)
        return mean
