"""What the Plan page asks of the core: its parameters, the plan they make, curves and tables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from dashboard import solving
from dashboard.background import Later
from dashboard.formats import number
from dashboard.session import Choice, Number, log_stops
from vips_core import ACCOUNTANTS, AttackRisk, PrivacyPlan
from vips_core.privacy import moments
from vips_core.privacy.accountants import Account

Array = npt.NDArray[np.float64]

LABELS = {name: accountant.label for name, accountant in ACCOUNTANTS.items()}
MOST_STEPS = 10**7
USUAL_NOISE = (0.3, 30.0)
FALSE_ALARMS = (0.001, 0.01, 0.05)
_CELLS = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)  # of a decade of the surface
_MORE_EPOCHS = (0.25, 0.5, 1, 2, 4, 8, 16, 32)

RECORDS = Number(
    "n", "Records N", 400_000, 10, 10**9, "People in the data, one record each. A public number.",
    log_stops(100, 10**8, whole=True, mantissas=(1, 1.5, 2, 3, 4, 5, 6, 8)), whole=True,
)  # fmt: skip
BATCH = Number(
    "s", "Batch size S", 20_000, 1, 10**9,
    "Expected records in one step. Each record is drawn with probability q = S/N.",
    log_stops(1, 10**9, whole=True), whole=True,
)  # fmt: skip
NOISE = Number(
    "sigma", "Noise σ", 1.24, 0.3, 1000,
    "Noise multiplier: standard deviation of the noise over what one record can move.",
    log_stops(0.3, 100),
)  # fmt: skip
EPOCHS = Number(
    "epochs", "Epochs", 1.0, 0.001, 10_000,
    "Passes over the data, in expectation. Steps T = epochs · N/S.", log_stops(0.1, 1000),
)  # fmt: skip
DELTA = Number(
    "delta", "δ", 1e-7, 1e-15, 0.1,
    "Allowed chance that the guarantee ε fails. Keep it well below 1/N.",
    log_stops(1e-12, 1e-2, mantissas=(1, 2, 5)),
)  # fmt: skip
TARGET = Number(
    "target", "Target ε", 1.0, 0.001, 1000, "The privacy cost that the plan may spend.", log_stops(0.01, 100)
)
PRIOR = Number(
    "prior", "Prior belief", 0.5, 0.001, 0.999,
    "How sure the attacker was, before looking at the results, that the person took part.",
    tuple(round(0.01 * percent, 2) for percent in range(1, 100)),
)  # fmt: skip
SOLVE = Choice(
    "solve", "Solve for", "epsilon", {"epsilon": "ε", "sigma": "σ", "s": "S", "epochs": "Epochs"},
    "The quantity that follows from the others.",
)  # fmt: skip
ACCOUNTANT = Choice(
    "accountant", "Accountant", "moments", LABELS,
    "The accountant whose ε has to meet the target.",
)  # fmt: skip
PARAMETERS = (RECORDS, BATCH, NOISE, EPOCHS, DELTA, SOLVE, TARGET, ACCOUNTANT, PRIOR)


@dataclass(frozen=True)
class Request:
    """The inputs of the page; the one that `solve` names is not used."""

    records: int
    expected_batch: int
    noise_multiplier: float
    epochs: float
    delta: float
    solve: str
    target: float
    accountant: str

    @property
    def budget(self) -> float | None:
        """The ε that the plan has to meet, where it is solved for another quantity."""
        return None if self.solve == "epsilon" else self.target

    @property
    def slow(self) -> bool:
        """Whether making the plan may take longer than a visitor wants to wait for."""
        return self.solve != "epsilon" and ACCOUNTANTS[self.accountant].slow


@st.cache_data(max_entries=2000, show_spinner=False)
def fast_accounts(plan: PrivacyPlan) -> dict[str, Any]:
    """Return what each accountant says that answers at once."""
    return plan.accounts([name for name, accountant in ACCOUNTANTS.items() if not accountant.slow])


def make_plan(request: Request) -> PrivacyPlan:
    """Solve the request; `ValueError` with one sentence where there is no such plan."""
    if request.solve == "epochs":
        plan = _plan(request, request.expected_batch, steps=1)
        return plan.calibrate(request.target, request.accountant, solve="steps")
    if request.solve == "s":
        return _with_largest_batch(request)
    _check_steps(request, request.expected_batch)
    plan = _plan(request, request.expected_batch, epochs=request.epochs)
    return plan.calibrate(request.target, request.accountant) if request.solve == "sigma" else plan


def _with_largest_batch(request: Request) -> PrivacyPlan:
    def make(batch: int) -> PrivacyPlan:
        _check_steps(request, batch)
        return _plan(request, batch, epochs=request.epochs)

    found = solving.largest_batch(make, request.epochs, request.records, request.target, request.accountant)
    if found is None:
        raise ValueError(
            f"No batch size meets ε = {request.target:g} with noise σ = {request.noise_multiplier:g} in "
            f"{request.epochs:g} epochs: choose more noise or fewer epochs."
        )
    return found


def _plan(request: Request, batch: int, **length: float) -> PrivacyPlan:
    noise = None if request.solve == "sigma" else request.noise_multiplier
    return PrivacyPlan(
        records=request.records, expected_batch=batch, noise_multiplier=noise, delta=request.delta, **length
    )


def _check_steps(request: Request, batch: int) -> None:
    steps = request.epochs * request.records / batch
    if steps > MOST_STEPS:
        raise ValueError(
            f"This plan would take {steps:,.0f} steps, more than the {MOST_STEPS:,} that are accounted for "
            "here: choose a larger batch or fewer epochs."
        )


@dataclass(frozen=True)
class Details:
    """The slow part of a plan's account."""

    account: Account
    efficiency: float
    risk: AttackRisk
    roc: tuple[Array, Array]

    @property
    def found(self) -> list[tuple[float, float]]:
        """The false alarm rates that are spoken of, with the share of participants found."""
        return list(zip(FALSE_ALARMS, self.risk.true_positive_rate(FALSE_ALARMS).tolist(), strict=True))


