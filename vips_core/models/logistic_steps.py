"""M-steps of logistic regression, one for each regime: average what was released, then solve.

All of it is free post-processing; `logistic.py` says which regime is for what.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vips_core.models import logistic_posterior as posterior
from vips_core.models.base import FloatArray, Released
from vips_core.models.symmetric import unpack

if TYPE_CHECKING:
    from vips_core.models.logistic import BayesianLogistic

Regime = Literal["paper", "exact", "narrow", "wide"]

DELAY, FORGETTING = 1024.0, 0.7  # τ₀ and κ of the paper's schedule
EIGENVALUE_FLOOR = 1e-4  # of the curvature per record, as in the paper
LARGEST_LOG_ODDS = 10.0
MOMENT_SCALE = math.sqrt(2) / 4  # of `gradient_and_mass`, where the curvature p(1−p) counts 4/√2


@dataclass(frozen=True)
class LogisticParams:
    """A posterior over the weights and the averages of noisy sums that it comes from."""

    regime: Regime
    records: int
    intercept_steps: int
    mean: FloatArray
    covariance: FloatArray
    precision: float
    privacy_variance: FloatArray
    scale_variance: FloatArray
    point: FloatArray
    average_point: FloatArray
    average_gradient: FloatArray
    average_curvature: FloatArray
    gradient_variance: float
    curvature_variance: float
    log_odds: float


def _step_paper(
    model: "BayesianLogistic", params: LogisticParams, released: Released, step: int
) -> LogisticParams:
    rate = 1.0 if step == 0 else (DELAY + step) ** -FORGETTING
    averaged, prior = _average(params, released, rate, "linear", "curvature"), _prior(model, params)
    curvature = unpack(averaged.average_curvature, len(model.features))
    floor = EIGENVALUE_FLOOR * params.records
    found = posterior.projected(
        averaged.average_gradient, curvature, averaged.gradient_variance, *prior, floor
    )
    return replace(averaged, **vars(found))


def _step_exact(
    model: "BayesianLogistic", params: LogisticParams, released: Released, step: int
) -> LogisticParams:
    # Without privacy noise only sampling is left to average out.
    rate = 1.0 if released.sampling_rate == 1 else 2 / (step + 2)
    averaged, prior = _average(params, released, rate, "linear", "curvature"), _prior(model, params)
    curvature = unpack(averaged.average_curvature, len(model.features))
    return replace(averaged, **vars(posterior.exact(averaged.average_gradient, curvature, *prior)))


def _step_narrow(
    model: "BayesianLogistic", params: LogisticParams, released: Released, step: int
) -> LogisticParams:
    averaged = _average(params, released, 3 / (step + 3), "gradient", "hessian")  # weights rise like t²
    found = posterior.noise_aware(
        averaged.average_gradient,
        averaged.average_point,
        unpack(averaged.average_curvature, len(model.features)),
        averaged.gradient_variance,
        math.sqrt(averaged.curvature_variance),
        *_prior(model, params),
    )
    return replace(averaged, **vars(found))


def _step_wide(
    model: "BayesianLogistic", params: LogisticParams, released: Released, step: int
) -> LogisticParams:
    # The first step, at zero, only finds the class imbalance and is then forgotten.
    rate = 1.0 if step <= 1 else 1 / step
    averaged, index, intercept = _average(params, released, rate, "gradient and mass"), model.intercept, None
    if index is not None:
        if step < params.intercept_steps:
            averaged = replace(averaged, log_odds=_log_odds(averaged, index))
        alone = min(params.intercept_steps - 1, step) / max(step, 1)
        intercept = posterior.Intercept(index, averaged.log_odds, alone)
    found = posterior.noise_aware_diagonal(
        averaged.average_gradient,
        averaged.average_point,
        averaged.average_curvature * MOMENT_SCALE,
        averaged.gradient_variance,
        math.sqrt(averaged.curvature_variance) * MOMENT_SCALE,
        model.norm_bound * params.records,
        intercept,
        *_prior(model, params),
    )
    averaged = replace(averaged, **vars(found))
    if index is not None and step + 1 < params.intercept_steps:
        return replace(averaged, point=averaged.log_odds * np.eye(1, len(found.mean), index)[0])
    return averaged


M_STEPS = {"paper": _step_paper, "exact": _step_exact, "narrow": _step_narrow, "wide": _step_wide}


def _log_odds(params: LogisticParams, intercept: int) -> float:
    """Newton step of the intercept when all other weights are 0."""
    moment = max(params.average_curvature[1, intercept], math.sqrt(params.curvature_variance), 1e-9)
    found = params.average_point[intercept] + params.average_gradient[intercept] / (moment * MOMENT_SCALE)
    return float(np.clip(found, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))


def _average(params: LogisticParams, released: Released, rate: float, *names: str) -> LogisticParams:
    """Move every average by `rate` towards the release, at the point where it was taken."""
    totals = [released.total(name) for name in names]
    gradient, curvature = totals if len(names) == 2 else (totals[0][0], totals[0][1:])
    stds = [released.total_std(name) for name in names]

    def moved(old: Any, new: Any) -> Any:
        return (1 - rate) * old + rate * new

    return replace(
        params,
        average_point=moved(params.average_point, params.point),
        average_gradient=moved(params.average_gradient, gradient),
        average_curvature=moved(params.average_curvature, curvature),
        gradient_variance=(1 - rate) ** 2 * params.gradient_variance + (rate * stds[0]) ** 2,
        curvature_variance=(1 - rate) ** 2 * params.curvature_variance + (rate * stds[-1]) ** 2,
    )


def _prior(model: "BayesianLogistic", params: LogisticParams) -> tuple[float, float, float]:
    """⟨α⟩ so far, a₀ and b₀."""
    return params.precision, model.prior_shape, model.prior_rate
