"""Randomised response, which two lessons share: each person's own coin decides whether the answer is true."""

import math

import numpy as np

from vips_core.kernels import Array


def truth_probability(epsilon: float) -> float:
    """Chance of a true answer that is ε-private: its odds are e^ε (Warner 1965)."""
    return 1 / (1 + math.exp(-epsilon))


def unbiased(said_yes: Array, epsilon: float) -> Array:
    """Estimate the true share from the share of those who said yes."""
    truth = truth_probability(epsilon)
    return np.asarray((said_yes - (1 - truth)) / (2 * truth - 1))


def estimates(share: float, people: int, epsilon: float, surveys: int, seed: int) -> Array:
    """Estimates of as many surveys of people of whom this share would truly say yes."""
    truth, rng = truth_probability(epsilon), np.random.default_rng(seed)
    yes = round(share * people)
    said_yes = rng.binomial(yes, truth, surveys) + rng.binomial(people - yes, 1 - truth, surveys)
    return unbiased(said_yes / people, epsilon)


def standard_error(people: float, epsilon: float) -> float:
    """Spread of the estimate due to the coins alone."""
    truth = truth_probability(epsilon)
    return math.sqrt(truth * (1 - truth) / people) / (2 * truth - 1)
