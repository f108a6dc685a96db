"""Held-out perplexity of private topics: python -m tests.benchmarks.lda_utility [--data COUNTS.npz]

Rows: the unigram line, scikit-learn, non-private, the paper's variant, strong composition, refined. Unigram
and non-private rows use the training records without noise: they are for comparison on public data only. Gaps
are to the best non-private row, and the row σ = 1.24 has the refined ε by the paper's accountant, but less by
PLD.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp

import sample_data
import vips_core as vips
from vips_core.models.lda.model import LDA
from vips_core.models.lda.scores import perplexity, topic_perplexity, unigram_perplexity
from vips_core.models.lda.task import UNCUT_WORDS
from vips_core.records import Documents

PAPER_NOISE, STRONG_NOISE = 1.24, 4.337  # errata §2: strong composition at the paper's settings


def load(path):
    if path == "sotu":
        return sample_data.load("sotu")
    with np.load(path) as arrays:
        return Documents(
            arrays["indptr"], arrays["indices"], arrays["counts"], tuple(map(str, arrays["vocabulary"]))
        )


def uncut(topics, vocabulary):
    """Return the model for runs without privacy: no document is clipped or shortened."""
    return LDA(topics, vocabulary, UNCUT_WORDS, clip=1.0)


def scikit_learn(train, test, topics, passes, method):
    """Return the scores of scikit-learn on shuffled documents, because it takes batches in order."""
    from sklearn.decomposition import LatentDirichletAllocation

    shape = (len(train), len(train.vocabulary))
    matrix = sp.csr_matrix((train.counts, train.indices, train.indptr), shape=shape)
    shuffled = matrix[np.random.default_rng(0).permutation(len(train))]
    model = LatentDirichletAllocation(topics, learning_method=method, max_iter=passes, random_state=0)
    lam = model.fit(shuffled).components_
    return [topic_perplexity(lam, 1 / topics, test, kind) for kind in ("bound", "completion")]


def parser_of(description):
    """Return a parser with the options of all topic benchmarks."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", default="sotu")
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--words", type=int, default=50, help="words per document")
    parser.add_argument("--held-out", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, default=2.44)
    parser.add_argument("--delta", type=float, default=1e-4)
    return parser


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--batch", type=int, default=2000, help="batch size of the non-private online run")
    parser.add_argument(
        "--passes", type=int, default=5, help="passes of scikit-learn and the online run; 0 skips both"
    )
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    corpus = load(options.data)
    train, test = corpus.split(options.held_out / len(corpus), 0)
    unigram = np.bincount(train.indices, train.counts, len(corpus.vocabulary))
    refined = LDA(options.topics, corpus.vocabulary, options.words)
    plain = uncut(options.topics, corpus.vocabulary)
    paper = LDA(options.topics, corpus.vocabulary, options.words, variant="paper")
    best = refined.recommend(
        records=len(train), epsilon=options.epsilon, delta=options.delta, epochs=options.epochs
    )
    fifth = vips.PrivacyPlan(
        records=len(train), expected_batch=round(0.05 * len(train)), epochs=1, delta=options.delta
    )
    print(f"{len(train)} documents, {len(test)} held out, K = {options.topics}, N = {options.words}")
    print(f"{'':44} {'bound':>8} {'completion':>11} {'± seeds':>8} {'seconds':>8} {'ε (PLD)':>8}")

    def line(name, scores, seconds=0.0, epsilon=""):
        mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0)
        print(
            f"{name:44} {mean[0]:8.0f} {mean[1]:11.0f} {spread[1]:8.1f} {seconds:8.1f} {epsilon:>8}",
            flush=True,
        )
        return mean

    def fitted(name, model, plan):
        start, scores = time.perf_counter(), []
        for seed in range(options.seeds):
            fit = vips.fit(model, train, plan, seed=seed)
            scores.append([perplexity(fit, test, kind) for kind in ("bound", "completion")])
        epsilon = f"{fit.epsilon():.3f}" if plan.noise_multiplier else "∞"
        return line(name, scores, (time.perf_counter() - start) / options.seeds, epsilon)

    line("unigram", [[unigram_perplexity(unigram, test, kind) for kind in ("bound", "completion")]])
    floors = []
    if options.passes:
        for method in ("online", "batch"):
            start = time.perf_counter()
            scores = scikit_learn(train, test, options.topics, options.passes, method)
            name = f"scikit-learn {method}, {options.passes} passes"
            floors.append(line(name, [scores], time.perf_counter() - start))
        online = vips.PrivacyPlan(
            records=len(train),
            expected_batch=options.batch,
            epochs=options.passes,
            noise_multiplier=0,
            delta=options.delta,
        )
        name = f"non-private, {options.passes} passes, batches of {options.batch}"
        floors.append(fitted(name, plain, online))
    floors.append(fitted("non-private, the refined plan", plain, best.replace(noise_multiplier=0)))
    floor = np.min(floors, axis=0)  # the best score without privacy, by any method
    top = fitted("paper, σ = 1.24, 5 %, one epoch", paper, fifth.replace(noise_multiplier=PAPER_NOISE))
    equal = fitted("paper, calibrated by PLD", paper, fifth.calibrate(options.epsilon))
    fitted("strong composition, σ = 4.337", paper, fifth.replace(noise_multiplier=STRONG_NOISE))
    got = fitted("refined", refined, best)
    for name, other in (("σ = 1.24", top), ("equal ε by PLD", equal)):
        share = (got - floor) / (other - floor)
        print(f"refined gap over the gap of paper, {name}: bound {share[0]:.0%}, completion {share[1]:.0%}")


if __name__ == "__main__":
    main()
