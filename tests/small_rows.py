"""A few labelled rows that train in no time."""

import numpy as np
import pandas as pd

from vips_core.records import Table
from vips_core.store.budget import Cap
from vips_core.store.store import Store


def rows(count, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(count), "b": rng.random(count)})
    frame["y"] = (frame["a"] + 0.3 * rng.random(count) > 0.6).astype(int)
    return Table.from_frame(frame, "y", {"a": (0, 1), "b": (0, 1)})


def small_store(home, unit="one row"):
    """Return a store with the public data set `small` and the private data set `secret`."""
    store = Store(home)
    store.add_data("small", rows(300, 0), rows(200, 1), private=False, unit=unit)
    store.add_data(
        "secret", rows(300, 2), None, private=True, cap=Cap(3.0, 1e-3), unit="one patient", reason="a test"
    )
    return store
