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
from vips_core.jobs import worker
from vips_core.jobs.submission import submit
from vips_core.store import people, pools
from vips_core.store.budget import Cap
from vips_core.store.people import Sources
from vips_core.store.pools import KnownPeople
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
    row = add(store, "others", 2, *numbers, persons=persons, share_budget=True)
    assert row.cap == CAP
    run = submit(store, request(data="others", epsilon=1.5))
    assert store.budget("flips") == store.budget("others")
    assert store.budget("flips").history[0][1] == run
    with pytest.raises(ValueError, match="does not fit in the budget of flips"):
        submit(store, request(epsilon=1.5))
    sentence = "1 rows or persons of others also occur in flips: both data sets share one budget."
    assert store.overlap_sentences("flips") == store.overlap_sentences("others") == [sentence]
    store.set_cap("others", Cap(5.0, 1e-5), **SIGNED)
    assert store.data_row("flips").cap == Cap(5.0, 1e-5)
    assert store.verify() == []


def test_nothing_is_registered_until_the_steward_decides_about_sharing(store, home):
    """Issue 32: two studies that number people from 1 were merged, and the steward was told afterwards."""
    before, files = store.ledger(), set((home / "data").iterdir())
    for cap in (None, CAP, Cap(1.0, 1e-6)):
        with pytest.raises(
            KnownPeople, match=r"also occur in flips \(2\), so these data sets would share"
        ) as asked:
            add(store, "others", 2, 3, 4, cap=cap, persons=[b"ann"])
        assert asked.value.may_share
    assert (store.ledger(), set((home / "data").iterdir())) == (before, files)
    with pytest.raises(ValueError, match="either share a budget or are kept apart"):
        add(store, "others", 2, 3, 4, share_budget=True, separate="others")
    add(store, "others", 2, 3, 4, persons=[b"ann"], share_budget=True)
    add(store, "others", 2, 3, 4, persons=[b"ann"])  # the same again: nothing new is shared
    assert [row.kind for row in store.ledger() if row.kind == "link"] == ["link"]


def test_a_question_names_a_few_data_sets(store):
    for number in range(5):
        first = 10 * number + 10
        add(store, f"set {number}", 10 + number, *range(first, first + number + 4), cap=CAP)
    with pytest.raises(KnownPeople) as asked:
        add(store, "all", 3, *range(500))
    assert len(str(asked.value)) < 300
    assert "also occur in set 4 (8), set 3 (7), set 2 (6) and 3 more, so" in asked.value.found


PATIENT = {"person_column": "patient"}


@pytest.mark.parametrize("agreed", [False, True])
def test_data_sets_that_share_people_protect_the_same_unit(home, agreed):
    """Issue 32: by visit, a patient of 20 visits moved a release by 18 bounds, under a cap by patient."""
    store = Store()
    add(store, "patients", 2, 1, 2, persons=[b"7"], cap=CAP, **PATIENT)
    add(store, "half", 3, 2, 3, persons=[b"8"], share_budget=True, **PATIENT)
    before = store.ledger()
    for other, rows_of, unit in (
        ({"person_column": "visit"}, (3, 4), "by visit"),  # rows of half, which shares a budget with patients
        ({"person_column": "visit"}, (1, 2), "by visit"),
        ({}, (3, 4), "record by record"),
    ):
        with pytest.raises(KnownPeople) as refused:
            add(store, "visits", 4, *rows_of, persons=[b"1"], share_budget=agreed, **other)
        assert "are protected by patient in" in str(refused.value)
        assert f"so they cannot be protected {unit} here: one budget cannot count" in str(refused.value)
        assert not refused.value.may_share
    assert store.ledger() == before
    with pytest.raises(KnownPeople, match="in half, so they cannot be protected"):
        add(store, "patients", 2, 1, 2, persons=[b"7"], person_column="visit")  # not even an unused one
    submit(store, request(data="half"))
    store.cancel(store.runs()[0].id)
    store.remove_data("patients")
    store.remove_data("half")  # nothing was released from either
    assert add(store, "visits", 4, 1, 2, 3, share_budget=True, person_column="visit").cap == CAP
    with pytest.raises(KnownPeople, match="protected by visit in visits"):
        add(store, "patients", 2, 1, 2, share_budget=True, **PATIENT)


def test_a_unit_that_was_used_binds_those_who_share_its_people_for_ever(home):
    store = Store()
    add(store, "patients", 2, 1, 2, cap=CAP, **PATIENT)
    run = submit(store, request(data="patients"))
    worker.work(store, run)
    store.remove_data("patients")
    with pytest.raises(KnownPeople, match="protected by patient in patients"):
        add(store, "visits", 4, 1, share_budget=True, person_column="visit")


