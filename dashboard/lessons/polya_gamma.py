"""Lesson 6: Pólya–Gamma. ⟨ξ⟩ and its bound ¼, and the logistic curve above its Gaussian lower bounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from dashboard import charts
from dashboard.background import Later
from dashboard.lessons.base import Formula, Lesson, Outcome
from dashboard.lessons.figures import line, mark, point, side_by_side
from dashboard.session import Number
from vips_core.kernels.polya_gamma import pg_means

LARGEST = 10.0
TANGENT = Number(
    "c6", "Tangent point c", 2.0, 0.0, LARGEST, "Where the Gaussian touches the logistic curve.",
    tuple(round(0.25 * quarter, 2) for quarter in range(41)),
)  # fmt: skip
PLACE = Number(
    "psi6", "Log-odds ψ", 4.0, -LARGEST, LARGEST, "Where the bounds are compared with the curve.",
    tuple(round(0.5 * half, 1) for half in range(-20, 21)),
)  # fmt: skip


def tangent_bound(psi: Any, c: float) -> charts.Array:
    """Gaussian in ψ below the logistic curve that touches it at ±c, with curvature ⟨ξ⟩ of PG(1, c)."""
    psi = np.asarray(psi, float)
    xi = float(pg_means(np.array([c]))[0])
    return np.asarray(expit(c) * np.exp((psi - c) / 2 - xi / 2 * (psi**2 - c**2)))


def quarter_bound(psi: Any, c: float) -> charts.Array:
    """Gaussian below the logistic curve that touches it at c alone, with the largest curvature ¼."""
    away = np.asarray(psi, float) - c
    return np.asarray(expit(c) * np.exp(expit(-c) * away - away**2 / 8))


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show ⟨ξ⟩ and the bounds."""
    c, psi = float(values[TANGENT.name]), float(values[PLACE.name])
    xi = float(pg_means(np.array([c]))[0])
    arguments, odds = np.linspace(0, LARGEST, 201), np.linspace(-LARGEST, LARGEST, 401)
    means = pg_means(arguments)
    curve, touching, quarter = expit(odds), tangent_bound(odds, c), quarter_bound(odds, c)
    left = [line("⟨ξ⟩", arguments, means, charts.BLUE, "solid", "c = %{x:.2f}: ⟨ξ⟩ = %{y:.4f}")]
    right = [line("Logistic curve", odds, curve, charts.GREY, "solid", "ψ = %{x:.2f}: %{y:.3f}")]
    marks = []
    if revealed:
        left += [
            line("¼", [0, LARGEST], [0.25, 0.25], charts.VERMILION, "dash"),
            point("Here", c, xi, f"c = {c:g}: ⟨ξ⟩ = {xi:.4f}"),
        ]
        right += [
            line("Gaussian with ⟨ξ⟩", odds, touching, charts.BLUE, "solid", "ψ = %{x:.2f}: %{y:.3f}"),
            line("Gaussian with ¼", odds, quarter, charts.VERMILION, "dash", "ψ = %{x:.2f}: %{y:.3f}"),
            point("Tangent point", c, float(expit(c)), f"touches at c = {c:g}"),
            line("ψ", [psi, psi], [0, float(expit(psi))], charts.PURPLE, "dot"),
        ]
        marks = [mark("¼", LARGEST, 0.25, charts.VERMILION, yanchor="bottom", xanchor="right")]
    else:
        left = [line("⟨ξ⟩ at your tangent point", [c, c], [0, 1], charts.GREY, "dot")]
    drawn = side_by_side(
        left,
        right,
        (
            {"title": {"text": "Argument c"}, "range": [-0.2, LARGEST + 0.2]},
            {"title": {"text": "⟨ξ⟩"}, "range": [0, 0.3 if revealed else 1.05]},
            {"title": {"text": "Log-odds ψ"}, "range": [-LARGEST, LARGEST]},
            {"title": {"text": "p(y = 1)"}, "range": [0, 1.05]},
        ),
        ("Mean of ξ ~ PG(1, c)", "Logistic curve and lower bounds"),
    )
    drawn["layout"]["annotations"] += marks
    gaps = [max(0.0, float(expit(psi) - bound(psi, c))) for bound in (tangent_bound, quarter_bound)]
    return Outcome(
        (
            ("⟨ξ⟩ at c", f"{xi:.4f}"),
            ("Share of the bound ¼", f"{4 * xi:.0%}"),
            ("Gap at ψ, with ⟨ξ⟩", f"{gaps[0]:.3f}"),
            ("Gap at ψ, with ¼", f"{gaps[1]:.3f}"),
        ),
        drawn,
        lambda: pd.DataFrame(
            {"ψ": odds, "Logistic": curve, "Gaussian with ⟨ξ⟩": touching, "Gaussian with ¼": quarter}
        ),
        f"⟨ξ⟩ is largest at c = 0, where it is ¼, and falls to **{xi:.4f}** at c = {c:g}. So one person "
        "moves Σ⟨ξ⟩xxᵀ by at most ¼. Given ξ, the likelihood is Gaussian in ψ and the model conjugate. "
        f"At ψ = {psi:g} the bound with ⟨ξ⟩ misses {gaps[0]:.3f}, the simpler one with ¼ "
        f"{gaps[1]:.3f}.",
    )


