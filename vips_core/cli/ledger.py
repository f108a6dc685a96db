"""`vips-explorer ledger`: show, verify and sign the ledger; recompute ε from a ledger file."""

import argparse
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vips_core import files
from vips_core.cli.plan import print_accounts, print_costs_as_json, print_notes, print_risk
from vips_core.cli.terminal import add_json, answer, print_json
from vips_core.privacy.accountants import ACCOUNTANTS, account
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.rounding import brief
from vips_core.store.ledger_chain import ROW_KINDS
from vips_core.store.store import Store

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
    check = actions.add_parser("check", help="recompute ε from a ledger file alone")
    check.add_argument("file", type=Path, metavar="FILE", help="ledger written as JSON")
    check.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")
    check.set_defaults(run=_check)
    sign = actions.add_parser("sign", help="sign the ledger with the key of VIPS_LEDGER_KEY")
    sign.set_defaults(run=_sign)
    add_json(show, verify, check, sign)


def _show(options: argparse.Namespace) -> None:
    store = Store()
    rows = store.ledger()
    if options.data is not None:
        records = {row.fingerprint for row in store.ledger(options.data)}
        rows = [row for row in rows if row.fingerprint in records]
    if options.json:
        print_json([asdict(row) for row in rows])
        return
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.time))
        run = f"run {row.run}, " if row.run else ""
        print(f"{row.number:>5}  {when}  {ROW_KINDS[row.kind]:<13} {row.data}: {run}{row.describe()}")


def _sign(options: argparse.Namespace) -> None:
    store = Store()
    store.sign()
    rows = store.ledger()
    answer(options, {"signed": len(rows)}, f"Signed the ledger of {len(rows)} rows.")


def _verify(options: argparse.Namespace) -> int:
    store = Store()
    wrong, notes = store.verify(), store.notes()
    rows = [] if wrong else store.ledger()
    head = rows[-1].hash if rows else None
    if options.json:
        content = {"whole": not wrong, "problems": wrong, "notes": notes}
        print_json(content if wrong else content | {"rows": len(rows), "head": head})
    elif wrong:
        print("\n".join(wrong))
    else:
        print(f"The ledger is whole: {len(rows)} rows" + (f", the last with hash {head}." if head else "."))
        print_notes(notes)
    return NOT_WHOLE if wrong else 0


def _check(options: argparse.Namespace) -> None:
    ledger = Ledger.from_json(files.read_bytes(options.file, files.MOST_LEDGER).decode("utf-8"))
    delta = ledger.ideal_delta(options.delta)
    accounts = {name: account(ledger.events(), delta, name) for name in ACCOUNTANTS}
    risk = AttackRisk(ledger.events(), delta)
    if options.json:
        described = {"records": ledger.records, "steps": ledger.steps, "seeded": ledger.seeded}
        print_costs_as_json(ledger=described, accounts=accounts, risk=risk, notes=ledger.cautions())
        return
    print(f"Ledger: N = {ledger.records:,}, {ledger.steps:,} releases, δ = {brief(options.delta)}")
    for entry in ledger:
        print(
            f"  {entry.count:,} × q = {entry.sampling_rate:.4g}, σ = {entry.noise_multiplier:.5g}, "
            f"{entry.sampling} batches of: {', '.join(entry.blocks)}"
        )
    print_accounts(accounts)
    print_risk(risk)
    print_notes(ledger.cautions())
