"""The Risk page without a browser: every number on it against the core, on small runs of its own store."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from streamlit.testing.v1 import AppTest

from dashboard import library, person, risk, risk_charts, risk_words
from tests.pages import address, checked, opened, trained
from vips_core import LabelledRows, auc
from vips_core.metrics import risk as measures
from vips_core.runs.budget import Cap
from vips_core.runs.store import Store
from vips_core.sweeps.cells import run_cell
from vips_core.sweeps.sweep import Sweep, cells_of

RANGES = {"age": (20.0, 80.0), "pressure": (80.0, 220.0), "smokes": (0.0, 1.0)}
BASE = {"model": "logistic", "data": "survey", "delta": 1e-5, "epochs": 4}
METHODS = ("refined", "paper", "strong", "non-private", "sgd", "perm")


def survey(people, seed, missing=True):
    rng = np.random.default_rng(seed)
    age, pressure = rng.uniform(20, 80, people), rng.normal(130, 20, people)
    smokes = rng.random(people) < 0.3
    sick = rng.random(people) < expit((age - 60) / 8 + smokes - 0.5)
    if missing:
        pressure[rng.random(people) < 0.1] = np.nan
    frame = pd.DataFrame({"age": age, "pressure": pressure, "smokes": smokes * 1.0, "sick": sick * 1})
    return LabelledRows.from_frame(frame, "sick", RANGES, may_be_missing=["pressure"])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A store with a public and a private survey, and a run of each method."""
    store = Store(tmp_path_factory.mktemp("risk"))
    store.add_data("survey", survey(600, 1), survey(300, 2), private=False, cap=None, unit="one person")
    store.add_data("secret", survey(400, 3), None, private=True, cap=Cap(4.0, 1e-5), unit="one person")
    runs = {}
    for method in METHODS:
        spend = {} if method == "non-private" else {"epsilon": 3.0}
        runs[method] = trained(store, **BASE | dict(method=method, **spend))
    runs["rerun"] = trained(store, **BASE | dict(method="refined", epsilon=3.0))
    runs["secret"] = trained(store, **BASE | dict(method="refined", epsilon=1.0, data="secret"))
    return store, runs


@pytest.fixture(autouse=True)
def home(shared, monkeypatch):
    monkeypatch.setenv("VIPS_HOME", str(shared[0].home))


@pytest.fixture
def found(shared):
    return {method: library.finished(shared[1][method]) for method in METHODS}


def app():
    from dashboard.views import risk

    risk.show()


def page(runs, data="survey", **address):
    at = AppTest.from_function(app, default_timeout=60)
    return opened(at, data=data, runs=",".join(runs), **address)


def charts(at):
    return {element.proto.id.rsplit("chart:", 1)[-1] for element in at.get("plotly_chart")}


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption])


def test_every_part_is_drawn_for_every_method(shared):
    at = page([shared[1][method] for method in METHODS])
    assert charts(at) == {"roc", "calibration", "auc", "coefficients", "person"}
    assert not at.error
    assert "300 held-out people" in texts(at)
    assert "10 groups of 30" in texts(at)


def test_scores_are_the_core_s(found):
    rows = found["refined"].data.test
    for method, run in found.items():
        scores = risk.scored(run)
        assert scores.auc == pytest.approx(run.result["held_out"]["AUC"]), method
        assert scores.interval[0] < scores.auc < scores.interval[1]
        assert (scores.low <= scores.curve + 1e-9).mean() > 0.95
        assert (scores.curve <= scores.high + 1e-9).mean() > 0.95
        assert scores.calibration.records.tolist() == [30] * 10
        cases = (scores.calibration.observed * scores.calibration.records).sum()
        assert cases == pytest.approx(rows.y.sum()) == scores.cases


def test_delong_interval_agrees_with_the_bootstrap():
    rng = np.random.default_rng(0)
    labels = rng.random(400) < 0.2
    scores = np.round(rng.normal(size=400) + labels, 1)  # with ties
    positives, negatives = scores[labels], scores[~labels]
    again = [
        measures.auc(np.repeat([1, 0], [len(positives), len(negatives)]), np.concatenate(
            [rng.choice(positives, len(positives)), rng.choice(negatives, len(negatives))]
        ))
        for _ in range(1000)
    ]  # fmt: skip
    assert measures.auc_interval(labels, scores) == pytest.approx(np.quantile(again, [0.05, 0.95]), abs=0.01)
    assert measures.auc_interval([0, 1], [0.0, 1.0]) == (1.0, 1.0)
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 1"):
        measures.auc_interval(labels, scores, 1)


