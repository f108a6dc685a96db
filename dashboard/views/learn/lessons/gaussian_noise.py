"""The Gaussian mechanism: sensitivity and noise, two densities, and the privacy loss."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from dashboard.background import Later
from dashboard.components.formats import at_most, brief, number
from dashboard.state import Number, log_stops
from dashboard.views.learn.lessons import controls
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import mark, side_by_side, swept
from vips_core.kernels import Array
from vips_core.privacy import gaussian
from vips_core.privacy.accountants import paper_step_epsilon
from vips_core.reports.figures import BLUE, GREEN, GREY, VERMILION, Figure, log_axis
from vips_core.reports.traces import line

SENSITIVITY = Number(
    "noise_sens",
    "Sensitivity Δ",
    1.0,
    0.1,
    10,
    "How far one record can move the true answer.",
    log_stops(0.1, 10),
)
NOISE_STD = Number(
    "noise_std",
    "Noise, standard deviation σ",
    4.0,
    0.1,
    100,
    "Spread of the Gaussian noise that is added.",
    log_stops(0.1, 100),
)
DELTA = controls.delta("noise")


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show both densities and the privacy loss."""
    sensitivity, noise_std, delta = (values[p.name] for p in (SENSITIVITY, NOISE_STD, DELTA))
    mu = sensitivity / noise_std
    epsilon = float(gaussian.epsilon(mu, delta))
    classical = paper_step_epsilon(1 / mu, delta)
    beyond = float(ndtr(mu / 2 - epsilon / mu))
    caution = ", above 1, where it is not proved" if classical > 1 else ""
    return Outcome(
        numbers=(
            ("Noise multiplier σ/Δ", number(1 / mu)),
            ("ε, exact", at_most(epsilon)),
            ("ε, classical rule", at_most(classical)),
            ("Chance that L is above ε", f"{beyond:.2g}"),
        ),
        figure=swept(
            lambda std: _figure(sensitivity, std, delta, revealed), np.geomspace(4, 1, 8) * noise_std, "σ"
        ),
        table=lambda: worlds(sensitivity, noise_std),
        explanation=(
            f"Only the ratio σ/Δ = **{number(1 / mu)}** counts: doubling both stretches the axis and changes "
            f"nothing else. At δ = {brief(delta)} it gives ε = **{at_most(epsilon)}** exactly; the paper's "
            f"classical rule says {at_most(classical)}{caution}. The loss is above ε with chance "
            f"**{beyond:.2g}**, which is more than δ: of an output with loss L, δ counts only the share 1 − "
            "e^(ε − L) by which it exceeds what ε allows (green)."
        ),
    )


def worlds(sensitivity: float, noise_std: float) -> pd.DataFrame:
    """Return the densities of the release in both worlds."""
    output = np.linspace(-3.5 * noise_std, sensitivity + 3.5 * noise_std, 201)
    without, with_you = (_density(output, mean, noise_std) for mean in (0.0, sensitivity))
    return pd.DataFrame({"Released value": output, "Without you": without, "With you": with_you})


def _figure(sensitivity: float, noise_std: float, delta: float, revealed: bool) -> Figure:
    hover, shade = "output %{x:.3g}", {"fill": "tozeroy", "fillcolor": "rgba(31,131,196,0.10)"}
    output, without, with_you = worlds(sensitivity, noise_std).to_numpy().T
    densities = [
        line("Without you", output, without, GREY, "dash", hover),
        line("With you", output, with_you, BLUE, "solid", hover, **shade),
    ]
    mu = sensitivity / noise_std
    epsilon = float(gaussian.epsilon(mu, delta))
    loss = np.linspace(mu**2 / 2 - 5 * mu, max(mu**2 / 2 + 5 * mu, epsilon + 1.5 * mu), 201)
    peak, loss_peak = (1 / (std * math.sqrt(2 * math.pi)) for std in (noise_std, mu))
    bottom = math.log10(_density(np.array([epsilon]), mu**2 / 2, mu)[0]) - 3
    drawn = side_by_side(
        densities,
        _loss_lines(loss, mu, epsilon, 10**bottom) if revealed else [],
        (
            {"title": {"text": "Released value"}},
            {"title": {"text": "Density"}, "range": [0, 1.15 * peak]},
            {"title": {"text": "Privacy loss L (nats)"}, "range": [float(loss[0]), float(loss[-1])]},
            log_axis("Density (log scale)", bottom, math.log10(loss_peak) + 0.6),
        ),
        ("Two worlds", "How much one output tells"),
    )
    top = math.log10(loss_peak) + 0.45  # annotations on a logarithmic axis are placed by logarithms
    at_epsilon = mark(f"ε = {at_most(epsilon)}", epsilon, top, VERMILION, "2", xanchor="right", xshift=-6)
    drawn["layout"]["annotations"] += [
        *([at_epsilon] if revealed else []),
        mark("without you", 0, 1.08 * peak, GREY, xanchor="right", xshift=-2),
        mark("with you", sensitivity, 1.08 * peak, BLUE, xanchor="left", xshift=2),
    ]
    return drawn


def _loss_lines(loss: Array, mu: float, epsilon: float, bottom: float) -> list[dict[str, Any]]:
    """Return the density of the privacy loss, its tail above ε, what δ counts of it, and ε."""
    tail, hover = loss[loss > epsilon], "loss %{x:.3g}"
    above = _density(tail, mu**2 / 2, mu)
    return [
        line("Privacy loss", loss, _density(loss, mu**2 / 2, mu), BLUE, "solid", hover),
        line("Above ε", tail, above, VERMILION, "solid", hover, fill="tozeroy"),
        line("Counted in δ", tail, counted_in_delta(tail, epsilon) * above, GREEN, "dot", hover),
        line("ε", [epsilon, epsilon], [bottom, 1 / (mu * math.sqrt(2 * math.pi))], VERMILION, "dash"),
    ]


def counted_in_delta(loss: Array, epsilon: float) -> Array:
    """Share of an output with this loss that δ counts: E[(1 − e^(ε − L))⁺] = δ."""
    return np.asarray(-np.expm1(np.minimum(epsilon - loss, 0)))


def _density(x: Array, mean: float, std: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi)))


LESSON = lesson(__file__, parameters=(SENSITIVITY, NOISE_STD, DELTA), look=look)
