"""A served dashboard and Debian's Chromium; skipped where there is none, but never in CI."""

import functools
import os
import shutil

import pytest

from tests.served import served
from vips_core.store.store import Store

# The address bar's popups, which nobody sees, are separate pages in each window and took most of the time to
# open one. Chromium obeys only the last list of features: after the first row, this repeats Playwright's own.
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
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
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
def started(shelf):
    """The dashboard, before anyone has opened its printed address."""
    with served(shelf.home, environment={"VIPS_WARM": "1"}) as dashboard:
        yield dashboard


@pytest.fixture(scope="session")
def server(chromium, started):
    """The dashboard's address. Every new window has the cookie, as if the printed address had been opened."""
    visited = {"cookies": [started.cookie()]}
    chromium.new_context = functools.partial(chromium.new_context, storage_state=visited)
    return started.address


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
