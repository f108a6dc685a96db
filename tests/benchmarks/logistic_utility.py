"""AUC of all logistic methods, mean ± sd over seeds (each its own split and noise), and Figure 5 from it.

Each result is appended to a CSV of (data, method, epsilon, seed, auc) immediately; a second call continues
where the first stopped. The table and the figure come from that file.

python -m tests.benchmarks.logistic_utility auc.csv --data nhanes-stroke --figure figure5.html
python -m tests.benchmarks.logistic_utility auc.csv --data survey --survey brfss_2015.csv.gz
python -m tests.benchmarks.logistic_utility auc.csv --data cohort --first-seed 300 --paper-steps 2

Constants of the refined variant were chosen on NHANES, the survey and cohorts 0 to 3 and 200 to 202: take
other cohorts for a comparison.
"""

import argparse
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import sample_data
import vips_core as vips
from sample_data.generate import stroke_cohort
from tests.benchmarks.logistic_figure import summary, write_figure
from tests.benchmarks.utility.logistic import ridge
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.models.logistic.rivals import PrivateGradientDescent, fit_objective_perturbation
from vips_core.models.logistic.scores import auc_of

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
COLUMNS = ["data", "method", "epsilon", "seed", "auc"]
DELTA = 1e-4
EPOCHS = 20


def main() -> None:
    """Run what is missing in the CSV, print its table, and draw its figure."""
    arguments = parse()
    if arguments.data:
        draw = splits(arguments.data, arguments.survey, arguments.target)
        known = set(read(arguments.rows)[COLUMNS[:-1]].itertuples(index=False, name=None))
        for method, epsilon, seed in jobs(arguments):
            if (arguments.data, method, epsilon, seed) not in known:
                train, test = draw(seed)
                area = auc_of(test.y, METHODS[method](train, test, epsilon, seed, arguments.paper_steps))
                append(arguments.rows, [arguments.data, method, epsilon, seed, area])
    rows = read(arguments.rows)
    print(summary(rows).to_string())
    if arguments.figure:
        write_figure(rows, arguments.figure)


def parse() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=Path, help="CSV to append to")
    parser.add_argument("--data", choices=["nhanes-stroke", "cohort", "survey"], help="without it, only draw")
    parser.add_argument("--survey", help="the survey's file")
    parser.add_argument("--target", default="Stroke")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0, help="for cohorts, 300")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--paper-steps", type=int, default=10, help="few for wide data: eigenvalues are slow")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--figure", type=Path, help="HTML to draw to")
    return parser.parse_args()


def jobs(arguments: argparse.Namespace) -> Iterator[tuple[str, float, int]]:
    """List jobs seed by seed, so that comparisons are complete when stopped; non-private is ε = ∞."""
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for method in arguments.methods:
            for epsilon in [math.inf] if method == "non-private" else arguments.epsilon:
                yield method, epsilon, seed


def read(path: Path) -> pd.DataFrame:
    """Rows so far."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


def append(path: Path, row: list) -> None:
    """Write one row, and the header first."""
    pd.DataFrame([row], columns=COLUMNS).to_csv(path, mode="a", header=not path.exists(), index=False)
    print(*row, flush=True)


def splits(name: str, survey: str | None, target: str) -> Callable[[int], tuple]:
    """Return a function from seed to (train, test)."""
    if name == "cohort":
        return functools.lru_cache(1)(lambda seed: stroke_cohort(seed=seed)[0].split(0.2, seed))
    if name == "nhanes-stroke":
        rows = sample_data.load(name)
    else:
        frame = pd.read_csv(survey)
        ranges = {column: SURVEY_RANGES.get(column, (0, 1)) for column in frame.columns if column != target}
        rows = vips.Table.from_frame(frame, target, ranges)
    return lambda seed: rows.split(0.2, seed)


def _bayes(variant, accountant="pld", steps=None):
    """Take `steps` full batches, or as many as the command line sets for the paper's statistics."""

    def scores(train, test, epsilon, seed, paper_steps):
        model = BayesianLogistic(train.feature_names, train.norm_bound, variant)
        if variant == "refined":
            plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=EPOCHS)
        else:
            plan = vips.PrivacyPlan(
                records=len(train), expected_batch=len(train), steps=steps or paper_steps, delta=DELTA
            ).calibrate(epsilon, accountant)
        # Log odds: probabilities of the paper's unshrunk weights would round to 0 and 1, and tie.
        psi, variance = model._log_odds(vips.fit(model, train, plan, seed=seed), test)
        return psi / np.sqrt(1 + math.pi / 8 * variance)

    return scores


def _sgd(train, test, epsilon, seed, paper_steps):
    model = PrivateGradientDescent(train.feature_names, train.norm_bound)
    plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=EPOCHS)
    return model.predict_probability(vips.fit(model, train, plan, seed=seed), test)


def _perm(train, test, epsilon, seed, paper_steps):
    return test.x @ fit_objective_perturbation(train, epsilon, np.random.default_rng(seed))


def _ceiling(train, test, epsilon, seed, paper_steps):
    """Non-private, with the stronger penalty where there are few records per feature."""
    penalty = 1.0 if len(train) > 10 * train.x.shape[1] else 30.0
    return test.x @ ridge(train, penalty)


METHODS = {
    "non-private": _ceiling,
    "refined": _bayes("refined"),
    "sgd": _sgd,
    "perm": _perm,
    # In one step all of the budget is in one release, and strong composition has nothing to compose.
    "paper-once": _bayes("paper", steps=1),
    "paper": _bayes("paper"),
    "strong": _bayes("paper", "strong"),
}


if __name__ == "__main__":
    main()
