"""The risk from the best possible attack: the trade-off curve of membership tests, from the whole PLD."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from vips_core import rounding, validate
from vips_core.kernels import Array
from vips_core.privacy import gaussian, moments, pld
from vips_core.privacy.events import LEAST_NOISE, SampledGaussian, fewer, merge, squared_mu, within_range

_LEAST_DELTA = 1e-10  # least δ for μ: below 1/N for all people on earth (as in Gomez et al.'s gdpnum)
_LARGEST_EPSILON = 600.0  # largest ε of the profile: e^ε stays finite, and larger ε add no information
# Number of ε at which δ(ε) is computed: fewer bound the attack less tightly, never wrongly.
_PROFILE_POINTS = 2000


class AttackRisk:
    """The strongest test of whether one person's record was used, given all released outputs.

    Parameters
    ----------
    events
        The releases, in the accountants' form.
    delta
        A δ at which μ must hold, in addition to every δ from 1e-10 on.

    Examples
    --------
    >>> risk = AttackRisk([SampledGaussian(sampling_rate=0.05, noise_multiplier=1.24, count=20)])
    >>> round(risk.advantage, 2), float(risk.true_positive_rate(0.01).round(3))
    (0.08, 0.019)
    >>> round(risk.gaussian_mu, 3), round(risk.gaussian_regret, 3)
    (0.435, 0.046)
    """

    def __init__(self, events: Sequence[SampledGaussian], delta: float = _LEAST_DELTA) -> None:
        merged = merge(within_range(event) for event in events)
        self._unprotected = any(event.noise_multiplier < LEAST_NOISE for event in merged)
        self._events = () if self._unprotected else tuple(fewer(merged))
        self._is_one_gaussian = all(event.sampling_rate == 1 for event in self._events)
        self.gaussian_delta = 0.0 if self._is_one_gaussian else min(delta, _LEAST_DELTA)

    @functools.cached_property
    def _profile(self) -> tuple[Array, Array]:
        """ε ≥ 0 and δ(ε): each pair gives up to two lines of the trade-off curve's envelope."""
        top = min(max(moments.rdp_epsilon(self._events, 1e-12), 1e-3), _LARGEST_EPSILON)
        epsilons = np.linspace(0, top, _PROFILE_POINTS)
        return epsilons, pld.deltas(self._events, epsilons)

    @functools.cached_property
    def _envelope(self) -> tuple[Array, Array, Array]:
        """Lines that bound the curve, steepest first: heights at 0, slopes, and ends of their ranges.

        δ is convex in e^ε, so each line is the lowest on some range. If rounding violates this, a line other
        than the lowest may be used, which also bounds the curve.
        """
        epsilon, delta = self._profile
        steep, flat = np.exp(epsilon[::-1]), np.exp(-epsilon[1:])
        height = np.concatenate([delta[::-1], 1 - flat * (1 - delta[1:])])
        slope = np.concatenate([steep, flat])
        return height, slope, np.maximum.accumulate(np.diff(height) / -np.diff(slope))

    def true_positive_rate(self, false_positive_rate: npt.ArrayLike) -> Array:
        """Return the largest share of participants that an attacker can find at these false positive rates.

        Each (ε, δ) bounds it by δ + e^ε·FPR and by 1 − e^−ε(1 − δ − FPR) (Dong, Roth and Su 2022,
        equation 5). The minimum over many ε is an upper bound that tightens with the grid.
        """
        rate = np.asarray(false_positive_rate, float)
        if ((rate < 0) | (rate > 1)).any():
            raise ValueError(f"false_positive_rate must be in [0, 1], got {rate}")
        if self._unprotected:
            return np.ones_like(rate)
        if not self._events:
            return rate
        height, slope, ends = self._envelope
        lowest = np.searchsorted(ends, rate)
        return np.asarray(np.clip(height[lowest] + slope[lowest] * rate, rate, 1))

    def curve(self) -> tuple[Array, Array]:
        """Return 200 false positive rates, dense near 0, and the largest true positive rates there."""
        rates = np.unique(np.concatenate([[0], np.geomspace(1e-4, 0.1, 100), np.linspace(0.1, 1, 100)]))
        return rates, self.true_positive_rate(rates)

    @functools.cached_property
    def advantage(self) -> float:
        """Largest TPR − FPR, the attacker's advantage over guessing."""
        if self._unprotected:
            return 1.0
        return float(self._profile[1][0]) if self._events else 0.0

    def posterior(self, prior: float, false_positive_rate: float = 0.01) -> float:
        """Return the attacker's posterior belief that a person took part, given a positive test."""
        validate.share("prior", prior)
        validate.number("false_positive_rate", false_positive_rate, above=0, high=1)
        hits = prior * float(self.true_positive_rate(false_positive_rate))
        return hits / (hits + (1 - prior) * false_positive_rate)

    @functools.cached_property
    def gaussian_mu(self) -> float | None:
        """Least μ for which one Gaussian release is no more private than these; None without noise.

        For every δ ≥ δ₀ = `gaussian_delta`, ε(δ) is at most the Gaussian's, and no test has a lower FNR than
        G(FPR + δ₀) − δ₀ with G(α) = Φ(Φ⁻¹(1 − α) − μ). Full batches compose to one Gaussian, with δ₀ = 0.
        With sampling, μ grows slowly as δ₀ falls. For δ₀ = 0 it would be the μ of full batches, because a
        record that happens to be in every batch is hidden no better. That μ is also returned if δ cannot be
        computed down to δ₀, or is not distinguishable from 1 at ε = 0.
        """
        if self._unprotected:
            return None
        of_full_batches = math.sqrt(squared_mu(self._events))
        if self._is_one_gaussian or self._whole_profile[1][-1] > self.gaussian_delta:
            return of_full_batches
        return min(of_full_batches, gaussian.dominating_mu(*self._whole_profile))

    @functools.cached_property
    def gaussian_regret(self) -> float | None:
        """Regret of `gaussian_mu`: how far it overstates the risk; 0 if its trade-off curve is exact.

        The regret is the least κ such that this curve, moved by κ towards fewer false positives and fewer
        false negatives, is nowhere above the Gaussian's. Up to 0.01, μ alone describes the risk nearly
        completely (Gomez et al. 2025).
        """
        if self.gaussian_mu is None or self._is_one_gaussian:
            return None if self._unprotected else 0.0
        return gaussian.regret(*self._whole_profile, self.gaussian_mu)

    @functools.cached_property
    def _whole_profile(self) -> tuple[Array, Array]:
        """ε and δ(ε) down to `gaussian_delta`, precise also for small δ."""
        epsilons, small = pld.tail(self._events, self.gaussian_delta)
        all_epsilons, delta = self._profile  # convex in e^ε, so chords are upper bounds too
        return epsilons, np.minimum(small, np.interp(np.expm1(epsilons), np.expm1(all_epsilons), delta))

    def summary(self) -> dict[str, float | None]:
        """Return the risk in the numbers that a data steward needs."""
        at = dict(zip(("0.1%", "1%", "5%"), self.true_positive_rate([0.001, 0.01, 0.05]), strict=True))
        return {
            **{f"tpr_at_fpr_{name}": float(value) for name, value in at.items()},
            "advantage": self.advantage,
            "posterior_from_half": self.posterior(0.5),
            "gaussian_mu": self.gaussian_mu,
            "gaussian_regret": self.gaussian_regret,
            "gaussian_delta": self.gaussian_delta,
        }

    def gaussian_claim(self) -> str:
        """Return μ with its regret and the δ at which it holds, rounded up, as text."""
        if self.gaussian_mu is None or self.gaussian_regret is None:
            return "no μ (a release without noise is not Gaussian DP)"
        least = rounding.brief(rounding.up(self.gaussian_delta, 3))
        deltas = f"δ ≥ {least}" if self.gaussian_delta else "every δ"
        regret = rounding.up(self.gaussian_regret, 2)
        return f"μ = {rounding.up(self.gaussian_mu):g} (Gaussian DP for {deltas}, regret {regret:g})"

    def sentence(self, unit: str | None = None) -> str:
        """Return the risk as sentences about people, or about another unit such as "one document"."""
        detected = f"{rounding.up(100 * float(self.true_positive_rate(0.01)), 2):g}"
        tested, absent, present = f"{unit} is in the data", "that are not", "that are"
        if unit is None:
            tested, absent, present = "people took part", "outsiders", "people who did take part"
        return (
            f"An attacker tests whether {tested} and accepts one false alarm per 100 {absent}. Of 100 "
            f"{present}, the best possible test finds at most {detected}; guessing finds 1."
        )


