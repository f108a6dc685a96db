"""Parts shared by all commands: declarations, answers as JSON or text, clusters, and progress bars."""

import argparse
import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from tqdm import tqdm

from vips_core.engines.cluster import Cluster
from vips_core.options import Option


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int | None], about: str
) -> argparse.ArgumentParser:
    """Declare a command that calls `run` and has the option `--json`."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def add_subcommands(parser: argparse.ArgumentParser, metavar: str, *, required: bool = True) -> Any:
    """Give a command subcommands; the chosen name is stored under the metavar in lower case."""
    return parser.add_subparsers(dest=metavar.lower(), metavar=metavar, required=required)


def add_options(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    """Declare options of a run or a file."""
    for name, option in options.items():
        parser.add_argument(f"--{name}", type=option.kind, help=option.short_help.replace("%", "%%"))


def print_answer(options: argparse.Namespace, content: Any, *lines: str) -> None:
    """Print the content as JSON if `--json` was given, otherwise the lines."""
    if options.json:
        print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    elif lines:
        print("\n".join(lines))


def finite(value: float | None) -> float | None:
    """Return a number for JSON, which has no infinity: None in its place."""
    return value if value is not None and math.isfinite(value) else None


def local_time(moment: float) -> str:
    """Return a time as local date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Declare the address of a cluster and its TLS."""
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="tls://host:port, tcp://127.0.0.1:port or local[N]"
    )
    files = {
        "ca": "TLS certificate of the cluster's authority",
        "cert": "your own TLS certificate",
        "key": "key of your own TLS certificate",
    }
    for name, about in files.items():
        parser.add_argument(f"--tls-{name}", metavar="FILE", help=about)
    parser.add_argument(
        "--insecure-cluster", action="store_true", help="send raw sums over a network without TLS"
    )


def chosen_cluster(options: argparse.Namespace) -> Cluster | None:
    """Return the cluster that the options name, and set it for runs of this process and its children."""
    if options.cluster is None:
        return None
    files = (options.tls_ca, options.tls_cert, options.tls_key)
    cluster = Cluster(options.cluster, *files, options.insecure_cluster)
    cluster.to_environment()
    return cluster


class _SafeStderr:
    """Standard error that ignores failed writes: a closed terminal or a full disk must not stop a run."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def show(text: str) -> None:
    """Print to stderr, ignoring failed writes."""
    print(text, file=_SafeStderr(), flush=True)


def progress_bar(total: int, unit: str, *, hidden: bool = False) -> "tqdm[None]":
    """Return a bar on stderr that counts up to `total`; `hidden` if the output is for a program.

    The bar appears on a terminal only, and leaves no line behind: results or an error come next.
    """
    return tqdm(
        total=total,
        unit=unit,
        file=_SafeStderr(),
        disable=True if hidden else None,
        leave=False,
        dynamic_ncols=True,
        unit_scale=unit == "B",
    )
