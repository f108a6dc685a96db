"""`vips-explorer ledger`: everything that was ever reserved or released, and whether the record is whole."""

import argparse
import json
import time
from dataclasses import asdict
from typing import Any

from vips_core.runs.chain import LedgerRow
from vips_core.runs.store import Store

NOT_WHOLE = 2


def add_ledger(commands: Any) -> None:
    """Declare the options of `ledger`."""
    parser = commands.add_parser("ledger", help="what was released from private data")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="all rows, or those of one data set's records")
    show.add_argument("--data", metavar="NAME")
    show.set_defaults(run=_show)
    verify = actions.add_parser("verify", help="find any edit of the ledger")
    verify.set_defaults(run=_verify)
    for action in (show, verify):
        action.add_argument("--json", action="store_true", help="print JSON")


def _show(options: argparse.Namespace) -> None:
    rows = Store().ledger(options.data)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False))
        return
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.time))
        print(f"{row.number:>5}  {when}  {row.kind:<8} {row.data}: {_says(row)}")


def _says(row: LedgerRow) -> str:
    if row.kind == "cap":
        return f"ε = {row.content['epsilon']:g} at δ = {row.content['delta']:g}"
    if row.kind == "data":
        return f"{row.content['records']:,} records, {'private' if row.content['private'] else 'public'}"
    releases = ", ".join(
        f"{count} × q = {rate:.4g}, σ = {noise:.5g}" for rate, noise, count in row.content["events"]
    )
    return f"run {row.run}, {releases or 'nothing released'}"


def _verify(options: argparse.Namespace) -> int:
    store = Store()
    wrong, rows = store.verify(), store.ledger()
    head = rows[-1].hash if rows else None
    if options.json:
        content = {"whole": not wrong, "rows": len(rows), "head": head, "problems": wrong}
        print(json.dumps(content, indent=2, ensure_ascii=False))
    elif wrong:
        print("\n".join(wrong))
    else:
        print(f"The ledger is whole: {len(rows)} rows" + (f", the last with hash {head}." if head else "."))
    return NOT_WHOLE if wrong else 0
