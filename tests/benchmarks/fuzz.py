"""Damaged and absurd input for every reader: no traceback, no hang, nothing lost.

python -m tests.benchmarks.fuzz [--inputs 1_000_000] [--seed 0] [--targets ledger schema …]

An input may be accepted or refused by a `ValueError` of one line within 2 s of processor time; what is
accepted has to be within its bounds, and to be unchanged after writing and reading it again. Anything else is
printed with the target's name and the input's number, by which `--targets` and `--first` repeat it.
"""

import argparse
import copy
import io
import json
import math
import signal
import string
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import tomli_w

from dashboard import state
from dashboard.model_page import definition
from dashboard.views.audit import form as audit
from dashboard.views.frontier import form as frontier
from dashboard.views.plan import form as plan_page
from dashboard.views.runs import data as runs
from vips_core import (
    ACCOUNTANTS,
    Ledger,
    LedgerBlock,
    LedgerEntry,
    PrivacyPlan,
)
from vips_core.jobs.request import Request
from vips_core.privacy.accountants import account
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.filter import PrivacyFilter
from vips_core.records import KINDS
from vips_core.records.files.table import checked_schema, read_schema
from vips_core.sweeps.grid import Sweep

SLOW, HANG = 2.0, 60  # seconds of processor time, and of the clock
NUMBERS = (0, 1, -1, 2, 0.5, 1.5, 1e-4, 1e-9, 1e-19, 1e-300, 5e-324, 1e7, 1e300, 1e308, 2**31, 2**53, 2**63)
NUMBERS += (2**64, 10**400, -(2**63), math.nan, math.inf, -math.inf, -0.0, 1 - 2**-53, True, False)
OTHERS = (None, "", "a", "nan", "1e5", "pld", "\x00", "é\u2028\n", "x" * 1000, [], [1], [["a"]], {}, {"a": 1})
DEEP = "[" * 100_000
CHARACTERS = string.printable + "\x00\x85\u2028ﬁ٣½∞😀"


def odd(rng):
    """Return an absurd value, or a plausible one."""
    if rng.random() < 0.3:
        return float(10 ** rng.uniform(-12, 12)) if rng.random() < 0.5 else int(rng.integers(-10, 10**6))
    values = NUMBERS if rng.random() < 0.7 else OTHERS
    return copy.deepcopy(values[rng.integers(len(values))])


def with_odd_values(table, rng):
    """Return a table in which some values, at any depth, are odd, missing or under another name."""
    table = copy.deepcopy(table)
    for _ in range(rng.integers(0, 3)):
        place = table
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = keys[rng.integers(len(keys))]
            if isinstance(place[key], dict | list) and rng.random() < 0.7:
                place = place[key]
                continue
            if rng.random() < 0.1:
                del place[key]
            elif isinstance(place, dict) and rng.random() < 0.1:
                place[str(odd(rng))] = place.pop(key)
            else:
                place[key] = odd(rng)
            break
    return table


def damaged(text, rng, most=3):
    """Return text with a few characters changed, cut, doubled or put in."""
    for _ in range(rng.integers(0, most + 1)):
        first, last = sorted(rng.integers(0, len(text) + 1, 2))
        last = min(last, first + int(rng.integers(1, 20)))
        kind = rng.integers(4)
        put = "".join(CHARACTERS[place] for place in rng.integers(0, len(CHARACTERS), rng.integers(1, 4)))
        middle = ("", text[first:last] * 2, put, str(odd(rng)))[kind]
        text = text[:first] + middle + text[last:]
    return DEEP if rng.random() < 1e-3 else text


def damaged_bytes(content, rng):
    """Return bytes with a few flipped, or cut short."""
    changed = bytearray(content)
    if changed and rng.random() < 0.3:
        for place in rng.integers(0, len(changed), rng.integers(1, 6)):
            changed[place] ^= 1 << rng.integers(8)
    return bytes(changed[: rng.integers(len(changed))] if changed and rng.random() < 0.03 else changed)


def fuzz_plan(rng, folder):
    options = {"records": 1000, "expected_batch": 100, "steps": 10, "noise_multiplier": 1.0, "delta": 1e-5}
    if rng.random() < 0.3:
        options["epochs"] = options.pop("steps")
    options = with_odd_values(options, rng)
    options = {name: options[name] for name in PrivacyPlan.__init__.__annotations__ if name in options}
    plan = PrivacyPlan(**{"records": 1000, "expected_batch": 10, "delta": 1e-5, **options})
    assert 0 < plan.sampling_rate <= 1
    assert plan.replace(steps=plan.steps) == plan
    if plan.noise_multiplier is not None and rng.random() < 0.002:
        check_accounts(plan.events(), plan.delta)


