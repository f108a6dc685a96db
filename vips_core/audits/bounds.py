"""Lower bounds on ε from the results of an attack, each wrong at most as often as the confidence allows."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used
from scipy.special import ndtr, ndtri

from vips_core import validate
from vips_core.kernels import Array
from vips_core.privacy import gaussian

_LARGEST_EPSILON = 50.0  # end of the search for ε: no number of canaries shows odds of e^50
_LEAST_MU, _LARGEST_MU = 1e-4, 20.0  # ends of the search for μ: no attack resolves less or shows more


@dataclass(frozen=True)
class Rates:
    """How often an attack said "took part": for people who did, and for people who did not.

    Attributes
    ----------
    found, present
        Number of attacks that said so, and of all attacks, with the person present.
    alarms, absent
        Number of attacks that said so, and of all attacks, with the person absent.
    """

    found: int
    present: int
    alarms: int
    absent: int

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Return a lower bound on the true positive rate and an upper one on the false positive rate.

        Each gets half of the allowed error (Clopper and Pearson 1934), so that both hold together.
        """
        tail = 1 - (1 + confidence) / 2
        found, _ = clopper_pearson(self.found, self.present, tail)
        _, alarms = clopper_pearson(self.alarms, self.absent, tail)
        return float(found), float(alarms)

    def epsilon(self, delta: float, confidence: float) -> float:
        """Return the least ε, at `delta`, that a true claim can have; 0 if the attack shows nothing.

        (ε, δ)-DP requires TPR ≤ e^ε·FPR + δ and, for the complements, 1 − FPR ≤ e^ε·(1 − TPR) + δ.

        Examples
        --------
        >>> Rates(700, 1000, 100, 1000).epsilon(1e-5, 0.95) > 1.5
        True
        """
        found, alarms = self.bounds(confidence)
        quotients = [(found - delta) / alarms, (1 - alarms - delta) / max(1 - found, 1e-300)]
        return max(0.0, *(math.log(quotient) for quotient in quotients if quotient > 0), 0.0)

    def gaussian_epsilon(self, delta: float, confidence: float) -> float:
        """Return the tighter bound that holds for a Gaussian release: μ ≥ Φ⁻¹(TPR) − Φ⁻¹(FPR)."""
        found, alarms = self.bounds(confidence)
        mu = float(ndtri(found) - ndtri(alarms))
        return float(gaussian.epsilon(mu, delta)) if 0 < mu < math.inf else 0.0


def best_rates(present: Array, absent: Array, delta: float, confidence: float) -> Rates:
    """Choose a threshold on one half of the scores and return what it achieves on the other.

    Parameters
    ----------
    present, absent
        Scores of attacks with and without the person; larger scores suggest that the person took part.
    delta, confidence
        δ and confidence of the bound for which the threshold is chosen.

    Returns
    -------
    Rates
        Rates on the other half, which the threshold does not depend on, so the choice needs no correction.
    """
    half = present[::2], absent[::2]
    thresholds = np.quantile(np.concatenate(half), np.linspace(0.005, 0.995, 200))
    best = max(thresholds, key=lambda threshold: rates_at(threshold, *half).epsilon(delta, confidence))
    return rates_at(best, present[1::2], absent[1::2])


def rates_at(threshold: float, present: Array, absent: Array) -> Rates:
    """Return how often scores with and without the person reach a threshold."""
    found, alarms = (int((scores >= threshold).sum()) for scores in (present, absent))
    return Rates(found, present.size, alarms, absent.size)


def one_run_epsilon(guesses: int, right: int, canaries: int, delta: float, confidence: float) -> float:
    """Return the ε that one run with many canaries shows (Steinke, Nasr and Jagielski 2023, Theorem 5.2).

    Parameters
    ----------
    guesses, right
        Number of canaries whose coin the attack guessed, and number of right guesses.
    canaries
        Number of all canaries, each included by a fair coin.

    Returns
    -------
    float
        The largest ε at which that many right guesses are less likely than 1 − `confidence`; 0 for none.

    Examples
    --------
    >>> one_run_epsilon(100, 50, 1000, 1e-5, 0.95), one_run_epsilon(100, 95, 1000, 1e-5, 0.95) > 1.5
    (0.0, True)
    """
    validate.whole("right", right, 0, guesses)
    validate.whole("guesses", guesses, 0, canaries)

    def excess(epsilon: float) -> float:
        return _chance(guesses, right, canaries, epsilon, delta) - (1 - confidence)

    return _largest_below(excess, 0.0, _LARGEST_EPSILON, 1e-6) if guesses else 0.0


