"""The dashboard, started with the command that users start, for tests and benchmarks."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
COMMAND = "import sys; from dashboard.launch import main; sys.exit(main())"  # what `vips-explorer` runs
START = 60.0  # seconds within which it must start


@dataclass(frozen=True)
class Served:
    """A dashboard that answers.

    Attributes
    ----------
    address : str
        Its address, without the token.
    query : str
        The part of the printed address that contains the token.
    pid : int
        Its process.
    """

    address: str
    query: str
    pid: int

    def at(self, path: str = "/") -> str:
        """Return the printed address, of the page at this path."""
        return f"{self.address}{path}{'&' if '?' in path else '?'}{self.query}"

    def cookie(self) -> dict[str, Any]:
        """Return the cookie that the printed address is exchanged for, in Playwright's form."""
        with urllib.request.urlopen(self.at()) as answer:
            [cookie] = SimpleCookie(answer.headers["Set-Cookie"]).values()
        return {
            "name": cookie.key,
            "value": cookie.value,
            "domain": "127.0.0.1",
            "path": cookie["path"],
            "expires": -1,
            "httpOnly": bool(cookie["httponly"]),
            "secure": bool(cookie["secure"]),
            "sameSite": cookie["samesite"].capitalize(),
        }


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(
    home: Path,
    port: int | None = None,
    checkout: Path = ROOT,
    command: str = COMMAND,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Served]:
    """Serve the pages of a checkout, from another folder, on the store in `home`, until the block ends."""
    given = ["dashboard", "--port", str(port or free_port())]
    path = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log.txt").open("w+") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", command, *given],
            cwd=folder,
            env=os.environ | {"VIPS_HOME": str(home), "PYTHONPATH": path} | dict(environment or {}),
            stdout=log,
            stderr=log,
        )
        try:
            yield _wait(server, Path(log.name))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)


def _wait(server: subprocess.Popen[bytes], log: Path) -> Served:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and server.poll() is None:
        if printed := re.search(r"(http://[\w.:]+)/?\??(\S*)\s", log.read_text()):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{printed[1]}/_stcore/health", timeout=1).close()
                return Served(printed[1], printed[2], server.pid)
        time.sleep(0.02)
    raise RuntimeError(f"the dashboard did not start: {log.read_text()[-2000:]}")
