"""The inputs of the Plan page, each with its name in the address, and the form that asks for them."""

from dataclasses import dataclass, replace

from dashboard import state
from dashboard.components.inputs import choice, number_with_slider
from dashboard.state import Choice, Number, Parameter, log_stops
from dashboard.views.plan.usefulness import USE, WIDTHS
from vips_core import ACCOUNTANTS, RiskLimit
from vips_core.jobs.request import SPENDING

_PEOPLE = log_stops(100, 10**8, whole=True, mantissas=(1, 1.5, 2, 3, 4, 5, 6, 8))
_SHARES = tuple(round(0.01 * percent, 2) for percent in range(1, 100))
_RARE = (0.001, 0.002, 0.005)

_RECORDS = "People in the data, one record each. This number is public."
RECORDS = Number("n", "Records N", 400_000, 10, 10**9, _RECORDS, _PEOPLE, whole=True)
_BATCH = replace(SPENDING["batch"], help="Expected records in a step, each drawn with probability q = S/N.")
BATCH = Number.of("s", _BATCH, log_stops(1, 10**9, whole=True), default=20_000)
_NOISE = replace(
    SPENDING["noise"], help="Standard deviation of the noise, divided by the largest effect of one record."
)
NOISE = Number.of("sigma", _NOISE, log_stops(0.3, 100), default=1.24)
_EPOCHS = replace(SPENDING["epochs"], help="Expected passes over the data. Steps T = epochs · N/S.")
EPOCHS = Number.of("epochs", _EPOCHS, log_stops(0.1, 1000), default=1.0)
DELTA = Number.of("delta", SPENDING["delta"], log_stops(1e-12, 1e-2, mantissas=(1, 2, 5)), default=1e-7)
TARGET = Number.of("target", SPENDING["epsilon"], log_stops(0.01, 100), default=1.0)
_PRIOR = "The attacker's belief that the person took part, before seeing the results."
PRIOR = Number("prior", "Prior belief", 0.5, 0.001, 0.999, _PRIOR, _SHARES)
_SOLVED = {"epsilon": "ε", NOISE.name: "σ", BATCH.name: "S", EPOCHS.name: "Epochs"}
SOLVE = Choice("solve", "Solve for", "epsilon", _SOLVED, "The quantity to compute from the others.")
_ACCOUNTANT = replace(SPENDING["accountant"], help="The accountant whose ε has to meet the target.")
ACCOUNTANT = Choice.of("accountant", _ACCOUNTANT)
_FOUND = "Largest share of the people in the data that the best possible attack may find."
_ADVANTAGE = "Largest difference between the true and false positive rates of any attack."
_BELIEF = "The attacker's largest belief that a person took part, after a positive test."
LIMITS = {
    "found": Number("found", "Limit on participants found", 0.05, 1e-6, 1.0, _FOUND, (*_RARE, *_SHARES)),
    "advantage": Number("advantage", "Limit on advantage", 0.1, 1e-6, 1.0, _ADVANTAGE, (*_RARE, *_SHARES)),
    "belief": Number("belief", "Limit on belief", 0.8, 0.001, 0.999, _BELIEF, _SHARES),
}
_ALARMS = (0.0001, 0.0002, 0.0005, *_RARE, *_SHARES)
_ALARMS_HELP = "Share of outsiders whom the attack falsely accuses."
ALARMS = Number("alarms", "False positive rate", 0.01, 1e-6, 0.999, _ALARMS_HELP, _ALARMS)
_TARGETS = {"epsilon": "Target ε", "found": "People found", "advantage": "Advantage", "belief": "Belief"}
_BY_HELP = "The requirement on the noise: an ε, or a limit on the best possible attack."
BY = Choice("by", "Set privacy with", "epsilon", _TARGETS, _BY_HELP)
_RISKS = {"found": "true_positive_rate", "advantage": "advantage", "belief": "posterior"}
_PLAN = (RECORDS, BATCH, NOISE, EPOCHS, DELTA, SOLVE, TARGET, ACCOUNTANT)
PARAMETERS: tuple[Parameter, ...] = (*_PLAN, PRIOR, BY, *LIMITS.values(), ALARMS, USE, *WIDTHS.values())


@dataclass(frozen=True)
class PlanInputs:
    """The visitor's inputs; the one that `solve` names is ignored."""

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
        """Whether a limit on attacks determines the noise."""
        return self.solve == NOISE.name and self.by != BY.default

    @property
    def risk_limit(self) -> RiskLimit:
        """The limit on attacks; raises `ValueError` with one sentence if guessing exceeds it."""
        limit = {_RISKS[self.by]: self.most}
        return RiskLimit(**limit, false_positive_rate=self.false_alarms, prior=self.prior)

    @property
    def budget(self) -> float | None:
        """The target ε, or None if ε itself is solved for."""
        return None if self.solve == "epsilon" or self.by_risk else self.target

    @property
    def slow(self) -> bool:
        """Whether solving takes too long for a visitor to wait."""
        return self.by_risk or (self.solve != "epsilon" and ACCOUNTANTS[self.accountant].slow)


def inputs() -> PlanInputs:
    """Show an input for every quantity except the one solved for, which keeps its last value."""
    solve = choice(SOLVE, as_buttons=True)
    by = choice(BY) if solve == NOISE.name else BY.default
    if by != BY.default:
        number_with_slider(LIMITS[by])
        if by != "advantage":
            number_with_slider(ALARMS)
        if by == "belief":
            number_with_slider(PRIOR)
    elif solve != "epsilon":
        number_with_slider(TARGET)
        choice(ACCOUNTANT)
    if solve != NOISE.name:
        number_with_slider(NOISE)
    if solve != BATCH.name:
        number_with_slider(BATCH, most=state.get(RECORDS.name))
    if solve != EPOCHS.name:
        number_with_slider(EPOCHS)
    number_with_slider(DELTA)
    number_with_slider(RECORDS, before_change=_keep_sampling_rate)
    most = state.get(by) if by in LIMITS else 0.0
    attack = {"by": by, "most": most, "false_alarms": state.get(ALARMS.name), "prior": state.get(PRIOR.name)}
    return PlanInputs(*[state.get(parameter.name) for parameter in _PLAN], **attack)


def _keep_sampling_rate(records: float) -> None:
    """Change S in proportion to N; the visit remembers the exact q, because S is rounded."""
    batch, kept = state.get(BATCH.name), state.visit.get("kept-rate")
    rate = kept[1] if kept and kept[0] == batch else batch / state.get(RECORDS.name)
    followed = max(1, min(round(rate * records), int(records)))
    state.visit["kept-rate"] = (followed, rate)
    state.put(BATCH.name, followed)
