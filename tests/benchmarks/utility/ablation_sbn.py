"""The refined sigmoid belief network's mechanisms, each turned off; see `ablation`.

Only sets that need no download: subsets of the shipped MNIST, scikit-learn's digits and our generated digits.
"""

import functools
from dataclasses import replace

import numpy as np

import vips_core as vips
from sample_data import generate
from tests.benchmarks.utility import images
from tests.benchmarks.utility.ablation import Ablation, Measure
from vips_core.kernels.symmetric import from_triangles
from vips_core.models.sbn.model import SBN
from vips_core.models.sbn.refined import CONSTANTS, Refined
from vips_core.models.sbn.scores import scores
from vips_core.models.sbn.smooth import by_displacement, denoised, group_means
from vips_core.records import Images

DELTA = 1e-4
HIDDEN = 50
PASSES = 12
TRAIN = {"mnist 1,500": 1500, "digits": 1527, "mnist 6,000": 6000, "generated": 3000}
TEST = 1500
GENERATED = 7000


class RawMean(Refined):
    """Takes the first release as the mean image, not smoothed."""

    def _with_mean(self, params, released):
        images, self.smooth = self.smooth, NoPosterior(self.smooth)
        try:
            return super()._with_mean(params, released)
        finally:
            self.smooth = images


class NoPosterior:
    """Smooth images whose coordinates of an image are so large that they are not shrunk."""

    def __init__(self, images):
        self.smooth, self.roots = images, images.roots

    def coordinates(self, image):
        return 1e9 * self.smooth.coordinates(image)

    def image(self, coordinates):
        return 1e-9 * self.smooth.image(coordinates)


class RawCovariance(Refined):
    """Uses the noisy covariance with negative eigenvalues set to 0, not denoised."""

    def denoised_moments(self, params):
        mean, covariance, _ = self._moments(params)
        values, vectors = np.linalg.eigh(covariance)
        return mean, (vectors * np.maximum(values, 0)) @ vectors.T


class NoDisplacement(Refined):
    """Denoises the covariance once, along the first basis."""

    def denoised_moments(self, params):
        mean, covariance, noise_std = self._moments(params)
        return mean, denoised(covariance, noise_std)


class GroupVariances(Refined):
    """Gives all directions of a group the same variance before the covariance is denoised."""

    def denoised_moments(self, params):
        mean, covariance, noise_std = self._moments(params)
        first, deviation = grouped(covariance, noise_std), np.sqrt(mean * (1 - mean))
        learned = by_displacement(first, params.basis, deviation, self.smooth.shape)
        axes = np.linalg.eigh(learned)[1][:, ::-1]
        return mean, axes @ grouped(axes.T @ covariance @ axes, noise_std) @ axes.T


def grouped(covariance, noise_std):
    covariance = covariance.copy()
    np.fill_diagonal(covariance, group_means(np.diag(covariance)))
    return denoised(covariance, noise_std)


class UnweighedCorrection(Refined):
    """Corrects the mean image by the moments alone, without regard to their noise."""

    def _moments(self, params):
        return super()._moments(replace(params, centre_std=1e9))


class NoTotalRow(Refined):
    """Uses N as the total weight, and the first release as the mean image."""

    def _moments(self, params):
        covariance = from_triangles(params.second, self.rank + 1)[1:, 1:] / params.records
        return params.pixel_centre, covariance, params.second_std / params.records / np.sqrt(2)


class NoReadout(Refined):
    """Decodes ⟨z⟩ as if it were z."""

    def _fit_network(self, params):
        params = super()._fit_network(params)
        return replace(params, readout=params.weights)


class NoGain(Refined):
    """Decodes without a gain."""

    def _fit_network(self, params):
        return replace(super()._fit_network(params), logit_gain=1.0)


def constants(algorithm=Refined, **values):
    return functools.partial(algorithm, constants=replace(CONSTANTS, **values))


VARIANTS = {
    "mean image in a release of its own": constants(steps=1),
    "mean image smoothed": RawMean,
    "clipping": constants(residual_clip=2.0),
    "row of total weight": constants(NoTotalRow, total_row=1e-6),
    "correction of the mean weighed by its noise": UnweighedCorrection,
    "at most 400 directions": constants(rank=1000),
    "neighbouring pixels agree": constants(neighbour_range=1e-3),
    "covariance denoised": RawCovariance,
    "agreement by displacement": NoDisplacement,
    "variances differ within groups": GroupVariances,
    "several rounds": constants(rounds=1),
    "readout from mean hidden units": NoReadout,
    "logit gain": NoGain,
}


@functools.lru_cache(1)
def split(name: str, seed: int) -> tuple[Images, Images]:
    """Return (train, test) of a set, another split for every seed."""
    rows = generate.digits(GENERATED, seed=0)[0] if name == "generated" else images.load(name.split()[0])
    train, test = rows.split(images.TEST_SHARE, seed)
    return train[np.arange(len(train)) < TRAIN[name]], test[np.arange(len(test)) < TEST]


def score(name, epsilon, seed, variant):
    train, test = split(name, seed)
    model = SBN(train.shape[0] * train.shape[1], HIDDEN, train.shape)
    if variant:
        vars(model)["algorithm"] = variant(model)  # models are frozen
    plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=PASSES)
    accuracy, likelihood = scores(model, vips.fit(model, train, plan, seed=seed).params, test)
    return {"accuracy": accuracy, "log_likelihood": likelihood}


ABLATION = Ablation(
    data=tuple(TRAIN),
    variants=VARIANTS,
    score=score,
    measures={
        "accuracy": Measure(larger_is_better=True, tolerance=0.002),
        "log_likelihood": Measure(larger_is_better=True, tolerance=2.0),
    },
    epsilons=(0.5, 1.0, 4.0),
    draws=2,
)
