"""Server time of a rerun of the Plan page after an input moved: ``python -m tests.benchmarks.plan_page``.

Alone: every move asks for a new plan, so that only the surface comes from a cache. The slow accountants work
in the background meanwhile, as they do for a visitor; "quiet" lets them end before the next move. Besides the
wall time of the page's function, its own thread's CPU time is given, which a busy machine distorts less.

Crowded (``crowd``): a served dashboard, two runs that train, and ten browsers that move their own σ every two
seconds. Each must arrive at the ε of its own plan, at its own address. The measured time is that from the
page's start until its fast part is drawn, in the server. Visitors have machines of their own, so the browsers
here give way to the server (``nice``): one of them needs two seconds of a core for each move, twice what the
server needs. Give it the whole machine.
"""

import re
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from dashboard import background, launch
from dashboard.components.formats import at_most
from dashboard.views.plan import page as plan
from tests.served import COMMAND, Served, served
from vips_core import PrivacyPlan
from vips_core.jobs import supervisor
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store.store import Store

MOVES, BROWSERS, ROUNDS = 30, 10, 5
PAUSE = 2.0  # seconds between two moves of one browser
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SERVED = PrivacyPlan(records=400_000, expected_batch=20_000, epochs=1, noise_multiplier=1.24, delta=1e-7)


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
    at = AppTest.from_file(launch.APP, default_timeout=600)
    at.query_params["prior"] = "0.5"  # an address with values leads to Plan
    at.run()
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


def told(times: list[float]) -> str:
    """Median and 95th percentile in words."""
    return f"median {statistics.median(times):6.1f} ms, p95 {statistics.quantiles(times, n=20)[-1]:6.1f} ms"


def alone() -> None:
    """Print what one visitor waits for."""
    # The fast part is on the page when the wait begins; the calls are started then, as for a visitor.
    background.rerun_when_ready = lambda calls: [background._background.ask(*call) for call in calls]
    stopwatch = plan.show = Stopwatch()
    for quiet, name, first in ((True, "sigma", 1.24), (True, "s", 20_000.0), (False, "sigma", 2.0)):
        wall, cpu = rerun_times(stopwatch, name, first, quiet)
        print(f"{'quiet' if quiet else 'busy':<6}{name:<6}   wall {told(wall)}   cpu {told(cpu)}", flush=True)


# What the served dashboard runs instead of app.py: the same, with the time to the wait written to a file.
TIMED = """
import runpy, time
import streamlit as st
from dashboard import background
from dashboard.views.plan import page as plan
if not hasattr(plan, "timed"):
    show, plan.timed = plan.show, True
    def timed():
        st.session_state["began"] = time.perf_counter()
        show()
    plan.show = timed
    wait = background.rerun_when_ready
    def told(calls):
        with open({log!r}, "a") as log:
            log.write(f"{{1000 * (time.perf_counter() - st.session_state['began'])}}\\n")
        wait(calls)
    background.rerun_when_ready = told
runpy.run_path({app!r}, run_name="__main__")
"""


def serve_timed(folder: Path, times: Path) -> AbstractContextManager[Served]:
    """Serve the dashboard on a store of its own, with its times in a file."""
    script = folder / "timed.py"
    script.write_text(TIMED.format(log=str(times), app=str(launch.APP)), encoding="utf-8")
    replaced = f"from pathlib import Path; from dashboard import launch; launch.APP = Path({str(script)!r})"
    return served(folder / "home", command=f"{replaced}; {COMMAND}")


def train(store: Store) -> list[str]:
    """Start two runs that last longer than the measurement."""
    table = {"model": "lda", "data": "generated-documents", "delta": 1e-6, "noise": 2.0, "epochs": 200.0}
    runs = [submit(store, Request.from_mapping(table | {"batch": 500, "seed": seed})) for seed in (1, 2)]
    supervisor.start(store)
    return runs


def polite_chromium(folder: Path) -> Path:
    """Return a command that starts Chromium so that it gives way to others."""
    command = folder / "chromium"
    group = "echo 5 > /proc/self/autogroup"  # Linux weighs sessions before it weighs their processes
    script = f'#!/bin/sh\n{group}\nexec nice -n 5 {shutil.which("chromium")} "$@"\n'
    command.write_text(script, encoding="utf-8")
    command.chmod(0o700)
    return command


def crowd() -> None:
    """Print what each of ten visitors waits for while two runs train."""
    with tempfile.TemporaryDirectory(prefix="vips-crowd-") as name, sync_playwright() as playwright:
        folder, times = Path(name), Path(name, "times.txt")
        with serve_timed(folder, times) as dashboard:
            store = Store(folder / "home")
            runs = train(store)
            browser = playwright.chromium.launch(executable_path=polite_chromium(folder), args=FLAGS)
            try:
                pages = [browser.new_context().new_page() for _ in range(BROWSERS)]
                for page in pages:
                    page.set_default_timeout(120_000)
                    page.goto(dashboard.at("/plan?sigma=1.24"))
                for page in pages:
                    page.get_by_label("Noise σ, exact").wait_for()
                before = len(times.read_text().splitlines()) if times.exists() else 0
                for turn in range(ROUNDS):
                    moves(pages, [2 + turn + 0.07 * index for index in range(BROWSERS)])
                training = sum(store.run(run).status == "running" for run in runs)
                failed = [page for page in pages if page.get_by_test_id("stException").count()]
                rerun = [float(line) for line in times.read_text().splitlines()[before:]]
                asked = f"{BROWSERS} browsers, {training} runs training, {ROUNDS * BROWSERS} moves"
                print(f"crowd   {asked}, {len(failed)} errors, every browser at its own ε and address")
                print(f"crowd   {len(rerun)} reruns to the wait, in the server: {told(rerun)}")
            finally:
                for run in runs:
                    if store.run(run).status in ("queued", "running"):
                        store.cancel(run)
                browser.close()
                while any(store.run(run).status in ("queued", "running") for run in runs):
                    supervisor.start(store)
                    time.sleep(0.5)


def moves(pages: list[Page], noises: list[float]) -> None:
    """Move every browser's σ; each must come to its own ε, at its own address."""
    for page, noise in zip(pages, noises, strict=True):
        box = page.get_by_label("Noise σ, exact").first
        box.fill(f"{noise:g}")
        box.press("Enter")
        page.wait_for_timeout(1000 * PAUSE / len(pages))
    for page, noise in zip(pages, noises, strict=True):
        expected = at_most(SERVED.replace(noise_multiplier=noise).epsilon("moments"))
        headline = page.get_by_test_id("stMetric").filter(has_text="ε by moments")
        headline.filter(has_text=expected).wait_for()
        page.wait_for_url(re.compile(rf"[?&]sigma={noise:g}(\.0)?&"))


if __name__ == "__main__":
    crowd() if "crowd" in sys.argv[1:] else alone()
