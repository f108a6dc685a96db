"""The paper's experiments as sweeps on the shipped data: `quick` in minutes, `full` with the paper's grids.

Where the paper fixes the noise, the methods beside it get the ε of the paper's own releases by PLD, so that
all are compared at the same (ε, δ).
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from vips_core.privacy.plan import PrivacyPlan
from vips_core.runs.sources import BUILT_IN
from vips_core.sweeps.grid import Sweep

Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = ("quick", "full")

PAPER, STRONG = "Paper (moments)", "Strong composition"
REFINED, NON_PRIVATE = "Refined", "Non-private"


def paper_lda(size: Size) -> Sweep:
    """Figures 2 and 3 and Table 1, on State of the Union paragraphs.

    Batches are the same shares of the records as in the paper (1.25, 2.5 and 5 %), so that one epoch means
    the same steps and sampling rates; δ is below 1/N.
    """
    quick = size == "quick"
    records, delta = BUILT_IN["sotu"].records, 1e-5
    shares = (0.025, 0.05) if quick else (0.0125, 0.025, 0.05)
    noises = (1.0, 1.24, 2.0) if quick else (1.0, 1.1, 1.24, 1.5, 2.0)
    batches = [round(share * records) for share in shares]
    same = {batch: [_epsilon(records, batch, noise, delta) for noise in noises] for batch in batches}
    closer = (batches[-1], 1.24)  # the setting of Figure 3 and Table 1
    at = _epsilon(records, *closer, delta)
    grids: list[dict[str, Any]] = [
        {"label": NON_PRIVATE, "method": "non-private", "keep": True},
        {"label": PAPER, "method": "paper", "noise": list(noises), "batch": batches, "epochs": 1},
        *(
            {"label": STRONG, "method": "strong", "epsilon": epsilons, "batch": batch, "epochs": 1}
            for batch, epsilons in same.items()
        ),
        {"label": REFINED, "method": "refined", "epsilon": sorted(set().union(*same.values()))},
        {
            "label": PAPER,
            "method": "paper",
            "noise": closer[1],
            "batch": closer[0],
            "epochs": 1,
            "keep": True,
        },
        {"label": STRONG, "method": "strong", "epsilon": at, "batch": closer[0], "epochs": 1, "keep": True},
        {"label": REFINED, "method": "refined", "epsilon": at, "keep": True},
    ]
    return Sweep.from_mapping(
        {
            "title": f"The paper's topic models on State of the Union addresses ({size})",
            "model": "lda",
            "data": "sotu",
            "figures": ["epsilon", "steps", "topics", "accounting"],
            "delta": delta,
            "topics": 10 if quick else 50,
            "seeds": 2 if quick else 5,
            "grid": grids,
        }
    )


def paper_logistic(size: Size) -> Sweep:
    """Figure 5 on NHANES: AUC against ε, for all methods."""
    private = {
        "refined": REFINED,
        "paper": PAPER,
        "strong": STRONG,
        "sgd": "DP-SGD",
        "perm": "Objective perturbation",
    }
    grids = [{"label": NON_PRIVATE, "method": "non-private"}] + [
        {"label": label, "method": method, "epsilon": [0.5, 1.0, 2.0, 4.0]}
        for method, label in private.items()
    ]
    return Sweep.from_mapping(
        {
            "title": f"The paper's stroke risk models on NHANES ({size})",
            "model": "logistic",
            "data": "nhanes-stroke",
            "figures": ["epsilon"],
            "delta": 1e-4,
            "seeds": 5 if size == "quick" else 20,
            "grid": grids,
        }
    )


def paper_sbn(size: Size) -> Sweep:
    """Figure 7 on MNIST: accuracy against the batch size, noise 1, one epoch; and refined at these ε."""
    quick = size == "quick"
    records, delta = BUILT_IN["mnist"].records, 1e-5
    batches = [800, 3200] if quick else [400, 800, 1600, 3200]
    same = {batch: _epsilon(records, batch, 1.0, delta) for batch in batches}
    one_pass = {"epochs": 1}
    grids: list[dict[str, Any]] = [
        {"label": NON_PRIVATE, "method": "non-private", "batch": batches, **one_pass},
        {"label": PAPER, "method": "paper", "noise": 1.0, "batch": batches, **one_pass},
        *(
            {"label": label, "method": method, "epsilon": epsilon, "batch": batch, **one_pass}
            for method, label in (("strong", STRONG), ("refined", "Refined, same S and T"))
            for batch, epsilon in same.items()
        ),
        {"label": "Refined, own plan", "method": "refined", "epsilon": list(same.values())},
    ]
    return Sweep.from_mapping(
        {
            "title": f"The paper's image models on MNIST ({size})",
            "model": "sbn",
            "data": "mnist",
            "figures": ["batch", "epsilon", "accounting"],
            "delta": delta,
            "hidden": 10 if quick else 100,
            "seeds": 2 if quick else 10,
            "grid": grids,
        }
    )


PRESETS: Mapping[str, Callable[[Size], Sweep]] = {
    "paper-lda": paper_lda,
    "paper-logistic": paper_logistic,
    "paper-sbn": paper_sbn,
}


def _epsilon(records: int, batch: int, noise: float, delta: float) -> float:
    """ε by PLD of one epoch, rounded so that equal settings give equal requests on any machine."""
    plan = PrivacyPlan(records=records, expected_batch=batch, epochs=1, noise_multiplier=noise, delta=delta)
    return round(plan.epsilon("pld"), 4)
