"""What a plan costs before anything is spent: the same numbers on Plan and on the model pages."""

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

COMPARED = ("moments", "strong", "pld")  # accountants that apply to every plan
_ROUNDING = 1.005  # a ratio of ε that three digits do not show
FEW_STEPS = (
    "For few steps the moments accountant can lie above basic or strong composition: turning moments into "
    "(ε, δ) costs about as much for one step as for a thousand, while the others add up steps that are "
    "exact one by one. Over many steps the moments win."
)


@dataclass(frozen=True)
class Price:
    """What a plan costs, by the accountants that are compared, and what the best attack can do."""

    plan: PrivacyPlan
    accounts: Mapping[str, Account]
    risk: AttackRisk

    def epsilon(self, accountant: str) -> float:
        """ε by one of the accountants that are compared, which apply to every plan."""
        value = self.accounts[accountant].epsilon
        assert value is not None
        return value

    @property
    def tightest(self) -> str:
        """The accountant with the smallest ε, PLD among equals; each is an upper bound, so that one holds."""
        return min(reversed(COMPARED), key=self.epsilon)

    @property
    def tightest_epsilon(self) -> float:
        """The smallest ε that holds."""
        return self.epsilon(self.tightest)


@functools.lru_cache(maxsize=512)
def price(plan: PrivacyPlan) -> Price:
    """Return what a plan costs."""
    risk = plan.risk()
    risk.true_positive_rate(0.01)  # computed here, once, and kept
    return Price(plan, plan.accounts(COMPARED), risk)


def whole_run(run: RunRow) -> float | None:
    """ε of a run as it was planned: what holds where it was stopped, a choice made after looking."""
    target = run.request.get("epsilon")
    if target is not None and run.request.get("accountant") != "strong_paper":  # which is not proved
        return float(target)
    return price(run.plan).tightest_epsilon if isinstance(run.plan, PrivacyPlan) else None


def same_noise(item: Price) -> None:
    """Show what the paper compares, ε by moments and by strong composition, and PLD, at the same noise."""
    columns = layout.narrow_columns("same-noise", 3)
    for column, name in zip(columns, COMPARED, strict=True):
        metric(f"ε by {_NAMES[name]}", at_most(item.epsilon(name)), column)
    st.caption(compared(item))


def compared(item: Price) -> str:
    """Say how strong composition compares with moments at the same noise."""
    moments, strong = item.epsilon("moments"), item.epsilon("strong")
    if moments > strong:
        return f"At this noise strong composition charges no more than moments. {FEW_STEPS}"
    if strong <= _ROUNDING * moments:
        return "At this noise both charge the same."
    return (
        f"For the same noise, strong composition charges {number(strong / moments)} times the ε of moments."
    )


_NAMES = {"moments": "moments", "strong": "strong composition", "pld": ACCOUNTANTS["pld"].label}
