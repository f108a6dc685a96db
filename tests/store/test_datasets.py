"""Data sets: known by their records, private or public for ever, with a ledger that outlives them."""

import gc
import os
import threading

import pytest

from tests.store import CAP, damage, request
from tests.toy import coin_flips
from vips_core.jobs.submission import submit
from vips_core.records.samples import SAMPLES
from vips_core.store import pools, records_file
from vips_core.store.people import Sources
from vips_core.store.store import Store


@pytest.mark.parametrize("how", ["truncated", "nonsense", "empty", "missing"])
def test_a_damaged_data_file_gets_one_sentence_and_nothing_else_is_lost(store, home, how):
    store.add_data("others", coin_flips(seed=2), cap=CAP, unit="one image")
    (file,) = [home / "data" / row["file"] for row in store.database.read("SELECT * FROM data LIMIT 1")]
    damage(file, how)
    with pytest.raises(ValueError, match=r"the file of this data set, .*, cannot be read") as error:
        submit(store, request())
    assert "\n" not in str(error.value)
    assert len(store.load("others").train) == 200
    assert store.budget("flips").spent_share == 0
    assert store.runs() == []


def test_a_data_file_with_other_records_is_refused(store, home):
    (file,) = (home / "data").glob("*.npz")
    records_file.write(file, coin_flips(seed=5), None)
    with pytest.raises(ValueError, match="does not hold the records that were registered"):
        store.load("flips")


def test_public_data_without_source_rows_are_reported_until_registered_again(store):
    assert store.notes() == []
    store.add_data("open", coin_flips(seed=4), private=False, unit="one image")
    (note,) = store.notes()
    assert note.startswith("The public data set open was registered without its source rows")
    store.add_data("open", coin_flips(seed=4), private=False, unit="one image", sources=Sources([b"a", b"b"]))
    assert store.notes() == []


def test_built_in_data_are_there(store):
    rows = {row.name: row for row in store.data_sets()}
    assert {row for row in rows if not rows[row].private} == set(SAMPLES)
    assert rows["flips"].cap == CAP
    for name in ("nhanes-stroke", "mnist"):
        data = store.load(name)
        assert (rows[name].records, rows[name].kind) == (len(data.train), data.train.kind)


def test_registering_a_name_again_takes_the_same_records_only(store):
    row = store.add_data("flips", coin_flips(), None, cap=CAP, unit="one person")
    assert (row.unit, row.has_test) == ("one person", False)
    assert [entry.kind for entry in store.ledger()] == ["data", "cap", "data"]  # the unit differs
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
    run = submit(store, request())
    with pytest.raises(ValueError, match=f"run {run} uses flips: cancel it first"):
        store.remove_data("flips")
    store.cancel(run)
    rows = store.ledger("flips")
    store.remove_data("flips")
    assert store.ledger() == rows
    store.add_data("again", coin_flips(), unit="one image")
    assert store.ledger("again")[: len(rows)] == rows
    assert store.data_row("again").cap == CAP


def test_the_home_is_the_users_alone(store, home):
    for path in (home / "data", home / "runs"):
        assert path.stat().st_mode & 0o077 == 0
    for path in (home / "data").iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_records_cannot_be_of_rows_and_of_persons_at_once(store):
    """Their budget would count releases per row, or per person of another column, as if per person."""
    submit(store, request())
    with pytest.raises(ValueError, match="protected record by record in flips"):
        store.add_data("people", coin_flips(), unit="", person_column="id")
    person = {"unit": "", "person_column": "id"}
    store.add_data("unused", coin_flips(seed=9), cap=CAP, **person, sources=Sources([b"row"]))
    for other in ({}, {"person_column": "doctor"}):
        with pytest.raises(ValueError, match="are protected by id in unused"):
            store.add_data("others", coin_flips(seed=9), unit="", **other)
    with pytest.raises(ValueError, match="protected by id in unused"):
        store.add_data("some", coin_flips(seed=8), unit="", sources=Sources([b"row"]))
    assert (
        store.add_data("unused", coin_flips(seed=9), unit="").person_column is None
    )  # a mistake is corrected
    assert store.add_data("unused", coin_flips(seed=9), **person).person_column == "id"
    store.remove_data("unused")
    assert store.add_data("others", coin_flips(seed=9), unit="").person_column is None
    submit(store, request(data="others"))
    store.add_data("others", coin_flips(seed=9), coin_flips(seed=1), unit="")
    with pytest.raises(ValueError, match="so they cannot be protected by id"):
        store.add_data("unused", coin_flips(seed=9), **person)


def test_files_that_a_kill_left_are_removed_when_the_store_is_opened(store, home):
    """A kill between the file of the records and the commit leaves private records that no data set uses."""
    data = home / "data"
    (used,) = [row["file"] for row in store.database.read("SELECT file FROM data")]
    for name in ("0123456789abcdef.npz", "notes.txt"):
        (data / name).write_bytes(b"records")
    again = Store(home)
    assert {path.name for path in data.iterdir()} == {used, "notes.txt"}
    assert len(again.load("flips").train) == 200


def test_files_stay_where_an_older_copy_of_the_database_does_not_know_them(store, home):
    store.database.close()
    copy = (home / "store.db").read_bytes()
    store.add_data("late", coin_flips(seed=3), cap=CAP, unit="one image")
    store.database.close()
    (home / "store.db").write_bytes(copy)
    again = Store(home)
    assert again.verify()
    assert len(list((home / "data").iterdir())) == 2


def test_a_registration_that_commits_is_not_taken_for_left_over(store, home, monkeypatch):
    check, left_over, looked = pools.admit, Store._left_over, threading.Event()
    opening = threading.Thread(target=Store, args=(home,))

    def look(opened):
        found = left_over(opened)
        looked.set()
        return found

    def check_while_another_opens(*arguments):
        monkeypatch.setattr(Store, "_left_over", look)
        opening.start()
        assert looked.wait(30)  # it has seen a file unknown to the table, and waits for this transaction
        return check(*arguments)

    monkeypatch.setattr(pools, "admit", check_while_another_opens)
    store.add_data("late", coin_flips(seed=3), unit="one image", private=False)
    opening.join()
    assert len(store.load("late").train) == 200


def test_a_registration_writes_for_its_owner_alone_and_leaves_nothing_else(store, home):
    before = os.umask(0)
    try:
        store.add_data("open", coin_flips(seed=3), cap=CAP, unit="one image")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (home / "data").iterdir()} == {0o600}
    assert (home / "tmp").stat().st_mode & 0o777 == 0o700
    assert list((home / "tmp").iterdir()) == []


def test_records_in_use_are_read_once_until_they_are_registered_anew(store, monkeypatch):
    held, read, files = store.load("flips"), records_file.read, []
    monkeypatch.setattr(records_file, "read", lambda file, kind: files.append(file) or read(file, kind))
    assert store.load("flips") is held
    assert files == []
    store.add_data("flips", coin_flips(), coin_flips(seed=8), unit="one image")
    renewed = store.load("flips")
    assert renewed is not held
    assert renewed.test.bits.tolist() == coin_flips(seed=8).bits.tolist()
    del held, renewed
    gc.collect()
    store.load("flips")
    assert len(files) == 2
