"""What a steward tries on the pages: one sentence for each refusal, never a traceback.

Where the findings of issue 16 are tested: through the command line (cli/test_cli_runs.py unless named), and
through a page (here unless named).

- A unit that nobody enforces: `are_added_and_removed`; `a_typed_unit`.
- A column of persons: `a_person_column`; model_page/test_upload.py, `a_column_that_names_the_person`.
- A fresh budget for the same people: `the_same_people_keep`; `people_that_are_known`.
- Held-out rows that are private: `private_rows_cannot_be_held_out`; `people_that_are_known`.
- `private = 0` in the table: `made_public_in_the_table`, in both.
- A read-only copy: `a_read_only_store`, in both.
- A full disk: jobs/test_worker.py and crash/test_full_disk.py; `a_full_disk`.
- No cap, a large δ, no author: `needs_an_explicit_cap` (the form always has one), `a_large_delta`, in both.
- A key that cannot be used: `a_bad_key`, in both.
- Public data sets without source rows: views/test_runs.py, `without_source_rows`.
"""

import errno
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard import stored
from dashboard.components import live_runs
from tests.dashboard.topics_page import errors, press_train, said
from tests.pages import checked, opened, trained, view
from tests.small_rows import small_store
from vips_core import saved
from vips_core.cli import main
from vips_core.jobs import submission, supervisor, worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store.budget import Cap

START = supervisor.start
TABLE = {"model": "logistic", "data": "secret", "epsilon": 1.0, "delta": 1e-4, "epochs": 2}


@pytest.fixture
def store(home, monkeypatch):
    """A store with public and private rows; runs wait until a test works on them."""
    monkeypatch.setattr(live_runs, "follow", lambda runs, **rest: None)
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    small_store(home)
    return stored.store()


def upload(name, lines, held_out=(), protection="Private"):
    """Fill in the form for documents, and press its button."""
    at = view("topics", upload=1)
    for key, some in (("records", lines), ("held-out", held_out)):
        if some:
            sent = ("letters.txt", "\n".join(some).encode(), "text/plain")
            at.file_uploader(key=f"file:{key}:lda").set_value(sent)
            checked(at.run())
    at.segmented_control(key="protection").set_value(protection)
    checked(at.run())
    if protection == "Private":
        at.number_input(key="cap-delta").set_value(1e-3)
    at.text_input(key="data-name").set_value(name)
    return checked(at.button(key="add").click().run())


def edit(store, statement):
    """Change the database, as with any tool for SQLite."""
    with sqlite3.connect(store.home / "store.db") as connection:
        connection.execute(statement)
    connection.close()


def test_a_typed_unit_stands_beside_what_is_enforced(store, tmp_path, capsys):
    """Issue 16: "one author" was printed in the guarantee although an author had many rows."""
    (tmp_path / "visits.csv").write_text("age,ill\n" + "\n".join(f"{20 + n},{n % 2}" for n in range(60)))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\n")
    command = ["data", "add", "table", tmp_path / "visits.csv", "--target", "ill", "--unit", "one author"]
    command += ["--schema", tmp_path / "schema.toml", "--epsilon", 3, "--delta", 1e-4]
    assert main([str(word) for word in command]) == 0
    enforced = "one row of the file, which the steward calls “one author”"
    run = trained(store, **TABLE | {"data": "visits"})
    for at in (
        view("risk", data="visits"),
        view("risk", data="visits", runs=run, epsilon=1, delta=1e-4),
        view("runs", part="budgets"),
    ):
        assert enforced in said(at).replace("\\", "")


def test_people_that_are_known_share_their_budget_and_are_neither_public_nor_held_out(home):
    letters = [f"letter {number} of peace and war" for number in range(12)]
    new = [f"letter {number} of taxes" for number in range(12)]
    upload("first", letters)
    (sentence,) = errors(upload("second", new, held_out=letters[3:5]))
    assert sentence.startswith("2 rows or persons of these held-out records are private in first, so they")
    (sentence,) = errors(upload("second", new, held_out=letters[3:5], protection="Public"))
    assert sentence.startswith("2 rows or persons of these held-out records are private in first, so they")
    (sentence,) = errors(upload("second", letters[:4], protection="Public"))
    assert sentence.startswith("4 rows or persons of these records are private in first, so they cannot be")
    at = upload("second", letters[:4], held_out=new)
    assert "also occur in first (4), so these data sets would share one" in said(at).replace("\\", "")
    checked(at.radio(key="same-people").set_value("Yes: share one budget").run())
    checked(at.button(key="add").click().run())
    at = view("runs", part="budgets")
    sentence = "4 rows or persons of second also occur in first: both data sets share one budget"
    assert sentence in said(at).replace("\\", "")
    assert {"Linked", "Public people"} <= set(at.dataframe[0].value["Event"])


def test_private_records_made_public_in_the_table_are_found(store):
    """Issue 16: a fit without noise ran after such an edit, and the ledger was reported whole."""
    edit(store, "UPDATE data SET private = 0")
    at = view("risk", data="secret", methods="non-private", delta=1e-4)
    (sentence,) = errors(press_train(at))
    assert sentence.endswith("the ledger disagree about “private” of the data set secret.")
    assert store.runs() == []
    at = view("runs", part="budgets")
    checked(at.button(key="verify").click().run())
    assert "the ledger disagree about “private” of the data set secret" in errors(at)[0]


