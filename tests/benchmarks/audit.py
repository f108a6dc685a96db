"""Attacks on all models and variants: how close to the claim they come, and whether last bits tell.

Two tables. *Wall*: many releases with and without the most influential record tried, the ε that they show at
99.9 % confidence, over the claimed one. *Support*: in fits with and without the person, how often NumPy's
noise on a sum of 0 could not have given the release of step 1, 2 or 16. Both must be equally frequent.

Run: nice python -m tests.benchmarks.audit [--releases 100000] [--fits 3000] [--only wall|support]
"""

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import vips_core as vips
from vips_core.audits.inspection import possible_without_the_person
from vips_core.audits.wall_attack import attack_the_wall
from vips_core.privacy.noise import Randomness
from vips_core.privacy.wall import release

DELTA, CONFIDENCE, NOISE = 1e-5, 0.999, 2.0
STEPS, LOOKS = 16, (1, 2, 16)
PEOPLE = 60
MOST_CELLS = 20  # of a block that are examined


@dataclass(frozen=True)
class Case:
    """A model, and records: people who are always there, then candidates for the one who may be absent."""

    name: str
    model: Any
    records: Any

    def there(self, with_person):
        """The people, with the first candidate or with nothing in its place."""
        return self.records[np.arange(len(self.records)) < PEOPLE + with_person]


def cases():
    """Return all models in both variants, small."""
    rng = np.random.default_rng(0)
    words = tuple("abcdefgh")
    counts = np.vstack([rng.integers(0, 4, (PEOPLE, 8)), 20 * np.eye(8, dtype=int)])
    corpus = vips.Documents.from_counts(counts, words)
    people = np.column_stack([np.full(PEOPLE, 0.5), rng.random((PEOPLE, 3)) / 4])
    farthest = np.vstack([np.full((1, 4), 0.5), np.eye(4)])
    x = np.vstack([people, farthest, -farthest])
    names = ("intercept", "a", "b", "c")
    rows = vips.Table(x, rng.random(len(x)) < 0.5, names, 1.0)
    pixels = np.vstack([rng.random((PEOPLE, 9)), np.ones((1, 9)), np.zeros((1, 9)), np.eye(9)])
    images = vips.Images.from_images(pixels, 0.5)
    for variant in ("refined", "paper"):
        yield Case(f"lda {variant}", vips.LDA(2, words, 20, variant=variant), corpus)
        yield Case(f"logistic {variant}", vips.BayesianLogistic(names, 1.0, variant), rows)
        yield Case(f"sbn {variant}", vips.SBN(9, 2, variant=variant), images)


def plan(steps):
    return vips.PrivacyPlan(
        records=PEOPLE + 1, expected_batch=PEOPLE + 1, steps=steps, noise_multiplier=NOISE, delta=DELTA
    )


def wall(releases):
    """Print measured over claimed ε of each model and variant, for the step that comes closest."""
    print(f"wall: {releases:,} releases each, {CONFIDENCE:.1%} confidence, σ = {NOISE}")
    for case in cases():
        start, records = time.process_time(), case.records[np.arange(len(case.records)) <= PEOPLE]
        audit = attack_the_wall(case.model, records, plan(STEPS), releases=releases)
        attack, measured = audit.worst(DELTA, CONFIDENCE)
        claimed = attack.ledger.epsilon(DELTA)
        print(
            f"  {case.name:<18} step {attack.step + 1} of {[one.step + 1 for one in audit.attacks]}: "
            f"{measured:.3f} of {claimed:.3f} = {measured / claimed:.1%}, "
            f"on the grid {attack.on_the_grid}, {time.process_time() - start:.0f} s",
            flush=True,
        )
        assert measured <= claimed, f"the claim of {case.name} is refuted"
        assert audit.findings == ()


def support(fits):
    """Print how often last bits look impossible without the person, with and without."""
    print(f"support: {fits:,} fits each, with and without the person, {STEPS} steps")
    for case in cases():
        start = time.process_time()
        flagged = {there: _flagged(case, there, fits) for there in (True, False)}
        for look in LOOKS:
            with_person, without = (flagged[there][look] / fits for there in (True, False))
            pooled = (with_person + without) / 2
            allowed = 4 * math.sqrt(max(2 * pooled * (1 - pooled), 1 / fits) / fits)
            print(
                f"  {case.name:<18} step {look:>2}: {with_person:.4f} with, {without:.4f} without, "
                f"difference {with_person - without:+.4f} (noise allows {allowed:.4f})",
                flush=True,
            )
            assert abs(with_person - without) <= allowed, f"last bits of {case.name} tell"
        print(f"  {case.name:<18} {time.process_time() - start:.0f} s", flush=True)


def _flagged(case, with_person, fits):
    """Return, by step, the runs whose release NumPy's noise on a sum of 0 cannot have given."""
    data, public = case.there(with_person), plan(STEPS)
    releases = {look: {} for look in LOOKS}
    for _ in range(fits):
        randomness, ledger = Randomness.of(None), vips.Ledger(public.records)
        params = case.model.init(public, randomness.derive("start").generator())
        for step in range(STEPS):
            released = release(case.model, params, data, public, step, randomness, ledger)
            params = case.model.m_step(params, released, step)
            for name, cells in released.sums.items() if step + 1 in LOOKS else ():
                _, of_block = releases[step + 1].setdefault(name, (released.noise_std[name], []))
                of_block.append(np.ravel(cells)[:MOST_CELLS])
    return {look: int(_impossible(blocks).sum()) for look, blocks in releases.items()}


def _impossible(blocks):
    flags = [~possible_without_the_person(np.array(cells), std).all(axis=1) for std, cells in blocks.values()]
    return np.any(flags, axis=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=100_000)
    parser.add_argument("--fits", type=int, default=3000)
    parser.add_argument("--only", choices=("wall", "support"))
    options = parser.parse_args()
    if options.only != "support":
        wall(options.releases)
    if options.only != "wall":
        support(options.fits)
