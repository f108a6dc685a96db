"""Topics of two generations: a few form first, then they are split, and the parts go apart.

While topics form, all that they have to go by is small differences, and a cell's noise does not depend on how
many topics there are: with half of them every cell holds twice as much. What the first generation has learned
is a start for the second which random numbers are not.
"""

import numpy as np
import numpy.typing as npt

from vips_core.kernels import Array

FORMING_STEPS = 2  # that measure the first generation: 3 did as well, 4 less
FEWEST_SPLIT = 10  # topics: where the noise leaves room for fewer, halves of them say too little
APART = 100.0  # shape of the gamma distribution by which the parts of a topic differ


def first_generation(topics: int) -> int:
    """Return how many topics are formed first, of the number that is wanted."""
    return topics if topics < FEWEST_SPLIT else -(-topics // 2)


def parents(mass: Array, topics: int) -> npt.NDArray[np.int64]:
    """Return each new topic's parent: always the one of the largest parts is split once more."""
    parts = np.ones(len(mass), np.int64)
    for _ in range(topics - len(mass)):
        parts[np.argmax(mass / parts)] += 1
    return np.repeat(np.arange(len(mass)), parts)


def part_sizes(parent: npt.NDArray[np.int64]) -> Array:
    """Return which part of its parent each topic is, as a column."""
    return np.asarray(1 / np.bincount(parent)[parent])[:, None]


def apart(rows: Array, seed: int) -> Array:
    """Return topics whose words differ a little by chance."""
    return rows * np.random.default_rng(seed).gamma(APART, 1 / APART, rows.shape)
