"""`vips-explorer ledger`: show, verify and sign the ledger; recompute ε from a ledger file."""

import argparse
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vips_core import files
from vips_core.cli.plan import cost_lines, costs, note_lines
from vips_core.cli.terminal import add_command, add_subcommands, print_answer
from vips_core.privacy.accountants import ACCOUNTANTS, account
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.rounding import brief
from vips_core.store.ledger_chain import ROW_KINDS
from vips_core.store.store import Store

NOT_INTACT = 2  # exit code


def add_ledger(commands: Any) -> None:
    """Declare the options of `ledger`."""
    parser = commands.add_parser("ledger", help="the record of all releases from private data")
    actions = add_subcommands(parser, "ACTION")
    show = add_command(actions, "show", _show, "all rows, or those of one data set's records")
    show.add_argument("--data", metavar="NAME")
    add_command(actions, "verify", _verify, "check the ledger for edits")
    check = add_command(actions, "check", _check, "recompute ε from a ledger file alone")
    check.add_argument("file", type=Path, metavar="FILE", help="ledger written as JSON")
    check.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")
    add_command(actions, "sign", _sign, "sign the ledger with the key in VIPS_LEDGER_KEY")


def _show(options: argparse.Namespace) -> None:
    store = Store()
    rows = store.ledger()
    if options.data is not None:
        records = {row.fingerprint for row in store.ledger(options.data)}
        rows = [row for row in rows if row.fingerprint in records]
    lines = []
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.time))
        run = f"run {row.run}, " if row.run else ""
        lines.append(f"{row.number:>5}  {when}  {ROW_KINDS[row.kind]:<13} {row.data}: {run}{row.describe()}")
    print_answer(options, [asdict(row) for row in rows], *lines)


def _sign(options: argparse.Namespace) -> None:
    store = Store()
    store.sign()
    rows = store.ledger()
    print_answer(options, {"signed": len(rows)}, f"Signed the ledger: {len(rows)} rows.")


def _verify(options: argparse.Namespace) -> int:
    store = Store()
    wrong, notes = store.verify(), store.notes()
    rows = [] if wrong else store.ledger()
    head = rows[-1].hash if rows else None
    content = {"whole": not wrong, "problems": wrong, "notes": notes}
    if wrong:
        print_answer(options, content, *wrong)
        return NOT_INTACT
    intact = f"The ledger is intact: {len(rows)} rows" + (f", the last with hash {head}." if head else ".")
    print_answer(options, content | {"rows": len(rows), "head": head}, intact, *note_lines(notes))
    return 0


def _check(options: argparse.Namespace) -> None:
    ledger = Ledger.from_json(files.read_bytes(options.file, files.MOST_LEDGER).decode("utf-8"))
    delta = ledger.ideal_delta(options.delta)
    accounts = {name: account(ledger.events(), delta, name) for name in ACCOUNTANTS}
    risk = AttackRisk(ledger.events(), delta)
    described = {"records": ledger.records, "steps": ledger.steps, "seeded": ledger.seeded}
    heading = f"Ledger: N = {ledger.records:,}, {ledger.steps:,} releases, δ = {brief(options.delta)}"
    entries = []
    for entry in ledger:
        blocks = (
            f"{name} (cells: {item.cells:,}, bound: {item.bound:.4g})" for name, item in entry.blocks.items()
        )
        entries.append(
            f"  {entry.count:,} × q = {entry.sampling_rate:.4g}, σ = {entry.noise_multiplier:.5g}, "
            f"{entry.sampling} batches; blocks: {', '.join(blocks)}"
        )
    content = {"ledger": described} | costs(accounts, risk, ledger.cautions())
    print_answer(
        options, content, heading, *entries, *cost_lines(accounts, risk), *note_lines(ledger.cautions())
    )
