"""Server time of a rerun of the Plan page after an input moved: ``python -m tests.benchmarks.plan_page``.

Every move asks for a plan that was not seen before, so nothing comes from a cache but the surface. The slow
accountants work in the background meanwhile, as they do for a visitor; "quiet" lets them end before the next
move. Besides the wall time of the page's function, its own thread's CPU time is given, which a busy machine
distorts less.
"""

import statistics
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

import dashboard
from dashboard import session
from dashboard.views import plan

APP = Path(dashboard.__file__).parent / "app.py"
MOVES = 30


class Stopwatch:
    """The page's function, timed."""

    def __init__(self) -> None:
        self._show = plan.show
        self.wall, self.cpu = 0.0, 0.0

    def __call__(self) -> None:
        """Draw the page and keep how long it took, in milliseconds."""
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            self._show()
        finally:
            self.wall, self.cpu = 1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu)


def settle(at: AppTest) -> None:
    """Rerun until nothing is being computed."""
    while at.session_state["waiting"]:
        time.sleep(0.05)
        at.run()


def rerun_times(
    stopwatch: Stopwatch, name: str, first: float, quiet: bool
) -> tuple[list[float], list[float]]:
    """Wall and CPU milliseconds of one rerun for each move of one input to new values."""
    at = AppTest.from_file(APP, default_timeout=60).run()
    settle(at)
    wall, cpu = [], []
    for move in range(MOVES):
        value = first * (1 + 0.003 * (move + 1) + (0.0011 if quiet else 0))
        (box,) = [box for box in at.number_input if box.key.startswith(f"number:{name}:")]
        box.set_value(int(value) if name == "s" else value)
        at.run()
        wall.append(stopwatch.wall)
        cpu.append(stopwatch.cpu)
        assert not at.exception
        if quiet:
            settle(at)
    return wall, cpu


def main() -> None:
    """Print median and 95th percentile."""
    # The fast part is on the page when the wait begins; the calls are started then, as for a visitor.
    session.rerun_when_ready = lambda calls: [session._background.ask(*call) for call in calls]
    stopwatch = plan.show = Stopwatch()
    stopwatch.__name__ = "show"
    for quiet, name, first in ((True, "sigma", 1.24), (True, "s", 20_000.0), (False, "sigma", 2.0)):
        text = f"{'quiet' if quiet else 'busy':<6}{name:<6}"
        for kind, times in zip(("wall", "cpu"), rerun_times(stopwatch, name, first, quiet), strict=True):
            high = statistics.quantiles(times, n=20)[-1]
            text += f"   {kind} median {statistics.median(times):6.1f} ms, p95 {high:6.1f} ms"
        print(text, flush=True)


if __name__ == "__main__":
    main()
