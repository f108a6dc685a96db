"""The paper's experiments as sweeps on the shipped data: `quick` in minutes, `full` with the paper's grids.

Where the paper fixes the noise, the methods beside it get the ε of the paper's own releases by PLD, so that
all are compared at the same (ε, δ). In full size, ε reaches from `WIDE[0]` to `WIDE[-1]`, beyond the paper.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from vips_core.models.task import METHODS, NON_PRIVATE, PAPER, REFINED, STRONG, TASKS
from vips_core.records.samples import SAMPLES
from vips_core.sweeps.grid import Sweep

Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = ("quick", "full")
WIDE = (0.1, 0.3, 1.0, 3.0, 10.0)  # for methods that choose their own plan
# ε by PLD of one epoch at δ = 1e-5, by batch and noise; written down, so that runs which were made keep their
# place when the accountant becomes finer.
TOPICS_EPSILON = {
    237: {1.0: 0.8377, 1.1: 0.6418, 1.24: 0.4832, 1.5: 0.3365, 2.0: 0.217},
    474: {1.0: 1.3186, 1.1: 1.0273, 1.24: 0.7728, 1.5: 0.5277, 2.0: 0.332},
    948: {1.0: 1.9846, 1.1: 1.5899, 1.24: 1.219, 1.5: 0.8334, 2.0: 0.5142},
}
IMAGES_EPSILON = {400: 0.5397, 800: 0.8755, 1600: 1.3674, 3200: 2.0333}  # by batch, noise 1


def paper_lda(size: Size) -> Sweep:
    """Figures 2 and 3 and Table 1, on State of the Union paragraphs.

    Batches are the same shares of the records as in the paper (1.25, 2.5 and 5 %), so that one epoch means
    the same steps and sampling rates; δ is below 1/N.
    """
    quick = size == "quick"
    shares = (0.025, 0.05) if quick else (0.0125, 0.025, 0.05)
    noises = (1.0, 1.24, 2.0) if quick else (1.0, 1.1, 1.24, 1.5, 2.0)
    batches = [round(share * SAMPLES["sotu"].records) for share in shares]
    epsilons = {batch: [TOPICS_EPSILON[batch][noise] for noise in noises] for batch in batches}
    own = sorted({*(() if quick else WIDE), *epsilons[batches[-1]]})
    closer_batch, closer_noise = batches[-1], 1.24  # the setting of Figure 3 and Table 1
    closer_epsilon = TOPICS_EPSILON[closer_batch][closer_noise]
    closer: dict[str, Any] = {"batch": closer_batch, "epochs": 1, "keep": True}
    return Sweep.from_mapping(
        {
            "title": f"The paper's topic models on State of the Union addresses ({size})",
            "model": "lda",
            "data": "sotu",
            "figures": ["epsilon", "steps", "topics", "accounting"],
            "delta": 1e-5,
            "topics": 10 if quick else 50,
            "seeds": 2 if quick else 5,
            "grid": [
                _grid(NON_PRIVATE, keep=True),
                _grid(PAPER, noise=list(noises), batch=batches, epochs=1),
                *(_grid(STRONG, epsilon=values, batch=batch, epochs=1) for batch, values in epsilons.items()),
                _grid(REFINED, epsilon=own),
                _grid(PAPER, noise=closer_noise, **closer),
                _grid(STRONG, epsilon=closer_epsilon, **closer),
                _grid(REFINED, epsilon=closer_epsilon, keep=True),
            ],
        }
    )


def paper_logistic(size: Size) -> Sweep:
    """Figure 5 on NHANES: AUC against ε, for all methods."""
    epsilons = [0.5, 1.0, 2.0, 4.0] if size == "quick" else [0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 10.0]
    private = [method for method in TASKS["logistic"].methods if method != NON_PRIVATE]
    return Sweep.from_mapping(
        {
            "title": f"The paper's stroke risk models on NHANES ({size})",
            "model": "logistic",
            "data": "nhanes-stroke",
            "figures": ["epsilon"],
            "delta": 1e-4,
            "seeds": 5 if size == "quick" else 20,
            "grid": [
                _grid(NON_PRIVATE),
                *(_grid(method, epsilon=epsilons) for method in private),
            ],
        }
    )


def paper_sbn(size: Size) -> Sweep:
    """Figure 7 on MNIST: accuracy against the batch size, noise 1, one epoch; and refined at these ε."""
    quick = size == "quick"
    improved = METHODS[REFINED].label
    batches = [800, 3200] if quick else [400, 800, 1600, 3200]
    epsilons = {batch: IMAGES_EPSILON[batch] for batch in batches}
    own = sorted({*(() if quick else WIDE), *epsilons.values()})
    return Sweep.from_mapping(
        {
            "title": f"The paper's image models on MNIST ({size})",
            "model": "sbn",
            "data": "mnist",
            "figures": ["batch", "epsilon", "accounting"],
            "delta": 1e-5,
            "hidden": 10 if quick else 100,
            "seeds": 2 if quick else 10,
            "grid": [
                _grid(NON_PRIVATE, batch=batches, epochs=1),
                _grid(PAPER, noise=1.0, batch=batches, epochs=1),
                *(
                    _grid(method, label, epsilon=epsilon, batch=batch, epochs=1)
                    for method, label in ((STRONG, ""), (REFINED, f"{improved}, same S and T"))
                    for batch, epsilon in epsilons.items()
                ),
                _grid(REFINED, f"{improved}, own plan", epsilon=own),
            ],
        }
    )


PRESETS: Mapping[str, Callable[[Size], Sweep]] = {
    "paper-lda": paper_lda,
    "paper-logistic": paper_logistic,
    "paper-sbn": paper_sbn,
}


def _grid(method: str, label: str = "", **options: Any) -> dict[str, Any]:
    """Return a grid as a table."""
    return {"label": label or METHODS[method].label, "method": method, **options}
