"""The sum of centred images, which both variants measure."""

import numpy as np

from vips_core.kernels import Array
from vips_core.kernels.exact import cut, lowered
from vips_core.kernels.pool import grouped_sums
from vips_core.models.base import Block
from vips_core.records import Images

CHUNK = 512


def centred_pixel_sums(batch: Images, block: Block) -> Array:
    """Return Σ(y − ½), where ½, over the number of images of a person, is cut to the block's grid."""
    halves = cut(lowered(0.5, cells=0) * batch.row_weights, block.grid)

    def chunk_sums(start: int, stop: int) -> tuple[Array]:
        return (halves[start:stop] @ (2 * batch.unpack(np.float64, slice(start, stop)) - 1),)

    return grouped_sums(chunk_sums, lambda: (np.zeros(block.shape),), batch.row_count, CHUNK)[0]
