"""The command `vips-explorer`; other packages may add subcommands."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from vips_core.cli.audit import add_audit
from vips_core.cli.data import add_data
from vips_core.cli.fit import add_fit
from vips_core.cli.ledger import add_ledger
from vips_core.cli.plan import add_plan
from vips_core.cli.runs import add_runs
from vips_core.cli.sweep import add_sweep
from vips_core.store.rows import versions
from vips_core.validate import sentence

BAD_INPUT = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line on stderr, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{sentence(f'{self.prog}: {message}')}\n")


AddCommand = Callable[[Any], None]  # declares a subcommand, given what `add_subparsers` returns


def main(arguments: Sequence[str] | None = None, others: Sequence[AddCommand] = ()) -> int:
    """Run one command.

    Parameters
    ----------
    arguments
        What follows the command's name; by default the arguments of this process.
    others
        Functions that add subcommands from outside the core.

    Returns
    -------
    int
        0 for success, 1 if the reader closed the output, 2 for bad input or a damaged ledger, 130 after
        Ctrl-C.

    Examples
    --------
    >>> main(["ledger", "verify", "--no-such-option"])
    Traceback (most recent call last):
    ...
    SystemExit: 2
    """
    _make_streams_usable()
    options = _parser(others).parse_args(arguments)
    try:
        code: int | None = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the output, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for Python's flush at exit
        return 1
    except (ValueError, OSError) as error:
        print(sentence(f"vips-explorer {options.command}: {error}"), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return 130
    return code or 0


def _make_streams_usable() -> None:
    """Keep prints from failing on a closed output, or on one without ε: the work is done already."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _parser(others: Sequence[AddCommand]) -> argparse.ArgumentParser:
    parser = _Parser(prog="vips-explorer", description="Train Bayesian models with differential privacy.")
    version = f"vips-explorer {versions()['vips-explorer']}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (add_plan, add_fit, add_audit, add_sweep, add_runs, add_data, add_ledger, *others):
        add(commands)
    return parser
