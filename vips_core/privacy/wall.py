"""The privacy wall: `release` is the only function that sees raw statistics."""

from typing import Any

import numpy as np
import numpy.typing as npt

from vips_core.models.base import Block, Data, Model, Params, Raw, Released
from vips_core.privacy.ledger import Ledger, LedgerBlock, LedgerEntry, Sampling
from vips_core.privacy.plan import PrivacyPlan

_SHARE_TOLERANCE = 1e-9


def release(
    model: Model[Params, Data],
    params: Params,
    data: Data,
    plan: PrivacyPlan,
    step: int,
    rng: np.random.Generator,
    ledger: Ledger,
) -> Released:
    """Sample a batch, sum its statistics, add noise, record it: one joint Gaussian release.

    Block i with bound Cᵢ and share wᵢ gets noise of standard deviation σ·Cᵢ/wᵢ. Since Σ wᵢ² = 1, the
    concatenation of the blocks, each scaled by wᵢ/Cᵢ, has sensitivity 1 and noise σ.
    """
    blocks = dict(model.blocks(plan, step))
    _check_shares(blocks)
    noise_multiplier = plan.require_noise_multiplier()
    noise_std = {name: noise_multiplier * block.bound / block.share for name, block in blocks.items()}
    batch = data[_sample(len(data), plan.sampling_rate, plan.sampling, rng)]
    raw = model.e_step(params, batch, blocks)
    _check_raw(raw, blocks)
    # Recorded before anything can be returned, so that an interruption can only over-count.
    ledger.record(_entry(raw, blocks, noise_std, plan))
    noisy = {
        name: value + noise_std[name] * rng.standard_normal(value.shape) for name, value in raw.sums.items()
    }
    return Released(noisy, noise_std, plan.sampling_rate)


def _sample(records: int, rate: float, sampling: Sampling, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Boolean mask of the batch: independent coins, or (only to reproduce the paper) a fixed number."""
    if rate == 1:
        return np.ones(records, bool)
    if sampling == "poisson":
        return rng.random(records) < rate
    mask = np.zeros(records, bool)
    mask[rng.choice(records, round(rate * records), replace=False)] = True
    return mask


def _entry(raw: Raw, blocks: dict[str, Block], noise_std: dict[str, float], plan: PrivacyPlan) -> LedgerEntry:
    recorded = {
        name: LedgerBlock(
            bound=float(block.bound), noise_std=float(noise_std[name]), cells=raw.sums[name].size
        )
        for name, block in blocks.items()
    }
    return LedgerEntry(plan.sampling_rate, recorded, plan.sampling if plan.sampling_rate < 1 else "poisson")


def _check_shares(blocks: dict[str, Block]) -> None:
    total = sum(block.share**2 for block in blocks.values())
    if abs(total - 1) > _SHARE_TOLERANCE:
        raise ValueError(f"the squares of a step's shares must sum to 1, got {total}")


def _check_raw(raw: Any, blocks: dict[str, Block]) -> None:
    if not isinstance(raw, Raw) or set(raw.sums) != set(blocks):
        raise TypeError(f"e_step must return Raw with exactly the blocks {sorted(blocks)}")
    for name, value in raw.sums.items():
        if not np.isfinite(value).all():
            raise FloatingPointError(f"e_step gave a value that is not finite in block {name!r}")
