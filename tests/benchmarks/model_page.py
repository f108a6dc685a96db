"""Server time of a rerun of a model page after an input moved: ``python -m tests.benchmarks.model_page``.

Nothing is trained yet, so the page shows what a run would cost. Every move asks for a new plan. A move of ε
that needs PLD at sampled batches is the slowest: its noise is found in the background, which the page gives a
moment before it is drawn without. CPU time is that of the page's own thread.
"""

import importlib
import statistics
import tempfile
import time
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages import opened

MOVES = 15
PAGES = {"topics": {}, "risk": {"methods": "refined,paper,strong"}, "images": {"epochs": 0.5}}
SLIDERS = {"noise": 2.0, "epsilon": 1.0, "delta": 1e-6, "epochs": 8.0, "batch": 300.0}


def _show(name: str) -> None:
    import importlib
    import time

    began, cpu = time.perf_counter(), time.thread_time()
    try:
        importlib.import_module(f"dashboard.views.{name}.page").show()
    finally:
        import streamlit as st

        st.session_state["took"] = (time.perf_counter() - began, time.thread_time() - cpu)


def moves(name: str, slider: str, first: float, **address: object) -> list[tuple[float, float]]:
    """Return wall and CPU seconds of a rerun for each move of one input."""
    start = {slider: first} | ({"noise": 2.0} if slider == "batch" else {})
    app = AppTest.from_function(_show, args=(name,), default_timeout=600)
    at = opened(
        app, **address | {key: round(value) if key == "batch" else value for key, value in start.items()}
    )
    times = []
    for move in range(MOVES):
        (box,) = [box for box in at.number_input if box.key.startswith(f"number:{slider}:")]
        value = first * (1 + 0.013 * (move + 1))
        box.set_value(round(value) if slider == "batch" else value)
        at.run()
        assert not at.exception
        times.append(at.session_state["took"])
    return times


def told(times: list[float]) -> str:
    """Median and 95th percentile in words."""
    median, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    return f"median {1000 * median:6.1f} ms, p95 {1000 * high:6.1f} ms"


def main(patch: Callable[..., None]) -> None:
    """Print what a visitor waits for."""
    from dashboard import background

    patch(background, "rerun_when_ready", lambda calls: [background._background.ask(*call) for call in calls])
    everything = []
    for name, address in PAGES.items():
        importlib.import_module(f"dashboard.views.{name}.page")
        for slider, first in SLIDERS.items():
            times = moves(name, slider, first, **address if slider not in ("noise", "batch") else {})
            everything += [wall for wall, _ in times]
            wall, cpu = zip(*times, strict=True)
            print(f"{name:<8}{slider:<9} wall {told(list(wall))}   cpu {told(list(cpu))}", flush=True)
    print(f"all              wall {told(everything)}")


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="vips-model-page-") as home,
        pytest.MonkeyPatch.context() as patches,
    ):
        patches.setenv("VIPS_HOME", home)
        began = time.perf_counter()
        main(patches.setattr)
        print(f"in {time.perf_counter() - began:.0f} s")
