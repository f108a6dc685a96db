"""The training loop of every method that releases noisy sums (the paper's Algorithm 2)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from vips_core import saved, validate
from vips_core.engines.cluster import engine_of
from vips_core.models.base import Data, Model, Params, for_records, most_efficient
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.noise import Randomness
from vips_core.privacy.plan import PrivacyPlan
from vips_core.privacy.wall import release
from vips_core.records import Sharded


@dataclass(frozen=True)
class Progress(Generic[Params]):
    """State of a run after a step. All of it may be published.

    Parameters
    ----------
    step
        Steps so far.
    plan
        The run's plan.
    params
        Parameters after the step.
    ledger
        Releases so far.

    Examples
    --------
    >>> plan = PrivacyPlan(records=10, expected_batch=10, steps=2, noise_multiplier=1.0, delta=1e-3)
    >>> Progress(1, plan, None, Ledger(10)).step
    1
    """

    step: int
    plan: PrivacyPlan
    params: Params
    ledger: Ledger


@dataclass(frozen=True)
class Fit(Generic[Params]):
    """A trained model with the ledger of its training.

    Parameters
    ----------
    model
        The model, with its public settings.
    params
        The learned parameters.
    ledger
        All releases; `epsilon` is computed from them.
    plan
        The releases as planned.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rows = vips.Images.from_images(np.eye(8), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=8, expected_batch=8, steps=2, noise_multiplier=4.0, delta=1e-3)
    >>> fit = vips.fit(vips.SBN(8, 2), rows, plan, seed=0)
    >>> round(fit.epsilon("gaussian"), 3) == round(plan.epsilon("gaussian"), 3)
    True
    """

    model: Any
    params: Params
    ledger: Ledger
    plan: PrivacyPlan

    def epsilon(self, accountant: str = "pld", delta: float | None = None) -> float:
        """Return ε of the releases that were actually made.

        Parameters
        ----------
        accountant
            One of `vips_core.ACCOUNTANTS`.
        delta
            δ; None takes the plan's.

        Returns
        -------
        float
            ε, or ∞ without noise.
        """
        return self.ledger.epsilon(self.plan.delta if delta is None else delta, accountant)

    def save(self, path: str | Path) -> None:
        """Write the fit into a folder for `load`. The files are as public as the parameters.

        Parameters
        ----------
        path
            The folder, created if missing.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / saved.LEDGER).write_text(self.ledger.to_json(), encoding="utf-8")
        saved.write_params(folder / saved.PARAMETERS, self.params)
        saved.write_settings(folder / saved.SETTINGS, self.model, self.plan)


def load(path: str | Path, model: Any = None) -> Fit[Any]:
    """Read a fit that `Fit.save` or `vips-explorer fit --out` wrote.

    Parameters
    ----------
    path
        The folder.
    model
        Your own model, with the settings that it was trained with; not needed for models of `vips_core`.

    Returns
    -------
    Fit
        The same parameters, ledger and plan.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rows = vips.Images.from_images(np.eye(8), threshold=0.5)
    >>> plan = vips.PrivacyPlan(records=8, expected_batch=8, steps=2, noise_multiplier=4.0, delta=1e-3)
    >>> fit = vips.fit(vips.SBN(8, 2), rows, plan, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(folder)
    ...     again = vips.load(folder)
    >>> again.model == fit.model and np.array_equal(again.params.weights, fit.params.weights)
    True
    """
    folder = Path(path)
    model, plan = saved.read_settings(folder / saved.SETTINGS, model)
    params = saved.read_params(folder / saved.PARAMETERS, model.init(plan, Randomness.of(0).generator()))
    return Fit(model, params, saved.read_ledger(folder / saved.LEDGER), plan)


def fit(
    model: Model[Params, Data],
    data: Data | Sharded,
    plan: PrivacyPlan,
    *,
    seed: int | None = None,
    on_step: Callable[[Progress[Params]], object] | None = None,
    cluster: Any = None,
) -> Fit[Params]:
    """Train a model on records, according to a plan.

    Nothing is stored: the run appears in no list, and no cap is charged, even if these records belong to a
    registered data set. `vips_core.fit_registered` trains within the data set's cap.

    Parameters
    ----------
    model
        `vips_core.LDA`, `BayesianLogistic`, `SBN`, or your own: see `vips_core.models.base.Model`.
    data
        The records, as many as the plan states; `Sharded` if they do not fit in memory.
    plan
        A plan with a noise multiplier; 0 trains without privacy.
    seed
        None draws from the operating system's entropy. A number repeats the run exactly, and the ledger
        marks it as a demonstration, because anyone who knows the seed can subtract the noise.
    on_step
        Function called with the `Progress` after every step. If it returns True, the run stops, and the
        result holds the releases so far.
    cluster
        Where the sums are computed: None for this process, otherwise "tcp://host:8786", "local[N]" for N
        processes on this machine, a `vips_core.engines.cluster.Cluster` or a `distributed.Client`. The result
        has the same bits.

    Returns
    -------
    Fit
        The parameters, and the ledger of the releases.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> corpus = vips.Documents.from_counts(np.ones((50, 4), int), ["tea", "milk", "sun", "rain"])
    >>> plan = vips.PrivacyPlan(records=50, expected_batch=10, epochs=1, noise_multiplier=2.0, delta=1e-3)
    >>> vips.fit(vips.LDA(2, corpus.vocabulary, 4), corpus, plan).ledger.steps
    5
    """
    plan.require_noise_multiplier()
    if isinstance(data, str):
        raise ValueError(
            f"data must be records, got the text {validate.shown(data)}: vips_core.fit_registered trains on "
            "a registered data set"
        )
    if len(data) != plan.records:
        raise ValueError(f"the plan is for {plan.records} records, but the data has {len(data)}")
    model = for_records(model, data)
    randomness = Randomness.of(seed)
    ledger = Ledger(plan.records, seeded=seed is not None)
    params = model.init(plan, randomness.derive("start").generator())
    with engine_of(cluster) as engine:
        for step in range(plan.steps):
            released = release(model, params, data, plan, step, randomness, ledger, engine)
            params = model.m_step(params, released, step)
            if on_step is not None and on_step(Progress(step + 1, plan, params, ledger)) is True:
                break
    return Fit(model, params, ledger, plan)


def recommend(model: Any, *, records: int, epsilon: float, delta: float, epochs: float) -> PrivacyPlan:
    """Return the recommended plan for a model within a compute budget, from public quantities only.

    A model may have its own rule. Otherwise the most efficient plan is returned.

    Parameters
    ----------
    model
        A model of `vips_core`, or your own.
    records
        N.
    epsilon, delta
        Privacy budget; the PLD accountant calibrates the noise.
    epochs
        Compute budget, in passes over the data.

    Returns
    -------
    PrivacyPlan
        A plan calibrated to spend `epsilon`.

    Examples
    --------
    >>> from vips_core import SBN
    >>> plan = recommend(SBN(784, 50, (28, 28)), records=60_000, epsilon=1.0, delta=1e-5, epochs=12)
    >>> plan.steps, plan.sampling_rate
    (4, 1.0)
    """
    rule: Callable[..., PrivacyPlan] = getattr(model, "recommend", most_efficient)
    return rule(records=records, epsilon=epsilon, delta=delta, epochs=validate.positive("epochs", epochs))
