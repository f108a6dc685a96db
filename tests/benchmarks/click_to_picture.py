"""From a click to a picture: ``python -m tests.benchmarks.click_to_picture [CHECKOUT ...]``.

For each checkout (by default the present one), in a store of its own: the seconds from the click on "Show the
ready example" to the first result and to all results, on the three model pages; the same click again, by
another visitor; and, without a browser, from a waiting run to its first step. ``--busy`` keeps every core
busy at normal priority meanwhile. "cpu" is the processor time of all that the server started, which a loaded
machine distorts less. Each measurement is printed as soon as it is known, and one that takes longer than
``--most`` seconds ends the benchmark. Give it the whole machine.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.benchmarks.first_page import FLAGS
from tests.served import served

GOALS = {"risk": (1.5, 3.0), "topics": (4.0, 7.0), "images": (4.0, 12.0)}
SPENT = "Privacy spent and scores"
ENDED = f"""() => document.querySelector('[data-test-script-state=notRunning]')
    && document.body.innerText.includes('{SPENT}')
    && ![...document.querySelectorAll('button')].some(button => button.innerText.includes('Cancel'))"""
FIRST_STEP = """
import sys, time
from pathlib import Path
from vips_core.jobs import supervisor
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store.store import Store
store = Store(Path(sys.argv[1]))
if hasattr(supervisor, "keep_warm"):
    supervisor.keep_warm(store)
    while not supervisor._warm[0].is_ready:
        time.sleep(0.05)
table = {"model": "logistic", "data": "nhanes-stroke", "epsilon": 1.0, "delta": 1e-4}
for _ in range(4):
    run = submit(store, Request.from_mapping(table))
    began = time.perf_counter()
    supervisor.start(store)
    while store.run(run).step == 0:
        time.sleep(0.001)
    print(time.perf_counter() - began)
    while store.run(run).status == "running":
        time.sleep(0.01)
    time.sleep(0.2)
"""


@contextlib.contextmanager
def busy_cores(wanted: bool) -> Iterator[None]:
    """Keep every core busy, each by a process in a session of its own."""
    command = [sys.executable, "-c", "while True: pass"]
    count = os.cpu_count() if wanted else 0
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count or 0)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and of all that it started, ended ones too."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in map(str.split, table.splitlines())}
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for process in parents:
        ancestor = process
        while ancestor not in (pid, 0):
            ancestor = parents.get(ancestor, 0)
        if ancestor == pid:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
                total += sum(map(int, fields[11:15])) / tick
    return total


def click(browser: Browser, address: str, most: float) -> tuple[float, float]:
    """Click on a page's example as a new visitor; return the seconds to the first result and to all."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(1000 * most)
    page.goto(address)
    example = page.get_by_role("button", name="Show the ready example")
    example.wait_for()
    page.wait_for_function("() => document.querySelector('[data-test-script-state=notRunning]')")
    began = time.perf_counter()
    example.click()
    page.get_by_text(SPENT).wait_for()
    first = time.perf_counter() - began
    page.wait_for_function(ENDED)
    ended = time.perf_counter() - began
    context.close()
    return first, ended


def measure(browser: Browser, checkout: Path, rounds: int, settle: float, most: float, busy: bool) -> None:
    """Print what each round of one checkout takes, and the medians."""
    times: dict[str, list[tuple[float, ...]]] = {name: [] for name in GOALS}
    for number in range(1, rounds + 1):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            with served(Path(home), checkout=checkout) as dashboard:
                context = browser.new_context()
                context.new_page().goto(dashboard.at("/"))
                time.sleep(settle)
                with busy_cores(busy):
                    for name, results in times.items():
                        before = cpu_seconds(dashboard.pid)
                        first, ended = click(browser, dashboard.at(f"/{name}"), most)
                        spent = cpu_seconds(dashboard.pid) - before
                        again = click(browser, dashboard.at(f"/{name}"), most)[1]
                        results.append((first, ended, again, spent))
                        show(f"round {number}", name, *results[-1])
                context.close()
    for name, results in times.items():
        show("median", name, *(statistics.median(column) for column in zip(*results, strict=True)))


def show(of: str, name: str, first: float, ended: float, again: float, cpu: float) -> None:
    """Print what an example took."""
    goals = " / ".join(f"{goal:g}" for goal in GOALS[name])
    print(
        f"{of:<8} {name:<8} first {first:6.2f} s   all {ended:6.2f} s (goals {goals})   "
        f"again {again:5.2f} s   cpu {cpu:6.2f} s",
        flush=True,
    )


def first_steps(checkout: Path, most: float) -> None:
    """Print how long a waiting run takes to its first step."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = os.environ | {"PYTHONPATH": str(checkout), "VIPS_WARM": "1"}
        command = [sys.executable, "-c", FIRST_STEP, home]
        output = subprocess.run(
            command, env=environment, cwd=home, capture_output=True, text=True, check=True, timeout=most
        )
    seconds = [float(line) for line in output.stdout.split()]
    print(f"waiting run to its first step: median {statistics.median(seconds):.2f} s, goal 0.3 s")


def main() -> None:
    """Print what each checkout takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--settle", type=float, default=60.0, help="seconds between first page and first click"
    )
    parser.add_argument("--most", type=float, default=300.0, help="seconds that one measurement may take")
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for checkout in options.checkouts:
            print(checkout.resolve(), flush=True)
            where = checkout.resolve()
            measure(browser, where, options.rounds, options.settle, options.most, options.busy)
            first_steps(where, options.most)
        browser.close()


if __name__ == "__main__":
    main()
