"""Private latent Dirichlet allocation (the paper's §4, Algorithm 3).

symbol  code                shape
------  ------------------  -----------------------------------------------------
K, V    topics, words
N       words_per_document
λ       params.lam          (K, V) posterior of the topics
α, η    alpha, eta          priors of a document's topics and of a topic's words
s       block "topics"      (K, V) expected topic–word counts
        block "words"       (V,) word counts (refined, first step)
a       clip                a document's contribution to a block is clipped to a·N in L2 norm
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vips_core import validate
from vips_core.kernels import Array
from vips_core.models.base import Fitted, Variant, VariantModel
from vips_core.models.lda.kernels import expected_rows, infer_gammas
from vips_core.models.lda.paper import Paper, PaperParams
from vips_core.models.lda.refined import Refined, RefinedParams
from vips_core.records import Documents

TopicParams = RefinedParams | PaperParams
VARIANTS: dict[str, type[Refined] | type[Paper]] = {"refined": Refined, "paper": Paper}


@dataclass(frozen=True, init=False)
class LDA(VariantModel[TopicParams, Documents]):
    """Latent Dirichlet allocation.

    Parameters
    ----------
    topics
        K. Where the noise is too large for K topics, "refined" finds fewer: the others are empty, or repeat
        the first words of topics that were found.
    vocabulary
        The public words. "refined" uses public knowledge of English words (frequency and meaning), and each
        word's position in the vocabulary, which helps if frequent words come first.
    words_per_document
        N. "paper" draws exactly N words with replacement from each document, by a hash of the document and
        `seed`. "refined" multiplies the counts of longer documents by N over their length, the expectation
        of such draws, and does not change shorter ones. An empty document adds nothing to either.
    clip
        a: a document's contribution to a block (counts or residuals) is clipped to a·N in L2 norm. None takes
        the variant's `default_clip`. Noise is proportional to a, so ε does not depend on it.
    variant
        "refined" (default) or "paper"; see the modules `refined` and `paper`.
    alpha, eta
        Dirichlet priors of a document's topics and of a topic's words, by default 1/K. "refined" learns a
        prior of each topic in its last step, for scores and new documents.
    sweeps, tolerance
        A document's E-step ends after `sweeps` sweeps, or once the mean change of γ is below `tolerance`.
    seed
        Public seed of the draws of "paper".

    Examples
    --------
    >>> import vips_core as vips
    >>> corpus = vips.Documents.from_texts(["tea milk tea", "sun rain", "milk tea", "rain"] * 50,
    ...                                 vocabulary=["tea", "milk", "sun", "rain"])
    >>> plan = vips.PrivacyPlan(records=200, expected_batch=200, steps=10, noise_multiplier=1.0, delta=1e-4)
    >>> fit = vips.fit(vips.LDA(2, corpus.vocabulary, words_per_document=3), corpus, plan, seed=0)
    >>> vips.topic_words(fit).shape
    (2, 4)
    """

    VARIANTS = VARIANTS
    topics: int
    vocabulary: tuple[str, ...]
    words_per_document: int
    clip: float
    variant: Variant
    alpha: float
    eta: float
    sweeps: int
    tolerance: float
    seed: int

    def __init__(
        self,
        topics: int,
        vocabulary: Sequence[str],
        words_per_document: int,
        clip: float | None = None,
        variant: Variant = "refined",
        *,
        alpha: float | None = None,
        eta: float | None = None,
        sweeps: int = 100,
        tolerance: float = 1e-3,
        seed: int = 0,
    ) -> None:
        validate.one_of("variant", variant, VARIANTS)
        topics = validate.whole("topics", topics, low=2)
        clip = VARIANTS[variant].default_clip if clip is None else clip
        words = tuple(vocabulary)
        if len(words) < 2:
            raise ValueError(f"vocabulary must hold at least 2 words, got {len(words)}")
        vars(self).update(
            topics=topics,
            vocabulary=words,
            words_per_document=validate.whole("words_per_document", words_per_document, low=1),
            clip=validate.positive("clip", clip, high=1),
            variant=variant,
            alpha=validate.positive("alpha", 1 / topics if alpha is None else alpha),
            eta=validate.positive("eta", 1 / topics if eta is None else eta),
            sweeps=validate.whole("sweeps", sweeps, low=1),
            tolerance=validate.number("tolerance", tolerance, low=0),
            seed=validate.whole("seed", seed, low=0),
        )

    def check(self, data: Documents) -> None:
        """Refuse a corpus whose vocabulary is not the model's, in the same order."""
        if len(data.vocabulary) != len(self.vocabulary):
            raise ValueError(
                f"the model has {len(self.vocabulary)} words, but the corpus has {len(data.vocabulary)}"
            )
        validate.same_order("words", self.vocabulary, data.vocabulary)


