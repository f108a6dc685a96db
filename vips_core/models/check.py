"""Tests of a model's contract, for our models and for users' own.

The wall adds noise according to the bounds that a model declares, but cannot verify that the model keeps
them. So before training on private records, test your model here on public or synthetic records of the same
kind. A model that passes can still be wrong; a model that fails has no privacy guarantee.
"""

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from vips_core.fit import fit
from vips_core.kernels import Array
from vips_core.kernels.pool import set_variables
from vips_core.models.base import Block, Raw, Released, for_records
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import blocks_with_noise, release

Mask = npt.NDArray[np.bool_]

_ADVERSARIAL = 40  # number of adversarial records to test


def check_model(model: Any, data: Any, plan: PrivacyPlan, *, trials: int = 5, seed: int = 0) -> None:
    """Test a model's contract; `ValueError` with one sentence if the model violates it.

    The model must not depend on the records: it holds none of them, and `for_records`, `blocks` and `init`
    return the same for any subset of them.

    Before each step of a noisy run:

    - `blocks` depends on plan and step alone, and the squares of the shares sum to 1;
    - `e_step` returns exactly these blocks, with finite sums, and the same bits when called again;
    - `e_step` does not use global random generators and leaves the parameters unchanged;
    - sums are multiples of the block's grid; an empty batch sums to zero; the contributions of single
      records, and of any two parts of a batch, add up to the same bits as the whole;
    - each record moves each block by at most its bound, also each adversarial record if the data's type can
      construct some (`adversarial`);
    - `m_step` returns the same parameters for the same release, whatever batches `e_step` saw before it.

    A seeded run must give the same bits with one thread and with two.

    Parameters
    ----------
    model
        See `vips_core.models.base.Model`. A function from records to a model is better: it also detects a
        model that was built from private properties of the records.
    data
        Public or synthetic records: error messages may reveal something about them.
    plan
        A noisy plan of a few steps for this number of records.
    trials
        Number of random splits of the data; all are tested at each step.
    seed
        Seed of the splits.

    Returns
    -------
    None
        No violation was found.

    Examples
    --------
    >>> import vips_core as vips
    >>> rows = vips.Images.from_images(np.eye(8), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=8, expected_batch=4, steps=2, noise_multiplier=1.0, delta=1e-3)
    >>> check_model(lambda records: vips.SBN(8, 2), rows, plan)
    """
    rng = np.random.default_rng(seed)
    made = model if callable(model) else lambda _: model
    model = for_records(made(data), data)
    parts = [part for _ in range(trials) for part in _two_parts(len(data), rng)]
    _check_independent_of_records(made, model, data, plan, parts)
    adversarial = data.adversarial(_ADVERSARIAL, rng) if hasattr(data, "adversarial") else None
    params = model.init(plan, np.random.default_rng(0))
    randomness, ledger = Randomness.of(0), Ledger(plan.records, seeded=True)
    for step in range(plan.steps):
        blocks = _checked_blocks(model, plan, step)
        _check_repeatable(model, params, data, blocks)
        _check_sums(model, params, data, blocks, parts)
        for records in (data, adversarial) if adversarial is not None else (data,):
            _check_each_record(model, params, records, blocks)
        released = release(model, params, data, plan, step, randomness, ledger)
        _check_update(model, params, data, blocks, released, step)
        params = model.m_step(params, released, step)
    _check_threads(model, data, plan)


def _two_parts(records: int, rng: np.random.Generator) -> tuple[Mask, Mask]:
    some = rng.random(records) < rng.random()
    return some, ~some


def _check_independent_of_records(
    made: Any, model: Any, data: Any, plan: PrivacyPlan, parts: Sequence[Mask]
) -> None:
    """Check that model, blocks and initial parameters are the same for any part of the records."""
    if _holds(model, data):
        raise ValueError("a model must not hold the records that it is trained on, but this one does")

    def known(of: Any) -> tuple[Any, ...]:
        start = of.init(plan, np.random.default_rng(0))
        return start, [dict(of.blocks(plan, step)) for step in range(plan.steps)]

    start, blocks = known(copy.deepcopy(model))
    for part in parts:
        other = for_records(made(data[part]), data[part])
        other_start, other_blocks = known(copy.deepcopy(other))
        if blocks != other_blocks:
            raise ValueError(
                "blocks and their bounds must depend on plan and step alone, but they differ for a part of "
                "the records"
            )
        if not _equal(start, other_start):
            raise ValueError("init must not depend on the records, but it differs for a part of them")
        if not _equal(model, other):
            raise ValueError("a model must not depend on the records, but it differs for a part of them")


def _holds(model: Any, data: Any) -> bool:
    """Return whether the records, or one of their arrays, are reachable from the model's fields."""
    arrays = [value for value in vars(data).values() if isinstance(value, np.ndarray) and value.size > 1]
    seen, waiting = set[int](), [model]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if item is data or any(item is array for array in arrays):
            return True
        if isinstance(item, Mapping):
            waiting += item.values()
        elif isinstance(item, list | tuple | set):
            waiting += item
        elif hasattr(item, "__dict__") and not isinstance(item, type | ModuleType | FunctionType):
            waiting += vars(item).values()
    return False


