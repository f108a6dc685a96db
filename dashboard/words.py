"""What pages say: short sentences, with the numbers in them."""

from dashboard.formats import brief, number
from dashboard.planning import FALSE_ALARMS, Details, Gain, Request
from vips_core import PrivacyPlan

WAITING = "Being computed."
INTRODUCTION = (
    "Noise, batch size and number of steps decide how much a trained model may reveal about one person. "
    "ε measures it: the smaller, the more private."
)
ACCOUNTANTS_CAPTION = (
    "The same releases, judged in different ways. Each ε is an upper bound: the smallest is the best."
)
ACCOUNTANTS_ALT = (
    "Bars of ε by every accountant that applies, on a logarithmic scale; the table has the numbers."
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
    "Train with this noise, batch size, epochs and δ. The model pages compute ε anew for the records of the "
    "data set that is chosen there."
)
GO_ON = {"topics": "Train topics", "risk": "Train a risk model", "images": "Train an image model"}
ROC_ALT = "Share of participants found against outsiders falsely accused, for the best possible attack."


def risk(details: Details | None) -> str:
    """Say what the best attack achieves."""
    return details.risk.sentence() if details else WAITING


def headline(plan: PrivacyPlan, request: Request, moments: float, strong: float) -> str:
    """Say what the plan is and what the two numbers mean."""
    noise = number(plan.noise_multiplier)
    solved = {
        "epsilon": "",
        "sigma": f"Noise **σ = {noise}** meets the target ε = {request.target:g}. ",
        "epochs": f"**{number(plan.epochs)} epochs** fit in the target ε = {request.target:g}. ",
        "s": f"**S = {plan.expected_batch:,}** is the largest batch size that meets the target "
        f"ε = {request.target:g} at this noise and these epochs. ",
    }[request.solve]
    ratio = strong / moments if moments > 0 else 1.0
    compared = f"{number(ratio)} times the ε" if ratio > 1.005 else "no more than that"
    return (
        f"{solved}The plan takes {plan.steps:,} steps, each on a random {100 * plan.sampling_rate:.3g}% "
        f"of the records with noise σ = {noise}. Strong composition charges {compared} for the same noise."
    )


def attack_numbers(details: Details | None) -> list[tuple[str, str | None]]:
    """Return the attacker's success as labelled numbers, None while they are being computed."""
    labels = [*(f"Found at {100 * rate:g}% false alarms" for rate in FALSE_ALARMS), "Advantage over guessing"]
    if details is None:
        return [(label, None) for label in labels]
    shares = [*(share for _, share in details.found), details.risk.advantage]
    return [(label, f"{share:.1%}") for label, share in zip(labels, shares, strict=True)]


def posterior(details: Details | None, prior: float) -> str:
    """Say what a positive test does to the attacker's belief."""
    if details is None:
        return WAITING
    return (
        f"An attacker who was {prior:.3g} sure that a person took part is at most "
        f"**{details.risk.posterior(prior):.3g}** sure after a positive test with 1% false alarms."
    )


def efficiency(details: Details | None) -> str:
    """Say what the efficiency means."""
    if details is None:
        return WAITING
    share = details.efficiency
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
    return (
        f"**More epochs at the same ε and S:** {number(gain.epochs[there])} instead of "
        f"{number(gain.epochs[here])} need noise σ = {number(gain.noise[there])} and give "
        f"{number(gain.factor[there])} times the signal over noise, for "
        f"{number(gain.epochs[there] / gain.epochs[here])} times the compute."
    )


def delta(plan: PrivacyPlan) -> str:
    """Say how δ compares with 1/N."""
    share = plan.delta * plan.records
    verdict = (
        "That is well below 1/N." if share <= 0.1 else
        "That is below 1/N, but not by much: a tenth of 1/N or less is usual." if share < 1 else
        "That is too large: choose a tenth of 1/N or less."
    )  # fmt: skip
    return (
        f"δ bounds the chance that the guarantee fails. With δ = 1/N a mechanism may publish "
        f"one person's record outright. Here 1/N is {brief(1 / plan.records)} "
        f"and δ is {brief(plan.delta)}. {verdict}"
    )


def command_line(request: Request, plan: PrivacyPlan) -> str:
    """The plan as a command."""
    if request.solve == "sigma":
        noise = f"--target-epsilon {request.target:g} --accountant {request.accountant}"
    else:
        noise = f"--noise {plan.noise_multiplier}"
    length = f"--steps {plan.steps}" if request.solve == "epochs" else f"--epochs {request.epochs:g}"
    return (
        f"vips-explorer plan --records {plan.records} --batch {plan.expected_batch} \\\n"
        f"    {noise} {length} --delta {brief(plan.delta)}"
    )


def python_code(request: Request, plan: PrivacyPlan) -> str:
    """The plan as Python."""
    noise = "" if request.solve == "sigma" else f"noise_multiplier={plan.noise_multiplier}, "
    length = "steps=1" if request.solve == "epochs" else f"epochs={request.epochs:g}"
    lines = [
        "import vips_core as vips",
        "",
        "plan = vips.PrivacyPlan(",
        f"    records={plan.records:_}, expected_batch={plan.expected_batch:_}, {length},",
        f"    {noise}delta={brief(plan.delta)},",
        ")",
    ]
    if request.solve in ("sigma", "epochs"):
        solve = ', solve="steps"' if request.solve == "epochs" else ""
        lines.append(
            f'plan = plan.calibrate(epsilon={request.target:g}, accountant="{request.accountant}"{solve})'
        )
    return "\n".join([*lines, "print(plan.epsilons())", "print(plan.risk().sentence())"])
