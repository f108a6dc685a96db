"""`vips-explorer data`: the data sets of the store, and the budgets of the private ones."""

import argparse
import dataclasses
import re
import shlex
from pathlib import Path
from typing import Any

from vips_core import rounding
from vips_core.cli.terminal import (
    add_command,
    add_options,
    add_subcommands,
    finite,
    local_time,
    print_answer,
    progress_bar,
)
from vips_core.jobs.request import SPENDING
from vips_core.options import Option
from vips_core.privacy.accountants import stated
from vips_core.records import KINDS, DataSet, Kind, Sharded
from vips_core.records.files.sharding import shard
from vips_core.records.samples import samples_of
from vips_core.records.shards import is_sharded
from vips_core.store.budget import Budget, Cap, cap_rows
from vips_core.store.people import Sources
from vips_core.store.pools import KnownPeople
from vips_core.store.rows import DataRow
from vips_core.store.store import Store

CAP = {
    "epsilon": dataclasses.replace(SPENDING["epsilon"], help="Cap on the ε of all runs together."),
    "delta": dataclasses.replace(SPENDING["delta"], help="The cap's δ. Keep it well below 1/N."),
}
NAMESPACE = {
    "person-namespace": Option(
        str, "study that assigned the identifiers; equal identifiers of other studies are other people"
    )
}


def add_data(commands: Any) -> None:
    """Declare the options of `data`."""
    actions = add_subcommands(commands.add_parser("data", help="data sets and their budgets"), "ACTION")
    add_command(actions, "list", _list, "all data sets, and what is left of each budget")
    add = add_subcommands(actions.add_parser("add", help="register a file, private unless --public"), "KIND")
    about = "cut files that do not fit in memory into shards"
    cut = add_subcommands(actions.add_parser("shard", help=about), "KIND")
    for name, kind in KINDS.items():
        new = add_command(add, name, _add, kind.help)
        new.add_argument("data", metavar="FILE", help=f"{kind.formats}; or a folder written by data shard")
        new.add_argument("--name", help="name of the data set (default: the name of the file)")
        new.add_argument(
            "--unit", help="your own name for the unit of privacy, shown beside the enforced unit"
        )
        _add_cap(new)
        about = "share the budget of data sets that hold some of the same people"
        new.add_argument("--share-budget", action="store_true", help=about)
        about = "why matching rows or persons in other data sets are different people"
        new.add_argument("--separate", default="", metavar="REASON", help=about)
        add_file_options(new, kind)
        shards = add_command(cut, name, _shard, kind.help)
        shards.add_argument("files", nargs="+", type=Path, metavar="FILE", help=kind.formats)
        about = "folder for the shards, or an address that fsspec opens"
        shards.add_argument("--out", required=True, help=about)
        shards.add_argument("--records-per-shard", type=int, help="(default: as many as take about 32 MB)")
        add_options(shards, {**kind.options, **NAMESPACE})
    budget = add_command(actions, "budget", _budget, "show or change the budget of a private data set")
    _add_cap(budget)
    separate = add_command(actions, "separate", _separate, "stop different people from sharing a budget")
    about = "data sets that it shares its budget with"
    separate.add_argument("--from", nargs="+", required=True, dest="others", metavar="OTHER", help=about)
    separate.add_argument("--by", default="", help="who decides this (required)")
    separate.add_argument("--reason", default="", help="why they are different people (required)")
    remove = add_command(actions, "remove", _remove, "delete the records; the ledger keeps their cost")
    for command in (budget, separate, remove):
        command.add_argument("name", metavar="NAME")


