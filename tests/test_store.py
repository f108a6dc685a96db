"""The store: data known by their records, a ledger that shows every edit, damage said in one sentence."""

import json
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from tests.toy import coin_flips
from vips_core import BinaryRows, Corpus, LabelledRows, Ledger, LedgerBlock, LedgerEntry
from vips_core.runs import chain, datasets, sources
from vips_core.runs.budget import Cap
from vips_core.runs.database import MIGRATIONS, Database, StoreError
from vips_core.runs.options import SPENDING
from vips_core.runs.request import Request
from vips_core.runs.store import Store
from vips_core.runs.tasks import TASKS

CAP = Cap(3.0, 1e-5)
KEY = "ab" * 32


def request(**values):
    table = {"model": "sbn", "data": "flips", "hidden": 2, "delta": 1e-5, "epochs": 12}
    spend = {} if {"noise", "method"} & set(values) else {"epsilon": 1.0}
    return Request.from_mapping(table | spend | values)


@pytest.fixture
def store(home):
    found = Store()
    assert found.home == home
    found.add_data("flips", coin_flips(), coin_flips(seed=1), cap=CAP, unit="one image")
    return found


def one_sentence(error):
    text = str(error.value)
    assert "\n" not in text
    assert text.count(". ") == 0
    return text


# Round trips

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@st.composite
def records(draw):
    rows = draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["corpus", "images", "dense", "sparse"]))
    if kind == "corpus":
        counts = draw(arrays(np.int64, (rows, 5), elements=st.integers(0, 3)))
        words = draw(st.lists(names, min_size=5, max_size=5, unique=True))
        return Corpus.from_counts(counts, words)
    if kind == "images":
        return BinaryRows.from_images(draw(arrays(np.uint8, (rows, 3, 5))), 127)
    x = draw(arrays(np.float64, (rows, 3), elements=st.floats(-9, 9, width=32)))
    y = draw(arrays(np.uint8, rows, elements=st.integers(0, 1)))
    return LabelledRows(sparse.csr_array(x) if kind == "sparse" else x, y, ("a", "b", "ü c"), 3.0)


def content(data):
    return {
        name: value.toarray() if sparse.issparse(value) else np.asarray(value)
        for name, value in vars(data).items()
    }


