"""Reports of runs that take no time."""

from vips_core.jobs import worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit

TABLE = {"model": "logistic", "data": "small", "delta": 1e-3, "epochs": 4}


def worked(store, **changes):
    run_id = submit(store, Request.from_mapping(TABLE | changes))
    worker.work(store, run_id)
    assert store.run(run_id).status == "done"
    return run_id


def text_of(html):
    """Return the page as one line, because a browser treats line breaks as spaces."""
    return " ".join(html.split())
