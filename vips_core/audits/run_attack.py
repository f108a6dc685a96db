"""The attack on one whole run: many canaries, each included or left out by a coin that the attack guesses.

It needs raw statistics of the records, so it runs on public or generated records only.
"""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used

from vips_core import validate
from vips_core.audits.bounds import one_run_epsilon, one_run_mu
from vips_core.audits.inspection import (
    Inspector,
    Parts,
    WatchedStep,
    contribution_of,
    multiples,
    rehearse,
    singles,
)
from vips_core.audits.wall_attack import OnAttack
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan

# Share of the canaries, those with the clearest scores, whose coins are guessed. It is fixed before the
# run, so that the bound is valid. More guesses count for more; fewer are right more often.
GUESSED = 0.2
_MOST_CELLS = 3 * 10**8  # numbers in all canaries' contributions together: 1.2 GB in single precision


@dataclass(frozen=True)
class OneRunAudit:
    """The result of one run in which every canary was included by a fair coin.

    Attributes
    ----------
    ledger
        Ledger of the run: the claim.
    scores, took_part
        For each canary: the attack's score, above 0 if it was more likely included, and the coin.
    on_the_grid
        For each step: the share of released numbers that are multiples of their public grid step.
    findings
        Sentences on what the inspection of the run found wrong.
    """

    ledger: Ledger
    scores: Array
    took_part: npt.NDArray[np.bool_]
    on_the_grid: tuple[float, ...]
    findings: tuple[str, ...] = ()

    def right(self) -> tuple[int, int]:
        """Return the number of right guesses, and the number of guesses, which is fixed before the run.

        The attack guesses for the canaries with the largest absolute scores.
        """
        guesses = max(1, round(GUESSED * self.scores.size))
        clearest = np.argsort(-np.abs(self.scores), kind="stable")[:guesses]
        return int(((self.scores > 0) == self.took_part)[clearest].sum()), guesses

    def measured(self, delta: float, confidence: float) -> float:
        """Return the lower bound on ε, right with probability `confidence` at least.

        A run on full batches is Gaussian, so its whole trade-off curve counts.
        """
        right, guesses = self.right()
        if all(entry.sampling_rate == 1 for entry in self.ledger):
            mu = one_run_mu(guesses, right, self.scores.size, confidence)
            return float(gaussian.epsilon(mu, delta)) if mu > 0 else 0.0
        return one_run_epsilon(guesses, right, self.scores.size, delta, confidence)


def attack_one_run(
    model: Any,
    data: Any,
    plan: PrivacyPlan,
    *,
    canaries: int,
    seed: int | None = None,
    on_attack: OnAttack | None = None,
) -> OneRunAudit:
    """Train once with every canary included or left out by a coin, and guess the coins.

    Canaries are made-up records of the data's type. The attacker knows all records and what each canary
    adds to each release. For the coins this is a linear model with Gaussian noise, and its best linear
    estimate scores them.

    Parameters
    ----------
    model, plan
        Model and plan to audit.
    data
        Public or generated records, as many as the plan is for; the canaries replace the last ones.
    canaries
        Number of canaries.
    seed
        Seed of the run; None draws from the operating system.
    on_attack
        Called after each step with the number of steps done; True stops.

    Returns
    -------
    OneRunAudit
        Score and coin of each canary.
    """
    if len(data) != plan.records:
        raise ValueError(f"the plan is for {plan.records} records, but the data has {len(data)}")
    validate.whole("canaries", canaries, low=4, high=min(len(data), _most_canaries(model, plan)))
    randomness, ledger = Randomness.of(seed), Ledger(plan.records, seeded=seed is not None)
    last = np.arange(len(data)) >= len(data) - canaries
    others = data[~last]
    planted = data.adversarial(canaries, randomness.derive("made up").generator())
    took_part = randomness.derive("canaries").coins(canaries, 0.5)
    inspector, shares_on_grid = Inspector(plan.steps), list[float]()
    information, evidence = np.zeros((canaries, canaries)), np.zeros(canaries)
    for watched in rehearse(model, Parts((others, planted[took_part])), plan, randomness, ledger):
        inspector.look(watched)
        shares_on_grid.append(float(multiples(watched.released, ledger).mean()))
        for added_information, added_evidence in _evidence(model, watched, others, planted, plan):
            information += added_information
            evidence += added_evidence
        if on_attack is not None and on_attack(watched.number + 1) is True:
            break
    scores = _scores(information, evidence)
    return OneRunAudit(ledger, scores, took_part, tuple(shares_on_grid), inspector.findings())


def _most_canaries(model: Any, plan: PrivacyPlan) -> int:
    """Return the number of canaries whose contributions fit in memory."""
    cells = (block.shape for step in range(plan.steps) for block in model.blocks(plan, step).values())
    return int(_MOST_CELLS // max(math.prod(shape) for shape in cells))


def _evidence(
    model: Any, watched: WatchedStep, others: Any, planted: Any, plan: PrivacyPlan
) -> Iterator[tuple[Array, Array]]:
    """Yield the evidence of each block of a step about the coins: SᵀS/s² and Sᵀr/s².

    The columns of S are what the canaries add, on average over the batch's coins, r is the release without
    the other records, and s the noise's standard deviation.
    """
    contribution = functools.partial(contribution_of, model, watched.params, plan=plan, step=watched.number)
    released, known = watched.released, contribution(others)
    contributions = [contribution(canary) for canary in singles(planted)]
    for name, noise_std in released.noise_std.items():
        columns = np.array([np.ravel(own[name]) for own in contributions], np.float32)
        columns *= np.float32(released.sampling_rate / noise_std)
        rest = np.ravel(released.sums[name] - released.sampling_rate * known[name]) / noise_std
        yield np.asarray(columns @ columns.T, np.float64), np.asarray(columns @ rest, np.float64)


def _scores(information: Array, evidence: Array) -> Array:
    """Return the log odds of each coin by the best linear estimate, with prior mean ½ and variance ¼."""
    size = evidence.size
    covariance = scipy.linalg.inv(information + 4 * np.eye(size))
    estimate = covariance @ (evidence - information @ np.full(size, 0.5))
    return np.asarray(estimate / np.diag(covariance))
