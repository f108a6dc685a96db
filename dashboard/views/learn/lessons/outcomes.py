"""The effect of noise on topics, a risk model and digits, over many real runs from `sample_data.lessons`."""

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
from sample_data import lessons as results
from sample_data.lessons import EPSILONS, Results
from vips_core.kernels import Array
from vips_core.reports.figures import Figure


@dataclass(frozen=True)
class Trained:
    """A model with its repeated runs.

    Attributes
    ----------
    row
        Its row in the results' table of spent ε.
    column
        The attribute of the results with the held-out scores of its runs, (ε, seed).
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
    """

    label: str
    row: int
    score: str
    column: str
    style: str
    draw: Callable[[Results, int, int, bool], Figure]
    size: str
    story: str
    blind: str
    smaller_is_better: bool = False

    def of_runs(self) -> Array:
        """Return the held-out scores of the runs, (ε, seed)."""
        return np.asarray(getattr(results.load(), self.column))

    def write(self, score: float) -> str:
        """Format a score."""
        return format(float(score), self.style)


MODELS = {
    "risk": Trained(
        label="Stroke risk",
        row=0,
        score="AUC",
        column="auc",
        style=".3f",
        draw=outcome_charts.risk,
        size="4,204 people and 45 weights.",
        story="A clinic trains a stroke risk model on 4,204 people",
        blind="0.500",
    ),
    "topics": Trained(
        label="Topics",
        row=1,
        score="Perplexity",
        column="perplexity",
        style=",.0f",
        draw=outcome_charts.topics,
        size="19,070 paragraphs and 60,000 topic–word counts: many sums share the signal.",
        story="An archive trains a topic model on 19,070 paragraphs",
        blind="6,000",
        smaller_is_better=True,
    ),
    "digits": Trained(
        label="Digits",
        row=2,
        score="Pixel accuracy",
        column="accuracy",
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
    "The runs exist at these values; ∞ is training without noise.",
)
_RUN_HELP = "Each run has fresh noise. Play shows them in turn."
RUN = whole("outcomes_run", "Run", 1, range(1, results.DIGIT_SEEDS + 1), _RUN_HELP)


def look(values: Mapping[str, Any], revealed: bool, later: Later) -> Outcome:
    """Show one run at one ε, with the other runs as frames."""
    model, run = MODELS[values[WHAT.name]], values[RUN.name] - 1
    place = list(EPSILON.options).index(values[EPSILON.name])
    here, without_noise = model.of_runs()[place], model.of_runs()[-1].mean()
    low, high = model.write(here.min()), model.write(here.max())
    worst, best = (high, low) if model.smaller_is_better else (low, high)
    return Outcome(
        numbers=(
            ("ε by PLD, from the ledger", at_most(float(results.load().spent[model.row, place]))),
            (f"{model.score}, mean", model.write(here.mean())),
            ("Worst – best run", f"{worst} – {best}"),
            ("Without noise", model.write(without_noise)),
        ),
        figure=model.draw(results.load(), place, run, revealed),
        table=lambda: _table(model),
        explanation=(
            f"{model.size} At ε = {values[EPSILON.name]}, {here.size} runs gave from **{low}** to "
            f"**{high}**; without noise {model.write(without_noise)}. These are no bounds: the next run may "
            f"fall outside, with a chance of up to 2/{here.size + 1}, about {2 / (here.size + 1):.0%}. "
            "Report the spread, not the best. Noise per sum stays the same: more records and fewer sums help."
        ),
    )


def _table(model: Trained) -> pd.DataFrame:
    scores = model.of_runs()
    epsilons = np.repeat([outcome_charts.label(epsilon) for epsilon in EPSILONS], scores.shape[1])
    runs = np.tile(np.arange(1, scores.shape[1] + 1), len(EPSILONS))
    return pd.DataFrame({"ε": epsilons, "Run": runs, model.score: scores.ravel()})


def question(values: Mapping[str, Any]) -> Question:
    """Ask for the score of one run of the chosen model at ε = 0.1."""
    model = MODELS[values[WHAT.name]]
    scores = model.of_runs()
    noisy, exact = scores[0], model.write(scores[-1].mean())
    low, high = model.write(noisy.min()), model.write(noisy.max())
    score = model.score if model.score.isupper() else model.score.lower()
    return Question(
        f"{model.story} once, with ε = 0.1. Without noise the {score} would be {exact}. What will this one "
        "run reach?",
        (
            Answer(f"About {exact}: noise averages out", "Every single run has the full noise."),
            Answer(
                f"{model.write(noisy.mean())}, always",
                "That is the mean of many runs; each has its own noise.",
            ),
            Answer(f"Nobody can say: {noisy.size} runs ranged from {low} to {high}"),
            Answer(f"{model.blind}: nothing but noise is left", "Every run here scored better than that."),
        ),
    )


_AUC = MODELS["risk"].of_runs()
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
