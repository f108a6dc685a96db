"""What the Runs page says."""

from collections.abc import Sequence

from vips_core.jobs.request import Request
from vips_core.sweeps.grid import Sweep

INTRODUCTION = "Everything that was trained here, what it cost, and what is left of each budget."
HISTORY_CAPTION = (
    "Newest first, pinned ones on top. Choose runs to compare them, to export reports, to pin or to delete."
)
NO_MATCH = "No run matches these filters."
NOTHING_YET = "Nothing was trained here yet. Begin on Topics, Risk or Images."
DELETING = "This removes the run and its files for good. The ledger keeps what it cost."
SETTINGS_CAPTION = "What differs."
SAME_SETTINGS = "These runs had the same settings."
ACCOUNTS_CAPTION = "From the ledger of what was released, at each run's δ."
NO_LEDGER = "There is no ledger."
SCORES_CAPTION = "On public held-out records. Training records are never scored."
NO_SCORES = "There are no scores."
CONFIG_CAPTION = "A run's or a sweep's config.toml, from a report or written by hand."
NO_PRIVATE_DATA = (
    "Data that come with the project are public and need no budget. Upload your own on Topics, Risk or "
    "Images: it is private unless you say otherwise, and gets a cap."
)
LEDGER_CAPTION = "Everything that was reserved and released, in a chain of hashes."
CAP_CAPTION = (
    "A cap is a promise to the people in the data. A larger one, and any after a run, needs your name and a "
    "reason: the ledger keeps them, and reports show them."
)
CAPS_CAPTION = "Caps so far, the newest first. A run's report states the one that held when it was reserved."
ADAPTIVITY = (
    "Each run is chosen after looking at the ones before, so the cap is kept by a privacy filter. It counts "
    "more than the ε of the same releases planned as a whole. The difference is the price of adaptivity."
)
REASON_HELP = "Needed for a larger cap, for any cap after a run, and where δ is above 1/(10·N)."
SEPARATION_CAPTION = (
    "For data sets that share a budget although their people are others, for instance because two studies "
    "number from 1. Possible until a run is counted for both. Your name and the reason go into the ledger "
    "and into every report."
)
NOTHING_RELEASED = "Nothing was released yet."


def config(asked: Request | Sweep) -> str:
    """Say what a config asks for."""
    if isinstance(asked, Request):
        return f"A run of {asked.model} ({asked.method}) on {asked.data}."
    return f"A sweep of {asked.model} on {asked.data} with {len(asked.cells()):,} runs."


def verdict(wrong: Sequence[str], rows: int) -> str:
    """Say whether the ledger is whole."""
    if wrong:
        return " ".join(wrong)
    return f"The ledger is whole: all {rows:,} rows are there, and each follows from the one before it."
