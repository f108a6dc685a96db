"""Scores of topics on held-out documents, and matching of topics between models.

Perplexity is exp(- mean log probability per word). Never pass training records to these functions.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma, gammaln

from vips_core import validate
from vips_core.kernels import Array
from vips_core.models.base import Fitted
from vips_core.models.lda.kernels import expected_rows, infer_gammas
from vips_core.models.lda.model import document_prior
from vips_core.records import Documents

KINDS = ("bound", "completion")
ENTRIES = 4096  # document entries scored at a time, to bound memory


def perplexity(fit: Fitted[Any], corpus: Documents, kind: str = "completion", seed: int = 0) -> float:
    """Return the held-out perplexity of a fitted topic model.

    Parameters
    ----------
    fit
        A fitted `vips_core.LDA`.
    corpus
        Held-out documents. Empty ones are ignored.
    kind
        ``"bound"``: the paper's upper bound, from the evidence bound of each document given λ.
        ``"completion"``: θ is inferred from a random half of each document's words; the other half is scored.
    seed
        Seed of the random halves. Compare models at the same seed.

    Returns
    -------
    float
        Number of words that the model effectively chooses among: 1 is certainty, V a uniform guess.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> fit = SimpleNamespace(model=SimpleNamespace(alpha=0.5), params=SimpleNamespace(lam=np.ones((2, 4))))
    >>> round(perplexity(fit, Documents.from_counts([[2, 2, 0, 0]], list("abcd"))), 3)
    4.0
    """
    validate.same_order("words", getattr(fit.model, "vocabulary", ()), corpus.vocabulary)
    return topic_perplexity(fit.params.lam, document_prior(fit), corpus, kind, seed)


def topic_perplexity(
    lam: NDArray[np.floating],
    alpha: float | NDArray[np.floating],
    corpus: Documents,
    kind: str = "completion",
    seed: int = 0,
) -> float:
    """Return the `perplexity` of topics given by their posterior alone.

    Parameters
    ----------
    lam
        Posterior of the topics, topics × words.
    alpha
        Prior of a document's topics: of each topic, or the same for all.
    corpus, kind, seed
        As for `perplexity`.

    Returns
    -------
    float
        The perplexity.

    Examples
    --------
    >>> round(topic_perplexity(np.ones((2, 4)), 0.5, Documents.from_counts([[2, 2, 0, 0]], list("abcd"))), 3)
    4.0
    """
    validate.one_of("kind", kind, KINDS)
    _check_words(corpus, lam.shape[1])
    seen, scored = (corpus, corpus) if kind == "bound" else halves(corpus, seed)
    gammas = infer_gammas(seen, expected_rows(lam), len(lam), alpha)
    if kind == "bound":
        score = evidence_bound(lam, alpha, corpus, gammas)
    else:
        theta = gammas / gammas.sum(axis=1, keepdims=True)
        score = _mixture(theta, lam / lam.sum(axis=1, keepdims=True), scored)
    return math.exp(-score / _words(scored))


def unigram_perplexity(
    word_counts: NDArray[np.floating], corpus: Documents, kind: str = "completion", seed: int = 0
) -> float:
    """Return the perplexity of a single word distribution, scored on the same words as `perplexity`.

    Parameters
    ----------
    word_counts
        Word counts from a public corpus, other held-out documents or a release; 0.5 is added to each.
    corpus, kind, seed
        As for `perplexity`.

    Returns
    -------
    float
        The perplexity.

    Examples
    --------
    >>> round(unigram_perplexity(np.zeros(4), Documents.from_counts([[2, 2, 0, 0]], list("abcd"))), 3)
    4.0
    """
    validate.one_of("kind", kind, KINDS)
    _check_words(corpus, len(word_counts))
    scored = corpus if kind == "bound" else halves(corpus, seed)[1]
    smoothed = np.maximum(word_counts, 0) + 0.5
    logs = np.log(smoothed / smoothed.sum())
    return math.exp(-float(logs[scored.indices] @ scored.counts) / _words(scored))


@functools.lru_cache(maxsize=1)  # training scores the same documents after every step
def halves(corpus: Documents, seed: int) -> tuple[Documents, Documents]:
    """Split the words of each document into two random halves; the first gets the odd word.

    Parameters
    ----------
    corpus
        The documents.
    seed
        Seed of the split.

    Returns
    -------
    first, second
        Corpora with one half of each document.

    Examples
    --------
    >>> first, second = halves(Documents.from_counts([[2, 3]], ["milk", "tea"]), seed=0)
    >>> first.words, second.words
    (array([3]), array([2]))
    """
    documents = np.repeat(np.arange(len(corpus)), np.diff(corpus.indptr))
    owner = np.repeat(documents, corpus.counts)
    entry = np.repeat(np.arange(len(corpus.indices)), corpus.counts)
    order = np.lexsort((np.random.default_rng(seed).random(len(owner)), owner))
    sizes = np.bincount(owner, minlength=len(corpus))
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.bincount(entry[order[2 * rank < sizes[owner]]], minlength=len(corpus.indices))
    return _with_counts(corpus, documents, first), _with_counts(corpus, documents, corpus.counts - first)


def npmi_coherence(
    topics: NDArray[np.floating], reference: Documents, top: int = 10, smoothing: float = 1.0
) -> Array:
    """Return each topic's mean normalised pointwise mutual information over pairs of its `top` words.

    Parameters
    ----------
    topics
        Topics × words.
    reference
        Public or held-out documents. Two words co-occur if one document has both.
    top
        Words per topic.
    smoothing
        Each pair's document count is raised by `smoothing`/documents, so that pairs that never co-occur get a
        finite value near -1. Pairs with a word that is absent from the reference get -1.

    Returns
    -------
    array
        One number for each topic, from -1 to 1.

    Examples
    --------
    >>> corpus = Documents.from_counts([[1, 1, 0, 0], [0, 0, 1, 1]] * 500, list("abcd"))
    >>> npmi_coherence(np.array([[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0]]), corpus, top=2).round(1)
    array([ 1. , -0.9])
    """
    _check_words(reference, topics.shape[1])
    top = validate.whole("top", top, low=2, high=topics.shape[1])
    best = np.argsort(-topics, axis=1, kind="stable")[:, :top]
    words, columns = np.unique(best, return_inverse=True)
    once = np.ones(len(reference.indices)), reference.indices, reference.indptr
    present = sparse.csr_array(once, shape=(len(reference), topics.shape[1]))[:, words]
    together = (present.T @ present).toarray()
    size = len(reference)
    single = np.maximum(np.diag(together), smoothing / size) / size
    # Even after smoothing, a pair occurs in no more documents than either word.
    joint = np.minimum((together + smoothing / size) / size, np.minimum.outer(single, single))
    score = np.log(joint / np.outer(single, single)) / np.maximum(-np.log(joint), 1e-12)
    absent = np.diag(together) == 0
    score[absent | absent[:, None]] = -1  # not 1, as for two words that always co-occur
    pairs = np.triu_indices(top, 1)
    return np.array([score[np.ix_(c, c)][pairs].mean() for c in columns.reshape(best.shape)])


def match_topics(
    first: NDArray[np.floating], second: NDArray[np.floating]
) -> tuple[NDArray[np.int64], Array]:
    """Match the topics of two models for the largest overlap of word distributions (Hungarian method).

    Parameters
    ----------
    first, second
        Word distributions of each model's topics, topics × words.

    Returns
    -------
    partner, overlap
        For each topic of `first`, its partner in `second` and the overlap of the two: 1 minus their total
        variation distance.

    Examples
    --------
    >>> partner, overlap = match_topics(np.array([[1.0, 0], [0, 1]]), np.array([[0, 1.0], [0.8, 0.2]]))
    >>> partner, overlap
    (array([1, 0]), array([0.8, 1. ]))
    """
    from scipy.optimize import linear_sum_assignment  # imported here because it is slow and seldom needed

    if first.shape != second.shape:
        raise ValueError(f"models must agree in topics and words, got {first.shape} and {second.shape}")
    a = first / first.sum(axis=1, keepdims=True)
    b = second / second.sum(axis=1, keepdims=True)
    shared = np.array([np.minimum(row, b).sum(axis=1) for row in a])
    rows, partner = linear_sum_assignment(-shared)
    return partner, shared[rows, partner]


def evidence_bound(
    lam: NDArray[np.floating],
    alpha: float | NDArray[np.floating],
    corpus: Documents,
    gammas: NDArray[np.floating],
) -> float:
    """Return the documents' evidence bound at their γ (paper §4.3): Σ_d <ln p(w, θ, z | λ)> - <ln q>."""
    log_beta = digamma(lam) - digamma(lam.sum(axis=1, keepdims=True))
    log_theta = digamma(gammas) - digamma(gammas.sum(axis=1, keepdims=True))
    priors = np.broadcast_to(alpha, len(lam))
    # With the best φ, <ln p(w|z)> + <ln p(z|θ)> - <ln q(z)> of a word is ln Σ_k exp(<ln θ> + <ln β>).
    score = _mixture(np.exp(log_theta), np.exp(log_beta), corpus)
    score += float(
        ((priors - gammas) * log_theta + gammaln(gammas)).sum() - gammaln(gammas.sum(axis=1)).sum()
    )
    score += len(corpus) * float(gammaln(priors.sum()) - gammaln(priors).sum())
    return score


