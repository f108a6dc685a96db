"""One task for each model: its options, its data, the model they make, and what is reported of the result."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
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
from vips_core.runs import sources

TOP = 10  # words of a topic, or coefficients, in a text


@dataclass(frozen=True)
class Report:
    """What may be published of a fit: scores on public held-out records, tables, and a text for people."""

    scores: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


class Task(Protocol):
    """What the command line (and a worker) must know of a model."""

    help: str
    samples: str
    methods: tuple[str, ...]
    epochs: float

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options that only this model has."""
        ...

    def load(self, options: argparse.Namespace) -> tuple[Any, Any]:
        """Return the training records, and public held-out records or None."""
        ...

    def model(self, options: argparse.Namespace, train: Any) -> Any:
        """Return the model, from public properties of the data only."""
        ...

    def accountant(self, options: argparse.Namespace) -> str:
        """Return the accountant that the plan is calibrated by."""
        ...

    def report(self, fit: Fit[Any], test: Any) -> Report:
        """Return what may be published."""
        ...

    def without_wall(self, options: argparse.Namespace, train: Any, test: Any) -> Report | None:
        """Return the result of a rival that has a privacy proof of its own, or None for a model of ours."""
        ...


class _OnTheWall:
    """What tasks share whose methods all train behind the wall."""

    def accountant(self, options: argparse.Namespace) -> str:
        """Return the accountant asked for."""
        return str(options.accountant)

    def without_wall(self, options: argparse.Namespace, train: Any, test: Any) -> Report | None:
        """Return None: there is no other way."""
        return None


class TopicsTask(_OnTheWall):
    """Latent Dirichlet allocation."""

    help = "topics of documents (latent Dirichlet allocation)"
    samples = "sotu"
    methods: tuple[str, ...] = ("refined", "paper")
    epochs = 20.0

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare topics, document length and where documents and words are."""
        parser.add_argument("--topics", type=int, default=20, help="K, number of topics")
        parser.add_argument("--words", type=int, default=50, help="N, words that a document may count for")
        parser.add_argument(
            "--vocabulary", type=Path, help="public words, one per line (default: common English)"
        )
        parser.add_argument("--column", help="column of a CSV with one document per row")

    def load(self, options: argparse.Namespace) -> tuple[Corpus, Corpus | None]:
        """Return documents of a sample, of `.npz` counts, or of a text or CSV file."""
        return sources.samples_or_files(
            options.data,
            options.test,
            Corpus,
            lambda path: sources.read_corpus(path, options.vocabulary, options.column),
        )

    def model(self, options: argparse.Namespace, train: Corpus) -> LDA:
        """Return the topic model for the corpus's public vocabulary."""
        return LDA(options.topics, train.vocabulary, options.words, method=options.method)

    def report(self, fit: Fit[Any], test: Corpus | None) -> Report:
        """Return perplexities and coherence of held-out documents, and each topic's first words."""
        import pandas as pd

        best = top_words(fit, min(TOP, len(fit.model.vocabulary)))
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
                "coherence (NPMI)": float(npmi_coherence(topic_words(fit.params), test).mean()),
            }
        return Report(scores, {"topics": table}, "\n".join(lines))


class ImagesTask(_OnTheWall):
    """Sigmoid belief network."""

    help = "binary images (sigmoid belief network)"
    samples = "mnist"
    methods: tuple[str, ...] = ("refined", "paper")
    epochs = 12.0

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare hidden units and the threshold of grey images."""
        parser.add_argument("--hidden", type=int, default=50, help="K, number of hidden units")
        parser.add_argument("--threshold", type=float, default=127, help="pixels above are 1 (files only)")

    def load(self, options: argparse.Namespace) -> tuple[BinaryRows, BinaryRows | None]:
        """Return images of a sample, of an `.npz`, or of a folder of PNG files."""
        return sources.samples_or_files(
            options.data, options.test, BinaryRows, lambda path: sources.read_images(path, options.threshold)
        )

    def model(self, options: argparse.Namespace, train: BinaryRows) -> SBN:
        """Return the network for images of this shape."""
        return SBN(train.shape[0] * train.shape[1], options.hidden, train.shape, method=options.method)

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
    samples = "nhanes-stroke"
    methods: tuple[str, ...] = ("refined", "paper", "strong", "sgd", "perm")
    epochs = 16.0

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the label and the public ranges of a CSV."""
        parser.add_argument("--target", help="column of a CSV with the 0/1 label")
        parser.add_argument("--schema", type=Path, help="TOML file with the public range of each predictor")

    def load(self, options: argparse.Namespace) -> tuple[LabelledRows, LabelledRows | None]:
        """Return rows of a sample, or of a CSV with its schema."""

        def read(path: Path) -> LabelledRows:
            if options.target is None or options.schema is None:
                raise ValueError("a CSV needs --target, the label's column, and --schema, the public ranges")
            return sources.read_rows(path, options.target, options.schema)

        return sources.samples_or_files(options.data, options.test, LabelledRows, read)

    def model(self, options: argparse.Namespace, train: LabelledRows) -> Any:
        """Return the regression, or DP-SGD, for these features and this norm bound."""
        if options.method == "sgd":
            return PrivateGradientDescent(train.feature_names, train.norm_bound)
        method: Literal["refined", "paper"] = "refined" if options.method == "refined" else "paper"
        return BayesianLogistic(train.feature_names, train.norm_bound, method)

    def accountant(self, options: argparse.Namespace) -> str:
        """Return the accountant asked for; "strong" is the paper's variant under strong composition."""
        return "strong" if options.method == "strong" else str(options.accountant)

    def report(self, fit: Fit[Any], test: LabelledRows | None) -> Report:
        """Return the AUC of held-out rows, and coefficients with credible intervals where there are some."""
        columns = {"feature": fit.model.features, "mean": fit.params.mean}
        if isinstance(fit.model, BayesianLogistic):
            low, high = fit.model.credible_intervals(fit).T
            columns |= {"low (90 %)": low, "high (90 %)": high}
        return _coefficients(columns, {} if test is None else {"AUC": auc(fit, test)})

    def without_wall(
        self, options: argparse.Namespace, train: LabelledRows, test: LabelledRows | None
    ) -> Report | None:
        """Return private ERM by objective perturbation: ε-DP for replacing one record."""
        if options.method != "perm":
            return None
        from vips_core.baselines.objective_perturbation import fit_objective_perturbation

        if options.epsilon is None:
            raise ValueError("--method perm needs --epsilon, which its proof is about")
        weights = fit_objective_perturbation(train, options.epsilon, np.random.default_rng(options.seed))
        scores = {} if test is None else {"AUC": risk.auc(test.y, test.x @ weights)}
        return _coefficients({"feature": train.feature_names, "mean": weights}, scores)


def _coefficients(columns: Mapping[str, Any], scores: Mapping[str, float]) -> Report:
    import pandas as pd

    table = pd.DataFrame(columns)
    largest = table.reindex(table["mean"].abs().sort_values(ascending=False).index).head(TOP)
    return Report(scores, {"coefficients": table}, largest.to_string(index=False, float_format="%.3f"))


TASKS: Mapping[str, Task] = {"lda": TopicsTask(), "logistic": RiskTask(), "sbn": ImagesTask()}
