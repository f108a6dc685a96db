"""Time one E-step against scikit-learn and gensim: python -m tests.benchmarks.lda_estep

K = 50, V = 8,000, documents of 500 words, exactly 20 sweeps. Differences are from scikit-learn's float64
statistics, relative to their norm. gensim starts θ at random, so its sums are those of another start.
"""

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy.sparse as sp
from joblib import Parallel
from scipy.special import digamma
from sklearn.decomposition import LatentDirichletAllocation

from vips_core.data import Corpus
from vips_core.kernels.lda import expected_rows, topic_word_sums

TOPICS, WORDS, LENGTH, SWEEPS, ALPHA = 50, 8000, 500, 20, 0.02


def documents(count, rng):
    beta = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, 0.1), count)
    rows = [np.bincount(rng.choice(WORDS, LENGTH, p=row @ beta), minlength=WORDS) for row in theta]
    return sp.csr_matrix(np.array(rows, np.int32)), rng.gamma(1, 5, (TOPICS, WORDS)) * beta * WORDS + 0.1


def best_time(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def ours(matrix, lam):
    corpus = Corpus.from_counts(matrix, [f"w{v}" for v in range(WORDS)])
    options = {
        "words": LENGTH,
        "resampled": False,
        "seed": 0,
        "bound": 1e9,
        "sweeps": SWEEPS,
        "tolerance": 0.0,
    }
    weights = np.ones(WORDS, np.float32)
    return lambda: topic_word_sums(corpus, expected_rows(lam), TOPICS, ALPHA, weights=weights, **options)


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


def gensim_time(matrix, lam, repeats):
    """Seconds of the slower of two processes, each with half the documents, without their start-up."""
    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in matrix]
    half = len(bags) // 2
    times = []
    with ProcessPoolExecutor(2) as pool:
        for _ in range(repeats):
            parts = list(pool.map(gensim_part, [bags[:half], bags[half:]], [lam, lam]))
            times.append(max(seconds for seconds, _ in parts))
    return min(times), sum(sums for _, sums in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    matrix, lam = documents(options.documents, np.random.default_rng(0))
    run = ours(matrix, lam)
    run()
    fastest, own = best_time(run, options.repeats)
    print(f"{'':34}  µs per document   times ours   difference")

    def line(name, seconds, sums):
        difference = np.linalg.norm(sums - expected) / np.linalg.norm(expected)
        verdict = "" if difference < 1e-3 else "  DIFFERS"
        micros = seconds / options.documents * 1e6
        print(
            f"{name:34}  {micros:15.1f}   {seconds / fastest:10.1f}   {difference:.1e}{verdict}", flush=True
        )

    with Parallel(n_jobs=2) as pool:
        run = scikit_learn(matrix, lam, np.float64, pool)
        expected = run()
        line("vips", fastest, own)
        line("scikit-learn, n_jobs=2", *best_time(run, options.repeats))
        run = scikit_learn(matrix, lam, np.float32, pool)
        run()
        line("scikit-learn float32, n_jobs=2", *best_time(run, options.repeats))
    try:
        import gensim  # noqa: F401
    except ImportError as reason:
        print(f"{'gensim, two processes':34}  skipped: {reason}")
    else:
        line("gensim, two processes", *gensim_time(matrix, lam, options.repeats))


if __name__ == "__main__":
    main()
