"""Two attacks by whoever knows everything but one coin: at the wall, and on one whole run.

Both need raw statistics of records that the attacker knows, so they run on public or generated records only.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vips_core import validate
from vips_core.audits.bounds import best_rates, one_run_epsilon, rates_at
from vips_core.audits.support import on_the_grid
from vips_core.privacy.blocks import FloatArray, Released
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import blocks_with_noise, release

Array = npt.NDArray[np.float64]
OnAttack = Callable[[int], object]  # of how many are done; True stops


@dataclass(frozen=True)
class WallAudit:
    """What the likelihood ratio of many releases shows, with and without one person.

    Attributes
    ----------
    ledger
        Of one release: what is claimed.
    present, absent
        Log likelihood ratios of releases with and without the person.
    on_the_grid
        Share of released numbers that are multiples of the block's public step, with and without.
    """

    ledger: Ledger
    present: Array
    absent: Array
    on_the_grid: tuple[float, float]

    def measured(self, delta: float, confidence: float) -> float:
        """Return the lower bound on ε, for a Gaussian release the tighter one at a threshold known before.

        Parameters
        ----------
        delta
            δ of the claim.
        confidence
            How often the bound is right, at least.
        """
        if all(entry.sampling_rate == 1 for entry in self.ledger):
            return rates_at(0.0, self.present, self.absent).gaussian_epsilon(delta, confidence)
        return best_rates(self.present, self.absent, delta, confidence).epsilon(delta, confidence)


@dataclass(frozen=True)
class OneRunAudit:
    """What one run shows in which every canary took part by a fair coin.

    Attributes
    ----------
    ledger
        Of the run: what is claimed.
    scores, took_part
        Of each canary: the attack's score, and the coin.
    on_the_grid
        Of each step: the share of released numbers that are multiples of the block's public step.
    """

    ledger: Ledger
    scores: Array
    took_part: npt.NDArray[np.bool_]
    on_the_grid: tuple[float, ...]

    def right(self) -> tuple[int, int]:
        """Return how many of the surest half of the guesses are right, and how many guesses these are.

        The quarter of the canaries with the highest scores is said to have taken part, and the quarter with
        the lowest not to: a number that does not depend on the result.
        """
        quarter = max(1, self.scores.size // 4)
        order = np.argsort(self.scores, kind="stable")
        right = self.took_part[order[-quarter:]].sum() + (~self.took_part[order[:quarter]]).sum()
        return int(right), 2 * quarter

    def measured(self, delta: float, confidence: float) -> float:
        """Return the lower bound on ε, right at least as often as `confidence` says."""
        right, guesses = self.right()
        return one_run_epsilon(guesses, right, self.scores.size, delta, confidence)


def attack_the_wall(
    model: Any,
    params: Any,
    person: Any,
    plan: PrivacyPlan,
    *,
    releases: int,
    step: int = 0,
    seed: int | None = None,
    on_attack: OnAttack | None = None,
) -> WallAudit:
    """Release again and again with and without one person, nobody else, and score by the likelihood ratio.

    Parameters
    ----------
    model, params
        What is measured, and where.
    person
        A data set of one public or generated record; `strongest` finds a telling one.
    plan, step
        The plan whose step is released: its noise, its sampling rate and its number of persons.
    releases
        How many, half of them with the person.
    seed
        None draws from the operating system.
    on_attack
        Called after each release with their number; True stops.

    Returns
    -------
    WallAudit
        Scores of all releases that were made.
    """
    validate.whole("releases", releases, low=4, high=10**7)
    if len(person) != 1:
        raise ValueError(f"the attack is on one person, got {len(person)} records")
    nobody = person[np.zeros(1, np.bool_)]
    share = _share(model, params, person, plan, step)
    scores: dict[bool, list[float]] = {True: [], False: []}
    multiples = {True: 0, False: 0}
    cells, ledger = 0, Ledger(plan.records)
    randomness = Randomness.of(seed)
    for attack in range(releases):
        there = attack % 2 == 0
        ledger = Ledger(plan.records, seeded=seed is not None)
        released = release(
            model,
            params,
            person if there else nobody,
            plan,
            step,
            randomness.derive("attack", attack),
            ledger,
        )
        scores[there].append(_log_likelihood_ratio(released.sums, released, share))
        is_multiple = _multiples(released, ledger)
        multiples[there] += int(is_multiple.sum())
        cells = is_multiple.size
        if on_attack is not None and on_attack(attack + 1) is True and attack >= 3:
            break
    present, absent = (np.array(scores[there]) for there in (True, False))
    shares = tuple(multiples[there] / (cells * len(scores[there])) for there in (True, False))
    return WallAudit(ledger, present, absent, (shares[0], shares[1]))


def strongest(model: Any, params: Any, data: Any, plan: PrivacyPlan, step: int = 0, most: int = 200) -> Any:
    """Return the one record of public data, of at most so many looked at, that moves a release the most."""
    looked_at = np.unique(np.linspace(0, len(data) - 1, min(most, len(data))).astype(int))
    alone = [data[np.arange(len(data)) == place] for place in looked_at]
    return max(
        alone, key=lambda person: _distance(_share(model, params, person, plan, step), plan, model, step)
    )


def attack_one_run(
    model: Any,
    data: Any,
    is_canary: npt.NDArray[np.bool_],
    plan: PrivacyPlan,
    *,
    seed: int | None = None,
    on_attack: OnAttack | None = None,
) -> OneRunAudit:
    """Train once with every canary in or out by a coin, and guess the coins (Steinke et al. 2023).

    Parameters
    ----------
    data
        Public or generated records, canaries among them; the plan is for all of them.
    is_canary
        Which of them are canaries.
    on_attack
        Called after each step with its number; True stops.

    Returns
    -------
    OneRunAudit
        Score and coin of each canary.
    """
    if len(data) != plan.records:
        raise ValueError(f"the plan is for {plan.records} records, but the data has {len(data)}")
    randomness = Randomness.of(seed)
    places = np.flatnonzero(is_canary)
    validate.whole("the number of canaries", places.size, low=4)
    took_part = randomness.derive("canaries").coins(places.size, 0.5)
    kept = np.ones(len(data), np.bool_)
    kept[places[~took_part]] = False
    others, trained_on = data[~is_canary], data[kept]
    canaries = [data[np.arange(len(data)) == place] for place in places]
    ledger, scores = Ledger(plan.records, seeded=seed is not None), np.zeros(places.size)
    shares_on_grid = []
    params = model.init(plan, randomness.derive("start").generator())
    for step in range(plan.steps):
        released = release(model, params, trained_on, plan, step, randomness, ledger)
        shares_on_grid.append(float(_multiples(released, ledger).mean()))
        known = _share(model, params, others, plan, step)
        rest = {name: released.sums[name] - plan.sampling_rate * known[name] for name in known}
        for place, canary in enumerate(canaries):
            scores[place] += _log_likelihood_ratio(rest, released, _share(model, params, canary, plan, step))
        params = model.m_step(params, released, step)
        if on_attack is not None and on_attack(step + 1) is True:
            break
    return OneRunAudit(ledger, scores, took_part, tuple(shares_on_grid))


def _share(model: Any, params: Any, records: Any, plan: PrivacyPlan, step: int) -> Mapping[str, Array]:
    """What these records add to each block, without noise: the attacker knows them."""
    _, blocks = blocks_with_noise(model.blocks(plan, step), plan)
    sums: Mapping[str, Array] = model.e_step(params, records, blocks).sums
    return sums


def _multiples(released: Released, ledger: Ledger) -> npt.NDArray[np.bool_]:
    """Of each number of the last release: whether it is a multiple of the step that the ledger names."""
    blocks = list(ledger)[-1].blocks
    cells = [on_the_grid(released.sums[name], block.grid).reshape(-1) for name, block in blocks.items()]
    return np.concatenate(cells)


def _distance(share: Mapping[str, Array], plan: PrivacyPlan, model: Any, step: int) -> float:
    noise_std, _ = blocks_with_noise(model.blocks(plan, step), plan)
    return sum(float((share[name] ** 2).sum()) / max(noise_std[name], 1e-300) ** 2 for name in share)


def _log_likelihood_ratio(
    sums: Mapping[str, FloatArray], released: Released, share: Mapping[str, Array]
) -> float:
    """log of P(release | person) / P(release | nobody), where the person is in the batch by chance q."""
    ratio = 0.0
    for name, own in share.items():
        ratio += float((sums[name] * own).sum() - (own**2).sum() / 2) / released.noise_std[name] ** 2
    rate = released.sampling_rate
    return ratio if rate == 1 else float(np.logaddexp(math.log1p(-rate), math.log(rate) + ratio))
