"""Coverage of 90 % credible intervals of the refined regression.

The true weights of a real table are unknown. So its labels are drawn anew, from a logistic model fitted by
ridge regression to all of its rows: predictors, their correlation and the size of weights are real, and the
weights are known. Each seed draws new labels and new noise. "non-private" tests the intervals' other meaning:
whether they contain the ridge regression of the same drawn labels.

python -m tests.benchmarks.utility.coverage coverage.csv --seeds 5
"""

import argparse
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy.special import expit

import vips_core as vips
from tests.benchmarks.utility import logistic, tables
from tests.benchmarks.utility.run import append

LEVEL = 0.9


def main(data: ModuleType = tables) -> None:
    """Append a row for each table of a module and ε: shares over weights and seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", type=Path)
    own = [n for n in tables.CHOSEN_ON if n != "brfss"] if data is tables else data.NAMES
    parser.add_argument("--tables", nargs="+", choices=data.NAMES, default=own)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.25, 1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    for name in options.tables:
        rows = tables.split(name, 0)[0] if name in tables.FEW else data.load(name)
        for epsilon in options.epsilon:
            shares = np.mean([covered(rows, epsilon, seed) for seed in range(options.seeds)], axis=0)
            names = ("weights", "constant", "non_private")
            append(
                options.results, {"data": name, "epsilon": epsilon} | dict(zip(names, shares, strict=True))
            )


def covered(rows: vips.Table, epsilon: float, seed: int) -> tuple[float, float, float]:
    """Return the shares of weights, constants and non-private estimates that intervals contain."""
    truth = logistic.ridge(rows)
    labels = np.random.default_rng(seed).random(len(rows)) < expit(rows.x @ truth)
    drawn = replace(rows, y=labels)
    model = vips.BayesianLogistic(drawn.feature_names, drawn.norm_bound)
    plan = model.recommend(records=len(drawn), epsilon=epsilon, delta=logistic.DELTA, epochs=logistic.EPOCHS)
    fit = vips.fit(model, drawn, plan, seed=seed)
    constant = int(np.argmax(np.abs(rows.x.mean(axis=0))))
    holds = [
        (low <= target) & (target <= high)
        for of, target in (("weights", truth), ("non-private", logistic.ridge(drawn)))
        for low, high in [model.credible_intervals(fit, LEVEL, of).T]
    ]
    return float(holds[0].mean()), float(holds[0][constant]), float(holds[1].mean())


if __name__ == "__main__":
    main()
