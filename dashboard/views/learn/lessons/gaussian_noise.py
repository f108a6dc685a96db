"""The Gaussian mechanism: sensitivity, noise, two densities and the privacy loss."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from dashboard.background import Later
from dashboard.components.formats import at_most, brief, number
from dashboard.state import Number, log_stops
from dashboard.views.learn.lessons import base
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import Plot, mark, side_by_side, swept, two_worlds
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.privacy.accountants import paper_step_epsilon
from vips_core.reports.figures import BLUE, GREEN, VERMILION, Figure, log_axis
from vips_core.reports.traces import axis, line

_MOVE = "The largest effect of one record on the true answer."
SENSITIVITY = Number("noise_sens", "Sensitivity Δ", 1.0, 0.1, 10, _MOVE, log_stops(0.1, 10))
_STD = "Standard deviation of the added Gaussian noise."
NOISE_STD = Number("noise_std", "Noise σ", 4.0, 0.1, 100, _STD, log_stops(0.1, 100))
DELTA = base.delta("noise")


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show both densities and the privacy loss."""
    sensitivity, noise_std, delta = (values[p.name] for p in (SENSITIVITY, NOISE_STD, DELTA))
    mu = sensitivity / noise_std
    epsilon = float(gaussian.epsilon(mu, delta))
    classical = paper_step_epsilon(1 / mu, delta)
    beyond = float(ndtr(mu / 2 - epsilon / mu))
    caution = ", above 1, where it is unproven" if classical > 1 else ""
    return Outcome(
        numbers=(
            ("Noise multiplier σ/Δ", number(1 / mu)),
            ("ε, exact", at_most(epsilon)),
            ("ε, classical rule", at_most(classical)),
            ("Probability that L > ε", f"{beyond:.2g}"),
        ),
        figure=swept(
            lambda std: _figure(sensitivity, std, delta, revealed), np.geomspace(4, 1, 8) * noise_std, "σ"
        ),
        table=lambda: worlds(sensitivity, noise_std),
        explanation=(
            f"Only the ratio σ/Δ = **{number(1 / mu)}** matters: doubling both stretches the axis and "
            f"changes nothing else. At δ = {brief(delta)}, the exact ε is **{at_most(epsilon)}**; "
            f"the paper's classical rule gives {at_most(classical)}{caution}. The loss L exceeds ε with "
            f"probability **{beyond:.2g}**, which is more than δ: of an output with loss L > ε, δ counts "
            "only the share 1 − e^(ε − L) that exceeds what ε allows (green)."
        ),
    )


def worlds(sensitivity: float, noise_std: float) -> pd.DataFrame:
    """Return the densities of the release in both worlds."""
    output = np.linspace(-3.5 * noise_std, sensitivity + 3.5 * noise_std, 201)
    without, with_you = (_density(output, mean, noise_std) for mean in (0.0, sensitivity))
    return pd.DataFrame({"Released value": output, "Without you": without, "With you": with_you})


def _figure(sensitivity: float, noise_std: float, delta: float, revealed: bool) -> Figure:
    mu = sensitivity / noise_std
    peak, loss_peak = (1 / (std * math.sqrt(2 * math.pi)) for std in (noise_std, mu))
    places = (0.0, sensitivity)
    output, without, with_you = worlds(sensitivity, noise_std).to_numpy().T
    densities, labels = two_worlds(output, without, with_you, "output %{x:.3g}", places, 1.08 * peak)
    epsilon = float(gaussian.epsilon(mu, delta))
    loss = np.linspace(mu**2 / 2 - 5 * mu, max(mu**2 / 2 + 5 * mu, epsilon + 1.5 * mu), 201)
    bottom = math.log10(_density(np.array([epsilon]), mu**2 / 2, mu)[0]) - 3
    loss_lines, loss_labels = [], []
    if revealed:
        loss_lines = _loss_lines(loss, mu, epsilon, 10**bottom)
        top = math.log10(loss_peak) + 0.45  # labels on a logarithmic axis are placed by logarithms
        at_epsilon = f"ε = {at_most(epsilon)}"
        loss_labels = [mark(at_epsilon, epsilon, top, VERMILION, xanchor="right", xshift=-6)]
    nats = axis("Privacy loss L (nats)", range=[float(loss[0]), float(loss[-1])])
    log_density = log_axis("Density (log scale)", bottom, math.log10(loss_peak) + 0.6)
    density = axis("Density", range=[0, 1.15 * peak])
    return side_by_side(
        Plot("Two worlds", densities, axis("Released value"), density, labels),
        Plot("Information in one output", loss_lines, nats, log_density, loss_labels),
    )


def _loss_lines(loss: Array, mu: float, epsilon: float, bottom: float) -> list[dict[str, Any]]:
    """Return the density of the privacy loss, its tail above ε, the part that δ counts, and ε."""
    tail, hover = loss[loss > epsilon], "loss %{x:.3g}"
    above = _density(tail, mu**2 / 2, mu)
    return [
        line("Privacy loss", loss, _density(loss, mu**2 / 2, mu), BLUE, "solid", hover),
        line("Above ε", tail, above, VERMILION, "solid", hover, fill="tozeroy"),
        line("Counted in δ", tail, counted_in_delta(tail, epsilon) * above, GREEN, "dot", hover),
        line("ε", [epsilon, epsilon], [bottom, 1 / (mu * math.sqrt(2 * math.pi))], VERMILION, "dash"),
    ]


def counted_in_delta(loss: Array, epsilon: float) -> Array:
    """Return the share of an output with this loss that δ counts; its mean, E[(1 − e^(ε − L))⁺], is δ."""
    return np.asarray(-np.expm1(np.minimum(epsilon - loss, 0)))


def _density(x: Array, mean: float, std: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi)))


LESSON = lesson(__file__, parameters=(SENSITIVITY, NOISE_STD, DELTA), look=look)
