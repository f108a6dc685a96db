"""Time from the command to the first page: ``python -m tests.benchmarks.first_page [--rounds 4]``.

The browser is open and goes to the address as soon as the server answers. "Empty" has nothing of the page in
its cache, as on a first visit; "again" is the same browser after the dashboard was started anew. The page
counts as visible when its heading is. Give it the whole machine.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

from tests.served import free_port, served

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
AGAIN = 2


def start(browser: BrowserContext, port: int, home: Path) -> tuple[float, float]:
    """Return the seconds from the command until the server answers and until the first page shows."""
    page = browser.new_page()
    page.goto("about:blank")
    time.sleep(1)  # do not measure how the browser opens
    began = time.perf_counter()
    with served(home, port) as dashboard:
        answers = time.perf_counter() - began
        page.goto(dashboard.at("/"), wait_until="commit")
        page.get_by_role("heading", name="Learn from many, reveal no one").wait_for()
        shows = time.perf_counter() - began
        page.get_by_text("No run is training").wait_for()
    page.close()
    return answers, shows


def told(times: list[float]) -> str:
    """Median and range in words."""
    return f"median {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"


def main() -> None:
    """Print the times of all rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    rounds = parser.parse_args().rounds
    answers, empty, again = [], [], []
    with sync_playwright() as playwright:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                browser = playwright.chromium.launch_persistent_context(
                    f"{folder}/browser", executable_path=shutil.which("chromium"), args=FLAGS
                )
                port = free_port()  # the same for all visits: the cache goes by address
                for times in [empty, *[again] * AGAIN]:
                    answer, shown = start(browser, port, Path(folder, "home"))
                    answers.append(answer)
                    times.append(shown)
                browser.close()
    for name, times in (("server answers", answers), ("page, empty", empty), ("page, again", again)):
        print(f"{name:<16} {told(times)}")


if __name__ == "__main__":
    main()