@given(records(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_data_sets_round_trip(data, with_test):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        datasets.write(file, data, data if with_test else None)
        train, test = datasets.read(file, datasets.kind_of(data))
        assert [path.name for path in Path(folder).iterdir()] == ["data.npz"]
    assert (test is not None) == with_test
    assert type(train) is type(data)
    before, after = content(data), content(train)
    for name, value in before.items():
        if value.dtype.kind == "f":  # a row at the norm bound may be scaled again, by a rounding error
            np.testing.assert_allclose(after[name], value, rtol=1e-12)
        else:
            np.testing.assert_array_equal(after[name], value)
    assert datasets.fingerprint(train, KEY) == datasets.fingerprint(data, KEY)


@given(records(), st.randoms())
@settings(max_examples=60, deadline=None)
def test_fingerprint_is_of_the_records_alone(data, random):
    rows = [np.arange(len(data)) == index for index in range(len(data))]
    some = data[np.arange(len(data)) > 0]
    assert datasets.fingerprint(data, KEY) != datasets.fingerprint(some, KEY)
    assert datasets.fingerprint(data, KEY) != datasets.fingerprint(data, KEY.replace("a", "c"))
    digests = [datasets.fingerprint(data[row], KEY) for row in rows]
    order = list(range(len(data)))
    random.shuffle(order)
    shuffled = _reordered(data, order)
    assert datasets.fingerprint(shuffled, KEY) == datasets.fingerprint(data, KEY)
    assert sorted(datasets.fingerprint(shuffled[row], KEY) for row in rows) == sorted(digests)


def _reordered(data, order):
    if isinstance(data, Corpus):
        dense = sparse.csr_array((data.counts, data.indices, data.indptr), (len(data), len(data.vocabulary)))
        return Corpus.from_counts(dense.toarray()[order], data.vocabulary)
    if isinstance(data, BinaryRows):
        return BinaryRows(data.bits[order], data.shape)
    return LabelledRows(data.x[order], data.y[order], data.feature_names, data.norm_bound)


def test_sparse_and_dense_rows_have_one_fingerprint():
    x, y = np.array([[0.0, 0.5], [1.0, 0.0]]), np.array([0, 1])
    dense, thin = (LabelledRows(kind(x), y, ("a", "b"), 2.0) for kind in (np.array, sparse.csr_array))
    assert datasets.fingerprint(dense, KEY) == datasets.fingerprint(thin, KEY)


@st.composite
def tables(draw):
    model = draw(st.sampled_from(sorted(TASKS)))
    task = TASKS[model]
    method = draw(st.sampled_from([name for name in task.methods if name != "non-private"]))
    table = {"model": model, "method": method, "data": draw(names), "delta": draw(st.floats(1e-12, 0.5))}
    by_noise = method not in ("strong", "perm") and draw(st.booleans())
    table["noise" if by_noise else "epsilon"] = draw(st.floats(1e-3, 100))
    for name, option in {**SPENDING, **task.options}.items():
        if option.kind is int and draw(st.booleans()):
            table[name] = draw(st.integers(max(1, int(max(option.low, 1))), int(min(option.high, 10**9))))
    return table


@given(tables())
@settings(max_examples=150, deadline=None)
def test_requests_round_trip_as_config_files(table):
    made = Request.from_mapping(table)
    assert {name: made.to_mapping()[name] for name in table} == table
    assert Request.from_toml(made.to_toml()) == made
    assert Request.from_mapping(json.loads(json.dumps(made.to_mapping()))) == made


blocks = st.builds(
    LedgerBlock, st.floats(1e-9, 1e9), st.just(0.0) | st.floats(1e-9, 1e9), st.integers(1, 10**9)
)
entries = st.builds(
    LedgerEntry,
    st.floats(1e-9, 1),
    st.dictionaries(names, blocks, min_size=1, max_size=3),
    st.sampled_from(["poisson", "fixed"]),
    st.integers(1, 10**6),
)


@given(st.builds(Ledger, st.integers(1, 10**9), st.booleans(), st.lists(entries, max_size=4)))
@settings(max_examples=100, deadline=None)
def test_ledgers_round_trip(ledger):
    assert Ledger.from_json(ledger.to_json()) == ledger


# The hash chain

values = st.dictionaries(
    names, st.one_of(st.floats(allow_nan=False, allow_infinity=False), names), max_size=3
)


@given(st.lists(values, min_size=1, max_size=5), st.data())
@settings(max_examples=40, deadline=None)
def test_every_edit_of_the_ledger_is_found(contents, data):
    with tempfile.TemporaryDirectory() as folder:
        database, head = Database(Path(folder) / "store.db"), Path(folder) / "ledger.head"
        with database.write() as connection:
            for number, content in enumerate(contents):
                chain.append(connection, "cap", "f", "name", content, str(number))
        chain.keep_head(database, head)
        with database.write() as connection:
            assert chain.verify(connection, head) == []
            found = chain.rows(connection.execute("SELECT * FROM ledger").fetchall())
            assert [row.content for row in found] == contents
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
    run = store.submit(request())
    tamper(store, 'UPDATE ledger SET content = \'{"epsilon": 99, "delta": 1e-5}\' WHERE number = 2')
    assert store.verify() == ["Row 2 of the ledger was changed: its hash does not match it."]
    with pytest.raises(ValueError, match="while the ledger is not whole: Row 2 of the ledger") as error:
        store.submit(request())
    one_sentence(error)
    assert store.run(run).status == "queued"
    assert store.load("flips").train.shape == (1, 12)


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        (["DELETE FROM ledger WHERE number = 3"], "The ledger was cut: it had 3 rows, and has 2."),
        (
            ["DELETE FROM ledger WHERE number = 3", "DELETE FROM meta WHERE key = 'ledger head'"],
            "The ledger was cut: it had 3 rows, and has 2.",
        ),
        (["DELETE FROM ledger WHERE number = 2"], "Row 2 of the ledger is missing."),
    ],
)
def test_missing_rows_are_found(store, statements, sentence):
    store.submit(request())
    tamper(store, *statements)
    assert sentence in store.verify()


