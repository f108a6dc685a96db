"""Controls and the plan that several lessons share; a control's name begins with its lesson's."""

from dashboard.state import Number, log_stops
from vips_core import PrivacyPlan

_RECORDS = 1_000_000  # only the ratio q = S/N counts


def noise_multiplier(lesson: str, default: float) -> Number:
    """Return the control of the noise in every step."""
    about = "Noise over what one record can move, in every step."
    return Number(f"{lesson}_noise", "Noise multiplier", default, 0.5, 100, about, log_stops(0.5, 100))


def sampling_rate(lesson: str, default: float, least: float) -> Number:
    """Return the control of q."""
    about = "Chance of each record to be in a step's batch."
    return Number(f"{lesson}_q", "Sampling rate q", default, least, 1.0, about, log_stops(least, 1.0))


def steps(lesson: str, default: int, least: int, most: int) -> Number:
    """Return the control of T."""
    stops = log_stops(least, most, whole=True)
    about = "How often the data are used."
    return Number(f"{lesson}_steps", "Steps T", default, least, most, about, stops, whole=True)


def delta(lesson: str) -> Number:
    """Return the control of δ."""
    stops = log_stops(1e-12, 0.1, mantissas=(1, 2, 5))
    about = "Probability mass for which ε need not hold."
    return Number(f"{lesson}_delta", "δ", 1e-5, 1e-12, 0.1, about, stops)


def sampled_plan(noise: float, rate: float, steps: int, delta: float) -> PrivacyPlan:
    """Return the plan with this sampling rate, to a millionth."""
    return PrivacyPlan(
        records=_RECORDS,
        expected_batch=max(1, round(rate * _RECORDS)),
        steps=steps,
        noise_multiplier=noise,
        delta=delta,
    )
