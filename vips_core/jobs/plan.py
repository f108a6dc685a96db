"""The plan of a run: what its request asks for, from public quantities only."""

from collections.abc import Sequence
from typing import Any

from vips_core.fit import recommend
from vips_core.jobs.request import Request
from vips_core.privacy.events import SampledGaussian
from vips_core.privacy.plan import PrivacyPlan

_ANY_EPSILON = 1.0  # where noise is given: what a model recommends besides it does not depend on ε


def plan_for(request: Request, model: Any, records: int) -> PrivacyPlan:
    """Return the plan that a request for a method behind the wall asks for.

    It is derived once, when the run is submitted, and stored with it.

    Parameters
    ----------
    request
        With ε or noise, δ, epochs, and perhaps a batch size.
    model
        The model, which may have a rule of its own for batch and steps.
    records
        N.

    Returns
    -------
    PrivacyPlan
        With its noise.
    """
    epsilon, delta, epochs = (request.get(name) for name in ("epsilon", "delta", "epochs"))
    batch = request.get("batch")
    if batch is not None:
        plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
    else:
        plan = recommend(model, records=records, epsilon=epsilon or _ANY_EPSILON, delta=delta, epochs=epochs)
    if not request.private:
        return plan.replace(noise_multiplier=0.0)
    if request.get("noise") is not None:
        return plan.replace(noise_multiplier=request.get("noise"))
    is_calibrated = batch is None and request.accountant == "pld"
    return plan if is_calibrated else plan.calibrate(epsilon, request.accountant)


def plan_of_releases(releases: Sequence[SampledGaussian], records: int, delta: float) -> PrivacyPlan:
    """Return the plan whose releases the ledger holds, for a run that was stored without its plan.

    Parameters
    ----------
    releases
        Reserved by the run: one kind of release, some times over.
    records
        N.
    delta
        δ of the run's request.

    Returns
    -------
    PrivacyPlan
        With exactly these releases.

    Examples
    --------
    >>> plan = plan_of_releases([SampledGaussian(0.5, 2.0, 8)], records=40, delta=1e-5)
    >>> plan.expected_batch, plan.steps, plan.noise_multiplier
    (20, 8, 2.0)
    """
    (event,) = releases
    return PrivacyPlan(
        records=records,
        expected_batch=round(event.sampling_rate * records),
        steps=event.count,
        noise_multiplier=event.noise_multiplier,
        delta=delta,
    )
