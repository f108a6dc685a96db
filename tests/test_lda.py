"""Private LDA: the kernel against slow twins, its bounds, the two variants, and the metrics."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

import vips_core as vips
from tests import reference
from vips_core.data import Corpus
from vips_core.kernels.lda import expected_rows, infer_gammas, topic_word_sums, word_sums
from vips_core.kernels.lda_documents import resample
from vips_core.kernels.shrink import shrink
from vips_core.kernels.special import exp_digamma
from vips_core.metrics.text import (
    halves,
    match_topics,
    npmi_coherence,
    perplexity,
    topic_perplexity,
    unigram_perplexity,
)
from vips_core.models import lda_refined
from vips_core.models.base import Block
from vips_core.models.lda import LDA, infer_topics, top_words, topic_shares, topic_words

TOPICS, WORDS, ALPHA = 5, 30, 0.1
VOCABULARY = tuple(f"w{number}" for number in range(WORDS))


def corpus_of(matrix, vocabulary=None):
    matrix = np.asarray(matrix)
    return Corpus.from_counts(matrix, vocabulary or [f"w{number}" for number in range(matrix.shape[1])])


def random_counts(documents=40, words=WORDS, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.poisson(rng.gamma(0.3, 2, (documents, words)))
    matrix[3] = 0  # an empty document
    matrix[4, 1:] = 0
    return matrix


def random_lam(seed=1, topics=TOPICS, words=WORDS):
    return np.random.default_rng(seed).gamma(0.5, 2, (topics, words)) + 0.05


def generated(documents, topics=4, words=60, length=60, seed=0):
    """Documents of known topics, each on its own block of words with a common background."""
    rng = np.random.default_rng(seed)
    beta = np.full((topics, words), 0.2 / words)
    for k in range(topics):
        own = slice(k * words // topics, (k + 1) * words // topics)
        beta[k, own] += 0.8 * rng.dirichlet(np.ones(words // topics))
    theta = rng.dirichlet(np.full(topics, 0.1), documents)
    return corpus_of([rng.multinomial(length, row / row.sum()) for row in theta @ beta]), beta


def sums_of(corpus, lam, bound=1e9, **changes):
    options = {
        "weights": np.ones(lam.shape[1], np.float32),
        "words": 10**6,
        "resampled": False,
        "seed": 0,
        "bound": bound,
        "sweeps": 12,
        "tolerance": 0.0,
    }
    return topic_word_sums(corpus, expected_rows(lam), len(lam), ALPHA, **{**options, **changes})


def resampled_counts(counts, draws, seed=0):
    words = np.flatnonzero(counts).astype(np.int32)
    drawn = np.empty(len(words), np.float32)
    resample(words, counts[words].astype(np.int32), draws, seed, drawn)
    full = np.zeros(len(counts))
    full[words] = drawn
    return full


# ------------------------------------------------------------------------------------------------ kernels


def test_exp_digamma_over_its_range():
    for x in np.geomspace(0.012, 1e6, 400).astype(np.float32):
        expected = math.exp(digamma(float(x)))
        assert exp_digamma(x) == pytest.approx(expected, rel=3e-5 if x < 1 else 2e-6)


@pytest.mark.parametrize("bound", [1e9, 2.0])
def test_sums_match_the_slow_twin(bound):
    matrix, lam = random_counts(), random_lam()
    weights = np.linspace(0.5, 2, WORDS).astype(np.float32)
    expected = sum(
        reference.lda_clipped(weights * reference.lda_document(row, lam, ALPHA, 12)[1], bound)
        for row in matrix
        if row.any()
    )
    found = sums_of(corpus_of(matrix), lam, bound, weights=weights)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_sums_of_scaled_documents_match_the_slow_twin():
    matrix, lam = random_counts(), random_lam()
    scaled = [row * min(1, 7 / row.sum()) for row in matrix if row.any()]
    expected = sum(reference.lda_document(row, lam, ALPHA, 12)[1] for row in scaled)
    np.testing.assert_allclose(sums_of(corpus_of(matrix), lam, words=7), expected, rtol=1e-3, atol=1e-4)


def test_sums_of_resampled_documents_match_the_slow_twin():
    matrix, lam = random_counts(), random_lam()
    drawn = [resampled_counts(row, 25, seed=9) for row in matrix if row.any()]
    expected = sum(reference.lda_document(row, lam, ALPHA, 12)[1] for row in drawn)
    found = sums_of(corpus_of(matrix), lam, words=25, resampled=True, seed=9)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_word_sums_match_plain_arithmetic():
    matrix = random_counts()
    expected = np.zeros(WORDS)
    for row in matrix[matrix.any(axis=1)]:
        scaled = row * min(1, 20 / row.sum())
        expected += scaled * min(1, 3 / np.linalg.norm(scaled))
    np.testing.assert_allclose(word_sums(corpus_of(matrix), words=20, bound=3.0), expected, rtol=1e-4)


def test_gammas_match_the_slow_twin():
    matrix, lam = random_counts(), random_lam()
    found = infer_gammas(corpus_of(matrix), expected_rows(lam), TOPICS, ALPHA, 12, 0.0)
    expected = [reference.lda_document(row, lam, ALPHA, 12)[0] for row in matrix]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.08, 0.1, 0.12, 0.5])
def test_sharp_topics_match_the_slow_twin(alpha):
    rng = np.random.default_rng(3)
    lam = rng.gamma(0.2, 50, (9, WORDS)) + 0.01  # sharp topics, of which a document keeps few
    mixtures = rng.dirichlet(np.full(9, 0.1), 30) @ (lam / lam.sum(axis=1, keepdims=True))
    matrix = np.array([rng.multinomial(3000, row / row.sum()) for row in mixtures])
    found = infer_gammas(corpus_of(matrix), expected_rows(lam), 9, alpha, 60, 0.0)
    expected = [reference.lda_document(row, lam, alpha, 60)[0] for row in matrix]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)


def test_the_early_end_changes_little():
    corpus, lam = corpus_of(random_counts()), random_lam()
    np.testing.assert_allclose(
        sums_of(corpus, lam, sweeps=1000, tolerance=1e-5), sums_of(corpus, lam, sweeps=1000), atol=0.02
    )


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 2000), min_size=WORDS, max_size=WORDS),
    seed=st.integers(0, 10**6),
    spread=st.floats(0.01, 8),
    bound=st.floats(1e-3, 1e3),
    resampled=st.booleans(),
)
def test_one_document_moves_the_sums_by_at_most_the_bound(counts, seed, spread, bound, resampled):
    rng = np.random.default_rng(seed)
    lam = np.exp(spread * rng.normal(size=(TOPICS, WORDS))) + 1e-6
    weights = rng.gamma(1, 1, WORDS).astype(np.float32)
    others = random_counts(seed=seed % 7)
    options = {"weights": weights, "words": 50, "resampled": resampled}
    with_it = sums_of(corpus_of(np.vstack([others, counts])), lam, bound, **options)
    without = sums_of(corpus_of(others), lam, bound, **options)
    assert np.linalg.norm(with_it - without) <= bound * (1 + 1e-9)
    words = word_sums(corpus_of(np.vstack([others, counts])), words=50, bound=bound)
    words -= word_sums(corpus_of(others), words=50, bound=bound)
    assert np.linalg.norm(words) <= bound * (1 + 1e-9)


def test_extreme_topics_stay_finite_and_bounded():
    lam = np.full((TOPICS, WORDS), 1e-8)
    lam[0, 0] = lam[1, 1] = 1e9
    found = sums_of(corpus_of(np.eye(WORDS, dtype=int) * 5000), lam, 1.0)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) <= WORDS


def test_resampling_depends_on_the_document_and_the_seed_alone():
    matrix, lam = random_counts(), random_lam()
    rows = [row for row in matrix if row.any()]
    alone = sum(sums_of(corpus_of([row]), lam, words=25, resampled=True) for row in rows)
    together = sums_of(corpus_of(rows), lam, words=25, resampled=True)
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)
    assert (resampled_counts(rows[0], 50, 0) != resampled_counts(rows[0], 50, 1)).any()


def test_resampling_draws_the_right_number_with_the_right_shares():
    counts = np.array([1, 0, 3, 6])
    draws = np.array([resampled_counts(counts, 40, seed) for seed in range(2000)])
    assert (draws.sum(axis=1) == 40).all()
    # 2000 × 40 draws: the standard error of a share is below 0.002.
    np.testing.assert_allclose(draws.mean(axis=0) / 40, counts / 10, atol=0.008)
    variance = 40 * 0.3 * 0.7
    assert draws[:, 2].var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("resampled", [True, False])
def test_same_bits_for_any_number_of_threads(monkeypatch, resampled):
    corpus, lam = corpus_of(random_counts(300)), random_lam()
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("VIPS_THREADS", threads)
        found.append(sums_of(corpus, lam, 2.0, words=40, resampled=resampled))
    assert all((one == found[0]).all() for one in found)


@pytest.mark.parametrize("noise_std", [0.3, 2.0])
@pytest.mark.parametrize("noisy", [0.5, 4.0, 9.0])
def test_shrinkage_is_the_posterior_mean(noisy, noise_std):
    # At grid points far from 0 the bumps' truncation at 0 does not matter.
    grid, mixture = np.array([2.0, 3.0, 5.0]), np.array([[0.5, 0.3, 0.2]])
    arguments = (np.array([[noisy]]), np.array([[1.5]]), np.array([noise_std]), np.zeros(1, np.int64))
    estimate, updated = shrink(*arguments, mixture, grid, 1)
    assert estimate[0, 0] == pytest.approx(
        reference.shrunk(noisy, 1.5, noise_std, mixture[0], grid), rel=0.02
    )
    assert updated.sum() == pytest.approx(1)


def test_shrinkage_learns_sparsity_and_keeps_exact_cells():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random((20, 500)) < 0.1, 10.0, 0.1)
    groups, mean = np.zeros(500, np.int64), np.ones((20, 500))
    flat = np.full((1, 18), 1 / 18)
    noisy = truth + rng.normal(size=truth.shape)
    estimate, _ = shrink(noisy, mean, np.ones(500), groups, flat, lda_refined.TOPIC_GRID, 20)
    assert ((estimate - truth) ** 2).mean() < 0.4 * ((noisy - truth) ** 2).mean()
    exact, _ = shrink(truth, mean, np.zeros(500), groups, flat, lda_refined.TOPIC_GRID, 1)
    np.testing.assert_allclose(exact, truth, rtol=1e-9)


# ------------------------------------------------------------------------------------------------ the model


@pytest.fixture(scope="module")
def documents():
    return generated(1500)


def plan_of(corpus, noise=0.0, steps=12, batch=None):
    return vips.PrivacyPlan(
        records=len(corpus),
        expected_batch=batch or len(corpus),
        steps=steps,
        noise_multiplier=noise,
        delta=1e-5,
    )


@pytest.fixture(scope="module")
def fits(documents):
    corpus, _ = documents
    train, test = corpus.split(0.2, 0)
    refined = LDA(4, corpus.vocabulary, 60)
    paper = LDA(4, corpus.vocabulary, 60, method="paper")
    return {
        "test": test,
        "train": train,
        "non-private": vips.fit(refined, train, plan_of(train), seed=0),
        "refined": vips.fit(refined, train, plan_of(train, 3.0), seed=0),
        "paper": vips.fit(paper, train, plan_of(train, 1.0, 20, 60), seed=0),
    }


def test_the_topics_behind_the_documents_are_found(documents, fits):
    _, beta = documents
    _, overlap = match_topics(beta, topic_words(fits["non-private"].params))
    assert overlap.min() > 0.85


def test_refined_comes_close_to_non_private_and_beats_paper_and_unigram(fits):
    scores = {name: perplexity(fits[name], fits["test"]) for name in ("non-private", "refined", "paper")}
    train = fits["train"]
    unigram = unigram_perplexity(np.bincount(train.indices, train.counts, 60), fits["test"])
    assert scores["non-private"] < scores["refined"] < unigram
    assert scores["refined"] < scores["paper"]


@pytest.mark.parametrize("method", ["refined", "paper"])
def test_blocks_have_the_stated_bound_and_e_step_returns_just_them(documents, method):
    corpus, _ = documents
    model, plan = LDA(4, corpus.vocabulary, 60, 0.2, method), plan_of(corpus)
    params = model.init(plan, np.random.default_rng(0))
    names = [set(model.blocks(plan, step)) for step in range(12)]
    assert names == [{"words"} if method == "refined" and step < 2 else {"topics"} for step in range(12)]
    for step in (0, 5):
        (block,) = model.blocks(plan, step).values()
        assert block == Block(0.2 * 60)
        assert set(model.e_step(params, corpus, model.blocks(plan, step)).sums) == names[step]


@pytest.mark.parametrize("method", ["refined", "paper"])
def test_e_step_is_stateless_and_an_empty_batch_is_legal(documents, method):
    corpus, _ = documents
    model, plan = LDA(4, corpus.vocabulary, 60, method=method), plan_of(corpus)
    params = model.init(plan, np.random.default_rng(0))
    blocks = {"words": Block(1.0, math.sqrt(0.5)), "topics": Block(1.0, math.sqrt(0.5))}
    first = model.e_step(params, corpus, blocks).sums
    empty = model.e_step(params, corpus[np.zeros(len(corpus), bool)], blocks).sums
    again = model.e_step(params, corpus, blocks).sums
    for name, shape in (("words", (60,)), ("topics", (4, 60))):
        assert (first[name] == again[name]).all()
        assert empty[name].shape == shape
        assert not empty[name].any()


def test_the_paper_m_step_is_algorithm_3(documents):
    corpus, _ = documents
    model, plan = LDA(4, corpus.vocabulary, 60, method="paper", eta=0.3), plan_of(corpus, 2.0, 3, 300)
    seen = []
    fit = vips.fit(model, corpus, plan, seed=1, on_step=lambda progress: seen.append(progress.params.lam))
    before, after = seen[1], seen[2]
    rate = (1024 + 3) ** -0.7
    target = (after - (1 - rate) * before) / rate
    assert target.min() == pytest.approx(0.3, abs=1e-6)  # negative sums were set to 0
    assert (np.abs(target - 0.3) < 1e-6).mean() > 0.1
    assert (fit.params.lam == after).all()


def test_noise_alone_leaves_a_usable_posterior(documents):
    corpus, _ = documents
    fit = vips.fit(LDA(4, corpus.vocabulary, 60), corpus, plan_of(corpus, 1e6, 4), seed=0)
    assert np.isfinite(fit.params.lam).all()
    assert fit.params.lam.min() > 0


def test_a_corpus_of_empty_documents_fits():
    corpus = Corpus(np.zeros(9, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), VOCABULARY)
    fit = vips.fit(LDA(3, VOCABULARY, 10), corpus, plan_of(corpus, 1.0, 3), seed=0)
    assert (fit.params.lam > 0).all()


def test_recommend_takes_full_batches_when_the_compute_allows():
    model = LDA(4, VOCABULARY, 60)
    full = model.recommend(records=5000, epsilon=2.0, delta=1e-5, epochs=30)
    assert (full.expected_batch, full.steps) == (5000, 20)
    assert 2.0 * (1 - 1e-6) <= full.epsilon() <= 2.0
    small = model.recommend(records=5000, epsilon=2.0, delta=1e-5, epochs=2)
    assert (small.expected_batch, small.steps) == (1000, 10)
    paper = LDA(4, VOCABULARY, 60, method="paper").recommend(records=5000, epsilon=2.0, delta=1e-5, epochs=1)
    assert (paper.expected_batch, paper.steps) == (250, 20)


def test_top_words_shares_and_proportions(fits):
    fit = fits["refined"]
    best = top_words(fit, 3)
    beta = topic_words(fit.params)
    for k, words in enumerate(best):
        expected = np.sort(beta[k])[::-1][:3]
        assert [p for _, p in words] == pytest.approx(expected)
        assert all(beta[k, int(word[1:])] == pytest.approx(p) for word, p in words)
    np.testing.assert_allclose(topic_shares(fit.params), fit.params.lam.sum(axis=1) / fit.params.lam.sum())
    theta = infer_topics(fit, fits["test"])
    assert theta.shape == (len(fits["test"]), 4)
    np.testing.assert_allclose(theta.sum(axis=1), 1)


# ------------------------------------------------------------------------------------------------ metrics


def test_bound_perplexity_matches_the_slow_twin():
    matrix, lam = random_counts(15), random_lam()
    total = 0.0
    for row in matrix:
        gamma = reference.lda_document(row, lam, ALPHA, 200)[0]
        total += reference.lda_bound(row, gamma, lam, ALPHA)
    expected = math.exp(-total / matrix.sum())
    assert topic_perplexity(lam, ALPHA, corpus_of(matrix), "bound") == pytest.approx(expected, rel=1e-3)


def test_completion_perplexity_matches_brute_force():
    matrix, lam = random_counts(15), random_lam()
    seen, scored = halves(corpus_of(matrix), 3)
    total = 0.0
    beta = lam / lam.sum(axis=1, keepdims=True)
    for first, second in zip(dense(seen), dense(scored), strict=True):
        gamma = reference.lda_document(first, lam, ALPHA, 200)[0]
        total += second @ np.log(gamma / gamma.sum() @ beta)
    expected = math.exp(-total / dense(scored).sum())
    found = topic_perplexity(lam, ALPHA, corpus_of(matrix), "completion", seed=3)
    assert found == pytest.approx(expected, rel=1e-3)


def dense(corpus):
    matrix = np.zeros((len(corpus), len(corpus.vocabulary)))
    for d in range(len(corpus)):
        part = slice(corpus.indptr[d], corpus.indptr[d + 1])
        matrix[d, corpus.indices[part]] = corpus.counts[part]
    return matrix


def test_halves_split_every_document():
    matrix = random_counts()
    first, second = (dense(part) for part in halves(corpus_of(matrix), 0))
    assert (first + second == matrix).all()
    assert (first.sum(axis=1) == (matrix.sum(axis=1) + 1) // 2).all()
    assert (first >= 0).all()
    assert (second >= 0).all()
    assert (first != dense(halves(corpus_of(matrix), 1)[0])).any()


def test_one_topic_of_the_unigram_has_the_unigram_perplexity():
    matrix = random_counts()
    counts = matrix.sum(axis=0)
    lam = np.tile((counts + 0.5) * 1e6, (2, 1))
    corpus = corpus_of(matrix)
    assert topic_perplexity(lam, 1.0, corpus) == pytest.approx(unigram_perplexity(counts, corpus), rel=1e-4)
    shares = (counts + 0.5) / (counts + 0.5).sum()
    expected = math.exp(-(counts @ np.log(shares)) / counts.sum())
    assert unigram_perplexity(counts, corpus, "bound") == pytest.approx(expected)


def test_npmi_matches_brute_force():
    matrix = (random_counts(60) > 0).astype(int)
    topics = random_lam()
    size, smoothing = len(matrix), 1 / len(matrix)
    for topic, found in zip(topics, npmi_coherence(topics, corpus_of(matrix), 4), strict=True):
        best = np.argsort(-topic)[:4]
        scores = []
        for i in range(4):
            for j in range(i):
                joint = ((matrix[:, best[i]] & matrix[:, best[j]]).sum() + smoothing) / size
                single = matrix[:, best[i]].mean() * matrix[:, best[j]].mean()
                scores.append(math.log(joint / single) / -math.log(joint))
        assert found == pytest.approx(np.mean(scores))


def test_matching_finds_a_permutation():
    topics = random_lam()
    order = np.array([3, 0, 4, 1, 2])
    partner, overlap = match_topics(topics, topics[order] * 7)
    assert (order[partner] == np.arange(TOPICS)).all()
    np.testing.assert_allclose(overlap, 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: LDA(1, VOCABULARY, 10), "topics must be a whole number of at least 2, got 1"),
        (lambda: LDA(2, ["one"], 10), "vocabulary must hold at least 2 words, got 1"),
        (lambda: LDA(2, VOCABULARY, 0), "words_per_document must be a whole number of at least 1, got 0"),
        (lambda: LDA(2, VOCABULARY, 10, 2.0), r"clip must be in \(0, 1\], got 2.0"),
        (lambda: LDA(2, VOCABULARY, 10, method="best"), "method must be 'refined' or 'paper', got 'best'"),
        (lambda: LDA(2, VOCABULARY, 10, alpha=0), "alpha must be a finite number above 0, got 0"),
        (lambda: LDA(2, VOCABULARY, 10, eta=math.inf), "eta must be a finite number above 0, got inf"),
        (lambda: LDA(2, VOCABULARY, 10, sweeps=2.5), "sweeps must be a whole number of at least 1, got 2.5"),
        (
            lambda: LDA(2, VOCABULARY, 10, tolerance=-1),
            "tolerance must be a finite number of at least 0, got -1",
        ),
        (
            lambda: topic_perplexity(random_lam(), 0.1, corpus_of(random_counts()), "guess"),
            "kind must be one of bound, completion, got 'guess'",
        ),
        (
            lambda: topic_perplexity(random_lam(words=9), 0.1, corpus_of(random_counts())),
            "corpus must have the model's 9 words, got 30",
        ),
        (
            lambda: npmi_coherence(random_lam(), corpus_of(random_counts()), 1),
            "top must be from 2 to the 30 words, got 1",
        ),
        (
            lambda: match_topics(random_lam(), random_lam(words=9)),
            r"both models need the same topics and words, got \(5, 30\) and \(5, 9\)",
        ),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make()


def test_a_corpus_of_another_vocabulary_is_refused(documents, fits):
    with pytest.raises(ValueError, match="^the model has 60 words, but the corpus has 30$"):
        infer_topics(fits["refined"], corpus_of(random_counts()))
