"""`vips-explorer data`: the data sets that the store knows, and the budgets of the private ones."""

import argparse
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vips_core.runs import sources
from vips_core.runs.budget import Budget, Cap
from vips_core.runs.datasets import UNITS
from vips_core.runs.options import Option
from vips_core.runs.rows import DataRow
from vips_core.runs.store import Store
from vips_core.runs.tasks import TASKS

CAP = {
    "epsilon": Option(float, "ε that all runs together may spend"),
    "delta": Option(float, "δ of that, well below 1/N"),
}


def add_data(commands: Any) -> None:
    """Declare the options of `data`."""
    parser = commands.add_parser("data", help="data sets and their budgets")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    known = actions.add_parser("list", help="all data sets, with what is left of each budget")
    known.set_defaults(run=_list)
    add = actions.add_parser("add", help="register a file, as private unless --public")
    models = add.add_subparsers(dest="model", required=True, metavar="MODEL")
    for model, task in TASKS.items():
        options = models.add_parser(model, help=f"for {task.help}")
        options.add_argument("data", metavar="FILE")
        options.add_argument("--name", help="what to call it (default: as the file)")
        options.add_argument(
            "--unit", default=UNITS[model], help="what one record is of (default: %(default)s)"
        )
        add_options(options, CAP)
        add_file_options(options, task.kind)
        options.set_defaults(run=_add)
        _json(options)
    budget = actions.add_parser("budget", help="what was spent on a private data set; or change its cap")
    budget.add_argument("name", metavar="NAME")
    add_options(budget, CAP)
    budget.set_defaults(run=_budget)
    remove = actions.add_parser("remove", help="forget the records; what was spent on them is kept")
    remove.add_argument("name", metavar="NAME")
    remove.set_defaults(run=_remove)
    for options in (known, budget, remove):
        _json(options)


def add_options(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    """Declare options of a run or a file."""
    for name, option in options.items():
        parser.add_argument(f"--{name}", type=option.kind, help=option.help)


def add_file_options(parser: argparse.ArgumentParser, kind: type) -> None:
    """Declare what must be said of a file."""
    parser.add_argument("--test", help="file of held-out records that are public; only these are scored")
    parser.add_argument("--public", action="store_true", help="the file needs no protection and no budget")
    add_options(parser, sources.FILE_OPTIONS[kind])


def read_files(options: argparse.Namespace, kind: type) -> sources.DataSet:
    """Read a file and its held-out file, under a name that suits the store."""
    about = {name: getattr(options, name) for name in sources.FILE_OPTIONS[kind]}
    about = {name: value for name, value in about.items() if value is not None}
    path = Path(options.data)
    train = sources.read(kind, path, about)
    test = None if options.test is None else sources.read(kind, Path(options.test), about)
    return sources.DataSet(re.sub(r"[^\w .-]", "-", path.stem), train, test, private=not options.public)


def cap_from(options: argparse.Namespace) -> Cap | None:
    """Return the cap that was given, None where none was."""
    if (options.epsilon is None) != (options.delta is None):
        raise ValueError("a cap needs both epsilon and delta")
    return None if options.epsilon is None else Cap(options.epsilon, options.delta)


def describe_cap(name: str, cap: Cap | None) -> str:
    """Say what a data set may spend, and how to change that."""
    if cap is None:
        return f"{name} is public: it has no budget."
    return (
        f"{name} is private: all runs on it together may spend ε = {cap.epsilon:g} at δ = {cap.delta:g}. "
        f"To change that: vips-explorer data budget {name} --epsilon E --delta D"
    )


def _list(options: argparse.Namespace) -> None:
    store = Store()
    rows = [(row, store.budget(row.name) if row.private else None) for row in store.data_sets()]
    if options.json:
        _print_json([_described(row) | ({"budget": _state(found)} if found else {}) for row, found in rows])
        return
    print(f"{'name':<24}{'for':<10}{'records':>9}  {'held out':<9} budget")
    for row, found in rows:
        left = "public" if found is None or found.cap is None else _left(found, found.cap)
        held = "yes" if row.has_test else "no"
        print(f"{row.name:<24}{row.kind:<10}{row.records:>9,}  {held:<9} {left}")


def _add(options: argparse.Namespace) -> None:
    data = read_files(options, TASKS[options.model].kind)
    row = Store().add_data(
        options.name or data.name,
        data.train,
        data.test,
        private=data.private,
        cap=cap_from(options),
        unit=options.unit,
    )
    if options.json:
        _print_json(_described(row))
    else:
        print(f"Registered {row.records:,} records as {row.name}. {describe_cap(row.name, row.cap)}")


def _budget(options: argparse.Namespace) -> None:
    store, cap = Store(), cap_from(options)
    if cap is not None:
        store.set_cap(options.name, cap)
    found = store.budget(options.name)
    if options.json:
        _print_json({"name": options.name} | _state(found))
        return
    print(describe_cap(options.name, found.cap))
    if found.cap is not None:
        print(_left(found, found.cap))
    for _, run, epsilon in found.history:
        print(f"  up to and with run {run}: ε = {epsilon:.4f}")


def _remove(options: argparse.Namespace) -> None:
    Store().remove_data(options.name)
    if options.json:
        _print_json({"removed": options.name})
    else:
        print(f"Removed {options.name}; the ledger keeps what was spent on its records.")


def _left(found: Budget, cap: Cap) -> str:
    return (
        f"ε {found.spent_epsilon:.4f} spent, {found.reserved_epsilon:.4f} reserved, {found.left_epsilon:.4f} "
        f"left of {cap.epsilon:g} (δ = {cap.delta:g})"
    )


def _state(found: Budget) -> dict[str, Any]:
    return asdict(found) | {"left_epsilon": found.left_epsilon if math.isfinite(found.left_epsilon) else None}


def _described(row: DataRow) -> dict[str, Any]:
    return asdict(row)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
