"""The ledger shows every edit, and private data refuse runs while the ledger is not intact."""

import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store import CAP, request
from tests.toy import coin_flips
from vips_core import PrivacyPlan
from vips_core.jobs.submission import submit
from vips_core.reports import report
from vips_core.store import ledger_chain as chain
from vips_core.store.database import Database, StoreError
from vips_core.store.people import Sources

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
values = st.dictionaries(
    names, st.one_of(st.floats(allow_nan=False, allow_infinity=False), names), max_size=3
)


@given(st.lists(values, min_size=1, max_size=5), st.data())
@settings(max_examples=40, deadline=None)
def test_every_edit_of_the_ledger_is_noticed(contents, data):
    with tempfile.TemporaryDirectory() as folder:
        database, head = Database(Path(folder) / "store.db"), Path(folder) / "ledger.head"
        with database.write() as connection:
            for number, content in enumerate(contents):
                chain.append(connection, "cap", "f", "name", content, str(number))
        chain.keep_head(database, head)
        with database.write() as connection:
            assert chain.verify(connection, head) == []
            rows = chain.rows(connection)
            assert [row.content for row in rows] == contents
            connection.execute("DROP TRIGGER ledger_is_not_changed")
            number = data.draw(st.integers(1, len(contents)))
            column = data.draw(
                st.sampled_from(["time", "kind", "fingerprint", "data", "run", "content", "hash"])
            )
            new = 7.5 if column == "time" else "other"
            connection.execute(f"UPDATE ledger SET {column} = ? WHERE number = ?", [new, number])
            wrong = chain.verify(connection, head)
            assert f"Row {number} of the ledger was changed" in wrong[0]
        database.close()


def tamper(store, *statements):
    with sqlite3.connect(store.database.path) as connection:
        connection.execute("DROP TRIGGER IF EXISTS ledger_is_not_changed")
        connection.execute("DROP TRIGGER IF EXISTS ledger_is_not_cut")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_the_ledger_is_append_only(store):
    for statement in ("UPDATE ledger SET data = 'x'", "DELETE FROM ledger"):
        with pytest.raises(StoreError, match="append-only"), store.database.write() as connection:
            connection.execute(statement)
    assert store.verify() == []


def test_a_changed_row_is_named_and_private_runs_are_refused(store):
    run = submit(store, request())
    tamper(store, 'UPDATE ledger SET content = \'{"epsilon": 99, "delta": 1e-5}\' WHERE number = 2')
    assert store.verify() == ["Row 2 of the ledger was changed: its hash does not match its content."]
    with pytest.raises(ValueError, match="while the ledger is not intact: Row 2 of the ledger") as error:
        submit(store, request())
    assert "\n" not in str(error.value)
    assert store.run(run).status == "queued"
    assert store.load("flips").train.shape == (1, 12)


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        (["DELETE FROM ledger WHERE number = 3"], "The ledger was cut: it had 3 rows and now has 2."),
        (
            ["DELETE FROM ledger WHERE number = 3", "DELETE FROM meta WHERE key = 'ledger head'"],
            "The ledger was cut: it had 3 rows and now has 2.",
        ),
        (["DELETE FROM ledger WHERE number = 2"], "Row 2 of the ledger is missing."),
    ],
)
def test_missing_rows_are_noticed(store, statements, sentence):
    submit(store, request())
    tamper(store, *statements)
    assert sentence in store.verify()


def test_a_replaced_tail_is_noticed(store):
    submit(store, request())
    tamper(store, "DELETE FROM ledger WHERE number = 3", "DELETE FROM meta WHERE key = 'ledger head'")
    with store.database.write() as connection:
        chain.append(connection, "cap", "f", "flips", {"epsilon": 1e9, "delta": 0.5})
    assert store.verify() == ["Row 3 of the ledger was replaced: its hash differs from the recorded one."]


# Tables that contradict the chain


