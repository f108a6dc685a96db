"""AUC of all logistic methods on one data set, mean ± sd over seeds (each its own split and noise).

python -m tests.benchmarks.logistic_utility nhanes-stroke
python -m tests.benchmarks.logistic_utility cohort --seeds 10
python -m tests.benchmarks.logistic_utility survey --csv brfss_2015.csv.gz
"""

import argparse
import functools
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import sample_data
import vips_core as vips
from sample_data.generate import stroke_cohort
from vips_core.baselines.dpsgd import PrivateGradientDescent
from vips_core.baselines.erm import fit_erm
from vips_core.baselines.objective_perturbation import fit_objective_perturbation
from vips_core.metrics.risk import auc
from vips_core.models.logistic import BayesianLogistic

# The answers that the 2015 survey's questionnaire allows; all other columns are yes or no.
SURVEY_RANGES = {
    "BMI": (12, 98),
    "Diabetes": (0, 2),
    "GenHlth": (1, 5),
    "MentHlth": (0, 30),
    "PhysHlth": (0, 30),
    "Age": (1, 13),
    "Education": (1, 6),
    "Income": (1, 8),
}
EPOCHS = 20


def main() -> None:
    """Print one row per method and one column per ε."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=["nhanes-stroke", "cohort", "survey"])
    parser.add_argument("--csv", help="the survey's file")
    parser.add_argument("--target", default="Stroke")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0, help="constants were chosen on cohorts 0 to 3")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--delta", type=float, default=1e-4)
    parser.add_argument("--paper-steps", type=int, default=10, help="1 for wide data: eigenvalues are slow")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    arguments = parser.parse_args()
    draw = splits(arguments.data, arguments.csv, arguments.target)
    for name in arguments.methods:
        row = []
        for epsilon in arguments.epsilon:
            start = time.perf_counter()
            found = []
            for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
                train, test = draw(seed)
                scores = METHODS[name](train, test, epsilon, arguments.delta, seed, arguments.paper_steps)
                found.append(auc(test.y, scores))
            row.append(f"{np.mean(found):.4f} ± {np.std(found):.4f} ({time.perf_counter() - start:.0f} s)")
        print(f"{name:>12}", *row, sep=" | ", flush=True)


def splits(name: str, csv: str | None, target: str) -> Callable[[int], tuple]:
    """Return a function from seed to (train, test)."""
    if name == "cohort":
        return functools.cache(lambda seed: stroke_cohort(seed=seed)[0].split(0.2, seed))
    if name == "nhanes-stroke":
        rows = sample_data.load(name)
    else:
        frame = pd.read_csv(csv)
        ranges = {column: SURVEY_RANGES.get(column, (0, 1)) for column in frame.columns if column != target}
        rows = vips.LabelledRows.from_frame(frame, target, ranges)
    return lambda seed: rows.split(0.2, seed)


def _bayes(method, accountant="pld"):
    def scores(train, test, epsilon, delta, seed, paper_steps):
        model = BayesianLogistic(train.feature_names, train.norm_bound, method)
        if method == "refined":
            plan = model.recommend(len(train), epsilon, delta, EPOCHS)
        else:
            plan = vips.PrivacyPlan(
                records=len(train), expected_batch=len(train), steps=paper_steps, delta=delta
            ).calibrate(epsilon, accountant)
        return model.predict_probability(vips.fit(model, train, plan, seed=seed), test)

    return scores


def _sgd(train, test, epsilon, delta, seed, paper_steps):
    model = PrivateGradientDescent(train.feature_names, train.norm_bound)
    plan = model.recommend(len(train), epsilon, delta, EPOCHS)
    return model.predict_probability(vips.fit(model, train, plan, seed=seed), test)


def _ceiling(train, test, epsilon, delta, seed, paper_steps):
    """Non-private, with the stronger penalty where there are few records per feature."""
    penalty = 1.0 if len(train) > 10 * train.x.shape[1] else 30.0
    return test.x @ fit_erm(train, penalty)


METHODS = {
    "non-private": _ceiling,
    "refined": _bayes("refined"),
    "paper": _bayes("paper"),
    "strong": _bayes("paper", "strong"),
    "sgd": _sgd,
    "perm": lambda train, test, epsilon, delta, seed, paper_steps: (
        test.x @ fit_objective_perturbation(train, epsilon, np.random.default_rng(seed))
    ),
}


if __name__ == "__main__":
    main()
