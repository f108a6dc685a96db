"""Speed of logistic regression: one E-step against one Gram product of the same rows, and whole fits.

python -m tests.benchmarks.logistic_speed [--cliff]

With --cliff: the E-step of an engine for 5 to 1,000 columns, with a thread of BLAS for each core against one,
in processes that take turns. A ratio far above 1 means that BLAS threads inside our threads wait for each
other.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

import sample_data
import vips_core as vips
from sample_data.generate import stroke_cohort
from vips_core.engines.base import StepSums, sums_here
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.privacy.noise import Randomness
from vips_core.privacy.sampling import Batch
from vips_core.privacy.wall import blocks_with_noise

REPEATS = 9
COLUMNS = (5, 10, 20, 40, 80, 160, 320, 1000)
ROUNDS = 3
VARIANTS = {
    "paper": ("paper", 15),
    "refined, gradient": ("refined", 15),
    "refined, curvature": ("refined", 2),
}


def median_seconds(*functions):
    """Median time of each function, measured in turns."""
    for function in functions:
        function()
    times = [[] for _ in functions]
    for _ in range(REPEATS):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def e_step_against_gram(name, rows, noise):
    """Print the ratio of one E-step to X.T @ X."""
    model = BayesianLogistic(rows.feature_names, rows.norm_bound)
    plan = vips.PrivacyPlan(
        records=len(rows), expected_batch=len(rows), steps=16, noise_multiplier=noise, delta=1e-4
    )
    params, blocks = model.init(plan, np.random.default_rng(0)), model.blocks(plan, plan.steps - 1)
    step, gram = median_seconds(lambda: model.e_step(params, rows, blocks), lambda: rows.x.T @ rows.x)
    print(
        f"{name} {rows.x.shape}: E-step {step * 1e3:.1f} ms, Gram {gram * 1e3:.1f} ms, "
        f"ratio {step / gram:.2f}"
    )


def dense_rows(n, d):
    """Rows like a survey's, in [0, 1]."""
    rng = np.random.default_rng(0)
    names = tuple(f"feature {j}" for j in range(d))
    return vips.Table(rng.random((n, d)), rng.random(n) < 0.05, names, d**0.5)


def whole_fit(name, rows, epsilon=1.0):
    """Print the time of a refined fit after a warm-up, and the peak memory of the process."""
    model = BayesianLogistic(rows.feature_names, rows.norm_bound)
    plan = model.recommend(records=len(rows), epsilon=epsilon, delta=1e-4, epochs=20)
    vips.fit(model, rows, plan, seed=0)
    start = time.perf_counter()
    vips.fit(model, rows, plan, seed=1)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name} {rows.x.shape}: fit {seconds:.2f} s, peak memory {peak:.2f} GB")


def engine_seconds(columns):
    """Return the best time per record of each variant's E-step by the engine of `vips.fit`."""
    rows, seconds = dense_rows(min(20_000, max(2_000, 2_000_000 // columns)), columns), {}
    for name, (variant, step) in VARIANTS.items():
        model = BayesianLogistic(rows.feature_names, rows.norm_bound, variant)
        plan = vips.PrivacyPlan(
            records=len(rows), expected_batch=len(rows), steps=16, noise_multiplier=1e-3, delta=1e-4
        )
        _, blocks = blocks_with_noise(model.blocks(plan, step), plan)
        params = model.init(plan, np.random.default_rng(0))
        work = StepSums(model, params, blocks, Batch(len(rows), plan, Randomness.of(0)))
        sums_here(rows, work)
        best = np.inf
        for _ in range(4):
            start = time.perf_counter()
            sums_here(rows, work)
            best = min(best, time.perf_counter() - start)
        seconds[name] = best / len(rows)
    return seconds


def seconds_with(blas_threads):
    """Return `engine_seconds` for all numbers of columns, in a process with this many BLAS threads."""
    code = "from tests.benchmarks import logistic_speed; logistic_speed.print_seconds()"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(blas_threads)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def print_seconds():
    """Print `engine_seconds` for all numbers of columns, to the process that asked."""
    print(json.dumps([engine_seconds(columns) for columns in COLUMNS]))


def cliff():
    """Print the time of an E-step with all threads of BLAS over that with one."""
    threads = os.cpu_count() or 1
    many, one = [], []
    for _ in range(ROUNDS):
        many.append(seconds_with(threads))
        one.append(seconds_with(1))
    print(f"microseconds a record with {threads} threads of BLAS, and over those with one thread")
    for place, columns in enumerate(COLUMNS):
        cells = [f"d = {columns:5,}"]
        for name in VARIANTS:
            best = [min(run[place][name] for run in runs) for runs in (many, one)]
            cells.append(f"{name} {best[0] * 1e6:9.2f} ({best[0] / best[1]:5.2f})")
        print("; ".join(cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cliff", action="store_true", help="measure only BLAS threads inside our threads")
    if parser.parse_args().cliff:
        cliff()
        sys.exit()
    whole_fit("NHANES", sample_data.load("nhanes-stroke"))
    cohort = stroke_cohort()[0].split(0.2, 0)[0]
    whole_fit("cohort", cohort)
    e_step_against_gram("cohort", cohort, 50.0)
    for n, d in ((200_000, 22), (100_000, 100), (20_000, 400)):
        e_step_against_gram("dense", dense_rows(n, d), 1e-3)
        e_step_against_gram("dense", dense_rows(n, d), 1e5)
