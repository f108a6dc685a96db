"""Private latent Dirichlet allocation (the paper's §4, Algorithm 3).

symbol  code                shape
------  ------------------  -----------------------------------------------------
K, V    topics, words
N       words_per_document
λ       params.lam          (K, V) posterior of the topics
α, η    alpha, eta          priors of a document's topics and of a topic's words
s       block "topics"      (K, V) expected topic–word counts
        block "words"       (V,) word counts (refined, first steps)
a       clip                a document's block is clipped to a·N in L2 norm
ρ_t     step_size           (τ₀ + t)^-κ (paper)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from vips_core.data import Corpus
from vips_core.kernels.lda import expected_rows, infer_gammas, topic_word_sums, word_sums
from vips_core.models import lda_refined
from vips_core.models.base import Block, Raw, Released

if TYPE_CHECKING:
    from vips_core.privacy.plan import PrivacyPlan

Float64 = npt.NDArray[np.float64]
Method = Literal["refined", "paper"]

CLIPS = {"refined": 0.01, "paper": 0.1}
START_SHAPES = {"refined": 30.0, "paper": 100.0}  # of the gamma distribution that topics start from
PAPER_DELAY, PAPER_FORGETTING = 1024, 0.7  # τ₀ and κ
PAPER_BATCH_SHARE = 0.05
USEFUL_STEPS = 20
FEWEST_STEPS = 10
WORD_STEPS = 2  # first steps of a refined run that measure the words' counts


@dataclass(frozen=True)
class TopicParams:
    """The topics' posterior `lam`, and what the refined variant remembers (see `lda_refined`)."""

    lam: Float64
    weights: Float64
    word_average: Float64
    word_steps: int
    word_shares: Float64
    average: Float64
    average_weight: float
    topic_steps: int
    mixture: Float64
    corpus_words: float


