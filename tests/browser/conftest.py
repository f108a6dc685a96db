"""A served dashboard and Debian's Chromium; skipped where there is none, but never in CI."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from dashboard import launch
from vips_core.store.store import Store

COMMAND = "import sys; from dashboard.launch import main; sys.exit(main())"  # of `vips-explorer`
# The popups of the address bar, which nobody sees, are pages of their own in each window and took most of the
# time of opening one. Chromium takes the last list of features: the others are those of Playwright's own.
FEATURES_OFF = [
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay",
    "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]  # fmt: skip
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    f"--disable-features={','.join(FEATURES_OFF)}",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium")
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """The server's store, in a folder of its own."""
    return Store(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def server(chromium, shelf, tmp_path_factory):
    """Address of the dashboard, started from another folder with the command that users start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    root = os.path.dirname(os.path.dirname(launch.__file__))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
        "VIPS_HOME": str(shelf.home),
        "VIPS_WARM": "1",
    }
    with log.open("w") as output:
        command = [sys.executable, "-c", COMMAND, "dashboard", "--port", str(port)]
        process = subprocess.Popen(command, cwd=log.parent, env=environment, stdout=output, stderr=output)
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture
def visit(chromium, server):
    """Open an address in a browser of its own, as another visitor would."""
    contexts = []

    def open_page(address=""):
        context = chromium.new_context(viewport={"width": 1440, "height": 1000})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(address if address.startswith("http") else server + address)
        return page

    yield open_page
    for context in contexts:
        context.close()


def _wait_until_healthy(address, process, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the dashboard did not start: {log.read_text()[-2000:]}")