def topic_words(fit: Fitted[TopicParams] | TopicParams) -> Array:
    """Return each topic's word probabilities ⟨β⟩.

    Parameters
    ----------
    fit
        A fitted `LDA`, or its parameters alone.

    Returns
    -------
    array
        Topics × words; each row sums to 1.

    Examples
    --------
    >>> topic_words(PaperParams(np.array([[3.0, 1.0], [1.0, 1.0]])))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    lam = _parameters(fit).lam
    return np.asarray(lam / lam.sum(axis=1, keepdims=True))


def topic_shares(fit: Fitted[TopicParams] | TopicParams) -> Array:
    """Return each topic's estimated share of all words.

    Parameters
    ----------
    fit
        A fitted `LDA`, or its parameters alone.

    Returns
    -------
    array
        One share for each topic; they sum to 1.

    Examples
    --------
    >>> topic_shares(PaperParams(np.array([[2.0, 1.0], [0.5, 0.5]])))
    array([0.75, 0.25])
    """
    mass = _parameters(fit).lam.sum(axis=1)
    return np.asarray(mass / mass.sum())


def measured_topics(fit: Fitted[TopicParams] | TopicParams) -> int:
    """Return the number of topics that were found, which is less than K if the noise is large.

    Parameters
    ----------
    fit
        A fitted `LDA`, or its parameters alone.

    Returns
    -------
    int
        The first topics, of this number, differ in their first words; the others repeat them or are empty.

    Examples
    --------
    >>> measured_topics(PaperParams(np.array([[2.0, 1.0], [0.5, 0.5]])))
    2
    """
    params = _parameters(fit)
    return params.found if isinstance(params, RefinedParams) else len(params.lam)


def document_prior(fit: Fitted[TopicParams]) -> float | Array:
    """Return α, the prior of a document's topics: learned for each topic, or the model's own for all."""
    learned: float | Array = getattr(fit.params, "alpha", fit.model.alpha)
    return learned


def _parameters(fit: Fitted[TopicParams] | TopicParams) -> TopicParams:
    return fit if isinstance(fit, TopicParams) else fit.params


def top_words(fit: Fitted[TopicParams], count: int = 10) -> list[list[tuple[str, float]]]:
    """Return the most probable words of each topic.

    Parameters
    ----------
    fit
        A fitted `LDA`.
    count
        Number of words for each topic.

    Returns
    -------
    list
        The `count` most probable words of each topic with their probabilities, in descending order.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> params = PaperParams(np.array([[3.0, 1.0], [1.0, 4.0]]))
    >>> top_words(SimpleNamespace(model=LDA(2, ["tea", "milk"], 10), params=params), 1)
    [[('tea', 0.75)], [('milk', 0.8)]]
    """
    vocabulary = fit.model.vocabulary
    count = validate.whole("count", count, low=1, high=len(vocabulary))
    beta = topic_words(fit)
    order = np.argsort(-beta, axis=1, kind="stable")[:, :count]
    return [[(vocabulary[v], float(row[v])) for v in best] for row, best in zip(beta, order, strict=True)]


def infer_topics(fit: Fitted[TopicParams], corpus: Documents) -> Array:
    """Return the expected topic proportions of new documents.

    They are as private as the documents: never publish the proportions of training records.

    Parameters
    ----------
    fit
        A fitted `LDA`.
    corpus
        Documents over the model's vocabulary.

    Returns
    -------
    array
        Documents × topics; each row sums to 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> params = PaperParams(np.array([[9.0, 1.0], [1.0, 9.0]]))
    >>> fit = SimpleNamespace(model=LDA(2, ["tea", "milk"], 10), params=params)
    >>> infer_topics(fit, Documents.from_texts(["tea tea tea"], ["tea", "milk"])).round(1)
    array([[0.9, 0.1]])
    """
    fit.model.check(corpus)
    gammas = infer_gammas(corpus, expected_rows(fit.params.lam), fit.model.topics, document_prior(fit))
    return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))
