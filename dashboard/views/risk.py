"""Risk: who is at risk, learned behind the wall."""

import streamlit as st

from dashboard import components, person, risk, risk_charts, risk_words, workbench
from dashboard.layout import card
from dashboard.library import DataSet, Finished


def show() -> None:
    """Draw the page."""
    workbench.show(risk_words.BENCH, _results)


def _results(runs: dict[str, Finished], data: DataSet) -> None:
    if data.test is None:
        st.info(risk_words.NOTHING_HELD_OUT)
    else:
        _scores({method: risk.scored(run) for method, run in runs.items()}, data)
    _person(runs, data)
    _coefficients(runs)


def _scores(scores: dict[str, risk.Scored], data: DataSet) -> None:
    first, drawing = next(iter(scores.values())), risk.sweep_drawing(data.name)
    left, right = st.columns(2, gap="medium")
    with left, card("Finding cases among held-out people", risk_words.roc(first)):
        components.chart(risk_charts.roc(scores), "roc", risk_words.ROC_ALT, lambda: risk.roc_table(scores))
    figure, beyond = risk_charts.calibration(scores)
    with right, card("Predicted and observed risk", risk_words.calibration(first, beyond)):
        components.chart(
            figure, "calibration", risk_words.CALIBRATION_ALT, lambda: risk.calibration_table(scores)
        )
    left, right = st.columns(2, gap="medium") if drawing else (st.container(), None)
    with left, card("Area under the curve", risk_words.AUC_CAPTION):
        components.chart(
            risk_charts.aucs(scores, drawing is not None),
            "auc",
            risk_words.auc_alt(scores),
            lambda: risk.auc_table(scores),
        )
    if drawing is not None:
        with right, card(drawing.title, drawing.caption):
            components.chart(drawing.figure, "auc-epsilon", risk_words.SWEEP_ALT, lambda: drawing.table)


def _coefficients(runs: dict[str, Finished]) -> None:
    table = risk.coefficients(runs)
    features = risk.largest(table, risk.SHOWN)
    figure, beyond = risk_charts.forest(table, features)
    with card("Coefficients", risk_words.coefficients(table, features, beyond)):
        components.chart(
            figure, "coefficients", risk_words.COEFFICIENTS_ALT, lambda: risk.coefficients_table(table)
        )


def _person(runs: dict[str, Finished], data: DataSet) -> None:
    with card("What if: one person's risk", risk_words.person(data)):
        described = person.form(data.name, data.train, data.test)
        risks = risk.person_table(runs, person.as_row(data.train, described))
        share = None if data.test is None else float(data.test.y.mean())
        st.markdown(risk_words.one_risk(risks))
        components.chart(
            risk_charts.person(risks, share), "person", risk_words.person_alt(risks),
            lambda: risk.readable_person(risks),
        )  # fmt: skip
