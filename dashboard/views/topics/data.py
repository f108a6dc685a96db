"""Numbers of the Topics page: topics of several runs in one order, their words, distances and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from dashboard import state
from dashboard.stored import Finished
from vips_core import (
    Documents,
    infer_topics,
    match_topics,
    measured_topics,
    npmi_coherence,
    topic_shares,
    topic_words,
    unigram_perplexity,
)
from vips_core.kernels import Array
from vips_core.models.task import NON_PRIVATE, TASKS
from vips_core.records import LETTERS, DataSet

WORDS = 10  # top words of a topic in tables
COHERENCE = "Coherence (NPMI)"
UNIGRAM = "Unigram (no topics)"
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
        Probability mass that each topic shares with its partner in the reference; None without partners.
    order
        Each topic's place in the fit.
    found
        Number of topics that were told apart; they are the first in the fit.
    """

    words: Array
    shares: Array
    overlap: Array | None
    order: npt.NDArray[np.int64]
    found: int

    @property
    def marginal(self) -> Array:
        """Probability of each word in all topics together, from the release alone."""
        return np.asarray(self.shares @ self.words)


def reference(runs: Mapping[str, Any]) -> str:
    """Return the method that others are matched to: non-private training, otherwise the first."""
    return NON_PRIVATE if NON_PRIVATE in runs else next(iter(runs))


@st.cache_resource(max_entries=16, show_spinner=False)
def aligned(run_ids: tuple[str, ...], _runs: Mapping[str, Finished]) -> dict[str, Topics]:
    """Return the topics of all runs: the reference's by falling share, others in their partners' order."""
    name = reference(_runs)
    base = topic_words(_runs[name].trained)
    base_order = np.argsort(-topic_shares(_runs[name].trained), kind="stable")
    topics = {}
    for method, item in _runs.items():
        words, shares = topic_words(item.trained), topic_shares(item.trained)
        order, overlap = np.argsort(-shares, kind="stable"), None
        if method != name and words.shape == base.shape:
            partner, shared = match_topics(base, words)
            order, overlap = partner[base_order], shared[base_order]
        found = measured_topics(item.trained)
        topics[method] = Topics(words[order], shares[order], overlap, order, found)
    return topics


def relevance(topics: Topics, weight: float) -> Array:
    """Return λ ln p(w|topic) + (1 - λ) ln p(w|topic)/p(w) (Sievert and Shirley 2014), topics × words."""
    tiny = 1e-12
    logs = np.log(topics.words + tiny)
    return np.asarray(logs - (1 - weight) * np.log(topics.marginal + tiny))


def best_words(topics: Topics, weight: float, count: int = WORDS) -> npt.NDArray[np.int64]:
    """Return the numbers of each topic's most relevant words, topics × count."""
    scores = -relevance(topics, weight)
    kept = np.argpartition(scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(scores, kept, axis=1), axis=1, kind="stable")
    return np.take_along_axis(kept, order, axis=1)


def choose_clicked(points: Sequence[Mapping[str, Any]]) -> None:
    """Choose the topic that was clicked; a second click only removes its mark."""
    if points:
        state.change("topic", str(points[0]["point_index"] + 1))


@st.cache_data(max_entries=32, show_spinner=False)
def topic_map(
    run_ids: tuple[str, ...], methods: tuple[str, ...], _topics: Mapping[str, Topics]
) -> dict[str, Array]:
    """Place the topics of one or two methods in the plane, topics × 2 for each method.

    Distances are near the Jensen–Shannon distances (classical scaling).
    """
    words = np.concatenate([_topics[method].words for method in methods])
    centre = np.eye(len(words)) - 1 / len(words)
    values, vectors = np.linalg.eigh(-0.5 * centre @ divergence(words) @ centre)
    top = np.argsort(values)[::-1][:2]
    places = np.zeros((len(words), 2))  # a single topic has no second direction
    places[:, : len(top)] = vectors[:, top] * np.sqrt(np.maximum(values[top], 0))
    return dict(zip(methods, np.split(places, len(methods)), strict=True))


