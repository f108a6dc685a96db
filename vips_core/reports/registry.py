"""A draft for the public registry of differentially private deployments: what is known of a run's claim."""

import time
from decimal import Decimal

from vips_core import rounding
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports import guarantee, page
from vips_core.reports.run_facts import RunFacts

TO_FILL_IN = "TO FILL IN"


def draft(facts: RunFacts) -> str | None:
    """Return a record in the registry's YAML; None of a run that claims nothing about private records.

    What only people know is marked as to be filled in. ε, μ and attack risk are those of the whole run also
    where it was stopped: whoever stopped it may have looked before.

    Parameters
    ----------
    facts
        Of a run.

    Returns
    -------
    str or None
        With the registry's keys and no others.
    """
    if not facts.data.private or facts.ledger is None or facts.result is None:
        return None
    numbers, plan = guarantee.numbers(facts.ledger, facts.delta), PrivacyPlan(**facts.result["plan"])
    if facts.ledger.steps < plan.steps:
        numbers |= {"best_epsilon": plan.epsilon(), "attack_risk": plan.risk()}
    return page.render(
        "registry.yaml.j2",
        facts=facts,
        day=time.strftime("%Y-%m-%d", time.gmtime(facts.row.ended or facts.row.created)),
        epsilon=_decimal(rounding.up(numbers["best_epsilon"])),
        delta=_decimal(facts.delta),
        to_fill_in=TO_FILL_IN,
        texts=page.PlainTexts(),
        **numbers,
    )


def _decimal(value: float) -> str:
    """Write all digits without an exponent: YAML reads 1e-12 as a text."""
    return f"{Decimal(repr(value)):f}"
