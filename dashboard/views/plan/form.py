"""The inputs of the Plan page: everything but the quantity that is solved for."""

from dashboard import state
from dashboard.components.inputs import choice, number_with_slider
from dashboard.views.plan.parameters import (
    ACCOUNTANT,
    ALARMS,
    BATCH,
    BY,
    DELTA,
    EPOCHS,
    LIMITS,
    NOISE,
    PRIOR,
    RECORDS,
    SOLVE,
    TARGET,
    PlanInputs,
)


def inputs() -> PlanInputs:
    """Show an input for everything but the quantity that is solved for, which keeps its last value."""
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
    shown = (RECORDS, BATCH, NOISE, EPOCHS, DELTA, SOLVE, TARGET, ACCOUNTANT)
    values = [state.get(parameter.name) for parameter in shown]
    most = state.get(by) if by in LIMITS else 0.0
    risk = {"by": by, "most": most, "false_alarms": state.get(ALARMS.name), "prior": state.get(PRIOR.name)}
    return PlanInputs(*values, **risk)


def _keep_sampling_rate(records: float) -> None:
    """Let S follow N, so that each record is drawn as often; q is remembered, because S is rounded."""
    batch, kept = state.get(BATCH.name), state.visit.get("kept-rate")
    rate = kept[1] if kept and kept[0] == batch else batch / state.get(RECORDS.name)
    followed = max(1, min(round(rate * records), int(records)))
    state.visit["kept-rate"] = (followed, rate)
    state.put(BATCH.name, followed)
