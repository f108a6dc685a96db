"""Results for the lessons: the same models trained at several ε with several seeds.

They are made from the public samples, through the public names of `vips_core`, by::

    python -m sample_data.lessons [risk] [topics] [digits]

This command takes about ten minutes on one core and writes ``lessons.npz`` into this folder; with names, it
trains only these tasks again. All runs use the refined variants at δ = 1e-5 on full batches, and all scores
are on held-out records. The data are public and the runs are seeded, so anyone can reproduce the file: their
ε describes the noise and protects nobody.

| task   | data                                              | model                          |
|--------|---------------------------------------------------|--------------------------------|
| risk   | NHANES stroke, 4,204 people, 1,051 held out       | logistic regression, 16 steps  |
| topics | State of the Union, 19,070 paragraphs, 2,000 held out | 10 topics, 20 steps        |
| digits | the first 6,000 images of MNIST, 10,000 test images | 50 hidden units, 12 steps    |
"""

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sample_data
import vips_core as vips
from vips_core import validate
from vips_core.kernels import Array
from vips_core.records.files.npz import load_arrays

FILE = sample_data.FOLDER / "lessons.npz"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, math.inf)  # ∞ means no noise
DELTA = 1e-5
RISK_SEEDS, TOPIC_SEEDS, DIGIT_SEEDS = 20, 8, 8  # runs at each ε, fewer for the slower models
FALSE_POSITIVES = np.linspace(0, 1, 51)  # false positive rates at which a ROC curve is stored
TOPICS, WORDS_PER_DOCUMENT, HELD_OUT_DOCUMENTS = 10, 50, 2000
TOP = 7  # stored words of a topic, as many as fit on the lesson's chart
TRAIN_IMAGES, HIDDEN = 6000, 50
LEVELS = 15  # highest grey level of a stored pixel, which takes half a byte
Fits = list[list[vips.Fit[Any]]]  # by ε and seed
Trained = tuple[Fits, dict[str, NDArray[Any]]]  # with the arrays to store


@dataclass(frozen=True, eq=False)
class Results:
    """Everything in the file. Unless stated, the first axes are ε (in the order of `EPSILONS`) and seed.

    Attributes
    ----------
    spent
        ε by PLD from the ledgers, (task, ε), for risk, topics and digits.
    auc, roc
        Held-out AUC, and the true positive rate at `FALSE_POSITIVES`.
    vocabulary
        The words that `words` refers to.
    words, word_shares
        Most probable words of each topic, (ε, seed, topic, rank), as indices of `vocabulary`, and their
        probabilities. Topics are matched to those of the first run without noise.
    overlap
        Probability mass that a topic shares with its match, (ε, seed, topic).
    perplexity
        Held-out perplexity, by document completion.
    digits, reconstructions
        Ten test images, one of each digit, (10, 28, 28), and their reconstructions by each run, from 0 to 1.
    accuracy
        Share of correct pixels in all test images.
    """

    spent: Array
    auc: Array
    roc: Array
    vocabulary: tuple[str, ...]
    words: NDArray[np.int64]
    word_shares: Array
    overlap: Array
    perplexity: Array
    digits: Array
    reconstructions: Array
    accuracy: Array


@functools.cache
def load() -> Results:
    """Return the results, which ship with the package.

    Returns
    -------
    Results
        Results of all tasks.

    Examples
    --------
    >>> load().auc.shape == (len(EPSILONS), RISK_SEEDS)
    True
    """
    arrays = load_arrays(FILE)
    packed = arrays.pop("reconstructions")
    levels = np.stack([packed >> 4, packed & 15], axis=-1).reshape(*packed.shape[:-1], 28, 28)
    return Results(
        spent=np.stack([arrays.pop(f"spent_{name}").astype(np.float64) for name in TASKS]),
        vocabulary=tuple(arrays.pop("vocabulary").tolist()),
        words=arrays.pop("words").astype(np.int64),
        digits=np.unpackbits(arrays.pop("digits"), axis=1).reshape(-1, 28, 28).astype(np.float64),
        reconstructions=levels / LEVELS,
        **{name: value.astype(np.float64) for name, value in arrays.items()},
    )


