"""The paper's private topics (§4.3, Algorithm 3): resampled documents, decaying steps, no negative counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vips_core.kernels import Array
from vips_core.models.base import Block, Released
from vips_core.models.lda.kernels import expected_rows, topic_word_sums
from vips_core.models.lda.sweep_kernels import Float32
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Documents

if TYPE_CHECKING:
    from vips_core.models.lda.model import LDA

START_SHAPE = 100.0  # gamma shape of the initial topics
DELAY, FORGETTING = 1024, 0.7  # τ₀ and κ of the step size ρ_t = (τ₀ + t)^-κ
BATCH_SHARE = 0.05  # sampling rate of a recommended plan, as in the paper


@dataclass(frozen=True)
class PaperParams:
    """The topics' posterior λ, topics × words."""

    lam: Array

    @cached_property
    def rows(self) -> Float32:
        """Topics in the E-step's form, computed once a step for all shards."""
        return expected_rows(self.lam)


class Paper:
    """The paper's algorithm; see `vips_core.models.base.Algorithm`."""

    default_clip = 0.1  # a, as in the paper's experiments: a document is clipped to a·N in L2 norm

    def __init__(self, model: "LDA") -> None:
        self.model = model

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> PaperParams:
        """Return random topics around a flat distribution."""
        shape = self.model.topics, len(self.model.vocabulary)
        return PaperParams(rng.gamma(START_SHAPE, 1 / START_SHAPE, shape))

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return one block, the topic–word counts."""
        shape = self.model.topics, len(self.model.vocabulary)
        return {"topics": Block(self.model.clip * self.model.words_per_document, shape=shape)}

    def sums(self, params: PaperParams, batch: Documents, blocks: Mapping[str, Block]) -> dict[str, Array]:
        """Return the expected topic–word counts of documents resampled to exactly N words."""
        return {"topics": topic_word_sums(self.model, batch, params.rows, blocks["topics"], resampled=True)}

    def update(self, params: PaperParams, released: Released, step: int) -> PaperParams:
        """Move λ by ρ_t towards the posterior of the noisy counts."""
        step_size = (DELAY + step + 1) ** -FORGETTING
        target = self.model.eta + np.maximum(released.total("topics"), 0)
        return PaperParams((1 - step_size) * params.lam + step_size * target)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return a plan that samples 5 % of the documents in each step, as in the paper."""
        batch = max(1, round(BATCH_SHARE * records))
        plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
        return plan.calibrate(epsilon)
