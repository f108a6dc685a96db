"""Slow twins of the models, written from the equations, as oracles for the fast code."""

import math

import numpy as np
from scipy import stats
from scipy.special import digamma

# --------------------------------------------------------------------------------------------------- SBN


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def sbn_pg_mean(square):
    """Mean of PG(1, √square)."""
    root = math.sqrt(square)
    return 0.25 if root < 1e-6 else math.tanh(root / 2) / (2 * root)


def sbn_psi_square(mu, mean, second, c, c_square):
    """⟨(wᵀz + c)²⟩ for one image and pixel; `second` is ⟨wwᵀ⟩ and z² = z."""
    units = len(mu)
    total = c_square + 2 * c * sum(mu[k] * mean[k] for k in range(units))
    for k in range(units):
        for other in range(units):
            total += second[k, other] * (mu[k] if k == other else mu[k] * mu[other])
    return total


def sbn_sweep(image, mu, xi, means, seconds, c, b):
    """Sweep once over the hidden units of an image by the paper's d_{n,k}, with ⟨ψ^∖k w⟩ from ⟨wwᵀ⟩."""
    mu = mu.copy()
    for k in range(len(mu)):
        d = b[k]
        for j in range(len(image)):
            rest = c[j] * means[j, k]
            rest += sum(seconds[j, k, other] * mu[other] for other in range(len(mu)) if other != k)
            d += (image[j] - 0.5) * means[j, k] - 0.5 * xi[j] * (2 * rest + seconds[j, k, k])
        mu[k] = sigmoid(d)
    return mu


def sbn_bound(images, mus, means, seconds, c, c_square, b, b_square):
    """Lower bound of log p(images) under N(0, 1) priors on W, b and c, with every ⟨ξ⟩ at its optimum.

    There, −½⟨ξ⟩⟨ψ²⟩ − KL(q(ξ)‖p(ξ)) − log 2 = −log(2 cosh(√⟨ψ²⟩/2)).
    """

    def log_two_cosh(square):
        root = math.sqrt(square)
        return root / 2 + math.log1p(math.exp(-root))

    def normal(mean_square, log_det, size=1):
        """−KL(N(m, S)‖N(0, I)) from ⟨x²⟩ = |m|² + tr S and log det S."""
        return 0.5 * (log_det + size - mean_square)

    bound = 0.0
    for image, mu in zip(images, mus, strict=True):
        for j in range(len(image)):
            bound += (image[j] - 0.5) * (means[j] @ mu + c[j])
            bound -= log_two_cosh(sbn_psi_square(mu, means[j], seconds[j], c[j], c_square[j]))
        for k in range(len(mu)):
            bound += (mu[k] - 0.5) * b[k] - log_two_cosh(b_square[k])
            bound -= sum(p * math.log(p) for p in (mu[k], 1 - mu[k]) if p > 0)
    for j in range(len(c)):
        covariance = seconds[j] - np.outer(means[j], means[j])
        bound += normal(np.trace(seconds[j]), np.linalg.slogdet(covariance)[1], len(covariance))
        bound += normal(c_square[j], math.log(c_square[j] - c[j] ** 2))
    for k in range(len(b)):
        bound += normal(b_square[k], math.log(b_square[k] - b[k] ** 2))
    return bound


# --------------------------------------------------------------------------------------------------- LDA


def lda_document(counts, lam, alpha, sweeps, *, plain=False):
    """γ and the K×V matrix n_v φ_vk of one document of V counts (the paper's Algorithm 3), from a flat θ.

    A sweep starts from γ and Nesterov's part of its last change, with half of γ - α at least, or if `plain`
    from γ.
    """
    log_beta = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    return lda_document_of(counts, log_beta, alpha, sweeps, plain=plain)


def lda_document_of(counts, log_beta, alpha, sweeps, *, plain=False):
    """The same for given expected logarithms of the topics' words."""
    topics, words = log_beta.shape

    def phi_of(log_theta):
        phi = np.zeros((topics, words))
        for v in range(words):
            score = np.exp(log_beta[:, v] + log_theta - np.max(log_beta[:, v] + log_theta))
            phi[:, v] = score / score.sum()
        return phi

    log_theta, gain = np.zeros(topics), np.zeros(topics)
    for sweep in range(1, sweeps + 1):
        phi = phi_of(log_theta)
        last, gain = gain, np.array([sum(counts[v] * row[v] for v in range(words)) for row in phi])
        momentum = 0 if plain else (sweep - 1) / (sweep + 2)
        log_theta = digamma(alpha + np.maximum(gain + momentum * (gain - last), gain / 2))
    return alpha + gain, counts * phi_of(digamma(alpha + gain))