@pytest.mark.parametrize(
    ("edit", "wrong"),
    [
        ("private = 0", "disagree about “private” of"),
        ("records = 2", "disagree about “records” of"),
        ("unit = 'one person'", "disagree about “unit” of"),
        ("schema = 'x'", "disagree about “schema” of"),
        ("person_column = 'id'", "disagree about “person column” of"),
        ("fingerprint = 'x'", "is in the store's table, but not in the ledger"),
        ("name = 'other'", "is in the store's table, but not in the ledger"),
    ],
)
def test_an_edit_of_what_protects_people_is_found_and_blocks_runs(store, edit, wrong):
    tamper(store, f"UPDATE data SET {edit}")
    (sentence,) = store.verify()
    assert wrong in sentence
    name = "other" if edit.startswith("name") else "flips"
    plan = PrivacyPlan(records=200, expected_batch=200, steps=1, delta=1e-5, noise_multiplier=50.0)
    with pytest.raises(ValueError, match="no run may use registered data while the ledger is not intact"):
        store.queue("fit", {"model": "sbn", "data": name, "delta": 1e-5}, 1, plan)
    assert store.runs() == []


@pytest.mark.parametrize(
    "edit",
    ["fingerprint = NULL", "fingerprint = 'x'", """request = replace(request, '"paper"', '"refined"')"""],
)
def test_an_edit_of_a_run_on_private_records_is_found(store, edit):
    """A run that a table calls public would be reported as one that spends no budget."""
    run = submit(store, request(method="paper", epsilon=1.0))
    tamper(store, f"UPDATE runs SET {edit}")
    wrong = f"Run {run} has another request, or other records, in the store's table than in the ledger."
    assert store.verify() == [wrong]
    with pytest.raises(ValueError, match=wrong):
        report.html_for_run(store, run)


def test_another_key_of_the_digests_is_found(store):
    """Under another key the same people look new, and would get a new budget."""
    tamper(store, f"UPDATE meta SET value = '{'ab' * 32}' WHERE key = 'fingerprint key'")
    assert store.verify() == [
        "The key of the store's fingerprints was changed: people would not be found again."
    ]
    with pytest.raises(
        ValueError, match="no data set may be registered, .* not intact: The key of the store's"
    ):
        store.add_data("again", coin_flips(), cap=CAP, unit="one image")
    tamper(store, "UPDATE meta SET value = 'nonsense' WHERE key = 'fingerprint key'")
    with pytest.raises(StoreError, match="the key of the store's fingerprints is damaged: restore a backup"):
        store.verify()


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM ledger WHERE kind = 'reserve'",
        "UPDATE data SET private = 0",
        """UPDATE ledger SET content = '{"events": []}' WHERE kind = 'reserve'""",
    ],
)
def test_no_budget_is_stated_after_an_edit(store, edit):
    submit(store, request())
    tamper(store, edit)
    with pytest.raises(StoreError, match="no budget can be read while the ledger is not intact: "):
        store.budget("flips")


def test_the_last_word_on_a_data_set_counts(store):
    store.add_data("flips", coin_flips(), unit="one person", person_column="id", by="Ada", reason="found out")
    last = store.ledger("flips")[-1].content
    assert (last["unit"], last["person_column"], last["by"], last["reason"]) == (
        "one person", "id", "Ada", "found out",
    )  # fmt: skip
    rows = len(store.ledger())
    store.add_data("flips", coin_flips(), unit="one person", person_column="id", by="Bob")
    assert len(store.ledger()) == rows  # nothing new was said
    assert store.verify() == []


# Signed heads


def rebuilt(store, ledger):
    """Replace the ledger by a consistent one, with its head and the file of its head."""
    tamper(store, "DELETE FROM ledger", "DELETE FROM meta WHERE key = 'ledger head'")
    with store.database.write() as connection:
        for row in ledger:
            chain.append(connection, row.kind, row.fingerprint, row.data, row.content, row.run)
    (store.home / "ledger.head").unlink()
    store.keep_head()


@pytest.mark.parametrize("in_file", [False, True])
def test_a_rebuilt_ledger_is_found_with_a_key(store, monkeypatch, tmp_path, in_file):
    key = "ab" * 32
    (tmp_path / "key").write_text(key)
    monkeypatch.setenv("VIPS_LEDGER_KEY", str(tmp_path / "key") if in_file else key)
    assert "not signed with the key" in store.verify()[0]  # it was begun without a key
    store.sign()
    submit(store, request())
    assert store.verify() == []
    monkeypatch.delenv("VIPS_LEDGER_KEY")  # the attacker does not have it
    assert store.verify() == []
    rebuilt(store, store.ledger()[:-1])
    assert store.verify() == []
    monkeypatch.setenv("VIPS_LEDGER_KEY", str(tmp_path / "key") if in_file else key)
    (sentence,) = store.verify()
    assert "others may have rebuilt it" in sentence
    with pytest.raises(ValueError, match="while the ledger is not intact"):
        submit(store, request())


