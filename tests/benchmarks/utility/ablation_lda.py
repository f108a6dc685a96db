"""Switch off each mechanism of refined topics: python -m tests.benchmarks.utility.ablation_lda scores.csv

A second call goes on where one stopped; --table prints the table of what is there. The score is the
logarithm of the held-out completion perplexity, so a change of 0.01 is 1 %. Runs with and without a
mechanism share split and seed. VIPS_BENCH_WIKIPEDIA adds articles (see `texts`). `mean` and its standard
error are over all pairs; `worst` is the corpus that loses most, with the standard error of its own pairs.
"""

import argparse
import csv
import functools
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import vips_core as vips
from tests.benchmarks.utility import texts
from vips_core.models.lda.constants import CONSTANTS, Constants
from vips_core.models.lda.model import LDA
from vips_core.models.lda.refined import Refined
from vips_core.models.lda.scores import perplexity
from vips_core.records import Documents

DELTA, TOPICS, PASSES = 1e-4, 20, 20
EPSILONS = (0.25, 1.0, 2.44)
DOCUMENTS = 5_000
CORPORA = ("sotu", "generated", "docstrings")
ARTICLES = ("wikipedia 5000 x 60", "wikipedia 20000 x 60")
WITH_ALL = "everything"
# Each mechanism with the limiting values that switch it off.
MECHANISMS: dict[str, dict[str, object]] = {
    "word counts first": {"word_steps": 0},
    "second step of word counts": {"word_steps": 1},
    "two generations": {"forming_steps": 0},
    "two generations only from 10 topics": {"fewest_split": 2},
    "fewer topics where noise is large": {"cell_noise": math.inf},
    "at least 4 topics": {"fewest_topics": 2},
    "unmeasured topics keep some mass": {"unmeasured_mass": 1e-9},
    "least mass of a topic": {"smallest_mass": 1e-6},
    "weights of words": {"word_weight_power": 0.0},
    "cap on weights of words": {"largest_word_weight": math.inf},
    "weights of cells": {"cell_weight_power": 0.0},
    "residuals": {"expected": 0.0},
    "residuals only of words of known counts": {"count_noise": 0.0},
    "averages over steps": {"usual_noise": math.inf},
    "averages that forget": {"usual_noise": 1e-9},
    "regression of word counts": {"word_slope_steps": 0},
    "rank in the vocabulary": {"rank_scales": (0.0, 1.0)},
    "rank in English": {"rank_scales": (1.0, 0.0)},
    "EM for word counts": {"word_em_steps": 1},
    "semantic prior": {"first_slope_steps": 0, "slope_steps": 0},
    "more Newton steps at first": {"first_slope_steps": 2},
    "bounds on a Newton step": {"longest_step": 1e9},
    "bounds on the variance of cells": {"cell_variance": (1e-3, 1e3)},
    "groups by frequency": {"groups": 1},
    "classes of words": {"class_shapes": (1.0,)},
    "more steps of EM at first": {"first_em_steps": 2},
    "second step of EM": {"first_em_steps": 1, "em_steps": 1},
    "a grid for words of their own": {"word_grid": CONSTANTS.topic_grid},
}


@functools.lru_cache(2)
def data(name: str, seed: int) -> tuple[Documents, Documents]:
    """Return (train, test) of at most DOCUMENTS documents of a corpus."""
    corpus = texts.load(name)
    if name in CORPORA:
        corpus = corpus[np.arange(len(corpus)) % math.ceil(len(corpus) / DOCUMENTS) == 0]
    return corpus.split(0.2, seed)


def score(constants: Constants, name: str, epsilon: float, seed: int) -> float:
    """Return the log completion perplexity of refined topics with these constants."""
    train, test = data(name, seed)
    model = LDA(TOPICS, train.vocabulary, texts.WORDS[name])
    vars(model)["algorithm"] = Refined(model, constants)
    plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=PASSES)
    return math.log(perplexity(vips.fit(model, train, plan, seed=seed), test))


def table(scores: pd.DataFrame) -> str:
    """Return what the loss of each mechanism costs."""
    wide = scores.pivot_table("score", ["corpus", "epsilon", "seed"], "mechanism")
    changes = 100 * wide.drop(columns=WITH_ALL).sub(wide[WITH_ALL], axis=0)
    lines = [f"{'without':42}{'mean %':>8}{'± se':>7}   worst corpus"]
    for mechanism in [name for name in MECHANISMS if name in changes]:
        change = changes[mechanism].dropna()
        of_corpora = change.groupby("corpus").agg(["mean", "sem"])
        worst = of_corpora.loc[of_corpora["mean"].idxmax()]
        lines.append(
            f"{mechanism:42}{change.mean():8.2f}{change.sem():7.2f}   "
            f"{worst['mean']:6.2f} ±{worst['sem']:5.2f} {worst.name}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--mechanisms", nargs="*", default=list(MECHANISMS))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    names = CORPORA + (ARTICLES if os.environ.get(texts.WIKIPEDIA_FILE) else ())
    fields = ["corpus", "epsilon", "seed", "mechanism", "score"]
    if not options.scores.exists():
        options.scores.write_text(",".join(fields) + "\n")
    done = {tuple(row) for row in pd.read_csv(options.scores, dtype=str)[fields[:4]].to_numpy()}
    for seed in range(0 if options.table else options.seeds):
        for name in names:
            for mechanism in [WITH_ALL, *options.mechanisms]:
                constants = replace(CONSTANTS, **MECHANISMS.get(mechanism, {}))
                for epsilon in EPSILONS:
                    key = name, str(epsilon), str(seed), mechanism
                    if key not in done:
                        with options.scores.open("a") as file:
                            csv.writer(file).writerow([*key, score(constants, name, epsilon, seed)])
    print(table(pd.read_csv(options.scores)))


if __name__ == "__main__":
    main()
