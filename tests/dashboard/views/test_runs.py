"""The Runs page's logic, without a browser."""

import contextlib
import sqlite3
import zipfile

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import pages
from dashboard.components import live_runs
from dashboard.components.formats import at_least, at_most
from dashboard.views.runs import charts, data, text
from tests import toy_model
from tests.pages import address, checked, opened, settled, view
from tests.small_rows import rows
from vips_core import Ledger
from vips_core.jobs import supervisor, worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.models.task import TASKS
from vips_core.reports import report
from vips_core.store import pools
from vips_core.store.budget import Cap
from vips_core.store.people import Sources
from vips_core.store.store import Store
from vips_core.sweeps.grid import Sweep

BASE = {"model": "logistic", "data": "small", "delta": 1e-3, "epochs": 4.0}


@pytest.fixture
def store(home, monkeypatch):
    """A store with two finished runs on public data, one on private data, and one that waits."""
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(live_runs, "follow", lambda runs, **values: None)
    store = Store(home)
    store.add_data("small", rows(300, 0), rows(200, 1), private=False, unit="one row")
    store.add_data("secret", rows(300, 2), rows(200, 3), cap=Cap(3.0, 1e-4), unit="one patient")
    for table in (
        BASE | {"epsilon": 1.0, "seed": 3},
        BASE | {"method": "paper", "noise": 4.0, "seed": 3},
        BASE | {"data": "secret", "epsilon": 1.0, "delta": 1e-4},
    ):
        worker.work(store, submit(store, Request.from_mapping(table)))
    submit(store, Request.from_mapping(BASE | {"method": "non-private"}))
    return store


def page(**address):
    return view("runs", **address)


def texts(at):
    return "\n".join(element.value for element in [*at.markdown, *at.caption, *at.header])


def button(at, key):
    (button,) = [item for item in at.button if item.key and item.key.startswith(key)]
    return button


def test_nothing_yet(home):
    assert "Nothing trained yet" in texts(page())


def test_history_and_its_filters(store):
    assert len(page().dataframe[0].value) == 4
    for query, count in (
        ({"method": "paper"}, 1),
        ({"data": "secret"}, 1),
        ({"status": "queued"}, 1),
        ({"model": "lda"}, 0),
        ({"status": "done", "data": "small"}, 2),
    ):
        at = page(**query)
        assert (len(at.dataframe[0].value) if at.dataframe else 0) == count, query
        assert address(at) | query == address(at)
    assert "No run matches" in texts(page(model="sbn"))
    (error,) = page(status="nonsense").error
    assert "In the address, status must be one of" in error.value.replace("\\", "")


def test_a_model_that_is_registered_later_is_listed_and_compared(store):
    with toy_model.registered() as task:
        run_id = submit(store, Request.from_mapping(BASE | {"model": task.name, "epsilon": 1.0, "pull": 5.0}))
        worker.work(store, run_id)
        at = settled(page(model=task.name, runs=run_id))
        (models,) = [box for box in at.selectbox if box.label == "Model"]
        assert {"All models", task.title} <= set(models.options)
        assert at.dataframe[0].value["Model"].tolist() == [task.title]
        settings = at.table[0].value.set_index("Setting").iloc[:, 0].to_dict()
        assert (settings["Model"], settings["Pull"]) == (task.title, "5")
        assert toy_model.ACCURACY in at.table[2].value["Held-out score"].tolist()


def test_two_runs_side_by_side_with_epsilon_from_their_ledgers(store):
    _, _, paper, refined = store.runs()
    at = page(runs=f"{refined.id},{paper.id}")
    settled(at)
    settings, accounts, scores = (table.value for table in at.table)
    asked = settings.set_index("Setting")[f"As published {paper.id}"].to_dict()
    assert asked == {"Method": "As published", "Target ε": "–", "Noise σ": "4"}
    ledger = Ledger.from_json((store.folder(paper.id) / "ledger.json").read_text())
    row = accounts[accounts["Accountant"] == "Moments"].iloc[0]
    assert row[f"As published {paper.id}"] == at_most(ledger.epsilon(1e-3, "moments"))
    assert scores["Held-out score"].tolist() == list(TASKS["logistic"].scores)
    assert len(at.get("plotly_chart")) == 1
    assert address(page(**address(at)))["runs"] == f"{refined.id},{paper.id}"


