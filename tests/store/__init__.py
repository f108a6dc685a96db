"""Shared by tests of the store: a private data set of coin flips, and requests to run on it."""

from vips_core.jobs.request import Request
from vips_core.store.budget import Cap

CAP = Cap(3.0, 1e-5)
SIGNED = {"by": "Ada", "reason": "the board agreed"}


def request(**values):
    table = {"model": "sbn", "data": "flips", "hidden": 2, "delta": 1e-5, "epochs": 12}
    spend = {} if {"noise", "method"} & set(values) else {"epsilon": 1.0}
    return Request.from_mapping(table | spend | values)


def damage(path, how):
    content = path.read_bytes()
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2 + 100])
    elif how == "nonsense":
        path.write_bytes(b"nonsense" * 500)
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
