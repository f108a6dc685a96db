"""What browser tests and benchmarks share to serve the dashboard: the command, a port, Chromium's flags."""

import socket
import sys

CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def command(port: int) -> list[str]:
    """Return what `vips-explorer dashboard --port` runs, without an installed script."""
    code = "import sys; from dashboard.launch import main; sys.exit(main())"
    return [sys.executable, "-c", code, "dashboard", "--port", str(port)]


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
