"""Private LDA: the two variants, the topics they find, and the functions of a fit."""

import math
from dataclasses import replace

import numpy as np
import pytest

import vips_core as vips
from tests.models.lda.documents import VOCABULARY, corpus_of, generated, random_counts
from vips_core.models.base import Block
from vips_core.models.lda.constants import CONSTANTS
from vips_core.models.lda.model import (
    LDA,
    infer_topics,
    measured_topics,
    top_words,
    topic_shares,
    topic_words,
)
from vips_core.models.lda.refined import measurement_of, told_apart
from vips_core.models.lda.scores import match_topics, perplexity, unigram_perplexity
from vips_core.records import Documents


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


@pytest.mark.parametrize(("variant", "clip"), [("paper", 0.1), ("refined", 0.01)])
def test_the_default_bound_is_a_fraction_of_the_words_of_a_document(documents, variant, clip):
    corpus, _ = documents
    model = LDA(4, corpus.vocabulary, 60, variant=variant)
    (block,) = model.blocks(plan_of(corpus, noise=1.0), step=0).values()
    assert block.bound == clip * 60


@pytest.fixture(scope="module")
def fits(documents):
    corpus, _ = documents
    train, test = corpus.split(0.2, 0)
    refined = LDA(4, corpus.vocabulary, 60)
    paper = LDA(4, corpus.vocabulary, 60, variant="paper")

    def best(model, plan):
        """Return the best of four starts, because topics have several optima, with and without noise."""
        return min(
            (vips.fit(model, train, plan, seed=seed) for seed in range(4)),
            key=lambda fit: perplexity(fit, test),
        )

    return {
        "test": test,
        "train": train,
        "non-private": best(refined, plan_of(train)),
        "refined": best(refined, plan_of(train, 3.0)),
        "paper": best(paper, plan_of(train, 1.0, 20, 60)),
    }


def test_the_topics_behind_the_documents_are_found(documents, fits):
    _, beta = documents
    _, overlap = match_topics(beta, topic_words(fits["non-private"].params))
    assert overlap.min() > 0.85


def test_refined_comes_close_to_non_private_and_beats_paper_and_unigram(fits):
    scores = {name: perplexity(fits[name], fits["test"]) for name in ("non-private", "refined", "paper")}
    train = fits["train"]
    unigram = unigram_perplexity(np.bincount(train.indices, train.counts, 60), fits["test"])
    assert abs(scores["refined"] / scores["non-private"] - 1) < 0.05
    assert scores["refined"] < unigram
    assert scores["refined"] < scores["paper"]


@pytest.mark.parametrize("variant", ["refined", "paper"])
def test_blocks_have_the_stated_bound_and_e_step_returns_just_them(documents, variant):
    corpus, _ = documents
    model, plan = LDA(4, corpus.vocabulary, 60, 0.2, variant), plan_of(corpus)
    params = model.init(plan, np.random.default_rng(0))
    names = [set(model.blocks(plan, step)) for step in range(12)]
    refined = [{"words"}] + [{"topics"}] * 10 + [{"completion"}]
    assert names == (refined if variant == "refined" else [{"topics"}] * 12)
    for step in (0, 5):
        (block,) = model.blocks(plan, step).values()
        assert block == Block(0.2 * 60, shape=(60,) if names[step] == {"words"} else (4, 60))
        assert set(model.e_step(params, corpus, model.blocks(plan, step)).sums) == names[step]


@pytest.mark.parametrize("variant", ["refined", "paper"])
def test_e_step_is_stateless_and_an_empty_batch_is_legal(documents, variant):
    corpus, _ = documents
    model, plan = LDA(4, corpus.vocabulary, 60, variant=variant), plan_of(corpus)
    params = model.init(plan, np.random.default_rng(0))
    shapes = {"words": (60,), "topics": (4, 60), "completion": (7,)}
    for step in (0, 5, 11):
        blocks = model.blocks(plan, step)
        first = model.e_step(params, corpus, blocks).sums
        empty = model.e_step(params, corpus[np.zeros(len(corpus), bool)], blocks).sums
        again = model.e_step(params, corpus, blocks).sums
        for name in blocks:
            assert (first[name] == again[name]).all()
            assert empty[name].shape == shapes[name]
            assert not empty[name].any()


