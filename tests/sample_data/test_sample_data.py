"""The shipped files match their README, and the generators their documentation."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score

import sample_data
from sample_data import generate
from sample_data.themes import THEMES


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match="name must be one of sotu, nhanes-stroke, mnist, mnist-test, got 'x'"
    ):
        sample_data.load("x")
    with pytest.raises(ValueError, match="name must be one of mnist, mnist-test, got 'sotu'"):
        sample_data.load_digit_labels("sotu")


@pytest.mark.parametrize("name", sample_data.NAMES)
def test_every_name_loads(name):
    assert len(sample_data.load(name)) > 1_000


def test_english_words_are_public_and_clean():
    words = sample_data.english_words()
    assert len(words) == len(set(words)) == 10_000
    assert all(word.isalpha() and word == word.lower() and len(word) >= 3 for word in words)
    assert not {"the", "and", "that", "with", "from"} & set(words)


def test_sotu_counts():
    corpus = sample_data.load("sotu")
    assert len(corpus) == 21_070
    assert corpus.words.sum() == 682_803
    assert corpus.vocabulary == sample_data.english_words()[:6_000]
    totals = np.bincount(corpus.indices, weights=corpus.counts, minlength=6_000)
    common = {corpus.vocabulary[i] for i in np.argsort(-totals)[:20]}
    assert {"government", "congress", "states", "people"} <= common


def test_nhanes_counts_ranges_and_signal():
    rows = sample_data.load("nhanes-stroke")
    assert (len(rows), int(rows.y.sum())) == (5_255, 255)
    assert rows.x.shape[1] == 1 + len(sample_data.NHANES_RANGES) + len(sample_data.NHANES_MAY_BE_MISSING)
    assert rows.x.min() == 0.0
    assert rows.x.max() == 1.0, "no row may be scaled down"
    races = [i for i, name in enumerate(rows.feature_names) if name.startswith("race")]
    assert rows.x[:, races].sum(axis=1).max() == 1.0, "the norm bound counts on one race each"
    scores = cross_val_score(
        LogisticRegression(C=0.1, max_iter=1_000), rows.x, rows.y, scoring="roc_auc", cv=5
    )
    assert 0.82 < scores.mean() < 0.86


def test_mnist_counts_and_labels():
    images, test_images = sample_data.load("mnist"), sample_data.load("mnist-test")
    labels, test_labels = sample_data.load_digit_labels(), sample_data.load_digit_labels("mnist-test")
    assert (len(images), len(test_images)) == (len(labels), len(test_labels)) == (60_000, 10_000)
    assert images.shape == (28, 28)
    assert np.bincount(labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    means = np.array([images[labels == digit].unpack().mean(axis=0) for digit in range(10)])
    pixels = test_images.unpack()
    log_odds = np.log((means + 0.01) / (1.01 - means))
    guess = np.argmax(pixels @ log_odds.T + np.log(1.01 - means).sum(axis=1), axis=1)
    assert (guess == test_labels).mean() > 0.8, "images and labels do not belong together"


def test_generated_corpus_is_what_it_says():
    corpus, topics = generate.corpus(300, 50, topics=25, vocabulary_size=1_000, seed=3)
    assert (len(corpus), len(corpus.vocabulary)) == (300, 1_000)
    assert (corpus.words == 50).all()
    np.testing.assert_allclose(topics.word_probabilities.sum(axis=1), 1.0)
    assert topics.names[0] == "health"
    assert topics.names[20] == "health and law"
    top = [corpus.vocabulary[i] for i in np.argsort(-topics.word_probabilities[0])[:10]]
    assert len(set(top) & set(THEMES["health"])) >= 7


def test_generated_words_follow_the_topics():
    corpus, topics = generate.corpus(4_100, 200, topics=2, vocabulary_size=60, seed=1)
    totals = np.bincount(corpus.indices, weights=corpus.counts, minlength=60)
    share = totals / totals.sum()
    # With two topics the frequencies lie on the line between them, near its middle.
    expected = topics.word_probabilities.mean(axis=0)
    assert np.abs(share - expected).sum() < 0.05


def test_themes_are_readable_and_apart():
    words = [word for theme in THEMES.values() for word in theme]
    assert len(THEMES) >= 10
    assert min(len(theme) for theme in THEMES.values()) >= 20
    assert len(words) == len(set(words))


@pytest.mark.parametrize("seed", [0, 30])
def test_stroke_cohort_has_the_shape_and_difficulty_of_the_paper(seed):
    rows, weights = generate.stroke_cohort(seed=seed)
    assert rows.x.shape == (12_586, 4_146)
    assert weights.shape == (4_146,)
    assert rows.feature_names[0] == "intercept"
    assert rows.norm_bound == 10.0
    recorded = np.diff(rows.x.indptr)
    scaled = recorded > 100
    assert scaled.mean() < 0.01
    assert (rows.x[np.flatnonzero(~scaled)].data == 1.0).all()
    assert rows.y.mean() == pytest.approx(0.14, abs=0.0125), "four standard deviations of a draw"
    prevalence = np.asarray(rows.x.mean(axis=0))[8:]
    assert prevalence.max() > 0.15
    assert np.median(prevalence) < 0.01
    train, test = rows.split(0.2, seed=0)
    ridge = LogisticRegression(C=0.01, max_iter=1_000).fit(train.x, train.y)
    learned = roc_auc_score(test.y, ridge.decision_function(test.x))
    best = roc_auc_score(test.y, test.x @ weights)
    assert 0.63 < learned < 0.72
    assert best > learned + 0.02, "the truth must be better than what can be learned"


def test_comorbidities_occur_together():
    rows, _ = generate.stroke_cohort(patients=4_000, features=60, seed=0)
    common = rows.x[:, 8:28].toarray()
    correlation = np.corrcoef(common.T)[np.triu_indices(20, 1)]
    assert correlation.max() > 0.1


def test_generated_digits_can_be_told_apart():
    images, labels = generate.digits(1_200, seed=0)
    assert images.shape == (28, 28)
    assert set(labels) == set(range(10))
    pixels = images.unpack()
    assert 0.08 < pixels.mean() < 0.25
    model = LogisticRegression(C=0.01, max_iter=200).fit(pixels[:900], labels[:900])
    assert model.score(pixels[900:], labels[900:]) > 0.85


@pytest.mark.parametrize(
    ("make", "content"),
    [
        (lambda seed: generate.corpus(50, 30, 5, 400, seed)[0], lambda c: [c.indptr, c.indices, c.counts]),
        (lambda seed: generate.stroke_cohort(50, 40, seed)[0], lambda r: [r.x.toarray(), r.y]),
        (lambda seed: generate.digits(30, seed)[0], lambda b: [b.bits]),
    ],
)
def test_the_seed_decides(make, content):
    first, again, other = (content(make(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: generate.corpus(0, 10, 2, 100, 0), "documents must be a whole number of at least 1, got 0"),
        (
            lambda: generate.corpus(5, 0, 2, 100, 0),
            "words_per_document must be a whole number of at least 1, got 0",
        ),
        (
            lambda: generate.corpus(5, 10, 0, 100, 0),
            "topics must be a whole number of at least 1 and at most 210, got 0",
        ),
        (
            lambda: generate.corpus(5, 10, 211, 1_000, 0),
            "topics must be a whole number of at least 1 and at most 210, got 211",
        ),
        (
            lambda: generate.corpus(5, 10, 2, 40, 0),
            "vocabulary_size must be a whole number of at least 48 and at most .*, got 40",
        ),
        (
            lambda: generate.corpus(5, 10, 2, 99_999, 0),
            "vocabulary_size must be a whole number of at least 48 .*, got 99999",
        ),
        (lambda: generate.stroke_cohort(0), "patients must be a whole number of at least 1, got 0"),
        (lambda: generate.stroke_cohort(10, 17), "features must be a whole number of at least 18, got 17"),
        (lambda: generate.digits(0, 0), "images must be a whole number of at least 1, got 0"),
    ],
)
def test_generators_refuse_impossible_sizes(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
