"""One file for many processes: damage, other programs and other versions get one sentence."""

import sqlite3

import pytest

from tests.store import damage, request
from vips_core.jobs.submission import submit
from vips_core.store.database import VERSION, StoreError
from vips_core.store.store import Store


def use_all(home):
    store = Store(home)
    store.runs()
    store.ledger()
    store.verify()


@pytest.mark.parametrize("how", ["truncated", "nonsense", "empty", "missing"])
def test_a_damaged_database_gets_one_sentence_and_is_left_alone(store, home, how):
    submit(store, request())
    path = store.database.path
    with store.database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('size', ?)", ["x" * 100_000])
    store.database.close()
    for name in ("store.db-wal", "store.db-shm"):
        (home / name).unlink(missing_ok=True)
    damage(path, how)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(StoreError, match="restore a backup") as error:
        use_all(home)
    assert "\n" not in str(error.value)
    if how != "missing":
        assert path.read_bytes() == before
    assert len(list((home / "data").glob("*.npz"))) == 1


def test_a_database_of_another_program_is_refused_and_left_alone(home):
    path = home / "store.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="a database of another program: choose another VIPS_HOME"):
        Store()
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("theirs",)]


def test_no_index_stands_between_the_ledger_and_budgets(store):
    """A damaged index hides rows from a query, but not from the check of the chain, which reads the table."""
    indices = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'ledger'"
    assert store.database.read(indices) == []


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_a_database_of_another_version_is_refused_and_left_alone(store, version):
    with store.database.write() as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    store.database.close()
    before = store.database.path.read_bytes()
    sentence = rf"made by another version of this program \(schema {version}, this one reads {VERSION}\)"
    with pytest.raises(StoreError, match=sentence):
        Store()
    assert store.database.path.read_bytes() == before
