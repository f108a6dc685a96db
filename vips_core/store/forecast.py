"""What further runs would make of a private data set's budget, before any of them is queued."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vips_core.privacy.events import SampledGaussian
from vips_core.store import budget
from vips_core.store.ledger_chain import LedgerRow


@dataclass(frozen=True)
class Forecast:
    """A budget with and without further runs.

    Attributes
    ----------
    before, after
        Shares of the cap that are taken without and with the runs; above 1 where they do not fit.
    fits
        Whether all of them would be let in, one after the other, by the rule of `Store.queue`.
    """

    before: float
    after: float
    fits: bool


def forecast(rows: Sequence[LedgerRow], runs: Sequence[Sequence[SampledGaussian]]) -> Forecast:
    """Return what runs would make of the budget.

    Parameters
    ----------
    rows
        The ledger of a private data set.
    runs
        The releases of each.

    Returns
    -------
    Forecast
        Nothing fits where the ledger has no cap.

    Examples
    --------
    >>> forecast([], [[SampledGaussian(1.0, 10.0)]]).fits
    False
    """
    cap_filter = budget.filter_of(rows)
    if cap_filter is None:
        return Forecast(0.0, math.inf, fits=False)
    taken, fits = budget.counted(rows), True
    before = min(1.0, cap_filter.share(budget.joined(taken)))
    for new in runs:
        fits = fits and budget.fits(taken, new, cap_filter)
        taken = [*taken, *new]
    after = cap_filter.share(budget.joined(taken))
    return Forecast(before, min(1.0, after) if fits else max(1.0, after), fits)
