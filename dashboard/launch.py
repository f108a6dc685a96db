"""The command `vips-explorer`, and starting the pages with our settings, from a checkout or a wheel.

The first page has to show within seconds of the command, so the server starts without the core, which takes a
second to load: the start page loads it when it is drawn, any other when it is opened.
"""

import gc
import os
import secrets
import signal
import socket
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

_HERE = Path(__file__).parent
APP = _HERE / "app.py"
_FIRST_PORT, _TRIES = 8501, 100
INTERRUPTED = 130  # exit status of a process that Ctrl-C ended
_WARM = "2"  # processes that wait for runs, so that two methods start at once
_GARBAGE = 50_000  # new objects between garbage collections: the default 700 makes loading a third slower


def main() -> int:
    """Serve the pages at once if nothing else is asked; the core's parser reads all other commands."""
    # While modules load, some would swallow an exception of Ctrl-C, and there is nothing to clean up.
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        match sys.argv[1:]:
            case ["dashboard"]:
                serve()
            case ["dashboard", "--port", port] if port.isdecimal() and _is_usable(int(port)):
                serve(int(port))
        from vips_core.cli import main  # here: it loads the core
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        return main(others=[add_dashboard])
    except KeyboardInterrupt:  # before the parser's own handler is set
        return INTERRUPTED


def add_dashboard(commands: Any) -> None:
    """Declare the options of `dashboard`."""
    parser = commands.add_parser("dashboard", help="open the dashboard in a browser")
    parser.add_argument(
        "--port", type=int, help=f"port on 127.0.0.1 (default: the first free one from {_FIRST_PORT})"
    )
    parser.set_defaults(run=lambda options: serve(options.port))


def settings(port: int) -> dict[str, Any]:
    """Return every setting of the packaged file by its full name, and the port."""
    table = tomllib.loads((_HERE / "config.toml").read_text(encoding="utf-8"))
    return dict(_flatten(table)) | {"server.port": port}


def serve(port: int | None = None) -> NoReturn:
    """Print the address, with a new token, and serve the pages to whoever opens it, until interrupted."""
    if port is None:
        port = next((p for p in range(_FIRST_PORT, _FIRST_PORT + _TRIES) if _is_free(p)), _FIRST_PORT)
    elif not 1 <= port <= 65535:
        raise ValueError(f"port must be from 1 to 65535, got {port}")
    elif not _is_free(port):
        raise ValueError(f"port must be free, but something on this machine uses {port}")
    token = secrets.token_urlsafe(32)
    # On a line of its own, the address fits into 80 columns.
    print(f"VIPS Explorer (stop with Ctrl+C):\nhttp://127.0.0.1:{port}/?token={token}", flush=True)
    gc.set_threshold(_GARBAGE)
    os.environ.setdefault("VIPS_WARM", _WARM)
    # Pages multiply small matrices: a second thread would wait for a core that draws. Workers set their own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Here: they take half a second, and bad input should not wait for it.
    from starlette.middleware import Middleware
    from streamlit.starlette import App

    from dashboard.access import Gate

    config = settings(port)
    gate = Middleware(Gate, token=token, port=port, hosts=config["server.allowedHosts"])
    for number in (signal.SIGINT, signal.SIGTERM):  # the server raises them again when it has stopped
        signal.signal(number, lambda *_: sys.exit())
    App(APP, middleware=[gate]).run(config=config)
    sys.exit()


def _is_usable(port: int) -> bool:
    return 1 <= port <= 65535 and _is_free(port)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
