"""Shared by tests of jobs: a request of a few steps on private coin flips, and its releases."""

from vips_core.jobs.request import Request
from vips_core.store import budget

STEPS = 8


def request(**values):
    table = {"model": "sbn", "data": "flips", "method": "paper", "hidden": 2, "delta": 1e-5, "epochs": STEPS}
    return Request.from_mapping(table | {"noise": 20.0} | values)


def releases(store, run):
    (use,) = [use for use in budget.uses(store.ledger()) if use.run == run]
    assert use.settled
    return sum(event.count for event in use.events)


def announced(store, run):
    return [row.content["releases"] for row in store.ledger() if (row.run, row.kind) == (run, "announce")]
