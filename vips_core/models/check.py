"""The contract of a model, tried out: for ours and for users' own.

The wall adds noise for the bounds that a model declares; whether the model keeps them only the model knows.
So before a model is trained on private records, try it here on records of the same kind that are public or
made up. A model that passes can still be wrong; one that does not pass has no guarantee.
"""

import copy
import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from vips_core.fit import Progress, fit
from vips_core.kernels.pool import set_variables
from vips_core.models.base import Block, FloatArray, Raw
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import blocks_with_noise


def check_model(model: Any, data: Any, plan: PrivacyPlan, *, trials: int = 15, seed: int = 0) -> None:
    """Try whether a model keeps its contract; `ValueError` with one sentence where it does not.

    At parameters before the first step and after every noisy step it is checked that

    - blocks depend on plan and step alone, and the squares of their shares sum to 1;
    - `e_step` returns exactly the blocks, finite, and the same bits when asked again;
    - it draws no random numbers and leaves the parameters as they are;
    - sums are multiples of the block's grid, an empty batch sums to zero, and any two parts of a batch add up
      to the same bits as the whole;
    - one record moves each block by at most its bound, in random batches;
    - a seeded run gives the same bits with one thread and with two.

    Parameters
    ----------
    model
        See `vips_core.models.base.Model`.
    data
        Public or made-up records: sentences may tell something about them.
    plan
        For that many records, with noise, of a few steps.
    trials
        Records that are left out at each step, each of another batch.
    seed
        Of the batches.

    Examples
    --------
    >>> import vips_core as vips
    >>> rows = vips.BinaryRows.from_images(np.eye(8), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=8, expected_batch=4, steps=2, noise_multiplier=1.0, delta=1e-3)
    >>> check_model(vips.SBN(8, 2), rows, plan)
    """
    rng = np.random.default_rng(seed)
    for step, params in enumerate(_params_of_steps(model, data, plan)):
        blocks = _checked_blocks(model, plan, step)
        _check_repeatable(model, params, data, blocks)
        for _ in range(trials):
            _check_sums(model, params, data, blocks, rng)
            _check_bounds(model, params, data, blocks, rng)
    _check_threads(model, data, plan)


def _params_of_steps(model: Any, data: Any, plan: PrivacyPlan) -> Iterator[Any]:
    """Parameters before each step of a private run; those before the first are checked before the run."""
    yield model.init(plan, np.random.default_rng(0))
    later: list[Any] = []

    def remember(progress: Progress[Any]) -> None:
        later.append(progress.params)

    fit(model, data, plan, seed=0, on_step=remember)
    yield from later[:-1]


def _checked_blocks(model: Any, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
    blocks = model.blocks(plan, step)
    if not blocks or not all(isinstance(block, Block) for block in blocks.values()):
        raise ValueError(f"blocks must map at least one name to a Block, got {blocks!r} in step {step}")
    if blocks != copy.deepcopy(model).blocks(plan, step):
        raise ValueError(f"blocks must depend on plan and step alone, but two answers in step {step} differ")
    return blocks_with_noise(blocks, plan)[1]  # refuses shares whose squares do not sum to 1


def _check_repeatable(model: Any, params: Any, data: Any, blocks: Mapping[str, Block]) -> None:
    """The same bits again, after another batch, without a draw and without a change of the parameters."""
    half = np.arange(len(data)) % 2 == 0
    before, drawn = copy.deepcopy(params), _random_states()
    first = _sums(model, params, data[half], blocks)
    _sums(model, params, data[~half], blocks)
    again = _sums(model, params, data[half], blocks)
    for name in blocks:
        if not np.array_equal(first[name], again[name]):
            raise ValueError(f"e_step must keep no state, but block {name!r} differs for the same batch")
    if drawn != _random_states():
        raise ValueError("e_step must draw no random numbers, but it used a global generator")
    if not _equal(before, params):
        raise ValueError("e_step must leave the parameters as they are, but it changed them")


def _check_sums(
    model: Any, params: Any, data: Any, blocks: Mapping[str, Block], rng: np.random.Generator
) -> None:
    """Nobody adds nothing, sums are on the grid, and the sum over everyone is that of any two parts."""
    everyone, some = np.ones(len(data), bool), rng.random(len(data)) < rng.random()
    whole, one, other, nobody = (
        _sums(model, params, data[mask], blocks) for mask in (everyone, some, ~some, ~everyone)
    )
    for name, block in blocks.items():
        if nobody[name].shape != block.shape or np.any(nobody[name]):
            raise ValueError(
                f"an empty batch must sum to zeros of shape {block.shape}, but not block {name!r}"
            )
        if np.any(np.remainder(whole[name], block.grid)):
            raise ValueError(f"sums must be multiples of the block's grid, but block {name!r} has others")
        if not np.array_equal(whole[name], one[name] + other[name]):
            gap = _distance(whole[name], one[name] + other[name])
            raise ValueError(
                f"one record's share must depend on that record alone, but in block {name!r} two parts of a "
                f"batch differ from the whole by {gap:.3g}"
            )


def _check_bounds(
    model: Any, params: Any, data: Any, blocks: Mapping[str, Block], rng: np.random.Generator
) -> None:
    with_record = rng.random(len(data)) < 0.2
    record = rng.integers(len(data))
    with_record[record] = True
    without = with_record.copy()
    without[record] = False
    more, less = (_sums(model, params, data[mask], blocks) for mask in (with_record, without))
    for name, block in blocks.items():
        moved = _distance(more[name], less[name])
        if moved > block.bound:
            raise ValueError(
                f"one record may move block {name!r} by at most {block.bound:g}, but it moved it by {moved:g}"
            )


def _check_threads(model: Any, data: Any, plan: PrivacyPlan) -> None:
    runs = []
    for threads in (1, 2):
        with set_variables(VIPS_THREADS=str(threads)):
            runs.append(fit(copy.deepcopy(model), data, plan, seed=11).params)
    if not _equal(*runs):
        raise ValueError("a seeded run must give the same bits for any number of threads, but it does not")


def _sums(model: Any, params: Any, batch: Any, blocks: Mapping[str, Block]) -> Mapping[str, FloatArray]:
    raw = model.e_step(params, batch, blocks)
    if not isinstance(raw, Raw) or set(raw.sums) != set(blocks):
        raise ValueError(f"e_step must return Raw with exactly the blocks {sorted(blocks)}")
    for name, value in raw.sums.items():
        if not np.isfinite(value).all():
            raise ValueError(f"e_step must return finite sums, but block {name!r} has others")
    return raw.sums


def _distance(one: FloatArray, two: FloatArray) -> float:
    return float(np.linalg.norm(np.asarray(one, np.float64) - two))


def _equal(one: Any, two: Any) -> bool:
    """Whether parameters, which may hold further objects, have the same bits."""
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        return type(one) is type(two) and all(_equal(getattr(one, n), getattr(two, n)) for n in names)
    if hasattr(one, "__dict__"):
        return type(one) is type(two) and _equal(vars(one), vars(two))
    if isinstance(one, Mapping):
        return set(one) == set(two) and all(_equal(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_equal, one, two))
    return np.array_equal(one, two, equal_nan=np.asarray(one).dtype.kind == "f")


def _random_states() -> tuple[Any, ...]:
    """Of the generators that code without one of its own draws from."""
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002 (looked at, never drawn from)
    return random.getstate(), repr(numpy_state)
