"""The page of a model that has none of its own: a toy model on tables, from data to results."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard import pages, stored
from dashboard.components import live_runs
from tests import toy_model
from tests.dashboard.topics_page import errors, press_train, said, worked
from tests.pages import address, checked, opened, settled, view, widget
from tests.small_rows import small_store
from vips_core.jobs import supervisor


@pytest.fixture(autouse=True)
def task():
    with toy_model.registered() as task:
        yield task


@pytest.fixture
def store(home, monkeypatch):
    """A public and a private table; runs wait until a test works on them."""
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(live_runs, "follow", lambda runs, **rest: None)
    return small_store(home)


def page(**values):
    return view("model-toy", **{"data": "small", "delta": 1e-4} | values)


def test_it_offers_data_of_its_kind_and_the_options_of_its_task(store):
    at = page(pull=20)
    assert at.title[0].value == "Group means"
    assert "Mean predictors of cases and non-cases." in said(at)
    tables = [row.name for row in store.data_sets() if row.kind == "table"]
    assert [name.removesuffix(" (private)") for name in widget(at.selectbox, "one-of:data").options] == tables
    assert widget(at.number_input, "number:pull").value == 20
    assert at.multiselect[0].options == ["Refined", "Non-private"]
    assert not [button for button in at.button if button.key == "example"]


def test_it_quotes_a_price_trains_watches_and_shows_scores_tables_and_text(store):
    at = settled(page(epsilon=2, methods="refined,non-private", pull=20))
    assert "Would cost **ε = 2.00**" in said(at)
    at = press_train(at)
    runs = store.runs()
    assert {(run.request["model"], run.request["pull"]) for run in runs} == {("toy", 20.0)}
    assert len(at.get("progress")) == 2
    at = worked(at, store)
    assert not errors(at)
    for method, run_id in zip(("refined", "non-private"), address(at)["runs"].split(","), strict=True):
        finished = stored.finished(run_id)
        assert finished.text in [item.value for item in at.code]
        assert any(frame.value.equals(finished.tables["means"]) for frame in at.dataframe), method
        score = finished.result["held_out"]["accuracy"]
        (spent,) = [table.value for table in at.table if "Quantity" in table.value]
        shown = spent.set_index("Quantity").loc["Accuracy", finished.request.task.methods[method].label]
        assert float(shown) == pytest.approx(score, abs=1e-3)
    assert "Accuracy says what share of new rows is nearer to the mean of its own group" in said(at)
    downloads = {item.proto.label for item in at.get("download_button")}
    assert "Download CSV" in downloads
    assert len(at.get("plotly_chart")) == 1
    assert address(page(**address(at))) == address(at)


def test_private_tables_ask_before_they_spend_and_show_no_score(store):
    at = settled(page(data="secret", epsilon=1, delta=1e-3))
    checked(at.button(key="ask").click().run())
    assert "Spend budget of secret?" in said(at)
    at = worked(checked(at.button(key="train").click().run()), store)
    assert not errors(at)
    assert "no public held-out rows" in said(at)
    assert len(at.dataframe) == 1
    assert not at.get("plotly_chart")


def test_links_and_the_navigation_know_it(store):
    assert pages.of_model("toy") == "model-toy"
    assert pages.names() == [*pages.TITLES, "model-toy"]
    app = opened(AppTest.from_file(Path(dashboard.__file__).parent / "app.py", default_timeout=60))
    assert "model-toy" in [link.proto.page for link in app.get("page_link")]


def test_without_an_example_a_link_to_it_trains_nothing(store):
    page(example=1)
    assert not store.runs()
