"""What tests of pages share: a page opened by an address, without exceptions, and a run made for it."""

from vips_core.runs import worker
from vips_core.runs.request import Request


def opened(at, **address):
    """Run an AppTest that was opened by an address with these values."""
    for name, value in address.items():
        at.query_params[name] = str(value)
    return checked(at.run())


def checked(at):
    assert not at.exception
    return at


def address(at):
    return {name: value[0] if isinstance(value, list) else value for name, value in at.query_params.items()}


def trained(store, **request):
    """Do a run in this process, and return its name."""
    run_id = store.submit(Request.from_mapping(request))
    worker.work(store, run_id)
    assert store.run(run_id).status == "done", store.run(run_id).error
    return run_id