def _mixture(theta: NDArray[np.floating], beta: NDArray[np.floating], corpus: Documents) -> float:
    """Return Σ over words of ln Σ_k θ_dk β_kv, without a documents × words table."""
    documents = np.repeat(np.arange(len(corpus)), np.diff(corpus.indptr))
    columns = np.ascontiguousarray(beta.T)
    score = 0.0
    for start in range(0, len(documents), ENTRIES):
        entries = slice(start, start + ENTRIES)
        mass = np.einsum("nk,nk->n", theta[documents[entries]], columns[corpus.indices[entries]])
        score += float(np.log(np.maximum(mass, 1e-300)) @ corpus.counts[entries])
    return score


def _with_counts(corpus: Documents, documents: NDArray[np.int64], counts: NDArray[Any]) -> Documents:
    kept = counts > 0
    sizes = np.bincount(documents[kept], minlength=len(corpus))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Documents(indptr, corpus.indices[kept], counts[kept], corpus.vocabulary)


def _words(corpus: Documents) -> int:
    total = int(corpus.counts.sum())
    if not total:
        raise ValueError("held-out documents must have words, got none")
    return total


def _check_words(corpus: Documents, words: int) -> None:
    if len(corpus.vocabulary) != words:
        raise ValueError(f"corpus must have the model's {words} words, got {len(corpus.vocabulary)}")
