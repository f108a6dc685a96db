"""The inputs of the Plan page, each with its name in the address, and what they ask for together."""

from dataclasses import dataclass, replace

from dashboard.state import Choice, Number, Parameter, log_stops
from dashboard.views.plan.usefulness import USE, WIDTHS
from vips_core import ACCOUNTANTS, RiskLimit
from vips_core.jobs.request import SPENDING

RECORDS = Number(
    "n",
    "Records N",
    400_000,
    10,
    10**9,
    "People in the data, one record each. A public number.",
    log_stops(100, 10**8, whole=True, mantissas=(1, 1.5, 2, 3, 4, 5, 6, 8)),
    whole=True,
)
BATCH = Number.of(
    "s",
    replace(
        SPENDING["batch"],
        help="Expected records in one step. Each record is drawn with probability q = S/N.",
    ),
    log_stops(1, 10**9, whole=True),
    default=20_000,
)
NOISE = Number.of(
    "sigma",
    replace(
        SPENDING["noise"],
        help="Noise multiplier: standard deviation of the noise over what one record can move.",
    ),
    log_stops(0.3, 100),
    default=1.24,
)
EPOCHS = Number.of(
    "epochs",
    replace(SPENDING["epochs"], help="Passes over the data, in expectation. Steps T = epochs · N/S."),
    log_stops(0.1, 1000),
    default=1.0,
)
DELTA = Number.of("delta", SPENDING["delta"], log_stops(1e-12, 1e-2, mantissas=(1, 2, 5)), default=1e-7)
TARGET = Number.of("target", SPENDING["epsilon"], log_stops(0.01, 100), default=1.0)
PRIOR = Number(
    "prior",
    "Prior belief",
    0.5,
    0.001,
    0.999,
    "How sure the attacker was, before looking at the results, that the person took part.",
    tuple(round(0.01 * percent, 2) for percent in range(1, 100)),
)
SOLVE = Choice(
    "solve",
    "Solve for",
    "epsilon",
    {"epsilon": "ε", NOISE.name: "σ", BATCH.name: "S", EPOCHS.name: "Epochs"},
    "The quantity that follows from the others.",
)
ACCOUNTANT = Choice.of(
    "accountant",
    replace(
        SPENDING["accountant"],
        help="The accountant whose ε has to meet the target.",
    ),
)
_SHARES = tuple(round(0.01 * percent, 2) for percent in range(1, 100))
LIMITS = {
    "found": Number(
        "found",
        "Participants found, at most",
        0.05,
        1e-6,
        1.0,
        "Share of the people in the data whom the best possible attack may find.",
        (0.001, 0.002, 0.005, *_SHARES),
    ),
    "advantage": Number(
        "advantage",
        "Advantage, at most",
        0.1,
        1e-6,
        1.0,
        "Largest difference between the shares of participants found and of outsiders falsely accused.",
        (0.001, 0.002, 0.005, *_SHARES),
    ),
    "belief": Number(
        "belief",
        "Belief, at most",
        0.8,
        0.001,
        0.999,
        "How sure an attacker may be, after a positive test, that a person took part.",
        _SHARES,
    ),
}
ALARMS = Number(
    "alarms",
    "False alarms",
    0.01,
    1e-6,
    0.999,
    "Share of outsiders whom the attack falsely accuses.",
    (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, *_SHARES),
)
BY = Choice(
    "by",
    "From",
    "epsilon",
    {"epsilon": "Target ε", "found": "People found", "advantage": "Advantage", "belief": "Belief"},
    "What the noise has to achieve: an ε, or the most that the best possible attack may do.",
)
_RISKS = {"found": "true_positive_rate", "advantage": "advantage", "belief": "posterior"}
_PLAN = (RECORDS, BATCH, NOISE, EPOCHS, DELTA, SOLVE, TARGET, ACCOUNTANT, PRIOR)
PARAMETERS: tuple[Parameter, ...] = _PLAN + (BY, *LIMITS.values(), ALARMS, USE, *WIDTHS.values())


@dataclass(frozen=True)
class PlanInputs:
    """What the visitor has set; the quantity that `solve` names is not used."""

    records: int
    expected_batch: int
    noise_multiplier: float
    epochs: float
    delta: float
    solve: str
    target: float
    accountant: str
    by: str = BY.default
    most: float = 0.0
    false_alarms: float = 0.01
    prior: float = 0.5

    @property
    def by_risk(self) -> bool:
        """Whether the noise follows from what an attack may do."""
        return self.solve == NOISE.name and self.by != BY.default

    @property
    def risk_limit(self) -> RiskLimit:
        """What an attack may do; `ValueError` with one sentence where guessing does more."""
        limit = {_RISKS[self.by]: self.most}
        return RiskLimit(**limit, false_positive_rate=self.false_alarms, prior=self.prior)

    @property
    def budget(self) -> float | None:
        """The ε that the plan has to meet, where it is solved for another quantity."""
        return None if self.solve == "epsilon" or self.by_risk else self.target

    @property
    def slow(self) -> bool:
        """Whether making the plan may take longer than a visitor wants to wait for."""
        return self.by_risk or (self.solve != "epsilon" and ACCOUNTANTS[self.accountant].slow)
