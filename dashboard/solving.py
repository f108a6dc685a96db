"""The largest batch that a target ε allows, at fixed epochs."""

import math
from collections.abc import Callable

from vips_core import PrivacyPlan

_COARSE = 1.1  # ratio of batch sizes that are looked at first


def largest_batch(
    make: Callable[[int], PrivacyPlan], epochs: float, records: int, target: float, accountant: str
) -> PrivacyPlan | None:
    """Return the plan with the largest S whose ε meets the target, None where there is none.

    `make` gives the plan for S at these epochs, or raises `ValueError` where its steps are too many. ε rises
    with S as long as T = ⌊epochs · N/S⌋ stays the same, and falls a little where T does, so it is no monotone
    function of S. But of all S with the same T the smallest decides whether any fits. Those are looked at
    from the largest S down, at most a tenth apart, and then by halving between the last that failed and the
    first that fits.
    """
    work = epochs * records

    def fits(batch: int) -> bool:
        return make(batch).epsilon(accountant) <= target

    def first(batch: int) -> int:
        """Return the smallest S with as many steps."""
        return min(batch, math.floor(work / (make(batch).steps + 1)) + 1)

    batch = min(records, math.floor(work + 1e-9))
    failed = batch + 1
    while batch >= 1 and not fits(first(batch)):
        failed = first(batch)
        batch = min(failed - 1, math.floor(failed / _COARSE))
    if batch < 1:
        return None
    good = first(batch)
    while failed - good > 1:
        middle = (good + failed) // 2
        start = max(good, first(middle))
        if fits(middle):
            good = middle
        elif start > good and fits(start):
            good, failed = start, middle
        else:
            failed = start if start > good else middle
    return make(good)