def test_identifiers_of_two_studies_are_kept_apart_by_their_names(home):
    store, ids = Store(), [b"1", b"2"]

    def study(name, seed, number, namespace, **more):
        sources = Sources(rows(number), ids, person_namespace=namespace)
        data = coin_flips(seed=seed)
        return store.add_data(name, data, cap=CAP, unit="x", sources=sources, **PATIENT | more)

    study("north", 2, 1, None)
    with pytest.raises(KnownPeople, match=r"north \(2\)"):
        study("south", 3, 2, None)
    row = study("south", 3, 2, " Su\u0308d  trial ")
    assert row.person_namespace == "S\u00fcd trial"
    assert store.ledger("south")[0].content["person_namespace"] == row.person_namespace
    study("west", 4, 3, "west")
    with pytest.raises(KnownPeople, match=r"west \(2\), so"):
        study("west again", 5, 4, "west")  # the same study
    with pytest.raises(KnownPeople, match=r"north \(1\), so"):
        study("copy", 6, 1, "copy")  # rows are compared, whoever numbers the persons
    assert store.overlap_sentences("south") == store.overlap_sentences("west") == []
    with pytest.raises(ValueError, match="a person_namespace needs a column that names the person"):
        study("east", 7, 8, "east", person_column=None)
    for wrong in ("", " ", "x" * 65, 7):
        with pytest.raises(ValueError, match="person_namespace must"):
            Sources(person_namespace=wrong)
    with store.database.write() as connection:
        connection.execute("UPDATE data SET person_namespace = NULL WHERE name = 'west'")
    assert store.verify() == [
        "The store's table and the ledger disagree about “person namespace” of the data set west."
    ]


SAID = {"by": "Ada", "reason": "both studies number from 1"}


def test_an_accidental_merge_is_undone_and_each_has_its_cap_again(store):
    add(store, "second", 2, 8, 9, cap=Cap(3.0, 1e-6))
    submit(store, request(epsilon=1.0))  # before: it stays counted for flips alone
    add(store, "both", 3, 1, 8, share_budget=True)
    assert store.linked("both") == ["flips", "second"]
    assert store.linked("flips") == ["both"]
    shared = store.budget("second")
    with pytest.raises(ValueError, match="would still share a budget with flips through others") as refused:
        store.separate_data("second", ["flips"], **SAID)
    assert str(refused.value).endswith("separate it from all of both, flips")
    store.separate_data("both", ["flips"], **SAID)
    assert store.data_row("flips").cap == CAP
    assert store.data_row("both").cap == store.data_row("second").cap == Cap(3.0, 1e-6)
    assert (store.budget("second").left_share, shared.left_share < 1) == (1, True)
    assert store.budget("flips").reserved_share > 0.1
    assert len(store.overlap_sentences("both")) == 1
    store.separate_data("both", ["second"], **SAID)
    assert store.data_row("both").cap == Cap(3.0, 1e-6)  # it never had a cap of its own
    assert store.overlap_sentences("both") == store.overlap_sentences("second") == store.linked("both") == []
    assert [row.kind for row in store.ledger()][-3:] == ["separate", "cap", "separate"]
    assert pools.separations(store.ledger("both"))[0] == (
        "both was kept apart from flips by Ada, although they share rows or persons: both studies number "
        "from 1"
    )
    assert store.verify() == []


def test_those_kept_apart_stay_so_until_someone_agrees_to_share(store):
    add(store, "others", 2, 3, 4, share_budget=True)
    store.separate_data("others", ["flips"], **SAID)
    flips = {"unit": "one image", "sources": Sources(rows(1, 2, 3), [b"ann"])}
    store.add_data("flips", coin_flips(), **flips)  # no question, no joined budgets
    add(store, "others", 2, 3, 4)
    assert store.linked("flips") == []
    store.add_data("flips", coin_flips(), **flips, share_budget=True)
    assert store.linked("flips") == ["others"]
    submit(store, request(epsilon=1.0))
    assert store.budget("others") == store.budget("flips")


def test_a_cap_that_was_changed_since_stays(store):
    add(store, "others", 2, 3, 4, share_budget=True)
    store.set_cap("others", Cap(0.5, 1e-6), by="Ada", reason="less is enough")
    store.separate_data("others", ["flips"], **SAID)
    assert store.data_row("flips").cap == store.data_row("others").cap == Cap(0.5, 1e-6)


@pytest.mark.parametrize("data", ["flips", "others"])
def test_data_sets_with_runs_counted_for_both_cannot_be_separated(store, data):
    add(store, "others", 2, 3, 4, share_budget=True)
    run = submit(store, request(data=data, epsilon=1.0))
    sentence = f"run {run} was counted against the budget that others shares with flips"
    before = store.ledger()
    with pytest.raises(ValueError, match=sentence):
        store.separate_data("others", ["flips"], **SAID)
    assert store.ledger() == before
    worker.work(store, run)
    store.delete(run)
    store.remove_data("others")
    for name in ("others", "anew"):  # as if it were registered for the first time
        with pytest.raises(ValueError, match=sentence.replace("others", name)):
            add(store, name, 2, 3, 4, cap=CAP, separate="other people")
    with pytest.raises(ValueError, match="was counted against the budget that flips shares with others"):
        store.separate_data("flips", ["others"], **SAID)
    assert add(store, "others", 2, 3, 4).cap == CAP
    assert store.budget("others") == store.budget("flips")


