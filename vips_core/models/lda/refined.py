"""Refined private topics: word counts first, then what documents add to them, averaged and denoised.

symbol    code                    shape
--------  ----------------------  --------------------------------------------------------------------
          params.word_average     (V,) mean of the released word counts over params.word_steps
p_v       params.word_shares      (V,) the words' shares, from them
          params.share_std        their noise
w_v       params.weights          (V,) the words' part in the weights of cells, see `measure`
s̄         params.average          (M, V) average of the sums s_kv in words, negative cells and all
          params.variance         (M, V) of its noise
r_kv      params.leaning          what the words' meaning leads to expect of s_kv / (mass_k p_v)
          params.prior            prior of s_kv / (mass_k p_v r_kv): of each topic, for classes of words

What is expected of words and of cells is learned from the sums and from public knowledge of the words, and
the priors around that by EM, see `word_shares`, `leaning`, `priors` and `shrink`.

A cell's noise does not depend on K, but with more topics a cell holds less. So only the first M ≤ K topics
are measured, as many as the noise leaves room for by public numbers. The others stay empty: the words'
shares, with next to no mass. With noise, topics come in two generations, see `split`.

The more noise, the longer the average remembers: exact sums of all records need no average (batch EM), and
where noise is all there is, every step counts alike.

What did not help: linear shrinkage with a projection on the simplex (completion 75 worse on Wikipedia, mixed
on SOTU); sharper assignments, geometric instead of arithmetic posterior means in the E-step, columns that sum
to the words' counts, averages whose memory follows from the drift that the known noise leaves visible (all
worse on every corpus tried); a second, longer average for the last step, counts capped at 2 or 3 (mixed); to
add a part of how expectations have changed to earlier sums (perplexity .2 % better, coherence worse); topics
that start from clusters of words of like meaning (mixed); an E-step that sees flatter topics (no change).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vips_core.kernels import Array
from vips_core.models.base import Block, Released
from vips_core.models.lda.block_kernels import Float32
from vips_core.models.lda.kernels import expected_rows, residual_sums, topic_word_sums, word_sums
from vips_core.models.lda.leaning import Leaning, learned, no_leaning, word_features
from vips_core.models.lda.measure import Measure, of_counts, of_residuals
from vips_core.models.lda.priors import TOPIC_GRID, frequency_groups, topic_prior
from vips_core.models.lda.shrink import Prior, shrink
from vips_core.models.lda.split import FORMING_STEPS, apart, first_generation, parents, part_sizes
from vips_core.models.lda.word_shares import shares
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Documents

if TYPE_CHECKING:
    from vips_core.models.lda.model import LDA

START_SHAPE = 30.0  # of the gamma distribution that topics start from
FEWEST_STEPS, USEFUL_STEPS = 10, 20
WORD_STEPS = 2  # first steps that measure the words' counts
USUAL_NOISE = 1.5  # noise of a cell over its mean, at which step t enters the average with weight t^-0.5
WEIGHT_POWER = 0.2
LARGEST_WEIGHT = 8.0
ROOM = 8.0  # averaged noise of a cell over its mean, up to which a further topic pays
FEWEST_TOPICS = 4  # that are measured, if the model has as many
UNMEASURED_MASS = 0.001  # of each other topic, as a share of the average topic's
SMALLEST_MASS = 0.1  # of a topic, as a share of the average topic's
TOPIC_ITERATIONS = 10  # of EM for the prior of cells, from where it starts
LEANING_ITERATIONS = 6  # of Newton for the leaning, likewise
WARM_ITERATIONS = 2  # of both, from the last step's


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
    corpus_words: float
    share_std: float = 0.0
    variance: Array = field(default_factory=lambda: np.zeros((1, 1)))  # later than the others, as share_std
    prior: Prior = field(default_factory=lambda: topic_prior(1))
    final_topics: int = 0  # that are measured when topics have been split
    split_seed: int = 0
    leaning: Leaning = field(default_factory=lambda: Leaning(np.zeros((1, 1))))

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
        return expected_rows(self.lam[: len(self.average)])


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
            average=np.zeros((self.measured_topics(plan, WORD_STEPS), words)),
            topic_steps=0,
            corpus_words=corpus_words,
            prior=topic_prior(self.measured_topics(plan, WORD_STEPS)),
            leaning=no_leaning(self.measured_topics(plan, WORD_STEPS), word_features(self.model.vocabulary)),
            final_topics=self.measured_topics(plan, plan.steps),
            split_seed=int(rng.integers(2**31)),
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return one block: the words' counts first, then the topics'."""
        of_words = step < min(plan.steps - 1, WORD_STEPS)
        bound, words = self.model.clip * self.model.words_per_document, len(self.model.vocabulary)
        if of_words:
            return {"words": Block(bound, shape=(words,))}
        return {"topics": Block(bound, shape=(self.measured_topics(plan, step), words))}

    def measured_topics(self, plan: PrivacyPlan, step: int) -> int:
        """Return how many topics a step measures: at most K, and as the noise leaves room for.

        The average cell of K × V holds about records √words / (K V) bounds, and the averaged noise is a bound
        over the plan's signal to noise: ROOM is the largest ratio of the two at which one more topic pays.
        """
        model = self.model
        signal = plan.signal_to_noise * plan.records * math.sqrt(model.words_per_document)
        room = ROOM * signal / len(model.vocabulary)
        topics = model.topics if room >= model.topics else min(model.topics, max(FEWEST_TOPICS, round(room)))
        forming = step < WORD_STEPS + FORMING_STEPS and plan.steps >= FEWEST_STEPS and signal < math.inf
        return first_generation(topics) if forming else topics

    def sums(self, params: RefinedParams, batch: Documents, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return the counts of words, or what documents say of topics and words."""
        if "words" in blocks:
            return {"words": word_sums(batch, words=self.model.words_per_document, block=blocks["words"])}
        block = blocks["topics"]
        if block.shape[0] != len(params.average):  # kernels rely on it, and steps of one run may differ
            topics = f"{block.shape[0]} topics, the parameters {len(params.average)}"
            raise ValueError(f"the step measures {topics}")
        if params.measure.expected.any():
            return {"topics": residual_sums(self.model, batch, params.rows, *params.measured_rows, block)}
        weights = params.weights.astype(np.float32)
        return {"topics": topic_word_sums(self.model, batch, params.rows, weights, block, resampled=False)}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Parameters after a release of word counts, or of topic–word sums."""
        (block,) = released.sums
        total, std = np.asarray(released.total(block), np.float64), released.total_std(block)
        if block == "words":
            return _after_words(params, total, std, self.model.vocabulary)
        params = _after_topics(params, total, std, released.sampling_rate, self.model)
        formed = params.topic_steps == FORMING_STEPS and len(params.average) < params.final_topics
        return _split(params) if formed else params

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Take 10 to 20 steps on batches as large as `epochs` allow.

        Topics need some steps to form, and full batches lose nothing to subsampling.
        """
        steps = min(max(math.floor(epochs), FEWEST_STEPS), USEFUL_STEPS)
        batch = min(records, max(1, math.floor(records * epochs / steps)))
        plan = PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta)
        return plan.calibrate(epsilon)


def _after_words(
    params: RefinedParams, total: Array, std: float, vocabulary: tuple[str, ...]
) -> RefinedParams:
    """Shares and weights of the words from their counts, and topics moved to those shares."""
    words, steps = len(total), params.word_steps + 1
    average = params.word_average + (total - params.word_average) / steps
    word_shares, share_std = shares(average, std / math.sqrt(steps), vocabulary)
    return replace(
        params,
        lam=params.lam * (word_shares / params.word_shares),
        word_average=average,
        word_steps=steps,
        word_shares=word_shares,
        share_std=share_std,
        weights=np.minimum((word_shares * words) ** -WEIGHT_POWER, LARGEST_WEIGHT),
    )


def _after_topics(
    params: RefinedParams, total: Array, std: float, sampling_rate: float, model: "LDA"
) -> RefinedParams:
    """Topics from the average of the sums so far."""
    topics, _ = total.shape
    counts, noise, scale = params.measure.in_words(total, std, params.word_shares, params.corpus_words)
    noise_ratio = _noise_ratio(noise, sampling_rate, params.corpus_words)
    rate = (params.topic_steps + 1) ** (-noise_ratio / (noise_ratio + USUAL_NOISE))
    average = (1 - rate) * params.average + rate * counts
    variance = (1 - rate) ** 2 * params.variance + (rate * noise) ** 2
    mass = np.maximum(average.sum(axis=1), SMALLEST_MASS * params.corpus_words / topics)
    estimate, leaning, prior_of_cells = average, params.leaning, params.prior
    if std > 0:
        known = average, mass[:, None] * params.word_shares, np.sqrt(variance)
        estimate, leaning, prior_of_cells = _denoised(params, *known, word_features(model.vocabulary))
    # Exact counts are in words, and so is the prior. λ is that posterior times `scale`, so that its expected
    # logarithms are nearly the logarithms of its means, which make better topics (as in collapsed inference).
    prior = model.eta if std > 0 else model.eta * scale
    unmeasured = np.tile(UNMEASURED_MASS * mass.mean() * params.word_shares, (len(params.lam) - topics, 1))
    return replace(
        params,
        lam=np.concatenate([prior + estimate, unmeasured]),
        average=average,
        variance=variance,
        topic_steps=params.topic_steps + 1,
        prior=prior_of_cells,
        leaning=leaning,
    )


def _denoised(
    params: RefinedParams, average: Array, flat: Array, noise: Array, features: Array
) -> tuple[Array, Leaning, Prior]:
    """Return what the sums are likely to be without their noise, and what that was learned with.

    `flat` is what is expected of cells before topics lean to any words.
    """
    topics, first = len(average), params.topic_steps == 0
    leaning, prior = params.leaning, params.prior
    if len(prior.mixture) != topics:  # parameters of a version that had no such prior
        prior = topic_prior(topics)
    if leaning.slopes.shape != (topics, features.shape[1]):
        leaning = no_leaning(topics, features)
    iterations = LEANING_ITERATIONS if first else WARM_ITERATIONS
    leaning = learned(leaning, average / flat, noise / flat, features, iterations)
    ratios = leaning.ratios(features)
    expected = flat * (ratios / (ratios * params.word_shares).sum(axis=1, keepdims=True))
    groups = frequency_groups(params.word_shares)
    iterations = TOPIC_ITERATIONS if first else WARM_ITERATIONS
    estimate, prior = shrink(average, expected, noise, groups, prior, TOPIC_GRID, iterations)
    return estimate, leaning, prior


def _split(params: RefinedParams) -> RefinedParams:
    """Topics of the second generation; what the first has measured counts as one step."""
    measured = len(params.average)
    parent = parents(params.lam[:measured].sum(axis=1), params.final_topics)
    size = part_sizes(parent)
    split = apart(params.lam[parent] * size, params.split_seed)
    return replace(
        params,
        lam=np.concatenate([split, params.lam[len(parent) :]]),
        average=params.average[parent] * size,
        variance=params.variance[parent] * size**2,
        prior=replace(params.prior, mixture=params.prior.mixture[parent]),
        leaning=replace(params.leaning, slopes=params.leaning.slopes[parent]),
        topic_steps=1,
    )


def _noise_ratio(noise: Array, sampling_rate: float, corpus_words: float) -> float:
    """Return the noise and sampling error of one step's average cell over that cell."""
    cell = corpus_words / noise.size
    return math.sqrt(float((noise * noise).mean()) / cell**2 + (1 / sampling_rate - 1) / cell)
