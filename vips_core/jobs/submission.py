"""From a request to a queued run: everything is checked and planned before any budget is reserved."""

import functools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vips_core import saved
from vips_core.engines.cluster import Cluster
from vips_core.fit import recommend
from vips_core.jobs.lifecycle import DISK_SPACE
from vips_core.jobs.request import Request
from vips_core.kernels.pool import thread_count
from vips_core.privacy.plan import PrivacyPlan, PurePlan
from vips_core.records import DataSet, check_alike
from vips_core.store.rows import FIT
from vips_core.store.store import Store

_TIMES_PARAMETERS = 3  # bytes of results per byte of parameters: the parameters, tables of them, progress
_BESIDES = 64 * 1024  # bytes of ledger, summary and result
_ANY_EPSILON = 1.0  # stands in for ε where noise is given: recommended batch and steps do not depend on it


@dataclass(frozen=True)
class Prepared:
    """A run before its first release: everything about it is public, except the records."""

    request: Request
    data: DataSet
    model: Any
    plan: PrivacyPlan | PurePlan

    @property
    def wall_plan(self) -> PrivacyPlan:
        """The plan of the releases at the wall; `ValueError` for a method that releases nothing there."""
        if isinstance(self.plan, PurePlan):
            raise ValueError(f"method {self.request.method} releases nothing at the wall")
        return self.plan

    @functools.cached_property
    def result_bytes(self) -> int:
        """Estimated size of the results on disk, in bytes."""
        if self.request.chosen_method.pure:  # a few numbers
            return _BESIDES
        params = self.model.init(self.plan, np.random.default_rng(0))
        parameters = sum(int(array.nbytes) for array in saved.arrays(params).values())
        return _TIMES_PARAMETERS * parameters + _BESIDES

    def check_disk_space(self, folder: Path) -> None:
        """Refuse a run whose results do not fit on the disk, before it spends anything."""
        free = shutil.disk_usage(folder).free
        if free < self.result_bytes:
            raise ValueError(
                f"the disk that holds {folder} has {free / 1e6:,.1f} MB left, and the run needs "
                f"{self.result_bytes / 1e6:,.1f} MB: nothing was spent, free some space and try again"
            )

    def reserve_disk_space(self, folder: Path) -> Path:
        """Take the disk space that the results need, and return the file that holds it."""
        path = folder / DISK_SPACE
        with path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, self.result_bytes)
            else:
                file.write(bytes(self.result_bytes))
        return path


def prepare(request: Request, data: DataSet, plan: PrivacyPlan | PurePlan | None = None) -> Prepared:
    """Make model and plan, so that every mistake shows before any budget is spent.

    On private data, anything that would void the guarantee is refused.

    Parameters
    ----------
    request
        The run's request.
    data
        Its data set.
    plan
        The plan stored with the run; None derives it from the request.

    Returns
    -------
    Prepared
        The run, ready for `vips_core.jobs.execution.run`.
    """
    if data.private:
        check_private(request, data.name)
    task = request.task
    if data.train.kind != task.kind:
        raise ValueError(
            f"{request.model} needs data of kind {task.kind}, but {data.name} is of kind {data.train.kind}"
        )
    if data.test is not None:
        check_alike(data.train, data.test)
        task.check(data.test)
    thread_count()  # refuses a bad variable now rather than in the first step
    model = task.model(request.method, request.values, data.train)
    records = len(data.train)
    if plan is None and request.chosen_method.pure is not None:
        plan = PurePlan(records, request.get("epsilon"))
    return Prepared(request, data, model, plan or plan_for(request, model, records))


def plan_for(request: Request, model: Any, records: int) -> PrivacyPlan:
    """Return the plan of a request whose method releases at the wall.

    The plan is derived once, when the run is submitted, and stored with the run.

    Parameters
    ----------
    request
        Gives ε or noise, δ and epochs; the batch size may be left open.
    model
        The model, which may have its own rule for batch and steps.
    records
        N.

    Returns
    -------
    PrivacyPlan
        The plan, with its noise.
    """
    epsilon, delta, epochs, batch = (request.get(name) for name in ("epsilon", "delta", "epochs", "batch"))
    if batch is not None:
        plan = PrivacyPlan(records=records, expected_batch=batch, epochs=epochs, delta=delta)
    else:
        plan = recommend(model, records=records, epsilon=epsilon or _ANY_EPSILON, delta=delta, epochs=epochs)
    noise = request.get("noise") if request.private else 0.0
    if noise is not None:
        return plan.replace(noise_multiplier=noise)
    is_calibrated = batch is None and request.accountant == "pld"
    return plan if is_calibrated else plan.calibrate(epsilon, request.accountant)


def submit(store: Store, request: Request) -> str:
    """Queue a run on a data set of the store; on private data, reserve its whole cost or refuse the run.

    Parameters
    ----------
    store
        Holds the data, and will hold the run.
    request
        The run's request.

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
    return queue(store, prepare(request, store.load(request.data)))


def queue(store: Store, prepared: Prepared, *, held: bool = False) -> str:
    """Queue a prepared run and return its name; on private data, reserve its whole cost or refuse the run.

    Parameters
    ----------
    store
        Holds the data, and will hold the run.
    prepared
        The run.
    held
        Whether the run is claimed for the caller, who starts it itself.

    Returns
    -------
    str
        The run's name.
    """
    request, plan = prepared.request, prepared.plan
    if request.on_cluster:
        Cluster.from_environment()  # refuses a missing cluster before the first announcement
    prepared.check_disk_space(store.home)  # before anything is reserved
    table, accountant = request.to_mapping(), request.accountant
    return store.queue(FIT, table, plan.steps, plan, accountant=accountant, held=held)


def check_private(request: Request, name: str) -> None:
    """Refuse a request that would void the guarantee of the private data set `name`."""
    if not request.private:
        raise ValueError(f"{name} is private: a run without noise is refused")
    if request.seed is not None:
        raise ValueError(
            f"{name} is private: a run with a seed is refused, because whoever knows it can "
            "subtract the noise"
        )
    reason = request.chosen_method.refused_on_private
    if reason:
        raise ValueError(f"{name} is private: method {request.method} is refused, because {reason}")