def test_a_run_that_released_nothing_hinders_no_separation(store):
    add(store, "others", 2, 3, 4, share_budget=True)
    store.cancel(submit(store, request(epsilon=1.0)))
    store.separate_data("others", ["flips"], **SAID)
    assert store.budget("others").left_share == 1


@pytest.mark.parametrize(
    ("others", "said", "sentence"),
    [
        (["flips"], {"by": "Ada", "reason": " "}, "needs a name and a reason"),
        (["flips"], {"by": "", "reason": "others"}, "needs a name and a reason"),
        (["nobody"], SAID, "others does not share its budget with 'nobody'"),
        (["twin"], SAID, "twin holds the same records as others: they share one budget"),
    ],
)
def test_a_separation_needs_a_shared_budget_a_name_and_a_reason(store, others, said, sentence):
    add(store, "others", 2, 3, 4, share_budget=True)
    add(store, "twin", 2, 3, 4)
    with pytest.raises(ValueError, match=sentence):
        store.separate_data("others", others, **said)
    assert store.linked("others") == ["flips"]


def test_the_same_records_under_another_name_share_a_budget_visibly(store):
    store.add_data("again", coin_flips(), unit="one image")
    for name, other in (("flips", "again"), ("again", "flips")):
        sentence = f"{name} holds the same records as {other}: they share one budget."
        assert store.overlap_sentences(name) == [sentence]


def test_other_people_have_a_budget_of_their_own(store):
    add(store, "others", 2, 4, 5, cap=Cap(1.0, 1e-6))
    assert (store.data_row("flips").cap, store.data_row("others").cap) == (CAP, Cap(1.0, 1e-6))
    assert store.overlap_sentences("others") == []


def test_the_same_people_cannot_get_another_cap(store):
    with pytest.raises(ValueError, match="they share a cap of ε = 2"):
        add(store, "others", 2, 3, 4, cap=Cap(50.0, 1e-5), share_budget=True)


def test_a_data_set_that_joins_two_pools_makes_them_one_with_the_strictest_cap(store):
    add(store, "second", 2, 8, 9, cap=Cap(3.0, 1e-6))
    submit(store, request(epsilon=1.0))
    row = add(store, "both", 3, 1, 8, share_budget=True)
    assert row.cap == store.data_row("second").cap == store.data_row("flips").cap == Cap(2.0, 1e-6)
    assert store.budget("second").reserved_share > 0.1


def test_removed_records_are_remembered(store):
    submit(store, request(epsilon=1.0))
    store.cancel(store.runs()[0].id)
    store.remove_data("flips")
    assert add(store, "others", 2, 3, 4, share_budget=True).cap == CAP


def test_records_private_elsewhere_cannot_be_public_or_held_out(store):
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
def test_records_once_public_or_held_out_need_a_reason_to_become_private(store, held_out):
    """Results computed from such records were not counted, so some records would be unprotected."""
    if held_out:
        sources = Sources(rows(5, 6), test_rows=rows(7, 8))
        store.add_data("open", coin_flips(seed=2), coin_flips(seed=3), cap=CAP, unit="x", sources=sources)
    else:
        add(store, "open", 2, 7, 8, private=False)
    store.remove_data("open")  # the store remembers that it was public
    with pytest.raises(ValueError, match="1 rows or persons of these records are public or held out in open"):
        add(store, "clinic", 4, 8, 9, cap=CAP)
    assert [row.name for row in store.data_sets() if row.created] == ["flips"]
    add(store, "clinic", 4, 8, 9, cap=CAP, separate="numbers of wards, not of people", by="Ada")
    assert "kept apart from open by Ada" in pools.separations(store.ledger("clinic"))[0]
    assert store.verify() == []


def test_rows_that_match_by_chance_are_kept_apart_with_a_reason(store):
    add(store, "others", 2, 3, 4, cap=Cap(1.0, 1e-6), separate="three yes-or-no questions", by="Ada")
    assert store.data_row("others").cap == Cap(1.0, 1e-6)
    (sentence,) = pools.separations(store.ledger("others"))
    assert sentence == (
        "others was kept apart from flips by Ada, although they share rows or persons: three yes-or-no "
        "questions"
    )
    assert pools.separations(store.ledger("flips")) == []
    assert store.verify() == []


def test_forgotten_digests_are_noticed(store):
    add(store, "open", 2, 7, 8, private=False)
    with store.database.write() as connection:
        connection.execute("DELETE FROM people")
    assert store.verify() == [
        f"The digests of the people in {name} were changed." for name in ("flips", "open")
    ]
    with pytest.raises(ValueError, match="while the ledger is not intact"):
        submit(store, request())


def test_concurrent_reservations_on_linked_data_sets_never_overspend(store, home):
    add(store, "others", 2, 3, 4, share_budget=True)
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