def details(plan: PrivacyPlan) -> Details:
    """Return PLD's ε, the attack risk and the efficiency."""
    risk = plan.risk()
    return Details(plan.accounts(["pld"])["pld"], plan.efficiency, risk, risk.curve())


def trajectory(plan: PrivacyPlan, accountant: str, points: int) -> tuple[Array, Array]:
    """ε after 1 to T steps, at about so many of them."""
    steps = np.unique(np.linspace(1, plan.steps, points).round().astype(int))
    return steps, np.array([plan.replace(steps=int(t)).epsilon(accountant) for t in steps])


def trajectories(plan: PrivacyPlan, later: Later) -> dict[str, tuple[Array, Array]]:
    """ε over the steps by moments, and by the slower accountants once they have answered."""
    found = {"moments": trajectory(plan, "moments", 60)}
    found |= {name: later(trajectory, plan, name, points) for name, points in (("strong", 30), ("pld", 10))}
    return {name: curve for name, curve in found.items() if curve is not None}


@dataclass(frozen=True, eq=False)
class Surface:
    """ε by moments (batch × noise) for every pair of a batch size and a noise multiplier, at round values."""

    batches: Array
    noise: Array
    epsilon: Array


def surface(records: int, epochs: float, delta: float, wide: bool) -> Surface:
    """Return the σ–S surface; `wide` covers all σ that the page allows instead of the usual ones."""
    noise = _cells(*((NOISE.low, NOISE.high) if wide else USUAL_NOISE))
    least = max(1, math.ceil(epochs * records / MOST_STEPS))  # no plan of more steps comes here
    batches = np.unique(_cells(least, records).round())
    steps = np.maximum(1, np.floor(epochs * records / batches + 1e-9))
    return Surface(batches, noise, moments.surface(batches / records, steps, noise, delta))


def _cells(low: float, high: float) -> Array:
    """Return round numbers, so that a click on the surface takes round values; fewer where it is wide."""
    every = 1 if math.log10(high / low) < 6.5 else 2
    return np.array(log_stops(low, high, mantissas=_CELLS[::every]))


