"""What commands share: `--json`, answers as JSON or in words, and progress bars."""

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from vips_core.options import Option


def add_json(*parsers: argparse.ArgumentParser) -> None:
    """Declare `--json`."""
    for parser in parsers:
        parser.add_argument("--json", action="store_true", help="print JSON")


def add_options(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    """Declare options of a run or a file."""
    for name, option in options.items():
        parser.add_argument(f"--{name}", type=option.kind, help=option.short_help.replace("%", "%%"))


def print_json(content: Any) -> None:
    """Print an object or a list as JSON."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def answer(options: argparse.Namespace, content: Any, *sentences: str) -> None:
    """Print the content as JSON where `--json` asks for it, otherwise sentences."""
    if options.json:
        print_json(content)
    else:
        print("\n".join(sentences))


class _Shown:
    """Standard error for progress: a closed terminal or a full disk stops no run."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def show(text: str) -> None:
    """Print on stderr where that is possible."""
    print(text, file=_Shown(), flush=True)


def progress_bar(total: int, unit: str, *, hidden: bool = False) -> "tqdm[None]":
    """Return a bar on stderr that counts up to `total`; `hidden` where the output is for a program.

    It is shown on a terminal only, and leaves no line behind: results or an error come next.
    """
    return tqdm(
        total=total,
        unit=unit,
        file=_Shown(),
        disable=True if hidden else None,
        leave=False,
        dynamic_ncols=True,
        unit_scale=unit == "B",
    )
