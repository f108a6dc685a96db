"""What the Plan page says: short sentences, with the numbers in them."""

from dataclasses import asdict

from dashboard.components.bounds import at_most
from dashboard.components.charts import WAITING
from dashboard.components.formats import brief, number
from dashboard.components.price import Price
from dashboard.views.plan.data import FALSE_ALARMS, Gain, Outlook
from dashboard.views.plan.parameters import BATCH, EPOCHS, NOISE, PlanInputs
from vips_core import ACCOUNTANTS, AttackRisk, PrivacyPlan, rounding

INTRODUCTION = (
    "Each person's influence is capped, then random noise is added. ε measures how much a trained model may "
    "still reveal about one person: the smaller, the more private."
)
ACCOUNTANTS_CAPTION = (
    "The same releases, judged in different ways. Each ε is an upper bound: the smallest is the best."
)
ACCOUNTANTS_ALT = (
    "Dots of ε by every accountant that applies, on a logarithmic scale; the table has the numbers."
)
TRAJECTORY_CAPTION = "What has been spent after so many steps of this plan."
TRAJECTORY_ALT = "Lines of ε against iterations by the moments accountant, strong composition and PLD."
SURFACE_CAPTION = (
    "By moments, at these epochs, δ and N. Circle: this plan. Dashed line: the same ε. Click a cell to take "
    "its values."
)
SURFACE_ALT = "Heat map of ε over noise and batch size on logarithmic scales, with the current plan marked."
EPOCHS_ALT = "Signal over noise against epochs at the same ε and batch size; 1 is this plan."
ASSUMED = (
    "ε holds for Poisson batches and noise from fresh entropy. Batches of fixed size or a seed that others "
    "know void it."
)
HAND_OVER = (
    "Where the data set has another number of records, the batch size follows, so that each record is drawn "
    "as often."
)
GO_ON = {"topics": "Train topics", "risk": "Train a risk model", "images": "Train an image model"}
USEFULNESS_ALT = (
    "A held-out score against ε on a public sample, with its spread over seeds and this plan marked."
)
_A_GAIN = 1.005  # times the signal that two digits show
ROC_ALT = "Share of participants found against outsiders falsely accused, for the best possible attack."


def people_alt(found: float) -> str:
    """Say what the icons show."""
    most = rounding.up(found, 2)
    return f"100 people of whom at most {most:g} are found, at one false alarm in 100 outsiders."


def headline(plan: PrivacyPlan, inputs: PlanInputs) -> str:
    """Say what the plan is, and what of it was solved for."""
    noise, steps = number(plan.noise_multiplier), "1 step" if plan.steps == 1 else f"{plan.steps:,} steps"
    target = "the limit on attacks" if inputs.by_risk else f"the target ε = {inputs.target:g}"
    solved = {
        "epsilon": "",
        NOISE.name: f"Noise **σ = {noise}** meets {target}. ",
        EPOCHS.name: f"**{number(plan.epochs)} epochs** fit in {target}. ",
        BATCH.name: f"**S = {plan.expected_batch:,}** is the largest batch size that meets {target} at this "
        "noise and these epochs. ",
    }[inputs.solve]
    share = "all" if plan.sampling_rate == 1 else f"a random {100 * plan.sampling_rate:.3g}% of the"
    return f"{solved}The plan takes {steps}, each on {share} records with noise σ = {noise}."


def attack_numbers(outlook: Outlook) -> list[tuple[str, str]]:
    """Return the attacker's success as labelled numbers."""
    labels = [*(f"Found at {100 * rate:g}% false alarms" for rate in FALSE_ALARMS), "Advantage over guessing"]
    shares = [*(share for _, share in outlook.participants_found), outlook.price.risk.advantage]
    return [(label, rounding.percent_up(share)) for label, share in zip(labels, shares, strict=True)]


def gaussian(risk: AttackRisk) -> str:
    """Say which Gaussian release is no more private than the plan."""
    return (
        f"For other δ, all releases together have {risk.gaussian_claim()}: at each such δ, ε is at most that "
        "of one Gaussian release whose signal is μ times its noise. The regret says how much that overstates "
        "the attack curve below: 0 is exact, up to 0.01 is close."
    )


def posterior(risk: AttackRisk, prior: float) -> str:
    """Say what a positive test does to the attacker's belief."""
    return (
        f"An attacker who was {100 * prior:.3g}% sure that a person took part is at most "
        f"**{rounding.percent_up(risk.posterior(prior))}** sure after a positive test with 1% false alarms."
    )


def efficiency(share: float) -> str:
    """Say what the efficiency means."""
    if share >= 0.995:
        return "Averaged over all steps, nothing is lost: full batches would do no better at this (ε, δ)."
    return (
        f"Averaged over all steps, signal over noise is {share:.0%} of what full batches would have at the "
        f"same (ε, δ). Larger batches, for more compute, can gain up to {1 / share:.3g} times."
    )


def more_epochs(gain: Gain | None) -> str:
    """Say what another number of epochs would buy at the same ε and batch size."""
    if gain is None:
        return WAITING
    here = int(abs(gain.factor - 1).argmin())
    there = min(here + 2, gain.factor.size - 1)
    if there == here:
        return "No more epochs can be accounted for at this batch size."
    if gain.factor[there] < _A_GAIN:
        return "More epochs at the same ε and S buy nothing here: signal over noise stays the same."
    return (
        f"**More epochs at the same ε and S:** {brief(float(gain.epochs[there]))} instead of "
        f"{brief(float(gain.epochs[here]))} need noise σ = {number(gain.noise[there])} and give "
        f"{number(gain.factor[there])} times the signal over noise, for "
        f"{brief(float(gain.epochs[there] / gain.epochs[here]))} times the compute."
    )


def delta(plan: PrivacyPlan) -> str:
    """Say how δ compares with 1/N."""
    share = plan.delta * plan.records
    if share <= 0.1:
        verdict = "That is well below 1/N."
    elif share < 1:
        verdict = "That is below 1/N, but not by much: a tenth of 1/N or less is usual."
    else:
        verdict = "That is too large: choose a tenth of 1/N or less."
    return (
        f"δ bounds the chance that the guarantee fails. With δ = 1/N a mechanism may publish "
        f"one person's record outright. Here 1/N is {brief(float(f'{1 / plan.records:.2g}'))} "
        f"and δ is {brief(plan.delta)}. {verdict}"
    )


def for_a_board(item: Price) -> str:
    """Explain the guarantee to people who decide about a study, in words that can be copied."""
    plan, found = item.plan, rounding.up(100 * float(item.risk.true_positive_rate(0.01)), 2)
    return (
        f"The model will be trained with differential privacy on {plan.records:,} records, one for each "
        "person. Before anything leaves the training, the influence of each person is capped and random "
        "noise is added. The guarantee is (ε, δ)-differential privacy with "
        f"ε = {at_most(item.tightest_epsilon)} and δ = {brief(plan.delta)}, for the presence or absence of "
        "one record, computed by "
        f"{ACCOUNTANTS[item.tightest].label} for all {plan.steps:,} releases together. It holds against "
        "anyone who sees the model and knows everything about all other people. In numbers: of 100 people "
        f"who took part, the best possible test that accuses 1 of 100 outsiders finds at most {found:g}; "
        f"guessing finds 1. Whoever was 50% sure that a person took part can become at most "
        f"{rounding.percent_up(item.risk.posterior(0.5))} sure by such a test."
    )


def command_line(inputs: PlanInputs, plan: PrivacyPlan) -> str:
    """The plan as a command."""
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
    """The plan as Python."""
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
