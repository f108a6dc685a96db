"""Pólya–Gamma: ⟨ξ⟩ and its bound ¼, and Gaussian lower bounds on the logistic curve."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from dashboard.background import Later
from dashboard.state import Number
from dashboard.views.learn.lessons.base import Outcome, lesson
from dashboard.views.learn.lessons.figures import Plot, mark, point, side_by_side, swept
from vips_core.kernels import Array
from vips_core.kernels.special import pg_means
from vips_core.reports.figures import BLUE, GREY, PURPLE, VERMILION, Figure
from vips_core.reports.traces import axis, line

LARGEST = 10.0  # end of the axes of c and ψ, where the logistic curve is flat
_TOUCH = "The Gaussian touches the logistic curve here."
_QUARTERS = tuple(0.25 * quarter for quarter in range(41))
TANGENT = Number("polya_c", "Tangent point c", 2.0, 0.0, LARGEST, _TOUCH, _QUARTERS)
_COMPARE = "The bounds are compared with the curve here."
_HALVES = tuple(0.5 * half for half in range(-20, 21))
PLACE = Number("polya_psi", "Log-odds ψ", 4.0, -LARGEST, LARGEST, _COMPARE, _HALVES)


def tangent_bound(psi: Any, c: float) -> Array:
    """Return the Gaussian lower bound that touches the logistic curve at ±c, with curvature ⟨ξ⟩."""
    psi = np.asarray(psi, float)
    return np.asarray(expit(c) * np.exp((psi - c) / 2 - _mean(c) / 2 * (psi**2 - c**2)))


def quarter_bound(psi: Any, c: float) -> Array:
    """Return the Gaussian lower bound that touches the curve at c only, with the largest curvature ¼."""
    away = np.asarray(psi, float) - c
    return np.asarray(expit(c) * np.exp(expit(-c) * away - away**2 / 8))


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show ⟨ξ⟩ and the bounds."""
    c, psi = float(values[TANGENT.name]), float(values[PLACE.name])
    xi = _mean(c)
    gaps = [max(0.0, float(expit(psi) - bound(psi, c))) for bound in (tangent_bound, quarter_bound)]
    return Outcome(
        numbers=(
            ("⟨ξ⟩ at c", f"{xi:.4f}"),
            ("Share of the bound ¼", f"{4 * xi:.0%}"),
            ("Gap at ψ, with ⟨ξ⟩", f"{gaps[0]:.3f}"),
            ("Gap at ψ, with ¼", f"{gaps[1]:.3f}"),
        ),
        figure=swept(lambda at: _figure(at, psi, True), np.linspace(0, c, 9), "c")
        if revealed
        else _figure(c, psi, False),
        table=lambda: _bounds(c),
        explanation=(
            f"⟨ξ⟩ is largest at c = 0, where it is ¼, and falls to **{xi:.4f}** at c = {c:g}. So one person "
            "moves Σ⟨ξ⟩xxᵀ by at most ¼ in the Frobenius norm (root of the sum of squares), because "
            "‖xxᵀ‖ = ‖x‖² ≤ 1. Given ξ, the likelihood is Gaussian in ψ and the model is conjugate. "
            f"At ψ = {psi:g}, the bound with ⟨ξ⟩ lies {gaps[0]:.3f} below the curve, the simpler one with ¼ "
            f"{gaps[1]:.3f}."
        ),
    )


def _mean(c: float) -> float:
    return float(pg_means(np.array([c]))[0])


def _bounds(c: float) -> pd.DataFrame:
    psi = np.linspace(-LARGEST, LARGEST, 201)
    return pd.DataFrame(
        {
            "ψ": psi,
            "Logistic": expit(psi),
            "Gaussian with ⟨ξ⟩": tangent_bound(psi, c),
            "Gaussian with ¼": quarter_bound(psi, c),
        }
    )


def _figure(c: float, psi: float, revealed: bool) -> Figure:
    curves = {name: column.to_numpy() for name, column in _bounds(c).items()}
    odds, hover = curves["ψ"], "ψ = %{x:.2f}: %{y:.3f}"
    left = [line("⟨ξ⟩ at your tangent point", [c, c], [0, 1], GREY, "dot")]
    right = [line("Logistic curve", odds, curves["Logistic"], GREY, "solid", hover)]
    if revealed:
        left = _mean_lines(c)
        right += [
            line("Gaussian with ⟨ξ⟩", odds, curves["Gaussian with ⟨ξ⟩"], BLUE, "solid", hover),
            line("Gaussian with ¼", odds, curves["Gaussian with ¼"], VERMILION, "dash", hover),
            point("Tangent point", c, float(expit(c)), f"touches at c = {c:g}"),
            line("ψ", [psi, psi], [0, float(expit(psi))], PURPLE, "dot"),
        ]
    quarter = [mark("¼", LARGEST, 0.25, VERMILION, yanchor="bottom", xanchor="right")] if revealed else []
    means = axis("⟨ξ⟩", range=[0, 0.3 if revealed else 1.05])
    log_odds = axis("Log-odds ψ", range=[-LARGEST, LARGEST])
    return side_by_side(
        Plot("Mean of ξ ~ PG(1, c)", left, axis("Argument c", range=[-0.2, LARGEST + 0.2]), means, quarter),
        Plot("Curve, lower bounds", right, log_odds, axis("p(y = 1)", range=[0, 1.05])),
    )


def _mean_lines(c: float) -> list[dict[str, Any]]:
    """Return ⟨ξ⟩ against its argument, its bound, and a marker at c."""
    arguments, xi = np.linspace(0, LARGEST, 201), _mean(c)
    return [
        line("⟨ξ⟩", arguments, pg_means(arguments), BLUE, "solid", "c = %{x:.2f}: ⟨ξ⟩ = %{y:.4f}"),
        line("¼", [0, LARGEST], [0.25, 0.25], VERMILION, "dash"),
        point("Here", c, xi, f"c = {c:g}: ⟨ξ⟩ = {xi:.4f}"),
    ]


LESSON = lesson(__file__, parameters=(TANGENT, PLACE), look=look)