def test_the_paper_m_step_is_algorithm_3(documents):
    corpus, _ = documents
    model, plan = LDA(4, corpus.vocabulary, 60, variant="paper", eta=0.3), plan_of(corpus, 2.0, 3, 300)
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
    ratios = topic_words(fit.params) / fit.params.word_shares
    assert np.median(np.abs(np.log(ratios))) < 0.2  # cells without information become their words' average


def test_only_as_many_topics_are_measured_as_the_noise_leaves_room_for(documents):
    corpus, _ = documents
    model = LDA(30, corpus.vocabulary, 60)

    def measured(noise):
        return model.blocks(plan_of(corpus, noise), 5)["topics"].shape[0]

    assert [measured(noise) for noise in (0.0, 3.0, 400.0, 1e6)] == [30, 30, 13, 2]
    assert LDA(3, corpus.vocabulary, 60).blocks(plan_of(corpus, 1e6), 5)["topics"].shape[0] == 2
    params = vips.fit(model, corpus, plan_of(corpus, 400.0), seed=0).params
    assert 1 <= measured_topics(params) <= 13
    assert topic_shares(params)[13:].sum() < 0.01
    np.testing.assert_allclose(topic_words(params)[13:], np.tile(params.word_shares, (17, 1)))


def test_the_order_of_the_vocabulary_says_which_words_are_frequent():
    shares = 1 / np.arange(1.0, 2001)
    shares /= shares.sum()
    rng = np.random.default_rng(0)
    totals, shuffled = 1e4 * shares + rng.normal(0, 10, shares.size), rng.permutation(shares.size)
    model = LDA(2, [f"w{v}" for v in range(shares.size)], 10)
    plan = vips.PrivacyPlan(records=1000, expected_batch=1000, steps=3, noise_multiplier=1.0, delta=1e-5)

    def divergence(order):
        released = vips.Released({"words": totals[order]}, {"words": 10.0}, sampling_rate=1.0)
        estimate = model.m_step(model.init(plan, rng), released, 0).word_shares
        return float(shares[order] @ np.log(shares[order] / estimate))

    assert divergence(np.arange(shares.size)) < 0.7 * divergence(shuffled)


def test_a_corpus_of_empty_documents_fits():
    corpus = Documents(np.zeros(9, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), VOCABULARY)
    fit = vips.fit(LDA(3, VOCABULARY, 10), corpus, plan_of(corpus, 1.0, 3), seed=0)
    assert (fit.params.lam > 0).all()


