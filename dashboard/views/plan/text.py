"""The sentences of the Plan page, with the numbers in them."""

from dataclasses import asdict

import pandas as pd

from dashboard.components.charts import WAITING
from dashboard.components.formats import at_most, brief, number
from dashboard.components.price import Price
from dashboard.views.plan.data import FALSE_ALARMS, participants_found
from dashboard.views.plan.form import BATCH, EPOCHS, NOISE, PlanInputs
from vips_core import ACCOUNTANTS, AttackRisk, PrivacyPlan, rounding

INTRODUCTION = (
    "Each person's influence is capped, then random noise is added. ε bounds how much a trained model can "
    "still reveal about one person: the smaller, the more private."
)
ACCOUNTANTS_CAPTION = (
    "The same releases, judged by different accountants. Each ε is an upper bound: the smallest is the best."
)
ACCOUNTANTS_ALT = "Dots at the ε of every accountant that applies, on a logarithmic axis."
TRAJECTORY_CAPTION = "ε spent after each step of this plan."
TRAJECTORY_ALT = "Lines of ε against iterations by the moments accountant, strong composition and PLD."
SURFACE_CAPTION = (
    "ε by moments, at this plan's epochs, δ and N. Circle: this plan. Dashed line: plans with the same ε. "
    "Click a cell to use its values."
)
SURFACE_ALT = "Heat map of ε over noise and batch size on logarithmic axes, with the current plan marked."
EPOCHS_ALT = "Signal-to-noise ratio against epochs at the same ε and batch size, relative to this plan."
ASSUMED = (
    "ε assumes Poisson sampling and noise from fresh entropy. Fixed-size batches, or a seed that others "
    "know, void it."
)
HAND_OVER = (
    "If the data set has a different number of records, the batch size changes in proportion and the "
    "sampling rate stays the same."
)
NEXT_PAGES = {"topics": "Train topics", "risk": "Train a risk model", "images": "Train an image model"}
USEFULNESS_ALT = (
    "Held-out score against ε on a public sample, with its range over seeds and this plan marked."
)
ROC_ALT = "True positive rate against false positive rate of the best possible attack, on logarithmic axes."
_LEAST_GAIN = 1.005  # smallest factor on the signal-to-noise ratio that shows in three digits


def people_alt(found: float) -> str:
    """Describe the icons of people."""
    most = rounding.up(found, 2)
    return (
        f"Of 100 people who took part, the best possible attack finds at most {most:g} at a false positive "
        "rate of 1%."
    )


def headline(plan: PrivacyPlan, inputs: PlanInputs) -> str:
    """Summarise the plan, and the quantity that was solved for."""
    noise, steps = number(plan.noise_multiplier), "1 step" if plan.steps == 1 else f"{plan.steps:,} steps"
    target = "the limit on attacks" if inputs.by_risk else f"the target ε = {inputs.target:g}"
    solved = {
        "epsilon": "",
        NOISE.name: f"Noise **σ = {noise}** meets {target}. ",
        EPOCHS.name: f"**{number(plan.epochs)} epochs** meet {target}. ",
        BATCH.name: f"**S = {plan.expected_batch:,}** is the largest batch size that meets {target} at this "
        "noise and these epochs. ",
    }[inputs.solve]
    share = "all" if plan.sampling_rate == 1 else f"a random {100 * plan.sampling_rate:.3g}% of the"
    return f"{solved}The plan takes {steps}, each on {share} records, with noise σ = {noise}."


def attack_numbers(risk: AttackRisk) -> list[tuple[str, str]]:
    """Return the attacker's success as labelled numbers."""
    labels = [*(f"Found at {100 * rate:g}% false alarms" for rate in FALSE_ALARMS), "Advantage over guessing"]
    shares = [*(share for _, share in participants_found(risk)), risk.advantage]
    return [(label, rounding.percent_up(share)) for label, share in zip(labels, shares, strict=True)]


def gaussian(risk: AttackRisk) -> str:
    """State the Gaussian release that is no more private than the plan."""
    return (
        f"At other δ, all releases together have {risk.gaussian_claim()}. At each of these δ, ε is at most "
        "that of one Gaussian release whose signal is μ times its noise. The regret states how far this "
        "overstates the attack curve below: 0 is exact, up to 0.01 is close."
    )


def posterior(risk: AttackRisk, prior: float) -> str:
    """State the attacker's belief after a positive test."""
    return (
        f"An attacker who was {100 * prior:.3g}% sure that a person took part is at most "
        f"**{rounding.percent_up(risk.posterior(prior))}** sure after a positive test with 1% false alarms."
    )


def efficiency(share: float) -> str:
    """Compare the signal-to-noise ratio with that of full batches."""
    if share >= 0.995:
        return "Averaged over all steps, nothing is lost: full batches do no better at this (ε, δ)."
    return (
        f"Averaged over all steps, the signal-to-noise ratio is {share:.0%} of that of full batches at the "
        f"same (ε, δ). Larger batches can raise it up to {1 / share:.3g} times, at the price of more compute."
    )