@dataclass(frozen=True)
class RiskLimit:
    """A limit on an attacker's success, given in one of three ways.

    Parameters
    ----------
    true_positive_rate
        Largest share of participants that an attacker may find.
    advantage
        Largest TPR − FPR of any test.
    posterior
        Largest posterior belief that a person took part after a positive test, from the prior belief `prior`.
    false_positive_rate
        False positive rate of the test; not used with `advantage`.
    prior
        Prior belief that a person took part; used with `posterior` only.

    Examples
    --------
    >>> limit = RiskLimit(true_positive_rate=0.05)
    >>> risk = AttackRisk([SampledGaussian(sampling_rate=0.05, noise_multiplier=1.24, count=20)])
    >>> limit.excess(risk) <= 0
    True
    >>> RiskLimit(advantage=2)
    Traceback (most recent call last):
    ...
    ValueError: advantage must be a number above 0 and below 1, got 2
    """

    true_positive_rate: float | None = None
    advantage: float | None = None
    posterior: float | None = None
    false_positive_rate: float = 0.01
    prior: float = 0.5

    def __post_init__(self) -> None:
        rate = validate.share("false_positive_rate", self.false_positive_rate)
        prior = validate.share("prior", self.prior)
        least = {"true_positive_rate": rate, "advantage": 0, "posterior": prior}
        given = [name for name in least if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(least)}, got {' and '.join(given) or 'none'}")
        validate.number(given[0], getattr(self, given[0]), above=least[given[0]], below=1)
        most = prior / (prior + (1 - prior) * rate)
        if self.posterior is not None and self.posterior >= most:
            raise ValueError(
                f"posterior must be below {most:.4g}, which no positive test with false_positive_rate "
                f"{rate:g} exceeds from prior {prior:g}, got {self.posterior:g}"
            )

    @property
    def highest_true_positive_rate(self) -> float | None:
        """Largest share of participants that may be found, also from a posterior; None for an advantage."""
        if self.posterior is None:
            return self.true_positive_rate
        odds = self.posterior / (1 - self.posterior) * (1 - self.prior) / self.prior
        return odds * self.false_positive_rate

    def excess(self, risk: AttackRisk) -> float:
        """Return the excess of the best attack over the limit; at most 0 if the limit holds."""
        if self.advantage is not None:
            return risk.advantage - self.advantage
        assert self.highest_true_positive_rate is not None
        return float(risk.true_positive_rate(self.false_positive_rate)) - self.highest_true_positive_rate

    @property
    def gaussian_mu(self) -> float:
        """μ of the Gaussian mechanism whose best attack is exactly at the limit (Dong, Roth and Su 2022)."""
        if self.advantage is not None:
            return float(2 * ndtri((1 + self.advantage) / 2))
        return float(ndtri(self.highest_true_positive_rate) - ndtri(self.false_positive_rate))

    def __str__(self) -> str:
        if self.advantage is not None:
            return f"advantage = {self.advantage:g}"
        at = f"at false_positive_rate = {self.false_positive_rate:g}"
        if self.posterior is not None:
            return f"posterior = {self.posterior:g} from prior = {self.prior:g} {at}"
        return f"true_positive_rate = {self.true_positive_rate:g} {at}"