LESSON = Lesson(
    6,
    "Pólya–Gamma",
    "Pólya–Gamma: logistic made Gaussian",
    "A helper variable ξ turns the logistic likelihood into a Gaussian one, whose sums the wall can noise.",
    "In logistic regression with ‖x‖ ≤ 1, one person adds ⟨ξ⟩xxᵀ to a sum. How far can that move the sum, "
    "at most?",
    ("1", "½", "¼", "There is no bound"),
    2,
    "Expand tanh(c/2) to show that ⟨ξ⟩ → ¼ as c → 0, and show that the Gaussian bound has the slope of the "
    "logistic curve at ψ = c.",
    "tanh(c/2) = c/2 − c³/24 + …, so ⟨ξ⟩ = ¼ − c²/48 + … The logarithm of the bound has slope "
    "½ − ⟨ξ⟩c = ½ − ½ tanh(c/2) = 1 − σ(c) at ψ = c, which is the slope of log σ(ψ) there.",
    (TANGENT, PLACE),
    (
        Formula(
            r"\frac{e^{\psi y}}{1+e^{\psi}}=\tfrac12\,e^{(y-\frac12)\psi}\int_0^\infty "
            r"e^{-\xi\psi^2/2}\,p(\xi)\,d\xi,\quad \xi\sim\mathrm{PG}(1,0)",
            "e<sup>ψy</sup>/(1 + e<sup>ψ</sup>) = ½ e<sup>(y−½)ψ</sup> ∫ e<sup>−ξψ²/2</sup> p(ξ) dξ, "
            "ξ ~ PG(1, 0)",
            "The paper's §5, Pólya–Gamma data augmentation, with b = 1 for logistic regression.",
        ),
        Formula(
            r"\langle\xi\rangle=\frac{1}{2c}\tanh\frac c2\;\le\;\frac14,\qquad "
            r"c=\sqrt{x^{\top}\langle mm^{\top}\rangle x}",
            "⟨ξ⟩ = tanh(c/2)/(2c) ≤ ¼, c = √(xᵀ⟨mmᵀ⟩x)",
            "The paper's §6.2: the mean of the Pólya–Gamma posterior and its maximum.",
        ),
        Formula(
            r"\sigma(\psi)\;\ge\;\sigma(c)\exp\!\left(\frac{\psi-c}{2}-\frac{\langle\xi\rangle}{2}"
            r"(\psi^2-c^2)\right)",
            "σ(ψ) ≥ σ(c) exp((ψ − c)/2 − ⟨ξ⟩(ψ² − c²)/2)",
            "What the variational bound of §5 amounts to for one record (Jaakkola and Jordan 2000).",
        ),
    ),
    look,
    "Blue: bound with ⟨ξ⟩ of PG(1, c), touching at ±c. Orange: bound with ¼, touching at c (Böhning 1992).",
    "Mean of the Pólya–Gamma variable against its argument; the logistic curve above two Gaussian bounds.",
)
