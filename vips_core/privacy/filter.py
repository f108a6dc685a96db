"""Caps as privacy filters: valid even if runs are chosen adaptively.

Accountants such as PLD are proved for compositions that are planned as a whole. Under a cap, the next run may
depend on earlier results, so the cap is enforced by quantities that add up:

- if all batches are full: μ² of Gaussian DP, Σ 1/σ² ≤ μ(ε, δ/2)² (Smith and Thakurta 2022, Theorem 1);
- otherwise: the Rényi divergence at an order fixed with the cap, Σ ρ(α) ≤ ε − c(α, δ/2) (Feldman and Zrnic
  2021, Theorem 4.3), where c is the conversion of Canonne, Kamath and Steinke (2020).

A run may be admitted by either rule, and the rule that holds at the end may depend on earlier results. So
each rule gets half of δ: one covers the outcomes with full batches only, the other covers all others, and
their δ add up. A first run may also be admitted by its PLD, see `vips_core.store.budget`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy  # its parts load when they are used

from vips_core import validate
from vips_core.privacy import gaussian, moments
from vips_core.privacy.events import LEAST_NOISE, SampledGaussian, squared_mu

# Largest order of the Rényi divergence. The best order for a cap is about ln(1/δ)/ε, so a larger one would
# help only for ε below ln(1/δ)/10⁵ (2e-4 for δ = 1e-9). With 10⁴, a cap of ε = 0.001 at δ = 1e-9 would admit
# nothing.
_LARGEST_ORDER = 1e5
_MOST_EPSILON, _LEAST_DELTA = 1e6, 1e-300  # limits of a cap: beyond any meaningful promise, without overflow


@dataclass(frozen=True)
class PrivacyFilter:
    """Rule that admits releases under an (ε, δ) cap, even if they are chosen adaptively.

    Parameters
    ----------
    epsilon, delta
        The cap.
    order
        α of the Rényi divergence, fixed before the first release; `for_cap` chooses it.

    Examples
    --------
    >>> cap = PrivacyFilter.for_cap(1.0, 1e-6)
    >>> cap.fits([SampledGaussian(1.0, 6.0, 1)]), cap.fits([SampledGaussian(1.0, 6.0, 2)])
    (True, False)
    """

    epsilon: float
    delta: float
    order: float

    def __post_init__(self) -> None:
        _check_cap(self.epsilon, self.delta)
        validate.number("order", self.order, above=1, high=_LARGEST_ORDER)

    @classmethod
    def for_cap(cls, epsilon: float, delta: float) -> "PrivacyFilter":
        """Return the filter whose order admits the most full batches.

        A full batch has ρ(α) = α·μ²/2, so μ² may reach 2(ε − c(α, δ/2))/α, a function of the cap alone.
        """
        _check_cap(epsilon, delta)

        def no_room(log_excess: float) -> float:
            order = 1 + math.exp(log_excess)
            return -(epsilon - moments.conversion(order, delta / 2)) / order

        widest = (math.log(1e-3), math.log(_LARGEST_ORDER - 1))
        best = scipy.optimize.minimize_scalar(
            no_room, bounds=widest, method="bounded", options={"xatol": 1e-6}
        )
        return cls(epsilon, delta, 1 + math.exp(best.x))

    def share(self, events: Sequence[SampledGaussian]) -> float:
        """Return the share of the cap that these releases use; they fit if it is at most 1.

        Parameters
        ----------
        events
            All releases so far, in any order.

        Returns
        -------
        float
            0 without releases; infinite if it cannot be computed.
        """
        if not events:
            return 0.0
        if any(event.noise_multiplier < LEAST_NOISE for event in events):
            return math.inf  # too little noise counts as none
        shares = [moments.renyi_divergence(events, self.order) / self._divergence_room]
        if _all_full(events):
            shares.append(squared_mu(events) / self._squared_mu_room)
        return min((share for share in shares if share >= 0), default=math.inf)

    def fits(self, events: Sequence[SampledGaussian]) -> bool:
        """Return whether all these releases together stay under the cap."""
        return self.share(events) <= 1

    def left_epsilon(self, events: Sequence[SampledGaussian]) -> float:
        """Return the largest ε, at the cap's δ, of another run on full batches that fits after these."""
        left = max(0.0, 1 - self.share(events))
        room = self._squared_mu_room if _all_full(events) else 2 * self._divergence_room / self.order
        return float(gaussian.epsilon(math.sqrt(left * room), self.delta)) if left * room > 0 else 0.0

    @property
    def _squared_mu_room(self) -> float:
        return gaussian.mu(self.epsilon, self.delta / 2) ** 2

    @property
    def _divergence_room(self) -> float:
        return max(self.epsilon - moments.conversion(self.order, self.delta / 2), 0.0) or math.ulp(0.0)


def _check_cap(epsilon: float, delta: float) -> None:
    validate.positive("epsilon", epsilon, high=_MOST_EPSILON)
    validate.number("delta", delta, low=_LEAST_DELTA, below=1)


def _all_full(events: Sequence[SampledGaussian]) -> bool:
    return all(event.sampling_rate == 1 for event in events)
