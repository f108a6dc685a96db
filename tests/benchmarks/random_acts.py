"""Hundreds of fast random acts on every page: ``python -m tests.benchmarks.random_acts --busy``.

Numbers are typed and sliders pressed right after one another, pages are changed, and the browser goes back.
Every act must have its effect, and every address must give another visitor the same page.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.benchmarks.click_to_picture import busy_cores
from tests.benchmarks.first_page import FLAGS
from tests.benchmarks.visitor import Visitor, share
from tests.served import served


def main() -> None:
    """Act, and print how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--acts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--busy", action="store_true", help="keep every core busy meanwhile")
    options = parser.parse_args()
    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        served(Path(home)) as dashboard,
        busy_cores(options.busy),
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        visited = {"cookies": [dashboard.cookie()]}
        visitor = Visitor(browser.new_context(storage_state=visited).new_page(), options.seed)
        visitor.open(dashboard.address)
        began = time.perf_counter()
        while visitor.acts < options.acts:
            visitor.act()
        share(visitor, browser.new_context(storage_state=visited).new_page())
        browser.close()
    seconds = time.perf_counter() - began
    print(f"{visitor.acts} acts with seed {options.seed}, each with its effect, in {seconds:.0f} s")


if __name__ == "__main__":
    main()