def one_run_mu(guesses: int, right: int, canaries: int, confidence: float) -> float:
    """Return the μ that one run with many canaries shows if the run is μ-GDP (Mahloujifar et al. 2024).

    Parameters
    ----------
    guesses, right
        Number of canaries whose coin the attack guessed, and number of right guesses.
    canaries
        Number of all canaries, each included by a fair coin.

    Returns
    -------
    float
        The largest μ at which that many right guesses are less likely than 1 − `confidence`; 0 for none.

    Examples
    --------
    >>> one_run_mu(100, 50, 500, 0.95), one_run_mu(100, 90, 500, 0.95) > 0.5
    (0.0, True)
    """
    validate.whole("right", right, 0, guesses)
    validate.whole("guesses", guesses, 0, canaries)

    def excess(mu: float) -> float:
        return guesses / canaries - _least_mass(guesses, right, 1 - confidence, canaries, mu)

    return _largest_below(excess, _LEAST_MU, _LARGEST_MU, 1e-4) if guesses else 0.0


def _largest_below(excess: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the largest value up to `high` with a rising `excess` below 0, on the safe side; 0 for none."""
    if excess(low) >= 0:
        return 0.0
    if excess(high) < 0:
        return high
    return float(scipy.optimize.brentq(excess, low, high, xtol=tolerance)) - tolerance


def _least_mass(guesses: int, right: int, chance: float, canaries: int, mu: float) -> float:
    """Return the least r₀ + h₀, see below, with which P(at least `right` right guesses) can be `chance`.

    With pᵢ = P(i right guesses), let rᵢ = Σ_{j≥i} j·pⱼ/m and hᵢ = Σ_{j≥i} (c − j)·pⱼ/m for c guesses and m
    canaries. Flipping one canary's coin turns a right guess into a wrong one, so μ-GDP requires
    rᵢ₊₁ ≤ Φ(Φ⁻¹(hᵢ) + μ): h and r follow from the top down, as small as they can be. If r₀ + h₀ exceeds c/m,
    the total mass, the chance is impossible (arXiv 2410.22235).
    """
    r, h = chance * right / canaries, chance * (guesses - right) / canaries
    for i in range(right - 1, -1, -1):
        higher = max(h, float(ndtr(ndtri(min(r, 1.0)) - mu)))
        r, h = r + i / (guesses - i) * (higher - h), higher
    return r + h


def _chance(guesses: int, right: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return a bound on the chance of at least `right` right guesses against an (ε, δ)-private run.

    Under pure ε each guess is right with probability at most e^ε/(1 + e^ε), whatever the others are. δ lets
    2·canaries·δ of the probability move i guesses up, for the i that gains the most.
    """
    likely = 1 / (1 + math.exp(-epsilon))
    lower = scipy.stats.binom.pmf(right - np.arange(1, right + 1), guesses, likely).cumsum()
    gain = float((lower / np.arange(1, right + 1)).max(initial=0.0))
    return min(1.0, float(scipy.stats.binom.sf(right - 1, guesses, likely)) + 2 * canaries * delta * gain)


def clopper_pearson(successes: npt.ArrayLike, trials: int, tail: float) -> tuple[Array, Array]:
    """Return lower and upper bounds of probabilities, each wrong with probability `tail` at most.

    Examples
    --------
    >>> [bound.round(3).tolist() for bound in clopper_pearson([0, 5, 10], 10, 0.05)]
    [[0.0, 0.222, 0.741], [0.259, 0.778, 1.0]]
    """
    beta, found = scipy.stats.beta, np.asarray(successes)
    low, high = beta.ppf(tail, found, trials - found + 1), beta.ppf(1 - tail, found + 1, trials - found)
    return np.where(found == 0, 0.0, low), np.where(found == trials, 1.0, high)
