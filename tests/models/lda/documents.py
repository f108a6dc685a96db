"""Small documents and topics for tests."""

import numpy as np

from vips_core.records import Documents

TOPICS, WORDS, ALPHA = 5, 30, 0.1
VOCABULARY = tuple(f"w{number}" for number in range(WORDS))


def corpus_of(matrix, vocabulary=None):
    matrix = np.asarray(matrix)
    return Documents.from_counts(matrix, vocabulary or [f"w{number}" for number in range(matrix.shape[1])])


def random_counts(documents=40, words=WORDS, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.poisson(rng.gamma(0.3, 2, (documents, words)))
    matrix[3] = 0  # an empty document
    matrix[4, 1:] = 0
    return matrix


def random_lam(seed=1, topics=TOPICS, words=WORDS):
    return np.random.default_rng(seed).gamma(0.5, 2, (topics, words)) + 0.05


def generated(documents, topics=4, words=60, length=60, seed=0):
    """Return documents of known topics, each on its own block of words over a common background."""
    rng = np.random.default_rng(seed)
    beta = np.full((topics, words), 0.2 / words)
    for k in range(topics):
        own = slice(k * words // topics, (k + 1) * words // topics)
        beta[k, own] += 0.8 * rng.dirichlet(np.ones(words // topics))
    theta = rng.dirichlet(np.full(topics, 0.1), documents)
    return corpus_of([rng.multinomial(length, row / row.sum()) for row in theta @ beta]), beta


def dense(corpus):
    matrix = np.zeros((len(corpus), len(corpus.vocabulary)))
    for d in range(len(corpus)):
        part = slice(corpus.indptr[d], corpus.indptr[d + 1])
        matrix[d, corpus.indices[part]] = corpus.counts[part]
    return matrix
