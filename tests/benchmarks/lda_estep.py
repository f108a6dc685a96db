"""Time one E-step against scikit-learn and gensim: python -m tests.benchmarks.lda_estep

K = 50, V = 8,000, documents of 500 words, 20 sweeps. All start from exp<ln β>, whose computation is not
timed. "Bound" is the lower bound on ln p(words), per word, at each contender's own γ: our sweeps extrapolate,
and their bound must not be below the others'. gensim starts from a random θ, the others from a flat one. Ours
is timed with 20 sweeps, and with as many as reach the best bound of the others.
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

from vips_core.models.base import Block
from vips_core.models.lda.kernels import expected_rows, infer_gammas, topic_word_sums
from vips_core.models.lda.model import LDA
from vips_core.models.lda.scores import evidence_bound
from vips_core.records import Documents

TOPICS, WORDS, LENGTH, SWEEPS, ALPHA = 50, 8000, 500, 20, 0.02


def documents(count, rng):
    beta = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, 0.1), count)
    rows = [np.bincount(rng.choice(WORDS, LENGTH, p=row @ beta), minlength=WORDS) for row in theta]
    return sp.csr_matrix(np.array(rows, np.int32)), rng.gamma(1, 5, (TOPICS, WORDS)) * beta * WORDS + 0.1


def ours(corpus, lam, sweeps=SWEEPS):
    """Return the timed E-step, which does not return γ, and the same inference, which does."""
    model = LDA(TOPICS, corpus.vocabulary, LENGTH, alpha=ALPHA, sweeps=sweeps, tolerance=0.0)
    block = Block(float(LENGTH), 1.0, (TOPICS, WORDS))  # no document is clipped
    rows = expected_rows(lam)
    gammas = infer_gammas(corpus, rows, TOPICS, ALPHA, sweeps, 0.0)

    def run():
        topic_word_sums(model, corpus, rows, block, resampled=False)
        return gammas

    return run


def scikit_learn(matrix, lam, dtype, pool):
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=ALPHA, max_doc_update_iter=SWEEPS, mean_change_tol=0.0, n_jobs=2
    )
    model._init_latent_vars(WORDS, dtype=dtype)
    model.components_ = lam.astype(dtype)
    logs = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    model.exp_dirichlet_component_ = np.exp(logs).astype(dtype)
    counts = matrix.astype(dtype)
    return lambda: model._e_step(counts, True, False, pool)[0]


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
    gammas = model.inference(bags, collect_sstats=True)[0]
    return time.perf_counter() - start, gammas


def gensim(matrix, lam, pool):
    """Return a function whose time is that of the slower of two processes, without their start-up."""
    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in matrix]
    half = len(bags) // 2

    def run():
        parts = list(pool.map(gensim_part, [bags[:half], bags[half:]], [lam, lam]))
        return max(seconds for seconds, _ in parts), np.vstack([gammas for _, gammas in parts])

    return run


def timed(function):
    def run():
        start = time.perf_counter()
        result = function()
        return time.perf_counter() - start, result

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    matrix, lam = documents(options.documents, np.random.default_rng(0))
    corpus = Documents.from_counts(matrix, [f"w{v}" for v in range(WORDS)])
    with Parallel(n_jobs=2) as threads, ProcessPoolExecutor(2) as processes:
        contenders = {
            "vips": timed(ours(corpus, lam)),
            "scikit-learn, n_jobs=2": timed(scikit_learn(matrix, lam, np.float64, threads)),
            "scikit-learn float32, n_jobs=2": timed(scikit_learn(matrix, lam, np.float32, threads)),
        }
        if importlib.util.find_spec("gensim") is None:
            print("gensim is not installed and not measured")
        else:
            contenders["gensim, two processes"] = gensim(matrix, lam, processes)
        bounds = [evidence_bound(lam, ALPHA, corpus, run()[1]) for run in contenders.values()]
        for sweeps in range(1, SWEEPS + 1):
            enough = ours(corpus, lam, sweeps)
            reached = evidence_bound(lam, ALPHA, corpus, enough())
            if reached >= max(bounds[1:]) or sweeps == SWEEPS:
                contenders[f"vips, {sweeps} sweeps"] = timed(enough)
                bounds.append(reached)
                break
        # Contenders take turns, so that other load affects all equally. Only the second run of a turn counts,
        # because the first fetches what the others evicted from the cache.
        rounds = [[(run(), run())[1][0] for run in contenders.values()] for _ in range(options.rounds)]
    times = np.array(rounds) / options.documents * 1e6
    print(f"{'':32}{'bound':>9}  µs per document   times ours, median (range): 20 sweeps   at equal bound")
    for name, own, column in zip(contenders, bounds, times.T, strict=True):
        ratios = [column / times[:, place] for place in (0, -1)]
        text = [f"{np.median(each):5.1f} ({each.min():.1f} to {each.max():.1f})" for each in ratios]
        print(f"{name:32}{own / matrix.sum():9.4f}  {np.median(column):15.1f}  {text[0]:>38}  {text[1]:>19}")


if __name__ == "__main__":
    main()
