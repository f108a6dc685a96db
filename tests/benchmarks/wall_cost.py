"""What the wall costs: E-steps and one large release, here and in a checkout of an earlier version.

python -m tests.benchmarks.wall_cost EARLIER_CHECKOUT [--rounds 7] [--cases "SBN paper" …]

Both versions are measured in turns, each in its own process with one thread, by processor time, which other
work on the machine disturbs less than the clock. Parameters come from the same start and two steps without
noise.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[2]
CELLS = 400_000
STEPS = 16


class Constant:
    """A model whose sums cost nothing, which leaves the wall's own work."""

    def blocks(self, plan, step):
        import inspect

        from vips_core.models.base import Block

        shaped = "shape" in inspect.signature(Block).parameters
        return {"cells": Block(1.0, 1.0, (CELLS,)) if shaped else Block(1.0, 1.0)}

    def e_step(self, params, batch, blocks):
        from vips_core.models.base import Raw

        return Raw({"cells": params})


def release():
    from vips_core import Ledger, PrivacyPlan
    from vips_core.privacy import wall

    plan = PrivacyPlan(records=10, expected_batch=10, steps=1, noise_multiplier=1.0, delta=1e-4)
    try:
        from vips_core.privacy.noise import Randomness

        randomness = Randomness.of(0)
    except ImportError:
        randomness = np.random.default_rng(0)
    params, data, ledger = np.zeros(CELLS), np.arange(10), Ledger(10)
    return lambda: wall.release(Constant(), params, data, plan, 0, randomness, ledger)


def lda(variant):
    from vips_core import LDA, Documents

    rng = np.random.default_rng(0)
    topics, words, documents = 50, 8000, 1000
    beta = rng.dirichlet(np.full(words, 0.05), topics)
    theta = rng.dirichlet(np.full(topics, 0.1), documents)
    lengths = rng.integers(100, 501, documents)
    counts = [rng.multinomial(length, row @ beta) for length, row in zip(lengths, theta, strict=True)]
    corpus = Documents.from_counts(np.array(counts, np.int32), [f"w{v}" for v in range(words)])
    # The same number of sweeps for every document, so that both versions do the same work.
    return e_step(LDA(topics, corpus.vocabulary, 300, None, variant, sweeps=20, tolerance=0.0), corpus)


def dense_logistic(records, features, variant="refined", measure=None):
    from vips_core import BayesianLogistic, Table

    rng = np.random.default_rng(0)
    names = tuple(f"feature {j}" for j in range(features))
    rows = Table(rng.random((records, features)), rng.random(records) < 0.05, names, features**0.5)
    return (measure or e_step)(BayesianLogistic(names, rows.norm_bound, variant), rows)


def cohort(measure):
    from sample_data.generate import stroke_cohort
    from vips_core import BayesianLogistic

    rows = stroke_cohort()[0]
    return measure(BayesianLogistic(rows.feature_names, rows.norm_bound), rows, noise=50.0)


def sbn(variant, images):
    from sample_data import load
    from vips_core import SBN

    data = load("mnist")
    return e_step(SBN(784, 50, (28, 28), variant), data[np.arange(len(data)) < images])


CASES = {
    f"release of {CELLS:,} cells": release,
    "LDA refined, K = 50, V = 8,000": lambda: lda("refined"),
    "LDA paper, K = 50, V = 8,000": lambda: lda("paper"),
    "logistic, d = 22": lambda: dense_logistic(100_000, 22),  # of a step that releases a matrix
    "logistic, d = 22, all 16 steps": lambda: dense_logistic(100_000, 22, measure=e_steps),
    "logistic, d = 100": lambda: dense_logistic(40_000, 100),
    "logistic, d = 100, all 16 steps": lambda: dense_logistic(40_000, 100, measure=e_steps),
    "logistic paper, d = 22": lambda: dense_logistic(100_000, 22, "paper"),
    "logistic paper, d = 100": lambda: dense_logistic(40_000, 100, "paper"),
    "logistic, sparse cohort, d = 4,146": lambda: cohort(e_step),
    "logistic, sparse cohort, all 16 steps": lambda: cohort(e_steps),
    "SBN refined, K = 50": lambda: sbn("refined", 6000),
    "SBN paper, K = 50": lambda: sbn("paper", 1024),
    "SBN paper, K = 50, S = 1,600": lambda: sbn("paper", 1600),
}


def e_step(model, data, noise=1.0):
    """Return one E-step after two steps whose sums have no noise, though the model is told of some."""
    *_, last = steps_of(model, data, noise, 3)
    return last


def e_steps(model, data, noise=1.0):
    """Return all E-steps of a run as one."""
    every = list(steps_of(model, data, noise, STEPS))
    return lambda: [one() for one in every]


def steps_of(model, data, noise, steps):
    from vips_core import PrivacyPlan, Released

    plan = PrivacyPlan(
        records=len(data), expected_batch=len(data), steps=STEPS, noise_multiplier=noise, delta=1e-4
    )
    params = model.init(plan, np.random.default_rng(0))
    for step in range(steps):
        blocks, noise_std = measured_blocks(model, plan, step)
        one = functools.partial(model.e_step, params, data, blocks)
        yield one
        params = model.m_step(params, Released(one().sums, noise_std, 1.0), step)


def measured_blocks(model, plan, step):
    blocks = model.blocks(plan, step)
    try:
        from vips_core.privacy.wall import blocks_with_noise
    except ImportError:  # the version before the grid
        std = plan.noise_multiplier
        return blocks, {name: std * block.bound / block.share for name, block in blocks.items()}
    noise_std, blocks = blocks_with_noise(blocks, plan)
    return blocks, noise_std


def answer_requests():
    """Measure one version in this process: read a case's name, print the processor seconds of one call."""
    prepared = {}
    for line in sys.stdin:
        name = json.loads(line)
        if name not in prepared:
            prepared = {name: CASES[name]()}
            prepared[name]()  # compiles
        start = time.process_time()
        prepared[name]()
        print(time.process_time() - start, flush=True)


def start(checkout):
    command = [sys.executable, __file__, "--measure"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(checkout),
        "VIPS_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=checkout)


def measured(process, name):
    print(json.dumps(name), file=process.stdin, flush=True)
    return float(process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("earlier", type=Path, help="checkout of the version to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", nargs="*", default=[""], help="beginnings of names (default: all)")
    options = parser.parse_args()
    with start(options.earlier) as before, start(HERE) as now:
        print(f"{'':36} before, ms     now, ms   ratio of medians (ratios of rounds)   load")
        for name in CASES:
            if not name.startswith(tuple(options.cases)):
                continue
            pairs = [(measured(before, name), measured(now, name)) for _ in range(options.rounds)]
            first, second = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
            ratios = sorted(late / early for early, late in pairs)
            print(
                f"{name:36} {first:10.1f}  {second:10.1f}   {second / first:16.2f} "
                f"({ratios[0]:.2f} to {ratios[-1]:.2f})   {os.getloadavg()[0]:12.1f}",
                flush=True,
            )
        for process in (before, now):
            process.stdin.close()


if __name__ == "__main__":
    answer_requests() if sys.argv[1:] == ["--measure"] else main()
