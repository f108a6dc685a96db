"""What a model page asks for: its parameters in the address, the requests they make, and their submission."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard import components, library, session
from dashboard.session import Choice, Number, Parameter, Text, log_stops
from vips_core import ACCOUNTANTS
from vips_core.runs import supervisor
from vips_core.runs.request import Request
from vips_core.runs.rows import DataRow, RunRow
from vips_core.runs.tasks import NON_PRIVATE, TASKS

NOT_ON_PRIVATE = (NON_PRIVATE, "perm")  # no noise at all; and a proof that does not compose with the ledger
LONGEST = 200.0  # epochs

METHODS = Text("methods", "refined", r"[a-z-]{1,20}", several=True)
EPSILON = Number(
    "epsilon", "Target ε", 1.0, 0.01, 100, "The privacy cost of the run. The smaller, the more private.",
    log_stops(0.01, 100),
)  # fmt: skip
NOISE = Number(
    "noise", "Noise σ", None, 0.1, 1000,
    "Noise multiplier: standard deviation of the noise over what one record can move.", log_stops(0.1, 100),
)  # fmt: skip
DELTA = Number(
    "delta", "δ", None, 1e-15, 0.1, "Allowed chance that the guarantee fails. Keep it well below 1/N.",
    log_stops(1e-12, 1e-2, mantissas=(1, 2, 5)),
)  # fmt: skip
BATCH = Number(
    "batch", "Batch size S", None, 1, 10**9,
    "Expected records in one step. Each record is drawn with probability S/N.",
    log_stops(1, 10**9, whole=True), whole=True,
)  # fmt: skip
ACCOUNTANT = Choice(
    "accountant", "Accountant", "pld", {name: item.label for name, item in ACCOUNTANTS.items()},
    "The accountant whose ε has to meet the target. Strong composition always uses its own.",
)  # fmt: skip
SEED = Number(
    "seed", "Seed", None, 0, 2**31, "The same seed gives the same run. Whoever knows it can subtract the "
    "noise, so such a run is a demonstration without guarantee.", (), whole=True,
)  # fmt: skip
RUNS = Text("runs", None, r"[0-9a-f]{8}", several=True)
EXAMPLE = Text("example", None, "1")
UPLOAD = Text("upload", None, "1")


@dataclass(frozen=True)
class Bench:
    """A model page.

    Attributes
    ----------
    labels
        Method to label, in the order shown.
    numbers
        The model's own inputs.
    example
        Values of the ready example, by their names in the address.
    looks
        What else the address holds: how results are looked at.
    """

    model: str
    title: str
    introduction: str
    labels: Mapping[str, str]
    numbers: tuple[Number, ...]
    example: Mapping[str, Any]
    looks: tuple[Parameter, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All that the address holds."""
        first = library.data_sets(self.model)[0].name
        return (
            Text("data", first, r"\w[\w .-]{0,63}"), METHODS, EPSILON, NOISE, DELTA, self.epochs, BATCH,
            ACCOUNTANT, SEED, *self.numbers, RUNS, EXAMPLE, UPLOAD, *self.looks,
        )  # fmt: skip

    @property
    def epochs(self) -> Number:
        """Passes over the data, by default as many as suit the model."""
        return Number(
            "epochs", "Epochs", TASKS[self.model].epochs, 0.05, LONGEST,
            "Passes over the data, in expectation.", log_stops(0.1, LONGEST),
        )  # fmt: skip

    def methods_for(self, row: DataRow) -> list[str]:
        """Return the methods that a data set allows."""
        return [name for name in self.labels if not (row.private and name in NOT_ON_PRIVATE)]


@session.whole
def load(bench: Bench) -> DataRow:
    """Take the values of a new visit from the address, make them agree, and return the data set."""
    session.load(bench.parameters)
    example = session.get("example") is not None
    if example:
        _take({item.name: item.default for item in bench.parameters} | dict(bench.example))
    known = {row.name: row for row in library.data_sets(bench.model)}
    if session.get("data") not in known:
        first = next(iter(known))
        sentence = f"There is no data set {session.get('data')!r} for this page; {first} is used."
        choose(first)
        session.complain(sentence)
    row = known[session.get("data")]
    session.state["data"] = row.name  # for the header of all pages
    if session.get("delta") is None:
        session.put("delta", row.cap.delta if row.cap else suggested_delta(row.records))
    allowed = bench.methods_for(row)
    wanted = [name for name in session.get("methods").split(",") if name in allowed]
    session.put("methods", ",".join(wanted or allowed[:1]))
    if row.private:
        session.put("seed", None)
    if example:
        submit(bench)
    return row


def choose(name: str) -> None:
    """Take another data set: what was suggested for the last one is suggested anew."""
    _take({"data": name, "delta": None, "batch": None, "runs": None, "upload": None})


def _take(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        session.change(name, value)
        components.refresh(name)


def suggested_delta(records: int) -> float:
    """Return the largest power of ten that is at most a tenth of 1/N."""
    return float(f"1e{math.floor(math.log10(0.1 / records) + 1e-9)}")


def requests(bench: Bench) -> list[Request]:
    """Return one request for each chosen method; `ValueError` with one sentence where they do not agree."""
    shared = {
        name: session.get(name)
        for name in (
            "data",
            "delta",
            "epochs",
            "batch",
            "accountant",
            "seed",
            *(n.name for n in bench.numbers),
        )
    }
    spending = {name: session.get(name) for name in ("epsilon", "noise")}
    if spending["noise"] is not None:
        del spending["epsilon"]
    return [
        Request.from_mapping(
            {"model": bench.model, "method": method, **shared, **({} if method == NON_PRIVATE else spending)}
        )
        for method in session.get("methods").split(",")
    ]


def submit(bench: Bench) -> None:
    """Queue the chosen runs and put them into the address; refusals are kept for the page to show."""
    found = []
    try:
        for request in requests(bench):
            same = library.same_run(request)
            found.append(library.store().submit(request) if same is None else same.id)
        supervisor.start(library.store())
    except ValueError as problem:
        session.complain(str(problem))
    if found:
        session.put("runs", ",".join(found))


def runs_of_visit(bench: Bench, row: DataRow) -> dict[str, RunRow]:
    """Return the runs that the address names, by method; those that do not belong here are complained of."""
    found: dict[str, RunRow] = {}
    for run_id in (session.get("runs") or "").split(","):
        if not run_id:
            continue
        try:
            run = library.store().run(run_id)
        except ValueError as problem:
            session.complain(f"In the address, {problem}.")
            session.put("runs", None)
            return {}
        if run.request.get("model") == bench.model and run.data == row.name:
            found.setdefault(run.request["method"], run)
    return {method: found[method] for method in bench.labels if method in found}
