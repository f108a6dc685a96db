"""`vips-explorer plan`: the cost of a plan."""

import argparse
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vips_core import validate
from vips_core.cli.terminal import add_command, finite, print_answer
from vips_core.privacy.accountants import ACCOUNTANTS, Account, stated
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk, RiskLimit
from vips_core.rounding import brief, percent_up


def add_plan(commands: Any) -> None:
    """Declare the options of `plan`."""
    plan = add_command(commands, "plan", _plan, "the cost of a plan: ε, attack risk, efficiency")
    plan.add_argument("--records", type=int, required=True, help="N, number of records")
    plan.add_argument("--batch", type=int, required=True, help="S, expected batch size")
    length = plan.add_mutually_exclusive_group(required=True)
    length.add_argument("--epochs", type=float, help="passes over the data")
    length.add_argument("--steps", type=int, help="T, number of releases")
    noise = plan.add_mutually_exclusive_group(required=True)
    noise.add_argument("--noise", type=float, help="σ, noise multiplier")
    noise.add_argument("--target-epsilon", type=float, help="find the noise multiplier for this ε")
    noise.add_argument(
        "--target-tpr", type=float, help="find the noise that limits the TPR at --at-fpr to this"
    )
    noise.add_argument("--target-advantage", type=float, help="find the noise that limits TPR − FPR to this")
    noise.add_argument(
        "--target-posterior", type=float, help="find the noise that limits the posterior to this"
    )
    about = "FPR (false alarm rate) for --target-tpr and --target-posterior (default: 0.01)"
    plan.add_argument("--at-fpr", type=float, default=0.01, help=about)
    about = "prior probability that a person took part, for --target-posterior (default: 0.5)"
    plan.add_argument("--prior", type=float, default=0.5, help=about)
    plan.add_argument("--accountant", default="pld", help="accountant for --target-epsilon (default: pld)")
    plan.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")


def _plan(options: argparse.Namespace) -> None:
    validate.one_of("accountant", options.accountant, ACCOUNTANTS)
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
    elif options.noise is None:
        targets = options.target_tpr, options.target_advantage, options.target_posterior
        plan = plan.calibrate_to_risk(RiskLimit(*targets, options.at_fpr, options.prior))
    accounts, risk, efficiency = plan.accounts(), plan.risk(), plan.efficiency
    described = {**dataclasses.asdict(plan), "sampling_rate": plan.sampling_rate, "epochs": plan.epochs}
    print_answer(
        options,
        {"plan": described, "efficiency": efficiency} | costs(accounts, risk, plan.warnings()),
        f"Plan: N = {plan.records:,}, S = {plan.expected_batch:,} (q = {plan.sampling_rate:.4g}), "
        f"T = {plan.steps:,} steps (epochs: {plan.epochs:.4g}), σ = {plan.noise_multiplier:.5g}, "
        f"δ = {brief(plan.delta)}",
        *cost_lines(accounts, risk),
        f"\nEfficiency {efficiency:.0%}: signal-to-noise ratio, as a share of that of full batches "
        "at the same ε and δ.",
        *note_lines(plan.warnings()),
    )


def costs(accounts: Mapping[str, Account], risk: AttackRisk, notes: Sequence[str]) -> dict[str, Any]:
    """Return costs for JSON: ε is null where it is infinite or does not apply; `reasons` says which."""
    epsilon = {name: finite(item.epsilon) for name, item in accounts.items()}
    reasons = {name: item.note for name, item in accounts.items() if item.note}
    return {"notes": notes, "epsilon": epsilon, "reasons": reasons, "risk": risk.summary()}


def cost_lines(accounts: Mapping[str, Account], risk: AttackRisk) -> Iterator[str]:
    """Yield ε by every accountant, and what an attacker can do at best."""
    yield f"\n{'accountant':<28}{'ε':>12}   note"
    for name, item in accounts.items():
        value = "–" if item.epsilon is None else stated(item.epsilon, 6)
        known = ACCOUNTANTS[name]
        yield f"{known.label:<28}{value:>12}   {item.note or known.why}".rstrip()
    found = [percent_up(float(share)) for share in risk.true_positive_rate([0.001, 0.01, 0.05])]
    yield f"\nAttack risk: {risk.sentence()}"
    yield f"  found at 0.1 / 1 / 5% false alarms: {' / '.join(found)}; advantage {percent_up(risk.advantage)}"
    yield f"  {risk.gaussian_claim()}"


def note_lines(notes: Sequence[str]) -> list[str]:
    """Return warnings about a plan or a ledger, each after an empty line."""
    return [f"\nWarning: {note}" for note in notes]
