"""Lesson 7: what noise does to topics, to a risk model and to digits, over many real runs.

All numbers come from the runs that `sample_data.lessons` made.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dashboard import charts
from dashboard.background import Later
from dashboard.formats import number
from dashboard.lessons import outcome_charts
from dashboard.lessons.base import Formula, Lesson, Outcome, Scale
from dashboard.session import Choice, Number
from sample_data import lessons as results_file
from sample_data.lessons import EPSILONS, Results

TASKS = {"risk": "Stroke risk", "topics": "Topics", "digits": "Digits"}
SCORES = {"risk": "AUC", "topics": "Perplexity", "digits": "Pixel accuracy"}
WHAT = Choice("what7", "Model", "risk", TASKS, "Three models on three public data sets.")
EPSILON = Scale(
    "eps7", "ε", "0.1", {label: label for label in map(outcome_charts.label, EPSILONS)},
    "Runs were made at these values; ∞ is training without noise.",
)  # fmt: skip
RUN = Number(
    "run7", "Run", 1, 1, 8, "Another run draws other noise. Play shows them in turn.", tuple(range(1, 9)),
    whole=True,
)  # fmt: skip


@functools.cache
def results() -> Results:
    """Return the shipped results, read once."""
    return results_file.load()


def scores(task: str) -> charts.Array:
    """Held-out scores of a task's runs, (ε, seed)."""
    found = results()
    return {"risk": found.auc, "topics": found.perplexity, "digits": found.accuracy}[task]


def score_text(task: str, value: float) -> str:
    """Write a score for people."""
    return {"risk": f"{value:.3f}", "topics": f"{value:,.0f}", "digits": f"{value:.1%}"}[task]


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show one run at one ε, with the other runs to play."""
    task, run = values[WHAT.name], values[RUN.name] - 1
    place = list(EPSILON.options).index(values[EPSILON.name])
    draw = {"risk": outcome_charts.risk, "topics": outcome_charts.topics, "digits": outcome_charts.digits}
    of_runs = scores(task)
    here, best = of_runs[place], of_runs[-1].mean()
    spent = results().spent[list(TASKS).index(task), place]
    return Outcome(
        (
            ("ε by PLD, from the ledger", number(float(spent))),
            (f"{SCORES[task]}, mean", score_text(task, here.mean())),
            ("Worst – best run", _span(task, here)),
            ("Without noise", score_text(task, best)),
        ),
        draw[task](results(), place, run, revealed),
        lambda: _table(task),
        _explanation(task, place),
    )


def _span(task: str, of_runs: charts.Array) -> str:
    low, high = (score_text(task, float(value)) for value in (of_runs.min(), of_runs.max()))
    return f"{high} – {low}" if task == "topics" else f"{low} – {high}"


def _table(task: str) -> pd.DataFrame:
    epsilons = np.repeat([outcome_charts.label(epsilon) for epsilon in EPSILONS], scores(task).shape[1])
    runs = np.tile(np.arange(1, scores(task).shape[1] + 1), len(EPSILONS))
    return pd.DataFrame({"ε": epsilons, "Run": runs, SCORES[task]: scores(task).ravel()})


def _explanation(task: str, place: int) -> str:
    here, without_noise = scores(task)[place], scores(task)[-1].mean()
    low, high = (score_text(task, float(value)) for value in (here.min(), here.max()))
    return (
        f"{_TOLD[task]} At ε = {outcome_charts.label(EPSILONS[place])}, {here.size} runs gave anything from "
        f"**{low}** to **{high}**; without noise, {score_text(task, without_noise)}. One run is one draw: "
        "report the spread, not the best. Noise per sum stays the same, so results improve with more records "
        "and fewer sums."
    )


_TOLD = {
    "risk": "4,204 people and 45 weights.",
    "topics": "19,070 paragraphs and 60,000 topic–word counts: many sums share the signal.",
    "digits": "6,000 images and 784 pixels by 50 hidden units.",
}

LESSON = Lesson(
    7,
    "Outcomes",
    "What noise does to results",
    "The same training again and again: real runs at several ε, with other noise each time.",
    "A clinic trains a stroke risk model on 4,204 people once, with ε = 0.1. Without noise its AUC would be "
    f"{scores('risk')[-1].mean():.2f}. Which AUC will the clinic get?",
    (
        f"About {scores('risk')[-1].mean():.2f}: noise averages out",
        f"{scores('risk')[0].mean():.2f}, always",
        f"Anything from {scores('risk')[0].min():.2f} to {scores('risk')[0].max():.2f}: a matter of luck",
        "0.50: nothing but noise is left",
    ),
    2,
    "From the table behind the chart, compare the standard deviation of the AUC between runs at ε = 0.1 and "
    "at ε = 1. By how much does it shrink, and what would you report in a paper?",
    f"{scores('risk')[0].std():.3f} and {scores('risk')[2].std():.3f}. Report mean and spread over runs on "
    "public data; on private data every further run, and choosing the best of them, costs privacy too.",
    (WHAT, EPSILON, RUN),
    (
        Formula(
            r"\text{noise\_std}=\text{noise\_multiplier}\cdot C/w",
            "noise_std = noise_multiplier · C/w",
            "Per sum, whatever N (lesson 5); C bounds one record, w is the sum's share of the budget.",
        ),
        Formula(
            r"\mathrm{perplexity}=\exp\Big(-\tfrac1N\sum_{i=1}^N\log p_{\mathrm{model}}(x_i)\Big)",
            "perplexity = exp(−(1/N) Σ log p<sub>model</sub>(x<sub>i</sub>))",
            "The paper's §4.3, here of the held-out half of each paragraph; smaller is better.",
        ),
        Formula(
            r"\mathrm{AUC}=\Pr(\text{score of a case}>\text{score of a control})",
            "AUC = Pr(score of a case > score of a control)",
            "The measure of §6.3, for people who were not trained on; ½ is guessing.",
        ),
    ),
    look,
    "Refined variants, full batches, δ = 1e-5, held-out scores of seeded runs on public data: 20 for each ε, "
    "8 for topics and digits. Dashed curve: without noise. Words in blue are also found without noise.",
    "One real run at the chosen ε; Play shows runs with other noise.",
)
