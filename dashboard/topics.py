"""What the Topics page shows: topics of several runs in one order, their words, distances and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from dashboard import components, session
from dashboard.library import Finished
from dashboard.session import Choice, Number, Text, log_stops
from dashboard.training import Bench
from vips_core import (
    Corpus,
    infer_topics,
    match_topics,
    npmi_coherence,
    topic_shares,
    topic_words,
    unigram_perplexity,
)
from vips_core.data import LETTERS
from vips_core.reports.figures import METHOD_NAMES
from vips_core.runs.sources import DataSet
from vips_core.runs.tasks import NON_PRIVATE, WATCHED, some

Array = npt.NDArray[np.float64]

LABELS = {name: METHOD_NAMES[name] for name in ("refined", "paper", "strong", NON_PRIVATE)}
RELEVANCE = Number(
    "relevance", "Relevance λ", 1.0, 0.0, 1.0,
    "1 ranks a topic's words by probability. Towards 0 those come first that the topic has more often than "
    "all topics together (lift).", tuple(round(0.05 * i, 2) for i in range(21)),
)  # fmt: skip
SHOWN = Choice("shown", "Method", "refined", LABELS, "The run whose topics are drawn.")
TOPIC = Text("topic", "1", r"[1-9][0-9]{0,3}")
BENCH = Bench(
    "lda",
    "Topics of documents",
    "Topics are groups of words that occur together. They are learned from noisy sums only, so that no "
    "single document can be told from them.",
    LABELS,
    (
        Number(
            "topics", "Topics K", 20, 2, 200, "How many groups of words to look for.",
            log_stops(2, 200, whole=True), whole=True,
        ),
        Number(
            "words", "Words per document N", 50, 1, 10_000,
            "A longer document counts as if it had so many words.", log_stops(1, 10_000, whole=True),
            whole=True,
        ),
    ),
    {
        "data": "sotu", "methods": "refined,strong,non-private", "epsilon": 3.0, "delta": 1e-5, "epochs": 5.0,
        "topics": 10, "seed": 1,
    },
    looks=(RELEVANCE, SHOWN, TOPIC),
)  # fmt: skip
WORDS = 10  # of a topic in a table
MOST_TEXT = 100_000  # characters of a pasted text


@dataclass(frozen=True)
class Topics:
    """Topics of one run, in the common order.

    Attributes
    ----------
    words
        Probability of each word, topics × words.
    shares
        Each topic's share of all words.
    overlap
        Probability mass that each topic has in common with its partner in the reference; None where there
        is no such pairing.
    """

    words: Array
    shares: Array
    overlap: Array | None
    order: npt.NDArray[np.int64]

    @property
    def marginal(self) -> Array:
        """Probability of each word in all topics together, as far as the release tells."""
        return np.asarray(self.shares @ self.words)


def reference(found: Mapping[str, Finished]) -> str:
    """Return the method that the others are matched to: the non-private one where it was run."""
    return NON_PRIVATE if NON_PRIVATE in found else next(iter(found))


@st.cache_resource(max_entries=16, show_spinner=False)
def aligned(run_ids: tuple[str, ...], _found: Mapping[str, Finished]) -> dict[str, Topics]:
    """Return the topics of all runs: the reference's by falling share, the others' next to their partners."""
    name = reference(_found)
    base, base_shares = _of(_found[name])
    base_order = np.argsort(-base_shares, kind="stable")
    topics = {}
    for method, item in _found.items():
        words, shares = _of(item)
        overlap = None
        order = np.argsort(-shares, kind="stable")
        if method == name:
            order = base_order
        elif words.shape == base.shape:
            partner, shared = match_topics(base, words)
            order, overlap = partner[base_order], shared[base_order]
        topics[method] = Topics(words[order], shares[order], overlap, order)
    return topics


def _of(item: Finished) -> tuple[Array, Array]:
    assert item.fit is not None  # all methods of this model have one
    return topic_words(item.fit.params), topic_shares(item.fit.params)


def relevance(topics: Topics, weight: float) -> Array:
    """λ ln p(w|topic) + (1 - λ) ln p(w|topic)/p(w) (Sievert and Shirley 2014), topics × words."""
    tiny = 1e-12
    logs = np.log(topics.words + tiny)
    return np.asarray(logs - (1 - weight) * np.log(topics.marginal + tiny))


def best_words(topics: Topics, weight: float, count: int = WORDS) -> npt.NDArray[np.int64]:
    """Return the numbers of each topic's most relevant words, topics × count."""
    scores = -relevance(topics, weight)
    kept = np.argpartition(scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(scores, kept, axis=1), axis=1, kind="stable")
    return np.take_along_axis(kept, order, axis=1)