def test_a_narrow_screen_has_the_same_rows_as_links(store):
    waiting, _, paper, refined = store.runs()
    narrow = charts.history_rows([paper, refined], [refined.id])
    assert narrow[0].link == f"?runs={refined.id},{paper.id}"  # adds the run to the comparison
    assert (narrow[1].link, narrow[1].marked) == ("?runs=", True)  # removes the run
    assert narrow[0].title == "As published on small"
    assert charts.history_rows([waiting], [])[0].details.startswith("ε = ∞ · Queued 0% · ")
    rows = [element.proto.body for element in page(runs=refined.id).get("html")]
    (drawn,) = [body for body in rows if "vips-rows" in body]
    assert drawn.count("<li>") == 4
    assert drawn.count("aria-current") == 1
    evil = charts.NarrowRow("<b>", "a & b", '?runs="')
    assert evil.drawn() == '<li><a href="?runs=&quot;">&lt;b&gt;</a><span>a &amp; b</span></li>'
    ledger = charts.ledger_rows(store.ledger())
    assert len(ledger) == len(store.ledger())


def test_an_unknown_run_gives_a_sentence(store):
    at = page(runs="abcdef12")
    assert "There is no run 'abcdef12'" in at.error[0].value.replace("\\", "")
    assert "runs" not in address(at)


def test_pin_delete_and_cancel(store):
    waiting, private, paper, refined = store.runs()
    at = page(runs=refined.id)
    checked(button(at, f"pin:{refined.id}").click().run())
    assert store.run(refined.id).pinned
    assert at.dataframe[0].value["Run"].tolist()[0] == refined.id
    at = page(runs=f"{private.id},{waiting.id}")
    checked(button(at, f"cancel:{waiting.id}").click().run())
    assert store.run(waiting.id).status == "cancelled"
    before = store.budget("secret").spent_share
    checked(button(at, f"ask:{private.id}").click().run())
    checked(button(at, f"keep:{private.id}").click().run())
    assert not [item for item in at.button if item.key == f"delete:{private.id}"]
    checked(button(at, f"ask:{private.id}").click().run())
    assert text.DELETING in [item.value for item in at.markdown]
    checked(button(at, f"delete:{private.id}").click().run())
    assert private.id not in [run.id for run in store.runs()]
    assert address(at)["runs"] == waiting.id
    assert store.budget("secret").spent_share == before > 0  # the ledger keeps what it cost


