"""Results that all model pages share: a sentence, the privacy spent and the scores, cautions."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import pages, stored
from dashboard.components import layout
from dashboard.components.charts import chart, scores_over_steps
from dashboard.components.formats import at_most, brief, signed
from dashboard.components.price import whole_run
from dashboard.components.tables import csv_button, text_table
from dashboard.model_page.definition import SAME_TRAINING, ModelPage
from dashboard.stored import Finished
from vips_core.models.task import NON_PRIVATE, STRONG
from vips_core.store.rows import CANCELLED

_EXTRA_NOISE = (
    "Strong composition adds the noise that its own bound requires at the target ε. Tighter accountants show "
    "that less was spent: the extra noise was unnecessary."
)


def headline(page: ModelPage, done: Mapping[str, Finished]) -> str | None:
    """Return each run's most important held-out score, explained; None where nothing was held out.

    For instance: "**On held-out records, AUC is 0.770 (Refined, ε = 1.00), and 0.810 without
    privacy.** AUC says how often a case gets a higher risk …: larger is better."
    """
    name = next(
        (name for name in page.task.scores if all(name in item.result["held_out"] for item in done.values())),
        None,
    )
    if name is None:
        return None
    return f"**{page.headline(done) or _listed(page, done, name)}** {page.task.scores[name].explained()}"


def _listed(page: ModelPage, done: Mapping[str, Finished], name: str) -> str:
    scored = [_scored(page, method, item, name) for method, item in done.items()]
    listed = scored[0] if len(scored) == 1 else f"{', '.join(scored[:-1])}, and {scored[-1]}"
    return f"On held-out records, {name} is {listed}."


def _scored(page: ModelPage, method: str, item: Finished, name: str) -> str:
    score = signed(item.result["held_out"][name])
    if method == NON_PRIVATE:
        return f"{score} without privacy"
    return f"{score} ({page.labels[method]}, ε = {at_most(promised(item))})"


def promised(item: Finished) -> float | None:
    """Return the ε that a run spent or, for a stopped run, the ε of its whole plan."""
    if item.run.status == CANCELLED:
        return whole_run(item.run)
    spent = item.result["epsilon"]
    value: float | None = spent.get("pld", spent.get("pure"))
    return value


def show(page: ModelPage, done: Mapping[str, Finished]) -> None:
    """Show the table of privacy spent and scores, and cautions about a guarantee."""
    table = spent_table(page, done)
    first = next(iter(done.values())).request
    row = stored.store().data_row(first.data)
    with layout.card("Privacy spent and scores"):
        text_table(readable(table))
        st.markdown(layout.protected(row.unit))
        st.caption(
            "ε is computed from the ledger of what was actually released, at the run's δ. Only public "
            "held-out records are scored, never training records."
        )
        if STRONG in done:
            st.caption(SAME_TRAINING if done[STRONG].request.get("epsilon") is None else _EXTRA_NOISE)
        csv_button(table, "summary")
        st.page_link(
            pages.page("runs"),
            label="Reports of these runs",
            query_params={"runs": ",".join(item.run.id for item in done.values())},
        )
        if not row.private:
            values = {"preset": pages.OWN_GRID, "model": page.task.name, "data": first.data}
            st.page_link(pages.page("frontier"), label="Compare other values of ε", query_params=values)
    cautions: dict[str, list[str]] = {}
    for method, item in done.items():
        if item.request.private and item.result["cautions"]:
            cautions.setdefault(" ".join(item.result["cautions"]), []).append(page.labels[method])
    if cautions:
        lines = [f"**{', '.join(labels)}**: {text}" for text, labels in cautions.items()]
        st.warning("  \n".join(lines), icon=":material/warning:")


def scores_while_training(
    page: ModelPage,
    done: Mapping[str, Finished],
    name: str,
    alt: str,
    lines: Mapping[str, float] | None = None,
) -> None:
    """Show the curve of each run's score, and baselines as lines."""
    lines, score = lines or {}, page.task.validation_score
    curves = {
        method: item.run.validation_scores for method, item in done.items() if item.run.validation_scores
    }
    if not curves:
        st.caption("These runs were not scored while training.")
        return
    points: list[tuple[str, float, float]] = [
        (page.labels[method], *point) for method, curve in curves.items() for point in curve
    ]
    points += [(baseline, math.nan, value) for baseline, value in lines.items()]
    table = pd.DataFrame(points, columns=["Method", "Iteration", score[:1].upper() + score[1:]])
    chart(scores_over_steps(curves, page.labels, score, lines), name, alt, lambda: table)


def spent_table(page: ModelPage, done: Mapping[str, Finished]) -> pd.DataFrame:
    """Return plan, ε by the ledger (infinite without noise) and held-out scores, one row for each run."""
    rows = []
    for method, item in done.items():
        plan, ledger = item.result["plan"], item.result["epsilon"]
        spent = {name: math.inf if epsilon is None else epsilon for name, epsilon in ledger.items()}
        rows.append(
            {
                "Method": page.labels[method],
                "Target ε": item.request.get("epsilon") or math.nan,
                "Spent ε, tight": spent.get("pld", spent.get("pure")),
                "Spent ε, moments": spent.get("moments"),
                "Spent ε, strong composition": spent.get("strong"),
                "δ": plan.get("delta", math.nan) if item.request.private else math.nan,
                "Noise σ": plan.get("noise_multiplier", math.nan),
                "Batch S": plan.get("expected_batch", math.nan),
                "Steps": item.result["releases"] if "steps" in plan else math.nan,
                **{name[:1].upper() + name[1:]: value for name, value in item.result["held_out"].items()},
                "Run": item.run.id,
            }
        )
    return pd.DataFrame(rows)


def readable(spent: pd.DataFrame) -> pd.DataFrame:
    """Return the table with rounded numbers and methods side by side, which fits a narrow page."""
    quantities = spent.columns.drop("Method")
    rows = [[name, *(_rounded(name, value) for value in spent[name])] for name in quantities]
    return pd.DataFrame(rows, columns=["Quantity", *spent["Method"]])


def _rounded(name: str, value: Any) -> str:
    if name == "Run":
        return str(value)
    if name.startswith("Spent ε"):
        return at_most(value)
    if name in ("Batch S", "Steps") and not math.isnan(value):
        return f"{value:,.0f}"
    return brief(value) if name == "δ" and not math.isnan(value) else signed(value)
