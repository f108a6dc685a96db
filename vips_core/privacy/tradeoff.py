"""What an attacker can do at best: the trade-off curve of a membership test, from the whole PLD."""

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from vips_core.privacy import moments, pld
from vips_core.privacy.events import SampledGaussian, merge

Array = npt.NDArray[np.float64]

_LARGEST_EPSILON = 600.0  # e^ε must stay finite; beyond, the bounds say nothing that these do not


class AttackRisk:
    """The strongest test of whether one person's record was used, against any released output.

    Parameters
    ----------
    events
        The releases, as accountants see them.
    """

    def __init__(self, events: Sequence[SampledGaussian]) -> None:
        self._events = tuple(merge(events))
        self._open = any(event.noise_multiplier == 0 for event in self._events)

    @functools.cached_property
    def _profile(self) -> tuple[Array, Array]:
        """ε ≥ 0 and δ(ε): one line of the trade-off curve's envelope for each."""
        top = min(max(moments.rdp_epsilon(self._events, 1e-12)[0], 1e-3), _LARGEST_EPSILON)
        epsilons = np.linspace(0, top, 2000)
        deltas = np.asarray(pld.distribution(self._events).get_delta_for_epsilon(list(epsilons)), float)
        return epsilons, np.clip(deltas, 0, 1)

    def true_positive_rate(self, false_positive_rate: npt.ArrayLike) -> Array:
        """Highest share of participants an attacker can find at these false alarm rates.

        Each (ε, δ) bounds it by δ + e^ε·FPR and by 1 − e^−ε(1 − δ − FPR) (Dong, Roth and Su 2022,
        equation 5); the least over many ε is an upper bound that tightens with the grid.
        """
        rate = np.asarray(false_positive_rate, float)
        if ((rate < 0) | (rate > 1)).any():
            raise ValueError(f"false_positive_rate must be in [0, 1], got {rate}")
        if self._open:
            return np.ones_like(rate)
        if not self._events:
            return rate
        epsilon, delta = self._profile
        steep = delta + np.exp(epsilon) * rate[..., None]
        flat = 1 - np.exp(-epsilon) * (1 - delta - rate[..., None])
        return np.asarray(np.clip(np.minimum(steep, flat).min(axis=-1), rate, 1))

    def curve(self, points: int = 200) -> tuple[Array, Array]:
        """False positive rates (dense near 0) and the highest true positive rates."""
        rates = np.unique(
            np.concatenate([[0], np.geomspace(1e-4, 0.1, points // 2), np.linspace(0.1, 1, points // 2)])
        )
        return rates, self.true_positive_rate(rates)

    @functools.cached_property
    def advantage(self) -> float:
        """Largest TPR − FPR: how much better than guessing the attacker can be."""
        if self._open:
            return 1.0
        return float(self._profile[1][0]) if self._events else 0.0

    def posterior(self, prior: float, false_positive_rate: float = 0.01) -> float:
        """Attacker's belief that a person took part after a positive test, from a prior belief."""
        if not 0 < prior < 1:
            raise ValueError(f"prior must be in (0, 1), got {prior}")
        if not 0 < false_positive_rate <= 1:
            raise ValueError(f"false_positive_rate must be in (0, 1], got {false_positive_rate}")
        hits = prior * float(self.true_positive_rate(false_positive_rate))
        return hits / (hits + (1 - prior) * false_positive_rate)

    @functools.cached_property
    def gaussian_mu(self) -> float | None:
        """μ of the Gaussian-DP curve through the same advantage, where it fits to 0.01; else None."""
        if self._open:
            return None
        mu = float(2 * ndtri((1 + min(self.advantage, 1 - 1e-15)) / 2))
        rates, highest = self.curve()
        inner = rates[1:-1]
        misfit = np.abs(ndtr(ndtri(inner) + mu) - highest[1:-1]).max()
        return mu if misfit <= 0.01 else None

    def summary(self) -> dict[str, float | None]:
        """Return the numbers that a steward asks for."""
        at = dict(zip(("0.1%", "1%", "5%"), self.true_positive_rate([0.001, 0.01, 0.05]), strict=True))
        return {
            **{f"tpr_at_fpr_{name}": float(value) for name, value in at.items()},
            "advantage": self.advantage,
            "posterior_from_half": self.posterior(0.5),
            "gaussian_mu": self.gaussian_mu,
        }

    def sentence(self) -> str:
        """Return the risk in plain words."""
        found = 100 * float(self.true_positive_rate(0.01))
        return (
            "An attacker tests whether people took part and accepts one false alarm in 100 outsiders. "
            f"Of 100 people who did take part, the best possible test finds at most {_people(found)}; "
            "guessing finds 1."
        )


def _people(count: float) -> str:
    return f"{count:.1f}" if count < 9.95 else f"{count:.0f}"
