"""The command `vips-explorer`."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from vips_core.cli.data import add_data
from vips_core.cli.fit import add_fit
from vips_core.cli.ledger import add_ledger
from vips_core.cli.plan import add_audit, add_plan
from vips_core.cli.runs import add_runs
from vips_core.cli.sweep import add_sweep

BAD_INPUT = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line on stderr, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it worked, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        code: int | None = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the very end
        return 1
    except (ValueError, OSError) as error:
        print(f"vips-explorer {options.command}: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return 130
    return code or 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="vips-explorer", description="Differentially private variational Bayes.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_plan(commands)
    add_audit(commands)
    add_fit(commands)
    add_sweep(commands)
    add_runs(commands)
    add_data(commands)
    add_ledger(commands)
    dashboard = commands.add_parser("dashboard", help="open the dashboard in a browser")
    dashboard.add_argument(
        "--port", type=int, help="port on 127.0.0.1 (default: the first free one from 8501)"
    )
    dashboard.set_defaults(run=_dashboard)
    return parser


def _dashboard(options: argparse.Namespace) -> None:
    from dashboard.launch import serve  # here: the core does not need the dashboard

    serve(options.port)
