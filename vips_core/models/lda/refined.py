"""Refined private topics: word counts first, then what documents add to them, averaged and denoised.

symbol    code                    shape
--------  ----------------------  --------------------------------------------------------------------
          params.word_average     (V,) mean of the released word counts over params.word_steps
p_v       params.word_shares      (V,) the words' shares, from them
          params.share_std        their noise
w_v       params.weights          (V,) the words' part in the weights of cells, see `measure`
s̄         params.average          (M, V) average of the sums s_kv in words, negative cells and all
          params.variance         (M, V) of its noise
          params.mixture          (GROUPS, GRID) prior of s_kv / (mass_k p_v), for groups of words
          params.sharpness        power of λ_kv / (mass_k p_v) in the E-step

The priors of words and of cells are learned by EM. It starts from an average of 1 and nothing else known, an
exponential distribution, so that cells which are all noise go to their average. `word_shares` has which words
share a prior of their counts.

A cell's noise does not depend on K, but with more topics a cell holds less. So only the first M ≤ K topics
are measured, as many as the noise leaves room for by public numbers. The others stay empty: the words'
shares, with next to no mass.

The more noise, the longer the average remembers: exact sums of all records need no average (batch EM), and
where noise is all there is, every step counts alike.

Noise in λ draws words to the topics that it favours, so the next sums repeat it, and no later average takes
that out. The E-step therefore sees topics that are a little flatter than the estimate, from step to step more
so: while topics form, being flatter delays them.

What did not help: linear shrinkage with a projection on the simplex (completion 75 worse on Wikipedia, mixed
on SOTU); sharper assignments, geometric instead of arithmetic posterior means in the E-step, columns that sum
to the words' counts, averages whose memory follows from the drift that the known noise leaves visible (all
worse on every corpus tried); a second, longer average for the last step, counts capped at 2 or 3 (mixed); to
add a part of how expectations have changed to earlier sums (perplexity .2 % better, coherence worse).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vips_core.data import Corpus
from vips_core.kernels.pool import Array
from vips_core.models.base import Block, Released
from vips_core.models.lda.block_kernels import Float32
from vips_core.models.lda.kernels import expected_rows, residual_sums, topic_word_sums, word_sums
from vips_core.models.lda.measure import Measure, of_counts, of_residuals
from vips_core.models.lda.shrink import exponential, shrink
from vips_core.models.lda.word_shares import GROUPS, Groups, public_orders, shares
from vips_core.privacy.plan import PrivacyPlan

if TYPE_CHECKING:
    from vips_core.models.lda.model import LDA

START_SHAPE = 30.0  # of the gamma distribution that topics start from
FEWEST_STEPS, USEFUL_STEPS = 10, 20
WORD_STEPS = 2  # first steps that measure the words' counts
USUAL_NOISE = 1.5  # noise of a cell over its mean, at which step t enters the average with weight t^-0.5
WEIGHT_POWER = 0.2
LARGEST_WEIGHT = 8.0
ROOM = 2.0  # averaged noise of a cell over its mean, up to which a further topic pays
FEWEST_TOPICS = 4  # that are measured, if the model has as many
UNMEASURED_MASS = 0.001  # of each other topic, as a share of the average topic's
SHARPNESS = 0.8  # with noise, at last; 0.5 to 0.7 was worse on three corpora of four at ε = 2.44
SHARPNESS_STEP = 0.03  # by which it falls from 1, so that topics form sooner
SMALLEST_MASS = 0.1  # of a topic, as a share of the average topic's
TOPIC_GRID = np.geomspace(0.02, 50, 18)
TOPIC_ITERATIONS = 10  # of EM for the mixture, from an exponential prior
WARM_ITERATIONS = 2  # and from the last step's mixture


@dataclass(frozen=True)
class RefinedParams:
    """The topics' posterior λ and the averages of noisy sums behind it."""

    lam: Array
    weights: Array
    word_average: Array
    word_steps: int
    word_shares: Array
    average: Array
    topic_steps: int
    mixture: Array
    corpus_words: float
    sharpness: float = 1.0
    share_std: float = 0.0
    variance: Array = field(default_factory=lambda: np.zeros((1, 1)))  # later than the others, as share_std

    @cached_property
    def measure(self) -> Measure:
        """What the next step measures of topics: with noise, what the last ones did not lead to expect."""
        if self.topic_steps == 0 or self.share_std == 0:
            return of_counts(self.weights, len(self.average))
        return of_residuals(self.weights, self.lam[: len(self.average)], self.word_shares, self.share_std)

    @cached_property
    def measured_rows(self) -> tuple[Float32, Float32]:
        """What the E-step needs of the measure: computed once a step, for all shards."""
        return self.measure.of_rows(self.rows)

    @cached_property
    def rows(self) -> Float32:
        """What the E-step sees of the measured topics: computed once a step, for all shards."""
        return expected_rows(_flattened(self)[: len(self.average)])


