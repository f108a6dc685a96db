"""Starting the pages with our settings, from a checkout or an installed wheel."""

import json
import os
import socket
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

_HERE = Path(__file__).parent
_FIRST_PORT, _TRIES = 8501, 100


def command(port: int | None = None) -> list[str]:
    """Return the arguments that start Streamlit with every setting of the packaged file as a flag."""
    settings = tomllib.loads((_HERE / "config.toml").read_text(encoding="utf-8"))
    flags = [f"--{name}={_text(value)}" for name, value in _flatten(settings)]
    if port is not None:
        flags.append(f"--server.port={port}")
    return [sys.executable, "-m", "streamlit", "run", str(_HERE / "app.py"), *flags]


def serve(port: int | None = None) -> NoReturn:
    """Print the address and serve the pages there until interrupted."""
    if port is None:
        port = next((p for p in range(_FIRST_PORT, _FIRST_PORT + _TRIES) if _is_free(p)), _FIRST_PORT)
    elif not 1 <= port <= 65535:
        raise ValueError(f"port must be from 1 to 65535, got {port}")
    elif not _is_free(port):
        raise ValueError(f"port must be free, but something on this machine uses {port}")
    print(f"VIPS Explorer: http://127.0.0.1:{port} (stop with Ctrl+C)", flush=True)
    arguments = command(port)
    os.execv(arguments[0], arguments)  # signals reach the server itself, and nothing is orphaned


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