def test_band_of_a_useless_score_lies_around_guessing():
    labels = np.arange(200) % 2
    rates = np.linspace(0, 1, 11)
    low, high = measures.roc_band(labels, np.zeros(200), rates)
    assert low == pytest.approx(rates)  # all tied: the curve is the diagonal whoever is drawn
    assert high == pytest.approx(rates)
    low, high = measures.roc_band(labels, np.random.default_rng(1).random(200), rates)
    assert (low <= high).all()
    assert (low[1:-1] < rates[1:-1]).all()
    assert (high[1:-1] > rates[1:-1]).all()


def test_groups_by_rank_hold_rising_risks():
    rng = np.random.default_rng(3)
    risks = rng.random(95) * 0.1
    groups = measures.calibration_by_rank(rng.random(95) < 0.5, risks, 10)
    assert set(groups.records) == {9, 10}
    assert (np.diff(groups.predicted) > 0).all()
    assert groups.predicted @ groups.records == pytest.approx(risks.sum())


def test_wilson_interval_is_open_where_there_are_no_cases():
    low, high = risk.wilson(np.array([0.0, 0.5, 1.0]), np.array([20.0, 20.0, 20.0]))
    assert low == pytest.approx([0, 0.3274, 0.8808], abs=1e-3)  # 2.7055/(20 + 2.7055) = 0.1192
    assert high == pytest.approx([0.1192, 0.6726, 1.0], abs=1e-3)


def test_credible_intervals_are_kept_apart_from_reruns(found):
    table = risk.coefficients(found)
    refined = table[table["method"] == "refined"].set_index("feature")
    run = found["refined"]
    intervals = run.fit.model.credible_intervals(run.fit)
    assert refined[["low", "high"]].to_numpy() == pytest.approx(intervals)
    assert (refined["reruns"] == 2).all()
    assert (refined["least"] <= refined["mean"] + 1e-12).all()
    assert (refined["mean"] <= refined["greatest"] + 1e-12).all()
    assert (table.loc[table["method"] != "refined", "reruns"] == 0).all()
    assert table.loc[table["method"] == "perm", "low"].isna().all()
    figure, _ = risk_charts.forest(table, risk.largest(table, 3))
    names = [trace["name"] for trace in figure["data"]]
    assert "Refined: 90% credible interval" in names
    assert "Refined: range over 2 runs" in names
    assert "Objective perturbation: estimate alone" in names
    assert "not know of the noise" in risk_words.coefficients(table, ["age"], 0)


def test_what_is_off_the_axis_is_counted_and_drawn_at_its_edge(found):
    table = risk.coefficients({name: found[name] for name in ("non-private", "paper")})
    table.loc[(table["method"] == "paper") & (table["feature"] == "age"), "mean"] = -1e3
    figure, off = risk_charts.forest(table, ["age", "smokes"])
    assert off >= 1
    edges = [trace for trace in figure["data"] if "triangle-left" in np.atleast_1d(trace["marker"]["symbol"])]
    assert len(edges) == 1
    assert max(abs(np.asarray(edges[0]["x"]))) < 100
    assert risk_words.beyond(1, "estimate").startswith("1 estimate lies beyond")
    assert risk_words.beyond(0, "estimate") == ""


def test_a_person_is_scaled_like_the_data(found):
    rows = found["refined"].data.train
    row = person.as_row(rows, {"age": 50.0, "pressure": None, "smokes": 1.0})
    assert dict(zip(row.feature_names, row.x[0].tolist(), strict=True)) == {
        "intercept": 1.0, "age": 0.5, "pressure": 0.0, "pressure missing": 1.0, "smokes": 1.0,
    }  # fmt: skip
    risks = risk.person_table(found, row).set_index("method")
    fit = found["refined"].fit
    assert risks.loc["refined", "risk"] == pytest.approx(fit.model.predict_probability(fit, row)[0])
    for method in ("refined", "non-private"):
        assert risks.loc[method, "low"] <= risks.loc[method, "risk"] <= risks.loc[method, "high"]
    assert risks.loc[["sgd", "perm"], ["low", "high"]].isna().all(axis=None)


def test_interval_of_one_feature_is_its_coefficient_s(found):
    """For x = e_j the linear predictor is the coefficient, so both intervals are one."""
    for method in ("refined", "non-private"):
        fit = found[method].fit
        names = fit.model.features
        rows = LabelledRows(np.eye(len(names)), np.zeros(len(names)), names, 1.0)
        expected = expit(fit.model.credible_intervals(fit))
        assert fit.model.risk_intervals(fit, rows) == pytest.approx(expected)


