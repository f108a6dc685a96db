"""Count the modules that a command or a click uses: those in which at least one function runs.

Everything is imported first, so that imports do not count. `fit` trains logistic regression from the shell in
an empty store; `train` is a click on Train of the Risk page, whose run is cancelled instead of trained;
`plan` is a change of σ on the Plan page.

    python -m tests.benchmarks.walks [fit] [train] [plan] [--names]

To measure another checkout, run this in its root folder, which `python -m` searches first; a version without
this file needs a copy of it.
"""

import argparse
import importlib
import inspect
import os
import pkgutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vips_core

ROOT = Path(vips_core.__file__).parent.parent
PACKAGES = ("vips_core", "dashboard")
FIT = "fit logistic --data nhanes-stroke --epsilon 1 --delta 1e-5 --epochs 2"


def modules_of(work: Callable[[], object]) -> list[str]:
    """Return the modules in which a function runs while `work` does, in any thread."""
    files: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:  # neither a module nor a class body
            files.add(code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    folders = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)
    return sorted(str(Path(file).relative_to(ROOT)) for file in files if file.startswith(folders))


def import_everything() -> None:
    """Import all modules, as a long-lived process has."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not module.name.endswith(("__main__", "dashboard.app")):
                importlib.import_module(module.name)


def fit() -> list[str]:
    """Train from the shell."""
    from vips_core.cli import main

    return modules_of(lambda: main(FIT.split()))


def opened(page: str) -> Any:
    """Open a page of the app."""
    from streamlit.testing.v1 import AppTest

    return settled(AppTest.from_function(_show, args=(page,), default_timeout=120).run())


def settled(at: Any) -> Any:
    """Run a page until its slow calls have returned."""
    while at.session_state["waiting"]:
        assert not at.exception
        time.sleep(0.05)
        at.run()
    assert not at.exception
    return at


def _show(page: str) -> None:
    import importlib

    importlib.import_module(f"dashboard.views.{page}.page").show()


def train() -> list[str]:
    """Click on Train of the Risk page, and cancel the run instead of starting a worker."""
    from vips_core.jobs import supervisor

    supervisor.start = lambda store, *others: [store.cancel(run.id) for run in store.runs(status="queued")]
    at = opened("risk")
    (button,) = [button for button in at.button if button.label == "Train"]
    button.click()
    return modules_of(lambda: settled(at.run()))


def plan() -> list[str]:
    """Change σ on the Plan page."""
    at = opened("plan")
    (noise,) = [number for number in at.number_input if (number.key or "").startswith("number:sigma:")]
    noise.set_value(noise.value * 1.5)
    return modules_of(lambda: settled(at.run()))


WALKS = {"fit": fit, "train": train, "plan": plan}


def main() -> None:
    """Print how many modules each walk has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("walks", nargs="*", metavar="WALK", help=f"of {', '.join(WALKS)} (default: all)")
    parser.add_argument("--names", action="store_true", help="print the modules, too")
    options = parser.parse_args()
    import_everything()
    for walk in options.walks or WALKS:
        with tempfile.TemporaryDirectory() as home:
            os.environ["VIPS_HOME"] = home
            modules = WALKS[walk]()
        print(f"{walk}: {len(modules)} modules")
        for module in modules if options.names else ():
            print(f"  {module}")


if __name__ == "__main__":
    main()
