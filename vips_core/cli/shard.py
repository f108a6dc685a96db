"""`vips-explorer data shard`: cuts files of any size into a sharded data set, in bounded memory."""

import argparse
from itertools import chain
from pathlib import Path
from typing import Any

from vips_core.cli.terminal import add_command, add_options, add_subcommands, answer, progress_bar
from vips_core.options import Option
from vips_core.records import KINDS, PERSON
from vips_core.records.files.identification import source_persons
from vips_core.records.files.sharding import shard
from vips_core.store.people import Sources
from vips_core.store.store import Store

NAMESPACE = {
    "person-namespace": Option(
        str, "study that assigned the identifiers: equal ones of other studies are other people"
    )
}


def add_shard(actions: Any) -> None:
    """Declare the options of `data shard`."""
    parser = actions.add_parser("shard", help="cut files that do not fit in memory into many small ones")
    kinds = add_subcommands(parser, "KIND")
    for name, kind in KINDS.items():
        options = add_command(kinds, name, _shard, kind.help)
        options.add_argument("files", nargs="+", type=Path, metavar="FILE", help=kind.formats)
        options.add_argument(
            "--out", required=True, help="folder for the shards, or an address that fsspec opens"
        )
        options.add_argument("--records-per-shard", type=int, help="by default as many as take 32 MB")
        add_options(options, {**kind.options, **NAMESPACE})


def check_namespace(options: argparse.Namespace) -> None:
    """Refuse a study of identifiers without a column of persons."""
    if options.person_namespace is not None and options.person is None:
        raise ValueError("--person-namespace needs --person, the column that names the person")


def _shard(options: argparse.Namespace) -> None:
    kind = KINDS[options.kind]
    check_namespace(options)
    about = {name: getattr(options, name) for name in kind.options}
    person, study = about[PERSON], options.person_namespace
    persons = () if person is None else (source_persons(file, person) for file in options.files)
    rows = (kind.source_rows(file) for file in options.files)
    people = Sources(chain.from_iterable(rows), chain.from_iterable(persons), person_namespace=study)
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
            on_read=bar.update,
        )
    store.write_people(data, people)
    content = {"folder": data.folder, "records": len(data), "shards": len(data.shards)}
    files = "1 shard" if len(data.shards) == 1 else f"{len(data.shards):,} shards"
    answer(options, content, f"Wrote {len(data):,} records in {files} to {data.folder}.")