def test_recommend_takes_full_batches_when_the_compute_allows():
    model = LDA(4, VOCABULARY, 60)
    full = model.recommend(records=5000, epsilon=2.0, delta=1e-5, epochs=30)
    assert (full.expected_batch, full.steps) == (5000, 20)
    assert 2.0 * (1 - 1e-6) <= full.epsilon() <= 2.0
    small = model.recommend(records=5000, epsilon=2.0, delta=1e-5, epochs=2)
    assert (small.expected_batch, small.steps) == (1000, 10)
    paper = LDA(4, VOCABULARY, 60, variant="paper").recommend(records=5000, epsilon=2.0, delta=1e-5, epochs=1)
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
    for of in (topic_words, topic_shares, measured_topics):  # the parameters alone suffice
        np.testing.assert_array_equal(of(fit), of(fit.params))
    theta = infer_topics(fit, fits["test"])
    assert theta.shape == (len(fits["test"]), 4)
    np.testing.assert_allclose(theta.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: LDA(1, VOCABULARY, 10), "topics must be a whole number of at least 2, got 1"),
        (lambda: LDA(2, ["one"], 10), "vocabulary must hold at least 2 words, got 1"),
        (lambda: LDA(2, VOCABULARY, 0), "words_per_document must be a whole number of at least 1, got 0"),
        (lambda: LDA(2, VOCABULARY, 10, 2.0), "clip must be a number above 0 and at most 1, got 2.0"),
        (lambda: LDA(2, VOCABULARY, 10, variant="best"), "variant must be one of refined, paper, got 'best'"),
        (lambda: LDA(2, VOCABULARY, 10, alpha=0), "alpha must be a number above 0, got 0"),
        (lambda: LDA(2, VOCABULARY, 10, eta=math.inf), "eta must be a number above 0, got inf"),
        (lambda: LDA(2, VOCABULARY, 10, sweeps=2.5), "sweeps must be a whole number of at least 1, got 2.5"),
        (
            lambda: LDA(2, VOCABULARY, 10, tolerance=-1),
            "tolerance must be a number of at least 0, got -1",
        ),
    ],
)
def test_errors_name_the_value_and_what_is_allowed(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make()


def test_a_corpus_of_another_vocabulary_is_refused(documents, fits):
    with pytest.raises(ValueError, match="^the model has 60 words, but the corpus has 30$"):
        infer_topics(fits["refined"], corpus_of(random_counts()))


def test_noisy_steps_measure_residuals_and_exact_ones_counts(documents):
    corpus, _ = documents
    model = LDA(4, corpus.vocabulary, 60)
    exact, noisy = (vips.fit(model, corpus, plan_of(corpus, noise, 5), seed=0) for noise in (0.0, 1.0))
    block = model.blocks(noisy.plan, 3)
    counts, residuals = (model.e_step(fit.params, corpus, block).sums["topics"] for fit in (exact, noisy))
    assert counts.min() >= 0
    assert not measurement_of(exact.params, CONSTANTS).expected.any()
    assert residuals.min() < 0
    # A contribution fills its bound, so a unit of a residual sum stands for fewer words than one of counts.
    counted = model.e_step(replace(noisy.params, share_std=0.0), corpus, block).sums["topics"]
    counted_in_words, residuals_in_words = (
        measurement_of(params, CONSTANTS).to_word_counts(
            sums, 1.0, noisy.params.word_shares, noisy.params.corpus_words
        )
        for params, sums in ((replace(noisy.params, share_std=0.0), counted), (noisy.params, residuals))
    )
    assert residuals_in_words[2] < 0.9 * counted_in_words[2]
    np.testing.assert_allclose(residuals_in_words[0].sum(), counted_in_words[0].sum(), rtol=0.05)


def test_topics_alike_in_their_first_words_come_last():
    lam = np.ones((4, 60))
    lam[0, :10], lam[1, 1:11], lam[2, 20:30], lam[3, 40:50] = 9, 5, 9, 9
    apart, found = told_apart(lam, replace(CONSTANTS, distinct=0.9))
    assert found == 3
    np.testing.assert_array_equal(apart, lam[[0, 2, 3, 1]])
    assert told_apart(lam, CONSTANTS)[1] == 4  # 31 of 40 first words differ
    assert told_apart(np.ones((5, 60)), CONSTANTS)[1] == 1
    assert told_apart(np.ones((3, 2)), CONSTANTS)[1] == 1  # fewer words than topics


@pytest.mark.parametrize("noise", [3.0, 30.0, 300.0])
def test_first_words_of_found_topics_differ_and_priors_are_their_shares(documents, noise):
    corpus, _ = documents
    model = LDA(8, corpus.vocabulary, 60)
    fit = vips.fit(model, corpus, plan_of(corpus, noise), seed=0)
    found = measured_topics(fit)
    first = np.argsort(-topic_words(fit)[:found], axis=1)[:, : 60 // 8]
    assert len(np.unique(first)) >= 0.6 * first.size
    alpha = fit.params.alpha
    np.testing.assert_allclose(alpha / alpha.sum(), topic_shares(fit))


def test_short_documents_stay_at_the_unigram_line_and_more_privacy_budget_is_no_loss():
    corpus, _ = generated(6000, topics=4, words=60, length=4)
    train, test = corpus.split(0.3, 0)
    unigram = unigram_perplexity(np.bincount(train.indices, train.counts, 60), test)
    model = LDA(8, corpus.vocabulary, 4)
    scores = [
        np.mean([perplexity(vips.fit(model, train, plan_of(train, noise, 20), seed=s), test) for s in (0, 1)])
        for noise in (1000.0, 100.0, 10.0, 0.0)
    ]
    assert scores[1] < 1.01 * unigram
    assert max(scores[2:]) < 1.005 * unigram
    assert all(more < less for less, more in zip(scores, scores[1:], strict=False))
    assert scores[-1] < 0.97 * unigram


def test_without_topics_in_the_documents_the_prior_is_that_of_the_unigram_model():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(60))
    corpus = corpus_of(rng.multinomial(12, shares, 3000))
    for noise in (0.0, 10.0):
        fit = vips.fit(LDA(4, corpus.vocabulary, 12), corpus, plan_of(corpus, noise), seed=0)
        assert fit.params.alpha.sum() >= 40
        unigram = unigram_perplexity(corpus.counts.sum() * shares, corpus)
        assert perplexity(fit, corpus) < 1.01 * unigram