def test_reports_are_complete(store, tmp_path):
    run = store.runs()[-1]
    report.write_run(store, run.id, tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        assert {"report.html", "config.toml", "ledger.json", "repeat.py"} <= set(archive.namelist())
    at = page(runs=run.id)
    labels = [item.proto.label for item in at.get("download_button")]
    assert {"Report", "ZIP"} <= set(labels)


def test_configs_are_checked_then_submitted_or_opened(store):
    text = Request.from_mapping(BASE | {"epsilon": 2.0, "seed": 9}).to_toml()
    at = page(part="import")
    checked(at.text_area[0].set_value("epsilon = ").run())
    assert "The config is not TOML" in at.error[0].value.replace("\\", "")
    checked(at.text_area[0].set_value(text.replace("2.0", "-2.0")).run())
    assert "Epsilon must be a number of at least 0.001" in at.error[0].value.replace("\\", "")
    checked(at.text_area[0].set_value(text).run())
    assert "A run of logistic" in at.success[0].value
    (link,) = at.get("page_link")
    assert "epsilon=2.0" in link.proto.query_string
    assert "methods=refined" in link.proto.query_string
    checked(button(at, "submit").click().run())
    newest = store.runs()[0]
    assert newest.request["seed"] == 9
    assert address(at)["runs"] == newest.id
    assert address(at)["part"] == "history"


def test_every_model_has_a_page():
    assert {pages.of_model(model): model for model in TASKS} == {
        "topics": "lda",
        "risk": "logistic",
        "images": "sbn",
    }
    assert pages.of_model("toy") == "model-toy"  # its generic page


def test_a_refused_config_gives_the_store_s_sentence(store):
    at = page(part="import")
    text = Request.from_mapping(BASE | {"data": "secret", "epsilon": 9.0, "delta": 1e-4}).to_toml()
    checked(at.text_area[0].set_value(text).run())
    checked(button(at, "submit").click().run())
    assert "does not fit in the budget of secret" in at.error[0].value.replace("\\", "")


def test_configs_of_sweeps_are_known_by_their_lists():
    table = BASE | {"method": ["refined"], "epsilon": [1.0, 2.0], "seeds": 2}
    config = data.read_config(Sweep.from_mapping(table).to_toml())
    assert isinstance(config, Sweep)
    assert len(config.cells()) == 4
    with pytest.raises(ValueError, match="at most 100,000 characters"):
        data.read_config("#" * 100_001)


def test_budgets_and_cap(store):
    at = page(part="budgets")
    shown = {metric.label: metric.value for metric in at.metric}
    budget = store.budget("secret")
    assert shown["Share of the cap left"] == f"{budget.left_share:.1%}"
    assert shown["Largest ε of one more full-batch run"] == at_least(budget.left_epsilon)
    assert shown["ε if planned as a whole"] == at_most(budget.planned_epsilon)
    assert len(at.get("plotly_chart")) == 1
    (bar,) = [item.proto.body for item in at.get("html") if "vips-budget" in item.proto.body]
    assert f"spent {budget.spent_share:.0%}" in bar
    assert f"left {budget.left_share:.0%}" in bar
    assert "each is one patient" in texts(at)
    (epsilon,) = [box for box in at.number_input if box.label == "Cap on ε"]
    checked(epsilon.set_value(5.0).run())
    (by,) = [box for box in at.text_input if box.label == "Your name"]
    checked(by.set_value("Ada").run())
    checked(button(at, "cap-set").click().run())
    assert "A larger cap needs a name and a reason, got no reason" in at.error[0].value.replace("\\", "")
    assert store.data_row("secret").cap == Cap(3.0, 1e-4)
    (reason,) = [box for box in at.text_input if box.label == "Why"]
    checked(reason.set_value("the *board* agreed").run())
    checked(button(at, "cap-set").click().run())
    assert store.data_row("secret").cap == Cap(5.0, 1e-4)
    said = "ε = 5 at δ = 0.0001, by Ada: the *board* agreed"
    assert said in at.dataframe[0].value["Content"].tolist()[-1]
    (shown,) = [table.value for table in at.table if "Why" in table.value]
    assert shown[["ε", "By"]].values.tolist()[0] == ["5", "Ada"]
    assert shown["Why"].tolist()[0].replace("\\", "") == "the *board* agreed"
    assert len(shown) == 2


def test_verify_tells_in_words(store):
    at = page(part="budgets")
    checked(button(at, "verify").click().run())
    assert "The ledger is intact: all" in at.success[0].value
    with sqlite3.connect(store.home / "store.db") as connection:
        connection.execute("PRAGMA writable_schema = 1")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE ledger SET content = '{}' WHERE number = 3")
    connection.close()
    assert "Row 3 of the ledger was changed" in text.verdict(store.verify(), 5)


def tampered(store, statement):
    with contextlib.closing(sqlite3.connect(store.home / "store.db")) as connection, connection:
        connection.execute("DROP TRIGGER ledger_is_not_changed")
        connection.execute("DROP TRIGGER ledger_is_not_cut")
        connection.execute(statement)


def test_a_ledger_that_was_cut_has_no_reports_and_states_no_budget(store):
    """Issue 32: reports were made from a ledger that did not verify."""
    (run,) = store.runs(data="secret")
    tampered(store, "DELETE FROM ledger WHERE kind = 'settle'")
    at = page(runs=run.id)
    assert not {"Report", "ZIP"} & {item.proto.label for item in at.get("download_button")}
    assert "No report may be written while the ledger is not intact" in at.error[0].value
    at = page(part="budgets")
    assert "No budget can be read while the ledger is not intact" in at.error[0].value
    checked(button(at, "verify").click().run())
    assert "The ledger was cut" in at.error[-1].value


def test_a_changed_row_is_said_on_pages_that_need_it(store):
    tampered(store, "UPDATE ledger SET content = replace(content, '3.0', '9.0') WHERE kind = 'cap'")
    for name, values in (("runs", {"part": "budgets"}), ("risk", {})):
        at = opened(AppTest.from_function(_draw, args=(name,), default_timeout=60), **values)
        (error,) = at.error
        assert "No budget can be read while the ledger is not intact: Row" in error.value.replace("\\", "")


def _draw(name):
    import importlib

    from dashboard.components import layout

    layout.draw(importlib.import_module(f"dashboard.views.{name}.page").show)


def test_verify_tells_of_public_data_sets_without_source_rows(store, monkeypatch):
    monkeypatch.setattr("vips_core.store.people.public_without_digests", lambda connection: ["secret"])
    at = page(part="budgets")
    checked(button(at, "verify").click().run())
    assert "secret was registered without its source rows" in at.warning[0].value


def test_runs_outlive_their_data_set(store):
    """They can still be compared, exported and deleted, and say what they protect."""
    (run,) = store.runs(data="secret")
    store.remove_data("secret")
    at = page(runs=run.id)
    assert not at.exception
    assert "This protects one patient." in texts(at).replace("\\", "")


def test_one_budget_under_two_names(store):
    """The same records, saved again under another name, get no second budget and cause no error."""
    store.add_data("secret again", rows(300, 2), unit="one patient")
    at = page(part="budgets")
    assert not at.exception
    sentence = "secret again holds the same records as secret: they share one budget."
    assert sentence in texts(at).replace("\\", "")


def test_data_sets_that_share_a_budget_by_mistake_are_separated(store):
    """Issue 32: two studies that number people from 1 could not be told apart any more."""
    for name, seed in (("north", 41), ("south", 42)):
        sources = Sources([name.encode()], [b"1", b"2"])
        cap = Cap(3.0, 1e-4) if name == "north" else None
        store.add_data(name, rows(300, seed), cap=cap, unit="x", sources=sources, share_budget=True)
    at = page(part="budgets")
    keys = [button.key for button in at.button if button.key.startswith("separate:")]
    assert keys == ["separate:north", "separate:south"]
    checked(button(at, "separate:south").click().run())
    assert "Separating data sets needs a name and a reason" in at.error[0].value
    at.text_input(key="separate-by:south").set_value("Ada")
    at.text_input(key="separate-reason:south").set_value("both studies number from 1")
    checked(button(at, "separate:south").click().run())
    assert not at.error
    assert store.linked("south") == []
    assert store.data_row("south").cap == Cap(3.0, 1e-4)
    assert "both studies number from 1" in pools.separations(store.ledger("south"))[0]
    assert not [button for button in at.button if button.key.startswith("separate:")]


def test_budget_over_time_has_the_cap(store):
    figure = charts.budget_over_time(store.budget("secret"))
    assert figure["layout"]["shapes"][0]["y0"] == 100
    assert len(figure["data"][0]["x"]) == 1