def test_a_read_only_store_is_shown_and_every_change_is_refused_in_one_sentence(store, monkeypatch):
    """Issue 16: an auditor has a read-only copy, which no page could show."""
    run, waiting = trained(store, **TABLE), queued(store)
    monkeypatch.setattr(supervisor, "start", START)
    monkeypatch.setenv("VIPS_WARM", "2")
    store.database.close()
    monkeypatch.setattr(store.database, "read_only", True)
    before = {path: path.stat().st_mtime_ns for path in store.home.rglob("*") if path.is_file()}
    refusal = f"The store {store.home / 'store.db'} is read-only here: nothing can be changed"
    for name in ("plan", "topics", "frontier", "audit"):
        assert not errors(view(name)), name
    at = view("risk", data="secret", runs=run, epsilon=1, delta=1e-4)
    assert "This protects" in said(at)
    assert errors(press_train(view("risk", data="secret", epsilon=0.5, delta=1e-4))) == [refusal]
    at = view("runs", runs=f"{run},{waiting}")
    checked(at.button(key=f"ask:{run}").click().run())
    for key in (f"pin:{run}:False", f"delete:{run}", f"cancel:{waiting}"):
        assert errors(checked(at.button(key=key).click().run())) == [refusal]
    at = view("runs", part="budgets")
    checked(at.button(key="verify").click().run())
    assert "The ledger is intact" in at.success[0].value
    assert errors(cap_set(at, 1e-4)) == [refusal]
    assert errors(upload("letters", ["peace", "war"] * 6)) == [refusal]
    after = {path: path.stat().st_mtime_ns for path in store.home.rglob("*") if path.is_file()}
    assert after == before


def test_a_full_disk_is_said_before_and_after_anything_is_spent(store, monkeypatch, tmp_path):
    """Issue 16: each of four fits said "make room and try again"; ε was spent and there was no result."""
    run = queued(store)

    def full(*arguments, **values):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as later:
        later.setenv("VIPS_RESCUE", str(tmp_path))
        later.setattr(saved, "write_params", full_unless(tmp_path, saved.write_params))
        worker.work(store, run)
    (sentence,) = errors(view("risk", data="secret", runs=run, epsilon=1, delta=1e-4))
    assert "the disk is full: No space left on device; what was released, ε = " in sentence
    assert sentence.endswith(
        f"is counted and was kept: the command “vips-explorer runs show {run}” says where"
    )
    assert str(tmp_path / f"vips-run-{run}") in store.run(run).error
    with monkeypatch.context() as later:
        later.setattr(submission.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
        (sentence,) = errors(press_train(view("risk", data="secret", epsilon=0.5, delta=1e-4)))
        assert "nothing was spent, free some space and try again" in sentence
    with monkeypatch.context() as later:
        later.setattr("vips_core.store.records_file.np.savez_compressed", full)
        (sentence,) = errors(upload("letters", ["peace", "war"] * 6))
        assert sentence.startswith("The data set cannot be written to")
        later.setattr("vips_core.store.home.tempfile.mkstemp", full)
        assert "No space left on device" in errors(upload("letters", ["peace", "war"] * 6))[0]
    assert len(store.runs()) == 1
    queued(store, epsilon=0.1)
    monkeypatch.setattr(supervisor, "start", full)
    stored._supervised.clear()
    assert errors(view("plan")) == ["No run can be started: No space left on device"]


def test_a_large_delta_needs_a_reason(store):
    """Issue 16: a cap's δ could be 0.4, and cap changes had no author and no reason."""
    (sentence,) = errors(cap_set(view("runs", part="budgets"), 0.05))
    assert sentence.startswith(
        "The cap's delta must be at most 1/(10·N) = 0.000333 for 300 records, got 0.05"
    )
    assert store.data_row("secret").cap == Cap(3.0, 1e-3)


def test_a_bad_key_is_said_on_every_page(store, monkeypatch):
    monkeypatch.setenv("VIPS_LEDGER_KEY", "no such file")
    at = opened(AppTest.from_file(Path(dashboard.__file__).parent / "app.py", default_timeout=60), prior=0.5)
    (sentence,) = errors(at)
    assert sentence.startswith("VIPS_LEDGER_KEY must be hexadecimal digits or a readable file")
    (sentence,) = errors(upload("letters", ["peace", "war"] * 6))
    assert sentence.startswith("VIPS_LEDGER_KEY must be hexadecimal digits or a readable file")
    monkeypatch.delenv("VIPS_LEDGER_KEY")
    assert "letters" not in [row.name for row in store.data_sets()]


def cap_set(at, delta):
    """Type another δ of the only cap on the Runs page, and set it."""
    (box,) = [box for box in at.number_input if box.label == "δ"]
    checked(box.set_value(delta).run())
    (button,) = [button for button in at.button if button.key.startswith("cap-set")]
    return checked(button.click().run())


def queued(store, **values):
    """Queue a run on the private rows, and return its name."""
    return submit(store, Request.from_mapping(TABLE | values))


def full_unless(folder, write):
    """Return a writer for whom the disk is full outside of a folder."""

    def written(path, *rest):
        if not path.is_relative_to(folder):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, *rest)

    return written
