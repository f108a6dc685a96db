"""What tests of pages share: a page opened by an address, without exceptions, and a run made for it."""

import time

from streamlit.testing.v1 import AppTest

from vips_core.jobs import worker
from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit


def opened(at, **address):
    """Run an AppTest that was opened by an address with these values."""
    for name, value in address.items():
        at.query_params[name] = str(value)
    return checked(at.run())


def view(name, **address):
    """Open a page of the app alone, by an address with these values."""
    return opened(unopened(name), **address)


def unopened(name):
    """A page of the app alone, before its first run."""
    return AppTest.from_function(_show, args=(name,), default_timeout=60)


def _show(name):
    from dashboard import pages

    pages.draw(name)


def settled(at):
    """Run until slow calls have been answered, as a page does by itself."""
    deadline = time.monotonic() + 60
    while checked(at).session_state["waiting"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        at.run()
    return at


def metrics(at):
    return {metric.label: metric.value for metric in at.metric}


def checked(at):
    assert not at.exception
    return at


def address(at):
    return {name: value[0] if isinstance(value, list) else value for name, value in at.query_params.items()}


def trained(store, **request):
    """Do a run in this process, and return its id."""
    run_id = submit(store, Request.from_mapping(request))
    worker.work(store, run_id)
    assert store.run(run_id).status == "done", store.run(run_id).error
    return run_id


def trained_by(methods, store, epsilon, **request):
    """Do a run by each method, and return their ids."""
    return {
        method: trained(
            store, method=method, **request, **({} if method == "non-private" else {"epsilon": epsilon})
        )
        for method in methods
    }


def widget(elements, key):
    """Return the widget of a value, whose key begins with this."""
    (element,) = [element for element in elements if element.key and element.key.startswith(key + ":")]
    return element
