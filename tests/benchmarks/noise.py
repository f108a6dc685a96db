"""The wall's noise, thoroughly: moments, tails, independence and last bits of many draws, in bounded memory.

python -m tests.benchmarks.noise [--draws 100_000_000] [--seed 0]

Each line is a statistic, what an ideal Gaussian gives, and how many standard errors lie between. With about
40 lines, one beyond 3 is no surprise and one beyond 5 is a defect.
"""

import argparse
import math
import time

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2, norm

from vips_core.privacy.noise import GRID_BITS, Randomness

PART = 1 << 20  # draws held at a time
STD = 1.3 * 2**GRID_BITS  # in grid steps, as in the wall: from 2^30 to 2^31
LAGS = (1, 2, 3, 7, 64, 256, 65_536)
SIGMAS = (3, 4, 5, 6)
LOW_BITS = 256
BINS = 1000  # equally likely under the ideal


def draw(draws, randomness):
    """Yield the draws in parts, as the wall draws them: whole numbers of steps."""
    for part, first in enumerate(range(0, draws, PART)):
        yield randomness.derive("noise", part).rounded_gaussian(min(PART, draws - first), STD)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100_000_000)
    parser.add_argument("--seed", type=int, default=None, help="default: the operating system's randomness")
    options = parser.parse_args()
    powers, tails, products = np.zeros(4), np.zeros((len(SIGMAS), 2)), np.zeros(len(LAGS))
    pairs, low, bins = np.zeros(len(LAGS)), np.zeros(LOW_BITS, np.int64), np.zeros(BINS, np.int64)
    drawing, n = 0.0, options.draws
    parts = draw(n, Randomness.of(options.seed))
    while True:
        start = time.process_time()
        steps = next(parts, None)
        drawing += time.process_time() - start
        if steps is None:
            break
        assert np.array_equal(steps, np.rint(steps))
        z = steps / STD
        square = z * z
        powers += z.sum(), square.sum(), (square * z).sum(), (square * square).sum()
        for place, sigma in enumerate(SIGMAS):
            tails[place] += (z < -sigma).sum(), (z > sigma).sum()
        for place, lag in enumerate(LAGS):
            products[place] += z[lag:] @ z[:-lag]
            pairs[place] += len(z) - lag
        low += np.bincount(steps.astype(np.int64) & (LOW_BITS - 1), minlength=LOW_BITS)
        bins += np.bincount(np.minimum((ndtr(z) * BINS).astype(np.int64), BINS - 1), minlength=BINS)
    print(f"{n:,} draws in {drawing:.1f} s of processor time ({n / drawing / 1e6:.1f} million a second)")
    # Standard errors of the mean, mean square, third and fourth moment of N(0, 1): √(E z²ᵏ − (E zᵏ)²)/√n
    for name, value, ideal, variance in zip(
        ("mean", "mean square", "third moment", "fourth moment"),
        powers / n,
        (0, 1, 0, 3),
        (1, 2, 15, 96),
        strict=True,
    ):
        report(name, value, ideal, math.sqrt(variance / n))
    mean, square, _, fourth = powers / n
    report("kurtosis", fourth / (square - mean**2) ** 2, 3, math.sqrt(24 / n))
    for sigma, counts in zip(SIGMAS, tails, strict=True):
        expected = n * norm.sf(sigma)
        for side, count in zip(("below −", "above "), counts, strict=True):
            report(f"{side}{sigma} σ", count, expected, math.sqrt(expected))
    for lag, product, count in zip(LAGS, products, pairs, strict=True):
        if count:
            report(f"correlation at lag {lag}", product / count, 0, 1 / math.sqrt(count))
    for name, counts in ((f"last bits, mod {LOW_BITS}", low), (f"{BINS} equally likely bins", bins)):
        statistic = ((counts - n / len(counts)) ** 2).sum() * len(counts) / n
        freedom = len(counts) - 1
        report(f"χ² of {name}", statistic, freedom, math.sqrt(2 * freedom))
        print(f"{'':30} p = {chi2.sf(statistic, freedom):.3f}")


def report(name, value, ideal, error):
    print(f"{name:30} {value:16.8g}  ideal {ideal:14.8g}  {(value - ideal) / error:+.2f} standard errors")


if __name__ == "__main__":
    main()
