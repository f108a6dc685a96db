"""Refined private topics: word counts first, then topic–word counts, averaged over steps and denoised.

symbol    code                    shape
--------  ----------------------  --------------------------------------------------------------------
λ         params.lam              (K, V) posterior of the topics
p_v       params.word_shares      (V,) the words' shares, from the first release
          params.share_std        standard deviation of the noise on a share
s̄         params.average          (M, V) average of the sums s_kv in counts of words; may be negative
          params.variance         (M, V) variance of its noise
          params.semantic_prior   prediction of s_kv / (mass_k p_v) from the words' meaning
          params.cell_prior       prior of s_kv over that prediction

`empirical_bayes` turns the noisy averages into λ; METHOD.md explains the method.

A cell's noise does not depend on K, but more topics leave smaller counts in each cell. So only the first
M ≤ K topics are measured, with M computed from public numbers; the others stay empty, with the words' shares
and almost no mass. Of the measured topics, those count as found that differ in their first words.

With more noise the average has a longer memory: exact sums of all records need no average (batch EM), and
where noise dominates, all steps weigh alike.
"""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vips_core.kernels import Array
from vips_core.models.base import Block, Released
from vips_core.models.lda.constants import CONSTANTS, Constants
from vips_core.models.lda.empirical_bayes import (
    Measurement,
    SemanticPrior,
    mixture_prior,
    semantic_features,
    shrink,
    word_shares,
)
from vips_core.models.lda.kernels import completion_sums, expected_rows, topic_word_sums, word_sums
from vips_core.models.lda.sweep_kernels import Float32
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Documents

if TYPE_CHECKING:
    from vips_core.models.lda.model import LDA


@dataclass(frozen=True, eq=False)  # hashed by identity, as a key of caches
class RefinedParams:
    """The topics' posterior λ, the prior α of their shares in a document, and what led to them."""

    lam: Array
    alpha: Array
    word_counts: Array
    word_shares: Array
    share_std: float
    average: Array
    variance: Array
    topic_steps: int
    own: float  # words that a document's word adds to λ
    sampled: float  # share of the documents that the last step scores
    corpus_words: float
    cell_prior: Array
    semantic_prior: SemanticPrior
    steps_left: int  # steps that will measure topics
    found: int  # number of topics, in front, that are told apart by their first words

    @cached_property
    def rows(self) -> Float32:
        """Measured topics in the E-step's form, computed once a step for all shards."""
        return expected_rows(self.lam[: len(self.average)])