def more_epochs(gain: pd.DataFrame | None) -> str:
    """State the gain from about four times the epochs at the same ε and batch size."""
    if gain is None:
        return WAITING
    epochs, noise, factor = gain.to_numpy().T
    here = int(abs(factor - 1).argmin())
    there = min(here + 2, factor.size - 1)
    if there == here:
        return "The accountants cannot handle more epochs at this batch size."
    if factor[there] < _LEAST_GAIN:
        return "More epochs at the same ε and S gain nothing: the signal-to-noise ratio stays the same."
    return (
        f"**More epochs at the same ε and S:** {brief(float(epochs[there]))} instead of "
        f"{brief(float(epochs[here]))} need noise σ = {number(noise[there])}. The signal-to-noise ratio is "
        f"{number(factor[there])} times as high, for {brief(float(epochs[there] / epochs[here]))} times the "
        "compute."
    )


def delta(plan: PrivacyPlan) -> str:
    """Compare δ with 1/N."""
    share = plan.delta * plan.records
    if share <= 0.1:
        verdict = "That is well below 1/N."
    elif share < 1:
        verdict = "That is below 1/N, but not by much: a tenth of 1/N or less is usual."
    else:
        verdict = "That is too large: choose a tenth of 1/N or less."
    return (
        f"δ bounds the chance that the guarantee fails. With δ = 1/N, a mechanism may publish one person's "
        f"record outright. Here 1/N is {brief(float(f'{1 / plan.records:.2g}'))} and δ is "
        f"{brief(plan.delta)}. {verdict}"
    )


def for_a_board(item: Price) -> str:
    """Explain the guarantee to a board that decides about a study, in words to be copied."""
    plan, found = item.plan, rounding.up(100 * float(item.risk.true_positive_rate(0.01)), 2)
    return (
        f"The model will be trained with differential privacy on {plan.records:,} records, one for each "
        "person. Before any result leaves the training process, each person's influence is capped and random "
        "noise is added. The guarantee is (ε, δ)-differential privacy with "
        f"ε = {at_most(item.tightest_epsilon)} and δ = {brief(plan.delta)}, for the presence or absence of "
        f"one record, computed by {ACCOUNTANTS[item.tightest].label} for all {plan.steps:,} releases "
        "together. It holds against anyone who sees the model, even someone who knows everything about all "
        "other people. In numbers: of 100 people who took part, the best possible test that accuses 1 of 100 "
        f"outsiders finds at most {found:g}; guessing finds 1. Someone who was 50% sure that a person took "
        f"part is at most {rounding.percent_up(item.risk.posterior(0.5))} sure after such a test."
    )


def command_line(inputs: PlanInputs, plan: PrivacyPlan) -> str:
    """Return the plan as a command."""
    if inputs.by_risk:
        noise = _risk_options(inputs)
    elif inputs.solve == NOISE.name:
        noise = f"--target-epsilon {inputs.target:g} --accountant {inputs.accountant}"
    else:
        noise = f"--noise {plan.noise_multiplier}"
    length = f"--steps {plan.steps}" if inputs.solve == EPOCHS.name else f"--epochs {inputs.epochs:g}"
    return (
        f"vips-explorer plan --records {plan.records} --batch {plan.expected_batch} \\\n"
        f"    {noise} {length} --delta {brief(plan.delta)}"
    )


def _risk_options(inputs: PlanInputs) -> str:
    target = {"found": "--target-tpr", "advantage": "--target-advantage", "belief": "--target-posterior"}
    alarms = "" if inputs.by == "advantage" else f" --at-fpr {inputs.false_alarms:g}"
    prior = f" --prior {inputs.prior:g}" if inputs.by == "belief" else ""
    return f"{target[inputs.by]} {inputs.most:g}{alarms}{prior}"


def python_code(inputs: PlanInputs, plan: PrivacyPlan) -> str:
    """Return the plan as Python code."""
    noise = "" if inputs.solve == NOISE.name else f"noise_multiplier={plan.noise_multiplier}, "
    length = "steps=1" if inputs.solve == EPOCHS.name else f"epochs={inputs.epochs:g}"
    lines = [
        "import vips_core as vips",
        "",
        "plan = vips.PrivacyPlan(",
        f"    records={plan.records:_}, expected_batch={plan.expected_batch:_}, {length},",
        f"    {noise}delta={brief(plan.delta)},",
        ")",
    ]
    if inputs.by_risk:
        limits = {name: value for name, value in asdict(inputs.risk_limit).items() if value is not None}
        given = ", ".join(f"{name}={value}" for name, value in limits.items())
        lines += [f"limit = vips.RiskLimit({given})", "plan = plan.calibrate_to_risk(limit)"]
    elif inputs.solve in (NOISE.name, EPOCHS.name):
        solve = ', solve="steps"' if inputs.solve == EPOCHS.name else ""
        lines.append(
            f'plan = plan.calibrate(epsilon={inputs.target:g}, accountant="{inputs.accountant}"{solve})'
        )
    return "\n".join([*lines, "print(plan.epsilons())", "print(plan.risk().sentence())"])