def test_form_starts_from_public_people_and_follows_the_visitor(shared):
    at = page([shared[1]["refined"]])
    ages = {slider.label: slider for slider in at.slider}
    assert set(ages) == {"Age", "Pressure"}
    held_out = survey(300, 2)
    assert ages["Age"].value == pytest.approx(20 + 60 * np.median(held_out.x[:, 1]), rel=1e-3)
    checked(ages["Age"].set_value(75.2).run())
    assert address(at)["person"] == "0:75.2"
    fit = library.finished(shared[1]["refined"]).fit
    row = person.as_row(held_out, person.usual(held_out, held_out) | {"age": 75.2})
    share = fit.model.predict_probability(fit, row)[0]
    assert f"a risk of **{risk_words.percent(share)}**" in texts(at)
    other = page([shared[1]["refined"]], person="0:75.2")
    assert f"a risk of **{risk_words.percent(share)}**" in texts(other)
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
        ("0:900", "age must be from 20 to 80, got 900"),
        ("0:-", "age must be known"),
        ("2:nan", "person cannot be '2:nan'"),
        ("drop", "person cannot be 'drop'"),
    ],
)
def test_a_person_who_cannot_be_gets_a_sentence(shared, text, sentence):
    at = page([shared[1]["refined"]], person=text)
    (error,) = at.error
    assert sentence in error.value.replace("\\", "")
    assert "person" in charts(at)


def test_person_without_a_schema_has_what_applies():
    rows = LabelledRows(np.eye(3), [0, 1, 0], ("intercept", "drug 1", "drug 2"), 2.0)
    assert person.usual(rows, rows) == {"drug 1": 0.0, "drug 2": 0.0}
    row = person.as_row(rows, {"drug 1": 0.0, "drug 2": 1.0})
    assert row.x.toarray().tolist() == [[1.0, 0.0, 1.0]]


def test_private_data_without_held_out_people_shows_no_score(shared):
    at = page([shared[1]["secret"]], data="secret")
    assert charts(at) == {"coefficients", "person"}
    assert at.info[0].value == risk_words.NOTHING_HELD_OUT
    ages = {slider.label: slider.value for slider in at.slider}
    assert ages == {"Age": 50.0, "Pressure": 150.0}  # the middle of the public ranges, not of the records


def test_names_of_predictors_are_not_markup():
    name = "![x](http://example.org/x.png)<b>"
    frame = pd.DataFrame({name: [0.2, 0.4], "y": [0, 1]})
    rows = LabelledRows.from_frame(frame, "y", {name: (0.0, 2.0)})
    table = pd.DataFrame(
        {"method": "refined", "feature": rows.feature_names, "mean": 1.0, "low": 0.5, "high": 2.0}
    )
    table = table.assign(reruns=0, least=np.nan, greatest=np.nan)
    figure, _ = risk_charts.forest(table, [name])
    assert figure["layout"]["yaxis"]["ticktext"] == ["![x](http://example.org/x.png)&lt;b&gt;"]
    assert figure["data"][0]["customdata"][0][0].endswith("&lt;b&gt;")

    def form(rows):
        import streamlit as st

        from dashboard import person, session

        session.load((person.PARAMETER,))
        st.write(person.form("data", rows, None))

    (slider,) = AppTest.from_function(form, args=(rows,)).run().slider
    assert slider.label.startswith("\\!\\[x\\]\\(http")


def test_ranges_outlive_the_store(shared):
    assert shared[0].load("survey").train.ranges == RANGES


def test_auc_against_epsilon_comes_from_a_sweep(shared):
    store, runs = shared
    assert risk.sweep_drawing("survey") is None
    table = {
        "model": "logistic", "data": "survey", "figures": ["steps"], "method": "refined",
        "epsilon": [1.0, 3.0], "delta": 1e-5, "epochs": 2, "seeds": [0, 1],
    }  # fmt: skip
    store.submit_sweep(table, held=True)
    sweep = Sweep.from_mapping(table)
    for cell in sweep.cells():
        assert run_cell(str(store.home), cells_of(sweep, store).path(cell), cell.to_mapping(), False) is None
    drawing = risk.sweep_drawing("survey")
    assert set(drawing.table["epsilon"]) == {1.0, 3.0}
    assert "auc-epsilon" in charts(page([runs["refined"]]))


def test_tables_behind_charts_open(shared):
    at = page([shared[1][method] for method in METHODS])
    for name in ("roc", "auc", "calibration", "coefficients", "person"):
        at.session_state[f"table:{name}"] = True
    checked(at.run())
    roc, groups, aucs, risks, weights = (frame.value for frame in at.dataframe)
    assert len(roc) == len(METHODS) * len(risk.RATES)
    assert groups["People"].sum() == 300 * len(METHODS)
    assert aucs["AUC"].iloc[0] == pytest.approx(
        auc(library.finished(shared[1]["refined"]).fit, survey(300, 2))
    )
    assert len(risks) == len(METHODS)
    assert len(weights) == 5 * len(METHODS)