@pytest.mark.parametrize(
    ("key", "sentence"), [("abcd", "at least 16 bytes, got 2"), ("no/file", "must be hexadecimal")]
)
def test_a_bad_key_gets_one_sentence(store, monkeypatch, key, sentence):
    monkeypatch.setenv("VIPS_LEDGER_KEY", key)
    with pytest.raises(ValueError, match=sentence):
        store.verify()
    monkeypatch.delenv("VIPS_LEDGER_KEY")
    with pytest.raises(ValueError, match="signing needs a key"):
        store.sign()


def test_a_bad_key_is_reported_before_anything_is_committed(store, home, monkeypatch):
    before, files = store.ledger(), sorted((home / "data").iterdir())
    monkeypatch.setenv("VIPS_LEDGER_KEY", "abcd")
    for change in (
        lambda: submit(store, request()),
        lambda: store.set_cap("flips", CAP),
        lambda: store.add_data("new", coin_flips(seed=3), cap=CAP, unit="one image"),
    ):
        with pytest.raises(ValueError, match="the key of VIPS_LEDGER_KEY must have at least 16 bytes, got 2"):
            change()
    monkeypatch.delenv("VIPS_LEDGER_KEY")
    assert (store.ledger(), store.runs(), sorted((home / "data").iterdir())) == (before, [], files)
    assert store.verify() == []


def forged(store, run):
    """Append a row that gives a run's budget back, as anyone with write access to the database could."""
    with store.database.write() as connection:
        chain.append(connection, "settle", store.data_row("flips").fingerprint, "flips", {"events": []}, run)


def test_rows_appended_without_the_key_are_found_and_never_signed(store, monkeypatch):
    monkeypatch.setenv("VIPS_LEDGER_KEY", "ab" * 32)
    store.sign()
    run = submit(store, request())
    with monkeypatch.context() as without_key:
        without_key.delenv("VIPS_LEDGER_KEY")
        forged(store, run)
    assert "not signed with the key" in store.verify()[0]
    store.cancel(run)  # appends, with the key
    assert "not signed with the key" in store.verify()[0]


def test_rows_after_a_cut_do_not_hide_it(store):
    run = submit(store, request())
    submit(store, request())
    tamper(store, "DELETE FROM ledger WHERE number = 4")
    assert store.verify() == ["The ledger was cut: it had 4 rows and now has 3."]
    store.cancel(run)  # it must be settled all the same
    assert store.verify() == ["Row 4 of the ledger was replaced: its hash differs from the recorded one."]
    refused = "no data set may be registered, and no cap changed, while the ledger is not intact: Row 4"
    with pytest.raises(ValueError, match=refused):
        store.set_cap("flips", CAP)


def test_nobody_is_registered_while_digests_are_gone(store):
    rows = Sources(rows=[b"a row of flips"])
    store.add_data("flips", coin_flips(), unit="one image", sources=rows)
    tamper(store, "DELETE FROM people")
    with pytest.raises(ValueError, match="not intact: The digests of the people in flips were changed"):
        store.add_data("again", coin_flips(seed=3), cap=CAP, unit="one image", sources=rows)
    assert [row.name for row in store.data_sets() if row.fingerprint] == ["flips"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_kept_head_is_not_moved_on_over_a_row_that_was_replaced(store, count):
    """Also of the first row: recomputed hashes look intact, but contradict the head on file."""
    with store.database.write() as connection:
        last = connection.execute("SELECT * FROM ledger WHERE number = ?", [count]).fetchone()
        head = chain.Head(count, last["hash"])
        assert chain._leads(connection, head, chain._stored_head(connection))
        for other in (replace(head, hash="f" * 64), replace(head, count=10**6)):
            assert not chain._leads(connection, other, chain._stored_head(connection))