def divergence(words: Array) -> Array:
    """Return the Jensen–Shannon divergence of each pair of rows, the square of a distance."""
    entropy = _negative_entropy(words)
    upper = np.zeros((len(words), len(words)))
    for i, row in enumerate(words):
        middle = _negative_entropy((row + words[i:]) / 2)
        upper[i, i:] = np.maximum(0.5 * (entropy[i] + entropy[i:]) - middle, 0)
    return upper + np.triu(upper, 1).T


def _negative_entropy(words: Array) -> Array:
    return np.asarray((words * np.log(np.maximum(words, 1e-300))).sum(axis=-1))


@st.cache_data(max_entries=32, show_spinner=False)
def coherence(run_ids: tuple[str, ...], _topics: Mapping[str, Topics], _test: Documents) -> pd.DataFrame:
    """Return each topic's coherence (NPMI of its first words in the held-out documents)."""
    rows = []
    for method, topics in _topics.items():
        scores = npmi_coherence(topics.words, _test, top=min(WORDS, topics.words.shape[1]))
        rows += [(method, number, score) for number, score in enumerate(scores, 1)]
    return pd.DataFrame(rows, columns=["Method", "Topic", COHERENCE])


@st.cache_data(max_entries=32, show_spinner=False)
def unigram(run_ids: tuple[str, ...], _topics: Mapping[str, Topics], _data_set: DataSet) -> float:
    """Return the perplexity of one word distribution on the documents scored while training.

    The distribution comes from the training words if these are public and in memory, otherwise from a
    release.
    """
    if _data_set.private or not _data_set.train.in_memory:
        words = next(iter(_topics.values())).marginal * _data_set.test.counts.sum()
    else:
        size = len(_data_set.train.vocabulary)
        words = np.bincount(_data_set.train.indices, _data_set.train.counts, minlength=size)
    return unigram_perplexity(words, TASKS["lda"].validation_sample(_data_set.test))


def failed(runs: Mapping[str, Finished], unigram: float) -> list[str]:
    """Return the methods whose topics predict held-out words no better than one distribution for all.

    A run that was stopped before its first score is judged on all held-out documents.
    """
    last = {
        method: item.run.validation_scores[-1][1]
        if item.run.validation_scores
        else item.result["held_out"][TASKS["lda"].validation_score]
        for method, item in runs.items()
    }
    return [method for method, perplexity in last.items() if perplexity >= unigram]


def text_topics(
    runs: Mapping[str, Finished], topics: Mapping[str, Topics], text: str
) -> tuple[int, dict[str, Array]]:
    """Return the number of a text's words in the vocabulary, and its topic shares by each matched run."""
    base = reference(runs)
    corpus = _counted(text, runs[base].data.train.vocabulary)
    shares = {
        method: infer_topics(runs[method].trained, corpus)[0][one_run.order]
        for method, one_run in topics.items()
        if one_run.overlap is not None or method == base
    }
    return int(corpus.counts.sum()), shares


def _counted(text: str, vocabulary: tuple[str, ...]) -> Documents:
    """Count a text's words. A text cannot contain entries such as new_york, so these are left out."""
    plain = [i for i, word in enumerate(vocabulary) if LETTERS.fullmatch(word) and word == word.lower()]
    corpus = Documents.from_texts([text], [vocabulary[i] for i in plain])
    return Documents(corpus.indptr, np.array(plain)[corpus.indices], corpus.counts, vocabulary)


def shown(topics: Mapping[str, Topics]) -> str:
    """Return the method that the map shows: the visitor's choice, otherwise the first."""
    wanted = str(state.get("shown"))
    return wanted if wanted in topics else next(iter(topics))


def chosen(count: int) -> int:
    """Return the place of the topic that the visitor chose, from 0."""
    return min(int(state.get("topic")), count) - 1


def names(topics: Topics, vocabulary: tuple[str, ...], weight: float) -> list[str]:
    """Return a name for each topic: its number and first words."""
    best = best_words(topics, weight, 3)
    return [f"{i + 1}: {', '.join(vocabulary[word] for word in row)}" for i, row in enumerate(best)]
