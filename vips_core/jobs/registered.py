"""Training from Python on a registered data set, as `vips-explorer fit` does from a shell."""

from collections.abc import Callable
from typing import Any

from vips_core.fit import Fit, Progress, load


def fit_registered(
    model: str,
    data: str,
    *,
    method: str = "refined",
    on_step: Callable[[Progress[Any]], object] | None = None,
    **options: Any,
) -> Fit[Any]:
    """Train on a registered data set within its cap, and keep the run.

    This is what `vips-explorer fit` does, in this process. On private data the run reserves its whole cost
    before its first release, or is refused; it is settled to what it released. The store (`VIPS_HOME`) keeps
    the run, so that `vips-explorer runs` lists and exports it.

    Parameters
    ----------
    model
        "lda", "logistic" or "sbn".
    data
        The name of a data set that was registered (`vips-explorer data add`) or comes with the project.
    method
        "refined", "paper" or another method of the model.
    on_step
        Called after every step with its `Progress`; if it returns True, the run stops there, and the
        result holds what was released until then.
    **options
        As in `vips-explorer fit MODEL --help`: `delta`, `epsilon` or `noise`, and optionally
        `epochs`, `batch`, `accountant` and the model's own, such as `topics`. `seed` is refused on
        private data. `engine="cluster"` has the cluster of `VIPS_CLUSTER` compute the sums.

    Returns
    -------
    Fit
        The fit that the store keeps. Bad options, a run that does not fit under the cap, and a failed run
        raise `ValueError`. The first Ctrl-C stops after the step, keeps what was released and then raises
        `KeyboardInterrupt`; a second one stops at once. What was released counts in any case.

    Examples
    --------
    >>> import tempfile
    >>> from unittest import mock
    >>> import numpy as np
    >>> import vips_core as vips
    >>> from vips_core.store.budget import Cap
    >>> from vips_core.store.store import Store
    >>> with tempfile.TemporaryDirectory() as home, mock.patch.dict("os.environ", VIPS_HOME=home):
    ...     rows = vips.Table(np.ones((80, 1)), np.arange(80) % 2, ("intercept",), 1.0)
    ...     row = Store().add_data("patients", rows, cap=Cap(3.0, 1e-5), unit="one patient")
    ...     fit = vips.fit_registered("logistic", "patients", epsilon=1.0, delta=1e-5, epochs=2)
    ...     left = Store().budget("patients").left_epsilon
    >>> round(fit.epsilon("pld"), 3), round(left, 2)
    (1.0, 2.64)
    """
    # Imported here, because training on records in memory needs no store.
    from vips_core.jobs import execution, submission, worker
    from vips_core.jobs.request import Request
    from vips_core.store.store import Store

    if not isinstance(data, str):  # the error must not show records
        raise ValueError(
            f"data must be the name of a registered data set, got {type(data).__name__}: vips_core.fit "
            "trains on records in memory"
        )
    request = Request.from_mapping({**options, "model": model, "data": data, "method": method})
    store = Store()
    prepared = submission.prepare(request, store.load(data))
    run, interrupted = worker.work_in_foreground(
        store, prepared, lambda run_id: on_step or (lambda progress: None)
    )
    folder = store.folder(run.id)
    if interrupted:
        raise KeyboardInterrupt(f"run {run.id} is {run.status}; what it released is in {folder}")
    if not (folder / execution.SETTINGS).exists():  # a method without a ledger, or stopped at once
        raise ValueError(f"run {run.id} is {run.status} and left no fit, only what is in {folder}")
    return load(folder)
