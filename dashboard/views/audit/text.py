"""What the Audit page says."""

from dashboard.components.bounds import at_most
from vips_core.audits.verdict import Verdict
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import CANCELLED, FAILED, QUEUED, RunRow

INTRODUCTION = (
    "Play the attacker: try to find out who was in the data, and see whether that shows more than the ε "
    "that is claimed allows. On public data only."
)
INVITATION = (
    "The attacker knows every record, the model, the plan and the parameters, and has to find out one "
    "thing: whether one person's record was replaced by nothing. The number of people is public. An audit "
    "can refute a claim, and never prove one."
)
PUBLIC_ONLY = "Audits look at raw statistics, so they run on public data only."
ROC_ALT = (
    "Participants found against outsiders falsely accused, on logarithmic axes: the measured curve with its "
    "interval, the claimed one above it, and guessing."
)
AT_WALL = (
    "{attacked}, each released again and again at its own parameters, half of the time with the most "
    "influential record tried; scored by the likelihood ratio. The claim is that of one release; the whole "
    "plan makes {steps:,} and claims ε = {whole}."
)
IN_ONE_RUN = (
    "One run in which each canary, a made-up record, was in or out by a fair coin. The coins of the fifth "
    "with the clearest scores are guessed and counted (full batches: Mahloujifar, Melis and Chaudhuri 2024; "
    "otherwise Steinke, Nasr and Jagielski 2023). Even perfect canaries show only about two thirds of the "
    "true μ, and fewer columns than canaries show less."
)


def label(run: RunRow) -> str:
    """Name an audit in a list."""
    return f"{METHOD_NAMES[run.request['method']]} on {run.data} · {run.id}"


def state(run: RunRow) -> str:
    """Say how an audit that is not done stands."""
    if run.status == QUEUED:
        return "Waits for its turn."
    if run.status == CANCELLED:
        return f"Stopped after {run.step:,} of {run.steps:,}."
    if run.status == FAILED:
        return f"Failed: {run.error}"
    return ""


def explanation(verdict: Verdict) -> str:
    """Say what was attacked."""
    if verdict.attack == "run":
        return IN_ONE_RUN
    whole = "∞" if verdict.run_epsilon is None else at_most(verdict.run_epsilon)
    attacked = f"Step{'s' if len(verdict.steps) > 1 else ''} {', '.join(map(str, verdict.steps))} of one run"
    return AT_WALL.format(attacked=attacked, steps=verdict.plan["steps"], whole=whole)
