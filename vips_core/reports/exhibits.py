"""Exhibits of reports: figures and tables with their captions; and the exhibits of one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vips_core.fit import load
from vips_core.models.task import Chart, Task
from vips_core.privacy.tradeoff import AttackRisk
from vips_core.reports import figures
from vips_core.reports.figures import Figure
from vips_core.reports.run_facts import RunFacts
from vips_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

MARKED_RATES = (0.001, 0.01, 0.05)  # false positive rates at which the best attack is marked
DRAWINGS: Mapping[str, Callable[["pd.DataFrame"], Figure | None]] = {
    "roc": figures.roc,
    "calibration": figures.calibration,
    "": lambda table: None,  # shown as a table
}


@dataclass(frozen=True)
class Exhibit:
    """A figure with its table, or a table alone.

    Attributes
    ----------
    name
        Name of its file, without the ending.
    title, caption
        Texts above and below it.
    figure
        Plotly figure, None for a table alone.
    table
        The numbers in the figure.
    score
        Name of the score shown, if any.
    """

    name: str
    title: str
    caption: str
    figure: Figure | None
    table: "pd.DataFrame"
    score: str | None = None


def exhibits_of(charts: Sequence[Chart]) -> list[Exhibit]:
    """Return a task's charts as exhibits, drawn."""
    return [
        Exhibit(item.name, item.title, item.caption, DRAWINGS[item.drawn_as](item.table), item.table)
        for item in charts
    ]


def run_exhibits(facts: RunFacts, store: Store) -> list[Exhibit]:
    """Return the exhibits of one run: its score during training, its task's charts, and the best attack."""
    task, exhibits = facts.request.task, list[Exhibit]()
    if facts.row.validation_scores:
        exhibits.append(_score_while_training(facts.row.validation_scores, task))
    if facts.ledger is None:
        return exhibits
    if facts.result is not None and facts.data.has_test:
        test = store.load(facts.row.data).test
        exhibits += exhibits_of(task.charts(load(facts.folder), test, facts.result["held_out"]))
    if facts.request.private:
        exhibits.append(_best_attack(facts.guarantee["attack_risk"]))
    return exhibits


def _score_while_training(scores: Sequence[tuple[int, float]], task: Task) -> Exhibit:
    import pandas as pd

    steps, values = zip(*scores, strict=True)
    score = task.validation_score
    return Exhibit(
        "steps",
        f"Held-out {score} while training",
        f"Evaluated on {task.validation_records_named}, which are public.",
        figures.score_of_run(steps, values, score),
        pd.DataFrame({"step": steps, score: values}),
    )


def _best_attack(attack: AttackRisk) -> Exhibit:
    import pandas as pd

    false_positives, true_positives = attack.curve()
    marks = [(rate, float(attack.true_positive_rate(rate))) for rate in MARKED_RATES]
    table = {"false positive rate": false_positives, "highest true positive rate": true_positives}
    return Exhibit(
        "attack",
        "The best possible attack",
        "Upper bound on every test of whether one person took part, from the releases in the ledger.",
        figures.attacker_roc(false_positives, true_positives, marks),
        pd.DataFrame(table),
    )
