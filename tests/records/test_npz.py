import gc
import io
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vips_core.records.files.npz import plain_arrays


@pytest.fixture
def many_switches_of_threads():
    """Let threads take turns wherever Python collects garbage, and let it do so all the time."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()

    def give_way(phase, info):
        time.sleep(0)

    sys.setswitchinterval(1e-5)
    gc.set_threshold(20, 100, 100)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("many_switches_of_threads")
def test_threads_may_read_arrays_at_the_same_time():
    file = io.BytesIO()
    np.savez(file, **{f"array{i}": np.arange(i) for i in range(6)})

    def total_size(_):
        return sum(array.size for array in plain_arrays(io.BytesIO(file.getvalue())).values())

    with ThreadPoolExecutor(5) as threads:
        assert set(threads.map(total_size, range(300))) == {15}
