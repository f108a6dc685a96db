"""Speed of the accountants: ratios in one run against dp-accounting's RDP accountant, and start-up times.

Run: python -m tests.benchmarks.accountants
"""

import os
import subprocess
import sys
import tempfile
import time

import dp_accounting
import numpy as np
from dp_accounting.rdp import rdp_privacy_accountant

from vips_core import PrivacyPlan
from vips_core.privacy import moments
from vips_core.privacy.events import SampledGaussian

PLANS = [(0.05, 1.24, 20), (0.01, 1.0, 1000), (0.001, 0.8, 10_000)]


def seconds(function, repeats):
    """Return the median time of one call, after one call to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def peer(rate, noise, steps):
    accountant = rdp_privacy_accountant.RdpAccountant()
    sampled = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(sampled, steps))
    return accountant.get_epsilon(1e-5)


def fresh_process(code, **environment):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
    return time.perf_counter() - start


def main():
    for plan in PLANS:
        event = [SampledGaussian(*plan)]
        ours, ours_rdp = (
            seconds(lambda e=event: moments.epsilon(e, 1e-5), 200),
            seconds(lambda e=event: moments.rdp_epsilon(e, 1e-5), 20),
        )
        theirs = seconds(lambda p=plan: peer(*p), 10)
        print(
            f"q, σ, T = {plan}: moments {ours * 1e6:.0f} µs, rdp {ours_rdp * 1e3:.2f} ms, dp-accounting RDP "
            f"{theirs * 1e3:.1f} ms; ratio {theirs / ours:.0f} (goal 100), rdp {theirs / ours_rdp:.0f}"
        )
    rates = np.geomspace(1e-3, 1, 100)
    surface = seconds(lambda: moments.surface(rates, np.ceil(1 / rates), np.geomspace(0.5, 20, 100), 1e-5), 3)
    print(f"100 × 100 surface: {surface:.2f} s (goal 1)")
    plan = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-4)
    print(f"PLD calibration: {seconds(lambda: plan.calibrate(1.0), 3):.2f} s")
    empty = fresh_process("pass")
    first = "import vips_core as v; v.PrivacyPlan(records=9, expected_batch=3, steps=2, noise_multiplier=1, delta=1e-4).epsilon('moments')"  # noqa: E501
    with tempfile.TemporaryDirectory() as cache:
        first_call = fresh_process(first, NUMBA_CACHE_DIR=cache) - empty
        print(f"first-ever call, empty kernel cache: {first_call:.2f} s (goal 10)")
        imports = min(fresh_process("import vips_core", NUMBA_CACHE_DIR=cache) for _ in range(3))
        print(f"import of vips_core, kernels cached: {imports - empty:.2f} s (goal 1)")


if __name__ == "__main__":
    main()
