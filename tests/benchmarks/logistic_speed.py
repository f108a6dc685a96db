"""Speed of logistic regression: one E-step against one Gram product of the same rows, and whole fits.

python -m tests.benchmarks.logistic_speed
"""

import resource
import statistics
import time

import numpy as np

import sample_data
import vips_core as vips
from sample_data.generate import stroke_cohort
from vips_core.models.logistic.model import BayesianLogistic

REPEATS = 9


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
    return vips.LabelledRows(rng.random((n, d)), rng.random(n) < 0.05, names, d**0.5)


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


if __name__ == "__main__":
    whole_fit("NHANES", sample_data.load("nhanes-stroke"))
    cohort = stroke_cohort()[0].split(0.2, 0)[0]
    whole_fit("cohort", cohort)
    e_step_against_gram("cohort", cohort, 50.0)
    for n, d in ((200_000, 22), (100_000, 100), (20_000, 400)):
        e_step_against_gram("dense", dense_rows(n, d), 1e-3)
        e_step_against_gram("dense", dense_rows(n, d), 1e5)
