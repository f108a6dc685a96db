"""The Risk page: its introduction, ready example and preview, and how its results can be looked at."""

import math

import numpy as np
import pandas as pd

from dashboard.components.charts import plot
from dashboard.components.formats import number
from dashboard.components.tables import text_table
from dashboard.model_page.definition import ModelPage
from dashboard.views.risk import person_form, text
from sample_data import lessons
from vips_core.models.task import TASKS
from vips_core.reports.figures import BLUE, GREY, RATES, figure, guessing
from vips_core.reports.traces import axis, line


def _preview() -> str:
    """Draw shipped ROC curves and AUCs, and return their caption."""
    results, rates = lessons.load(), lessons.FALSE_POSITIVES
    private, free = (np.median(results.roc[place], axis=0) for place in (lessons.EPSILONS.index(1.0), -1))
    curves = [
        line("ε = 1", rates, private, BLUE, hover=RATES),
        line("Without privacy", rates, free, GREY, "dot", hover=RATES),
        guessing(),
    ]
    shares = {"range": [-0.01, 1.02], "tickformat": ".0%"}
    x, y = axis("False positive rate", **shares), axis("True positive rate", **shares)
    plot(
        figure(curves, x, y, height=320),
        "preview",
        "ROC curves of a private risk model and one without privacy.",
    )
    medians = dict(zip(lessons.EPSILONS, np.median(results.auc, axis=1), strict=True))
    aucs = {
        "∞" if math.isinf(one) else f"{one:g}": number(medians[one]) for one in (0.1, 1.0, 10.0, math.inf)
    }
    text_table(pd.DataFrame([{"At ε =": "Median AUC", **aucs}]))
    return (
        "NHANES stroke: median ROC curves at ε = 1 and without privacy, and median AUC at other ε, over "
        f"{results.roc.shape[1]} runs each. Scored on public held-out people."
    )


PAGE = ModelPage(
    task=TASKS["logistic"],
    title="Risk from features",
    introduction="Predicts a yes-or-no outcome, such as a stroke, from a person's features, and states its "
    "uncertainty (Bayesian logistic regression). Each training record is protected; only public held-out "
    "people are scored.",
    example={
        "data": "nhanes-stroke",
        "methods": "refined,paper,strong,non-private",
        "epsilon": 1.0,
        "seed": 1,
    },
    preview=_preview,
    views=(person_form.PARAMETER,),
    headline=text.headline,
    nothing_held_out="This data set has no public held-out records, so there is no ROC curve, AUC or "
    "calibration. Scoring training records would be a release that no ledger counts.",
)
