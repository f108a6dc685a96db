"""The inputs of the Runs page, each with its name in the address."""

from dashboard.state import Choice, Text
from vips_core.models.task import TASKS
from vips_core.reports.figures import METHOD_NAMES
from vips_core.store.rows import STATUSES

ALL = "all"
HISTORY, BUDGETS, IMPORT = "history", "budgets", "import"
SWEEPS, AUDITS = "sweep", "audit"  # among the methods

PART = Choice(
    "part",
    "Show",
    HISTORY,
    {HISTORY: "Runs", BUDGETS: "Budgets", IMPORT: "Import"},
    "Runs, sweeps and audits, the budgets of private data, or a run from a config file.",
)
MODEL = Choice(
    "model",
    "Model",
    ALL,
    {ALL: "All models", **{name: task.title for name, task in TASKS.items()}},
    "Only runs of this model.",
)
DATA = Text("data", ALL, r"\w[\w .,-]{0,200}")
STATUS = Choice(
    "status",
    "Status",
    ALL,
    {ALL: "Any status", **{name: name.capitalize() for name in STATUSES}},
    "Only runs in this state.",
)
METHOD = Choice(
    "method",
    "Method",
    ALL,
    {ALL: "All methods", **METHOD_NAMES, SWEEPS: "Sweeps", AUDITS: "Audits"},
    "Only this method.",
)
CHOSEN = Text("runs", None, r"[0-9a-f]{8}", several=True)
PARAMETERS = (PART, MODEL, DATA, STATUS, METHOD, CHOSEN)
