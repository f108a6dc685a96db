"""The sentences of the Runs page."""

from collections.abc import Sequence

from vips_core.jobs.request import Request
from vips_core.sweeps.grid import Sweep

INTRODUCTION = "Past and running jobs, their privacy cost, and the budget left on each private data set."
PART_HELP = "Runs, sweeps and audits; budgets of private data; or a run from a config file."
HISTORY_CAPTION = "Newest first, pinned runs on top. Select runs to compare, export, pin or delete them."
NO_MATCH = "No run matches these filters."
NOTHING_YET = "Nothing trained yet. Start on Topics, Risk or Images."
DELETING = "This deletes the run and its files for good. The ledger keeps its privacy cost."
SETTINGS_CAPTION = "Only settings that differ."
SAME_SETTINGS = "These runs have the same settings."
ACCOUNTS_CAPTION = "From each run's ledger of releases, at its own δ."
NO_LEDGER = "No ledger."
SCORES_CAPTION = "On public held-out records. Training records are never scored."
NO_SCORES = "No scores."
CONFIG_CAPTION = "The config.toml of a run or sweep, from a report or written by hand."
NO_PRIVATE_DATA = (
    "Shipped data are public and need no budget. Upload your own on Topics, Risk or Images: unless you "
    "declare them public, they are private and get a cap."
)
LEDGER_CAPTION = "Every reservation and release, in a hash chain."
CAP_CAPTION = (
    "A cap is a promise to the people in the data. A higher cap, and any change after a run, needs your name "
    "and a reason: the ledger keeps both, and reports show them."
)
CAPS_CAPTION = "All caps, newest first. A run's report states the cap in force when the run was reserved."
ADAPTIVITY = (
    "Runs are chosen adaptively, so a privacy filter enforces the cap. It charges more than the same "
    "releases would cost if planned as a whole. The difference is the price of adaptivity."
)
REASON_HELP = "Required for a higher cap, for any change after a run, and for δ above 1/(10·N)."
SEPARATION_CAPTION = (
    "For data sets of different people that share a budget by mistake, such as two studies that both number "
    "people from 1. Possible until a run counts against both. Ledger and reports keep your name and reason."
)
NOTHING_RELEASED = "Nothing released yet."


def config(asked: Request | Sweep) -> str:
    """Summarise a config."""
    if isinstance(asked, Request):
        return f"A run of {asked.model} ({asked.method}) on {asked.data}."
    return f"A sweep of {asked.model} on {asked.data} with {len(asked.cells()):,} runs."


def verdict(wrong: Sequence[str], rows: int) -> str:
    """Report the result of verifying the ledger."""
    return " ".join(wrong) or f"The ledger is intact: all {rows:,} rows are present and in sequence."
