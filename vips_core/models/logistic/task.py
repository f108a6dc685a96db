"""Risk from features: Bayesian logistic regression and its rivals."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from vips_core.kernels import Array
from vips_core.models.base import Fitted
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.models.logistic.refined import expected_signal
from vips_core.models.logistic.rivals import PrivateGradientDescent, fit_objective_perturbation
from vips_core.models.logistic.scores import (
    auc,
    auc_of,
    calibration_of,
    constant_log_loss,
    log_loss,
    roc_of,
)
from vips_core.models.task import (
    TOP,
    WALL_METHODS,
    Chart,
    Method,
    PaperSettings,
    PureTraining,
    Report,
    Score,
    Task,
    by_name,
    register,
)
from vips_core.options import Option
from vips_core.privacy.plan import PrivacyPlan
from vips_core.records import Table

if TYPE_CHECKING:
    import pandas as pd

GRADIENT_DESCENT, OBJECTIVE_PERTURBATION = "sgd", "perm"
_AUC, _LOG_LOSS = "AUC", "log loss"


def _train_by_objective_perturbation(
    values: Mapping[str, Any], train: Table, test: Table | None
) -> tuple[Report, Mapping[str, Any]]:
    """Return private ERM by objective perturbation: ε-DP for replacing one record."""
    if not train.in_memory:
        raise ValueError("objective perturbation needs all rows in memory, and the data set is sharded")
    weights = fit_objective_perturbation(train, values["epsilon"], np.random.default_rng(values.get("seed")))
    columns = {"feature": train.feature_names, "mean": weights}
    return _scores_and_coefficients(columns, test, lambda rows: expit(rows.x @ weights)), {"mean": weights}


def _objective_perturbation_code(values: Mapping[str, Any]) -> tuple[str, str]:
    """Return imports and lines of Python that do the same."""
    return (
        "import numpy as np\n\nfrom vips_core.models.logistic.rivals import fit_objective_perturbation\n",
        f"rng = np.random.default_rng({values.get('seed')!r})\n"
        f"weights = fit_objective_perturbation(data.train, {values['epsilon']!r}, rng)\n"
        "print(weights)\n",
    )


class LogisticTask(Task):
    """Bayesian logistic regression and its rivals."""

    name = "logistic"
    title = "Risk"
    help = "risk from features (Bayesian logistic regression)"
    product = "Risk model"
    kind = "table"
    model_types = (BayesianLogistic, PrivateGradientDescent)
    methods: Mapping[str, Method] = {
        method.name: method
        for method in (
            *WALL_METHODS,
            Method(GRADIENT_DESCENT, "DP-SGD"),
            Method(
                OBJECTIVE_PERTURBATION,
                "Objective perturbation",
                refused_options={"noise": "whose proof is about epsilon"},
                ignored_options=("accountant", "delta", "epochs", "batch"),
                pure=PureTraining(_train_by_objective_perturbation, _objective_perturbation_code),
                refused_on_private="its ε is for replacing a record and does not compose with the ledger",
                proof="Objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011) adds a random linear "
                "term to the regression's objective and solves it once.",
            ),
        )
    }
    scores = by_name(
        Score(
            _AUC,
            larger_is_better=True,
            meaning="how often a case gets a higher risk than a non-case (half the time by guessing)",
            in_paper=True,
        ),
        Score(
            _LOG_LOSS,
            larger_is_better=False,
            meaning="how surprising the outcomes are, given the predicted risks",
        ),
    )
    tables: tuple[str, ...] = ("coefficients",)
    epochs = 16.0
    options: Mapping[str, Option] = {}
    clipping = (
        "Rows longer than the public norm bound are scaled down to it. Refined also weights each row's "
        "contribution, and DP-SGD clips it, to stay within the block's bound."
    )
    tuning = (
        "Constants of the refined variant were set by hand with the public tables of the utility bench in "
        "view (NHANES and generated cohorts among them), its prior by leave-one-out. Results on these tables "
        "are therefore optimistic. DP-SGD and objective perturbation were tuned on generated cohorts of "
        "other seeds, DP-SGD also after a look at two of the data sets compared."
    )
    paper = PaperSettings(
        {"epsilon": "Figure 5"}, batches=(400, 1_600, 3_200), noises=(0.8, 1.0, 1.25, 1.5, 2.0)
    )
    score_code = "vips.auc(fit, data.test)"

    def model(self, method: str, values: Mapping[str, Any], train: Table) -> Any:
        """Return the regression, or DP-SGD, for these features and this norm bound."""
        if method == GRADIENT_DESCENT:
            return PrivateGradientDescent(train.feature_names, train.norm_bound)
        return BayesianLogistic(train.feature_names, train.norm_bound, self.methods[method].variant)

    def model_code(self, method: str, values: Mapping[str, Any]) -> str:
        """Return the Python expression for this model."""
        public = "data.train.feature_names, data.train.norm_bound"
        if method == GRADIENT_DESCENT:
            return f"PrivateGradientDescent({public})"
        return f'vips.BayesianLogistic({public}, "{self.methods[method].variant}")'

    def imports(self, method: str) -> str:
        """Return the import of DP-SGD, which is not a public name."""
        sgd = "from vips_core.models.logistic.rivals import PrivateGradientDescent\n"
        return sgd if method == GRADIENT_DESCENT else ""

    def check(self, test: Table) -> None:
        """Refuse held-out rows that all have the same label: AUC is undefined."""
        if test.y.min() == test.y.max():
            raise ValueError(f"held-out rows must have both labels, got {test.y[0]} in all of them")

    def score_validation(self, fit: Fitted[Any], test: Table) -> float:
        """Return the AUC of held-out rows."""
        return auc(fit, test)

    def report(self, fit: Fitted[Any], test: Table | None) -> Report:
        """Return held-out scores, and coefficients with credible intervals if the method provides them."""
        columns = {"feature": fit.model.features, "mean": fit.params.mean}
        if isinstance(fit.model, BayesianLogistic):
            low, high = fit.model.credible_intervals(fit).T
            columns |= {"low (90 %)": low, "high (90 %)": high}
        return _scores_and_coefficients(columns, test, lambda rows: fit.model.predict_probability(fit, rows))

    def charts(self, fit: Fitted[Any], test: Table, scores: Mapping[str, float]) -> list[Chart]:
        """Return the ROC curve and the calibration of held-out rows."""
        import pandas as pd

        risks = fit.model.predict_probability(fit, test)
        curve, groups = roc_of(test.y, risks), calibration_of(test.y, risks)
        rates = {
            name.replace("_", " "): column for name, column in asdict(curve).items() if name != "threshold"
        }
        baseline, loss = constant_log_loss(test.y), scores[_LOG_LOSS]
        verdict = "beats" if loss < baseline else "does not beat"
        caption = (
            f"Held-out records in {len(groups.records)} groups by predicted risk. "
            f"Cases predicted: {risks.sum():,.0f}, observed: {test.y.sum():,}. Log loss {loss:.3f}: the "
            f"model {verdict} a constant prediction ({baseline:.3f})."
        )
        observed = pd.DataFrame(asdict(groups))
        return [
            Chart("roc", "ROC curve", "On held-out records, which are public.", pd.DataFrame(rates), "roc"),
            Chart("calibration", "Predicted and observed risk", caption, observed, "calibration"),
        ]

    def cautions(self, model: Any, plan: PrivacyPlan) -> list[str]:
        """Warn if noise hides an average coefficient, or if intervals ignore the noise."""
        features, cautions = len(model.features), list[str]()
        if plan.noise_multiplier == 0:
            return cautions
        if isinstance(model, BayesianLogistic) and model.variant == "paper":
            cautions.append("The paper's posterior ignores the noise: its intervals are too narrow.")
        if expected_signal(plan, features) < 1:
            cautions.append(
                f"{plan.records:,} records are few for {features:,} coefficients: noise is expected to hide "
                "most coefficients. Use more records, fewer predictors or a larger ε."
            )
        return cautions


def _scores_and_coefficients(
    columns: Mapping[str, Any], test: Table | None, probabilities: Callable[[Table], Array]
) -> Report:
    import pandas as pd

    scores, table = {}, pd.DataFrame(columns)
    if test is not None:
        risks = probabilities(test)
        scores = {_AUC: auc_of(test.y, risks), _LOG_LOSS: log_loss(test.y, risks)}
        table["per unit"] = per_unit(table, test.ranges)
    largest = table.reindex(table["mean"].abs().sort_values(ascending=False).index).head(TOP)
    return Report(scores, {"coefficients": table}, largest.to_string(index=False, float_format="%.3f"))


def per_unit(table: "pd.DataFrame", ranges: Mapping[str, tuple[float, float]]) -> "pd.Series":
    """Return coefficients per unit of their predictor; `mean` is per whole public range.

    Parameters
    ----------
    table
        A table with columns feature and mean.
    ranges
        Public ranges of predictors; the others have no unit.
    """
    widths = {name: high - low for name, (low, high) in ranges.items()}
    return table["mean"] / table["feature"].map(widths)


register(LogisticTask())
