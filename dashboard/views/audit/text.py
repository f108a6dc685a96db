"""The sentences of the Audit page."""

from dashboard.components import live_runs
from dashboard.components.formats import at_most
from vips_core.audits.verdict import RUN, Verdict
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import CANCELLED, FAILED, QUEUED, RunRow

INTRODUCTION = (
    "Play the attacker: infer who was in the data, and check whether you learn more than the claimed ε "
    "allows. Public data only."
)
INVITATION = (
    "The attacker knows every record, the model, the plan and the parameters. One thing is unknown: whether "
    "one person's record was replaced by nothing. The number of people is public. An audit can refute a "
    "claim, but never prove one."
)
BEGIN = "Choose model, data and plan, then press **Start the audit**."
PUBLIC_ONLY = "Audits read raw statistics, so they run on public data only."
ROC_ALT = (
    "True positive rate against false positive rate on logarithmic axes: the measured curve with its "
    "confidence interval, the claimed curve above it, and guessing."
)
AT_WALL = (
    "{attacked}. Each step was released many times at its own parameters; half of the releases included the "
    "most influential record tested. The likelihood ratio scored each release. The claim covers one release; "
    "the whole plan makes {steps:,} releases and claims ε = {whole}."
)
IN_ONE_RUN = (
    "One run with canaries (made-up records). A fair coin decided whether each took part. The attacker "
    "guesses the coins of the 20% of canaries with the clearest scores, and the audit counts correct guesses "
    "(full batches: Mahloujifar, Melis and Chaudhuri 2024; otherwise Steinke, Nasr and Jagielski 2023). Even "
    "perfect canaries reveal only about two thirds of the true μ, and less if there are fewer columns than "
    "canaries."
)


def label(run: RunRow) -> str:
    """Name an audit in a list."""
    return f"{METHOD_NAMES[run.request['method']]} on {run.data} · {run.id}"


def unit(run: RunRow) -> str:
    """Return the unit in which an audit's progress is counted."""
    return "training steps" if run.request["attack"] == RUN else "releases"


def state(run: RunRow) -> str:
    """Say why an audit did not finish; empty if it finished."""
    if run.status == QUEUED:
        return "Waiting for a worker."
    if run.status == CANCELLED:
        return f"Stopped after {run.step:,} of {run.steps:,}."
    if run.status == FAILED:
        return f"Failed: {live_runs.why_failed(run)}"
    return ""


def explanation(verdict: Verdict) -> str:
    """Describe what was attacked."""
    if verdict.attack == RUN:
        return IN_ONE_RUN
    whole = "∞" if verdict.run_epsilon is None else at_most(verdict.run_epsilon)
    attacked = f"Step{'s' if len(verdict.steps) > 1 else ''} {', '.join(map(str, verdict.steps))} of one run"
    return AT_WALL.format(attacked=attacked, steps=verdict.plan["steps"], whole=whole)