class LDA:
    """Latent Dirichlet allocation.

    Parameters
    ----------
    topics
        K.
    vocabulary
        The public words.
    words_per_document
        N. "paper" draws exactly N words with replacement from each document, by a hash of the document and
        `seed`. "refined" takes the expectation of that for longer documents, their counts times N over
        their length, and leaves shorter ones as they are. An empty document adds nothing in both.
    clip
        a: a document moves the released sums by at most a·N. By default 0.1 (paper) or 0.01 (refined), so
        small that nearly every document is scaled to the same norm: what counts is signal over noise.
    method
        "refined" (default), see `lda_refined`, or "paper".
    alpha, eta
        Priors, by default 1/K.
    sweeps, tolerance
        The E-step of a document ends after so many sweeps, or when γ changes by less on average.
    seed
        Public seed of the resampling.
    """

    def __init__(
        self,
        topics: int,
        vocabulary: Sequence[str],
        words_per_document: int,
        clip: float | None = None,
        method: Method = "refined",
        *,
        alpha: float | None = None,
        eta: float | None = None,
        sweeps: int = 100,
        tolerance: float = 1e-3,
        seed: int = 0,
    ) -> None:
        if method not in get_args(Method):
            raise ValueError(f"method must be 'refined' or 'paper', got {method!r}")
        self.topics = _whole("topics", topics, 2)
        self.vocabulary = tuple(vocabulary)
        if len(self.vocabulary) < 2:
            raise ValueError(f"vocabulary must hold at least 2 words, got {len(self.vocabulary)}")
        self.words_per_document = _whole("words_per_document", words_per_document, 1)
        self.method = method
        self.clip = _positive("clip", CLIPS[method] if clip is None else clip, 1)
        self.alpha = _positive("alpha", 1 / topics if alpha is None else alpha)
        self.eta = _positive("eta", 1 / topics if eta is None else eta)
        self.sweeps = _whole("sweeps", sweeps, 1)
        if not 0 <= tolerance < math.inf:
            raise ValueError(f"tolerance must be a finite number of at least 0, got {tolerance}")
        self.tolerance = float(tolerance)
        self.seed = _whole("seed", seed, 0)

    def init(self, plan: "PrivacyPlan", rng: np.random.Generator) -> TopicParams:
        """Return topics around the same flat distribution, apart by chance."""
        words, shape = len(self.vocabulary), START_SHAPES[self.method]
        lam = rng.gamma(shape, 1 / shape, (self.topics, words))
        corpus_words = float(plan.records * self.words_per_document)
        if self.method == "refined":
            lam *= corpus_words / lam.size
        grid = len(lda_refined.TOPIC_GRID)
        return TopicParams(
            lam=lam,
            weights=np.ones(words),
            word_average=np.zeros(words),
            word_steps=0,
            word_shares=np.full(words, 1 / words),
            average=np.zeros((self.topics, words)),
            average_weight=0.0,
            topic_steps=0,
            mixture=np.full((lda_refined.GROUPS, grid), 1 / grid),
            corpus_words=corpus_words,
        )

    def blocks(self, plan: "PrivacyPlan", step: int) -> Mapping[str, Block]:
        """Return one block: the words' counts first (refined), then the topics'."""
        of_words = self.method == "refined" and step < min(plan.steps - 1, WORD_STEPS)
        return {"words" if of_words else "topics": Block(self.clip * self.words_per_document)}

    def e_step(self, params: TopicParams, batch: Corpus, blocks: Mapping[str, Block]) -> Raw:
        """Return the sums over the batch, each document clipped to the block's bound."""
        self._check(batch)
        sums: dict[str, Float64] = {}
        if "words" in blocks:
            sums["words"] = word_sums(batch, words=self.words_per_document, bound=blocks["words"].bound)
        if "topics" in blocks:
            sums["topics"] = topic_word_sums(
                batch,
                expected_rows(params.lam),
                self.topics,
                self.alpha,
                weights=params.weights.astype(np.float32),
                words=self.words_per_document,
                resampled=self.method == "paper",
                seed=self.seed,
                bound=blocks["topics"].bound,
                sweeps=self.sweeps,
                tolerance=self.tolerance,
            )
        return Raw(sums)

    def m_step(self, params: TopicParams, released: Released, step: int) -> TopicParams:
        """Return the topics after one release."""
        if "words" in released.sums:
            counts = np.asarray(released.total("words"), np.float64)
            return lda_refined.after_words(params, counts, released.total_std("words"))
        total, std = np.asarray(released.total("topics"), np.float64), released.total_std("topics")
        if self.method == "refined":
            return lda_refined.after_topics(params, total, std, self.eta)
        step_size = (PAPER_DELAY + step + 1) ** -PAPER_FORGETTING
        target = self.eta + np.maximum(total, 0)
        return replace(params, lam=(1 - step_size) * params.lam + step_size * target)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> "PrivacyPlan":
        """Return the plan to use.

        Topics need some steps to form, and full batches lose nothing to subsampling: 10 to 20 steps on
        batches as large as `epochs` allow. The variant "paper" takes its own 5 % of the documents.
        """
        from vips_core.privacy.plan import PrivacyPlan

        if self.method == "refined":
            steps = min(max(math.floor(epochs), FEWEST_STEPS), USEFUL_STEPS)
            batch = min(records, max(1, math.floor(records * epochs / steps)))
            plan = PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta)
        else:
            batch = max(1, round(PAPER_BATCH_SHARE * records))
            plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
        return plan.calibrate(epsilon)

    def _check(self, corpus: Corpus) -> None:
        if len(corpus.vocabulary) != len(self.vocabulary):
            raise ValueError(
                f"the model has {len(self.vocabulary)} words, but the corpus has {len(corpus.vocabulary)}"
            )


def topic_words(params: TopicParams) -> Float64:
    """Return each topic's word probabilities ⟨β⟩, topics × words."""
    return np.asarray(params.lam / params.lam.sum(axis=1, keepdims=True))


def topic_shares(params: TopicParams) -> Float64:
    """Return each topic's share of the words, as far as the release tells."""
    mass = params.lam.sum(axis=1)
    return np.asarray(mass / mass.sum())


def top_words(fit: Any, count: int = 10) -> list[list[tuple[str, float]]]:
    """Return the `count` most probable words of each topic with their probabilities."""
    vocabulary = fit.model.vocabulary
    if not 1 <= count <= len(vocabulary):
        raise ValueError(f"count must be from 1 to the {len(vocabulary)} words, got {count}")
    beta = topic_words(fit.params)
    order = np.argsort(-beta, axis=1, kind="stable")[:, :count]
    return [[(vocabulary[v], float(row[v])) for v in best] for row, best in zip(beta, order, strict=True)]


def infer_topics(fit: Any, corpus: Corpus) -> Float64:
    """Return the expected topic proportions of new documents, documents × topics.

    Private when the documents are: never publish them for training records.
    """
    fit.model._check(corpus)
    gammas = infer_gammas(corpus, expected_rows(fit.params.lam), fit.model.topics, fit.model.alpha)
    return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


def _whole(name: str, value: Any, lowest: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < lowest:
        raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")
    return int(value)


def _positive(name: str, value: float, largest: float = math.inf) -> float:
    if not (0 < value <= largest and math.isfinite(value)):
        limit = f"in (0, {largest}]" if math.isfinite(largest) else "a finite number above 0"
        raise ValueError(f"{name} must be {limit}, got {value}")
    return float(value)
