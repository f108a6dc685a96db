"""The Risk page without a browser: every number on it against the core, on small runs of its own store."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from dashboard import stored
from dashboard.model_page import results
from dashboard.views.risk import charts, data, person_form, text
from dashboard.views.risk.definition import PAGE
from tests.pages import address, checked, trained, trained_by, view
from vips_core import Table, auc
from vips_core.store.budget import Cap
from vips_core.store.store import Store
from vips_core.sweeps.cells import cells_of, run_cell
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.job import submit_sweep

RANGES = {"age": (20.0, 80.0), "pressure": (80.0, 220.0), "smokes": (0.0, 1.0)}
BASE = {"model": "logistic", "data": "survey", "delta": 1e-5, "epochs": 4, "seed": 1}
METHODS = ("refined", "paper", "strong", "non-private", "sgd", "perm")


def survey(people, seed, missing=True):
    rng = np.random.default_rng(seed)
    age, pressure = rng.uniform(20, 80, people), rng.normal(130, 20, people)
    smokes = rng.random(people) < 0.3
    sick = rng.random(people) < expit((age - 60) / 8 + smokes - 0.5)
    if missing:
        pressure[rng.random(people) < 0.1] = np.nan
    frame = pd.DataFrame({"age": age, "pressure": pressure, "smokes": smokes * 1.0, "sick": sick * 1})
    return Table.from_frame(frame, "sick", RANGES, may_be_missing=["pressure"])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store with a public and a private survey, and a run of each method."""
    store = Store(tmp_path_factory.mktemp("risk"))
    store.add_data("survey", survey(600, 1), survey(300, 2), private=False, cap=None, unit="one person")
    store.add_data("secret", survey(400, 3), None, private=True, cap=Cap(4.0, 1e-5), unit="one person")
    runs = trained_by(METHODS, store, epsilon=3.0, **BASE)
    runs["rerun"] = trained(store, **BASE | dict(method="refined", epsilon=3.0, seed=2))
    runs["secret"] = trained(store, **BASE | dict(method="refined", epsilon=1.0, data="secret", seed=None))
    return store, runs


@pytest.fixture(autouse=True)
def home(shared, monkeypatch):
    monkeypatch.setenv("VIPS_HOME", str(shared[0].home))


@pytest.fixture
def finished(shared):
    return {method: stored.finished(shared[1][method]) for method in METHODS}


def page(runs, data="survey", **address):
    return view("risk", data=data, runs=",".join(runs), **address)


def chart_names(at):
    return {element.proto.id.rsplit("chart:", 1)[-1] for element in at.get("plotly_chart")}


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption])


def test_every_part_is_drawn_for_every_method(shared):
    at = page([shared[1][method] for method in METHODS])
    assert chart_names(at) == {"roc", "calibration", "auc", "coefficients", "person"}
    assert not at.error
    assert "300 held-out people" in texts(at)
    assert "10 groups of 30" in texts(at)


def test_the_result_begins_with_a_sentence_and_says_what_failed(shared, finished):
    at = page([shared[1][method] for method in ("refined", "paper", "non-private")])
    reached, ceiling = (finished[method].result["held_out"]["AUC"] for method in ("refined", "non-private"))
    sentence = f"AUC of {reached:.2f}; without privacy it is {ceiling:.2f}; guessing reaches 0.5."
    assert any(
        f"At ε = 3.00 the risk model reaches a held-out {sentence}" in item.value for item in at.markdown
    )
    scores = {method: data.scored(finished[method]) for method in ("refined", "paper")}
    worse = replace(scores["paper"], scores={"AUC": 0.5, "log loss": 9.0})
    assert text.failures({"refined": scores["refined"]}) == ""
    said = text.failures({"refined": scores["refined"], "paper": worse})
    assert said.startswith("**As published** has failed here: ")
    assert "As published 9.00" in said
    assert set(data.without_failures({"refined": scores["refined"], "paper": worse})) == {"refined"}
    assert set(data.without_failures({"paper": worse})) == {"paper"}


def test_scores_are_the_core_s(finished):
    rows = finished["refined"].data.test
    for method, run in finished.items():
        scores = data.scored(run)
        assert scores.auc == pytest.approx(run.result["held_out"]["AUC"]), method
        assert scores.log_loss == pytest.approx(run.result["held_out"]["log loss"]), method
        assert scores.interval[0] < scores.auc < scores.interval[1]
        _, found, low, high = scores.roc.to_numpy().T
        assert (low <= found + 1e-9).mean() > 0.95
        assert (found <= high + 1e-9).mean() > 0.95
        groups = scores.calibration
        assert groups["People"].tolist() == [30] * 10
        assert (groups["Observed"] * groups["People"]).sum() == pytest.approx(rows.y.sum()) == scores.cases
        assert groups["Cases"].sum() == scores.cases
        assert ((groups["low (90%)"] < groups["Observed"]) | (groups["Observed"] == 0)).all()