def _checked_blocks(model: Any, plan: PrivacyPlan, step: int) -> Mapping[str, Block]:
    blocks = model.blocks(plan, step)
    if not blocks or not all(isinstance(block, Block) for block in blocks.values()):
        raise ValueError(f"blocks must map at least one name to a Block, got {blocks!r} in step {step}")
    if blocks != copy.deepcopy(model).blocks(plan, step):
        raise ValueError(f"blocks must depend on plan and step alone, but two answers in step {step} differ")
    return blocks_with_noise(blocks, plan)[1]  # refuses shares whose squares do not sum to 1


def _check_repeatable(model: Any, params: Any, data: Any, blocks: Mapping[str, Block]) -> None:
    """Check that a batch gives the same bits twice, without random draws or changed parameters."""
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
    model: Any, params: Any, data: Any, blocks: Mapping[str, Block], parts: Sequence[Mask]
) -> None:
    """Check that an empty batch sums to zero, sums lie on the grid, and any two parts add up to the whole."""
    whole, nobody = (_sums(model, params, data[np.full(len(data), all_)], blocks) for all_ in (True, False))
    for name, block in blocks.items():
        if nobody[name].shape != block.shape or np.any(nobody[name]):
            raise ValueError(
                f"an empty batch must sum to zeros of shape {block.shape}, but not block {name!r}"
            )
        if np.any(np.remainder(whole[name], block.grid)):
            raise ValueError(f"sums must be multiples of the block's grid, but block {name!r} has others")
    for part in parts[::2]:
        one, other = (_sums(model, params, data[mask], blocks) for mask in (part, ~part))
        for name in blocks:
            _check_added(name, whole[name], one[name] + other[name], "two parts")


def _check_each_record(model: Any, params: Any, data: Any, blocks: Mapping[str, Block]) -> None:
    """Check that every record stays within the bounds, and that all of them add up to the whole."""
    whole = _sums(model, params, data, blocks)
    total = {name: np.zeros(block.shape) for name, block in blocks.items()}
    for place in range(len(data)):
        own = _sums(model, params, data[np.arange(len(data)) == place], blocks)
        for name, block in blocks.items():
            total[name] += own[name]
            moved = _norm(own[name])
            if moved > block.bound:
                raise ValueError(
                    f"one record may move block {name!r} by at most {block.bound:g}, but record {place} "
                    f"moves it by {moved:g}"
                )
    for name in blocks:
        _check_added(name, whole[name], total[name], "single records")


def _check_added(name: str, whole: Array, added: Array, what: str) -> None:
    if not np.array_equal(whole, added):
        raise ValueError(
            f"one record's contribution must depend on that record alone, but in block {name!r} {what} "
            f"differ from the whole batch by {_norm(whole - added):.3g}"
        )


def _check_update(
    model: Any, params: Any, data: Any, blocks: Mapping[str, Block], released: Released, step: int
) -> None:
    """Check that the same release gives the same parameters, whatever batches `e_step` saw before."""
    everyone, updates = np.ones(len(data), bool), []
    for mask in (everyone, np.arange(len(data)) % 3 == 0, ~everyone):
        _sums(model, params, data[mask], blocks)
        updates.append(copy.deepcopy(model.m_step(copy.deepcopy(params), released, step)))
    if not all(_equal(updates[0], update) for update in updates[1:]):
        raise ValueError(
            "m_step must depend on parameters and release alone, but after other batches it gives other "
            f"parameters in step {step}"
        )


def _check_threads(model: Any, data: Any, plan: PrivacyPlan) -> None:
    runs = []
    for threads in (1, 2):
        with set_variables(VIPS_THREADS=str(threads)):
            runs.append(fit(copy.deepcopy(model), data, plan, seed=11).params)
    if not _equal(*runs):
        raise ValueError("a seeded run must give the same bits for any number of threads, but it does not")


def _sums(model: Any, params: Any, batch: Any, blocks: Mapping[str, Block]) -> Mapping[str, Array]:
    raw = model.e_step(params, batch, blocks)
    if not isinstance(raw, Raw) or set(raw.sums) != set(blocks):
        raise ValueError(f"e_step must return Raw with exactly the blocks {sorted(blocks)}")
    for name, value in raw.sums.items():
        if not np.isfinite(value).all():
            raise ValueError(f"e_step must return finite sums, but block {name!r} has others")
    return raw.sums


def _norm(values: Array) -> float:
    return float(np.linalg.norm(np.asarray(values, np.float64)))


def _equal(one: Any, two: Any) -> bool:
    """Return whether parameters, which may be nested objects, have the same bits."""
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
    """Return the states of the global random generators."""
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002 (inspected, never drawn from)
    return random.getstate(), repr(numpy_state)