def words_table(all_topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float) -> pd.DataFrame:
    """One row for each word among the first of a topic of a run."""
    rows = [
        {
            "Topic": number + 1, "Method": LABELS[method], "Share": topics.shares[number],
            "Overlap with reference": None if topics.overlap is None else topics.overlap[number],
            "Rank": rank + 1, "Word": vocabulary[word], "Probability": topics.words[number, word],
        }
        for method, topics in all_topics.items()
        for number, best in enumerate(best_words(topics, weight))
        for rank, word in enumerate(best)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def paper_table(
    all_topics: Mapping[str, Topics], vocabulary: tuple[str, ...], weight: float, chosen: Sequence[int]
) -> pd.DataFrame:
    """The paper's Table 1: words and probabilities of a few topics, methods side by side."""
    columns: dict[str, list[Any]] = {}
    found = {method: best_words(topics, weight) for method, topics in all_topics.items()}
    for number in chosen:
        for method, topics in all_topics.items():
            best = found[method][number]
            head = f"Topic {number + 1}, {LABELS[method]}"
            columns[head] = [vocabulary[word] for word in best]
            columns[f"{head}, probability"] = [round(float(topics.words[number, word]), 5) for word in best]
    return pd.DataFrame(columns)


def take(points: Sequence[Mapping[str, Any]]) -> None:
    """Choose the topic that was clicked; a second click on it only takes its mark away."""
    if points:
        components.take_one_of("topic", str(points[0]["point_index"] + 1))


@dataclass(frozen=True)
class Map:
    """Topics of one or two runs in the plane; `places` has a row for each topic of `methods` in turn."""

    methods: tuple[str, ...]
    places: Array
    kept: float


@st.cache_data(max_entries=32, show_spinner=False)
def topic_map(run_ids: tuple[str, ...], methods: tuple[str, ...], _topics: Mapping[str, Topics]) -> Map:
    """Place topics so that distances are near the Jensen–Shannon distances (classical scaling)."""
    words = np.concatenate([_topics[method].words for method in methods])
    squared = divergence(words)
    centre = np.eye(len(words)) - 1 / len(words)
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    top = np.argsort(values)[::-1][:2]
    positive = np.maximum(values, 0)
    places = vectors[:, top] * np.sqrt(positive[top])
    return Map(methods, places, float(positive[top].sum() / max(positive.sum(), 1e-12)))


def divergence(words: Array) -> Array:
    """Return the Jensen–Shannon divergence of each pair of rows, the square of a distance."""
    entropy = _negative_entropy(words)
    found = np.zeros((len(words), len(words)))
    for i, row in enumerate(words):
        middle = _negative_entropy((row + words[i:]) / 2)
        found[i, i:] = np.maximum(0.5 * (entropy[i] + entropy[i:]) - middle, 0)
    return found + np.triu(found, 1).T


def _negative_entropy(words: Array) -> Array:
    return np.asarray((words * np.log(np.maximum(words, 1e-300))).sum(axis=-1))


@st.cache_data(max_entries=32, show_spinner=False)
def coherence(run_ids: tuple[str, ...], _topics: Mapping[str, Topics], _test: Corpus) -> pd.DataFrame:
    """Return each topic's coherence (NPMI of its first words in the held-out documents)."""
    parts = [
        pd.DataFrame(
            {"Method": method, "Topic": np.arange(1, len(topics.words) + 1),
             "Coherence (NPMI)": npmi_coherence(topics.words, _test, top=min(WORDS, topics.words.shape[1]))}
        )
        for method, topics in _topics.items()
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


@st.cache_data(max_entries=32, show_spinner=False)
def unigram(run_ids: tuple[str, ...], _topics: Mapping[str, Topics], _data: DataSet) -> float:
    """Return the perplexity of one word distribution for all documents, on those scored while training.

    The distribution is that of the training words where these are public, otherwise that of a release.
    """
    if _data.private:
        words = next(iter(_topics.values())).marginal * _data.test.counts.sum()
    else:
        size = len(_data.train.vocabulary)
        words = np.bincount(_data.train.indices, _data.train.counts, minlength=size)
    return unigram_perplexity(words, some(_data.test, WATCHED))


def text_topics(
    found: Mapping[str, Finished], topics: Mapping[str, Topics], text: str
) -> tuple[int, dict[str, Array]]:
    """Return how many public words a text has, and its topic proportions by each run that is matched."""
    corpus = _counted(text, found[reference(found)].data.train.vocabulary)
    shares = {
        method: infer_topics(found[method].fit, corpus)[0][part.order]
        for method, part in topics.items()
        if part.overlap is not None or method == reference(found)
    }
    return int(corpus.counts.sum()), shares


def _counted(text: str, vocabulary: tuple[str, ...]) -> Corpus:
    """Count a text's words; what is no plain word of the vocabulary, e.g. new_york, a text cannot hold."""
    plain = [i for i, word in enumerate(vocabulary) if LETTERS.fullmatch(word) and word == word.lower()]
    part = Corpus.from_texts([text], [vocabulary[i] for i in plain])
    return Corpus(part.indptr, np.array(plain)[part.indices], part.counts, vocabulary)


def shown(topics: Mapping[str, Topics]) -> str:
    """Return the method that the map draws: the visitor's choice, where it was run."""
    wanted = str(session.get("shown"))
    return wanted if wanted in topics else next(iter(topics))


def chosen(count: int) -> int:
    """Return the place of the topic that the visitor chose, from 0."""
    return min(int(session.get("topic")), count) - 1


def names(topics: Topics, vocabulary: tuple[str, ...], weight: float) -> list[str]:
    """Return a name for each topic: its number and first words."""
    best = best_words(topics, weight, 3)
    return [f"{i + 1}: {', '.join(vocabulary[word] for word in row)}" for i, row in enumerate(best)]


def map_table(found: Map, topics: Mapping[str, Topics]) -> pd.DataFrame:
    """The map as one row for each topic."""
    size = len(found.places) // len(found.methods)
    parts = [
        pd.DataFrame(
            {"Method": LABELS[method], "Topic": np.arange(1, size + 1), "Share": topics[method].shares,
             "First direction": found.places[turn * size : (turn + 1) * size, 0],
             "Second direction": found.places[turn * size : (turn + 1) * size, 1]}
        )
        for turn, method in enumerate(found.methods)
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def curves_table(
    curves: Mapping[str, Sequence[tuple[int, float]]], lines: Mapping[str, float]
) -> pd.DataFrame:
    """Scores while training as one row for each, and the lines to compare with."""
    rows = [(LABELS[method], step, value) for method, points in curves.items() for step, value in points]
    rows += [(name, None, value) for name, value in lines.items()]
    return pd.DataFrame(rows, columns=["Method", "Iteration", "Perplexity"])


def text_table(shares: Mapping[str, Array], topic_names: list[str]) -> pd.DataFrame:
    """A text's topic proportions, one row for each topic."""
    return pd.DataFrame({"Topic": topic_names, **{LABELS[name]: values for name, values in shares.items()}})
