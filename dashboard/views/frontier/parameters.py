"""The inputs of the Frontier page, each with its name in the address."""

from dashboard import pages
from dashboard.state import Choice, Number, Parameter, Text
from sample_data import frontiers
from vips_core.models.task import NON_PRIVATE, REFINED, TASKS
from vips_core.sweeps.grid import SIZES

_TITLES = {"paper-logistic": "Stroke risk", "paper-lda": "Topics", "paper-sbn": "Digits"}
SHIPPED = {name: _TITLES[name] for name in frontiers.ON_DATA.values()}
SWEEP = Text("sweep", "paper-logistic", rf"[0-9a-f]{{8}}|{'|'.join(SHIPPED)}")  # one's own, or shipped
BESIDE = Choice(
    "beside",
    "Beside what comes with the project",
    "yes",
    {"yes": "Yes", "no": "No"},
    "Whether runs that come with the project, of the same methods on the same data, are drawn too.",
)
SCORE = Text("score", None, r"[\w ().,-]{1,60}")
UTILITY = Number("utility", "Usefulness to reach", None, -1e6, 1e6, "On public held-out records.", ())
PRESET = Choice(
    "preset",
    "New sweep",
    "paper-logistic",
    {
        "paper-logistic": "The paper's stroke risk (Figure 5)",
        "paper-lda": "The paper's topics (Figures 2, 3, Table 1)",
        "paper-sbn": "The paper's digits (Figure 7)",
        pages.OWN_GRID: "Own grid",
    },
    "The paper's experiments on the data that come with the project, or a grid of your own.",
)
SIZE = Choice(
    "size",
    "Size",
    SIZES[0],
    {size: size.capitalize() for size in SIZES},
    "Quick takes minutes. Full has the paper's grids and more seeds, and takes hours.",
)
MODEL = Choice(
    "model",
    "Model",
    "logistic",
    {name: task.title for name, task in TASKS.items()},
    "Which model to train in every run.",
)
DATA = Text("data", None, r"\w[\w .-]{0,63}")  # where it is left out, the first public one that suits
EPSILONS = Text("epsilons", "0.25,0.5,1,2,4", r"\s*\d{1,4}(\.\d{1,6})?\s*", several=True)
METHODS = Text("methods", f"{REFINED},{NON_PRIVATE}", r"[a-z-]{1,20}", several=True)
SEEDS = Number(
    "seeds",
    "Seeds",
    5,
    1,
    100,
    "Runs of each setting. They differ by initialisation, batches and noise.",
    (1, 2, 3, 5, 8, 10, 20, 50, 100),
    whole=True,
)
PARAMETERS: tuple[Parameter, ...] = (
    SWEEP,
    BESIDE,
    SCORE,
    UTILITY,
    PRESET,
    SIZE,
    MODEL,
    DATA,
    EPSILONS,
    METHODS,
    SEEDS,
)
