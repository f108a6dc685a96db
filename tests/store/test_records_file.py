"""Files of records, and the fingerprint that identifies records whatever their name."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from vips_core import Documents, Images, Table
from vips_core.records import Sharded
from vips_core.records.files.npz import load_arrays
from vips_core.store import people, records_file
from vips_core.store.people import Sources

KEY = "ab" * 32
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@st.composite
def records(draw):
    rows = draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["corpus", "images", "dense", "sparse"]))
    if kind == "corpus":
        counts = draw(arrays(np.int64, (rows, 5), elements=st.integers(0, 3)))
        words = draw(st.lists(names, min_size=5, max_size=5, unique=True))
        return Documents.from_counts(counts, words)
    if kind == "images":
        return Images.from_images(draw(arrays(np.uint8, (rows, 3, 5))), 127)
    x = draw(arrays(np.float64, (rows, 3), elements=st.floats(-9, 9, width=32)))
    y = draw(arrays(np.uint8, rows, elements=st.integers(0, 1)))
    pairs = draw(st.sampled_from([(), ((2, 0),)]))
    x = sparse.csr_array(x) if kind == "sparse" else x
    return Table(x, y, ("a", "b", "ü c"), 3.0, missing_pairs=pairs)


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
        records_file.write(file, data, data if with_test else None)
        train, test = records_file.read(file, type(data))
        assert [path.name for path in Path(folder).iterdir()] == ["data.npz"]
    assert (test is not None) == with_test
    assert type(train) is type(data)
    before, after = content(data), content(train)
    for name, value in before.items():
        if value.dtype.kind == "f":  # a row at the norm bound may be scaled again, by a rounding error
            np.testing.assert_allclose(after[name], value, rtol=1e-12)
        else:
            np.testing.assert_array_equal(after[name], value)
    assert records_file.fingerprint(train, KEY) == records_file.fingerprint(data, KEY)


@given(records(), st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_fingerprint_depends_on_the_records_alone(data, random):
    rows = [np.arange(len(data)) == index for index in range(len(data))]
    some = data[np.arange(len(data)) > 0]
    assert records_file.fingerprint(data, KEY) != records_file.fingerprint(some, KEY)
    assert records_file.fingerprint(data, KEY) != records_file.fingerprint(data, KEY.replace("a", "c"))
    digests = [records_file.fingerprint(data[row], KEY) for row in rows]
    order = list(range(len(data)))
    random.shuffle(order)
    shuffled = _reordered(data, order)
    assert records_file.fingerprint(shuffled, KEY) == records_file.fingerprint(data, KEY)
    assert sorted(records_file.fingerprint(shuffled[row], KEY) for row in rows) == sorted(digests)


def _reordered(data, order):
    if isinstance(data, Documents):
        dense = sparse.csr_array((data.counts, data.indices, data.indptr), (len(data), len(data.vocabulary)))
        return Documents.from_counts(dense.toarray()[order], data.vocabulary)
    if isinstance(data, Images):
        return Images(data.bits[order], data.shape)
    return Table(data.x[order], data.y[order], data.feature_names, data.norm_bound)


def test_sparse_and_dense_rows_have_one_fingerprint():
    x, y = np.array([[0.0, 0.5], [1.0, 0.0]]), np.array([0, 1])
    dense, thin = (Table(kind(x), y, ("a", "b"), 2.0) for kind in (np.array, sparse.csr_array))
    assert records_file.fingerprint(dense, KEY) == records_file.fingerprint(thin, KEY)


def test_the_person_of_each_row_is_kept(tmp_path):
    images = Images.from_images(np.eye(4)[:, None], 0.5, persons=["ann", "bob", "ann", "cyd"])
    rows = Table(np.eye(4), [0, 1, 0, 1], tuple("abcd"), 1.0, persons=[7, 7, 9, 7])
    for data in (images, rows):
        records_file.write(tmp_path / "file.npz", data, None)
        back, _ = records_file.read(tmp_path / "file.npz", type(data))
        assert len(back) == len(data) < 4
        np.testing.assert_array_equal(back.persons, data.persons)


def test_pairs_are_those_of_the_file(tmp_path):
    file, names = tmp_path / "file.npz", ("c", "a", "a missing")
    for pairs in (((2, 0),), ()):
        rows = Table(np.eye(3), [0, 1, 0], names, 1.0, missing_pairs=pairs)
        records_file.write(file, rows, None)
        assert records_file.read(file, Table)[0].missing_pairs == pairs


def test_people_beside_shards_are_found_until_their_study_is_edited(tmp_path):
    data = Sharded.write(tmp_path, Table(np.eye(2), [0, 1], ("a", "a missing"), 1.0))
    own = people.digests([b"ann", b"bob"], KEY, b"person")
    people.write_beside(data, Sources(known=own, person_namespace="north"), KEY)
    beside = people.read_beside(Sharded.open(tmp_path), KEY)
    np.testing.assert_array_equal(beside.known, own)
    assert beside.person_namespace == "north"
    written = load_arrays(tmp_path / "people.npz")
    np.savez(tmp_path / "people.npz", **written | {"study": "south"})
    with pytest.raises(ValueError, match="this store did not cut the shards"):
        people.read_beside(Sharded.open(tmp_path), KEY)
