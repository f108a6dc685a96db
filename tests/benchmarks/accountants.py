"""Speed of the accountants: ratios in one run against dp-accounting's RDP and PLD, and start-up times.

Run: python -m tests.benchmarks.accountants

Times are processor time, except for start-up. dp-accounting's PLD has its default grid of 1e-4; "tighter"
says how far our ε lies below its ε.
"""

import os
import subprocess
import sys
import tempfile
import time

import dp_accounting
import numpy as np
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from vips_core import PrivacyPlan
from vips_core.privacy import calibration, moments, pld
from vips_core.privacy.events import SampledGaussian

PLANS = [(0.05, 1.24, 20), (0.01, 1.0, 1000), (0.001, 0.8, 10_000)]
PLD_PLANS = [
    *PLANS,
    (0.5, 2.5, 10),
    (0.05, 5.3, 100),
    (0.04, 1.3, 12),
    (0.1, 2.0, 200),
    (0.02, 0.7, 500),
    (0.005, 3.0, 20_000),
    (0.25, 8.0, 2000),
]
DELTA = 1e-5


def seconds(function, repeats):
    """Return the median time of one call, after one call to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times))


def peer(rate, noise, steps, accountant_type=rdp_privacy_accountant.RdpAccountant):
    accountant = accountant_type()
    sampled = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(sampled, steps))
    return accountant.get_epsilon(DELTA)


def our_pld(plan):
    pld._tight_epsilon.cache_clear()
    return pld.epsilon([SampledGaussian(*plan)], DELTA)


def compare_pld():
    """Print each plan's time and ε by PLD, ours and dp-accounting's."""
    ratios = []
    for plan in PLD_PLANS:
        ours = seconds(lambda p=plan: our_pld(p), 5)
        theirs = seconds(lambda p=plan: peer(*p, pld_privacy_accountant.PLDAccountant), 3)
        epsilon, other = our_pld(plan), peer(*plan, pld_privacy_accountant.PLDAccountant)
        ratios.append(theirs / ours)
        print(
            f"PLD, q, σ, T = {plan}: {ours * 1e3:.1f} ms, dp-accounting {theirs * 1e3:.0f} ms; ratio "
            f"{ratios[-1]:.1f} (goal 10); ε = {epsilon:.5g}, tighter by {(other - epsilon) / other:.1e}",
            flush=True,
        )
    print(f"PLD: least ratio {min(ratios):.1f}, median {np.median(ratios):.1f} (goal 10 on each)")


def calibrate(plan):
    calibration.noise_multiplier.cache_clear()
    pld._tight_epsilon.cache_clear()
    plan.calibrate(1.0)


def fresh_process(code, **environment):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
    return time.perf_counter() - start


def main():
    for plan in PLANS:
        event = [SampledGaussian(*plan)]
        ours, ours_rdp = (
            seconds(lambda e=event: moments.epsilon(e, DELTA), 200),
            seconds(lambda e=event: moments.rdp_epsilon(e, DELTA), 20),
        )
        theirs = seconds(lambda p=plan: peer(*p), 10)
        print(
            f"q, σ, T = {plan}: moments {ours * 1e6:.0f} µs, rdp {ours_rdp * 1e3:.2f} ms, dp-accounting RDP "
            f"{theirs * 1e3:.1f} ms; ratio {theirs / ours:.0f} (goal 100), rdp {theirs / ours_rdp:.0f}",
            flush=True,
        )
    compare_pld()
    rates = np.geomspace(1e-3, 1, 100)
    surface = seconds(lambda: moments.surface(rates, np.ceil(1 / rates), np.geomspace(0.5, 20, 100), 1e-5), 3)
    print(f"100 × 100 surface: {surface:.2f} s (goal 1)")
    plan = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-4)
    print(f"PLD calibration: {seconds(lambda: calibrate(plan), 3):.2f} s")
    empty = fresh_process("pass")
    first = "import vips_core as v; v.PrivacyPlan(records=9, expected_batch=3, steps=2, noise_multiplier=1, delta=1e-4).epsilon('moments')"  # noqa: E501
    with tempfile.TemporaryDirectory() as cache:
        first_call = fresh_process(first, NUMBA_CACHE_DIR=cache) - empty
        print(f"first-ever call, empty kernel cache: {first_call:.2f} s (goal 10)")
        imports = min(fresh_process("import vips_core", NUMBA_CACHE_DIR=cache) for _ in range(3))
        print(f"import of vips_core, kernels cached: {imports - empty:.2f} s (goal 1)")


if __name__ == "__main__":
    main()
