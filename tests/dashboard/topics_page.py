"""What tests of model pages share: the Topics page on small corpora, whose runs wait for `worked`."""

import re

import numpy as np
import pytest

from dashboard import stored
from dashboard.components import live_runs
from tests.pages import checked, view
from vips_core import Documents
from vips_core.jobs import supervisor, worker
from vips_core.store.budget import Cap

WORDS = ("tax", "debt", "army", "navy", "<b>peace</b>", "treaty")


def documents(count, seed):
    rng = np.random.default_rng(seed)
    favour = rng.integers(0, 2, count)
    chances = np.where(
        favour[:, None] == 0, [0.4, 0.4, 0.05, 0.05, 0.05, 0.05], [0.05, 0.05, 0.3, 0.2, 0.2, 0.2]
    )
    return Documents.from_counts(np.array([rng.multinomial(12, row) for row in chances]), WORDS)


@pytest.fixture
def store(home, monkeypatch):
    """A store with a public and a private corpus; runs wait until a test works on them."""
    monkeypatch.setattr(supervisor, "start", lambda store: [])
    monkeypatch.setattr(live_runs, "follow", lambda runs, **rest: None)
    store = stored.store()
    assert store.home == home
    train, test = documents(60, 0), documents(30, 1)
    store.add_data("open", train, test, private=False, unit="one document")
    store.add_data("clinic", documents(80, 2), test, private=True, cap=Cap(1.0, 1e-4), unit="one person")
    return store


def page(**address):
    return view("topics", **{"data": "open", "topics": 2, "epochs": 10} | address)


def errors(at):
    return [re.sub(r"\\(.)", r"\1", error.value) for error in at.error]


def said(at):
    return "\n".join(str(item.value) for item in [*at.markdown, *at.caption, *at.info, *at.warning])


def status(at):
    (line,) = [item.proto.body for item in at.get("html") if 'role="status"' in item.proto.body]
    return re.sub("<style>.*</style>|<[^>]+>", "", line, flags=re.S)


def press_train(at):
    """Press Train, and confirm if the page asks before spending."""
    if [button for button in at.button if button.key == "ask"]:
        checked(at.button(key="ask").click().run())
    return checked(at.button(key="train").click().run())


def worked(at, store):
    """Do the waiting runs, then draw the page again."""
    for run in store.runs(status="queued"):
        worker.work(store, run.id)
        assert store.run(run.id).status == "done", store.run(run.id).error
    return checked(at.run())