def _add_cap(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a cap: ε, δ, who sets it and why."""
    add_options(parser, CAP)
    parser.add_argument("--by", help="who decides this (default: the user of this process)")
    about = (
        "why; required if δ is above 1/(10·N). Raising a cap, or changing it after a run, needs --by and "
        "--reason"
    )
    parser.add_argument("--reason", default="", help=about)


def add_file_options(parser: argparse.ArgumentParser, kind: Kind) -> None:
    """Declare the options that describe a file."""
    parser.add_argument("--test", help="file of public held-out records; scores need them")
    parser.add_argument(
        "--public", action="store_true", help="the records are public: no protection, no budget"
    )
    add_options(parser, {**kind.options, **NAMESPACE})


def read_files(options: argparse.Namespace, kind: Kind) -> DataSet:
    """Read a file and its held-out file, and derive a name that the store accepts."""
    path, train = Path(options.data), None
    if is_sharded(options.data):
        train = Sharded.open(options.data)
        if train.kind != kind.name:
            raise ValueError(f"{options.data} must hold {kind.name}, got {train.kind}")
        options.person = train.person  # one shard holds all rows of a person
    elif not path.exists():
        samples = ", ".join(samples_of(kind.name))
        raise ValueError(f"data must be {samples}, a registered data set or a file, got {options.data!r}")
    about = _about(options, kind)
    if train is None:
        train = kind.read_file(path, about)
    test = None if options.test is None else kind.read_file(Path(options.test), about)
    name = re.sub(r"[^\w .-]", "-", path.stem).lstrip(" .-")[:64] or kind.name
    return DataSet(name, train, test, private=not options.public)


def _about(options: argparse.Namespace, kind: Kind) -> dict[str, Any]:
    """Return the options that describe a file."""
    if options.person_namespace is not None and options.person is None:
        raise ValueError("--person-namespace needs --person, the column that names the person")
    return {name: getattr(options, name) for name in kind.options}


def register(
    store: Store, data: DataSet, options: argparse.Namespace, called: str | None = None, **declared: Any
) -> DataRow:
    """Register a file's records; `called` is the steward's own name for the unit."""
    kind = KINDS[data.train.kind]
    people = _sources(options, kind, store, data.train)
    unit = kind.unit(options.person, people.person_namespace)
    return store.add_data(
        data.name,
        data.train,
        data.test,
        private=data.private,
        unit=f"{unit}, which the steward calls “{called}”" if called else unit,
        person_column=options.person,
        sources=people,
        **declared,
    )


def _sources(options: argparse.Namespace, kind: Kind, store: Store, train: Any) -> Sources:
    """Return what identifies the people in a file (or in shards) and in its held-out file."""
    rows, persons = kind.identifying([Path(options.data)] if train.in_memory else [], options.person)
    test = kind.identifying([] if options.test is None else [Path(options.test)], options.person)
    people = Sources(rows, persons, *test, person_namespace=options.person_namespace)
    if train.in_memory:
        return people
    beside = store.people_beside(train)
    if people.person_namespace not in (None, beside.person_namespace):
        raise ValueError(
            "shards keep the --person-namespace given to data shard: to change it, cut the files again"
        )
    return dataclasses.replace(people, known=beside.known, person_namespace=beside.person_namespace)


def cap_from(options: argparse.Namespace) -> Cap | None:
    """Return the cap that the options give, None if they give none."""
    if (options.epsilon is None) != (options.delta is None):
        raise ValueError("a cap needs both epsilon and delta")
    if options.epsilon is None:
        return None
    return Cap(*(option.check(f"the cap's {name}", getattr(options, name)) for name, option in CAP.items()))


def describe_cap(name: str, cap: Cap | None) -> str:
    """Return what a data set may spend, and how to change it."""
    if cap is None:
        return f"{name} is public: it has no budget."
    return (
        f"{name} is private: all runs on it together may spend ε = {cap.epsilon:g} at δ = "
        f"{rounding.brief(cap.delta)}. To change the cap: vips-explorer data budget {shlex.quote(name)} "
        "--epsilon E --delta D --by NAME --reason WHY"
    )


def _list(options: argparse.Namespace) -> None:
    store = Store()
    rows = [(row, store.budget(row.name) if row.private else None) for row in store.data_sets()]
    content = [
        dataclasses.asdict(row) | ({"budget": _described_budget(state)} if state else {})
        for row, state in rows
    ]
    lines = [f"{'name':<24}{'kind':<10}{'records':>9}  {'held out':<9} budget"]
    for row, state in rows:
        left = "public" if state is None or state.cap is None else _left(state, state.cap)
        held = "yes" if row.has_test else "no"
        lines.append(f"{row.name:<24}{row.kind:<10}{row.records:>9,}  {held:<9} {left}")
    print_answer(options, content, *lines, *store.notes())


def _add(options: argparse.Namespace) -> None:
    data, store = read_files(options, KINDS[options.kind]), Store()
    if options.name:
        data = dataclasses.replace(data, name=options.name)
    try:
        row = register(
            store,
            data,
            options,
            called=options.unit,
            cap=cap_from(options),
            by=options.by,
            reason=options.reason,
            share_budget=options.share_budget,
            separate=options.separate,
        )
    except KnownPeople as known:
        raise ValueError(_resolution(known, options.person)) from None
    overlaps = store.overlap_sentences(row.name)
    registered = f"Registered {row.records:,} records as {row.name}. {describe_cap(row.name, row.cap)}"
    state = store.budget(row.name)
    spent = [] if state.cap is None or state.left_share == 1 else [_left(state, state.cap)]
    print_answer(options, dataclasses.asdict(row) | {"overlaps": overlaps}, *overlaps, registered, *spent)


def _resolution(known: KnownPeople, person: str | None) -> str:
    """Return the finding, and the options that resolve it."""
    agree = "add --share-budget to agree, or " if known.may_share else "add "
    study = ", or --person-namespace STUDY if only identifiers coincide" if person else ""
    return f"{known.found}; {agree}--separate REASON if they are different people{study}"


def _shard(options: argparse.Namespace) -> None:
    kind = KINDS[options.kind]
    about = _about(options, kind)
    rows, persons = kind.identifying(options.files, options.person)
    people = Sources(rows, persons, person_namespace=options.person_namespace)
    size = sum(file.stat().st_size for file in options.files if file.is_file())
    store = Store()
    with store.temporary_folder() as scratch, progress_bar(size, "B", hidden=options.json) as bar:
        data = shard(
            kind,
            options.files,
            options.out,
            about,
            scratch=scratch,
            records_per_shard=options.records_per_shard,
            on_read=lambda done: bar.update(done - bar.n),
        )
    store.write_people(data, people)
    content = {"folder": data.folder, "records": len(data), "shards": len(data.shards)}
    files = "1 shard" if len(data.shards) == 1 else f"{len(data.shards):,} shards"
    print_answer(options, content, f"Wrote {len(data):,} records in {files} to {data.folder}.")


def _budget(options: argparse.Namespace) -> None:
    store, cap = Store(), cap_from(options)
    if cap is not None:
        store.set_cap(options.name, cap, by=options.by, reason=options.reason)
    state = store.budget(options.name)
    history = [] if state.cap is None else cap_rows(store.ledger(options.name))
    described = [{"time": row.time, "data": row.data} | dict(row.content) for row in history]
    lines = [describe_cap(options.name, state.cap), *store.overlap_sentences(options.name)]
    lines += [] if state.cap is None else [_left(state, state.cap)]
    for row in history:
        lines.append(f"  cap set {local_time(row.time)} for {row.data}: {row.describe()}")
    lines += [
        f"  up to and including run {run}: {share:.2%} of today's cap" for _, run, share in state.history
    ]
    if state.history:
        lines.append(
            f"Planned as a whole, these runs would cost ε = {stated(state.planned_epsilon)}: the rest is the "
            "price of choosing them adaptively."
        )
    print_answer(options, {"name": options.name} | _described_budget(state) | {"caps": described}, *lines)


def _separate(options: argparse.Namespace) -> None:
    store = Store()
    store.separate_data(options.name, options.others, by=options.by, reason=options.reason)
    row = store.data_row(options.name)
    content = {"separated": row.name, "from": options.others, "cap": dataclasses.asdict(row)["cap"]}
    apart = f"{row.name} no longer shares a budget with {', '.join(options.others)}."
    print_answer(options, content, apart, describe_cap(row.name, row.cap))


def _remove(options: argparse.Namespace) -> None:
    Store().remove_data(options.name)
    kept = f"Removed {options.name}; the ledger keeps what was spent on its records."
    print_answer(options, {"removed": options.name}, kept)


def _left(state: Budget, cap: Cap) -> str:
    return (
        f"{state.spent_share:.2%} spent, {state.reserved_share:.2%} reserved, {state.left_share:.2%} left of "
        f"ε = {cap.epsilon:g} (δ = {rounding.brief(cap.delta)}); one more full-batch run of up to "
        f"ε = {rounding.down(state.left_epsilon):g} fits"
    )


def _described_budget(state: Budget) -> dict[str, Any]:
    described = dataclasses.asdict(state)
    del described["events"]  # the ledger shows them
    epsilons = {name: finite(getattr(state, name)) for name in ("left_epsilon", "planned_epsilon")}
    return described | epsilons
