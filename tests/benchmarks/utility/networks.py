"""Score sigmoid belief networks on the bench's images; a second call continues where the first stopped.

python -m tests.benchmarks.utility.networks images.csv --seeds 3
python -m tests.benchmarks.utility.networks images.csv --table

The score is the share of correctly reconstructed pixels in held-out images, or (methods that end in "nats")
the log likelihood of these images given their own hidden units. δ = 1e-4, 50 hidden units. Refined takes the
four passes of its own plan; the paper's variant takes one, in batches of 1,600 images or a tenth of the set.

The rival is PCA with 50 components of the same private moments, so at the same ε and with the same denoising.
Its codes are real numbers, while the network draws bits; "bits" are both with codes of one bit each.
"""

import functools

import numpy as np
from scipy.special import expit, log_expit

import vips_core as vips
from tests.benchmarks.utility import images
from tests.benchmarks.utility.private_and_not import NOT_PRIVATE, Bench, main
from vips_core.models.sbn.model import SBN
from vips_core.records import Images

DELTA = 1e-4
HIDDEN = 50
PASSES = 12
PAPER_BATCH = 1_600
FITS: dict[tuple, vips.Fit] = {}


def mean_image(name: str, train: Images, test: Images, epsilon: float, seed: int) -> np.ndarray:
    """The same logits for all images: those of the mean image."""
    mean = np.clip(train.unpack(np.float32).mean(axis=0), 0.002, 0.998)
    return np.tile(np.log(mean / (1 - mean)), (len(test), 1))


def refined(name: str, train: Images, test: Images, epsilon: float, seed: int) -> np.ndarray:
    """The refined variant with its own plan, without noise where ε is infinite."""
    return _logits(fitted(train, name, epsilon, seed), test)


def refined_bits(name: str, train: Images, test: Images, epsilon: float, seed: int) -> np.ndarray:
    """The refined variant, its hidden units rounded to 0 and 1."""
    fit = fitted(train, name, epsilon, seed)
    units = np.round(fit.model.latents(fit.params, test))
    return fit.params.logit_gain * (units @ fit.params.weights.T + fit.params.pixel_bias)


def components(bits: bool, name: str, train: Images, test: Images, epsilon: float, seed: int) -> np.ndarray:
    """PCA of the refined variant's moments, its codes real numbers or signs times their mean size.

    Probabilities are linear in codes; their logits have the gain that the refined variant derives.
    """
    fit = fitted(train, name, epsilon, seed)
    mean, covariance = fit.model.algorithm.denoised_moments(fit.params)
    variances, axes = np.linalg.eigh(covariance)
    variances, axes = variances[-HIDDEN:], fit.params.basis @ axes[:, -HIDDEN:]
    codes = (test.unpack(np.float64) - mean) @ axes
    if bits:
        codes = np.sign(codes) * np.sqrt(2 / np.pi * variances)
    explained = variances.sum() * (2 / np.pi if bits else 1) / len(mean)
    unexplained = max((mean * (1 - mean)).mean() - explained, 0.002)
    return 2 / np.sqrt(unexplained) * (mean - 0.5 + codes @ axes.T)


def paper(accountant: str, name: str, train: Images, test: Images, epsilon: float, seed: int) -> np.ndarray:
    """The paper's variant, its noise calibrated by an accountant."""
    model = _network(train, "paper")
    batch = min(PAPER_BATCH, len(train) // 10)
    plan = vips.PrivacyPlan(records=len(train), expected_batch=batch, epochs=1, delta=DELTA)
    plan = plan.calibrate(epsilon, accountant)
    return _logits(vips.fit(model, train, plan, seed=seed), test)


def fitted(train: Images, *case) -> vips.Fit:
    """Return the refined variant's fit, which several methods share; only the last one is kept."""
    if case not in FITS:
        FITS.clear()
        FITS[case] = _fitted(train, *case)
    return FITS[case]


def _fitted(train: Images, name: str, epsilon: float, seed: int) -> vips.Fit:
    model = _network(train, "refined")
    plan = model.recommend(records=len(train), epsilon=min(epsilon, 1.0), delta=DELTA, epochs=PASSES)
    plan = plan.replace(noise_multiplier=0) if np.isinf(epsilon) else plan.calibrate(epsilon)
    return vips.fit(model, train, plan, seed=seed)


def _network(rows: Images, variant: str) -> SBN:
    pixels = rows.shape[0] * rows.shape[1]
    return SBN(pixels, HIDDEN, rows.shape, variant=variant)


def _logits(fit: vips.Fit, rows: Images) -> np.ndarray:
    means = fit.model.latents(fit.params, rows)
    if fit.model.variant == "paper":
        return means @ fit.params.weights.T + fit.params.pixel_bias
    units = expit(fit.params.hidden_logit)
    average = fit.params.pixel_bias + fit.params.weights @ units
    return fit.params.logit_gain * (average + (means - units) @ fit.params.readout.T)


def accuracy(logits, *case) -> float:
    """Return the share of held-out pixels that a method's logits get right."""
    return float(((logits(*case) >= 0) == case[2].unpack(bool)).mean())


def nats(logits, *case) -> float:
    """Return the log likelihood of held-out images, in nats per image."""
    signs = np.where(case[2].unpack(bool), 1, -1)
    return float(log_expit(signs * logits(*case)).sum(axis=1).mean())


def measured(methods):
    """Return each method's two scores."""
    return {name: functools.partial(accuracy, logits) for name, logits in methods.items()} | {
        f"{name}, nats": functools.partial(nats, logits) for name, logits in methods.items()
    }


PCA, PCA_BITS = functools.partial(components, False), functools.partial(components, True)
BENCH = Bench(
    images.NAMES,
    images.split,
    public=measured(
        {
            "mean image": mean_image,
            NOT_PRIVATE: refined,
            "non-private bits": refined_bits,
            "non-private PCA": PCA,
            "non-private PCA bits": PCA_BITS,
        }
    ),
    private=measured(
        {
            "refined": refined,
            "refined bits": refined_bits,
            "PCA": PCA,
            "PCA bits": PCA_BITS,
            "paper": functools.partial(paper, "pld"),
            "strong": functools.partial(paper, "strong"),
        }
    ),
    epsilons=(0.25, 0.5, 1.0, 2.9, 8.0),
    decimals=4,
)


if __name__ == "__main__":
    main(BENCH, __doc__)
