"""Tables of the Plan page, for people and as CSV."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dashboard.components.bounds import at_most
from dashboard.views.plan.data import Gain, Outlook, Surface
from dashboard.views.plan.usefulness import EPSILONS, sample
from vips_core import ACCOUNTANTS
from vips_core.kernels import Array
from vips_core.privacy.accountants import Account


def accounts_table(accounts: Mapping[str, Account]) -> pd.DataFrame:
    """One row for each accountant."""
    answers = [accounts[name] for name in ACCOUNTANTS]
    return pd.DataFrame(
        {
            "Accountant": [accountant.label for accountant in ACCOUNTANTS.values()],
            "ε": np.array([answer.epsilon for answer in answers], float),
            "Why it differs": [accountant.why for accountant in ACCOUNTANTS.values()],
            "Note": [answer.note for answer in answers],
        }
    )


def readable_accounts(accounts: pd.DataFrame) -> pd.DataFrame:
    """The accountants' table for people: short numbers, reasons and cautions in one column."""
    reasons = zip(accounts["Why it differs"], accounts["Note"], strict=True)
    return pd.DataFrame(
        {
            "Accountant": accounts["Accountant"],
            "ε": [at_most(epsilon) for epsilon in accounts["ε"]],
            "Why it differs": [f"{why} *{note}*" if note else why for why, note in reasons],
        }
    )


def trajectories_table(curves: Mapping[str, tuple[Array, Array]]) -> pd.DataFrame:
    """ε over the iterations, one row for each point."""
    of_accountants = [
        pd.DataFrame({"Accountant": ACCOUNTANTS[name].label, "Iterations": steps, "ε": epsilons})
        for name, (steps, epsilons) in curves.items()
    ]
    return pd.concat(of_accountants, ignore_index=True)


def surface_table(surface: Surface) -> pd.DataFrame:
    """The surface, one row for each cell."""
    batch, noise = np.meshgrid(surface.batches, surface.noise, indexing="ij")
    epsilon = surface.epsilon.ravel()
    return pd.DataFrame({"Batch size S": batch.ravel(), "Noise σ": noise.ravel(), "ε (moments)": epsilon})


def roc_table(outlook: Outlook) -> pd.DataFrame:
    """The attacker's curve."""
    return pd.DataFrame({"False positive rate": outlook.roc[0], "True positive rate": outlook.roc[1]})


def gain_table(gain: Gain) -> pd.DataFrame:
    """What other numbers of epochs would buy."""
    factor = gain.factor
    return pd.DataFrame(
        {"Epochs": gain.epochs, "Noise σ": gain.noise, "Signal over noise, against now": factor}
    )


def usefulness_table(use: str) -> pd.DataFrame:
    """What was reached on a public sample, one row for each ε that was tried."""
    tried = sample(use).scores[:-1]
    score = f"Held-out {sample(use).name}"
    return pd.DataFrame(
        {
            "ε": EPSILONS,
            f"{score}, median": np.median(tried, axis=1),
            "least": tried.min(axis=1),
            "largest": tried.max(axis=1),
        }
    )
