"""The numbers of a run's guarantee, from what was really released; the words are in `templates`."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vips_core import rounding
from vips_core.privacy.accountants import ACCOUNTANTS, Account, account
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.tradeoff import AttackRisk

if TYPE_CHECKING:
    import pandas as pd

MAIN = ("pld", "rdp", "moments", "moments_paper", "strong", "basic", "gaussian", "zcdp")


def numbers(ledger: Ledger | None, delta: float) -> dict[str, Any]:
    """Return what the template of the guarantee shows of a ledger; nothing where there is none."""
    if ledger is None:
        return {}
    events, ideal_delta = ledger.events(), ledger.ideal_delta(delta)
    accounts = {name: account(events, ideal_delta, name) for name in MAIN}
    epsilon, accountant = best_account(accounts)
    batches: Counter[tuple[float, str]] = Counter()
    for entry in ledger:
        batches[entry.sampling_rate, entry.sampling] += entry.count
    return {
        "batches": batches,
        "best_epsilon": epsilon,
        "best_accountant": accountant,
        "account_table": account_table(accounts),
        "block_table": block_table(ledger),
        "noise_multipliers": sorted({entry.noise_multiplier for entry in ledger}),
        "attack_risk": AttackRisk(events, ideal_delta),
    }


def best_account(accounts: Mapping[str, Account]) -> tuple[float, str]:
    """Return the smallest ε, all being upper bounds for the same releases, and whose it is.

    Examples
    --------
    >>> best_account({"pld": Account(1.5, ""), "rdp": Account(1.7, ""), "zcdp": Account(None, "")})
    (1.5, 'PLD')
    """
    known = [(item.epsilon, name) for name, item in accounts.items() if item.epsilon is not None]
    epsilon, name = min(known)
    return epsilon, ACCOUNTANTS[name].label


def account_table(accounts: Mapping[str, Account]) -> "pd.DataFrame":
    """Return one row for each accountant, with its ε, or why it has none."""
    import pandas as pd

    rows = [
        {
            "accountant": ACCOUNTANTS[name].label,
            "ε": None if item.epsilon is None else rounding.up(item.epsilon),
            "why": item.note or ACCOUNTANTS[name].why,
        }
        for name, item in accounts.items()
    ]
    return pd.DataFrame(rows).astype({"ε": float})


def block_table(ledger: Ledger) -> "pd.DataFrame":
    """Return one row for each block of each kind of release."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "releases": entry.count,
                "sampling rate q": entry.sampling_rate,
                "block": name,
                "cells": block.cells,
                "bound of one record (L2)": block.bound,
                "noise std of a cell": block.noise_std,
                "σ of the joint release": entry.noise_multiplier,
            }
            for entry in ledger
            for name, block in entry.blocks.items()
        ]
    )
