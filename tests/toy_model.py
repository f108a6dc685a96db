"""A small private model for tests alone: the means of cases and of non-cases, on records of kind table.

`registered()` makes it known as a model folder does, with one call of `register`; the core names it nowhere.
"""

import contextlib
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from vips_core import Block, Raw
from vips_core.kernels.exact import cut, lowered
from vips_core.models import task as tasks
from vips_core.models.task import NON_PRIVATE, REFINED, WALL_METHODS, Report, Score, Task, by_name
from vips_core.options import Option

NAME = "toy"
ACCURACY = "accuracy"


@dataclass(frozen=True)
class Centres:
    """Mean predictors of non-cases (row 0) and of cases (row 1)."""

    means: np.ndarray


@dataclass(frozen=True)
class ToyModel:
    """Means of two groups, each shrunk to 0 as by `pull` additional rows; steps are averaged."""

    features: tuple[str, ...]
    norm_bound: float = 1.0
    pull: float = 10.0

    def __post_init__(self):
        object.__setattr__(self, "features", tuple(self.features))

    def init(self, plan, rng):
        return Centres(np.zeros((2, len(self.features))))

    def blocks(self, plan, step):
        half = math.sqrt(0.5)
        return {
            "sums": Block(self.norm_bound, half, (2, len(self.features))),
            "counts": Block(1.0, half, (2,)),
        }

    def e_step(self, params, batch, blocks):
        x = np.asarray(batch.x.todense() if hasattr(batch.x, "todense") else batch.x, np.float64)
        groups = np.stack([1 - batch.y, batch.y], axis=1) * batch.row_weights[:, None]
        norms = np.sqrt([math.fsum(row * row) for row in x])
        bound = lowered(blocks["sums"].bound, cells=x.shape[1])
        scale = np.minimum(1, bound / np.maximum(norms, 1e-12))
        sums = cut(groups[:, :, None] * (scale[:, None] * x)[:, None, :], blocks["sums"].grid)
        return Raw({"sums": sums.sum(axis=0), "counts": cut(groups, blocks["counts"].grid).sum(axis=0)})

    def m_step(self, params, released, step):
        counts = np.maximum(released.total("counts"), 0) + self.pull
        means = released.total("sums") / counts[:, None]
        return Centres(params.means + (means - params.means) / (step + 1))


class ToyTask(Task):
    """Everything that commands, reports and pages need of the toy model."""

    name = NAME
    title = "Group means"
    help = "mean predictors of cases and non-cases"
    product = "Group means"
    kind = "table"
    model_types = (ToyModel,)
    methods = {method.name: method for method in WALL_METHODS if method.name in (REFINED, NON_PRIVATE)}
    scores = by_name(
        Score(
            ACCURACY,
            larger_is_better=True,
            meaning="what share of new rows is nearer to the mean of its own group",
        )
    )
    tables = ("means",)
    epochs = 2.0
    options = {
        "pull": Option(
            float,
            "Made-up rows that pull each group's mean to 0.",
            10.0,
            low=0.1,
            high=1e6,
            label="Pull",
        )
    }
    clipping = "A row's norm is at most the public norm bound."
    tuning = "Nothing was tuned."
    score_code = "ToyTask().score_validation(fit, data.test)"

    def model(self, method, values, train):
        return ToyModel(train.feature_names, train.norm_bound, values["pull"])

    def model_code(self, method, values):
        return f"ToyModel(data.train.feature_names, data.train.norm_bound, {values['pull']!r})"

    def imports(self, method):
        return "from tests.toy_model import ToyModel, ToyTask\n"

    def score_validation(self, fit, test):
        x = np.asarray(test.x.todense() if hasattr(test.x, "todense") else test.x)
        distances = ((x[:, None, :] - fit.params.means[None]) ** 2).sum(axis=2)
        return float(np.mean(distances.argmin(axis=1) == test.y))

    def report(self, fit, test):
        table = pd.DataFrame(fit.params.means.T, columns=["non-cases", "cases"])
        table.insert(0, "feature", fit.model.features)
        scores = {} if test is None else {ACCURACY: self.score_validation(fit, test)}
        return Report(scores, {"means": table}, table.to_string(index=False, float_format="%.3f"))

    def cautions(self, model, plan):
        return ["This model is a toy."]


@contextlib.contextmanager
def registered():
    """Register the model while the body runs."""
    tasks.register(ToyTask())
    try:
        yield tasks.TASKS[NAME]
    finally:
        del tasks.TASKS[NAME], tasks.TITLES[NAME]
