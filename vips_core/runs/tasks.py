"""One task for each model: its options, the model they make, and what is reported of the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from vips_core.baselines.dpsgd import PrivateGradientDescent
from vips_core.data import BinaryRows, Corpus, LabelledRows
from vips_core.fit import Fit
from vips_core.metrics import auc, perplexity, pixel_accuracy, reconstruction_log_likelihood, risk
from vips_core.metrics.text import npmi_coherence
from vips_core.models.lda import LDA, top_words, topic_shares, topic_words
from vips_core.models.logistic import BayesianLogistic
from vips_core.models.sbn import SBN
from vips_core.runs.options import Option

TOP = 10  # words of a topic, or coefficients, in a text
WATCHED = 500  # held-out records that are scored while training
UNCUT_WORDS = 2000  # N without privacy: longer than nearly all documents
NON_PRIVATE = "non-private"  # the refined variant without noise
STRONG = "strong"  # the paper's variant, with the noise that strong composition asks for


@dataclass(frozen=True)
class Report:
    """What may be published of a fit: scores on public held-out records, tables, and a text for people."""

    scores: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


class Task(Protocol):
    """What the command line, workers and pages must know of a model.

    Attributes
    ----------
    kind
        Type of its data.
    watched
        Name of the score that is followed while training.
    options
        What only this model has, besides `SPENDING`.
    """

    help: str
    kind: type
    methods: tuple[str, ...]
    epochs: float
    watched: str
    options: Mapping[str, Option]

    def model(self, method: str, values: Mapping[str, Any], train: Any) -> Any:
        """Return the model, from public properties of the data only."""
        ...

    def check(self, test: Any) -> None:
        """Refuse public held-out records that cannot be scored, before anything is spent."""
        ...

    def watch(self, fit: Fit[Any], test: Any) -> float:
        """Return the score to follow, on public held-out records."""
        ...

    def report(self, fit: Fit[Any], test: Any) -> Report:
        """Return what may be published; `test` is public, or None."""
        ...

    def without_wall(
        self, method: str, values: Mapping[str, Any], train: Any, test: Any
    ) -> tuple[Report, Mapping[str, Any]] | None:
        """Return report and arrays of a rival with a privacy proof of its own, or None for models of ours."""
        ...


def variant(method: str) -> Literal["refined", "paper"]:
    """Return the model's own variant for a method."""
    return "paper" if method in ("paper", STRONG) else "refined"


def some(records: Any, count: int) -> Any:
    """Return at most `count` records, evenly spread: files are often in an order that means something."""
    chosen = np.zeros(len(records), bool)
    chosen[np.linspace(0, len(records) - 1, min(count, len(records))).astype(int)] = True
    return records[chosen]


class _OnTheWall:
    """What tasks share whose methods all train behind the wall."""

    methods: tuple[str, ...] = ("refined", "paper", STRONG, NON_PRIVATE)

    def check(self, test: Any) -> None:
        """Take all held-out records."""

    def without_wall(self, method: str, values: Mapping[str, Any], train: Any, test: Any) -> None:
        """Return None: there is no other way."""
        return None


class TopicsTask(_OnTheWall):
    """Latent Dirichlet allocation."""

    help = "topics of documents (latent Dirichlet allocation)"
    kind: type = Corpus
    epochs = 20.0
    watched = "perplexity (completion)"
    options: Mapping[str, Option] = {
        "topics": Option(int, "K, number of topics", 20, low=1, high=1000),
        "words": Option(int, "N, words that a document may count for", 50, low=1, high=100_000),
    }

    def model(self, method: str, values: Mapping[str, Any], train: Corpus) -> LDA:
        """Return the topic model for the corpus's public vocabulary."""
        topics, words = values["topics"], values["words"]
        if method == NON_PRIVATE:  # nothing to bound: no document is clipped or shortened
            return LDA(topics, train.vocabulary, max(words, UNCUT_WORDS), clip=1.0)
        return LDA(topics, train.vocabulary, words, method=variant(method))

    def watch(self, fit: Fit[Any], test: Corpus) -> float:
        """Return the completion perplexity of some held-out documents."""
        return perplexity(fit, some(test, WATCHED), "completion")

    def report(self, fit: Fit[Any], test: Corpus | None) -> Report:
        """Return perplexities and coherence of held-out documents, and each topic's first words."""
        import pandas as pd

        top = min(TOP, len(fit.model.vocabulary))
        best = top_words(fit, top)
        shares = topic_shares(fit.params)
        table = pd.DataFrame(
            [
                {
                    "topic": topic,
                    "share": shares[topic],
                    "rank": rank,
                    "word": word,
                    "probability": probability,
                }
                for topic, words in enumerate(best)
                for rank, (word, probability) in enumerate(words, 1)
            ]
        )
        lines = [
            f"topic {topic:>3} ({shares[topic]:5.1%})  " + " ".join(word for word, _ in words)
            for topic, words in enumerate(best)
        ]
        scores = {}
        if test is not None:
            scores = {
                "perplexity (bound)": perplexity(fit, test, "bound"),
                "perplexity (completion)": perplexity(fit, test, "completion"),
                "coherence (NPMI)": float(npmi_coherence(topic_words(fit.params), test, top).mean()),
            }
        return Report(scores, {"topics": table}, "\n".join(lines))