class Refined:
    """The refined algorithm; see `vips_core.models.base.Algorithm`."""

    # a: nearly every document of about N words exceeds the norm a·N and is scaled down to it
    default_clip = 0.01

    def __init__(self, model: "LDA", constants: Constants = CONSTANTS) -> None:
        self.model, self.constants = model, constants

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> RefinedParams:
        """Return random topics around a flat distribution."""
        constants, topics, words = self.constants, self.model.topics, len(self.model.vocabulary)
        lam = rng.gamma(constants.start_shape, 1 / constants.start_shape, (topics, words))
        corpus_words = float(plan.records * self.model.words_per_document)
        measured = self.measured_topics(plan)
        return RefinedParams(
            lam=lam * (corpus_words / lam.size),
            alpha=np.full(topics, self.model.alpha),
            word_counts=np.zeros(words),
            word_shares=np.full(words, 1 / words),
            share_std=0.0,
            average=np.zeros((measured, words)),
            variance=np.zeros((1, 1)),
            topic_steps=0,
            own=0.0,
            sampled=self.sampled(plan),
            corpus_words=corpus_words,
            cell_prior=mixture_prior(measured, constants),
            semantic_prior=SemanticPrior.flat(measured, semantic_features(self.model.vocabulary)),
            steps_left=sum("topics" in self.blocks(plan, step) for step in range(plan.steps)),
            found=measured,
        )

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return one block: first word counts, then topic–word counts or residuals, at last completions."""
        bound, words = self.model.clip * self.model.words_per_document, len(self.model.vocabulary)
        if step < self.word_steps(plan):
            return {"words": Block(bound, shape=(words,))}
        if step == plan.steps - 1 >= 2:
            candidates = len(self.constants.concentrations)
            return {"completion": Block(self.constants.completion_bound, shape=(candidates,))}
        return {"topics": Block(bound, shape=(self.measured_topics(plan), words))}

    def word_steps(self, plan: PrivacyPlan) -> int:
        """Return the number of steps that measure word counts: one without noise, none of a single step."""
        exact = plan.require_noise_multiplier() == 0
        return min(plan.steps - 1, 1 if exact else math.ceil(plan.steps * self.constants.word_steps))

    def measured_topics(self, plan: PrivacyPlan) -> int:
        """Return the number of topics that are measured: at most K, and no more than the noise allows.

        In units of the bound, the average of K × V cells is records·√words/(K·V), and the averaged noise is 1
        over the plan's signal to noise. `cell_noise` is the largest noise over cell at which another topic
        still pays.
        """
        constants, model = self.constants, self.model
        signal = plan.signal_to_noise * plan.records * math.sqrt(model.words_per_document)
        most = constants.cell_noise * signal / len(model.vocabulary)
        return model.topics if most >= model.topics else max(2, round(most))

    def sampled(self, plan: PrivacyPlan) -> float:
        """Return the share of documents that the last step scores: the noise of their mean gain is small."""
        constants = self.constants
        noise = plan.require_noise_multiplier() * constants.completion_bound / plan.sampling_rate
        return min(1.0, max(constants.fewest_scored, noise / constants.gain_noise) / plan.records)

    def sums(self, params: RefinedParams, batch: Documents, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return word counts, topic–word counts, topic–word residuals or gains of completion."""
        model = self.model
        if "words" in blocks:
            return {"words": word_sums(batch, words=model.words_per_document, block=blocks["words"])}
        if "completion" in blocks:
            known = params.rows, params.lam[: len(params.average)], params.own, params.sampled
            sums = completion_sums(model, batch, *known, self.constants.concentrations, blocks["completion"])
            return {"completion": sums}
        block, measured = blocks["topics"], len(params.average)
        if block.shape[0] != measured:  # kernels do not check, and the steps of one run may differ
            raise ValueError(f"the step measures {block.shape[0]} topics, the parameters {measured}")
        expects = measurement_of(params, self.constants).expected.any()
        residuals = _measured_rows(params, self.constants) if expects else None
        return {"topics": topic_word_sums(model, batch, params.rows, block, residuals=residuals)}

    def update(self, params: RefinedParams, released: Released, step: int) -> RefinedParams:
        """Return the parameters after a release of word counts, topic–word sums or completions."""
        (block,) = released.sums
        total, std = np.asarray(released.total(block), np.float64), released.total_std(block)
        if block == "words":
            return self._after_words(params, total, std, step)
        if block == "completion":
            return self._after_completion(params, total, std)
        return self._after_topics(params, total, std, released.sampling_rate)

    def _after_words(self, params: RefinedParams, total: Array, std: float, step: int) -> RefinedParams:
        """Estimate word shares from the mean of all word counts, and rescale topics to these shares."""
        counts = params.word_counts + (total - params.word_counts) / (step + 1)
        noise = std / math.sqrt(step + 1)
        shares, share_std = word_shares(counts, noise, self.model.vocabulary, self.constants)
        lam = params.lam * (shares / params.word_shares)
        return replace(params, lam=lam, word_counts=counts, word_shares=shares, share_std=share_std)

    def _after_topics(
        self, params: RefinedParams, total: Array, std: float, sampling_rate: float
    ) -> RefinedParams:
        """Estimate topics from the average of all sums so far."""
        constants, topics = self.constants, len(total)
        measurement = measurement_of(params, self.constants)
        counts, noise, scale = measurement.to_word_counts(total, std, params.word_shares, params.corpus_words)
        noise_ratio = _noise_ratio(noise, sampling_rate, params.corpus_words)
        rate = (params.topic_steps + 1) ** (-noise_ratio / (noise_ratio + constants.usual_noise))
        average = (1 - rate) * params.average + rate * counts
        variance = (1 - rate) ** 2 * params.variance + (rate * noise) ** 2
        mass = np.maximum(average.sum(axis=1), constants.smallest_mass * params.corpus_words / topics)
        estimate, semantic_prior, cell_prior = average, params.semantic_prior, params.cell_prior
        if std > 0:
            flat = mass[:, None] * params.word_shares
            estimate, semantic_prior, cell_prior = self._denoised(params, average, flat, np.sqrt(variance))
        # Without noise, exact counts and prior are both multiplied by `scale`. This brings the topics'
        # expected logarithms near the logarithms of their means, which make better topics (as in collapsed
        # inference).
        lam, found = estimate + (self.model.eta if std > 0 else self.model.eta * scale), topics
        if std > 0 and params.steps_left == 1:
            lam, found = told_apart(lam, constants)
        return replace(
            params,
            lam=self._with_empty(params, lam),
            found=found,
            steps_left=params.steps_left - 1,
            average=average,
            variance=variance,
            topic_steps=params.topic_steps + 1,
            own=scale if std == 0 else 1 / (1 + _relative_variance(variance, params.corpus_words)),
            cell_prior=cell_prior,
            semantic_prior=semantic_prior,
        )

    def _with_empty(self, params: RefinedParams, lam: Array) -> Array:
        """Return the topics followed by empty ones, which have the words' shares and almost no mass."""
        empty = self.constants.unmeasured_mass * lam.sum() / len(lam) * params.word_shares
        return np.concatenate([lam, np.tile(empty, (self.model.topics - len(lam), 1))])

    def _after_completion(self, params: RefinedParams, gains: Array, std: float) -> RefinedParams:
        """Choose the concentration α₀ that predicts half of a document best from the other half.

        The prior's mean is the topics' shares of all words, so as α₀ grows every document tends to the shares
        of words in the corpus. Of values that the noise does not separate, the largest is chosen.
        """
        constants, best = self.constants, float(gains.max())
        concentration = constants.unigram
        if best > constants.clear_gain * std:
            concentration = constants.concentrations[int(np.flatnonzero(gains >= best - std).max())]
        mass = params.lam.sum(axis=1)
        return replace(params, alpha=concentration * mass / mass.sum())

    def _denoised(
        self, params: RefinedParams, average: Array, flat: Array, noise: Array
    ) -> tuple[Array, SemanticPrior, Array]:
        """Return denoised counts, and the priors learned on the way.

        `flat` is the expectation of cells without the semantic prior.
        """
        constants, features = self.constants, semantic_features(self.model.vocabulary)
        cells = average / flat, noise / flat
        semantic = params.semantic_prior.fit(*cells, features, constants.slope_steps, constants)
        ratios = semantic.ratios(features, constants)
        expected = flat * (ratios / (ratios * params.word_shares).sum(axis=1, keepdims=True))
        estimate, prior = shrink(average, expected, noise, params.cell_prior, 1, constants)  # one EM step
        return estimate, semantic, prior

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return a plan of 10 to 20 steps on batches as large as `epochs` allow.

        Topics need several steps to form, and full batches lose nothing to subsampling.
        """
        steps = min(max(math.floor(epochs), self.constants.fewest_steps), self.constants.useful_steps)
        batch = min(records, max(1, math.floor(records * epochs / steps)))
        plan = PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta)
        return plan.calibrate(epsilon)


def told_apart(lam: Array, constants: Constants) -> tuple[Array, int]:
    """Return topics with those that differ in their first words in front, and the number of these.

    From the largest on, a topic is in front if a share `distinct` of all first words in front still differ. A
    topic's first words are its `first_words` most probable, or fewer if the vocabulary is too small for all
    topics to have their own.
    """
    count = min(constants.first_words, max(1, lam.shape[1] // len(lam)))
    first = np.argsort(-lam, axis=1, kind="stable")[:, :count]
    front: list[int] = []
    for topic in np.argsort(-lam.sum(axis=1), kind="stable").tolist():
        words = first[[*front, topic]]
        if len(np.unique(words)) >= constants.distinct * words.size:
            front.append(topic)
    rest = np.setdiff1d(np.arange(len(lam)), front)
    return lam[[*front, *rest]], len(front)


def _noise_ratio(noise: Array, sampling_rate: float, corpus_words: float) -> float:
    """Return the noise and sampling error of one step over an average cell."""
    sampling = (1 / sampling_rate - 1) * noise.size / corpus_words
    return math.sqrt(_relative_variance(noise * noise, corpus_words) + sampling)


def _relative_variance(variance: Array, corpus_words: float) -> float:
    """Return the mean variance of cells over the square of their mean."""
    return float(variance.mean()) * (variance.size / corpus_words) ** 2


@functools.lru_cache(maxsize=2)  # once a step, for all shards
def measurement_of(params: RefinedParams, constants: Constants) -> Measurement:
    """Return the next step's measurement of topics: plain counts first or without noise, then residuals."""
    topics, words = params.average.shape
    if params.topic_steps == 0 or params.share_std == 0:
        return Measurement.of_counts(topics, words)
    return Measurement.of_residuals(params.lam[:topics], params.word_shares, params.share_std, constants)


@functools.lru_cache(maxsize=2)
def _measured_rows(params: RefinedParams, constants: Constants) -> tuple[Float32, Float32]:
    return measurement_of(params, constants).of_rows(params.rows)
