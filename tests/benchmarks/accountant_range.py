"""Random plans over the allowed range: no traceback, no NaN, at most 2 seconds, never below the truth.

Seconds are processor time, so that other work on the machine does not count.

Run: nice python -m tests.benchmarks.accountant_range [--plans 100000] [--sample 300] [--processes 2]

With --plans-done and --sample-done it continues an earlier run.
"""

import argparse
import collections
import math
import multiprocessing
import time

import numpy as np

from tests.privacy.reference import true_epsilon
from vips_core.privacy import accountants
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.events import (
    LEAST_DELTA,
    LEAST_NOISE,
    LEAST_RATE,
    MOST_NOISE,
    MOST_STEPS,
    SampledGaussian,
)
from vips_core.privacy.plan import PrivacyPlan

SECONDS = 2.0
BELOW = 1e-6  # largest relative excess of the truth over an answer
SOUND = [name for name in ACCOUNTANTS if name != "strong_paper"]
# Allowed rise of ε (relative, absolute) when noise is added: from RDP's search, and from PLD's grid, which is
# coarse for rare large losses.
WIGGLE = {"rdp": (1e-4, 0.0), "pld": (0.1, 1e-3)}


def draw(rng):
    """Return events and δ, log-uniform over the whole range, with its ends and full batches now and then."""
    many = 1 if rng.random() < 0.7 else int(rng.integers(2, 6))
    return [_event(rng) for _ in range(many)], min(_log_uniform(rng, LEAST_DELTA, 1), 1 - 1e-9)


def problems_of(events, delta):
    """Ask every accountant; return what is wrong with the answers, and the longest time."""
    found, slowest = [], 0.0
    for name in ACCOUNTANTS:
        start = time.process_time()
        value = _answer(events, delta, name, found)
        slowest = max(slowest, time.process_time() - start)
        if value is not None and not value >= 0:
            found.append(f"{name} says {value}")
    if slowest > SECONDS:
        found.append(f"took {slowest:.2f} s")
    return found, slowest


def problems_with_more_noise(events, delta):
    """Return which accountants charge more for more noise."""
    noisier = [
        SampledGaussian(e.sampling_rate, min(e.noise_multiplier * 1.5, MOST_NOISE), e.count) for e in events
    ]
    found = []
    for name in ACCOUNTANTS:
        before, after = (_answer(each, delta, name, found) for each in (events, noisier))
        if name == "moments_paper" or before is None or after is None:  # its range of orders jumps with noise
            continue
        relative, absolute = WIGGLE.get(name, (1e-9, 0.0))
        if after > before * (1 + relative) + absolute:
            found.append(f"{name} says {before} and with more noise {after}")
    return found


def problems_of_calibration(rng):
    """Solve a random plan for one of its values; return what is wrong, and the time."""
    records = int(_log_uniform(rng, 1, 1e9))
    plan = PrivacyPlan(
        records=records,
        expected_batch=int(_log_uniform(rng, 1, records)),
        steps=int(_log_uniform(rng, 1, MOST_STEPS)),
        noise_multiplier=_log_uniform(rng, LEAST_NOISE, MOST_NOISE),
        delta=min(_log_uniform(rng, LEAST_DELTA, 1), 1 - 1e-9),
    )
    target, name = _log_uniform(rng, 1e-3, 1e3), str(rng.choice(list(ACCOUNTANTS)))
    solve = str(rng.choice(["noise_multiplier", "steps", "expected_batch"]))
    found, start = [], time.process_time()
    try:
        reached = plan.calibrate(target, name, solve).epsilon(name)
        if not reached <= target * (1 + 1e-9):
            found.append(f"reaches {reached} for {target}")
    except ValueError as error:
        found += _not_one_sentence(error)
    except Exception as error:
        found.append(repr(error))
    seconds = time.process_time() - start
    found += [f"took {seconds:.2f} s"] if seconds > SECONDS else []
    return [f"{one}: {plan} {target} {name} {solve}" for one in found], seconds


def problems_against_the_truth(events, delta, cells=2**17):
    """Return answers below the slow reference, PLD's relative excess over it, and the reference's error."""
    tight = accountants.account(events, delta, "pld").epsilon
    truth, doubt = true_epsilon(events, delta, cells)
    if doubt > BELOW or tight > 2 * truth:
        truth, doubt = true_epsilon(events, delta, cells=8 * cells)
    found = []
    for name in SOUND:
        value = accountants.account(events, delta, name).epsilon
        if value is not None and value < truth * (1 - BELOW - min(doubt, 1)):
            found.append(f"{name} says {value}, the truth is {truth} (±{doubt:.1e})")
    return found, tight / truth - 1 if truth > 0 else 0.0, doubt


