"""`vips-explorer plan`: what a plan costs."""

import argparse
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from vips_core import validate
from vips_core.cli.terminal import add_json, print_json
from vips_core.engines.cost import RECORD_SECONDS, StepCost, step_cost
from vips_core.privacy.accountants import ACCOUNTANTS, Account, check_accountant, stated
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.tradeoff import AttackRisk, RiskLimit
from vips_core.rounding import brief, percent_up


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
    noise.add_argument("--target-tpr", type=float, help="find the noise at which at most this share is found")
    noise.add_argument("--target-advantage", type=float, help="find the noise for this largest TPR − FPR")
    noise.add_argument("--target-posterior", type=float, help="find the noise for this largest belief")
    plan.add_argument(
        "--at-fpr",
        type=float,
        default=0.01,
        help="false alarm rate of --target-tpr and --target-posterior (default: 0.01)",
    )
    plan.add_argument(
        "--prior", type=float, default=0.5, help="belief before the test of --target-posterior (default: 0.5)"
    )
    plan.add_argument("--accountant", default="pld", help="accountant for --target-epsilon (default: pld)")
    plan.add_argument("--delta", type=float, required=True, help="δ, well below 1/N")
    plan.add_argument(
        "--cluster-workers", type=int, nargs="+", metavar="W", help="what a step takes on so many workers"
    )
    plan.add_argument("--cells", type=int, default=400_000, help="numbers in a release, K·V for topics")
    plan.add_argument(
        "--record-seconds", type=float, default=RECORD_SECONDS, help="of one core for one record"
    )
    add_json(plan)
    plan.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> None:
    check_accountant(options.accountant)
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
        plan = plan.calibrate_to_risk(
            RiskLimit(
                options.target_tpr,
                options.target_advantage,
                options.target_posterior,
                options.at_fpr,
                options.prior,
            )
        )
    accounts, risk, efficiency = plan.accounts(), plan.risk(), plan.efficiency
    described = {**dataclasses.asdict(plan), "sampling_rate": plan.sampling_rate, "epochs": plan.epochs}
    costs = _step_costs(options, plan)
    if options.json:
        print_costs_as_json(
            cluster={workers: dataclasses.asdict(cost) for workers, cost in costs.items()},
            plan=described,
            accounts=accounts,
            risk=risk,
            efficiency=efficiency,
            notes=plan.warnings(),
        )
        return
    print(
        f"Plan: N = {plan.records:,}, S = {plan.expected_batch:,} (q = {plan.sampling_rate:.4g}), "
        f"T = {plan.steps:,} steps (epochs: {plan.epochs:.4g}), σ = {plan.noise_multiplier:.5g}, "
        f"δ = {brief(plan.delta)}"
    )
    print_accounts(accounts)
    print_risk(risk)
    print(
        f"\nEfficiency {efficiency:.0%}: signal over noise, as a share of what full batches would have "
        "at the same ε and δ."
    )
    print_notes(plan.warnings())
    _print_costs(costs, plan)


def _step_costs(options: argparse.Namespace, plan: PrivacyPlan) -> dict[int, StepCost]:
    cells = validate.whole("cells", options.cells, low=1)
    seconds = validate.positive("record-seconds", options.record_seconds)
    workers = options.cluster_workers or ()
    return {count: step_cost(count, plan.expected_batch, cells, seconds) for count in workers}


def _print_costs(costs: Mapping[int, StepCost], plan: PrivacyPlan) -> None:
    if not costs:
        return
    parts = [field.name for field in dataclasses.fields(StepCost)]
    print("\nSeconds of a step on a cluster, by a rough model of assumed networks")
    print("".join(f"{name:>12}" for name in ("workers", *parts, "step", "whole run")) + "   limited by")
    for workers, cost in costs.items():
        seconds = (*(getattr(cost, name) for name in parts), cost.total, plan.steps * cost.total)
        print(f"{workers:>12,}" + "".join(f"{value:>12.3g}" for value in seconds) + f"   {cost.limit}")


def print_costs_as_json(accounts: Mapping[str, Account], risk: AttackRisk, **content: Any) -> None:
    """Print an object in which ε is null where it is infinite or does not apply; `reasons` says which."""
    finite = {
        name: item.epsilon if item.epsilon is not None and math.isfinite(item.epsilon) else None
        for name, item in accounts.items()
    }
    reasons = {name: item.note for name, item in accounts.items() if item.note}
    print_json(content | {"epsilon": finite, "reasons": reasons, "risk": risk.summary()})


def print_accounts(accounts: Mapping[str, Account]) -> None:
    """Print ε by every accountant."""
    print(f"\n{'accountant':<28}{'ε':>12}   note")
    for name, item in accounts.items():
        value = "–" if item.epsilon is None else stated(item.epsilon, 6)
        known = ACCOUNTANTS[name]
        print(f"{known.label:<28}{value:>12}   {item.note or known.why}".rstrip())


def print_risk(risk: AttackRisk) -> None:
    """Print what an attacker can do at best."""
    found = [percent_up(float(share)) for share in risk.true_positive_rate([0.001, 0.01, 0.05])]
    print(f"\nAttack risk: {risk.sentence()}")
    print(
        f"  found at 0.1 / 1 / 5% false alarms: {' / '.join(found)}; advantage {percent_up(risk.advantage)}"
    )
    print(f"  {risk.gaussian_claim()}")


def print_notes(notes: Sequence[str]) -> None:
    """Print what to look out for."""
    for note in notes:
        print(f"\nWarning: {note}")
