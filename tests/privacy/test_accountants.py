"""Known answers of errata §1–2, oracles, and properties over random plans."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from tests.privacy.published import lda_plan
from vips_core import PrivacyPlan
from vips_core.privacy import accountants, gaussian, moments
from vips_core.privacy.events import SampledGaussian, join_full_batches

# S -> ε with the paper's range of λ, ε with λ up to 255, for each σ; N = 400,000, one epoch, δ = 1e-4.
LDA_NOISE = (1, 1.1, 1.24, 1.5, 2)


LDA = {
    5_000: ((2.3626, 1.8953, 1.5785, 1.1847, 0.6859), (1.4481, 1.1476, 0.8812, 0.5957, 0.3493)),
    10_000: ((3.1690, 2.3959, 1.9203, 1.3780, 0.8835), (1.8742, 1.5296, 1.1809, 0.7921, 0.4696)),
    20_000: ((4.7504, 3.2248, 2.4411, 1.9384, 1.1043), (2.6301, 2.1226, 1.6451, 1.1277, 0.6858)),
}


LDA_CELLS = [
    (s, noise, paper, full)
    for s, rows in LDA.items()
    for noise, paper, full in zip(LDA_NOISE, *rows, strict=True)
]


# S -> (T, published ε at q = S/50,000, ε at the true q = S/60,000 with λ up to 255, σ of strong composition)
SBN = {
    400: (150, 2.3468, 1.2154, 3.495),
    800: (75, 2.3980, 1.4682, 4.067),
    1600: (37, 3.2262, 1.9345, 4.144),
    3200: (18, 4.8253, 2.7000, 3.960),
}


@pytest.mark.parametrize(("batch", "noise", "paper", "full"), LDA_CELLS)
def test_lda_table(batch, noise, paper, full):
    plan = lda_plan(batch, noise)
    assert plan.epsilon("moments_paper") == pytest.approx(paper, abs=5e-5)
    assert plan.epsilon("moments") == pytest.approx(full, abs=5e-5)


def test_pink_circles_are_marked():
    notes = {
        (s, n): lda_plan(s, n).accounts(["moments_paper"])["moments_paper"].note for s, n, *_ in LDA_CELLS
    }
    assert {cell for cell, note in notes.items() if "pink" in note} == {(20_000, 1.5), (20_000, 2)}


@pytest.mark.parametrize("batch", SBN)
def test_sbn_table(batch):
    steps, published, true, _ = SBN[batch]
    noise = 1 + 1e-6
    event = SampledGaussian(batch / 50_000, noise, steps)
    most = moments.paper_max_lambda(batch / 50_000, noise)
    assert moments.epsilon([event], 1e-4, most)[0] == pytest.approx(published, abs=2e-4)
    plan = PrivacyPlan(records=60_000, expected_batch=batch, epochs=1, noise_multiplier=noise, delta=1e-4)
    assert plan.steps == steps
    assert plan.epsilon("moments") == pytest.approx(true, abs=1e-4)


def test_tight_accounting_of_the_papers_plan():
    plan = lda_plan()
    assert plan.epsilon("rdp") == pytest.approx(1.21, abs=0.005)
    assert plan.epsilon("pld") == pytest.approx(0.93, abs=0.005)
    assert plan.calibrate(2.44).noise_multiplier == pytest.approx(0.82, abs=0.005)


def test_strong_composition_of_the_paper():
    plan = lda_plan()
    calibrated = plan.calibrate(plan.epsilon("moments_paper"), "strong_paper")
    assert calibrated.noise_multiplier == pytest.approx(4.337, abs=5e-4)
    assert accountants.paper_step_epsilon(calibrated.noise_multiplier) == pytest.approx(1.222, abs=5e-4)


@pytest.mark.parametrize("batch", SBN)
def test_strong_composition_of_the_papers_sbn(batch):
    steps, published, _, noise = SBN[batch]
    event = SampledGaussian(batch / 50_000, noise, steps)
    assert accountants.paper_epsilon(event, 1e-4, delta_iter=1e-9, drift=0.5) == pytest.approx(
        published, rel=5e-4
    )


def test_counting_two_queries_as_twice_the_steps_is_unsound():
    """Errata §4: the paper's 2T claim for logistic regression against the joint release."""
    plan = PrivacyPlan(records=1000, expected_batch=5, steps=100, noise_multiplier=1.0, delta=1e-4)
    claimed = plan.replace(steps=200).epsilon("pld")
    right = plan.replace(noise_multiplier=2**-0.5).epsilon("pld")
    assert claimed == pytest.approx(0.32, abs=0.01)
    assert right == pytest.approx(0.86, abs=0.01)


@pytest.mark.parametrize(
    ("rate", "noise", "order"), [(0.05, 1.24, 1.1), (0.3, 0.8, 2.5), (0.01, 5.0, 20.5), (0.5, 0.4, 1.7)]
)
def test_renyi_divergence_against_quadrature(rate, noise, order):
    def integrand(z):
        ratio = (1 - rate) + rate * math.exp((2 * z - 1) / (2 * noise**2))
        return math.exp(-(z**2) / (2 * noise**2)) / (math.sqrt(2 * math.pi) * noise) * ratio**order

    points = [-12 * noise, 0, order, order + 12 * noise]
    total = sum(
        quad(integrand, a, b, limit=500, epsabs=0, epsrel=1e-12)[0]
        for a, b in zip(points, points[1:], strict=False)
    )
    assert moments.renyi_divergence([SampledGaussian(rate, noise)], order) == pytest.approx(
        math.log(total) / (order - 1), rel=1e-8
    )


