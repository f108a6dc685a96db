"""Bayesian logistic regression behind the wall (§5–6, Algorithm 5 of the paper).

p(y = 1 | x) = σ(xᵀm). The paper's variant, and the refined one without noise, have m ~ N(0, I/α) and
α ~ Gamma(a₀, b₀); see `paper`. With noise, the refined variant is no longer variational Bayes, but noisy
preconditioned gradient descent with a Laplace posterior; see `refined` and METHOD.md.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from scipy.special import expit, ndtri

from vips_core import validate
from vips_core.kernels import Array
from vips_core.models.base import Fitted, Variant, VariantModel
from vips_core.models.logistic.paper import Paper, PolyaGammaPosterior
from vips_core.models.logistic.posterior import Posterior
from vips_core.models.logistic.refined import Refined
from vips_core.records import Sharded, Table
from vips_core.records.table import LEAST_BOUND, MOST_BOUND, MissingPairs, checked_missing_pairs

VARIANTS: dict[str, type[Refined] | type[Paper]] = {"refined": Refined, "paper": Paper}
LogisticState = PolyaGammaPosterior | Posterior


@dataclass(frozen=True)
class BayesianLogistic(VariantModel[LogisticState, Table]):
    """Bayesian logistic regression with a Gaussian prior on the weights.

    Parameters
    ----------
    features
        Names of the columns; no name has a special meaning. The refined variant has its own level, which
        `mean` shows at the constant column, if there is one.
    norm_bound
        Public bound on the L2 norm of a row.
    variant
        "refined" (default) or "paper".
    radius
        Refined: norm above which a row weighs less in the columns' moments. None takes norm_bound/2.
    prior_shape, prior_rate
        a₀ and b₀ of the prior precision α ~ Gamma(a₀, b₀), in the paper's variant and without noise. With
        noise, the refined variant has a fixed precision.
    missing_pairs
        Refined: columns that may be missing and their indicators, as in `Table.missing_pairs`. None takes the
        pairs of the training records.

    Examples
    --------
    >>> import numpy as np
    >>> import vips_core as vips
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([np.ones(2000), rng.random(2000)])
    >>> rows = vips.Table(x, rng.random(2000) < x[:, 1], ("intercept", "dose"), norm_bound=2**0.5)
    >>> model = vips.BayesianLogistic(rows.feature_names, rows.norm_bound)
    >>> plan = vips.recommend(model, records=2000, epsilon=2.0, delta=1e-5, epochs=16)
    >>> fit = vips.fit(model, rows, plan, seed=0)
    >>> round(vips.auc(fit, rows), 1)  # synthetic rows: never score private training records
    0.8
    """

    VARIANTS = VARIANTS
    features: tuple[str, ...]
    norm_bound: float = 1.0
    variant: Variant = "refined"
    radius: float | None = None
    prior_shape: float = 1.0
    prior_rate: float = 1.0
    missing_pairs: MissingPairs | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or not all(isinstance(name, str) for name in self.features):
            raise ValueError(f"features must be at least one name, got {self.features!r}")
        validate.one_of("variant", self.variant, VARIANTS)
        validate.number("norm_bound", self.norm_bound, low=LEAST_BOUND, high=MOST_BOUND)
        if self.radius is not None:
            validate.number("radius", self.radius, low=LEAST_BOUND, high=self.norm_bound)
        validate.positive("prior_shape", self.prior_shape)
        validate.positive("prior_rate", self.prior_rate)
        if self.missing_pairs is not None:
            pairs = checked_missing_pairs(self.missing_pairs, len(self.features))
            object.__setattr__(self, "missing_pairs", pairs)

    def for_records(self, data: Table | Sharded) -> Self:
        """Return the model with the records' public missing pairs, unless it was given some."""
        if self.missing_pairs is not None:
            return self
        return replace(self, missing_pairs=getattr(data, "missing_pairs", ()))  # () if data is not a table

    def check(self, data: Table) -> None:
        """Refuse rows whose features are not the model's, in the model's order."""
        if data.x.shape[1] != len(self.features):
            raise ValueError(f"rows must have {len(self.features)} features, got {data.x.shape[1]}")
        validate.same_order("features", self.features, data.feature_names)

    def credible_intervals(
        self,
        fit: Fitted[LogisticState],
        level: float = 0.9,
        of: Literal["weights", "non-private"] = "weights",
    ) -> Array:
        """Return an interval for each coefficient.

        Parameters
        ----------
        fit
            This model, fitted.
        level
            Probability that the interval contains the coefficient.
        of
            "weights": the interval reflects sampling error and privacy noise. "non-private": it is for the
            estimate that the same data would give without privacy noise.

        Returns
        -------
        array
            (d, 2) lower and upper ends.

        Notes
        -----
        If columns nearly determine each other, the data hardly identify their separate coefficients, and
        noise may hide the dependence: intervals can then be too narrow. Leave out one level of each category.
        """
        validate.one_of("of", of, ("weights", "non-private"))
        params = fit.params
        half = _half_width(level, params.coefficient_variance if of == "weights" else params.privacy_variance)
        return np.stack([params.mean - half, params.mean + half], axis=1)

    def predict_probability(self, fit: Fitted[LogisticState], rows: Table) -> Array:
        """Return P(y = 1 | x) with weights integrated out (MacKay 1992); see `predictive_log_odds`.

        Parameters
        ----------
        fit
            This model, fitted.
        rows
            People; their labels are not read.

        Returns
        -------
        array
            One probability a row.
        """
        self.check(rows)
        return np.asarray(expit(fit.params.predictive_log_odds(rows.x)))

    def risk_intervals(self, fit: Fitted[LogisticState], rows: Table, level: float = 0.9) -> Array:
        """Return an interval for each row's risk σ(ψ), from the posterior of ψ = xᵀm.

        Parameters
        ----------
        fit
            This model, fitted.
        rows
            People; their labels are not read.
        level
            Probability that the interval contains the risk.

        Returns
        -------
        array
            (n, 2) lower and upper ends.
        """
        psi, variance = self._log_odds(fit, rows)
        half = _half_width(level, fit.params.widening * variance)
        return np.asarray(expit(np.stack([psi - half, psi + half], axis=1)))

    def _log_odds(self, fit: Fitted[LogisticState], rows: Table) -> tuple[Array, Array]:
        """Return mean and variance of ψ = xᵀm under the posterior."""
        self.check(rows)
        return fit.params.log_odds(rows.x)


def _half_width(level: float, variance: Array) -> Array:
    """Return half the width of a Gaussian's central interval."""
    return np.asarray(ndtri(0.5 + validate.share("level", level) / 2) * np.sqrt(variance))