def check_accounts(events, delta):
    for name in ACCOUNTANTS:
        epsilon = account(events, delta, name).epsilon
        assert epsilon is None or epsilon >= 0, f"{name} says {epsilon}"


def fuzz_ledger(rng, folder):
    blocks = {"a": LedgerBlock(1.0, 2.0, 10, 2.0**-29), "b": LedgerBlock(3.0, 6.0, 10, 2.0**-28)}
    entries = [LedgerEntry(0.1, blocks), LedgerEntry(1.0, {"c": blocks["a"]}, count=4)]
    content = json.loads(Ledger(1000, entries=entries).to_json())
    text = json.dumps(with_odd_values(content, rng))
    ledger = Ledger.from_json(damaged(text, rng) if rng.random() < 0.5 else text)
    assert Ledger.from_json(ledger.to_json()) == ledger
    if rng.random() < 0.002:
        check_accounts(ledger.events(), 1e-5)


def fuzz_filter(rng, folder):
    values = [odd(rng) if rng.random() < 0.2 else value for value in (1.0, 1e-6, 8.0)]
    cap = PrivacyFilter(*values) if rng.random() < 0.5 else PrivacyFilter.for_cap(*values[:2])
    assert cap.share([]) == 0
    events = []
    for _ in range(rng.integers(0, 4)):
        event = float(10 ** rng.uniform(-9, 0)), float(10 ** rng.uniform(-4, 7)), int(10 ** rng.uniform(0, 7))
        events.append(SampledGaussian(*(odd(rng) if rng.random() < 0.1 else value for value in event)))
    share = cap.share(events)
    assert share >= 0, f"a share of {share}"
    assert cap.share([*events, SampledGaussian(1.0, 1.0, 1)]) >= share
    assert 0 <= cap.left_epsilon(events) < math.inf


REQUEST = {"model": "lda", "data": "sotu", "method": "refined", "epsilon": 1.0, "delta": 1e-6, "topics": 5}
SWEEP = {"model": "logistic", "data": "nhanes-stroke", "delta": 1e-4, "epsilon": [0.5, 1.0], "seeds": 2}
SWEEP |= {"figures": ["epsilon"], "grid": [{"method": ["refined", "paper"]}, {"label": "b", "keep": True}]}


def fuzz_request(rng, folder):
    request = read_config(Request, REQUEST, rng)
    assert Request.from_toml(request.to_toml()) == request


def fuzz_sweep(rng, folder):
    sweep = read_config(Sweep, SWEEP, rng)
    assert Sweep.from_toml(sweep.to_toml()) == sweep


def read_config(kind, table, rng):
    if rng.random() < 0.5:
        return kind.from_mapping(with_odd_values(table, rng))
    return kind.from_toml(damaged(tomli_w.dumps(table), rng))


ADDRESSES = [
    value
    for module in (definition, audit, frontier, plan_page, runs)
    for value in vars(module).values()
    if isinstance(value, state.Number | state.Choice | state.Text)
]


def fuzz_address(rng, folder):
    parameter = ADDRESSES[rng.integers(len(ADDRESSES))]
    default = "1" if parameter.default is None else str(parameter.default)
    value = parameter.parse(damaged(default, rng) if rng.random() < 0.5 else str(odd(rng)))
    if isinstance(parameter, state.Number):
        assert parameter.low <= value <= parameter.high
    assert parameter.parse(str(value)) == value


SCHEMA = {"ranges": {"age": [20, 90], "weight": [30.0, 200.0]}, "may_be_missing": ["age"], "norm_bound": 1.5}
TABLE = "age,weight,stroke,name\n30,70.5,0,ann\n,80,1,bob\n85,60,0,ann\n"
TEXTS = 'word,text\n1,tea and milk\n2,"rain, sun"\n'


def fuzz_schema(rng, folder):
    if rng.random() < 0.5:
        checked_schema(with_odd_values(SCHEMA, rng))
        return
    file = folder / "schema.toml"
    file.write_text(damaged(tomli_w.dumps(SCHEMA), rng), encoding="utf-8", newline="")
    read_schema(file)


def fuzz_table(rng, folder):
    table, schema = folder / "table.csv", folder / "ranges.toml"
    table.write_bytes(damaged_bytes(damaged(TABLE, rng, most=1).encode(), rng))
    public = SCHEMA if rng.random() < 0.7 else toml_safe(with_odd_values(SCHEMA, rng))
    schema.write_text(tomli_w.dumps(public), encoding="utf-8")
    given = {"target": "stroke", "schema": str(schema)} | ({"person": "name"} if rng.random() < 0.3 else {})
    rows = KINDS["table"].read_file(table, given)
    assert np.isfinite(rows.x).all()


