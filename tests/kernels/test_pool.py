"""BLAS is limited to one thread for a while, by any number of threads at once."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vips_core.kernels.pool import map_chunks, one_blas_thread


def blas_threads():
    """Return the threads of every BLAS in this process; SciPy has its own."""
    import scipy.linalg  # noqa: F401

    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_blas_threads():
    blas_threads()  # loads the libraries that are limited
    with threadpool_limits(2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("this BLAS has no second thread")
        yield


def test_blas_gets_its_threads_back():
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_blas_gets_its_threads_back_after_an_error():
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert set(blas_threads()) == {2}


def test_holders_that_overlap_leave_blas_as_it_was():
    """The first holder ends before the second."""
    second_holds, first_ended, seen = threading.Event(), threading.Event(), []

    def second():
        with one_blas_thread():
            second_holds.set()
            assert first_ended.wait(60)
            seen.extend(blas_threads())

    other = threading.Thread(target=second)
    with one_blas_thread():
        other.start()
        assert second_holds.wait(60)
    first_ended.set()
    other.join()
    assert set(seen) == {1}
    assert set(blas_threads()) == {2}


@pytest.mark.parametrize("items", [1, 8])
def test_blas_has_one_thread_in_chunks(items):
    assert map_chunks(lambda start, stop: set(blas_threads()), items, 1) == [{1}] * items
    assert set(blas_threads()) == {2}