def test_the_table_of_scores_has_every_score_of_the_model(finished):
    """A score that the task declares is shown without a line on this page."""
    table = data.scores_table({"refined": data.scored(finished["refined"])})
    assert {name.lower() for name in PAGE.task.scores} <= {name.lower() for name in table.columns}


def test_a_method_with_a_proof_of_its_own_is_shown_without_what_it_does_not_have(finished):
    """Issue 32: objective perturbation was shown with a σ and a δ that it never used."""
    table = results.spent_table(PAGE, finished).set_index("Method")
    pure = table.loc["Objective perturbation"]
    assert (pure["Target ε"], pure["Spent ε, tight"]) == (3, 3)
    assert pure[["δ", "Noise σ", "Batch S", "Steps"]].isna().all()
    assert table.drop(["Objective perturbation", "Non-private"])[["δ", "Noise σ"]].notna().all(axis=None)
    shown = results.readable(results.spent_table(PAGE, finished)).set_index("Quantity")
    assert set(shown.loc[["δ", "Noise σ", "Batch S", "Steps"], "Objective perturbation"]) == {"–"}


def test_credible_intervals_are_kept_apart_from_reruns(finished):
    table = data.coefficients(finished)
    refined = table[table["method"] == "refined"].set_index("feature")
    run = finished["refined"]
    intervals = run.fit.model.credible_intervals(run.fit)
    assert refined[["low", "high"]].to_numpy() == pytest.approx(intervals)
    assert (refined["reruns"] == 2).all()
    assert (refined["least"] <= refined["mean"] + 1e-12).all()
    assert (refined["mean"] <= refined["greatest"] + 1e-12).all()
    assert (table.loc[table["method"] != "refined", "reruns"] == 0).all()
    assert table.loc[table["method"] == "perm", "low"].isna().all()
    figure, _ = charts.forest(table, data.largest(table, 3))
    names = [trace["name"] for trace in figure["data"]]
    assert "Refined: 90% credible interval" in names
    assert "Refined: range over 2 runs" in names
    assert "Objective perturbation: estimate alone" in names
    assert "ignores the noise" in text.coefficients(table, ["age"], 0)


def test_what_is_off_the_axis_is_counted_and_drawn_at_its_edge(finished):
    table = data.coefficients({name: finished[name] for name in ("non-private", "paper")})
    table.loc[(table["method"] == "paper") & (table["feature"] == "age"), "mean"] = -1e3
    figure, off = charts.forest(table, ["age", "smokes"])
    assert off >= 1
    edges = [trace for trace in figure["data"] if "triangle-left" in np.atleast_1d(trace["marker"]["symbol"])]
    assert len(edges) == 1
    assert max(abs(np.asarray(edges[0]["x"]))) < 100
    assert text.beyond(1, "estimate").startswith("1 estimate lies beyond")
    assert text.beyond(0, "estimate") == ""


def test_a_person_is_scaled_like_the_data(finished):
    rows = finished["refined"].data.train
    row = person_form.as_row(rows, {"age": 50.0, "pressure": None, "smokes": 1.0})
    assert dict(zip(row.feature_names, row.x[0].tolist(), strict=True)) == {
        "intercept": 1.0,
        "age": 0.5,
        "pressure": 0.0,
        "pressure missing": 1.0,
        "smokes": 1.0,
    }
    risks = data.person_table(finished, row).set_index("method")
    fit = finished["refined"].fit
    assert risks.loc["refined", "risk"] == pytest.approx(fit.model.predict_probability(fit, row)[0])
    for method in ("refined", "non-private"):
        assert risks.loc[method, "low"] <= risks.loc[method, "risk"] <= risks.loc[method, "high"]
    assert risks.loc[["sgd", "perm"], ["low", "high"]].isna().all(axis=None)


def test_interval_of_one_feature_is_its_coefficient_s(finished):
    """For x = e_j the linear predictor is the coefficient, so both intervals agree."""
    fit = finished["non-private"].fit
    names = fit.model.features
    rows = Table(np.eye(len(names)), np.zeros(len(names)), names, 1.0)
    expected = expit(fit.model.credible_intervals(fit))
    assert fit.model.risk_intervals(fit, rows) == pytest.approx(expected)


def test_one_feature_moves_the_refined_log_odds_by_its_coefficient(finished):
    """The refined variant has a constant of its own, which every row has."""
    params = finished["refined"].fit.params
    d = len(params.mean)
    person = np.full((1, d), 0.5)
    moved = params.log_odds(person + np.eye(d))[0] - params.log_odds(person)[0]
    others = np.arange(d) != params.coordinates.column
    assert moved[others] == pytest.approx(params.mean[others])


