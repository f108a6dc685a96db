"""Parts of the Plan page: the surface that can be clicked, attack risk, efficiency, and where to go on."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard import charts, components, layout, pages, planning, session, words
from dashboard.components import number_with_slider
from dashboard.layout import metric
from vips_core import PrivacyPlan


def surface(found: planning.Surface | None, here: tuple[float, float, float], solve: str) -> None:
    """Show ε over σ and S; a click takes the cell's values, but not the one that the plan is solved for."""

    def take(points: Sequence[Mapping[str, Any]]) -> None:
        for point in points[:1]:
            values = {planning.NOISE.name: float(point["x"]), planning.BATCH.name: round(point["y"])}
            for name in values.keys() - {solve}:
                session.change(name, values[name])
                components.refresh(name)  # slider and entry start again from the new value

    if found is None:
        components.waiting(charts.HEIGHT)
        return
    components.clickable(charts.epsilon_surface(found, here), "surface", words.SURFACE_ALT, take)
    components.table_twin("surface", words.SURFACE_ALT, lambda: planning.surface_table(found))


def risk(details: planning.Details | None) -> None:
    """Show what the best possible attack achieves."""
    text, curve = st.columns(2, gap="medium")
    with text:
        st.markdown(words.risk(details))
        columns = layout.narrow_columns("attack", 2) * 2
        for column, (label, value) in zip(columns, words.attack_numbers(details), strict=True):
            metric(label, value, column)
        st.markdown(words.posterior(details, number_with_slider(planning.PRIOR)))
    with curve:
        figure = details and charts.attacker_roc(*details.roc, details.found)
        components.chart(figure, "attacker", words.ROC_ALT, lambda: planning.roc_table(details))


def efficiency(details: planning.Details | None, gain: planning.Gain | None) -> None:
    """Show what full batches, and what more epochs, would buy."""
    text, curve = st.columns(2, gap="medium")
    with text:
        metric("Share of the best signal over noise", details and f"{details.efficiency:.0%}")
        st.caption(words.efficiency(details))
        st.markdown(words.more_epochs(gain))
    with curve:
        figure = gain and charts.more_epochs(gain.epochs, gain.factor)
        components.chart(figure, "epochs", words.EPOCHS_ALT, lambda: planning.gain_table(gain))


def elsewhere(plan: PrivacyPlan, request: planning.Request) -> None:
    """Lead to the model pages with the plan's values, and give it as a command and as Python."""
    with st.container(horizontal=True, gap="medium"):
        for name, label in words.GO_ON.items():
            st.page_link(pages.page(name), label=label, query_params=planning.hand_over(plan, request))
    st.code(words.command_line(request, plan), language="bash", wrap_lines=True)
    st.code(words.python_code(request, plan), language="python", wrap_lines=True)
