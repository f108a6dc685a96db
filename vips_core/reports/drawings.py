"""What a sweep's results look like: each figure with its caption and the table of the same numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vips_core.metrics.text import match_topics
from vips_core.privacy.accountants import ACCOUNTANTS
from vips_core.privacy.plan import PrivacyPlan
from vips_core.reports import figures
from vips_core.reports.figures import METHOD_NAMES
from vips_core.runs import sources
from vips_core.runs.tasks import TASKS, TOP
from vips_core.sweeps import sweep as sweeps
from vips_core.sweeps.grid import Sweep

if TYPE_CHECKING:
    import pandas as pd

    from vips_core.runs.store import Store

APART = "Curves are moved a little sideways so that their bars can be told apart."
REPLACED = "Objective perturbation's ε is for replacing one record, at δ = 0."
BARS = "Bars and bands show one standard deviation over seeds, of which there are {seeds}."
CLAIMED = (
    "ε is what each method claims: the target that its noise was calibrated to, or where the noise was "
    "given, the ε of its releases by PLD."
)
SAME_TEST = "Seeds change initialisation, batches and noise; the held-out records stay the same."
PAPER_ACCOUNTING = ("moments_paper", "moments", "pld")
EXAMPLES = 3  # topics in the table
_STRUCTURE = ("batch", "epochs", "delta", "accountant", "topics", "words", "hidden")
_NAMES = {"batch": "S", "delta": "δ", "topics": "K", "hidden": "K", "words": "N", "noise_multiplier": "σ"}
_NOT_IN_THE_PAPER = ("coherence", "log likelihood")
_PAPER = {
    ("lda", "epsilon"): "Figure 2",
    ("lda", "steps"): "Figure 3",
    ("lda", "topics"): "Table 1",
    ("logistic", "epsilon"): "Figure 5",
    ("sbn", "batch"): "Figure 7",
}


@dataclass(frozen=True)
class Drawing:
    """A figure, or a table alone.

    Attributes
    ----------
    name
        For files.
    figure
        Plotly figure, None where the table is all there is.
    """

    name: str
    title: str
    caption: str
    figure: figures.Figure | None
    table: "pd.DataFrame"


def draw(sweep: Sweep, store: "Store") -> list[Drawing]:
    """Return what the sweep asks for, as far as its cells are finished."""
    cells = sweeps.frame(sweep, store)
    if cells.empty:
        return []
    makers: Mapping[str, Callable[[], list[Drawing]]] = {
        "epsilon": lambda: _scores(sweep, cells, "epsilon", figures.against_epsilon),
        "batch": lambda: _scores(sweep, cells[cells["batch"].notna()], "batch", figures.against_batch),
        "steps": lambda: _steps(sweep, store),
        "topics": lambda: _topics(sweep, store),
        "accounting": lambda: _accounting(sweep),
    }
    return [drawing for name in sweep.figures for drawing in makers[name]()]


def _scores(
    sweep: Sweep, cells: "pd.DataFrame", x: str, make: Callable[["pd.DataFrame", str], figures.Figure]
) -> list[Drawing]:
    """One drawing for each score, with a line for each series and setting that is not on the axis."""
    if cells.empty or (x == "epsilon" and cells["epsilon"].isna().all()):
        return []
    at = "expected_batch" if x == "batch" else x
    named = cells.assign(line=line_names(cells, at))
    found = []
    for score, part in named.groupby("score", sort=False):
        summary = sweeps.summarise(part, ["line", "method", at])
        title = f"Held-out {score} against {'ε' if x == 'epsilon' else 'the batch size'}"
        sentences = [BARS.format(seeds=_seeds(summary)), APART, SAME_TEST]
        sentences += [CLAIMED] if x == "epsilon" else []
        sentences += [REPLACED] if "perm" in set(part["method"]) else []
        table = summary.rename(columns={"low": "low (95 % of the mean)", "high": "high (95 % of the mean)"})
        name = f"{x}-{_file_name(str(score))}"
        found.append(
            Drawing(
                name,
                title + _compare(sweep, x, str(score)),
                " ".join(sentences),
                make(summary, str(score)),
                table,
            )
        )
    return found


def _steps(sweep: Sweep, store: "Store") -> list[Drawing]:
    looks = sweeps.traces(sweep, store)
    if looks.empty:
        return []
    score = TASKS[sweep.model].watched
    summary = sweeps.summarise(looks.assign(line=looks["series"]), ["line", "method", "step"])
    title = f"Held-out {score} after each step{_compare(sweep, 'steps')}"
    caption = (
        f"{BARS.format(seeds=_seeds(summary))} On the first held-out records only, so the last points differ "
        "a little from the scores. Steps of different methods may use batches of different sizes."
    )
    return [Drawing("steps", title, caption, figures.score_per_step(summary, score), summary)]


def _topics(sweep: Sweep, store: "Store") -> list[Drawing]:
    """The first words of some topics side by side, matched to those of the non-private fit."""
    import pandas as pd

    cells = sweeps.cells_of(sweep, store)
    fits: dict[str, Any] = {}
    for grid in sweep.grids:
        if grid.keep:
            request = next(grid.requests(sweep.model, sweep.data))
            arrays = cells.parameters(request)
            if arrays is not None and "lam" in arrays:
                fits[grid.label or METHOD_NAMES[request.method]] = arrays["lam"]
    if len(fits) < 2:
        return []
    words = np.array(store.load(sweep.data).train.vocabulary)
    (first, reference), *_ = fits.items()
    largest = np.argsort(-reference.sum(axis=1), kind="stable")[:EXAMPLES]
    columns: dict[str, list[Any]] = {
        "topic": [int(topic) for topic in largest for _ in range(TOP)],
        "rank": [rank for _ in largest for rank in range(1, TOP + 1)],
    }
    shared = []
    for label, lam in fits.items():
        partner, overlap = match_topics(reference, lam)
        rows = lam[partner[largest]] / lam[partner[largest]].sum(axis=1, keepdims=True)
        best = np.argsort(-rows, axis=1, kind="stable")[:, :TOP]
        columns[label] = words[best].ravel().tolist()
        columns[f"{label}, probability"] = np.take_along_axis(rows, best, axis=1).ravel().tolist()
        if label != first:
            shared.append(f"{label} {overlap.mean():.2f}")
    caption = (
        f"The {EXAMPLES} largest topics of “{first}”, each beside its partner by the Hungarian method. "
        f"Probability mass shared with the partner, mean over all {len(reference)} topics: "
        f"{', '.join(shared)}. One seed."
    )
    title = f"The first {TOP} words of matched topics{_compare(sweep, 'topics')}"
    return [Drawing("topics", title, caption, None, pd.DataFrame(columns))]


def _accounting(sweep: Sweep) -> list[Drawing]:
    """ε at the paper's own settings by its accountant, by all moments, and by PLD."""
    import pandas as pd

    if sweep.model == "lda":
        records, batches, noises, delta = 400_000, (5_000, 10_000, 20_000), (1.0, 1.1, 1.24, 1.5, 2.0), 1e-4
    else:
        records, delta = sources.BUILT_IN[sweep.data].records, 1e-4
        batches, noises = (400, 1_600, 3_200), (0.8, 1.0, 1.25, 1.5, 2.0)
    rows = []
    curves: dict[str, dict[int, tuple[list[float], list[float]]]] = {}
    for accountant in PAPER_ACCOUNTING:
        label = ACCOUNTANTS[accountant].label
        for batch in batches:
            plans = [
                PrivacyPlan(
                    records=records, expected_batch=batch, epochs=1, noise_multiplier=noise, delta=delta
                )
                for noise in noises
            ]
            values = [
                (plan.noise_multiplier, plan.accounts([accountant])[accountant].epsilon) for plan in plans
            ]
            known = [(noise, epsilon) for noise, epsilon in values if noise and epsilon is not None]
            if known:
                curves.setdefault(label, {})[batch] = ([n for n, _ in known], [e for _, e in known])
            rows += [
                {"accountant": label, "batch": batch, "noise_multiplier": n, "epsilon": e} for n, e in known
            ]
    title = "What the same releases cost, by accountant"
    caption = (
        f"N = {records:,}, one epoch, δ = {delta:g}: accounting alone, without training. The paper searched "
        "a short range of moments; all integer moments, and above all the whole privacy loss distribution "
        "(PLD), prove a smaller ε for the same noise."
    )
    return [Drawing("accounting", title, caption, figures.epsilon_against_noise(curves), pd.DataFrame(rows))]


