"""Speed and memory of the sigmoid belief networks on all of MNIST.

Run: python -m tests.benchmarks.sbn_speed [--quick]

The peak of the matrix product is measured in the same run, in the E-step's precision, with its threads. The
share of it counts the operations of the E-step's products alone, so that sweeps and Pólya–Gamma means only
lower it. "Cores" is the processor time of all threads: divided by their number, it is what a run takes at
best on an idle machine.
"""

import argparse
import resource
import time

import numpy as np
from threadpoolctl import threadpool_limits

import vips_core as vips
from sample_data import load
from vips_core.kernels.pool import map_chunks, thread_count
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.paper import ROUNDS


def peak_flops(size=1536, repeats=6):
    """Return the best rate of float64 products, one product per thread at a time."""
    rng = np.random.default_rng(0)
    pairs = [(rng.random((size, size)), rng.random((size, size))) for _ in range(thread_count())]

    def multiply(start, stop):
        for left, right in pairs[start:stop]:
            left @ right

    best = np.inf
    with threadpool_limits(1, user_api="blas"):
        for _ in range(repeats):
            start = time.perf_counter()
            map_chunks(multiply, len(pairs), 1)
            best = min(best, time.perf_counter() - start)
    return len(pairs) * 2 * size**3 / best


def e_step_flops(images, pixels, hidden):
    """Products of the paper's E-step: ⟨ψ²⟩, its Gram matrices, the field, and the statistics.

    The first round is the same for all images and costs nothing.
    """
    pairs = hidden * (hidden + 1) // 2
    large, small = 2 * images * pixels * pairs, 2 * images * pixels * hidden
    return 2 * ROUNDS * large + (ROUNDS + 1) * small


def timed_e_steps(model):
    """Return a list that collects the seconds of each E-step of the model."""
    seconds, e_step = [], model.e_step

    def timed(*arguments):
        start = time.perf_counter()
        raw = e_step(*arguments)
        seconds.append(time.perf_counter() - start)
        return raw

    vars(model)["e_step"] = timed  # models are frozen
    return seconds


def run(model, data, plan):
    """Return seconds of the fit, of its E-steps, and of all cores; the kernels are compiled before."""
    few = data[np.arange(len(data)) < 600]
    vips.fit(model, few, plan.replace(records=600, expected_batch=600, steps=2), seed=0)
    seconds = timed_e_steps(model)
    start, cores = time.perf_counter(), time.process_time()
    vips.fit(model, data, plan, seed=0)
    return time.perf_counter() - start, sum(seconds), time.process_time() - cores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the images")
    data = load("mnist")
    if parser.parse_args().quick:
        data = data[np.arange(len(data)) % 10 == 0]
    images = len(data)
    common = {"records": images, "noise_multiplier": 1.0, "delta": 1e-4}
    print(f"{images} images, {thread_count()} threads")

    passes = 2  # the first step releases the mean image alone and is nearly free
    total, e_steps, cores = run(
        SBN(784, 50, (28, 28)), data, vips.PrivacyPlan(**common, expected_batch=images, steps=passes)
    )
    print(
        f"refined, K = 50, mean image and one full pass: {total:.1f} s (cores {cores:.1f} s), "
        f"of which E-steps {e_steps:.1f} s"
    )

    peak = peak_flops()
    plan = vips.PrivacyPlan(**common, expected_batch=min(1600, images), epochs=1)
    total, e_steps, cores = run(SBN(784, 100, (28, 28), "paper"), data, plan)
    rate = e_step_flops(plan.steps * plan.expected_batch, 784, 100) / e_steps
    peak = max(peak, peak_flops())
    print(
        f"paper, K = 100, S = {plan.expected_batch}, one pass of {plan.steps} steps: {total:.1f} s "
        f"(cores {cores:.1f} s), of which E-steps {e_steps:.1f} s; {rate / 1e9:.0f} of "
        f"{peak / 1e9:.0f} GFLOP/s, {rate / peak:.0%} of peak"
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory of the process: {memory:.2f} GB")


if __name__ == "__main__":
    main()
