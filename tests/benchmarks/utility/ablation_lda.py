"""Mechanisms of refined topics for `tests.benchmarks.utility.ablation`; VIPS_BENCH_WIKIPEDIA adds articles.

Scores are logarithms of the held-out completion perplexity: a change of 0.01 is 1 %.
"""

import functools
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np

import vips_core as vips
from tests.benchmarks.utility import texts
from tests.benchmarks.utility.ablation import Ablation, Measure
from vips_core.models.lda.constants import CONSTANTS
from vips_core.models.lda.model import LDA
from vips_core.models.lda.refined import Refined
from vips_core.models.lda.scores import perplexity
from vips_core.records import Documents

DELTA, TOPICS, PASSES = 1e-4, 20, 20
DOCUMENTS = 5_000
CORPORA = ("sotu", "generated", "docstrings")
ARTICLES = ("wikipedia 5000 x 60",)
# Each mechanism with the limiting values that switch it off.
MECHANISMS: dict[str, dict[str, Any]] = {
    "several steps of word counts": {"word_steps": 0.01},
    "fewer topics where noise is large": {"cell_noise": math.inf},
    "least mass of a topic": {"smallest_mass": 1e-6},
    "weights of cells": {"cell_weight_power": 0.0},
    "residuals": {"expected": 0.0},
    "residuals only of words of known counts": {"count_noise": 0.0},
    "averages over steps": {"usual_noise": math.inf},
    "averages that forget": {"usual_noise": 1e-9},
    "regression of word counts": {"word_slope_steps": 0},
    "EM for word counts": {"word_em_steps": 1},
    "semantic prior": {"slope_steps": 0},
    "bounds on a Newton step": {"longest_step": 1e9},
    "bounds on the variance of cells": {"cell_variance": (1e-3, 1e3)},
    "concentration from completions": {"concentrations": (1.0,), "clear_gain": -math.inf},
    "unigram where completions gain nothing": {"clear_gain": -math.inf},
    "topics told apart": {"distinct": 0.0},
}


@functools.lru_cache(2)
def split(name: str, draw: int) -> tuple[Documents, Documents]:
    """Return (train, test) of at most DOCUMENTS documents of a corpus."""
    corpus = texts.load(name)
    corpus = corpus[np.arange(len(corpus)) % math.ceil(len(corpus) / DOCUMENTS) == 0]
    return corpus.split(0.2, draw)


def score(name: str, epsilon: float, draw: int, changed: dict[str, Any] | None) -> dict[str, float]:
    """Return the log completion perplexity of refined topics with these constants changed."""
    train, test = split(name, draw)
    model = LDA(TOPICS, train.vocabulary, texts.WORDS[name])
    vars(model)["algorithm"] = Refined(model, replace(CONSTANTS, **(changed or {})))
    plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=PASSES)
    return {"log perplexity": math.log(perplexity(vips.fit(model, train, plan, seed=draw), test))}


ABLATION = Ablation(
    CORPORA + (ARTICLES if os.environ.get(texts.WIKIPEDIA_FILE) else ()),
    MECHANISMS,
    score,
    {"log perplexity": Measure(larger_is_better=False, tolerance=0.005)},
    epsilons=(0.25, 1.0, 2.44),
    draws=3,
)
