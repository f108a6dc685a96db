"""Privacy plans: the number of releases, their batches and noise, and the resulting ε."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from vips_core import rounding, validate
from vips_core.privacy import accountants, calibration, gaussian
from vips_core.privacy.events import (
    LEAST_DELTA,
    LEAST_NOISE,
    MOST_NOISE,
    MOST_RECORDS,
    MOST_STEPS,
    SampledGaussian,
    chance_to_be_drawn,
)
from vips_core.privacy.ledger import Sampling
from vips_core.privacy.tradeoff import AttackRisk, RiskLimit


@dataclass(frozen=True, init=False)
class PrivacyPlan:
    """The planned use of a data set: `steps` releases on Poisson batches with Gaussian noise.

    Parameters
    ----------
    records
        N, the public number of records.
    expected_batch
        S, the expected number of records in a batch; the sampling rate is q = S/N.
    epochs, steps
        Give one: T steps, or passes over the data, from which T follows, rounded down but at least 1.
    noise_multiplier
        σ, the noise over the sensitivity to one record. 0 is a plan without privacy (ε = ∞); None leaves it
        to `calibrate`.
    delta
        δ, which should be well below 1/N.
    sampling
        "poisson", as the accountants assume, or "fixed" batch sizes, only to reproduce the paper.

    Examples
    --------
    >>> plan = PrivacyPlan(
    ...     records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-4
    ... )
    >>> plan.steps, round(plan.epsilon("moments"), 4), round(plan.epsilon("pld"), 3)
    (20, 1.6451, 0.932)
    >>> round(plan.calibrate(epsilon=2.44).noise_multiplier, 2)
    0.82
    """

    records: int
    expected_batch: int
    steps: int
    noise_multiplier: float | None
    delta: float
    sampling: Sampling

    def __init__(
        self,
        *,
        records: int,
        expected_batch: int,
        epochs: float | None = None,
        steps: int | None = None,
        noise_multiplier: float | None = None,
        delta: float,
        sampling: Sampling = "poisson",
    ) -> None:
        records = validate.whole("records", records, low=1, high=MOST_RECORDS)
        expected_batch = validate.whole("expected_batch", expected_batch, low=1, high=MOST_RECORDS)
        if expected_batch > records:
            raise ValueError(f"expected_batch must be at most records ({records}), got {expected_batch}")
        if (epochs is None) == (steps is None):
            raise ValueError(f"give either epochs or steps, got epochs={epochs} and steps={steps}")
        if epochs is not None:
            steps = _steps_within(epochs, records, expected_batch)
        if noise_multiplier is not None:
            noise_multiplier = validate.number(
                "noise_multiplier", noise_multiplier, low=LEAST_NOISE, high=MOST_NOISE, or_zero=True
            )
        for name, value in (
            ("records", records),
            ("expected_batch", expected_batch),
            ("steps", validate.whole("steps", steps, low=1, high=MOST_STEPS)),
            ("noise_multiplier", noise_multiplier),
            ("delta", validate.number("delta", delta, low=LEAST_DELTA, below=1)),
            ("sampling", validate.one_of("sampling", sampling, get_args(Sampling))),
        ):
            object.__setattr__(self, name, value)

    @property
    def sampling_rate(self) -> float:
        """q = S/N."""
        return self.expected_batch / self.records

    @property
    def is_sampled_as_accounted(self) -> bool:
        """Whether batches are those that accountants assume: Poisson samples, or all records."""
        return self.sampling == "poisson" or self.sampling_rate == 1

    @property
    def epochs(self) -> float:
        """Passes over the data, in expectation."""
        return self.steps * self.sampling_rate

    @property
    def is_private(self) -> bool:
        """Whether noise is added."""
        return bool(self.noise_multiplier)

    def replace(self, **changes: Any) -> "PrivacyPlan":
        """Return a new plan with some values changed; `epochs` and `steps` replace each other."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if "epochs" in changes:
            del values["steps"]
        return PrivacyPlan(**{**values, **changes})

    def require_noise_multiplier(self) -> float:
        """Return the noise multiplier; `ValueError` if the plan has none yet."""
        if self.noise_multiplier is None:
            raise ValueError("the plan has no noise_multiplier yet: give one or call calibrate(epsilon)")
        return self.noise_multiplier

    def events(self) -> list[SampledGaussian]:
        """Return the plan in the accountants' form."""
        return [SampledGaussian(self.sampling_rate, self.require_noise_multiplier(), self.steps)]

    def epsilon(self, accountant: str = "pld") -> float:
        """Return ε by one accountant; `ValueError` with the reason if the accountant does not apply."""
        return accountants.epsilon(self.events(), self.delta, accountant)

    def epsilons(self) -> dict[str, float | None]:
        """Return ε by every accountant, None for those that do not apply (`accounts` has the reasons)."""
        return {name: account.epsilon for name, account in self.accounts().items()}

    def accounts(
        self, names: Sequence[str] = tuple(accountants.ACCOUNTANTS)
    ) -> dict[str, accountants.Account]:
        """Return ε by each of the named accountants, with reasons and cautions."""
        return {name: accountants.account(self.events(), self.delta, name) for name in names}

    def calibrate(
        self, epsilon: float, accountant: str = "pld", solve: str = "noise_multiplier"
    ) -> "PrivacyPlan":
        """Return the plan that spends `epsilon`, by changing `noise_multiplier`, `steps` or `expected_batch`.

        The result's ε never exceeds `epsilon`. `noise_multiplier` is the smallest possible; `steps` and
        `expected_batch` (at the same number of steps) are the largest possible.
        """
        validate.one_of("accountant", accountant, accountants.ACCOUNTANTS)
        validate.positive("epsilon", epsilon)
        validate.one_of("solve", solve, ("noise_multiplier", "steps", "expected_batch"))
        if solve == "noise_multiplier":
            noise = calibration.noise_multiplier(
                self.sampling_rate, self.steps, epsilon, self.delta, accountant
            )
            return self.replace(noise_multiplier=noise)
        most, what = (MOST_STEPS, "step") if solve == "steps" else (self.records, "record in a batch")

        def excess(number: int, accountant: str = accountant) -> float:
            spent = accountants.account(self.replace(**{solve: number}).events(), self.delta, accountant)
            return calibration.excess(spent.epsilon, epsilon)

        def cheap_excess(number: int) -> float:
            drawn = chance_to_be_drawn(self.replace(**{solve: number}).events())
            return min(math.log(drawn / self.delta), excess(number, "rdp"))

        start = calibration.largest(cheap_excess, most) if accountant == "pld" else 1
        number = calibration.largest(excess, most, max(1, start))
        if number < 1:
            self.replace(**{solve: 1}).epsilon(accountant)  # raises the reason if it does not apply
            raise ValueError(f"not even one {what} fits in epsilon = {epsilon:g} with this noise_multiplier")
        return self.replace(**{solve: number})

    def calibrate_to_risk(self, limit: RiskLimit) -> "PrivacyPlan":
        """Return the plan with the least noise at which no attack exceeds a limit.

        Parameters
        ----------
        limit
            Limit on the attacker's success. The whole trade-off curve counts, not a single ε.

        Returns
        -------
        PrivacyPlan
            This plan with a different `noise_multiplier`.

        Examples
        --------
        >>> plan = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, delta=1e-7)
        >>> plan = plan.calibrate_to_risk(RiskLimit(true_positive_rate=0.05, false_positive_rate=0.01))
        >>> round(plan.noise_multiplier, 2), round(float(plan.risk().true_positive_rate(0.01)), 4)
        (0.69, 0.05)
        """
        noise = calibration.noise_multiplier_for_risk(self.sampling_rate, self.steps, limit)
        return self.replace(noise_multiplier=noise)

    @property
    def signal_to_noise(self) -> float:
        """q√T/σ, one record's signal over the noise, averaged over steps."""
        noise = self.require_noise_multiplier()
        return math.inf if noise == 0 else self.sampling_rate * math.sqrt(self.steps) / noise

    @property
    def efficiency(self) -> float:
        """Signal over noise, as a share of the signal over noise of full batches at the same (ε, δ)."""
        if self.require_noise_multiplier() == 0 or self.sampling_rate == 1:
            return 1.0
        return min(1.0, self.signal_to_noise / gaussian.mu(self.epsilon("pld"), self.delta))

    def risk(self) -> AttackRisk:
        """Return the risk from the best possible attack on whether one person took part."""
        return AttackRisk(self.events(), self.delta)

    def warnings(self) -> list[str]:
        """Return a sentence for each setting that weakens or voids the guarantee."""
        sentences = []
        if self.delta >= 1 / self.records:
            sentences.append(
                f"δ = {rounding.brief(self.delta)} is not below 1/N = {1 / self.records:.3g}: it would "
                "allow publishing one person's record outright. Choose δ well below 1/N."
            )
        if not self.is_sampled_as_accounted:
            sentences.append("Batches of fixed size are used, but ε is computed for Poisson sampling.")
        if self.noise_multiplier == 0:
            sentences.append("Without noise there is no privacy guarantee.")
        return sentences


@dataclass(frozen=True)
class PurePlan:
    """The plan of a run with its own proof of pure ε-DP: no sampling, noise multiplier or δ.

    Attributes
    ----------
    records
        N, the public number of records.
    epsilon
        ε, at δ = 0.
    """

    records: int
    epsilon: float
    steps: ClassVar[int] = 1  # there is one release
    is_private: ClassVar[bool] = True  # ε is finite


def _steps_within(epochs: float, records: int, expected_batch: int) -> int:
    steps = validate.positive("epochs", epochs) * records / expected_batch
    if steps > MOST_STEPS:
        raise ValueError(f"epochs must be at most {MOST_STEPS:,} steps, got {epochs:g} ({steps:.3g} steps)")
    return max(1, math.floor(steps + 1e-9))
