"""Records of persons: all rows of a person go together, and count as one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vips_core import Documents, Images, Table
from vips_core.records.identity import identities

owners = st.lists(st.integers(0, 6), min_size=1, max_size=25)


def table(persons, thin=False):
    """Each row holds its own number and its person."""
    x = np.column_stack([np.arange(1.0, len(persons) + 1), persons])
    x = sparse.csr_array(x) if thin else x
    return Table(x, np.arange(len(persons)) % 2, ("row", "person"), 1e3, persons=persons)


def cells(rows):
    return rows.x.toarray() if sparse.issparse(rows.x) else rows.x


@given(owners, st.booleans(), st.data())
@settings(max_examples=80, deadline=None)
def test_a_mask_takes_all_rows_of_a_person(persons, thin, data):
    rows = table(persons, thin)
    different = list(dict.fromkeys(persons))
    assert (len(rows), rows.row_count) == (len(different), len(persons))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    for half in (mask, ~mask):
        chosen = {person for person, taken in zip(different, half, strict=True) if taken}
        batch = rows[half]
        assert len(batch) == len(chosen)
        expected = [number for number, person in enumerate(persons, 1) if person in chosen]
        assert sorted(cells(batch)[:, 0]) == expected
        assert (batch.y == (cells(batch)[:, 0] - 1) % 2).all()
        assert batch.row_weights.sum() == pytest.approx(len(batch))
        again = batch[np.ones(len(batch), bool)]
        assert again is batch


@given(owners)
@settings(max_examples=60, deadline=None)
def test_the_weights_of_a_person_never_exceed_one_together(persons):
    rows = table(persons)
    totals = np.bincount(rows.persons, rows.row_weights)
    assert (totals <= 1).all()
    np.testing.assert_allclose(totals, 1, rtol=1e-9)


@given(owners)
@settings(max_examples=60, deadline=None)
def test_the_documents_of_a_person_are_one_bag_of_words(persons):
    counts = np.random.default_rng(len(persons)).integers(0, 3, (len(persons), 4))
    corpus = Documents.from_counts(counts, "abcd", persons)
    different = list(dict.fromkeys(persons))
    together = [counts[np.array(persons) == person].sum(axis=0) for person in different]
    expected = Documents.from_counts(together, "abcd")
    for name in ("indptr", "indices", "counts"):
        np.testing.assert_array_equal(getattr(corpus, name), getattr(expected, name))
    joined = Documents.concatenated([Documents.from_counts(counts, "abcd")], persons)
    np.testing.assert_array_equal(joined.counts, expected.counts)


def test_a_split_never_parts_a_person():
    persons = np.random.default_rng(0).permutation(np.arange(200) % 40)
    images = Images.from_images((np.arange(200)[:, None] >> np.arange(8)) & 1, 0.5, persons)
    train, test = images.split(0.25, seed=1)
    assert (len(train), len(test)) == (30, 10)
    owner = dict(zip(map(bytes, images.bits), images.persons, strict=True))
    trained, tested = ({owner[bytes(row)] for row in part.bits} for part in (train, test))
    assert (len(trained), len(tested)) == (30, 10)
    assert not trained & tested


def test_rows_without_persons_keep_their_order_and_weigh_one():
    rows = table([3, 1, 2])
    alone = Table(rows.x, rows.y, rows.feature_names, rows.norm_bound)
    assert rows.row_weights.tolist() == alone.row_weights.tolist() == [1, 1, 1]
    assert rows.x[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("missing", [None, "", np.nan, pd.NA, " ", "NA", "nan ", "None"])
def test_every_row_must_name_its_person(missing):
    frame = pd.DataFrame({"age": [1, 2, 3], "ill": [0, 1, 0], "who": ["ann", missing, "ann"]})
    with pytest.raises(ValueError, match="each row must name its person, but 1 of 3 rows do not"):
        Table.from_frame(frame, "ill", {"age": (0, 9)}, person="who")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"person": "nobody"},
            "the frame has no column 'nobody' that names the person, only 'age', 'ill', 'who'",
        ),
        ({"person": "ill"}, "the column 'ill' names persons: it can be neither the target nor a predictor"),
        (
            {"ranges": {"age": (0, 9), "who": (0, 9)}},
            "the column 'who' names persons: it can be neither the target nor a predictor",
        ),
    ],
)
def test_a_person_column_is_neither_target_nor_predictor(changes, sentence):
    frame = pd.DataFrame({"age": [1, 2, 3], "ill": [0, 1, 0], "who": [7, 7, 8]})
    with pytest.raises(ValueError, match=sentence):
        Table.from_frame(frame, "ill", **{"ranges": {"age": (0, 9)}, "person": "who"} | changes)


SPELLINGS = [
    (["7", "7.0", "007", " 7 ", "+7", "7e0"], 1),
    ([7, "7", 7.0, "007", np.int8(7), np.float32(7)], 1),
    (np.array([7.0, 8.0, 7.0]), 2),
    (pd.Series([7, 8, 7], dtype="Int64"), 2),
    (pd.Series(["7", "7.0", "8"], dtype="category"), 2),
    (["0", "-0", "0.0", 0], 1),
    (["Ren\u00e9", "Rene\u0301", "\u00a0Ren\u00e9"], 1),
    (["ann", "Ann", "ann b", "annb"], 4),
    (["1_2", "12", "1 2", "1,2"], 4),  # Python reads 1_2 as 12
    ([2**53 + 1, 2**53 + 2, 2**70], 3),
    (["9" * 41, "9" * 40 + "8"], 2),
]


@pytest.mark.parametrize(("identifiers", "persons"), SPELLINGS)
def test_all_spellings_of_an_identifier_are_one_person(identifiers, persons):
    """Issue 32: who was 7 and 7.0 in one file counted twice, and was protected half as well."""
    images = Images.from_images(np.eye(len(identifiers)), 0.5, identifiers)
    labels = np.zeros(len(identifiers))
    rows = Table(np.eye(len(labels)), labels, [f"c{n}" for n in range(len(labels))], 1, {}, identifiers)
    texts = Documents.from_texts(["tea"] * len(labels), ["tea"], identifiers)
    assert len(images) == len(rows) == len(texts) == persons
    assert identities(identities(identifiers)).tolist() == identities(identifiers).tolist()


@pytest.mark.parametrize(
    "identifiers",
    [[7.5, 8.0], [float("inf"), 1.0], [2.0**53, 1.0], np.float32([2**24, 1]), [True, False], [b"a", b"b"]]
    + [[("a", 1), ("b", 2)], pd.to_datetime(["2020-01-01", "2020-01-02"])],
)
def test_an_ambiguous_identifier_is_refused(identifiers):
    with pytest.raises(ValueError, match="identifiers of persons must be text or whole numbers|one per row"):
        Images.from_images(np.eye(2), 0.5, identifiers)


def test_each_row_has_one_identifier():
    with pytest.raises(ValueError, match="persons must be 3 identifiers, one per row"):
        Images.from_images(np.eye(3), 0.5, ["ann", "bob"])
    with pytest.raises(ValueError, match="persons must be 1 identifiers, one per row"):
        Images.from_images(np.eye(1), 0.5, "ann")
