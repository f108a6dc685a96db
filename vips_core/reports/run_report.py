"""The report of one run: its guarantee, its results, and everything that was published of it."""

import csv
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vips_core.metrics import roc
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.ledger import Ledger
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.reports import bundle, figures, guarantee, page, repeat
from vips_core.reports.drawings import Drawing
from vips_core.runs import execution
from vips_core.runs.request import Request
from vips_core.runs.rows import RunRow
from vips_core.runs.store import Store

_WHAT = {"lda": "Topics", "logistic": "Risk model", "sbn": "Image model"}


@dataclass(frozen=True)
class RunFacts:
    """Everything that a run left, and what the store knows about it."""

    row: RunRow
    request: Request
    folder: Path
    result: Mapping[str, Any] | None
    facts: guarantee.Facts
    has_test: bool
    drawings: list[Drawing]

    @property
    def title(self) -> str:
        """Name of the report."""
        return f"{_WHAT[self.request.model]} of {self.row.data}: run {self.row.id}"


def gather(store: Store, run_id: str) -> RunFacts:
    """Read what a fit left."""
    row = store.run(run_id)
    folder, request = store.folder(run_id), Request.from_mapping(row.request)
    result = _json(folder / "result.json")
    ledger_file = folder / "ledger.json"
    ledger = Ledger.from_json(ledger_file.read_text(encoding="utf-8")) if ledger_file.exists() else None
    try:
        data = store.data_row(row.data)
        records, unit, private, has_test = data.records, data.unit, data.private, data.has_test
    except ValueError:  # removed since
        records, unit, private, has_test = 0, "one record", True, False
    facts = guarantee.Facts(
        request=request,
        ledger=ledger,
        delta=request.get("delta"),
        records=ledger.records if ledger is not None else records,
        unit=unit,
        private_data=private,
        earlier=_earlier(store, row, private),
        versions=row.versions,
        counted=row.epsilon,
    )
    gathered = RunFacts(row, request, folder, result, facts, has_test, [])
    gathered.drawings.extend(_drawings(store, gathered))
    return gathered


def _earlier(store: Store, row: RunRow, private: bool) -> str:
    if not private:
        return (
            f"{row.data} is public: runs on it are not counted. On private records, the costs of all runs "
            "compose."
        )
    try:
        budget = store.budget(row.data)
    except ValueError:
        return f"The data set {row.data} was removed; the ledger of the store keeps what its runs cost."
    before = [run for _, run, _ in budget.history]
    cap = budget.cap
    if cap is None or row.id not in before:
        return "This run is not in the ledger of the data set: it released nothing."
    place = before.index(row.id)
    others = "No run was before it" if place == 0 else f"{place} run{'s' if place > 1 else ''} came before it"
    return (
        f"{others} on these records. All up to and with this one cost ε = {budget.history[place][2]:.4g} at "
        f"δ = {cap.delta:g}; everything released or reserved until today costs "
        f"ε = {budget.spent_epsilon + budget.reserved_epsilon:.4g} of the cap ε = {cap.epsilon:g}."
    )


def _drawings(store: Store, run: RunFacts) -> list[Drawing]:
    import pandas as pd

    found = []
    ledger = run.facts.ledger
    if run.row.scores:
        steps, values = zip(*run.row.scores, strict=True)
        score = run.request.task.watched
        table = pd.DataFrame({"step": steps, score: values})
        figure = figures.score_of_run(steps, values, score)
        title = f"Held-out {score} while training"
        found.append(
            Drawing("steps", title, "On some of the held-out records, which are public.", figure, table)
        )
    if run.request.model == "logistic" and ledger is not None and run.result is not None and run.has_test:
        data = store.load(run.row.data)
        fit = execution.restore(execution.prepare(run.request, data), run.folder)
        curve = roc(fit, data.test)
        figure = figures.roc({"This model": (curve.false_positive_rate, curve.true_positive_rate)})
        table = pd.DataFrame(
            {"false positive rate": curve.false_positive_rate, "true positive rate": curve.true_positive_rate}
        )
        found.append(Drawing("roc", "ROC curve", "On held-out records, which are public.", figure, table))
    if ledger is not None and run.request.private:
        risk = AttackRisk(ledger.events())
        false, true = risk.curve()
        marks = [(rate, float(risk.true_positive_rate(rate))) for rate in (0.001, 0.01, 0.05)]
        figure = figures.attacker_roc(false, true, marks)
        table = pd.DataFrame({"false positive rate": false, "highest true positive rate": true})
        caption = "Upper bound on any test of whether one person took part, from the releases in the ledger."
        found.append(Drawing("attack", "The best possible attack", caption, figure, table))
    return found