class ImagesTask(_OnTheWall):
    """Sigmoid belief network."""

    help = "binary images (sigmoid belief network)"
    kind: type = BinaryRows
    epochs = 12.0
    watched = "pixel accuracy"
    options: Mapping[str, Option] = {
        "hidden": Option(int, "K, number of hidden units", 50, low=1, high=1000),
    }

    def model(self, method: str, values: Mapping[str, Any], train: BinaryRows) -> SBN:
        """Return the network for images of this shape."""
        return SBN(train.shape[0] * train.shape[1], values["hidden"], train.shape, method=variant(method))

    def watch(self, fit: Fit[Any], test: BinaryRows) -> float:
        """Return the pixel accuracy of some held-out images."""
        return pixel_accuracy(fit, some(test, WATCHED))

    def report(self, fit: Fit[Any], test: BinaryRows | None) -> Report:
        """Return the pixel accuracy and likelihood of held-out images."""
        scores = {}
        if test is not None:
            scores = {
                "pixel accuracy": pixel_accuracy(fit, test),
                "log likelihood (nats per image)": reconstruction_log_likelihood(fit, test),
            }
        return Report(scores, {}, f"{fit.model.hidden} hidden units for {fit.model.pixels} pixels.")


class RiskTask:
    """Bayesian logistic regression and its rivals."""

    help = "risk from features (Bayesian logistic regression)"
    kind: type = LabelledRows
    methods: tuple[str, ...] = ("refined", "paper", STRONG, NON_PRIVATE, "sgd", "perm")
    epochs = 16.0
    watched = "AUC"
    options: Mapping[str, Option] = {}

    def model(self, method: str, values: Mapping[str, Any], train: LabelledRows) -> Any:
        """Return the regression, or DP-SGD, for these features and this norm bound."""
        if method == "sgd":
            return PrivateGradientDescent(train.feature_names, train.norm_bound)
        return BayesianLogistic(train.feature_names, train.norm_bound, variant(method))

    def check(self, test: LabelledRows) -> None:
        """Refuse held-out rows of one label, which have no AUC."""
        if test.y.min() == test.y.max():
            raise ValueError(f"held-out rows must have both labels, got {test.y[0]} in all of them")

    def watch(self, fit: Fit[Any], test: LabelledRows) -> float:
        """Return the AUC of held-out rows."""
        return auc(fit, test)

    def report(self, fit: Fit[Any], test: LabelledRows | None) -> Report:
        """Return the AUC of held-out rows, and coefficients with credible intervals where there are some."""
        columns = {"feature": fit.model.features, "mean": fit.params.mean}
        if isinstance(fit.model, BayesianLogistic):
            low, high = fit.model.credible_intervals(fit).T
            columns |= {"low (90 %)": low, "high (90 %)": high}
        return _coefficients(columns, {} if test is None else {"AUC": auc(fit, test)})

    def without_wall(
        self, method: str, values: Mapping[str, Any], train: LabelledRows, test: LabelledRows | None
    ) -> tuple[Report, Mapping[str, Any]] | None:
        """Return private ERM by objective perturbation: ε-DP for replacing one record."""
        if method != "perm":
            return None
        from vips_core.baselines.objective_perturbation import fit_objective_perturbation

        weights = fit_objective_perturbation(
            train, values["epsilon"], np.random.default_rng(values.get("seed"))
        )
        scores = {} if test is None else {"AUC": risk.auc(test.y, test.x @ weights)}
        return _coefficients({"feature": train.feature_names, "mean": weights}, scores), {"mean": weights}


def _coefficients(columns: Mapping[str, Any], scores: Mapping[str, float]) -> Report:
    import pandas as pd

    table = pd.DataFrame(columns)
    largest = table.reindex(table["mean"].abs().sort_values(ascending=False).index).head(TOP)
    return Report(scores, {"coefficients": table}, largest.to_string(index=False, float_format="%.3f"))


TASKS: Mapping[str, Task] = {"lda": TopicsTask(), "logistic": RiskTask(), "sbn": ImagesTask()}
