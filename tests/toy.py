"""A tiny real model that drives the contract, Beta–Bernoulli pixels with two blocks, and a tiny cluster."""

from dataclasses import dataclass, replace

import numpy as np

from vips_core import Block, Raw
from vips_core.kernels.exact import cut, lowered


@dataclass(frozen=True)
class Counts:
    on: np.ndarray
    images: float


@dataclass(frozen=True)
class BetaBernoulli:
    """Posterior Beta(1 + on, 1 + images − on) per pixel, each image's vector clipped to `clip`."""

    pixels: int
    clip: float
    size_share: float = 0.6

    def init(self, plan, rng):
        return Counts(np.zeros(self.pixels), 0.0)

    def blocks(self, plan, step):
        return {
            "on": Block(self.clip, (1 - self.size_share**2) ** 0.5, (self.pixels,)),
            "images": Block(1.0, self.size_share, (1,)),
        }

    def e_step(self, params, batch, blocks):
        y = batch.unpack(np.float64)
        bound = lowered(blocks["on"].bound, cells=self.pixels)
        scale = np.minimum(1, bound / np.maximum(np.linalg.norm(y, axis=1), 1e-12))
        on = cut(scale[:, None] * y, blocks["on"].grid).sum(axis=0)
        return Raw({"on": on, "images": np.array([float(len(batch))])})

    def m_step(self, params, released, step):
        rate = 1 / (step + 1)
        return replace(
            params,
            on=(1 - rate) * params.on + rate * released.total("on"),
            images=(1 - rate) * params.images + rate * float(released.total("images")[0]),
        )


def coin_flips(records=200, pixels=12, seed=0):
    from vips_core import Images

    chances = np.linspace(0.1, 0.9, pixels)
    flips = np.random.default_rng(seed).random((records, pixels)) < chances
    return Images.from_images(flips, 0.5)


def tiny_cluster(workers=1, memory_limit=0, **options):
    """Workers in this process; with `protocol` and `host`, others reach them too."""
    import distributed

    usual = {"threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    return distributed.LocalCluster(n_workers=workers, memory_limit=memory_limit, **usual, **options)
