"""A fit as plain files: every model is restored unchanged, and damaged folders give a sentence."""

import json
import math

import numpy as np
import pytest

import vips_core as vips
from sample_data import generate
from tests.toy import BetaBernoulli, coin_flips
from vips_core.models.check import _equal
from vips_core.models.logistic.rivals import PrivateGradientDescent
from vips_core.saved import LEDGER, PARAMETERS, SETTINGS


def documents():
    return generate.corpus(60, 20, topics=3, vocabulary_size=80, seed=0)[0]


def people():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(200), rng.random((200, 3))])
    return vips.Table(x, rng.random(200) < 0.4, ("intercept", "a", "b", "ç"), 2.0)


def drawings():
    return generate.digits(30, seed=0)[0]


def trained(model, data, noise=1.0):
    plan = vips.PrivacyPlan(
        records=len(data), expected_batch=len(data) // 2, steps=3, noise_multiplier=noise, delta=1e-4
    )
    return vips.fit(model, data, plan, seed=0)


CASES = {
    "lda refined": lambda: trained(vips.LDA(3, documents().vocabulary, 15, 0.2), documents()),
    "lda paper": lambda: trained(
        vips.LDA(3, documents().vocabulary, 15, variant="paper", alpha=0.1), documents()
    ),
    "logistic wide": lambda: trained(vips.BayesianLogistic(people().feature_names, 2.0), people()),
    "logistic exact": lambda: trained(vips.BayesianLogistic(people().feature_names, 2.0), people(), noise=0),
    "logistic paper": lambda: trained(
        vips.BayesianLogistic(people().feature_names, 2.0, "paper", prior_rate=0.5), people()
    ),
    "dp-sgd": lambda: trained(PrivateGradientDescent(people().feature_names, 2.0), people()),
    "sbn refined": lambda: trained(vips.SBN(784, 3, (28, 28)), drawings()),
    "sbn paper": lambda: trained(vips.SBN(784, 3, None, "paper", "isotropic"), drawings()),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_comes_back_as_it_was(case, tmp_path):
    fit = CASES[case]()
    fit.save(tmp_path / "new" / "folder")
    again = vips.load(tmp_path / "new" / "folder")
    assert again.model == fit.model
    assert again.plan == fit.plan
    assert again.ledger == fit.ledger
    assert _equal(again.params, fit.params)
    for new, old in zip(vars(again.params).values(), vars(fit.params).values(), strict=True):
        assert type(new) is type(old)
    assert again.epsilon("rdp") == fit.epsilon("rdp")


def test_a_loaded_fit_scores_like_the_one_that_was_saved(tmp_path):
    fit = CASES["logistic wide"]()
    fit.save(tmp_path)
    assert vips.auc(vips.load(tmp_path), people()) == vips.auc(fit, people())


def test_records_in_another_order_get_no_score():
    """Without this check, columns or words in another order would be scored silently."""
    rows = people()
    fit = trained(vips.BayesianLogistic(rows.feature_names, 2.0), rows)
    swapped = vips.Table(rows.x, rows.y, ("intercept", "b", "a", "ç"), 2.0)
    for score in (vips.auc, vips.roc, vips.calibration):
        with pytest.raises(ValueError, match="the features must be in the model's order: got 'b' where"):
            score(fit, swapped)
    with pytest.raises(ValueError, match="the features must be in the model's order"):
        fit.model.predict_probability(fit, swapped)
    corpus = documents()
    backwards = vips.Documents(corpus.indptr, corpus.indices, corpus.counts, corpus.vocabulary[::-1])
    topics = trained(vips.LDA(3, corpus.vocabulary, 15), corpus)
    for use in (vips.perplexity, vips.infer_topics):
        with pytest.raises(ValueError, match="the words must be in the model's order"):
            use(topics, backwards)


def test_nothing_is_trained_on_columns_in_another_order():
    rows = people()
    swapped = vips.Table(rows.x, rows.y, ("intercept", "b", "a", "ç"), 2.0)
    with pytest.raises(ValueError, match="the features must be in the model's order: got 'b' where"):
        trained(vips.BayesianLogistic(rows.feature_names, 2.0), swapped)


def test_a_model_of_ones_own_is_given_again(tmp_path):
    fit = trained(BetaBernoulli(12, 0.5), coin_flips())
    fit.save(tmp_path)
    with pytest.raises(ValueError, match="BetaBernoulli is not a model of vips_core: pass it as `model`"):
        vips.load(tmp_path)
    again = vips.load(tmp_path, BetaBernoulli(12, 0.5))
    assert _equal(again.params, fit.params)


def test_without_noise_epsilon_stays_infinite(tmp_path):
    fit = CASES["logistic exact"]()
    fit.save(str(tmp_path))
    assert vips.load(str(tmp_path)).epsilon() == math.inf


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        (SETTINGS, "{}", "the fit in .* cannot be read: 'format'"),
        (SETTINGS, "no json", "the fit in .* cannot be read"),
        (SETTINGS, '{"format": "vips-fit/9"}', "its format is 'vips-fit/9', not 'vips-fit/1'"),
        (PARAMETERS, "no arrays", "params.npz is not a readable .npz of plain arrays"),
        (LEDGER, "{}", "ledger"),
    ],
)
def test_a_damaged_folder_gets_a_sentence(file, content, sentence, tmp_path):
    CASES["dp-sgd"]().save(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(ValueError, match=sentence):
        vips.load(tmp_path)


def test_a_missing_folder_and_missing_arrays_get_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="the fit in .*nowhere cannot be read"):
        vips.load(tmp_path / "nowhere")
    CASES["dp-sgd"]().save(tmp_path)
    np.savez(tmp_path / PARAMETERS, mean=np.zeros(4))
    with pytest.raises(ValueError, match="the parameters must have the array 'rate', got 'mean'"):
        vips.load(tmp_path)
    CASES["dp-sgd"]().save(tmp_path)
    (tmp_path / LEDGER).unlink()
    with pytest.raises(ValueError, match="the fit in .* cannot be read: .*ledger.json"):
        vips.load(tmp_path)


def test_settings_are_plain_json_and_parameters_hold_no_pickle(tmp_path):
    CASES["lda refined"]().save(tmp_path)
    settings = json.loads((tmp_path / SETTINGS).read_text(encoding="utf-8"))
    assert settings["model"]["class"] == "LDA"
    assert settings["plan"]["records"] == 60
    with np.load(tmp_path / PARAMETERS, allow_pickle=False) as arrays:
        assert arrays["lam"].shape == (3, 80)


def test_parameters_must_be_a_dataclass(tmp_path):
    fit = vips.Fit(BetaBernoulli(12, 0.5), {"on": 1}, vips.Ledger(1), CASES["dp-sgd"]().plan)
    with pytest.raises(ValueError, match="parameters must be a dataclass to be saved, got dict"):
        fit.save(tmp_path)
