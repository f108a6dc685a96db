"""The protocol of models that train behind the wall, and the base class of our own.

`Model` is the protocol. A *variant*, "refined" or "paper", is one implementation of a model: an `Algorithm`.
`VariantModel` delegates training calls to the chosen variant. A *method* is what a user chooses to train
with (`vips_core.models.task.Method`); it names the variant that it runs.
"""

import abc
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np

from vips_core import validate
from vips_core.kernels import Array
from vips_core.kernels.pool import one_blas_thread
from vips_core.privacy.blocks import Block, Data, DataIn, Measured, Raw, Released
from vips_core.privacy.plan import PrivacyPlan

__all__ = [
    "Algorithm",
    "Block",
    "Data",
    "Fitted",
    "Model",
    "Params",
    "Raw",
    "Released",
    "Variant",
    "VariantModel",
    "for_records",
    "most_efficient",
]

Params = TypeVar("Params")
ParamsOut = TypeVar("ParamsOut", covariant=True)
Variant = Literal["refined", "paper"]


class Model(Measured[Params, DataIn], Protocol[Params, DataIn]):
    """The four calls that the training loop makes to a model (the paper's Algorithm 2).

    `blocks` may depend on public quantities only. `e_step` sums the given blocks over the batch, with each
    record clipped to the block's bound. It keeps no state and draws no random numbers, and a record's
    contribution depends on that record and `params` alone. If a record is a person with several rows, each
    row's clipped contribution is multiplied by its weight in the batch's `row_weights`, so the average stays
    within the bound. `m_step` sees noisy sums only. A model may also define `recommend(records, epsilon,
    delta, epochs)`, which returns its recommended plan, and `for_records(data)`, which returns the model with
    the data's public properties. `vips_core.models.check.check_model` tests the contract of `init`, `blocks`,
    `e_step`, `m_step` and `for_records`.
    """

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> Params:
        """Return the parameters before the first step, which may not depend on the records."""
        ...

    def m_step(self, params: Params, released: Released, step: int) -> Params:
        """Return the parameters after the step, from noisy sums only."""
        ...


class Fitted(Protocol[ParamsOut]):
    """A trained model; `vips_core.fit.Fit` is one."""

    @property
    def model(self) -> Any:
        """The model, with its public settings."""
        ...

    @property
    def params(self) -> ParamsOut:
        """The learned parameters."""
        ...


class Algorithm(Protocol[Params, DataIn]):
    """The implementation of a variant: its statistics, and the estimates from their noisy sums."""

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> Params:
        """Return the parameters before the first step."""
        ...

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the statistics of a step, with their bounds and shares."""
        ...

    def sums(self, params: Params, batch: DataIn, blocks: Mapping[str, Block]) -> Mapping[str, Array]:
        """Return the sums over a batch whose shape has been checked: the E-step."""
        ...

    def update(self, params: Params, released: Released, step: int) -> Params:
        """Return the parameters after a release: the M-step."""
        ...

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return the variant's recommended plan within `epochs` passes."""
        ...


class VariantModel(abc.ABC, Generic[Params, DataIn]):
    """Delegates training calls to the algorithm of the chosen variant.

    BLAS runs with one thread, because the number of threads changes rounding, and a seeded run must give the
    same bits on any machine. In E-steps the engine sets that limit.
    """

    VARIANTS: ClassVar[Mapping[str, Callable[[Any], Algorithm[Any, Any]]]]
    variant: Variant

    @functools.cached_property
    def algorithm(self) -> Algorithm[Params, DataIn]:
        """The variant's algorithm, built from the model's settings."""
        with one_blas_thread():
            return self.VARIANTS[self.variant](self)

    @abc.abstractmethod
    def check(self, data: DataIn) -> None:
        """Refuse data whose shape differs from the model's."""

    def init(self, plan: PrivacyPlan, rng: np.random.Generator) -> Params:
        """Return the parameters before the first step, which do not depend on the records."""
        with one_blas_thread():
            return self.algorithm.init(plan, rng)

    def blocks(self, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
        """Return the blocks that step `step` (from 0) releases, from public quantities."""
        return self.algorithm.blocks(plan, step)

    def e_step(self, params: Params, batch: DataIn, blocks: Mapping[str, Block]) -> Raw:
        """Return the sums over the batch, each record clipped to the blocks' bounds."""
        self.check(batch)
        return Raw(self.algorithm.sums(params, batch, blocks))

    def m_step(self, params: Params, released: Released, step: int) -> Params:
        """Return the parameters after one release."""
        with one_blas_thread():
            return self.algorithm.update(params, released, step)

    def recommend(self, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
        """Return the variant's recommended plan; `vips_core.recommend` documents the arguments."""
        epochs = validate.positive("epochs", epochs)
        return self.algorithm.recommend(records=records, epsilon=epsilon, delta=delta, epochs=epochs)


def for_records(model: Any, data: Any) -> Any:
    """Return the model with the data's public properties; the model itself if it has no `for_records`."""
    return getattr(model, "for_records", lambda _: model)(data)


def most_efficient(*, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
    """Return the most efficient plan within `epochs`, with the most steps among equally efficient ones.

    Full batches lose nothing to subsampling, so they are used whenever at least one pass is allowed. With
    less compute, the plan is one batch as large as the compute allows. `vips_core.recommend` documents the
    arguments.

    Examples
    --------
    >>> plan = most_efficient(records=1000, epsilon=1.0, delta=1e-5, epochs=3.5)
    >>> plan.expected_batch, plan.steps
    (1000, 3)
    """
    epochs = validate.positive("epochs", epochs)
    batch = records if epochs >= 1 else max(1, math.floor(epochs * records))
    steps = math.floor(epochs) if epochs >= 1 else 1
    return PrivacyPlan(records=records, expected_batch=batch, steps=steps, delta=delta).calibrate(epsilon)
