"""The bench's own arithmetic: documents are cut without bias, and the table shows gaps over the paper's."""

import math

import numpy as np
import pandas as pd

from tests.benchmarks.utility.private_and_not import NOT_PRIVATE, table
from tests.benchmarks.utility.texts import shortened, with_public_half
from tests.benchmarks.utility.topics import SCIKIT_LEARN, TOMOTOPY, behind_peers
from vips_core.records import Documents


def test_documents_are_shortened_to_words_of_their_own():
    matrix = np.random.default_rng(0).poisson(1.5, (30, 12))
    matrix[4] = 0
    corpus = Documents.from_counts(matrix, [f"w{word}" for word in range(12)])
    short = shortened(corpus, 9, np.random.default_rng(1))
    np.testing.assert_array_equal(short.words, np.minimum(corpus.words, 9))
    dense = np.zeros_like(matrix)
    dense[np.repeat(np.arange(30), np.diff(short.indptr)), short.indices] = short.counts
    assert (dense <= matrix).all()


def test_the_vocabulary_comes_from_texts_that_are_not_in_the_corpus():
    texts = [f"{'tea milk sun rain wind snow ' * 3} number {letter * 4}" for letter in "abcdefghijklmnop"]
    corpus = with_public_half(texts)
    assert 0 < len(corpus) < len(texts)
    own = {word for word in corpus.vocabulary if len(set(word)) == 1}
    assert len(own) == len(texts) - len(corpus)
    assert corpus.words.max() == 19  # none of the private texts' own words is counted


def test_a_gap_is_a_part_of_the_papers():
    rows = [(NOT_PRIVATE, math.inf, 100.0), ("paper", 1.0, 300.0), ("refined", 1.0, 150.0)]
    results = pd.DataFrame(
        [("tea", method, epsilon, 0, score) for method, epsilon, score in rows],
        columns=["data", "method", "epsilon", "seed", "score"],
    )
    line = next(line for line in table(results, 0).splitlines() if " refined " in line)
    assert line.split()[-1] == "0.25"


def test_topics_without_privacy_are_held_against_peers_on_the_same_splits():
    ours = [("tea", 0, 102.0), ("milk", 0, 100.5), ("milk", 1, 500.0), ("sun", 0, 90.0)]
    theirs = [("tea", 0, 100.0), ("milk", 0, 100.0)]
    rows = [(*row, NOT_PRIVATE) for row in ours] + [(*row, SCIKIT_LEARN) for row in theirs]
    results = pd.DataFrame(rows, columns=["data", "seed", "score", "method"])
    assert behind_peers(results) == "non-private > 1% behind scikit-learn: tea, of 2 compared"
    gibbs = results.replace({"method": {SCIKIT_LEARN: TOMOTOPY}})
    assert behind_peers(gibbs) == "non-private > 5% behind tomotopy: none, of 2 compared"
    assert behind_peers(results[results.method == NOT_PRIVATE]) == ""
