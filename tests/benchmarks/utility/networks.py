"""Score sigmoid belief networks on the bench's images; a second call continues where the first stopped.

python -m tests.benchmarks.utility.networks images.csv --seeds 3
python -m tests.benchmarks.utility.networks images.csv --table

The score is the share of correctly reconstructed pixels in held-out images. δ = 1e-4, 50 hidden units.
Refined takes the four passes of its own plan; the paper's variant takes one, in batches of 1,600 images or a
tenth of the set.
"""

import functools

import numpy as np

import vips_core as vips
from tests.benchmarks.utility import images
from tests.benchmarks.utility.private_and_not import NOT_PRIVATE, Bench, main
from vips_core.models.sbn.model import SBN
from vips_core.records import Images

DELTA = 1e-4
HIDDEN = 50
PASSES = 12
PAPER_BATCH = 1_600


def mean_image(name: str, train: Images, test: Images, epsilon: float, seed: int) -> float:
    """The same reconstruction for all images."""
    brightest = train.unpack(np.float32).mean(axis=0) > 0.5
    return float((test.unpack(bool) == brightest).mean())


def refined(name: str, train: Images, test: Images, epsilon: float, seed: int) -> float:
    """The refined variant with its own plan, without noise where ε is infinite."""
    model = _network(train, "refined")
    plan = model.recommend(records=len(train), epsilon=min(epsilon, 1.0), delta=DELTA, epochs=PASSES)
    plan = plan.replace(noise_multiplier=0) if np.isinf(epsilon) else plan.calibrate(epsilon)
    return vips.pixel_accuracy(vips.fit(model, train, plan, seed=seed), test)


def paper(accountant: str, name: str, train: Images, test: Images, epsilon: float, seed: int) -> float:
    """The paper's variant, its noise calibrated by an accountant."""
    model = _network(train, "paper")
    batch = min(PAPER_BATCH, len(train) // 10)
    plan = vips.PrivacyPlan(records=len(train), expected_batch=batch, epochs=1, delta=DELTA)
    plan = plan.calibrate(epsilon, accountant)
    return vips.pixel_accuracy(vips.fit(model, train, plan, seed=seed), test)


def _network(rows: Images, variant: str) -> SBN:
    pixels = rows.shape[0] * rows.shape[1]
    return SBN(pixels, HIDDEN, rows.shape, variant=variant)


BENCH = Bench(
    images.NAMES,
    images.split,
    public={"mean image": mean_image, NOT_PRIVATE: refined},
    private={
        "refined": refined,
        "paper": functools.partial(paper, "pld"),
        "strong": functools.partial(paper, "strong"),
    },
    epsilons=(0.25, 0.5, 1.0, 2.9, 8.0),
    decimals=4,
)


if __name__ == "__main__":
    main(BENCH, __doc__)
