"""Small sweeps: a store with data, and one completed sweep."""

import pytest

from tests.small_rows import small_store
from tests.sweeps import BASE
from vips_core.jobs import worker
from vips_core.sweeps.grid import Sweep
from vips_core.sweeps.job import run_sweep, submit_sweep


@pytest.fixture(scope="package")
def home(tmp_path_factory):
    return small_store(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="package")
def executed(home):
    """A stored sweep that processes completed; its last cell asks for more records than there are."""
    table = BASE | {
        "seeds": 3,
        "grid": [
            {"method": ["refined", "non-private"], "epsilon": [0.5, 2.0]},
            {"label": "Sampled", "method": "paper", "noise": 4.0, "batch": [30, 3000], "seeds": [7]}
            | {"keep": True},
        ],
    }  # fmt: skip
    run_id = submit_sweep(home, table)
    seen = []
    worker.work(home, run_id, seen.append, run_sweep)
    return home, run_id, Sweep.from_mapping(table), seen
