"""Budgets of private data sets and the ledger, on the Runs page."""

import streamlit as st

from dashboard import state, stored
from dashboard.components import layout, status
from dashboard.components.charts import chart
from dashboard.components.formats import at_least, at_most, brief
from dashboard.components.layout import card, metric
from dashboard.components.tables import by_width, csv_button, text_table
from dashboard.views.runs import charts, text
from vips_core.store.budget import Cap, cap_rows
from vips_core.store.database import StoreError
from vips_core.store.rows import DataRow


def show() -> None:
    """Show the budget of each private data set, then the ledger with a button to verify it."""
    private = [row for row in stored.store().data_sets() if row.private]
    if not private:
        with card("No private data set yet"):
            st.markdown(text.NO_PRIVATE_DATA)
    for row in private:
        with card(layout.plain(row.name)):
            _budget(row)
    with card("The ledger", text.LEDGER_CAPTION):
        _ledger()


def _ledger() -> None:
    rows = stored.store().ledger()
    if st.button("Verify", icon=":material/verified_user:", key="verify"):
        wrong = stored.store().verify()
        (st.error if wrong else st.success)(text.verdict(wrong, len(rows)))
        for note in stored.store().notes():
            st.warning(layout.plain(note))
    table = charts.ledger_table(rows)
    with by_width("ledger", charts.ledger_rows(rows)):
        st.dataframe(table, hide_index=True, height=min(360, 38 + 35 * max(1, len(table))), alt="The ledger")
    csv_button(table, "ledger")


def _budget(row: DataRow) -> None:
    try:
        budget = stored.store().budget(row.name)
    except StoreError as problem:
        layout.problem(str(problem))
        return
    assert budget.cap is not None  # every private data set is registered with one
    unit = layout.plain(row.unit)
    cap = f"ε = {budget.cap.epsilon:g} at δ = {brief(budget.cap.delta)}"
    st.caption(f"{row.records:,} records; each is {unit}. Cap: {cap}.")
    for sentence in stored.store().overlap_sentences(row.name):
        st.caption(layout.plain(sentence))
    name = f"budget-{row.name}"  # not its fingerprint: two data sets may hold the same records
    columns = layout.narrow_columns(name, 3)
    metric("Largest ε of one more full-batch run", at_least(budget.left_epsilon), columns[0])
    metric("Share of the cap left", f"{budget.left_share:.1%}", columns[1])
    metric("ε if planned as a whole", at_most(budget.planned_epsilon), columns[2])
    st.caption(text.ADAPTIVITY)
    status.budget_bar(budget.spent_share, budget.reserved_share)
    if budget.history:
        alt = f"Share of the cap used by all releases from {row.name}, over time."
        chart(charts.budget_over_time(budget), name, alt, lambda: charts.budget_table(budget))
    else:
        st.markdown(text.NOTHING_RELEASED)
    st.caption(text.CAPS_CAPTION)
    text_table(charts.caps_table(cap_rows(stored.store().ledger(row.name))))
    with st.expander("Change the cap", type="compact"):
        _cap_form(row, budget.cap)
    _separation(row)


def _cap_form(row: DataRow, cap: Cap) -> None:
    key = f"{row.name}:{cap.epsilon}:{cap.delta}"
    st.caption(text.CAP_CAPTION)
    columns = layout.narrow_columns(f"cap-{row.name}", 2)
    columns[0].number_input("Cap on ε", 0.001, 1000.0, float(cap.epsilon), key=f"cap-epsilon:{key}")
    columns[1].number_input("δ", 1e-15, 0.1, float(cap.delta), key=f"cap-delta:{key}", format="%e", step=1e-7)
    st.text_input("Your name", max_chars=100, key=f"cap-by:{key}")
    st.text_input("Why", max_chars=500, key=f"cap-reason:{key}", help=text.REASON_HELP)
    st.button("Set the cap", key=f"cap-set:{key}", on_click=_set_cap, args=(row.name, key))


def _set_cap(name: str, key: str) -> None:
    """Set the cap from the form's present values: a click may precede the redraw after typing."""
    epsilon, delta, by, reason = (
        st.session_state[f"cap-{value}:{key}"] for value in ("epsilon", "delta", "by", "reason")
    )
    with state.complaining():
        stored.store().set_cap(name, Cap(epsilon, delta), by=by.strip() or None, reason=reason)


def _separation(row: DataRow) -> None:
    """Offer to separate a data set from those it shares a budget with, if any."""
    linked = stored.store().linked(row.name)
    if not linked:
        return
    with st.expander("Separate from another data set", type="compact"):
        st.caption(text.SEPARATION_CAPTION)
        st.selectbox("Shares its budget with", linked, key=f"separate-from:{row.name}")
        st.text_input("Your name", max_chars=100, key=f"separate-by:{row.name}")
        st.text_input("Why", max_chars=500, key=f"separate-reason:{row.name}")
        st.button("Separate", key=f"separate:{row.name}", on_click=_separate, args=(row.name,))


def _separate(name: str) -> None:
    other, by, reason = (state.visit[f"separate-{what}:{name}"] for what in ("from", "by", "reason"))
    state.settle()
    with state.complaining():
        stored.store().separate_data(name, [other], by=by, reason=reason)
