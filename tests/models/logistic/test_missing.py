"""Missing values: their place in the refined variant, and what does not depend on it."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import log_loss

import vips_core as vips
from tests.models.logistic.people import as_sparse, plan_for
from tests.models.logistic.ways import STEPS, model_for
from vips_core.models.logistic import posterior
from vips_core.models.logistic.coordinates import NO_CONSTANT, Coordinates
from vips_core.models.logistic.curvature import Directions
from vips_core.models.logistic.model import BayesianLogistic
from vips_core.saved import arrays


def survey(people=2000, seed=0):
    """Return rows with an informative test score that is known for half of the people."""
    rng = np.random.default_rng(seed)
    age, score = rng.random(people), rng.uniform(0.4, 0.9, people)
    passed = rng.random(people) < expit(12 * (score - 0.65) + age - 0.5)
    frame = pd.DataFrame({"age": age, "score": np.where(rng.random(people) < 0.5, score, np.nan)})
    ranges = {"score": (0.0, 1.0), "age": (0.0, 1.0)}
    return vips.Table.from_frame(frame.assign(y=passed), "y", ranges, may_be_missing=["score"])


def trained(rows, noise=30.0, seed=0):
    return vips.fit(model_for(rows), rows, plan_for(rows, noise, steps=STEPS), seed=seed)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_a_missing_value_lies_at_the_centre_and_a_known_one_where_it_is(make):
    coordinates = Coordinates(
        np.array([0.0, 0.7, 0.0]), np.ones(3), np.ones(3), 0.3, -1, 1.0, missing=np.array([[1, 2]])
    )
    x = np.array([[1.0, 0.2, 0.0], [1.0, 0.0, 1.0]])
    filled = coordinates.filled(make(x))
    np.testing.assert_array_equal(filled @ np.eye(3), [[1.0, 0.2, 0.0], [1.0, 0.7, 1.0]])
    np.testing.assert_array_equal(x[1], [1.0, 0.0, 1.0])


def test_names_of_columns_change_nothing(tmp_path):
    """Neither names of indicators or the constant, nor names that look like indicators, have an effect."""
    rows = survey()
    fits = []
    for names in (
        rows.feature_names,
        tuple("dcba"),
        ("age", "age missing", "intercept", "intercept missing"),
    ):
        named = replace(rows, feature_names=names)
        fits.append(trained(named))
        assert fits[-1].params.coordinates.missing.tolist() == [[1, 2]]
        fits[-1].save(tmp_path / names[0])
        assert vips.load(tmp_path / names[0]).model == fits[-1].model
    first, *others = [arrays(fit.params) for fit in fits]
    for other in others:
        assert other.keys() == first.keys()
        for name, value in first.items():
            np.testing.assert_array_equal(other[name], value, strict=True)


def test_a_model_that_is_told_nothing_takes_the_pairs_of_its_records():
    rows = survey(400)
    silent = BayesianLogistic(rows.feature_names, rows.norm_bound)
    assert silent.missing_pairs is None
    assert trained(rows).model == replace(silent, missing_pairs=rows.missing_pairs)
    told = replace(silent, missing_pairs=())
    assert told.for_records(rows) is told


def test_names_alone_say_nothing():
    rows = replace(survey(400), missing_pairs=())
    assert rows.feature_names[1:3] == ("score", "score missing")
    assert trained(rows).params.coordinates.missing is None


@pytest.mark.parametrize(
    "pairs", [[(1, 3)], [(-1, 1)], [(1, 1)], [(0, 1), (2, 1)], [(0, 1, 2)], [("a", "b")], 5]
)
def test_bad_pairs_are_refused(pairs):
    rows, wrong = survey(20), pairs if pairs == 5 else pairs[-1]
    allowed = "pairs of column and indicator, each from 0 to 2 and once"
    sentence = f"missing_pairs must be {allowed}, got {wrong}"
    for make in (
        lambda: BayesianLogistic(("a", "b", "c"), missing_pairs=pairs),
        lambda: vips.Table(rows.x[:, :3], rows.y, ("a", "b", "c"), 2.0, missing_pairs=pairs),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            make()


def test_the_centre_is_the_mean_of_known_values():
    coordinates = trained(survey(), noise=1.0).params.coordinates
    assert coordinates.missing.tolist() == [[1, 2]]
    assert coordinates.centre[1] == pytest.approx(0.65, abs=0.05)


def test_log_odds_are_those_of_the_weights():
    """Weights refer to the stored columns, whatever the coordinates."""
    rows = survey()
    for some in (rows, as_sparse(rows)):
        params = trained(some).params
        np.testing.assert_allclose(params.log_odds(some.x)[0], rows.x @ params.mean, atol=1e-9)


@pytest.mark.parametrize("constant", [NO_CONSTANT, 0])
def test_variances_of_weights_are_those_of_their_moves(constant):
    rng = np.random.default_rng(0)
    centre, scale = np.array([1.0, 0.5, 0.0, 0.2]), rng.random(4) + 0.5
    coordinates = Coordinates(centre, scale, np.ones(4), 0.3, constant, 1.0, missing=np.array([[1, 2]]))
    values, vectors = rng.random(5) + 0.1, np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.append(
        np.ones(5), values
    )  # along the axes, without effect because the eigenvectors span the space
    directions, scales = Directions(values, vectors), np.append(0.3, scale)
    moves = np.array(
        [posterior.weights(level, np.array(slopes), coordinates) for level, *slopes in np.eye(5)]
    )
    expected = np.diag(moves.T @ directions.matrix(values, scales) @ moves)
    np.testing.assert_allclose(posterior.weight_variances(directions, values, scales, coordinates), expected)


def test_predictions_are_better_than_with_missing_values_at_the_low_end():
    """Without pairs, no value counts as missing."""
    rows, new = survey(), survey(4000, seed=1)
    plain = replace(rows, missing_pairs=())
    losses = [
        np.mean(
            [log_loss(new.y, expit(trained(some, seed=seed).params.log_odds(new.x)[0])) for seed in range(8)]
        )
        for some in (rows, plain)
    ]
    assert losses[0] < losses[1] - 0.005


def test_a_saved_fit_keeps_its_coordinates(tmp_path):
    """Without indicators, missing values stay at the low end of their range."""
    rows = survey(400)
    for name, some in (("pairs", rows), ("none", replace(rows, missing_pairs=()))):
        fit = trained(some)
        fit.save(tmp_path / name)
        again = vips.load(tmp_path / name)
        np.testing.assert_array_equal(again.params.coordinates.missing, fit.params.coordinates.missing)
        assert ("coordinates.missing" in arrays(fit.params)) == (name == "pairs")
        np.testing.assert_array_equal(
            again.model.predict_probability(again, rows), fit.model.predict_probability(fit, rows)
        )