@pytest.mark.parametrize(
    ("rate", "noise", "steps"), [(0.05, 1.24, 20), (0.001, 0.7, 10**4), (0.3, 3, 50), (1, 5, 10)]
)
def test_rdp_against_dp_accounting(rate, noise, steps):
    """At integer orders; at fractional ones dp-accounting's series is an upper bound only."""
    orders = [*range(2, 64), 128, 256]
    oracle = rdp_privacy_accountant.RdpAccountant(orders)
    sampled = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    oracle.compose(dp_accounting.SelfComposedDpEvent(sampled, steps))
    events = [SampledGaussian(rate, noise, steps)]
    ours = min(moments.rdp_to_epsilon(a, moments.renyi_divergence(events, a), 1e-5) for a in orders)
    assert ours == pytest.approx(oracle.get_epsilon(1e-5), rel=1e-4)
    assert moments.rdp_epsilon(events, 1e-5) <= ours * (1 + 1e-6)


@pytest.mark.parametrize("lam", [1, 2, 7, 40])
def test_integer_and_real_orders_agree(lam):
    from vips_core.privacy.moments import log_moment

    for rate, noise in [(0.05, 1.24), (0.5, 0.5), (1e-4, 3.0), (1.0, 2.0)]:
        assert log_moment(rate, noise, lam) == pytest.approx(
            lam * moments.renyi_divergence([SampledGaussian(rate, noise)], lam + 1.0), rel=1e-9
        )


def test_moments_search_finds_the_best_order():
    from vips_core.privacy.moments import MAX_LAMBDA, log_moment

    rng = np.random.default_rng(0)
    for _ in range(50):
        rate, noise, steps = rng.uniform(1e-4, 1), 10 ** rng.uniform(-0.4, 1.5), int(10 ** rng.uniform(0, 4))
        every = [
            (steps * log_moment(rate, noise, lam) + math.log(1e5)) / lam for lam in range(1, MAX_LAMBDA + 1)
        ]
        found, order = moments.epsilon([SampledGaussian(rate, noise, steps)], 1e-5)
        assert every[order - 1] == min(every)
        assert 0 <= found / min(every) - 1 < 1e-13  # rounded up


@pytest.mark.parametrize("noise", [0.3, 1.0, 1000.0])
@pytest.mark.parametrize("rate", [1e-7, 1e-3, 1.0])
@pytest.mark.parametrize("steps", [1, 10**6])
def test_moments_never_overflow(noise, rate, steps):
    value, _ = moments.epsilon([SampledGaussian(rate, noise, steps)], 1e-6)
    assert math.isfinite(value)
    assert value > 0


def test_gaussian_against_the_textbook_values():
    # δ(ε) by direct integration of the positive part of p − e^ε·q
    from scipy.stats import norm

    for mu, epsilon in [(0.5, 0.3), (1.0, 1.0), (3.0, 2.0)]:
        positive_part = lambda z, m=mu, e=epsilon: max(norm.pdf(z - m) - math.exp(e) * norm.pdf(z), 0)  # noqa: E731
        direct = quad(positive_part, -20, 25, points=[epsilon / mu + mu / 2], limit=200)[0]
        assert gaussian.delta(epsilon, mu) == pytest.approx(direct, rel=1e-6)
        assert gaussian.epsilon(mu, direct) == pytest.approx(epsilon, rel=1e-6)
        assert gaussian.mu(epsilon, direct) == pytest.approx(mu, rel=1e-6)


def test_full_batches_join_to_one_gaussian():
    (joined,) = join_full_batches([SampledGaussian(1.0, 3.0, 4), SampledGaussian(1.0, 6.0, 9)])
    assert joined == SampledGaussian(1.0, (4 / 9 + 9 / 36) ** -0.5)


def test_heterogeneous_releases_compose():
    mixed = [SampledGaussian(0.1, 2.0, 30), SampledGaussian(1.0, 20.0, 5), SampledGaussian(0.02, 1.0, 100)]
    alone = [accountants.epsilon([event], 1e-5, "pld") for event in mixed]
    for name in ("moments", "rdp", "pld", "strong", "basic"):
        value = accountants.epsilon(mixed, 1e-5, name)
        assert value > max(alone), name
        assert value == pytest.approx(accountants.epsilon(mixed[::-1], 1e-5, name), rel=1e-6)
    assert accountants.account(mixed, 1e-5, "moments_paper").epsilon is None
    assert accountants.account(mixed, 1e-5, "gaussian").epsilon is None


@given(st.floats(1e-12, 1e12))
def test_a_stated_epsilon_is_never_below_the_truth(epsilon):
    written = float(accountants.stated(epsilon))
    assert epsilon <= written <= epsilon * 1.001
    assert accountants.stated(written) == accountants.stated(epsilon)