class Refined:
    """The variant's answers to the loop; see `vips_core.models.base.Variant`."""

    default_clip = 0.01

    def __init__(self, model: "LDA") -> None:
        self.model = model

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> RefinedParams:
        """Return topics around the same flat distribution, apart by chance."""
        topics, words = self.model.topics, len(self.model.vocabulary)
        lam = rng.gamma(START_SHAPE, 1 / START_SHAPE, (topics, words))
        corpus_words = float(plan.records * self.model.words_per_document)
        return RefinedParams(
            lam=lam * (corpus_words / lam.size),
            weights=np.ones(words),
            word_average=np.zeros(words),
            word_steps=0,
            word_shares=np.full(words, 1 / words),
            average=np.zeros((self.measured_topics(plan), words)),
            topic_steps=0,
            mixture=exponential(GROUPS, TOPIC_GRID),
            corpus_words=corpus_words,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return one block: the words' counts first, then the topics'."""
        of_words = step < min(plan.steps - 1, WORD_STEPS)
        bound, words = self.model.clip * self.model.words_per_document, len(self.model.vocabulary)
        if of_words:
            return {"words": Block(bound, shape=(words,))}
        return {"topics": Block(bound, shape=(self.measured_topics(plan), words))}

    def measured_topics(self, plan: PrivacyPlan) -> int:
        """Return how many topics the noise leaves room for, at most K, from public numbers.

        The average cell of K × V holds about records √words / (K V) bounds, and the averaged noise is a bound
        over the plan's signal to noise: ROOM is the largest ratio of the two at which one more topic pays.
        """
        model = self.model
        signal = plan.signal_to_noise * plan.records * math.sqrt(model.words_per_document)
        room = ROOM * signal / len(model.vocabulary)
        return model.topics if room >= model.topics else min(model.topics, max(FEWEST_TOPICS, round(room)))

    def sums(self, params: RefinedParams, batch: Corpus, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return the counts of words, or what documents say of topics and words."""
        if "words" in blocks:
            return {"words": word_sums(batch, words=self.model.words_per_document, block=blocks["words"])}
        block = blocks["topics"]
        if params.measure.expected.any():
            return {"topics": residual_sums(self.model, batch, params.rows, *params.measured_rows, block)}
        weights = params.weights.astype(np.float32)
        return {"topics": topic_word_sums(self.model, batch, params.rows, weights, block, resampled=False)}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Parameters after a release of word counts, or of topic–word sums."""
        (block,) = released.sums
        total, std = np.asarray(released.total(block), np.float64), released.total_std(block)
        if block == "words":
            return _after_words(params, total, std, public_orders(self.model.vocabulary))
        return _after_topics(params, total, std, released.sampling_rate, self.model.eta)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Take 10 to 20 steps on batches as large as `epochs` allow.

        Topics need some steps to form, and full batches lose nothing to subsampling.
        """
        steps = min(max(math.floor(epochs), FEWEST_STEPS), USEFUL_STEPS)
        batch = min(records, max(1, math.floor(records * epochs / steps)))
        plan = PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta)
        return plan.calibrate(epsilon)


def _after_words(params: RefinedParams, total: Array, std: float, orders: Sequence[Groups]) -> RefinedParams:
    """Shares and weights of the words from their counts, and topics moved to those shares."""
    words, steps = len(total), params.word_steps + 1
    average = params.word_average + (total - params.word_average) / steps
    found, share_std = shares(average, std / math.sqrt(steps), orders)
    return replace(
        params,
        lam=params.lam * (found / params.word_shares),
        word_average=average,
        word_steps=steps,
        word_shares=found,
        share_std=share_std,
        weights=np.minimum((found * words) ** -WEIGHT_POWER, LARGEST_WEIGHT),
    )


def _after_topics(
    params: RefinedParams, total: Array, std: float, sampling_rate: float, eta: float
) -> RefinedParams:
    """Topics from the average of the sums so far."""
    topics, _ = total.shape
    counts, noise, scale = params.measure.in_words(total, std, params.word_shares, params.corpus_words)
    noise_ratio = _noise_ratio(noise, sampling_rate, params.corpus_words)
    rate = (params.topic_steps + 1) ** (-noise_ratio / (noise_ratio + USUAL_NOISE))
    average = (1 - rate) * params.average + rate * counts
    variance = (1 - rate) ** 2 * params.variance + (rate * noise) ** 2
    mass = np.maximum(average.sum(axis=1), SMALLEST_MASS * params.corpus_words / topics)
    estimate, mixture, _ = shrink(
        average,
        mass[:, None] * params.word_shares,
        np.sqrt(variance),
        _frequency_groups(params.word_shares),
        params.mixture,
        TOPIC_GRID,
        WARM_ITERATIONS if params.topic_steps else TOPIC_ITERATIONS,
    )
    # Exact counts are in words, and so is the prior. λ is that posterior times `scale`, so that its expected
    # logarithms are nearly the logarithms of its means, which make better topics (as in collapsed inference).
    prior = eta if std > 0 else eta * scale
    unmeasured = np.tile(UNMEASURED_MASS * mass.mean() * params.word_shares, (len(params.lam) - topics, 1))
    return replace(
        params,
        lam=np.concatenate([prior + estimate, unmeasured]),
        average=average,
        variance=variance,
        topic_steps=params.topic_steps + 1,
        mixture=mixture,
        sharpness=max(SHARPNESS, 1 - SHARPNESS_STEP * (params.topic_steps + 1)) if std > 0 else 1.0,
    )


def _noise_ratio(noise: Array, sampling_rate: float, corpus_words: float) -> float:
    """Return the noise and sampling error of one step's average cell over that cell."""
    cell = corpus_words / noise.size
    return math.sqrt(float((noise * noise).mean()) / cell**2 + (1 / sampling_rate - 1) / cell)


def _flattened(params: RefinedParams) -> Array:
    """Return λ with its ratios to the words' shares to the power of the sharpness; topics keep their mass."""
    if params.sharpness == 1:
        return params.lam
    mass = params.lam.sum(axis=1, keepdims=True)
    flat = mass * params.word_shares
    softened = flat * (params.lam / flat) ** params.sharpness
    return np.asarray(softened * (mass / softened.sum(axis=1, keepdims=True)))


def _frequency_groups(shares: Array) -> npt.NDArray[np.int64]:
    """Return words in GROUPS equal groups from rare to frequent."""
    rank = np.argsort(np.argsort(shares, kind="stable"), kind="stable")
    return rank * GROUPS // len(shares)
