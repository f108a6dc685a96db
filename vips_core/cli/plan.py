"""`vips-explorer plan` and `audit`: what a plan, or a ledger of what was released, costs."""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vips_core.privacy.accountants import ACCOUNTANTS, Account, account
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk


def add_plan(commands: Any) -> None:
    """Declare the options of `plan`."""
    plan = commands.add_parser("plan", help="what a plan costs: ε, attack risk, efficiency")
    plan.add_argument("--records", type=int, required=True, help="N, number of records")
    plan.add_argument("--batch", type=int, required=True, help="S, expected batch size")
    length = plan.add_mutually_exclusive_group(required=True)
    length.add_argument("--epochs", type=float, help="passes over the data")
    length.add_argument("--steps", type=int, help="T, number of releases")
    noise = plan.add_mutually_exclusive_group(required=True)
    noise.add_argument("--noise", type=float, help="σ, noise multiplier")
    noise.add_argument("--target-epsilon", type=float, help="find the noise multiplier for this ε")
    plan.add_argument("--accountant", default="pld", help="accountant for --target-epsilon (default: pld)")
    plan.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")
    plan.add_argument("--json", action="store_true", help="print a JSON object")
    plan.set_defaults(run=_plan)


def add_audit(commands: Any) -> None:
    """Declare the options of `audit`."""
    audit = commands.add_parser("audit", help="recompute ε from a ledger file alone")
    audit.add_argument("ledger", type=Path, help="ledger written as JSON")
    audit.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")
    audit.add_argument("--json", action="store_true", help="print a JSON object")
    audit.set_defaults(run=_audit)


def _plan(options: argparse.Namespace) -> None:
    plan = PrivacyPlan(
        records=options.records,
        expected_batch=options.batch,
        epochs=options.epochs,
        steps=options.steps,
        noise_multiplier=options.noise,
        delta=options.delta,
    )
    if options.target_epsilon is not None:
        plan = plan.calibrate(options.target_epsilon, options.accountant)
    accounts, risk, efficiency = plan.accounts(), plan.risk(), plan.efficiency
    described = {
        "records": plan.records,
        "expected_batch": plan.expected_batch,
        "sampling_rate": plan.sampling_rate,
        "steps": plan.steps,
        "epochs": plan.epochs,
        "noise_multiplier": plan.noise_multiplier,
        "delta": plan.delta,
        "sampling": plan.sampling,
    }
    if options.json:
        _print_json(
            plan=described, accounts=accounts, risk=risk, efficiency=efficiency, notes=plan.warnings()
        )
        return
    print(
        f"Plan: N = {plan.records:,}, S = {plan.expected_batch:,} (q = {plan.sampling_rate:.4g}), "
        f"T = {plan.steps:,} steps (epochs: {plan.epochs:.4g}), σ = {plan.noise_multiplier:.5g}, "
        f"δ = {plan.delta:g}"
    )
    _print_accounts(accounts)
    _print_risk(risk)
    print(
        f"\nEfficiency {efficiency:.0%}: signal over noise, as a share of what full batches would have "
        "at the same ε and δ."
    )
    _print_notes(plan.warnings())


def _audit(options: argparse.Namespace) -> None:
    ledger = Ledger.from_json(options.ledger.read_text(encoding="utf-8"))
    accounts = {name: account(ledger.events(), options.delta, name) for name in ACCOUNTANTS}
    risk = AttackRisk(ledger.events())
    if options.json:
        described = {"records": ledger.records, "steps": ledger.steps, "seeded": ledger.seeded}
        _print_json(ledger=described, accounts=accounts, risk=risk, notes=ledger.cautions())
        return
    print(f"Ledger: N = {ledger.records:,}, {ledger.steps:,} releases, δ = {options.delta:g}")
    for entry in ledger:
        print(
            f"  {entry.count:,} × q = {entry.sampling_rate:.4g}, σ = {entry.noise_multiplier:.5g}, "
            f"{entry.sampling} batches of: {', '.join(entry.blocks)}"
        )
    _print_accounts(accounts)
    _print_risk(risk)
    _print_notes(ledger.cautions())


def _print_json(accounts: Mapping[str, Account], risk: AttackRisk, **content: Any) -> None:
    """Print an object in which ε is null where it is infinite or does not apply; `reasons` says which."""
    finite = {
        name: found.epsilon if found.epsilon is not None and math.isfinite(found.epsilon) else None
        for name, found in accounts.items()
    }
    reasons = {name: found.note for name, found in accounts.items() if found.note}
    content |= {"epsilon": finite, "reasons": reasons, "risk": risk.summary()}
    print(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False))


def _print_accounts(accounts: Mapping[str, Account]) -> None:
    print(f"\n{'accountant':<28}{'ε':>12}   note")
    for name, found in accounts.items():
        value = "–" if found.epsilon is None else f"{found.epsilon:.4f}"
        known = ACCOUNTANTS[name]
        print(f"{known.label:<28}{value:>12}   {found.note or known.why}".rstrip())


def _print_risk(risk: AttackRisk) -> None:
    numbers = risk.summary()
    print(f"\nAttack risk: {risk.sentence()}")
    print(
        f"  found at 0.1 / 1 / 5 % false alarms: {numbers['tpr_at_fpr_0.1%']:.2%} / "
        f"{numbers['tpr_at_fpr_1%']:.2%} / {numbers['tpr_at_fpr_5%']:.2%}; "
        f"advantage {numbers['advantage']:.2%}"
    )


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(f"\nWarning: {note}")