def test_a_replaced_tail_is_found(store):
    store.submit(request())
    tamper(store, "DELETE FROM ledger WHERE number = 3", "DELETE FROM meta WHERE key = 'ledger head'")
    with store.database.write() as connection:
        chain.append(connection, "cap", "f", "flips", {"epsilon": 1e9, "delta": 0.5})
    assert store.verify() == ["Row 3 of the ledger was replaced: it does not have the hash kept of it."]


# Damage


def damage(path, how):
    content = path.read_bytes()
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2 + 100])
    elif how == "nonsense":
        path.write_bytes(b"nonsense" * 500)
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()


def use_all(home):
    store = Store(home)
    store.runs()
    store.ledger()
    store.verify()


@pytest.mark.parametrize("how", ["truncated", "nonsense", "empty", "missing"])
def test_a_damaged_database_gets_one_sentence_and_is_left_alone(store, home, how):
    store.submit(request())
    path = store.database.path
    with store.database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('size', ?)", ["x" * 100_000])
    store.database.close()
    for name in ("store.db-wal", "store.db-shm"):
        (home / name).unlink(missing_ok=True)
    damage(path, how)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(StoreError, match="put back a copy") as error:
        use_all(home)
    assert "\n" not in str(error.value)
    if how != "missing":
        assert path.read_bytes() == before
    assert len(list((home / "data").glob("*.npz"))) == 1


def test_a_database_of_others_is_refused_and_left_alone(home):
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


def test_a_newer_database_is_refused(store):
    with store.database.write() as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreError, match="made by a newer version"):
        Store()


