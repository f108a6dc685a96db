"""Time one E-step against scikit-learn and gensim: python -m tests.benchmarks.lda_estep

K = 50, V = 8,000, documents of 500 words, 20 sweeps. All start from exp<ln β>, which no time includes.
Differences are from scikit-learn's float64 statistics, relative to their norm. gensim starts θ at random, so
its sums are those of another start.
"""

import argparse
import importlib.util
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.utils.parallel import Parallel

from vips_core.data import Corpus
from vips_core.models.base import Block
from vips_core.models.lda.kernels import expected_rows, topic_word_sums
from vips_core.models.lda.model import LDA

TOPICS, WORDS, LENGTH, SWEEPS, ALPHA = 50, 8000, 500, 20, 0.02


def documents(count, rng):
    beta = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, 0.1), count)
    rows = [np.bincount(rng.choice(WORDS, LENGTH, p=row @ beta), minlength=WORDS) for row in theta]
    return sp.csr_matrix(np.array(rows, np.int32)), rng.gamma(1, 5, (TOPICS, WORDS)) * beta * WORDS + 0.1


def ours(matrix, lam):
    corpus = Corpus.from_counts(matrix, [f"w{v}" for v in range(WORDS)])
    model = LDA(TOPICS, corpus.vocabulary, LENGTH, alpha=ALPHA, sweeps=SWEEPS, tolerance=0.0)
    block = Block(float(LENGTH), 1.0, (TOPICS, WORDS))  # no document is clipped
    weights, rows = np.ones(WORDS, np.float32), expected_rows(lam)
    return lambda: topic_word_sums(model, corpus, rows, weights, block, resampled=False)


def scikit_learn(matrix, lam, dtype, pool):
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=ALPHA, max_doc_update_iter=SWEEPS, mean_change_tol=0.0, n_jobs=2
    )
    model._init_latent_vars(WORDS, dtype=dtype)
    model.components_ = lam.astype(dtype)
    logs = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    model.exp_dirichlet_component_ = np.exp(logs).astype(dtype)
    counts = matrix.astype(dtype)
    return lambda: model._e_step(counts, True, False, pool)[1]


def gensim_part(bags, lam):
    from gensim.models import LdaModel

    model = LdaModel(
        num_topics=TOPICS,
        id2word={v: str(v) for v in range(WORDS)},
        alpha=np.full(TOPICS, ALPHA),
        iterations=SWEEPS,
        gamma_threshold=0.0,
        random_state=0,
        dtype=np.float32,
    )
    logs = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    model.expElogbeta = np.exp(logs).astype(np.float32)
    model.state.sstats[:] = lam
    start = time.perf_counter()
    sums = model.inference(bags, collect_sstats=True)[1]
    return time.perf_counter() - start, sums


def gensim(matrix, lam, pool):
    """Return a function whose time is that of the slower of two processes, without their start-up."""
    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in matrix]
    half = len(bags) // 2

    def run():
        parts = list(pool.map(gensim_part, [bags[:half], bags[half:]], [lam, lam]))
        return max(seconds for seconds, _ in parts), sum(sums for _, sums in parts)

    return run


def timed(function):
    def run():
        start = time.perf_counter()
        result = function()
        return time.perf_counter() - start, result

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    matrix, lam = documents(options.documents, np.random.default_rng(0))
    with Parallel(n_jobs=2) as threads, ProcessPoolExecutor(2) as processes:
        contenders = {
            "vips": timed(ours(matrix, lam)),
            "scikit-learn, n_jobs=2": timed(scikit_learn(matrix, lam, np.float64, threads)),
            "scikit-learn float32, n_jobs=2": timed(scikit_learn(matrix, lam, np.float32, threads)),
        }
        if importlib.util.find_spec("gensim") is None:
            print("gensim is not installed and not measured")
        else:
            contenders["gensim, two processes"] = gensim(matrix, lam, processes)
        sums = {name: run()[1] for name, run in contenders.items()}
        # In turns, so that a noisy machine is noisy for all.
        rounds = [[run()[0] for run in contenders.values()] for _ in range(options.rounds)]
    times = np.array(rounds) / options.documents * 1e6
    expected = sums["scikit-learn, n_jobs=2"]
    print(f"{'':32}  µs per document    times ours, median  (lowest to highest)    difference")
    for name, column in zip(contenders, times.T, strict=True):
        ratios = column / times[:, 0]
        difference = np.linalg.norm(sums[name] - expected) / np.linalg.norm(expected)
        print(
            f"{name:32}  {np.median(column):15.1f}  {np.median(ratios):20.1f}  ({ratios.min():6.1f} to "
            f"{ratios.max():7.1f})    {difference:10.1e}{'' if difference < 1e-3 else '  DIFFERS'}"
        )


if __name__ == "__main__":
    main()