def lda_clipped(matrix, bound):
    """Scale a document's matrix down to Frobenius norm `bound`."""
    norm = math.sqrt((matrix**2).sum())
    return matrix * min(1.0, bound / norm) if norm > 0 else matrix


def lda_bound(counts, gamma, lam, alpha):
    """One document's evidence bound given λ, term by term with φ written out."""
    topics = len(gamma)
    log_theta = digamma(gamma) - digamma(gamma.sum())
    log_beta = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    total = math.lgamma(topics * alpha) - topics * math.lgamma(alpha) + (alpha - 1) * log_theta.sum()
    total -= math.lgamma(gamma.sum()) - sum(math.lgamma(g) for g in gamma) + ((gamma - 1) * log_theta).sum()
    for v, count in enumerate(counts):
        phi = np.exp(log_theta + log_beta[:, v])
        phi /= phi.sum()
        total += count * (phi * (log_theta + log_beta[:, v] - np.log(phi))).sum()
    return total


def shrunk(noisy, mean, noise_std, mixture, grid):
    """Posterior mean of mean·x ≥ 0 by numerical integration; x has bumps N(grid, (gap below / 2)²)."""
    widths = np.diff(grid, prepend=0) / 2
    value = np.linspace(-mean * grid[-1], 3 * mean * grid[-1], 400_001)
    density = sum(
        weight * np.exp(-0.5 * ((value / mean - centre) / width) ** 2) / width
        for weight, centre, width in zip(mixture, grid, widths, strict=True)
    )
    density *= np.exp(-0.5 * ((noisy - value) / noise_std) ** 2)
    return (value * density).sum() / density.sum()


def shrunk_cells(noisy, mean, noise_std, mixture, grid):
    """Posterior means of cells under each row's mixture, and the number of cells under each bump."""
    estimate, cells = np.zeros(noisy.shape), np.zeros(mixture.shape)
    for v in range(noisy.shape[1]):
        centres, spreads = mean[:, v, None] * grid, mean[:, v, None] * np.diff(grid, prepend=0) / 2
        sizes = np.sqrt(noise_std[:, v, None] ** 2 + spreads**2)
        pulled = centres + spreads**2 / sizes**2 * (noisy[:, v, None] - centres)
        joint = stats.norm.pdf(noisy[:, v, None], centres, sizes) * mixture
        part = joint / joint.sum(axis=1, keepdims=True)
        cells += part
        estimate[:, v] = (part * np.maximum(pulled, 0)).sum(axis=1)
    return estimate, cells


def lda_gains(counts, first, lam, alpha, priors, own, floor, length, sweeps):
    """A document's gain for each prior: the log probability of its second half given the first, over length.

    The document's own words are removed from λ before topics predict, and from the shares of words.
    """
    rows = np.exp(digamma(lam) - digamma(lam.sum(axis=1, keepdims=True)))
    scaled = counts * min(1, length / counts.sum())
    _, assigned = lda_document(scaled, lam, alpha, sweeps)
    others = np.maximum(lam - own * assigned, floor)
    seen = first * min(1, length / counts.sum())
    gains = []
    for prior in priors:
        with np.errstate(divide="ignore"):
            log_rows = np.log(rows * others / lam)
        gamma, _ = lda_document_of(seen, log_rows, prior, sweeps)
        likely = (gamma / gamma.sum() / lam.sum(axis=1)) @ others
        chance = others.sum(axis=0) / lam.sum()
        scored = (counts - first) * min(1, length / counts.sum())
        gains.append(scored @ np.log(likely / chance) / length)
    return np.array(gains)


# Logistic


def logistic_polya_gamma(x, y, shape=1.0, rate=1.0, rounds=20_000):
    """Pólya–Gamma variational posterior of Bayesian logistic regression, record by record: mean, cov, ⟨α⟩."""
    n, d = x.shape
    mean, covariance, precision = np.zeros(d), np.eye(d), shape / rate
    for _ in range(rounds):
        information = precision * np.eye(d)
        for i in range(n):
            second_moment = covariance + np.outer(mean, mean)
            c = np.sqrt(x[i] @ second_moment @ x[i])
            information += (np.tanh(c / 2) / (2 * c)) * np.outer(x[i], x[i])
        new_covariance = np.linalg.inv(information)
        new_mean = new_covariance @ sum((y[i] - 0.5) * x[i] for i in range(n))
        moved = np.abs(new_mean - mean).max()
        mean, covariance = new_mean, new_covariance
        precision = (shape + d / 2) / (rate + 0.5 * (mean @ mean + np.trace(covariance)))
        if moved < 1e-12:
            break
    return mean, covariance, precision
