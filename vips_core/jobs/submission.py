"""From a request to a waiting run: everything is checked and planned before any budget is reserved."""

from vips_core.engines.cluster import Cluster
from vips_core.jobs import execution, room
from vips_core.jobs.request import Request
from vips_core.privacy.plan import PrivacyPlan, PurePlan
from vips_core.store.rows import FIT, NewRun
from vips_core.store.store import Store


def submit(
    store: Store, request: Request, *, plan: PrivacyPlan | PurePlan | None = None, held: bool = False
) -> str:
    """Queue a run; on private data its whole cost is reserved, or it is refused.

    Parameters
    ----------
    store
        Where its data are and the run is kept.
    request
        What to do.
    plan
        Of `execution.prepare` for this request and its records, where the caller has it already.
    held
        Whether other processes let it be for a while, because the caller starts it itself.

    Returns
    -------
    str
        The run's name.

    Examples
    --------
    >>> import tempfile
    >>> from vips_core.jobs import worker
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(folder.name)
    >>> table = {"model": "logistic", "data": "nhanes-stroke", "epsilon": 1, "delta": 1e-5, "epochs": 2}
    >>> run_id = submit(store, Request.from_mapping(table))
    >>> store.run(run_id).status, store.run(run_id).plan.steps
    ('queued', 2)
    >>> worker.work(store, run_id)
    >>> store.run(run_id).status
    'done'
    >>> store.database.close()
    >>> folder.cleanup()
    """
    row = store.data_row(request.data)
    if row.private:
        check_private(request, row.name)
    if request.on_cluster:
        Cluster.from_environment()  # a missing one would be noticed after the first release was announced
    if plan is None:
        prepared = execution.prepare(request, store.load(request.data))
        room.check(store.home, room.needed(prepared))  # before anything is reserved
        plan = prepared.plan
    run = NewRun(
        FIT,
        request.to_mapping(),
        request.model,
        request.data,
        1 if isinstance(plan, PurePlan) else plan.steps,
        plan=plan,
        accountant=request.accountant,
        seed=request.seed,
    )
    return store.queue(run, held=held)


def check_private(request: Request, name: str) -> None:
    """Refuse what would void the guarantee of the private data set of this name."""
    if not request.private:
        raise ValueError(f"{name} is private: a run without noise is refused")
    if request.seed is not None:
        raise ValueError(
            f"{name} is private: a run with a seed is refused, because whoever knows it can "
            "subtract the noise"
        )
    reason = request.task.methods[request.method].refused_on_private
    if reason:
        raise ValueError(f"{name} is private: method {request.method} is refused, because {reason}")