def line_names(cells: "pd.DataFrame", x: str) -> "pd.Series":
    """Series, and for each what else was varied in it."""
    names = cells["series"].map(lambda name: METHOD_NAMES.get(name, name))
    columns = [
        name
        for name in _STRUCTURE
        if name in cells and name != x and not (name, x) == ("batch", "expected_batch")
    ]
    for column in columns:
        several = cells.groupby("series")[column].transform("nunique") > 1
        points = cells.groupby(["series", column], dropna=False)[x].transform("nunique")
        mixed = cells.groupby(["series", x], dropna=False)[column].transform("nunique") > 1
        # Where x follows from the column, one line through all of them says it best.
        follows = ~(mixed | (points > 1)).groupby(cells["series"]).transform("any")
        split = several & ~follows
        names = names.where(~split, names + cells[column].map(lambda value, c=column: _setting(c, value)))
    if x != "epsilon":  # ε may follow from what is on the axis; else it tells lines apart
        several = cells.groupby(["series", x])["epsilon"].transform("nunique") > 1
        names = names.where(~several, names + cells["epsilon"].map(lambda value: _setting("ε", value)))
    return names


def _setting(column: str, value: Any) -> str:
    text = f"{value:,.6g}" if isinstance(value, int | float) else str(value)
    return f", {_NAMES.get(column, column)} = {text}"


def _seeds(summary: "pd.DataFrame") -> str:
    low, high = int(summary["seeds"].min()), int(summary["seeds"].max())
    return str(low) if low == high else f"{low} to {high}"


def _compare(sweep: Sweep, figure: str, score: str = "") -> str:
    paper = _PAPER.get((sweep.model, figure))
    if score.startswith(_NOT_IN_THE_PAPER):
        return ""
    return f" (compare the paper's {paper})" if paper else ""


def _file_name(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
