"""The command `vips-explorer`, and starting the pages with our settings, from a checkout or a wheel.

The first page has to show within seconds of the command, so the server starts without the core, which takes a
second to load: the start page loads it when it is drawn, any other when it is opened.
"""

import gc
import json
import os
import signal
import socket
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

_HERE = Path(__file__).parent
_FIRST_PORT, _TRIES = 8501, 100
INTERRUPTED = 130  # what shells call a process that Ctrl-C ended
_WARM = "2"  # processes that wait for runs, so that two methods start at once
_GARBAGE = 50_000  # new objects between looks for garbage: the usual 700 make loading a third slower


def main() -> int:
    """Open the pages at once where that is all that is asked; the core's parser reads everything else."""
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
    except KeyboardInterrupt:  # before its own handler
        return INTERRUPTED


def add_dashboard(commands: Any) -> None:
    """Declare the options of `dashboard`."""
    parser = commands.add_parser("dashboard", help="open the dashboard in a browser")
    parser.add_argument(
        "--port", type=int, help=f"port on 127.0.0.1 (default: the first free one from {_FIRST_PORT})"
    )
    parser.set_defaults(run=lambda options: serve(options.port))


def arguments(port: int) -> list[str]:
    """Return what Streamlit is told: the script, and every setting of the packaged file as a flag."""
    settings = tomllib.loads((_HERE / "config.toml").read_text(encoding="utf-8"))
    flags = [f"--{name}={_text(value)}" for name, value in _flatten(settings)]
    return ["run", str(_HERE / "app.py"), *flags, f"--server.port={port}"]


def serve(port: int | None = None) -> NoReturn:
    """Print the address and serve the pages there until interrupted."""
    if port is None:
        port = next((p for p in range(_FIRST_PORT, _FIRST_PORT + _TRIES) if _is_free(p)), _FIRST_PORT)
    elif not 1 <= port <= 65535:
        raise ValueError(f"port must be from 1 to 65535, got {port}")
    elif not _is_free(port):
        raise ValueError(f"port must be free, but something on this machine uses {port}")
    print(f"VIPS Explorer: http://127.0.0.1:{port} (stop with Ctrl+C)", flush=True)
    gc.set_threshold(_GARBAGE)
    os.environ.setdefault("VIPS_WARM", _WARM)
    # Pages multiply small matrices: a second thread would wait for a core that draws. Workers set their own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from streamlit.web import cli  # here: it takes half a second, and bad input should not wait for it

    sys.exit(cli.main(arguments(port), prog_name="streamlit"))


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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
