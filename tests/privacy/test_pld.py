"""PLD: earlier errors at small δ, the law of one step, and the convolution with its bound on rounding."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import pld_privacy_accountant
from scipy.special import ndtr

from tests.privacy import reference
from vips_core.privacy import accountants, losses, pld
from vips_core.privacy.events import SampledGaussian


@pytest.mark.parametrize(
    ("rate", "steps", "delta", "truth"),
    [(0.01, 1000, 1e-14, 4.5437), (0.001, 20_000, 1e-13, 1.56184), (0.001, 20_000, 1e-12, 1.36920)],
)
def test_small_deltas_are_not_drowned_by_rounding(rate, steps, delta, truth):
    """Issue 15, finding 3: 4.362, 1.417 and 1.344 were claimed."""
    value = accountants.epsilon([SampledGaussian(rate, 1.0, steps)], delta, "pld")
    assert truth <= value <= truth * 1.001


@pytest.mark.parametrize(("rate", "noise"), [(0.05, 1.24), (1e-6, 0.3), (0.9, 50.0), (1.0, 2.0), (0.3, 0.1)])
def test_the_dots_keep_delta_where_they_are_and_raise_it_between(rate, noise):
    """Connecting the dots of δ as a function of e^ε leaves δ at the dots unchanged, in both directions."""
    x = losses.dots(rate, noise, reach=8.0, per_std=7)
    for way, side in enumerate(losses.connect(rate, noise, x)):
        mass = np.exp(side.log_mass)
        assert mass.sum() + side.infinite == pytest.approx(1, abs=1e-12)
        for share in (0.3, 0.6, 0.8):
            dot = float(side.losses[int(share * x.size)])
            between = dot + 0.3 * float(np.diff(x).max())
            at_dot, at_between = (
                float((mass * -np.expm1(np.minimum(epsilon - side.losses, 0))).sum()) + side.infinite
                for epsilon in (dot, between)
            )
            assert at_dot == pytest.approx(_delta(rate, noise, dot, way), rel=1e-6, abs=1e-13)
            assert at_between >= _delta(rate, noise, between, way) * (1 - 1e-9) - 1e-15


def test_the_convolution_is_that_of_the_definition_and_never_below():
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(9))
    step = losses.Side(np.arange(-4, 5) * 0.5, np.log(law), 0.0)
    other = losses.Side(np.arange(3) * 0.5, np.log([0.5, 0.25, 0.25]), 0.0)
    exact = np.array([1.0])
    for _ in range(6):
        exact = np.convolve(exact, law)
    exact = np.convolve(np.convolve(exact, [0.5, 0.25, 0.25]), [0.5, 0.25, 0.25])
    whole = losses.convolve([step, other], [6, 2], 0.5, -24, 64)
    mass = whole.mass()
    assert whole.log_scale == pytest.approx(0, abs=1e-14)
    assert (mass[: exact.size] >= exact).all()
    assert mass[: exact.size] == pytest.approx(exact, abs=1e-12)
    above = whole.excess(decay=0.01, step=0.5)
    for start in range(64):
        k = np.arange(max(0, exact.size - start))
        summed = (exact[start:] * np.exp(-0.01 * k) * -np.expm1(-0.5 * k)).sum()
        assert summed <= above(start) == pytest.approx(summed, abs=1e-12)
    shifted = losses.convolve([step, other], [6, 2], 0.5, -30, 64).mass()
    assert shifted[6:] == pytest.approx(mass[:-6], abs=1e-12)


@pytest.mark.parametrize("plan", [(0.5, 2.5, 10), (0.05, 5.3, 100), (0.01, 1.0, 1000), (0.005, 3.0, 20_000)])
def test_the_grid_is_as_fine_as_that_of_dp_accounting(plan):
    """Tested on the plans where one of the two grids is coarsest; issue 19."""
    rate, noise, steps = plan
    accountant = pld_privacy_accountant.PLDAccountant()
    sampled = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(sampled, steps))
    events = [SampledGaussian(*plan)]
    truth = reference.direction_epsilon(events, 1e-5, present=True, cells=2**17)
    assert truth <= pld.epsilon(events, 1e-5) <= accountant.get_epsilon(1e-5)


def test_full_batches_among_others_are_their_own_mirror_image():
    mixed = [SampledGaussian(1.0, 3.0, 4), SampledGaussian(0.01, 1.0, 50)]
    truth, _ = reference.true_epsilon(mixed, 1e-6, cells=2**17)
    assert truth <= accountants.epsilon(mixed, 1e-6, "pld") <= truth * 1.001


def test_deltas_are_those_of_the_reference():
    events = [SampledGaussian(0.05, 1.24, 20)]
    truth, _ = reference.true_epsilon(events, 1e-4, cells=2**15)
    assert pld.deltas(events, np.array([truth]))[0] == pytest.approx(1e-4, rel=2e-3)
    falling = pld.deltas(events, np.linspace(0, 5, 50))
    assert (np.diff(falling) <= 0).all()
    assert pld.deltas([SampledGaussian(0.05, 1.24, 10**9)], np.array([1.0]))[0] == 1


def _delta(rate, noise, epsilon, way):
    """Return δ of one step, P(loss > ε) − e^ε·Q(loss > ε), from the z at which the loss is ε."""
    ratio = 1 + math.expm1(epsilon if way == 0 else -epsilon) / rate
    if way == 1 and rate == 1:
        ratio, way = math.exp(epsilon), 0
    z = noise**2 * math.log(ratio) + 0.5 if ratio > 0 else -math.inf
    if way == 0:
        p, q = (1 - rate) * ndtr(-z / noise) + rate * ndtr((1 - z) / noise), ndtr(-z / noise)
    else:
        p, q = ndtr(z / noise), (1 - rate) * ndtr(z / noise) + rate * ndtr((z - 1) / noise)
    return max(0.0, p - math.exp(min(epsilon, 700)) * q)


@pytest.mark.parametrize(("rate", "noise", "steps"), [(1e-6, 0.1, 900), (1e-3, 0.05, 5), (0.02, 1e-3, 1)])
def test_who_is_hardly_ever_drawn_needs_no_epsilon(rate, noise, steps):
    """Two runs differ only if the record is drawn, so δ never needs to exceed that probability."""
    chance = 1 - (1 - rate) ** steps
    events = [SampledGaussian(rate, noise, steps)]
    (needed,) = pld.deltas(events, np.zeros(1))
    assert needed <= chance * (1 + 1e-6) + 1e-10
    assert pld.epsilon(events, chance * (1 + 1e-9)) == 0
    truth, doubt = reference.true_epsilon(events, 0.5 * chance)
    assert pld.epsilon(events, 0.5 * chance) >= truth * (1 - 1e-6 - doubt) > 0