def _event(rng):
    rate = 1.0 if rng.random() < 0.1 else _log_uniform(rng, LEAST_RATE, 1)
    return SampledGaussian(
        rate, _log_uniform(rng, LEAST_NOISE, MOST_NOISE), int(_log_uniform(rng, 1, MOST_STEPS))
    )


def _log_uniform(rng, low, high):
    if rng.random() < 0.03:
        return float(rng.choice([low, high]))
    return float(min(max(math.exp(rng.uniform(math.log(low), math.log(high))), low), high))


def _answer(events, delta, name, found):
    try:
        return accountants.account(events, delta, name).epsilon
    except ValueError as error:
        found += _not_one_sentence(error) or [f"{name} refuses: {error}"]
    except Exception as error:
        found.append(f"{name} fails: {error!r}")


def _not_one_sentence(error):
    text = str(error)
    return [] if "\n" not in text and 0 < len(text) < 300 else [f"not one sentence: {text!r}"]


def _part(arguments):
    """Do one process's part: plans, one in ten also with more noise and one in a hundred calibrated."""
    seed, plans = arguments
    rng = np.random.default_rng([15, seed])
    found, times, solving = [], [], []
    for i in range(plans):
        events, delta = draw(rng)
        wrong, seconds = problems_of(events, delta)
        times.append(seconds)
        if i % 10 == 0 and delta <= 0.01:
            wrong += problems_with_more_noise(events, delta)
        found += [f"{one}: {events} δ={delta}" for one in wrong]
        if i % 100 == 0:
            wrong, seconds = problems_of_calibration(rng)
            found += wrong
            solving.append(seconds)
    return found, times, solving


def _compare(seed):
    events, delta = draw(np.random.default_rng([16, seed]))
    return events, delta, *problems_against_the_truth(events, delta)


def main():
    """Run it all and print what was found."""
    options = argparse.ArgumentParser()
    for name, default in (("--plans", 100_000), ("--sample", 300), ("--processes", 2)):
        options.add_argument(name, type=int, default=default)
    options.add_argument("--plans-done", type=int, default=0, help="plans of an earlier part of the run")
    options.add_argument("--sample-done", type=int, default=0, help="sample of an earlier part of the run")
    chosen = options.parse_args()
    with multiprocessing.Pool(chosen.processes) as pool:
        excesses, below, unresolved = [], 0, 0
        sample = range(chosen.sample_done, chosen.sample)
        for events, delta, wrong, excess, doubt in pool.imap_unordered(_compare, sample):
            excesses.append(excess)
            below += bool(wrong)
            if doubt > BELOW:
                unresolved += 1
                print(f"UNSURE by {doubt:.1e}: {events} δ={delta}", flush=True)
            for one in wrong:
                print(f"BELOW {one}: {events} δ={delta}", flush=True)
        if excesses:
            middle, high, worst = np.quantile(excesses, [0.5, 0.9, 1])
            print(
                f"{len(sample)} plans against the reference: {below} below the truth, {unresolved} where "
                f"it is not sure to {BELOW:g}; excess of PLD: {middle:.1e} (median), {high:.1e} (90 %), "
                f"{worst:.1e} (most)",
                flush=True,
            )
        share = 250
        parts = [(seed, share) for seed in range(chosen.plans_done // share, chosen.plans // share)]
        times, solving, counts, done = [], [], collections.Counter(), 0
        for found, seconds, solved in pool.imap_unordered(_part, parts):
            done, times, solving = done + share, times + seconds, solving + solved
            for one in found:
                counts[one.split()[0]] += 1
                print(f"PROBLEM {one}", flush=True)
            if done % 5_000 == 0:
                _report(done, times, solving, counts)
    if done:
        _report(done, times, solving, counts)


def _report(done, times, solving, counts):
    print(
        f"{done:,} plans: {sum(counts.values())} problems {dict(counts)}; slowest accountant of a plan: mean "
        f"{np.mean(times) * 1e3:.0f} ms, most {max(times):.2f} s; {len(solving):,} calibrations: mean "
        f"{np.mean(solving) * 1e3:.0f} ms, most {max(solving):.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
