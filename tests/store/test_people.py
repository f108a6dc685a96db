"""Budgets follow people: data sets that share rows or persons share a cap, whatever their files look like."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store import SIGNED, request
from tests.toy import coin_flips
from vips_core.jobs.submission import submit
from vips_core.store import people
from vips_core.store.budget import Cap
from vips_core.store.people import Sources
from vips_core.store.store import Store

KEY, CAP = "ab" * 32, Cap(2.0, 1e-5)
items = st.sets(st.binary(min_size=1, max_size=4), max_size=30)


def rows(*numbers):
    return [f"row {number}".encode() for number in numbers]


@pytest.fixture
def store(home):
    made = Store()
    made.add_data("flips", coin_flips(), cap=CAP, unit="one image", sources=Sources(rows(1, 2, 3), [b"ann"]))
    return made


def add(store, name, seed, *numbers, cap=None, persons=(), **more):
    unit, sources = "one image", Sources(rows(*numbers), persons)
    return store.add_data(name, coin_flips(seed=seed), cap=cap, unit=unit, sources=sources, **more)


@given(items, items)
def test_common_digests_are_counted(first, second):
    one, other = (people.digests(some, KEY, b"row") for some in (first, second))
    assert people.common(one, other) == len(first & second)
    assert np.all(np.diff(one.astype(object)) > 0)


def test_digests_need_the_key_and_tell_rows_from_persons():
    ours = people.digests([b"ann"], KEY, b"row")
    assert people.common(ours, people.digests([b"ann"], "cd" * 32, b"row")) == 0
    assert people.common(ours, people.digests([b"ann"], KEY, b"person")) == 0


@pytest.mark.parametrize(("numbers", "persons"), [((3, 4, 5), ()), ((7,), [b"ann"])])
def test_a_shared_row_or_person_joins_the_pool(store, numbers, persons):
    row = add(store, "others", 2, *numbers, persons=persons)
    assert row.cap == CAP
    run = submit(store, request(data="others", epsilon=1.5))
    assert store.budget("flips") == store.budget("others")
    assert store.budget("flips").history[0][1] == run
    with pytest.raises(ValueError, match="does not fit in the budget of flips"):
        submit(store, request(epsilon=1.5))
    sentence = "1 rows or persons of others occur in flips too: they share one cap and one spend."
    assert store.overlap_sentences("flips") == store.overlap_sentences("others") == [sentence]
    store.set_cap("others", Cap(5.0, 1e-5), **SIGNED)
    assert store.data_row("flips").cap == Cap(5.0, 1e-5)
    assert store.verify() == []


def test_the_same_records_under_another_name_are_said_to_share_a_budget(store):
    store.add_data("again", coin_flips(), unit="one image")
    for name, other in (("flips", "again"), ("again", "flips")):
        sentence = f"{name} holds the same records as {other}: they share one cap and one spend."
        assert store.overlap_sentences(name) == [sentence]


def test_other_people_have_a_budget_of_their_own(store):
    add(store, "others", 2, 4, 5, cap=Cap(1.0, 1e-6))
    assert (store.data_row("flips").cap, store.data_row("others").cap) == (CAP, Cap(1.0, 1e-6))
    assert store.overlap_sentences("others") == []


def test_another_cap_cannot_be_had_for_the_same_people(store):
    with pytest.raises(ValueError, match="they share a cap of ε = 2"):
        add(store, "others", 2, 3, 4, cap=Cap(50.0, 1e-5))


def test_a_data_set_that_joins_two_pools_makes_them_one_with_the_strictest_cap(store):
    add(store, "second", 2, 8, 9, cap=Cap(3.0, 1e-6))
    submit(store, request(epsilon=1.0))
    row = add(store, "both", 3, 1, 8)
    assert row.cap == store.data_row("second").cap == store.data_row("flips").cap == Cap(2.0, 1e-6)
    assert store.budget("second").reserved_share > 0.1


def test_removed_records_are_remembered(store):
    submit(store, request(epsilon=1.0))
    store.cancel(store.runs()[0].id)
    store.remove_data("flips")
    assert add(store, "others", 2, 3, 4).cap == CAP


def test_what_is_private_elsewhere_cannot_be_public_or_held_out(store):
    with pytest.raises(ValueError, match="2 rows or persons of these records are private in flips"):
        add(store, "open", 2, 2, 3, 4, private=False)
    sources = Sources(rows(5, 6), test_rows=rows(3))
    with pytest.raises(ValueError, match="1 rows or persons of these held-out records are private in flips"):
        store.add_data(
            "open", coin_flips(seed=2), coin_flips(seed=3), private=False, unit="x", sources=sources
        )
    sources = Sources(rows(5, 6), test_rows=rows(6))
    with pytest.raises(ValueError, match="held-out records are private in the private file itself"):
        store.add_data("new", coin_flips(seed=2), coin_flips(seed=3), cap=CAP, unit="x", sources=sources)
    assert [row.name for row in store.data_sets() if row.created] == ["flips"]


@pytest.mark.parametrize("held_out", [False, True])
def test_what_was_public_or_held_out_cannot_be_private_later_unless_someone_says_why(store, held_out):
    """What was computed from such records was not counted, so some of them would have no budget."""
    if held_out:
        sources = Sources(rows(5, 6), test_rows=rows(7, 8))
        store.add_data("open", coin_flips(seed=2), coin_flips(seed=3), cap=CAP, unit="x", sources=sources)
    else:
        add(store, "open", 2, 7, 8, private=False)
    store.remove_data("open")  # what it was is remembered
    with pytest.raises(ValueError, match="1 rows or persons of these records are public or held out in open"):
        add(store, "clinic", 4, 8, 9, cap=CAP)
    assert [row.name for row in store.data_sets() if row.created] == ["flips"]
    add(store, "clinic", 4, 8, 9, cap=CAP, separate="numbers of wards, not of people", by="Ada")
    assert "kept apart from open by Ada" in store.separations("clinic")[0]
    assert store.verify() == []


def test_rows_that_collide_honestly_are_kept_apart_with_a_reason(store):
    add(store, "others", 2, 3, 4, cap=Cap(1.0, 1e-6), separate="three yes-or-no questions", by="Ada")
    assert store.data_row("others").cap == Cap(1.0, 1e-6)
    (sentence,) = store.separations("others")
    assert sentence == (
        "others was kept apart from flips by Ada, although they share rows: three yes-or-no questions"
    )
    assert store.separations("flips") == []
    assert store.verify() == []


def test_forgotten_digests_are_noticed(store):
    add(store, "open", 2, 7, 8, private=False)
    with store.database.write() as connection:
        connection.execute("DELETE FROM people")
        connection.execute("DELETE FROM public_people")
    assert store.verify() == [
        f"The digests of the people in {name} were changed." for name in ("flips", "open")
    ]
    with pytest.raises(ValueError, match="while the ledger is not whole"):
        submit(store, request())


def test_concurrent_reservations_on_linked_data_sets_never_overspend(store, home):
    add(store, "others", 2, 3, 4)
    store.database.close()
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.reserve", str(home), "4", "25", "flips", "others"],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "VIPS_THREADS": "1"},
        check=True,
    )
    answers = done.stdout.split()
    assert len(answers) == 100, done.stderr
    assert set(answers) == {"reserved", "refused"}
    state = store.budget("others")
    assert state.planned_epsilon <= 2.0
    assert 0 <= state.left_share < 0.1
    assert {row.data for row in store.runs()} == {"flips", "others"}
