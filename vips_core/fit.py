"""The only training loop (the paper's Algorithm 2): release, update, repeat."""

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
    """Where a run stands after a step: all of it is public.

    Parameters
    ----------
    step
        Steps so far.
    plan
        The plan of the run.
    params
        Parameters after the step.
    ledger
        What was released so far.

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
    """A trained model with the ledger of what its training released.

    Parameters
    ----------
    model
        With its public settings.
    params
        What training learned.
    ledger
        What was released: ε comes from it.
    plan
        What was meant to be released.

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
        """ε of what was really released.

        Parameters
        ----------
        accountant
            One of `vips_core.ACCOUNTANTS`.
        delta
            δ; None is the plan's.

        Returns
        -------
        float
            ε, ∞ where there was no noise.
        """
        return self.ledger.epsilon(self.plan.delta if delta is None else delta, accountant)

    def save(self, path: str | Path) -> None:
        """Write the fit into a folder, which `load` reads again. The files are as public as the parameters.

        Parameters
        ----------
        path
            The folder; it is made where it is missing.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / saved.LEDGER).write_text(self.ledger.to_json(), encoding="utf-8")
        saved.write_params(folder / saved.PARAMETERS, self.params)
        saved.write_settings(folder / saved.SETTINGS, self.model, self.plan)


def load(path: str | Path, model: Any = None) -> Fit[Any]:
    """Return the fit that `Fit.save` wrote, or `vips-explorer fit --out`.

    Parameters
    ----------
    path
        The folder.
    model
        A model of your own, with the settings that it was trained with; not needed for models of
        `vips_core`.

    Returns
    -------
    Fit
        With the same parameters, ledger and plan.

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
    """Train `model` on records in memory, within `plan`.

    Nothing is stored: the run is in no list, and the cap of a registered data set is not touched, even where
    these are its records. `vips_core.fit_registered` trains within that cap.

    Parameters
    ----------
    model
        `vips_core.LDA`, `BayesianLogistic`, `SBN`, or one of your own, see `vips_core.models.base.Model`.
    data
        The records, as many as the plan is for; `Sharded` where they do not fit in memory.
    plan
        With a noise multiplier; 0 trains without privacy.
    seed
        None draws from the operating system's entropy. A number repeats the run exactly, and the ledger
        marks it as a demonstration, because whoever knows the seed can subtract the noise.
    on_step
        Called after every step with its `Progress`; if it returns True, the run stops there, and the
        result holds what was released until then.
    cluster
        Where the sums are computed: None is this process, otherwise "tcp://host:8786", "local[N]" for N
        processes here, a `vips_core.engines.cluster.Cluster` or a `distributed.Client`. The result has the
        same bits.

    Returns
    -------
    Fit
        Parameters, and the ledger of what was released for them.

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
    """Return the plan that suits `model` best within a compute of `epochs` passes; public quantities only.

    A model may have a rule of its own. Without one, efficiency decides.

    Parameters
    ----------
    model
        Of `vips_core`, or one of your own.
    records
        N.
    epsilon, delta
        The budget, by PLD.
    epochs
        Passes over the data that may be computed.

    Returns
    -------
    PrivacyPlan
        Calibrated to spend `epsilon`.

    Examples
    --------
    >>> from vips_core import SBN
    >>> plan = recommend(SBN(784, 50, (28, 28)), records=60_000, epsilon=1.0, delta=1e-5, epochs=12)
    >>> plan.steps, plan.sampling_rate
    (4, 1.0)
    """
    rule: Callable[..., PrivacyPlan] = getattr(model, "recommend", most_efficient)
    return rule(records=records, epsilon=epsilon, delta=delta, epochs=validate.positive("epochs", epochs))
