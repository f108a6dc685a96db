"""The attack on single releases, with and without one person, by an attacker who knows everything else.

It needs raw statistics of the records, so it runs on public or generated records only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vips_core import validate
from vips_core.audits.bounds import best_rates, rates_at
from vips_core.audits.inspection import (
    Inspector,
    Parts,
    WatchedStep,
    bound_findings,
    contribution_of,
    multiples,
    rehearse,
    singles,
)
from vips_core.kernels import Array
from vips_core.privacy.blocks import Released
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import blocks_with_noise, release

OnAttack = Callable[[int], object]  # called with the number of attacks done; returning True stops

# Candidates for the most influential record: evenly spread records of the data set, and made-up ones. Each
# costs an E-step; more candidates find a stronger attack, never an invalid one.
MOST_RECORDS, ADVERSARIAL = 2000, 50


@dataclass(frozen=True)
class StepAttack:
    """Likelihood ratios of many releases of one step, with and without one person.

    Attributes
    ----------
    step
        Its number, from 0.
    ledger
        Ledger of one release: the claim.
    present, absent
        Log likelihood ratios of releases with and without the person.
    on_the_grid
        Share of released numbers that are multiples of their public grid step, with and without the person.
    """

    step: int
    ledger: Ledger
    present: Array
    absent: Array
    on_the_grid: tuple[float, float]

    def measured(self, delta: float, confidence: float) -> float:
        """Return the lower bound on ε; for a Gaussian release, the tighter one at a fixed threshold.

        Parameters
        ----------
        delta
            δ of the claim.
        confidence
            Probability that the bound is right, at least.
        """
        if all(entry.sampling_rate == 1 for entry in self.ledger):
            return rates_at(0.0, self.present, self.absent).gaussian_epsilon(delta, confidence)
        return best_rates(self.present, self.absent, delta, confidence).epsilon(delta, confidence)


@dataclass(frozen=True)
class WallAudit:
    """Attacks on a step of every kind, and an inspection of the run to which the steps belong.

    Attributes
    ----------
    attacks
        Attacks on the first and the last step of each kind.
    findings
        Sentences on the defects found by the inspection.
    """

    attacks: tuple[StepAttack, ...]
    findings: tuple[str, ...]

    def worst(self, delta: float, confidence: float) -> tuple[StepAttack, float]:
        """Return the attack that comes closest to its claim, or exceeds it the most, and its bound on ε.

        All bounds hold together with probability `confidence`.
        """
        each = 1 - (1 - confidence) / len(self.attacks)
        bounds = [(attack, attack.measured(delta, each)) for attack in self.attacks]
        return max(bounds, key=lambda bound: bound[1] / bound[0].ledger.epsilon(delta))


def attack_the_wall(
    model: Any,
    data: Any,
    plan: PrivacyPlan,
    *,
    releases: int,
    seed: int | None = None,
    on_attack: OnAttack | None = None,
) -> WallAudit:
    """Inspect one run, and attack a step of every kind in it at that step's parameters.

    Parameters
    ----------
    model, plan
        Model and plan to audit.
    data
        Public or generated records, as many as the plan is for.
    releases
        Number of releases in all, shared evenly among the attacked steps.
    seed
        Seed of the attack; None draws from the operating system.
    on_attack
        Called after each release with their number; True stops.

    Returns
    -------
    WallAudit
        Scores of all releases that were made, and the findings of the inspection.
    """
    chosen, steps = _first_and_last(model, plan), list[WatchedStep]()
    validate.whole("releases", releases, low=4 * len(chosen), high=10**7)
    randomness, inspector = Randomness.of(seed), Inspector(plan.steps)
    ledger = Ledger(plan.records, seeded=seed is not None)
    for watched in rehearse(model, Parts((data,)), plan, randomness.derive("rehearsal"), ledger):
        inspector.look(watched)
        if watched.number in chosen:
            steps.append(watched)
    findings, attacks, done = inspector.findings(), list[StepAttack](), 0
    stopped = False

    def on_release(_: int) -> bool:
        nonlocal done, stopped
        done += 1
        stopped = stopped or (on_attack is not None and on_attack(done) is True)
        return stopped

    made_up = data.adversarial(ADVERSARIAL, np.random.default_rng(0))
    candidates = [*singles(made_up), *singles(data, MOST_RECORDS)]
    ends = np.linspace(0, releases, len(steps) + 1).astype(int)
    for watched, of_step in zip(steps, np.diff(ends), strict=True):
        step = watched.number
        norms = [
            {name: float(np.linalg.norm(sums)) for name, sums in own.items()}
            for own in (contribution_of(model, watched.params, person, plan, step) for person in candidates)
        ]
        findings += bound_findings(watched.entry, step, norms)
        person = candidates[_strongest(norms, model, plan, step)]
        attacks.append(
            attack_step(
                model, watched.params, person, plan, step,
                releases=int(of_step),
                randomness=randomness.derive("attacks", step),
                seeded=seed is not None,
                on_attack=on_release,
            )
        )  # fmt: skip
        if stopped:
            break
    return WallAudit(tuple(attacks), findings)


def attack_step(
    model: Any,
    params: Any,
    person: Any,
    plan: PrivacyPlan,
    step: int,
    *,
    releases: int,
    randomness: Randomness,
    seeded: bool = False,
    on_attack: OnAttack | None = None,
) -> StepAttack:
    """Release a step repeatedly, with and without one person, and score each release by likelihood ratio.

    Parameters
    ----------
    model, params
        Model to attack, and the parameters that it starts the step from.
    person
        A data set of one public or generated record.
    plan, step
        The plan whose step is released: its noise, its sampling rate and its number of persons.
    releases
        Number of releases, half of them with the person.
    randomness
        Randomness of all releases.
    seeded
        Whether the randomness comes from a known seed.
    on_attack
        Called after each release with their number; True stops.

    Returns
    -------
    StepAttack
        Scores of all releases that were made.
    """
    if len(person) != 1:
        raise ValueError(f"person must be a data set of one record, got {len(person)} records")
    nobody = person[np.zeros(1, np.bool_)]
    contribution = contribution_of(model, params, person, plan, step)
    scores, on_grid = list[float](), list[float]()
    for attack in range(releases):  # alternately with and without the person
        ledger, records = Ledger(plan.records, seeded=seeded), nobody if attack % 2 else person
        released = release(model, params, records, plan, step, randomness.derive("attack", attack), ledger)
        scores.append(_log_likelihood_ratio(released, contribution))
        on_grid.append(float(multiples(released, ledger).mean()))
        if on_attack is not None and on_attack(attack + 1) is True and attack >= 3:
            break
    multiple = (float(np.mean(on_grid[::2])), float(np.mean(on_grid[1::2])))
    return StepAttack(step, ledger, np.array(scores[::2]), np.array(scores[1::2]), multiple)


def _first_and_last(model: Any, plan: PrivacyPlan) -> set[int]:
    """Return the first and the last step of each kind; steps of a kind have the same blocks and shapes."""
    steps: dict[Any, list[int]] = {}
    for step in range(plan.steps):
        kind = tuple((name, block.shape) for name, block in model.blocks(plan, step).items())
        steps.setdefault(kind, []).append(step)
    return {step for of_kind in steps.values() for step in (of_kind[0], of_kind[-1])}


def _strongest(norms: Sequence[Mapping[str, float]], model: Any, plan: PrivacyPlan, step: int) -> int:
    """Return the index of the record that moves the release furthest, relative to the noise."""
    noise_std, _ = blocks_with_noise(model.blocks(plan, step), plan)
    moved = [sum((norm[name] / noise_std[name]) ** 2 for name in noise_std) for norm in norms]
    return int(np.argmax(moved))


def _log_likelihood_ratio(released: Released, contribution: Mapping[str, Array]) -> float:
    """Return log P(release | person)/P(release | nobody), where the person is drawn with probability q."""
    ratio = 0.0
    for name, own in contribution.items():
        ratio += float((released.sums[name] * own).sum() - (own**2).sum() / 2) / released.noise_std[name] ** 2
    rate = released.sampling_rate
    return ratio if rate == 1 else float(np.logaddexp(math.log1p(-rate), math.log(rate) + ratio))
