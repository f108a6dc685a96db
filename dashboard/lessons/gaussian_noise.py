"""Lesson 2: the Gaussian mechanism. Sensitivity and noise, two densities, and the privacy loss."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from dashboard import charts
from dashboard.background import Later
from dashboard.formats import brief, number
from dashboard.lessons.base import Formula, Lesson, Outcome
from dashboard.lessons.figures import line, mark, side_by_side
from dashboard.session import Number, log_stops
from vips_core.privacy import gaussian
from vips_core.privacy.strong import paper_step_epsilon

SENSITIVITY = Number(
    "sens2", "Sensitivity Δ", 1.0, 0.1, 10, "How far one record can move the true answer.",
    log_stops(0.1, 10),
)  # fmt: skip
NOISE_STD = Number(
    "std2", "Noise, standard deviation σ", 4.0, 0.1, 100, "Spread of the Gaussian noise that is added.",
    log_stops(0.1, 100),
)  # fmt: skip
DELTA = Number(
    "delta2", "δ", 1e-5, 1e-12, 0.1, "Probability mass for which ε need not hold.",
    log_stops(1e-12, 0.1, mantissas=(1, 2, 5)),
)  # fmt: skip


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show both densities and the privacy loss."""
    sensitivity, noise_std, delta = (values[p.name] for p in (SENSITIVITY, NOISE_STD, DELTA))
    mu = sensitivity / noise_std
    epsilon = float(gaussian.epsilon(mu, delta))
    classical = paper_step_epsilon(1 / mu, delta)
    beyond = float(ndtr(mu / 2 - epsilon / mu))
    output = np.linspace(-3.5 * noise_std, sensitivity + 3.5 * noise_std, 301)
    without, with_you = (_density(output, mean, noise_std) for mean in (0.0, sensitivity))
    loss = np.linspace(mu**2 / 2 - 5 * mu, max(mu**2 / 2 + 5 * mu, 1.1 * epsilon), 401)
    densities = [
        line("Without you", output, without, charts.GREY, "dash", "output %{x:.3g}"),
        line("With you", output, with_you, charts.BLUE, "solid", "output %{x:.3g}",
             fill="tozeroy", fillcolor="rgba(31,131,196,0.10)"),
    ]  # fmt: skip
    losses, marks = [], []
    if revealed:
        tail = loss[loss >= epsilon]
        top = 1 / (mu * math.sqrt(2 * math.pi))
        losses = [
            line("Privacy loss", loss, _density(loss, mu**2 / 2, mu), charts.BLUE, "solid", "loss %{x:.3g}"),
            line("Above ε", tail, _density(tail, mu**2 / 2, mu), charts.VERMILION, "solid",
                 "loss %{x:.3g}", fill="tozeroy"),
            line("ε", [epsilon, epsilon], [0, top], charts.VERMILION, "dash"),
        ]  # fmt: skip
        marks = [mark(f"ε = {number(epsilon)}", epsilon, 0.92 * top, charts.VERMILION, "2",
                      xanchor="right", xshift=-6)]  # fmt: skip
    peak = 1 / (noise_std * math.sqrt(2 * math.pi))
    drawn = side_by_side(
        densities,
        losses,
        (
            {"title": {"text": "Released value"}},
            {"title": {"text": "Density"}, "range": [0, 1.15 * peak]},
            {"title": {"text": "Privacy loss L (nats)"}, "range": [float(loss[0]), float(loss[-1])]},
            {"title": {"text": "Density"}, "rangemode": "tozero"},
        ),
        ("Two worlds", "How much one output tells"),
    )
    drawn["layout"]["annotations"] += [
        *marks,
        mark("without you", 0, 1.08 * peak, charts.GREY, xanchor="right", xshift=-2),
        mark("with you", sensitivity, 1.08 * peak, charts.BLUE, xanchor="left", xshift=2),
    ]
    caution = ", above 1, where it is not proved" if classical > 1 else ""
    return Outcome(
        (
            ("Noise multiplier σ/Δ", number(1 / mu)),
            ("ε, exact", number(epsilon)),
            ("ε, classical rule", number(classical)),
            ("Chance that L is above ε", f"{beyond:.2g}"),
        ),
        drawn,
        lambda: pd.DataFrame({"Released value": output, "Without you": without, "With you": with_you}),
        f"Only the ratio σ/Δ = **{number(1 / mu)}** counts: doubling both stretches the axis and changes "
        f"nothing else. At δ = {brief(delta)} it gives ε = **{number(epsilon)}** exactly; the paper's "
        f"classical rule says {number(classical)}{caution}.",
    )


def _density(x: charts.Array, mean: float, std: float) -> charts.Array:
    return np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


LESSON = Lesson(
    2,
    "Noise",
    "The Gaussian mechanism",
    "Add bell-shaped noise to an answer, wide enough to hide what one record can move.",
    "You release a sum in cents instead of units: the sensitivity Δ becomes 100 times as large, and you "
    "make the noise σ 100 times as large too. What happens to ε?",
    ("It is 100 times as large", "It is 10 times as large", "It stays the same", "It becomes smaller"),
    2,
    "Show that L is Gaussian with mean Δ²/(2σ²) and standard deviation Δ/σ, by writing out the ratio of the "
    "two densities. Then find the ε of the classical rule for these settings.",
    "The log ratio at output o is (o² − (o − Δ)²)/(2σ²) = Δ(2o − Δ)/(2σ²). With o ~ N(Δ, σ²) it is Gaussian "
    "with mean Δ²/(2σ²) and variance Δ²/σ². The classical rule gives ε = √(2 ln(1.25/δ)) · Δ/σ.",
    (SENSITIVITY, NOISE_STD, DELTA),
    (
        Formula(
            r"F(X)+Z,\quad Z\sim\mathcal N(0,\sigma^2),\quad \sigma^2\ge 2\ln(1.25/\delta)\,"
            r"(\Delta F)^2/\varepsilon^2",
            "F(X) + Z, Z ~ N(0, σ²), σ² ≥ 2 ln(1.25/δ) (ΔF)²/ε²",
            "The paper's §2.2.1, the classical rule; proved for ε ≤ 1 only.",
        ),
        Formula(
            r"L=\log\frac{\Pr(\mathcal M(X)=o)}{\Pr(\mathcal M(X')=o)}\sim"
            r"\mathcal N\!\left(\tfrac{\mu^2}{2},\mu^2\right),\quad \mu=\Delta/\sigma",
            "L = log [Pr(M(X) = o) / Pr(M(X′) = o)] ~ N(μ²/2, μ²), μ = Δ/σ",
            "The privacy loss variable of the paper's §2.3.1, for Gaussian noise.",
        ),
        Formula(
            r"\delta(\varepsilon)=\Phi\!\left(\tfrac{\mu}{2}-\tfrac{\varepsilon}{\mu}\right)-"
            r"e^{\varepsilon}\,\Phi\!\left(-\tfrac{\mu}{2}-\tfrac{\varepsilon}{\mu}\right)",
            "δ(ε) = Φ(μ/2 − ε/μ) − e<sup>ε</sup> Φ(−μ/2 − ε/μ)",
            "Exact (Balle and Wang 2018, Theorem 8); tighter than the paper's rule and valid for every ε.",
        ),
    ),
    look,
    "Left: the release with and without you. Right: the loss when you took part; above ε in orange.",
    "Two bell curves, a sensitivity apart, and the bell curve of the privacy loss with its tail above ε.",
)
