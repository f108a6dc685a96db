"""The effect of noise on topics, a risk model and digits, over many real runs from `sample_data.lessons`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dashboard.background import Later
from dashboard.components.formats import at_most
from dashboard.state import Choice
from dashboard.views.learn.lessons import outcome_charts
from dashboard.views.learn.lessons.base import Answer, Outcome, Question, Scale, lesson, whole
from dashboard.views.learn.lessons.figures import played
from sample_data import lessons as results
from sample_data.lessons import EPSILONS, Results
from vips_core.kernels import Array
from vips_core.reports.figures import Figure


@dataclass(frozen=True, eq=False)
class Trained:
    """A model with its repeated runs.

    Attributes
    ----------
    scores
        The held-out scores of its runs, (ε, seed).
    style
        The format of a score.
    draw
        Function of the results, the index of ε, the run, and whether the answer is revealed.
    size
        Numbers of records and of sums.
    story
        Who trains what, for the question.
    blind
        The score of a model with equal probabilities for every outcome.
    milliseconds
        How long Play shows a run: enough to see a curve or an image, or to read words.
    """

    label: str
    score: str
    scores: Array
    style: str
    draw: Callable[[Results, int, int, bool], Figure]
    size: str
    story: str
    blind: str
    smaller_is_better: bool = False
    milliseconds: int = 600

    def write(self, score: float) -> str:
        """Format a score."""
        return format(float(score), self.style)


_RESULTS = results.load()
MODELS = {  # in the order of the results' table of spent ε
    "risk": Trained(
        label="Stroke risk",
        score="AUC",
        scores=_RESULTS.auc,
        style=".3f",
        draw=outcome_charts.risk,
        size="4,204 people and 45 weights.",
        story="A clinic trains a stroke risk model on 4,204 people",
        blind="0.500",
    ),
    "topics": Trained(
        label="Topics",
        score="perplexity",
        scores=_RESULTS.perplexity,
        style=",.0f",
        draw=outcome_charts.topics,
        size="19,070 paragraphs and 60,000 topic–word counts: many sums share the signal.",
        story="An archive trains a topic model on 19,070 paragraphs",
        blind="6,000",
        smaller_is_better=True,
        milliseconds=1200,
    ),
    "digits": Trained(
        label="Digits",
        score="pixel accuracy",
        scores=_RESULTS.accuracy,
        style=".1%",
        draw=outcome_charts.digits,
        size="6,000 images and 784 pixels by 50 hidden units.",
        story="A bank trains a model of digits on 6,000 images",
        blind="50.0%",
    ),
}
WHAT = Choice(
    "outcomes_what",
    "Model",
    "risk",
    {name: model.label for name, model in MODELS.items()},
    "Three models on three public data sets.",
)
EPSILON = Scale(
    "outcomes_eps",
    "ε",
    "0.1",
    {label: label for label in map(outcome_charts.label, EPSILONS)},
    "Values of the shipped runs; ∞ is training without noise.",
)
_RUN_HELP = "Each run has fresh noise. Play shows them in turn."
RUN = whole("outcomes_run", "Run", 1, range(1, results.DIGIT_SEEDS + 1), _RUN_HELP)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show one run at one ε, with the other runs as frames; before the reveal, runs without noise."""
    name, place = values[WHAT.name], list(EPSILON.options).index(values[EPSILON.name])
    model, shown = MODELS[name], place if revealed else len(EPSILONS) - 1
    here, without_noise = model.scores[place], model.write(model.scores[-1].mean())
    low, high = model.write(here.min()), model.write(here.max())
    worst, best = (high, low) if model.smaller_is_better else (low, high)
    noise = "Without noise" if math.isinf(EPSILONS[shown]) else f"ε = {outcome_charts.label(EPSILONS[shown])}"
    drawn = {
        f"<b>{noise}</b>, run {run + 1}": model.draw(_RESULTS, shown, run, revealed)
        for run in range(here.size)
    }
    return Outcome(
        numbers=(
            ("ε by PLD, from the ledger", at_most(float(_RESULTS.spent[list(MODELS).index(name), place]))),
            (f"Mean {model.score}", model.write(here.mean())),
            ("Worst – best run", f"{worst} – {best}"),
            ("Without noise", without_noise),
        ),
        figure=played(drawn, list(drawn)[values[RUN.name] - 1], model.milliseconds, rounds=4),
        table=lambda: _table(model),
        explanation=(
            f"{model.size} At ε = {values[EPSILON.name]}, {here.size} runs ranged from **{low}** to "
            f"**{high}**; without noise, the mean is {without_noise}. This range is not a bound: the next "
            f"run falls outside with probability up to 2/{here.size + 1}, about {2 / (here.size + 1):.0%}. "
            "Report the spread, not the best run. The noise on a sum does not grow with the records: more "
            "records help, and so do fewer sums."
        ),
    )


def _table(model: Trained) -> pd.DataFrame:
    epsilons, runs = np.indices(model.scores.shape).reshape(2, -1)
    names = [outcome_charts.label(EPSILONS[place]) for place in epsilons]
    return pd.DataFrame({"ε": names, "Run": runs + 1, f"Held-out {model.score}": model.scores.ravel()})


def question(values: Mapping[str, Any]) -> Question:
    """Ask for the score of one run of the chosen model at ε = 0.1."""
    model = MODELS[values[WHAT.name]]
    noisy, exact = model.scores[0], model.write(model.scores[-1].mean())
    low, high = model.write(noisy.min()), model.write(noisy.max())
    return Question(
        f"{model.story} once, with ε = 0.1. Without noise the {model.score} would be {exact}. What will this "
        "one run reach?",
        (
            Answer(f"About {exact}: noise averages out", "Every single run has the full noise."),
            Answer(
                f"{model.write(noisy.mean())}, always",
                "That is the mean of many runs; each run has its own noise.",
            ),
            Answer(f"Nobody can say: {noisy.size} runs ranged from {low} to {high}"),
            Answer(f"{model.blind}: nothing but noise is left", "Every run here scored better than that."),
        ),
    )


_AUC = _RESULTS.auc
LESSON = lesson(
    __file__,
    parameters=(WHAT, EPSILON, RUN),
    look=look,
    question=question,
    solution=(
        f"{_AUC[0].std():.3f} and {_AUC[2].std():.3f}. Report the mean and standard deviation of "
        "runs on public data; on private data, every further run and the choice of the best one cost privacy."
    ),
)