def test_form_starts_from_public_people_and_follows_the_visitor(shared):
    at = page([shared[1]["refined"]])
    ages = {slider.label: slider for slider in at.slider}
    assert set(ages) == {"Age", "Pressure"}
    held_out = survey(300, 2)
    assert ages["Age"].value == round(20 + 60 * np.median(held_out.x[:, 1]))  # a round number
    checked(ages["Age"].set_value(75.2).run())
    assert address(at)["person"] == "0:75.2"
    fit = stored.finished(shared[1]["refined"]).fit
    row = person_form.as_row(held_out, person_form.usual(held_out, held_out) | {"age": 75.2})
    share = fit.model.predict_probability(fit, row)[0]
    assert f"a risk of **{text.percent(share)}**" in texts(at)
    other = page([shared[1]["refined"]], person="0:75.2")
    assert f"a risk of **{text.percent(share)}**" in texts(other)
    checked(at.button(key="usual-person").click().run())
    assert "person" not in address(at)


def test_another_data_set_gets_its_usual_person(shared):
    at = page([shared[1]["refined"]], person="0:75.2")
    checked(at.sidebar.selectbox[0].set_value("secret").run())
    assert not at.slider  # nothing is trained there
    at.session_state["value:runs"] = shared[1]["secret"]
    checked(at.run())
    assert {slider.label: slider.value for slider in at.slider} == {"Age": 50.0, "Pressure": 150.0}


def test_form_marks_what_applies_and_what_is_not_known(shared):
    at = page([shared[1]["refined"]], person="1:-,2:1")
    applies, unknown = at.pills
    assert applies.value == ["smokes"]
    assert unknown.value == ["pressure"]
    assert {slider.label: slider.disabled for slider in at.slider} == {"Age": False, "Pressure": True}
    checked(unknown.set_value([]).run())
    assert address(at)["person"] == "2:1"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("9:1", "person has 3 predictors, got number 9"),
        ("0:900", "age must be a number of at least 20 and at most 80, got 900"),
        ("0:-", "age must be known"),
        ("2:nan", "person cannot be '2:nan'"),
        ("drop", "person cannot be 'drop'"),
    ],
)
def test_a_person_who_cannot_be_gets_a_sentence(shared, text, sentence):
    at = page([shared[1]["refined"]], person=text)
    (error,) = at.error
    assert sentence in error.value.replace("\\", "")
    assert "person" in chart_names(at)


def test_private_data_without_held_out_people_shows_no_score(shared):
    at = page([shared[1]["secret"]], data="secret")
    assert chart_names(at) == {"coefficients", "person"}
    assert at.info[0].value == PAGE.nothing_held_out
    ages = {slider.label: slider.value for slider in at.slider}
    assert ages == {"Age": 50.0, "Pressure": 150.0}  # the middle of the public ranges, not of the records


def test_ranges_outlive_the_store(shared):
    assert shared[0].load("survey").train.ranges == RANGES


def test_auc_against_epsilon_comes_from_a_sweep(shared):
    store, runs = shared
    assert data.sweep_exhibit("survey") is None
    table = {
        "model": "logistic",
        "data": "survey",
        "figures": ["steps"],
        "method": "refined",
        "epsilon": [1.0, 3.0],
        "delta": 1e-5,
        "epochs": 2,
        "seeds": [0, 1],
    }
    submit_sweep(store, table, held=True)
    sweep = Sweep.from_mapping(table)
    for cell in sweep.cells():
        assert run_cell(str(store.home), cells_of(sweep, store), cell.to_mapping(), False) is None
    exhibit = data.sweep_exhibit("survey")
    assert set(exhibit.table["epsilon"]) == {1.0, 3.0}
    assert "auc-epsilon" in chart_names(page([runs["refined"]]))


def test_tables_behind_charts_open(shared):
    at = page([shared[1][method] for method in METHODS])
    for name in ("roc", "auc", "calibration", "coefficients", "person"):
        at.session_state[f"table:{name}"] = True
    checked(at.run())
    roc, groups, aucs, risks, weights = (frame.value for frame in at.dataframe)
    assert len(roc) == len(METHODS) * len(data.RATES)
    assert groups["People"].sum() == 300 * len(METHODS)
    assert aucs["AUC"].iloc[0] == pytest.approx(
        auc(stored.finished(shared[1]["refined"]).fit, survey(300, 2))
    )
    assert len(risks) == len(METHODS)
    assert len(weights) == 5 * len(METHODS)