def test_an_older_database_is_brought_up_to_date(store, home, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr("vips_core.runs.database.MIGRATIONS", MIGRATIONS[:1])
        old = Database(tmp_path / "store.db")
        assert old.read("PRAGMA user_version")[0][0] == 1
        with old.write() as connection:
            chain.append(connection, "cap", "f", "name", {"epsilon": 1.0})
        old.close()
    new = Database(tmp_path / "store.db")
    assert new.read("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    assert new.read("SELECT count(*) FROM ledger")[0][0] == 1
    schema = "SELECT name, sql FROM sqlite_master ORDER BY name"
    assert [tuple(row) for row in new.read(schema)] == [tuple(row) for row in store.database.read(schema)]


@pytest.mark.parametrize("how", ["truncated", "nonsense", "empty", "missing"])
def test_a_damaged_data_file_gets_one_sentence_and_nothing_else_is_lost(store, home, how):
    store.add_data("others", coin_flips(seed=2), cap=CAP, unit="one image")
    (file,) = [home / "data" / row["file"] for row in store.database.read("SELECT * FROM data LIMIT 1")]
    damage(file, how)
    with pytest.raises(ValueError, match=r"the file of this data set, .*, cannot be read") as error:
        store.submit(request())
    assert "\n" not in str(error.value)
    assert len(store.load("others").train) == 200
    assert store.budget("flips").spent_epsilon == 0
    assert store.runs() == []


def test_a_data_file_with_other_records_is_refused(store, home):
    (file,) = (home / "data").glob("*.npz")
    datasets.write(file, coin_flips(seed=5), None)
    with pytest.raises(ValueError, match="holds other records than were registered"):
        store.load("flips")


# Names and what they stand for


def test_built_in_data_are_there(store):
    rows = {row.name: row for row in store.data_sets()}
    assert {row for row in rows if not rows[row].private} == set(sources.BUILT_IN)
    assert rows["flips"].cap == CAP
    for name in ("nhanes-stroke", "mnist"):
        data = store.load(name)
        assert (rows[name].records, rows[name].kind) == (len(data.train), datasets.kind_of(data.train))


def test_data_may_be_named_again_but_not_anew(store):
    row = store.add_data("flips", coin_flips(), None, cap=CAP, unit="one person")
    assert (row.unit, row.has_test) == ("one person", False)
    assert [entry.kind for entry in store.ledger()] == ["data", "cap"]
    with pytest.raises(ValueError, match="another data set is called flips"):
        store.add_data("flips", coin_flips(seed=3), cap=CAP, unit="one image")
    for name in ("mnist", "../x", ""):
        with pytest.raises(ValueError, match="name"):
            store.add_data(name, coin_flips(seed=3), cap=CAP, unit="one image")
    with pytest.raises(ValueError, match="there is no data set 'nothing'"):
        store.load("nothing")


def test_private_records_stay_private_and_public_ones_public(store):
    with pytest.raises(ValueError, match="registered as private under the name flips"):
        store.add_data("open", coin_flips(), private=False, unit="one image")
    store.add_data("open", coin_flips(seed=4), private=False, unit="one image")
    with pytest.raises(ValueError, match="registered as public under the name open"):
        store.add_data("closed", coin_flips(seed=4), cap=CAP, unit="one image")
    store.remove_data("open")
    with pytest.raises(ValueError, match="registered as public"):
        store.add_data("closed", coin_flips(seed=4), cap=CAP, unit="one image")


def test_removed_data_keep_their_ledger(store):
    run = store.submit(request())
    with pytest.raises(ValueError, match=f"run {run} uses flips: cancel it first"):
        store.remove_data("flips")
    store.cancel(run)
    rows = store.ledger("flips")
    store.remove_data("flips")
    assert store.ledger() == rows
    store.add_data("again", coin_flips(), unit="one image")
    assert store.ledger("again")[: len(rows)] == rows
    assert store.data_row("again").cap == CAP


# Runs


def test_runs_are_found_pinned_and_deleted(store):
    first, second = store.submit(request()), store.submit(request(data="mnist", noise=0.0))
    assert [row.id for row in store.runs()] == [second, first]
    assert [row.id for row in store.runs(data="flips", model="sbn", status="queued", kind="fit")] == [first]
    assert store.runs(model="lda") == []
    assert store.run(second).epsilon is None
    assert store.run(first).epsilon == 0
    assert store.run(first).versions["numpy"] == np.__version__
    store.pin(first, True)
    assert store.run(first).pinned
    with pytest.raises(ValueError, match="cannot be deleted while it is queued: cancel it first"):
        store.delete(first)
    store.cancel(first)
    with pytest.raises(ValueError, match="cannot be cancelled: it is cancelled already"):
        store.cancel(first)
    store.folder(first).mkdir()
    rows = store.ledger()
    store.delete(first)
    assert not store.folder(first).exists()
    assert store.ledger() == rows
    for action in (store.run, store.cancel, store.delete):
        with pytest.raises(ValueError, match="there is no run"):
            action(first)


def test_the_home_is_the_users_alone(store, home):
    for path in (home / "data", home / "runs"):
        assert path.stat().st_mode & 0o077 == 0
    for path in (home / "data").iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_held_out_rows_of_one_label_are_refused_before_anything_is_spent(store):
    rng = np.random.default_rng(0)
    rows = LabelledRows(rng.random((50, 2)), np.arange(50) % 2, ("a", "b"), 2.0)
    store.add_data("people", rows, rows[rows.y == 0], cap=CAP, unit="one person")
    with pytest.raises(ValueError, match="both labels") as error:
        store.submit(
            Request.from_mapping({"model": "logistic", "data": "people", "epsilon": 1.0, "delta": 1e-5})
        )
    one_sentence(error)
    assert store.budget("people").left_epsilon == CAP.epsilon