def risk() -> Trained:
    """Train the risk model; return the fits with held-out AUC and ROC curves."""
    train, test = sample_data.load("nhanes-stroke").split(test_share=0.2, seed=0)
    model = vips.BayesianLogistic(train.feature_names, train.norm_bound)
    fits = _fits(model, train, 16, RISK_SEEDS)
    return fits, {
        "auc": _each(fits, lambda fit: vips.auc(fit, test)),
        "roc": _each(fits, lambda fit: _true_positives(vips.roc(fit, test))),
    }


def topics() -> Trained:
    """Train topics; return the fits with top words, matched to the first run without noise."""
    corpus = sample_data.load("sotu")
    train, test = corpus.split(test_share=HELD_OUT_DOCUMENTS / len(corpus), seed=0)
    model = vips.LDA(TOPICS, corpus.vocabulary, WORDS_PER_DOCUMENT)
    fits = _fits(model, train, 20, TOPIC_SEEDS)
    reference = vips.topic_words(fits[-1][0])
    paired = [[_match(reference, vips.topic_words(fit)) for fit in row] for row in fits]
    best = _each(paired, lambda pair: np.argsort(-pair[0], axis=1, kind="stable")[:, :TOP])
    shares = _each(paired, lambda pair: -np.sort(-pair[0], axis=1)[:, :TOP])
    used, words = np.unique(best, return_inverse=True)
    return fits, {
        "vocabulary": np.array(corpus.vocabulary)[used],
        "words": words.reshape(best.shape).astype(np.uint16),
        "word_shares": shares,
        "overlap": _each(paired, lambda pair: pair[1]),
        "perplexity": _each(fits, lambda fit: vips.perplexity(fit, test)),
    }


def digits() -> Trained:
    """Train image models; return the fits with reconstructions of one test image of each digit."""
    images, test = sample_data.load("mnist"), sample_data.load("mnist-test")
    train = images[np.arange(len(images)) < TRAIN_IMAGES]
    labels = sample_data.load_digit_labels("mnist-test")
    first = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    shown = vips.Images(test.bits[first], test.shape)
    model = vips.SBN(28 * 28, HIDDEN, (28, 28))
    fits = _fits(model, train, 12, DIGIT_SEEDS)
    shares = _each(fits, lambda fit: vips.reconstruct(model, fit.params, shown))
    grey = np.round(shares * LEVELS).astype(np.uint8)
    return fits, {
        "digits": shown.bits,
        "reconstructions": grey[..., 0::2] << 4 | grey[..., 1::2],
        "accuracy": _each(fits, lambda fit: vips.pixel_accuracy(fit, test)),
    }


TASKS: dict[str, Callable[[], Trained]] = {"risk": risk, "topics": topics, "digits": digits}


def _fits(model: Any, train: Any, steps: int, seeds: int) -> Fits:
    """Train at every ε with every seed, on full batches."""
    open_plan = vips.PrivacyPlan(
        records=len(train), expected_batch=len(train), steps=steps, noise_multiplier=0.0, delta=DELTA
    )
    plans = [open_plan.calibrate(epsilon) if epsilon < math.inf else open_plan for epsilon in EPSILONS]
    fits = []
    for epsilon, plan in zip(EPSILONS, plans, strict=True):
        print(f"{type(model).__name__}: ε = {epsilon}, {seeds} seeds", flush=True)
        fits.append([vips.fit(model, train, plan, seed=seed) for seed in range(seeds)])
    return fits


def _each(rows: list[list[Any]], function: Any) -> NDArray[Any]:
    return np.array([[function(item) for item in row] for row in rows])


def _true_positives(curve: Any) -> Array:
    return np.asarray(np.interp(FALSE_POSITIVES, curve.false_positive_rate, curve.true_positive_rate))


def _match(reference: Array, topic_words: Array) -> tuple[Array, Array]:
    partner, overlap = vips.match_topics(reference, topic_words)
    return topic_words[partner], overlap


def main() -> None:
    """Train the tasks named on the command line, or all tasks, and write the file."""
    wanted = [validate.one_of("task", name, TASKS) for name in sys.argv[1:]] or list(TASKS)
    arrays: dict[str, Any] = {} if set(wanted) == set(TASKS) else load_arrays(FILE)
    for name in wanted:
        fits, results = TASKS[name]()
        arrays[f"spent_{name}"] = np.array([row[0].epsilon("pld") for row in fits])
        for key, value in results.items():
            # Single precision is far finer than the numbers on a page.
            arrays[key] = value.astype(np.float32) if value.dtype == np.float64 else value
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