def html(run: RunFacts) -> str:
    """Return the report as a page."""
    import pandas as pd

    accounts = guarantee.accounts(run.facts)
    parts = [page.heading(run.title, 1), page.paragraph(_about(run), "soft")]
    parts.append(page.paragraph(guarantee.headline(run.facts, accounts), "lead"))
    cautions = [] if run.result is None else list(run.result["cautions"])
    if run.result is None:
        cautions.append("This run left no result" + (f": {run.row.error}." if run.row.error else "."))
    parts += [page.paragraph(caution, "warn") for caution in cautions]
    if run.result is not None:
        parts += [page.heading("Results"), *_results(run)]
    parts += [bundle.drawn(drawing) for drawing in run.drawings]
    parts.append(page.heading("The guarantee"))
    risk = None if run.facts.ledger is None else AttackRisk(run.facts.ledger.events())
    for heading, text in guarantee.paragraphs(run.facts, risk):
        parts += [page.heading(heading, 3), page.paragraph(text)]
        if heading == "Mechanism and noise" and run.facts.ledger is not None:
            parts.append(page.table(pd.DataFrame(guarantee.blocks(run.facts.ledger))))
        if heading == "Accounting":
            rows = [
                {
                    "accountant": ACCOUNTANTS[name].label,
                    "ε": found.epsilon,
                    "why": found.note or ACCOUNTANTS[name].why,
                }
                for name, found in accounts.items()
            ]
            parts.append(page.table(pd.DataFrame(rows).astype({"ε": float})))
    parts += [
        page.heading("Config"),
        page.paragraph("Saved as config.toml, it gives this run again.", "soft"),
        page.code(run.request.to_toml()),
    ]
    return page.page(run.title, parts)


def _results(run: RunFacts) -> list[str]:
    import pandas as pd

    assert run.result is not None
    scores = run.result["held_out"]
    parts = []
    if scores:
        rows = [{"held-out score": name, "value": value} for name, value in scores.items()]
        parts.append(page.table(pd.DataFrame(rows)))
    else:
        parts.append(page.paragraph("There are no scores: the data set has no public held-out records."))
    for name, frame in _tables(run.folder).items():
        if name == "topics":
            frame = (
                frame.groupby("topic")
                .agg(share=("share", "first"), words=("word", " ".join))
                .sort_values("share", ascending=False)
                .reset_index()
            )
        shown = page.table(frame)
        parts.append(shown if len(frame) <= 40 else page.folded(f"{name}, {len(frame)} rows", shown))
    return parts


def _about(run: RunFacts) -> str:
    started = run.row.started or run.row.created
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(started))
    took = "" if run.row.ended is None else f", {run.row.ended - started:.1f} s"
    seed = "the operating system's entropy" if run.request.seed is None else f"seed {run.request.seed}"
    return (
        f"Method {run.request.method}, {run.row.status} after {run.row.step:,} of {run.row.steps:,} steps, "
        f"{when}{took}, {seed}. {bundle.maker(run.row.versions)}"
    )


def files(run: RunFacts) -> bundle.Files:
    """Return the report with all files that were published, and how to repeat the run."""
    files = {
        bundle.HTML: html(run).encode(),
        **bundle.config(run.request.to_mapping(), run.request.to_toml()),
    }
    files |= {file.name: file.read_bytes() for file in _published(run.folder)}
    if run.result is not None:
        rows = [("score", "value"), *run.result["held_out"].items()]
        files["results.csv"] = _csv(rows)
        cells = repeat.run_cells(
            run.request, run.result["plan"], run.row.data, run.facts.private_data, run.has_test
        )
        files |= bundle.repetition(cells, f"Repeat run {run.row.id} of VIPS Explorer.")
    return files | bundle.drawn_files(run.drawings)


def _published(folder: Path) -> list[Path]:
    """Files of a run that hold nothing but what was released."""
    return sorted(
        file
        for file in folder.glob("*")
        if file.suffix == ".csv" or file.name in ("result.json", "ledger.json", "params.npz")
    )


def _tables(folder: Path) -> dict[str, Any]:
    import pandas as pd

    return {file.stem: pd.read_csv(file) for file in sorted(folder.glob("*.csv"))}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _csv(rows: list[tuple[Any, ...]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
