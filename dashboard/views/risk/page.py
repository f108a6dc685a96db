"""Risk: predictions from a person's features, learned behind the wall."""

import streamlit as st

from dashboard.components.charts import chart
from dashboard.components.layout import card
from dashboard.model_page import page as model_page
from dashboard.stored import DataSet, Finished
from dashboard.views.risk import charts, data, person_form, text
from dashboard.views.risk.definition import PAGE


def show() -> None:
    """Draw the page."""
    model_page.show(PAGE, _results)


def _results(runs: dict[str, Finished], data_set: DataSet) -> None:
    useful = list(runs)
    if data_set.test is not None:
        scored_runs = {method: data.scored(run) for method, run in runs.items()}
        useful = list(data.without_failures(scored_runs))
        _scores(scored_runs, data_set)
    _person(runs, useful, data_set)
    _coefficients(runs, useful)


def _scores(scored_runs: dict[str, data.Scored], data_set: DataSet) -> None:
    if sentence := text.failures(scored_runs):
        st.warning(sentence, icon=":material/warning:")
    useful = data.without_failures(scored_runs)
    first, exhibit = next(iter(useful.values())), data.sweep_exhibit(data_set.name)
    left, right = st.columns(2, gap="medium")
    with left, card("Finding cases among held-out people", text.roc(first)):
        curves = {method: run.roc for method, run in scored_runs.items()}
        chart(charts.roc(curves), "roc", text.ROC_ALT, lambda: data.by_method(curves))
    figure, beyond = charts.calibration({method: run.calibration for method, run in useful.items()})
    with right, card("Predicted and observed risk", text.calibration(first, beyond)):
        groups = {method: run.calibration for method, run in scored_runs.items()}
        chart(figure, "calibration", text.CALIBRATION_ALT, lambda: data.by_method(groups))
    left, right = st.columns(2, gap="medium") if exhibit else (st.container(), st.empty())
    with left, card("Area under the curve", text.AUC_CAPTION):
        figure = charts.aucs(scored_runs, exhibit is not None)
        chart(figure, "auc", text.auc_alt(scored_runs), lambda: data.scores_table(scored_runs))
    if exhibit is not None:
        with right, card(exhibit.title, exhibit.caption):
            chart(exhibit.figure, "auc-epsilon", text.SWEEP_ALT, lambda: exhibit.table)


def _coefficients(runs: dict[str, Finished], useful: list[str]) -> None:
    table = data.coefficients(runs)
    shown = table[table["method"].isin(useful)]
    features = data.largest(shown, data.SHOWN)
    figure, beyond = charts.forest(shown, features)
    with card("Coefficients", text.coefficients(shown, features, beyond)):
        chart(figure, "coefficients", text.COEFFICIENTS_ALT, lambda: data.coefficients_table(table))


def _person(runs: dict[str, Finished], useful: list[str], data_set: DataSet) -> None:
    with card("What if: one person's risk", text.person(data_set)):
        form, answer = st.columns(2, gap="medium")
        with form:
            person = person_form.show(data_set)
        risks = data.person_table(runs, person_form.as_row(data_set.train, person))
        shown = risks[risks["method"].isin(useful)]
        share = None if data_set.test is None else float(data_set.test.y.mean())
        with answer, st.container(key="in-view-answer"):
            st.markdown(text.one_risk(shown))
            figure = charts.person(shown, share)
            chart(figure, "person", text.person_alt(shown), lambda: data.readable_person(risks))
