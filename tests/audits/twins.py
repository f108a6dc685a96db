"""Twelve broken twins of the product, and which of three instruments finds each.

Run: python -m tests.audits.twins
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

import vips_core as vips
from tests.toy import BetaBernoulli, Counts, coin_flips
from vips_core.audits.run_attack import attack_one_run
from vips_core.audits.verdict import verdict
from vips_core.audits.wall_attack import attack_the_wall
from vips_core.models.check import check_model
from vips_core.privacy import wall
from vips_core.privacy.noise import Randomness

CONFIDENCE, PIXELS, PEOPLE = 0.999, 300, 300
TELLING = np.arange(PIXELS) % 2  # pixels of the one record that a twin does not clip
INSTRUMENTS = ("check_model", "wall audit", "one-run audit")


@dataclass(frozen=True)
class Twin:
    """A broken model behind a sound wall, or a sound model behind a broken wall; made from the records."""

    name: str
    model: Callable[[Any], Any] = lambda records: BetaBernoulli(PIXELS, 1.0, 0.1)
    wall: Callable[[], Any] = contextlib.nullcontext
    rate: float = 1.0


def people():
    """Random images; the last but one has the pixels of the record that a twin does not clip."""
    images = coin_flips(PEOPLE, PIXELS).unpack(np.uint8)
    images[-2] = TELLING
    return vips.Images.from_images(images, 0.5)


class Unclipped(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        return vips.Raw({**raw.sums, "on": batch.unpack(np.float64).sum(axis=0)})


class OneOf300Unclipped(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw, images = super().e_step(params, batch, blocks), batch.unpack(np.float64)
        unclipped = images[(images == TELLING).all(axis=1)].sum(axis=0)
        return vips.Raw({**raw.sums, "on": raw.sums["on"] + unclipped})


class KeepsState(BetaBernoulli):
    """Starts where the previous batch ended, as an E-step that remembers its latents would."""

    last = 0.0

    def e_step(self, params, batch, blocks):
        raw, before = super().e_step(params, batch, blocks), KeepsState.last
        KeepsState.last = float(len(batch) % 2)
        return vips.Raw({**raw.sums, "images": raw.sums["images"] * (1 - before / 2)})


class PublishesSums(BetaBernoulli):
    kept = 0.0

    def e_step(self, params, batch, blocks):
        raw = super().e_step(params, batch, blocks)
        PublishesSums.kept = raw.sums["on"]
        return raw

    def m_step(self, params, released, step):
        return Counts(PublishesSums.kept, float(PEOPLE))


@dataclass(frozen=True)
class StartsAtTheMean(BetaBernoulli):
    mean: float = 0.0

    def for_records(self, data):
        return replace(self, mean=float(data.unpack(np.float64).mean()))

    def init(self, plan, rng):
        return Counts(np.full(self.pixels, self.mean), 0.0)


class DividesByTheBatch(BetaBernoulli):
    def e_step(self, params, batch, blocks):
        raw, scale = super().e_step(params, batch, blocks), PEOPLE / max(1, len(batch))
        grids = {name: block.grid for name, block in blocks.items()}
        return vips.Raw(
            {name: np.trunc(value * scale / grids[name]) * grids[name] for name, value in raw.sums.items()}
        )


def largest_norm(records):
    return float(np.linalg.norm(records.unpack(np.float64), axis=1).max())


_noisy, _entry, _derive = wall._noisy, wall._entry, Randomness.derive


def _derived(stream, *label):
    """Like `Randomness.derive`, but remembers the path to the stream."""
    child = _derive(stream, *label)
    child.way = (*getattr(stream, "way", ()), (stream, label))
    return child


def _scaled(scale):
    """A wall whose noise in step s is scale(s) of what it should be."""

    def noisy(sums, block, records, noise_std, stream):
        (step,) = [label[1] for _, label in stream.way if label[0] == "step"]
        return _noisy(sums, block, records, noise_std * scale(step), stream)

    return _broken(noisy=noisy)


def _repeated(kind):
    """A wall that draws the coins, or the noise, of step 0 in every step."""

    def derive(stream, *label):
        if label[0] == kind:
            before, _ = next(step for step in stream.way if step[1][0] == "step")
            return _derived(_derive(before, "step", 0), *label)
        return _derived(stream, *label)

    return _broken(derive=derive)


@contextlib.contextmanager
def _broken(noisy=_noisy, entry=_entry, derive=_derived):
    with (
        mock.patch.object(wall, "_noisy", noisy),
        mock.patch.object(wall, "_entry", entry),
        mock.patch.object(Randomness, "derive", derive),
    ):
        yield


def _half_the_rate(blocks, noise_std, plan):
    return replace(_entry(blocks, noise_std, plan), sampling_rate=plan.sampling_rate / 2)


def toy(kind, *arguments):
    return lambda records: kind(PIXELS, 1.0, 0.1, *arguments)


TWINS = [
    Twin("noise halved", wall=lambda: _scaled(lambda step: 1 / 2)),
    Twin("noise ÷ 8 after the first step", wall=lambda: _scaled(lambda step: 1 if step == 0 else 1 / 8)),
    Twin("un-clipped", toy(Unclipped)),
    Twin("one record in 300 un-clipped", toy(OneOf300Unclipped)),
    Twin("state kept between batches", toy(KeepsState)),
    Twin("raw sums published", toy(PublishesSums)),
    Twin("init reads the records", toy(StartsAtTheMean)),
    Twin("bound taken from the data", lambda records: BetaBernoulli(PIXELS, largest_norm(records), 0.1)),
    Twin("same noise in every step", wall=lambda: _repeated("noise")),
    Twin("coins reused", wall=lambda: _repeated("batch"), rate=0.25),
    Twin("wrong sampling rate in the ledger", wall=lambda: _broken(entry=_half_the_rate), rate=0.25),
    Twin("mean instead of sum", toy(DividesByTheBatch), rate=0.25),
]


def plan_at(rate, records=PEOPLE, steps=8, noise=4.0):
    return vips.PrivacyPlan(
        records=records,
        expected_batch=round(rate * records),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-5,
    )


def found_by(twin):
    """Return the instruments that find a twin."""
    data, plan, found = people(), plan_at(twin.rate), []
    with twin.wall():
        try:
            check_model(twin.model, data, plan)
        except ValueError:
            found.append("check_model")
        model = twin.model(data)
        audits = {
            "wall audit": lambda: attack_the_wall(model, data, plan, releases=400, seed=0),
            "one-run audit": lambda: attack_one_run(model, data, plan, canaries=200, seed=0),
        }
        found += [name for name, audit in audits.items() if verdict(audit(), plan, CONFIDENCE).refuted]
    return found


def main():
    print(f"| twin | {' | '.join(INSTRUMENTS)} |\n|---|{'---|' * len(INSTRUMENTS)}")
    for twin in [Twin("none: sound"), Twin("none: sound, batches of a quarter", rate=0.25), *TWINS]:
        found = found_by(twin)
        print(f"| {twin.name} | {' | '.join('found' if one in found else '–' for one in INSTRUMENTS)} |")


if __name__ == "__main__":
    main()
