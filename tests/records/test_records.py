"""The data types: what they accept, refuse, bound and keep."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from tests.records.words import WORDS, dense, held_arrays
from vips_core.records import Documents, Images, Table

FRAME = pd.DataFrame(
    {"age": [20.0, 50.0, 95.0], "weight": [60.0, np.nan, 80.0], "sick": [0, 1, 1], "name": ["a", "b", "c"]}
)


def small_corpus() -> Documents:
    return Documents.from_counts([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 5, 6]], WORDS)


def small_rows(as_sparse: bool = False) -> Table:
    x = np.array([[1.0, 0.0], [0.0, 0.5], [0.3, 0.4], [0.0, 0.0]])
    return Table(sparse.csr_array(x) if as_sparse else x, [0, 1, 1, 0], ("a", "b"), 1.0)


def small_images() -> Images:
    return Images.from_images(np.arange(4 * 15).reshape(4, 3, 5), threshold=30)


ALL_KINDS = [small_corpus, small_rows, lambda: small_rows(as_sparse=True), small_images]


def content(data: Documents | Table | Images) -> np.ndarray:
    """Return one row of numbers per record, whatever the kind."""
    if isinstance(data, Documents):
        return dense(data)
    if isinstance(data, Images):
        return data.unpack(np.int64)
    x = data.x.toarray() if sparse.issparse(data.x) else data.x
    return np.column_stack([x, data.y])


@pytest.mark.parametrize("make", ALL_KINDS)
@pytest.mark.parametrize("mask", [[0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]])
def test_a_mask_picks_records_in_order(make, mask):
    data, mask = make(), np.array(mask, dtype=bool)
    part = data[mask]
    assert type(part) is type(data)
    assert len(part) == mask.sum()
    np.testing.assert_array_equal(content(part), content(data)[mask])


@pytest.mark.parametrize("make", ALL_KINDS)
@pytest.mark.parametrize("mask", [np.array([0, 1]), np.ones(3, dtype=bool), np.ones((4, 1), dtype=bool), 0])
def test_only_a_mask_of_the_right_length_slices(make, mask):
    with pytest.raises(ValueError, match=r"mask must be boolean of shape \(4,\), got"):
        make()[mask]


@pytest.mark.parametrize("make", ALL_KINDS)
def test_records_and_their_slices_are_read_only(make):
    data = make()
    for part in (data, data[np.array([True, False, True, True])]):
        for array in held_arrays(part):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    with pytest.raises(AttributeError):
        data.norm_bound = 3.0


@pytest.mark.parametrize("make", ALL_KINDS)
@pytest.mark.parametrize(("share", "size"), [(0.25, 1), (0.5, 2), (0.7, 3)])
def test_split_is_seeded_disjoint_and_exhaustive(make, share, size):
    data = make()
    train, test = data.split(share, seed=7)
    assert (len(train), len(test)) == (4 - size, size)
    both = np.vstack([content(train), content(test)])
    np.testing.assert_array_equal(np.unique(both, axis=0), np.unique(content(data), axis=0))
    again = data.split(share, seed=7)[1]
    np.testing.assert_array_equal(content(again), content(test))


def test_other_seeds_give_other_splits():
    tests = {tuple(content(small_corpus().split(0.5, seed)[1]).ravel()) for seed in range(20)}
    assert len(tests) > 1


@pytest.mark.parametrize("make", ALL_KINDS)
@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 2.0, np.nan, 0.05, 0.95])
def test_split_refuses_an_empty_part(make, share):
    with pytest.raises(ValueError, match="test_share must .*, got"):
        make().split(share, seed=0)


@pytest.mark.parametrize("seed", [None, -1, 2.5, True, "x"])
def test_split_refuses_a_bad_seed(seed):
    with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got"):
        small_images().split(0.5, seed)


@given(
    arrays(np.float64, (5, 3), elements=st.floats(-1e100, 1e100, allow_subnormal=False)),
    st.floats(1e-3, 1e3),
    st.booleans(),
)
def test_rows_are_scaled_down_to_the_bound_and_short_rows_untouched(x, bound, as_sparse):
    rows = Table(sparse.csr_array(x) if as_sparse else x, [0, 1, 0, 1, 1], ("a", "b", "c"), bound)
    kept = rows.x.toarray() if as_sparse else rows.x
    norms = np.linalg.norm(x, axis=1)
    assert (np.linalg.norm(kept, axis=1) <= bound * (1 + 1e-12)).all()
    short = norms <= bound * (1 - 1e-12)
    np.testing.assert_array_equal(kept[short], x[short])
    direction = x * (bound / np.maximum(norms, bound))[:, None]
    np.testing.assert_allclose(kept, direction, rtol=1e-9, atol=0)


def test_entries_of_one_cell_are_added_up_without_overflow():
    twice = sparse.coo_array((np.array([200, 200], np.uint8), ([0, 0], [1, 1])), shape=(1, 2))
    assert Table(twice, [1], ("a", "b"), 1000.0).x.toarray().tolist() == [[0, 400]]


def test_rows_do_not_change_their_inputs():
    x = np.full((2, 2), 10.0)
    rows = Table(x, [0, 1], ("a", "b"), 1.0)
    assert (x == 10.0).all()
    x[:] = 0.0
    np.testing.assert_allclose(rows.x, np.sqrt(0.5))
    assert (rows.x.dtype, rows.y.dtype) == (np.float64, np.uint8)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (([[1.0, np.nan]], [0], ("a", "b"), 1), "x must be finite, got a row of norm nan"),
        (([[1.0, -np.inf]], [0], ("a", "b"), 1), "x must be finite, got a row of norm inf"),
        ((sparse.csr_array([[1.0, np.nan]]), [0], ("a", "b"), 1), "x must be finite, got a row of norm nan"),
        (
            ([[1.0, 2.0]], [2], ("a", "b"), 1),
            "labels must be whole numbers from 0 to 1, which entry 1 is not",
        ),
        (
            ([[1.0, 2.0]], [np.nan], ("a", "b"), 1),
            "labels must be whole numbers from 0 to 1, which entry 1 is not",
        ),
        (
            ([[1.0, 2.0]], [0.5], ("a", "b"), 1),
            "labels must be whole numbers from 0 to 1, which entry 1 is not",
        ),
        (([[1.0, 2.0]], ["yes"], ("a", "b"), 1), "labels must be numbers"),
        (([[1.0, 2.0]], [0, 1], ("a", "b"), 1), r"labels must have shape \(1,\), got \(2,\)"),
        (([[1.0, 2.0]], [0], ("a",), 1), r"x must be one or more rows × 1 features, got shape \(1, 2\)"),
        ((np.zeros((0, 1)), [], ("a",), 1), r"x must be one or more rows × 1 features, got shape \(0, 1\)"),
        (([1.0], [0], ("a",), 1), r"x must be one or more rows × 1 features, got shape \(1,\)"),
        (([["b"]], [0], ("a",), 1), "x must be numbers"),
        (([[1.0, 2.0]], [0], ("a", "a"), 1), "feature_names must not repeat a name, got 'a' 2 times"),
        (([[1.0]], [0], ("a",), 0), "norm_bound must be a number of at least 1e-100 and .*, got 0"),
        (([[1.0]], [0], ("a",), np.inf), "norm_bound must be a number of .*, got inf"),
        (([[1.0]], [0], ("a",), np.nan), "norm_bound must be a number of .*, got nan"),
        # The square of 1e-165 is 0: the row would pass as within the bound.
        (([[1e-165]], [0], ("a",), 1e-170), "norm_bound must be a number of .*, got 1e-170"),
        ((np.array([[1j]]), [0], ("a",), 1), "x must be numbers, got complex128"),
        ((sparse.csr_array([[1j]]), [0], ("a",), 1), "x must be numbers, got complex128"),
        ((np.ma.masked_less([[0.3]], 1), [0], ("a",), 1), "x must be finite, got a row of norm nan"),
        ((sparse.csr_array(([1.0], [5], [0, 1]), shape=(1, 1)), [0], ("a",), 1), "indices must be < 1"),
    ],
)
def test_rows_refuse_bad_fields(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        Table(*fields)


def test_frame_columns_are_mapped_by_their_public_ranges():
    ranges = {"weight": (40.0, 120.0), "age": (0.0, 80.0)}
    rows = Table.from_frame(FRAME, "sick", ranges, may_be_missing=["weight"])
    assert rows.feature_names == ("intercept", "weight", "weight missing", "age")
    assert rows.missing_pairs == ((1, 2),)
    np.testing.assert_allclose(rows.x, [[1, 0.25, 0, 0.25], [1, 0, 1, 0.625], [1, 0.5, 0, 1]])
    assert rows.y.tolist() == [0, 1, 1]
    assert rows.norm_bound == pytest.approx(np.sqrt(3))


def test_frame_with_a_smaller_bound_is_clipped():
    rows = Table.from_frame(FRAME, "sick", {"age": (0, 100)}, norm_bound=1.0)
    np.testing.assert_allclose(np.linalg.norm(rows.x, axis=1), 1.0)


def test_declared_columns_have_an_indicator_even_when_nothing_is_missing():
    rows = Table.from_frame(FRAME, "sick", {"age": (0, 100)}, may_be_missing=["age"])
    assert rows.feature_names == ("intercept", "age", "age missing")
    assert not rows.x[:, 2].any()


def test_an_indicator_is_known_by_position_whatever_the_names_of_other_columns():
    frame = FRAME.assign(**{"age missing": [0.0, np.nan, 1.0]})
    rows = Table.from_frame(
        frame, "sick", {"age": (0, 100), "age missing": (0, 1)}, may_be_missing=["age missing"]
    )
    assert rows.feature_names == ("intercept", "age", "age missing", "age missing missing")
    assert rows.missing_pairs == ((2, 3),)
    assert rows[np.array([True, False, True])].missing_pairs == rows.missing_pairs
    assert [part.missing_pairs for part in rows.split(0.5, seed=0)] == [rows.missing_pairs] * 2


@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_nullable_columns_are_understood(dtype):
    frame = pd.DataFrame({"z": pd.array([1, None, 0], dtype=dtype), "y": pd.array([1, 0, 1], dtype="Int64")})
    rows = Table.from_frame(frame, "y", {"z": (0, 1)}, may_be_missing=["z"])
    assert rows.x.tolist() == [[1, 1, 0], [1, 0, 1], [1, 0, 0]]
    assert rows.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"ranges": {"height": (0, 1)}}, "the frame lacks the columns 'height'"),
        ({"target": "dead"}, "the frame lacks the columns 'dead'"),
        ({"ranges": {"sick": (0, 1)}}, "the target 'sick' is not a predictor and must not have a range"),
        ({"may_be_missing": ["weight"]}, "may_be_missing names columns without a range: 'weight'"),
        (
            {"ranges": {"age": (5, 5)}},
            r"the range of 'age' must be \[low, high\] with finite low < high, got \(5, 5\)",
        ),
        (
            {"ranges": {"age": (0, np.inf)}},
            r"the range of 'age' must be \[low, high\] with finite .* got \(0, inf\)",
        ),
        (
            {"ranges": {"age": (np.nan, 1)}},
            r"the range of 'age' must be \[low, high\] with finite .* got \(nan, 1\)",
        ),
        (
            {"ranges": {"age": ("0", "1")}},
            r"the range of 'age' must be \[low, high\] with finite .* got \('0', '1'\)",
        ),
        ({"ranges": {"age": 5}}, r"the range of 'age' must be \[low, high\] with finite .* got 5"),
        ({"ranges": {"age": (-1e308, 1e308)}}, r"the range of 'age' must be \[low, high\] with finite"),
        ({"ranges": {"age": (0, 5e-324)}}, r"the range of 'age' must be \[low, high\] with finite"),
        ({"frame": FRAME.assign(age=pd.Timestamp("2020"))}, "column 'age' must be numbers, got datetime64"),
        (
            {"frame": pd.concat([FRAME, FRAME[["age"]]], axis=1)},
            "the frame must have one column 'age', got 2",
        ),
        ({"frame": FRAME.to_numpy()}, "frame must be a pandas DataFrame, got ndarray"),
        ({"ranges": {"weight": (0, 100)}}, "column 'weight' must be finite, or in may_be_missing"),
        ({"frame": FRAME.assign(age=np.inf)}, "column 'age' must be finite, or in may_be_missing"),
        ({"ranges": {"name": (0, 1)}}, "column 'name' must be numbers"),
        ({"frame": FRAME[:0]}, "the table has no rows"),
        ({"target": "weight"}, "labels must be whole numbers from 0 to 1, which entry 1 is not"),
        (
            {"frame": FRAME.rename(columns={"age": "intercept"}), "ranges": {"intercept": (0, 1)}},
            "feature_names must not repeat a name, got 'intercept' 2 times",
        ),
    ],
)
def test_frame_refusals(change, sentence):
    arguments = {"frame": FRAME, "target": "sick", "ranges": {"age": (0, 100)}} | change
    with pytest.raises(ValueError, match=sentence):
        Table.from_frame(**arguments)


@given(arrays(np.uint8, array_shapes(min_dims=2, max_dims=3, max_side=9)), st.integers(0, 254))
def test_images_survive_packing(images, threshold):
    rows = Images.from_images(images, threshold)
    assert rows.shape == ((1, images.shape[1]) if images.ndim == 2 else images.shape[1:])
    np.testing.assert_array_equal(rows.unpack(bool), images.reshape(len(images), -1) > threshold)
    assert rows.unpack().dtype == np.float32


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (np.zeros((0, 2, 2)), "there must be at least one image"),
        (np.zeros(4), r"images must be n × height × width or n × pixels, got shape \(4,\)"),
        (np.zeros((1, 0, 3)), r"shape must be \(height, width\) of at least 1 each, got \(0, 3\)"),
        ([[0.0, np.nan]], "images must be finite numbers, got float64"),
        ([[0.0, np.inf]], "images must be finite numbers, got float64"),
        ([["a", "b"]], "images must be finite numbers, got <U1"),
    ],
)
def test_images_refused(images, sentence):
    with pytest.raises(ValueError, match=sentence):
        Images.from_images(images, threshold=0)


@pytest.mark.parametrize("threshold", [np.nan, np.inf, "0.5", None])
def test_a_threshold_is_a_number(threshold):
    with pytest.raises(ValueError, match="threshold must be a number, got"):
        Images.from_images([[0, 1]], threshold)


@pytest.mark.parametrize(
    ("bits", "shape", "sentence"),
    [
        (np.zeros((2, 2), np.uint8), (2, 2), r"bits must be uint8, one or more × 1, got uint8 \(2, 2\)"),
        (np.zeros((2, 1), np.int64), (2, 2), "bits must be uint8, one or more × 1, got int64"),
        (np.zeros((2, 1), np.uint8), (4,), r"shape must be \(height, width\) of at least 1 each, got \(4,\)"),
        (np.zeros((2, 1), np.uint8), (2.5, 2), r"shape must be \(height, width\) .* got \(2.5, 2\)"),
        (np.zeros((2, 1), np.uint8), None, r"shape must be \(height, width\) .* got None"),
        (np.full((2, 1), 255, np.uint8), (2, 2), "bits after the last pixel must be 0"),
    ],
)
def test_bits_refused(bits, shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        Images(bits, shape)
