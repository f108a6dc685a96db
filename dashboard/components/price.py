"""The cost of a plan before anything is spent, with the same numbers on Plan and on model pages."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from dashboard.components import layout
from dashboard.components.formats import at_most, number
from dashboard.components.layout import metric
from vips_core import ACCOUNTANTS, AttackRisk, PrivacyPlan
from vips_core.privacy.accountants import Account
from vips_core.store.rows import RunRow

COMPARED = ("moments", "strong", "pld")  # accountants; these apply to every plan
_ROUNDING = 1.005  # ratio of two ε below which their three digits look the same
FEW_STEPS = (
    "Over a few steps, moments can give a larger ε than basic or strong composition: converting them to "
    "(ε, δ) costs about as much after one step as after a thousand. Over many steps, moments give the "
    "smaller ε."
)


@dataclass(frozen=True)
class Price:
    """The cost of a plan by the compared accountants, and the power of the best attack."""

    plan: PrivacyPlan
    accounts: Mapping[str, Account]
    risk: AttackRisk

    def epsilon(self, accountant: str) -> float:
        """ε by one of the compared accountants, which apply to every plan."""
        value = self.accounts[accountant].epsilon
        assert value is not None
        return value

    @property
    def tightest(self) -> str:
        """The accountant with the smallest ε (PLD if equal); all are upper bounds, so the smallest holds."""
        return min(reversed(COMPARED), key=self.epsilon)

    @property
    def tightest_epsilon(self) -> float:
        """The smallest ε that holds."""
        return self.epsilon(self.tightest)


@functools.lru_cache(maxsize=512)
def price(plan: PrivacyPlan) -> Price:
    """Return the cost of a plan."""
    risk = plan.risk()
    risk.true_positive_rate(0.01)  # computed here, once, and kept
    return Price(plan, plan.accounts(COMPARED), risk)


def whole_run(run: RunRow) -> float | None:
    """Return ε of a run's whole plan, which a stopped run costs too: stopping may depend on results."""
    target = run.request.get("epsilon")
    if target is not None and run.request.get("accountant") != "strong_paper":  # which is not proved
        return float(target)
    return price(run.plan).tightest_epsilon if isinstance(run.plan, PrivacyPlan) else None


def same_noise(item: Price) -> None:
    """Show ε by moments and by strong composition, as the paper compares them, and by PLD."""
    columns = layout.narrow_columns("same-noise", 3)
    for column, name in zip(columns, COMPARED, strict=True):
        metric(f"ε by {_NAMES[name]}", at_most(item.epsilon(name)), column)
    st.caption(compared(item))


def compared(item: Price) -> str:
    """Return how strong composition compares with moments at the same noise."""
    moments, strong = item.epsilon("moments"), item.epsilon("strong")
    if moments > strong:
        return f"At this noise, strong composition charges no more than moments. {FEW_STEPS}"
    if strong <= _ROUNDING * moments:
        return "At this noise, both charge the same."
    return f"At the same noise, strong composition charges {number(strong / moments)} times the ε of moments."


_NAMES = {"moments": "moments", "strong": "strong composition", "pld": ACCOUNTANTS["pld"].label}
