"""The privacy wall: `release` is the only function that sees raw statistics; engines sum on its behalf."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vips_core.engines.base import Engine, StepSums, sums_here
from vips_core.kernels import Array
from vips_core.privacy.blocks import Block, Data, Measured, ParamsIn, Released
from vips_core.privacy.ledger import Ledger, LedgerBlock, LedgerEntry
from vips_core.privacy.noise import Randomness, grid_step
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.sampling import Batch
from vips_core.records.shards import Sharded

# Largest deviation of Σ shares² from 1, far above the rounding of such a sum (1e-15). It makes the joint
# noise at most 5e-10 smaller, and the ledger records the noise that is actually added.
_SHARE_TOLERANCE = 1e-9


def release(
    model: Measured[ParamsIn, Data],
    params: ParamsIn,
    data: Data | Sharded,
    plan: PrivacyPlan,
    step: int,
    randomness: Randomness,
    ledger: Ledger,
    engine: Engine = sums_here,
) -> Released:
    """Make one joint Gaussian release: record it, sample a batch, sum its statistics, add noise.

    Block i with bound Cᵢ and share wᵢ gets noise of standard deviation σ·Cᵢ/wᵢ. Since Σ wᵢ² = 1, the
    concatenation of the blocks, each scaled by wᵢ/Cᵢ, has sensitivity 1 and noise σ. A bound therefore
    changes noise and utility, never ε: accountants see only q, σ, the number of steps and δ. Sums and noise
    are whole multiples of a public grid (`vips_core.privacy.noise`).

    Parameters
    ----------
    model, params
        The model, and the parameters at which its statistics are computed.
    data
        The records. A subset of the plan's records, as in audits, gets the same noise.
    plan, step
        The public plan, and the number of the step, from 0.
    randomness
        The run's randomness, from which the keys for a step's coins and noise are derived.
    ledger
        The ledger, which records the release before any record is read, so an error or interruption can only
        over-count.
    engine
        The engine that computes the sums, by default in this process. It gets this step's batch, but no
        information about the noise.
    """
    noise_std, blocks = blocks_with_noise(model.blocks(plan, step), plan)
    ledger.record(_entry(blocks, noise_std, plan))
    stream = randomness.derive("step", step)
    batch = Batch(len(data), plan, stream.derive("batch"))
    sums = engine(data, StepSums(model, params, blocks, batch))
    noisy = {
        name: _noisy(sums[name], block, plan.records, noise_std[name], stream.derive("noise", name))
        for name, block in blocks.items()
    }
    return Released(noisy, noise_std, plan.sampling_rate)


def blocks_with_noise(
    blocks: Mapping[str, Block], plan: PrivacyPlan
) -> tuple[dict[str, float], dict[str, Block]]:
    """Return each block's noise standard deviation, and the blocks with their grids; all are public."""
    total = sum(block.share**2 for block in blocks.values())
    if abs(total - 1) > _SHARE_TOLERANCE:
        raise ValueError(f"the squares of a step's shares must sum to 1, got {total}")
    noise_multiplier = plan.require_noise_multiplier()
    noise_std = {name: noise_multiplier * block.bound / block.share for name, block in blocks.items()}
    return noise_std, {
        name: replace(block, grid=grid_step(noise_std[name], block.bound, plan.records))
        for name, block in blocks.items()
    }


def _noisy(sums: Array, block: Block, records: int, noise_std: float, stream: Randomness) -> Array:
    """Add noise on the grid.

    Our models return finite multiples of the grid within `records` times the bound. Whatever a model returns,
    it is rounded to the grid and each cell is clipped to that limit before noise is added. An error here
    would reveal something about a record. So would the sign of a zero, which only a sum of small negative
    contributions has.
    """
    most = math.floor(records * block.bound / block.grid) * block.grid  # the E-step has clipped each record
    finite = np.where(np.isnan(sums), 0.0, np.asarray(sums, np.float64))
    steps = np.rint(np.clip(finite, -most, most) / block.grid)
    if noise_std > 0:
        steps += stream.rounded_gaussian(steps.shape, noise_std / block.grid)
    return steps * block.grid + 0.0


def _entry(blocks: Mapping[str, Block], noise_std: Mapping[str, float], plan: PrivacyPlan) -> LedgerEntry:
    recorded = {
        name: LedgerBlock(float(block.bound), float(noise_std[name]), int(math.prod(block.shape)), block.grid)
        for name, block in blocks.items()
    }
    return LedgerEntry(plan.sampling_rate, recorded, plan.sampling if plan.sampling_rate < 1 else "poisson")
