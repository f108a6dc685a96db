"""The inputs of the Audit page, each with its name in the address."""

from dashboard.state import Choice, Number, Parameter, Text, log_stops
from vips_core.audits.job import OPTIONS
from vips_core.jobs.request import SPENDING
from vips_core.models.task import TASKS

AUDIT = Text("audit", None, r"[0-9a-f]{8}")
MODEL = Choice(
    "model",
    "Model",
    "logistic",
    {name: task.title for name, task in TASKS.items()},
    "Which model's releases are attacked.",
)
DATA = Text("data", None, r"\w[\w .-]{0,63}")  # where it is left out, the first public one that suits
METHOD = Text("method", None, r"[a-z-]{1,20}")
SPEND = Choice("spend", "Plan by", "noise", {"noise": "Noise σ", "epsilon": "Target ε"}, "What is fixed.")
NOISE = Number("noise", "Noise σ", 2.0, 0.1, 100, SPENDING["noise"].help, log_stops(0.1, 100))
EPSILON = Number("epsilon", "Target ε", 2.0, 0.01, 50, SPENDING["epsilon"].help, log_stops(0.01, 50))
DELTA = Number(
    "delta", "δ", 1e-5, 1e-12, 0.1, SPENDING["delta"].help, log_stops(1e-12, 0.1, mantissas=(1, 2, 5))
)
BATCH = Number.of("batch", SPENDING["batch"], log_stops(1, 10**9, whole=True))
ATTACK = Choice.of("attack", OPTIONS["attack"])
RELEASES = Number(
    "releases",
    "Releases",
    10_000,
    100,
    10**6,
    OPTIONS["releases"].help,
    log_stops(100, 10**6, whole=True, mantissas=(1, 2, 4)),
    whole=True,
)
CANARIES = Number(
    "canaries",
    "Canaries",
    500,
    4,
    10_000,
    OPTIONS["canaries"].help,
    log_stops(4, 10_000, whole=True, mantissas=(1, 2, 5)),
    whole=True,
)
CONFIDENCE = Choice(
    "confidence",
    "Confidence",
    "0.95",
    {"0.9": "90%", "0.95": "95%", "0.99": "99%", "0.999": "99.9%"},
    OPTIONS["confidence"].help,
)
PARAMETERS: tuple[Parameter, ...] = (
    AUDIT,
    MODEL,
    DATA,
    METHOD,
    SPEND,
    NOISE,
    EPSILON,
    DELTA,
    BATCH,
    ATTACK,
    RELEASES,
    CANARIES,
    CONFIDENCE,
)