def toml_safe(value):
    """Return the value without parts that TOML cannot hold."""
    if isinstance(value, dict):
        return {str(name): toml_safe(item) for name, item in value.items()}
    if isinstance(value, list):
        return [toml_safe(item) for item in value]
    return "none" if value is None else value


def fuzz_documents(rng, folder):
    words = folder / "words.txt"
    words.write_bytes(damaged_bytes(damaged("tea milk\nrain sun", rng, most=1).encode(), rng))
    kind = rng.integers(3)
    file = folder / ("counts.npz", "texts.csv", "texts.txt")[kind]
    if kind == 0:
        arrays = {
            "indptr": np.array([0, 1, 3]),
            "indices": np.array([0, 0, 1]),
            "counts": np.array([1, 2, 3]),
            "vocabulary": np.array(["tea", "milk"]),
        }
        write_arrays(file, arrays, rng)
    else:
        file.write_bytes(damaged_bytes(damaged(TEXTS, rng, most=1).encode(), rng))
    given = {"vocabulary": str(words)} | ({"column": "text"} if rng.random() < 0.5 else {}) if kind else {}
    KINDS["documents"].read_file(file, given | ({"person": "word"} if rng.random() < 0.2 else {}))


def write_arrays(file, arrays, rng):
    """Write an .npz of arrays, some of which are odd, or whose bytes are damaged."""
    for name in list(arrays):
        if rng.random() < 0.15:
            value = [odd(rng) for _ in range(rng.integers(1, 4))]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    array = np.array(value if rng.random() < 0.7 else value[0])
                except ValueError:
                    continue
            arrays[name] = array if array.dtype != object else np.array([str(value)])
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    file.write_bytes(damaged_bytes(content.getvalue(), rng) if rng.random() < 0.5 else content.getvalue())


def fuzz_images(rng, folder):
    threshold = odd(rng) if rng.random() < 0.2 else 127.0
    if rng.random() < 0.5:
        file = folder / "images.npz"
        write_arrays(file, {"images": rng.integers(0, 256, (3, 4, 5), np.uint8)}, rng)
        KINDS["images"].read_file(file, {"threshold": threshold})
        return
    from PIL import Image

    images = folder / "images"
    images.mkdir(exist_ok=True)
    for name in ("a.png", "b.png"):
        content = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (4, 5), np.uint8)).save(content, "PNG")
        (images / name).write_bytes(damaged_bytes(content.getvalue(), rng))
    KINDS["images"].read_file(images, {"threshold": threshold})


# Each target with its part of the inputs: files take longer than texts.
TARGETS = {
    "plan": (fuzz_plan, 0.2),
    "ledger": (fuzz_ledger, 0.2),
    "filter": (fuzz_filter, 0.05),
    "request": (fuzz_request, 0.15),
    "sweep": (fuzz_sweep, 0.05),
    "address": (fuzz_address, 0.25),
    "schema": (fuzz_schema, 0.07),
    "table": (fuzz_table, 0.01),
    "documents": (fuzz_documents, 0.01),
    "images": (fuzz_images, 0.01),
}


def try_input(target, seed, number, folder):
    """Return what is wrong with the answer to one input, and whether the input was accepted."""
    rng = np.random.default_rng([seed, list(TARGETS).index(target), number])
    start, accepted = time.process_time(), False
    try:
        TARGETS[target][0](rng, folder)
        accepted = True
    except ValueError as error:
        if not str(error) or set(str(error)) & set("\n\r"):
            return f"refused without a sentence of one line: {str(error)!r}", False
    except Exception:
        return traceback.format_exc(limit=-3), False
    taken = time.process_time() - start
    return (f"took {taken:.1f} s" if taken > SLOW else None), accepted


def run(targets, inputs, seed, first=0):
    """Yield the name, number of inputs, how many were accepted, and problems of each target."""

    def stop(number, frame):
        raise TimeoutError(f"no answer within {HANG} s")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for target in targets:
                count, accepted, problems = max(1, round(inputs * TARGETS[target][1])), 0, []
                for number in range(first, first + count):
                    signal.alarm(HANG)
                    problem, fine = try_input(target, seed, number, Path(folder))
                    signal.alarm(0)
                    accepted += fine
                    if problem:
                        problems.append((number, problem))
                yield target, count, accepted, problems
    finally:
        signal.signal(signal.SIGALRM, before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each target")
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=TARGETS)
    options = parser.parse_args()
    wrong = 0
    for target, count, accepted, problems in run(
        options.targets, options.inputs, options.seed, options.first
    ):
        print(f"{target:10} {count:8,} inputs, {accepted:8,} accepted, {len(problems)} problems", flush=True)
        for number, problem in problems[:5]:
            print(f"  input {number}: {problem}", flush=True)
        wrong += len(problems)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
