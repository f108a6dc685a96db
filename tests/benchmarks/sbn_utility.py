"""Pixel accuracy of private sigmoid belief networks on MNIST (60,000 training and 10,000 test images).

Run: python -m tests.benchmarks.sbn_utility table [--seeds 3] [--epsilons 0.5 1.3 2.9] [--epochs 12]
     python -m tests.benchmarks.sbn_utility non-private [--seeds 3] [--variants refined paper]
     python -m tests.benchmarks.sbn_utility figure --csv FILE [--seeds 10] [--batches 400 800] [--html FILE]

`table`: the refined variant over ε at δ = 1e-4 (PLD). `non-private`: both variants without noise. `figure`:
the paper's Figure 7, accuracy on 100 test images per seed against the batch size, one epoch, noise 1.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import vips_core as vips
from sample_data import load
from tests.benchmarks.sbn_figure import summary, write_figure
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.scores import scores

DELTA = 1e-4
SHAPE = (28, 28)
COLUMNS = ["hidden", "batch", "run", "seed", "accuracy", "log_likelihood"]
STRONG_NOISE = {400: 3.495, 800: 4.067, 1600: 4.144, 3200: 3.960}  # strong composition at the published ε


def accuracy(model, plan, train, test, seed):
    params = vips.fit(model, train, plan, seed=seed).params
    return scores(model, params, test)


def row(label, results):
    scores = np.array(results)
    mean, spread = scores.mean(axis=0), scores.std(axis=0)
    print(f"{label:<44} {mean[0]:.4f} ± {spread[0]:.4f} {mean[1]:9.1f}", flush=True)


def table(train, test, seeds, epsilons, epochs):
    mean_image = train.unpack(np.float32).mean(axis=0) > 0.5
    print(f"{'mean image':<44} {(mean_image == test.unpack(bool)).mean():.4f}")
    model = SBN(784, 50, SHAPE)
    for epsilon in epsilons:
        plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=epochs)
        results = [accuracy(model, plan, train, test, seed) for seed in range(seeds)]
        row(f"refined, K = 50, ε = {epsilon}, {plan.epochs:.3g} epochs", results)


def non_private(train, test, seeds, variants):
    records = len(train)
    for variant in variants:
        # The full Pólya–Gamma bound sharpens with every step, and pixel accuracy falls again after a few.
        plan = vips.PrivacyPlan(
            records=records, expected_batch=records, steps=4, noise_multiplier=0.0, delta=DELTA
        )
        for hidden in (50, 100):
            model = SBN(784, hidden, SHAPE, variant)
            results = [accuracy(model, plan, train, test, seed) for seed in range(seeds)]
            row(f"{variant}, K = {hidden}, not private, 4 full batches", results)


def figure(train, test, seeds, hidden, batches, path, html):
    """Append a row per missing run to the CSV `path`, seed by seed; print and draw."""
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    for seed in range(seeds):
        for batch in batches:
            for name, (model, plan) in figure_runs(len(train), hidden, batch).items():
                key = {"hidden": hidden, "batch": batch, "run": name, "seed": seed}
                if (rows[list(key)] == pd.Series(key)).all(axis=1).any():
                    continue
                score, likelihood = hundred(model, plan, train, test, seed)
                rows.loc[len(rows)] = {**key, "accuracy": score, "log_likelihood": likelihood}
                rows.to_csv(path, index=False)
    print(f"K = {hidden}, one epoch, 100 test images for each seed")
    chosen = rows[rows["hidden"] == hidden]
    print(summary(chosen).to_string())
    if html:
        write_figure(chosen, html)


def figure_runs(records, hidden, batch):
    """Return models and plans of Figure 7; refined runs spend the ε, by moments, of the paper's runs."""
    plan = vips.PrivacyPlan(
        records=records, expected_batch=batch, epochs=1, noise_multiplier=1.0, delta=DELTA
    )
    paper, refined = SBN(784, hidden, SHAPE, "paper"), SBN(784, hidden, SHAPE)
    epsilon = plan.epsilon("moments")
    return {
        "paper, not private": (paper, plan.replace(noise_multiplier=0.0)),
        "paper, moments": (paper, plan),
        "paper, strong composition": (paper, plan.replace(noise_multiplier=STRONG_NOISE[batch])),
        "refined, same S and T": (refined, plan.calibrate(epsilon)),
        "refined, one pass in 4 steps": (
            refined,
            refined.recommend(records=records, epsilon=epsilon, delta=DELTA, epochs=1),
        ),
    }


def hundred(model, plan, train, test, seed):
    chosen = np.zeros(len(test), bool)
    chosen[np.random.default_rng(seed).choice(len(test), 100, replace=False)] = True
    return accuracy(model, plan, train, test[chosen], seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["table", "non-private", "figure"])
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.3, 0.5, 1.0, 1.3, 2.9])
    parser.add_argument("--epochs", type=float, default=12)
    parser.add_argument("--variants", nargs="+", choices=["refined", "paper"], default=["refined", "paper"])
    parser.add_argument("--hidden", type=int, default=50)
    parser.add_argument("--csv", type=Path, default=Path("sbn_figure.csv"))
    parser.add_argument("--html", type=Path, help="page to draw the figure to")
    parser.add_argument(
        "--batches", type=int, nargs="+", choices=list(STRONG_NOISE), default=list(STRONG_NOISE)
    )
    options = parser.parse_args()
    train, test = load("mnist"), load("mnist-test")
    print(f"{'':<44} accuracy          log-likelihood per image")
    if options.what == "table":
        table(train, test, options.seeds or 3, options.epsilons, options.epochs)
    elif options.what == "non-private":
        non_private(train, test, options.seeds or 3, options.variants)
    else:
        figure(train, test, options.seeds or 10, options.hidden, options.batches, options.csv, options.html)


if __name__ == "__main__":
    main()
