"""Topics of documents: latent Dirichlet allocation."""

import functools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from vips_core.models.base import Fitted
from vips_core.models.lda.model import LDA, measured_topics, top_words, topic_shares, topic_words
from vips_core.models.lda.scores import match_topics, npmi_coherence, perplexity
from vips_core.models.task import (
    NON_PRIVATE,
    TOP,
    Chart,
    PaperSettings,
    Report,
    Score,
    Task,
    by_name,
    register,
)
from vips_core.options import Option
from vips_core.records import Documents

UNCUT_WORDS = 2000  # N without privacy, in words: nearly no document is scaled down
EXAMPLES = 3  # topics shown side by side for several fits
_BOUND, _COMPLETION, _COHERENCE = "perplexity (bound)", "perplexity (completion)", "coherence (NPMI)"


class LDATask(Task):
    """Latent Dirichlet allocation."""

    name = "lda"
    title = "Topics"
    help = "topics of documents (latent Dirichlet allocation)"
    product = "Topics"
    kind = "documents"
    model_types = (LDA,)
    scores = by_name(
        Score(
            _COMPLETION,
            larger_is_better=False,
            meaning="how many words the model effectively chooses among when it predicts half of a text "
            "from the other half",
            in_paper=True,
        ),
        Score(
            _BOUND,
            larger_is_better=False,
            meaning="the paper's upper bound on how many words the model effectively chooses among in a "
            "new text",
            in_paper=True,
        ),
        Score(
            _COHERENCE,
            larger_is_better=True,
            meaning="how much more often than by chance a topic's top words share a text",
        ),
    )
    validation_records = 500
    tables: tuple[str, ...] = ("topics",)
    epochs = 20.0
    options: Mapping[str, Option] = {
        "topics": Option(
            int,
            "Number of topics to learn.",
            20,
            low=2,
            high=1000,
            label="Topics",
            symbol="K",
        ),
        "words": Option(
            int,
            "Longer documents are scaled down to this many words.",
            50,
            low=1,
            high=100_000,
            label="Words per document",
            symbol="N",
        ),
    }
    clipping = (
        "A document is first brought to N words (as published: N draws from it; refined: longer documents "
        "are scaled down). Its contribution to a step's sums is then clipped in L2 norm to the block's bound."
    )
    tuning = (
        "Constants of the refined variant (clipping, averaging, shrinkage) were chosen by held-out "
        "perplexity on public documents: Wikipedia, State of the Union addresses, newsgroups, docstrings, "
        "package descriptions and generated ones. Results on these corpora are therefore slightly optimistic."
    )
    paper = PaperSettings(
        {"epsilon": "Figure 2", "steps": "Figure 3", "topics": "Table 1"},
        batches=(5_000, 10_000, 20_000),
        noises=(1.0, 1.1, 1.24, 1.5, 2.0),
        records=400_000,
    )
    score_code = "vips.perplexity(fit, data.test)"

    def model(self, method: str, values: Mapping[str, Any], train: Documents) -> LDA:
        """Return the topic model for the corpus's public vocabulary."""
        words, settings = self._settings(method, values)
        return LDA(values["topics"], train.vocabulary, words, **settings)

    def model_code(self, method: str, values: Mapping[str, Any]) -> str:
        """Return the Python expression for this model."""
        words, settings = self._settings(method, values)
        (name, value), *_ = settings.items()
        return f"vips.LDA({values['topics']}, data.train.vocabulary, {words}, {name}={json.dumps(value)})"

    def _settings(self, method: str, values: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if method == NON_PRIVATE:  # no document needs to be clipped, and few are scaled down
            return max(values["words"], UNCUT_WORDS), {"clip": 1.0}
        return values["words"], {"variant": self.methods[method].variant}

    def check(self, test: Documents) -> None:
        """Refuse held-out documents if none has two words: one half must predict the other."""
        if not (test.words >= 2).any():
            raise ValueError(
                "at least one held-out document must have two words of the vocabulary, got "
                f"{test.words.sum():,} words in {len(test):,} documents"
            )

    def score_validation(self, fit: Fitted[Any], test: Documents) -> float:
        """Return the completion perplexity of a sample of held-out documents."""
        return perplexity(fit, _validation_sample(test), "completion")

    def side_by_side(self, fits: Mapping[str, Mapping[str, Any]], train: Documents) -> list[Chart]:
        """Return the top words of the largest topics, matched to those of the first fit."""
        import pandas as pd

        topics = {label: arrays["lam"] for label, arrays in fits.items() if "lam" in arrays}
        if len(topics) < 2:
            return []
        words = np.array(train.vocabulary)
        (first, reference), *_ = topics.items()
        largest = np.argsort(-reference.sum(axis=1), kind="stable")[:EXAMPLES]
        columns: dict[str, Any] = {
            "topic": np.repeat(largest, TOP),
            "rank": np.tile(np.arange(1, TOP + 1), len(largest)),
        }
        shared = []
        for label, lam in topics.items():
            partner, overlap = match_topics(reference, lam)
            probabilities = lam[partner[largest]] / lam[partner[largest]].sum(axis=1, keepdims=True)
            best = np.argsort(-probabilities, axis=1, kind="stable")[:, :TOP]
            columns[label] = words[best].ravel().tolist()
            columns[f"{label}, probability"] = np.take_along_axis(probabilities, best, axis=1).ravel()
            if label != first:
                shared.append(f"{label} {overlap.mean():.2f}")
        caption = (
            f"The {EXAMPLES} largest topics of “{first}”, each beside its match (Hungarian method). "
            f"Mean probability mass shared with the match, over all {len(reference)} topics: "
            f"{', '.join(shared)}. One seed."
        )
        return [Chart("topics", f"The first {TOP} words of matched topics", caption, pd.DataFrame(columns))]

    def report(self, fit: Fitted[Any], test: Documents | None) -> Report:
        """Return held-out perplexities and coherence, and each topic's top words."""
        import pandas as pd

        top = min(TOP, len(fit.model.vocabulary))
        best = top_words(fit, top)
        shares = topic_shares(fit)
        rows = [
            (topic, shares[topic], rank, word, probability)
            for topic, words in enumerate(best)
            for rank, (word, probability) in enumerate(words, 1)
        ]
        table = pd.DataFrame(rows, columns=["topic", "share", "rank", "word", "probability"])
        lines = [
            f"topic {topic:>3} ({shares[topic]:5.1%})  " + " ".join(word for word, _ in words)
            for topic, words in enumerate(best[: measured_topics(fit)])
        ]
        if len(lines) < len(best):
            lines.append(f"Found {len(lines)} of {len(best)} topics; the noise hides the others.")
        scores = {}
        if test is not None:
            scores = {
                _BOUND: perplexity(fit, test, "bound"),
                _COMPLETION: perplexity(fit, test, "completion"),
                _COHERENCE: float(npmi_coherence(topic_words(fit), test, top).mean()),
            }
        return Report(scores, {"topics": table}, "\n".join(lines))


@functools.lru_cache(maxsize=1)  # documents scored after every step are then halved only once
def _validation_sample(test: Documents) -> Documents:
    documents: Documents = LDATask().validation_sample(test[test.words >= 2])
    return documents


register(LDATask())
