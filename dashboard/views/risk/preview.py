"""What a risk model looks like before one is trained here: ROC curves and AUC from the shipped results."""

import math

import numpy as np
import pandas as pd

from dashboard.components.charts import plot
from dashboard.components.formats import number
from dashboard.components.tables import text_table
from sample_data import lessons
from vips_core.reports.figures import BLUE, GREY, RATES, figure, guessing
from vips_core.reports.traces import axis, line

CAPTION = (
    "NHANES stroke, ε = 1 against training without privacy: median ROC curves of {runs} runs each on public "
    "held-out people, and their median AUC at other ε."
)


def show() -> str:
    """Draw the curves and the table, and return what they are."""
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
    return CAPTION.format(runs=results.roc.shape[1])