@dataclass(frozen=True)
class Gain:
    """What other numbers of epochs give at the same ε and S: noise, and signal over noise against now."""

    epochs: Array
    noise: Array
    factor: Array


def more_epochs(plan: PrivacyPlan) -> Gain:
    """Return what a quarter to 32 times the epochs would buy, each with the noise that keeps ε by moments."""
    epsilon, found = plan.epsilon("moments"), []
    for times in _MORE_EPOCHS:
        steps = round(times * plan.steps)
        if 1 <= steps <= MOST_STEPS and epsilon > 0:
            other = plan if times == 1 else plan.replace(steps=steps).calibrate(epsilon, "moments")
            found.append((other.epochs, other.noise_multiplier, other.signal_to_noise / plan.signal_to_noise))
    return Gain(*np.array(found or [(plan.epochs, plan.noise_multiplier, 1.0)]).T)


def surface_window(plan: PrivacyPlan, request: Request) -> tuple[int, float, float, bool]:
    """Return the arguments of the surface that shows this plan; moving σ or S keeps them."""
    epochs = plan.epochs if request.solve == "epochs" else request.epochs
    usual = USUAL_NOISE[0] <= plan.require_noise_multiplier() <= USUAL_NOISE[1]
    return plan.records, epochs, plan.delta, not usual


def accounts_table(accounts: dict[str, Account | None]) -> pd.DataFrame:
    """One row for each accountant; None is an answer that has yet to come."""
    rows = []
    for name, accountant in ACCOUNTANTS.items():
        account = accounts[name]
        note = "Being computed." if account is None else account.note
        rows.append((accountant.label, account and account.epsilon, accountant.why, note))
    table = pd.DataFrame(rows, columns=["Accountant", "ε", "Why it differs", "Note"])
    return table.astype({"ε": float})


def readable(accounts: pd.DataFrame) -> pd.DataFrame:
    """The accountants' table for people: short numbers, reasons and cautions in one column."""
    notes = accounts["Note"].map(lambda note: f" *{note}*" if note else "")
    return pd.DataFrame(
        {
            "Accountant": accounts["Accountant"],
            "ε": accounts["ε"].map(number),
            "Why it differs": accounts["Why it differs"] + notes,
        }
    )


def curves_table(curves: dict[str, tuple[Array, Array]]) -> pd.DataFrame:
    """The curves as one row for each point."""
    parts = [
        pd.DataFrame({"Accountant": LABELS[name], "Iterations": steps, "ε": values})
        for name, (steps, values) in curves.items()
    ]
    return pd.concat(parts, ignore_index=True)


def roc_table(found: Details) -> pd.DataFrame:
    """The attacker's curve as a table."""
    return pd.DataFrame({"False positive rate": found.roc[0], "True positive rate": found.roc[1]})


def surface_table(found: Surface) -> pd.DataFrame:
    """The surface as one row for each cell."""
    batch, noise = np.meshgrid(found.batches, found.noise, indexing="ij")
    columns = {"Batch size S": batch.ravel(), "Noise σ": noise.ravel(), "ε (moments)": found.epsilon.ravel()}
    return pd.DataFrame(columns)


def gain_table(found: Gain) -> pd.DataFrame:
    """What more epochs would buy, as a table."""
    columns = {"Epochs": found.epochs, "Noise σ": found.noise, "Signal over noise, against now": found.factor}
    return pd.DataFrame(columns)


def hand_over(plan: PrivacyPlan, request: Request) -> dict[str, str]:
    """Return the plan as values of a model page's address."""
    return {
        "noise": f"{plan.require_noise_multiplier():.6g}",
        "batch": str(plan.expected_batch),
        "epochs": f"{plan.epochs if request.solve == 'epochs' else request.epochs:.6g}",
        "delta": str(plan.delta),
    }


def cautions(plan: PrivacyPlan, accounts: Mapping[str, Account | None]) -> list[str]:
    """Return what weakens this plan's guarantee or its accounting."""
    moments = accounts["moments"]
    return plan.warnings() + ([f"Moments: {moments.note}"] if moments and moments.note else [])
