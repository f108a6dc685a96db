"""The report of one run: guarantee, results, everything published, and a draft for the registry."""

import time
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from vips_core import rounding
from vips_core.csv_text import from_csv, to_csv
from vips_core.jobs.execution import published_files
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports import bundle, page
from vips_core.reports.exhibits import Exhibit, run_exhibits
from vips_core.reports.run_facts import RunFacts, gather
from vips_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

LONGEST_OPEN_TABLE = 40  # rows: about a page; longer tables are folded
UNITS = {"mean": "log odds over the predictor's whole range", "per unit": "log odds per unit"}


def draft(facts: RunFacts) -> str | None:
    """Return a record in the registry's YAML; None for a run that claims nothing about private records.

    Facts that only people know are marked as to be filled in. For a stopped run, ε, μ and attack risk are
    those of the whole plan: whoever stopped it may have seen results before.

    Parameters
    ----------
    facts
        Facts of the run.

    Returns
    -------
    str or None
        With the registry's keys and no others.
    """
    if not facts.data.private or facts.ledger is None or facts.result is None:
        return None
    numbers, plan = facts.guarantee, PrivacyPlan(**facts.result["plan"])
    if facts.ledger.steps < plan.steps:
        numbers = numbers | {"best_epsilon": plan.epsilon(), "attack_risk": plan.risk()}
    return page.render(
        "registry.yaml.j2",
        facts=facts,
        epsilon=_decimal(rounding.up(numbers["best_epsilon"])),
        delta=_decimal(facts.delta),
        texts=page.PlainTexts(),
        **numbers,
    )


def _decimal(value: float) -> str:
    """Return all digits without an exponent: YAML reads 1e-12 as text."""
    return f"{Decimal(repr(value)):f}"


def files(store: Store, run_id: str) -> bundle.Files:
    """Return the report with all published files, and code that repeats the run."""
    import pandas as pd

    facts = gather(store, run_id)
    request, exhibits = facts.request, run_exhibits(facts, store)
    scores = {} if facts.result is None else facts.result["held_out"]
    score_table = pd.DataFrame({"score": list(scores), "value": list(scores.values())})
    published = {
        bundle.HTML: _html(facts, exhibits, score_table).encode(),
        **bundle.config_files(request.to_mapping()),
        **{file.name: file.read_bytes() for file in published_files(request.task, facts.folder)},
        **bundle.exhibit_files(exhibits),
    }
    record = draft(facts)
    if record is not None:
        published[bundle.REGISTRY] = record.encode()
    if facts.result is not None:
        cells = bundle.run_cells(request, facts.result["plan"], facts.data.private, facts.data.has_test)
        published["results.csv"] = to_csv(score_table)
        published |= bundle.repetition_files(cells, f"Repeat run {run_id} of VIPS Explorer.")
    return published


def _html(facts: RunFacts, exhibits: Sequence[Exhibit], score_table: "pd.DataFrame") -> str:
    started = facts.row.started or facts.row.created
    return page.render(
        "run.html.j2",
        title=facts.title,
        facts=facts,
        exhibits=exhibits,
        started=started,
        # Training time depends on the records, which may be private.
        seconds=None if facts.data.private or facts.row.ended is None else facts.row.ended - started,
        score_table=score_table.rename(columns={"score": "held-out score"}),
        result_tables=_result_tables(facts),
        cap_table=_cap_table(facts),
        longest_open_table=LONGEST_OPEN_TABLE,
        **facts.guarantee,
    )


def _cap_table(facts: RunFacts) -> "pd.DataFrame":
    """Return all caps of the records: who set them, why, and which was in force for the run."""
    import pandas as pd

    return pd.DataFrame(
        {
            "set (UTC)": time.strftime("%Y-%m-%d %H:%M", time.gmtime(row.time)),
            "ε": rounding.brief(row.content["epsilon"]),
            "δ": rounding.brief(row.content["delta"]),
            "by": row.content.get("by"),
            "why": row.content.get("reason") or None,
            "in force for this run": "yes" if row == facts.held_cap else "",
        }
        for row in facts.caps
    )


def _result_tables(facts: RunFacts) -> dict[str, "pd.DataFrame"]:
    """Return the tables that a run left, in readable form: a topic's words in one row."""
    tables = {}
    for name in facts.request.task.tables:
        file = facts.folder / f"{name}.csv"
        if file.exists():
            table = from_csv(file)
            tables[name] = _one_row_for_each_topic(table) if "word" in table else table.rename(columns=UNITS)
    return tables


def _one_row_for_each_topic(table: "pd.DataFrame") -> "pd.DataFrame":
    topics = table.groupby("topic").agg(share=("share", "first"), words=("word", " ".join))
    return topics.sort_values("share", ascending=False).reset_index()
