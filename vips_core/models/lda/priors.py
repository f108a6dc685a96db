"""What refined topics take for granted of words and cells before they see them: where EM for priors starts.

Words that are expected to be about as frequent share a prior of their counts over what is expected, see
`word_shares`. It starts from an average of 1 and nothing else known, an exponential distribution, so that
words which are all noise go to what is expected of them.

Cells have a prior for each topic and class of words. Classes start as gamma distributions of average 1 and
public shapes, from words that are in a few topics only to words that are in all topics alike, and how
frequent they are is learned for words of like frequency.
"""

import numpy as np
import numpy.typing as npt

from vips_core.kernels import Array
from vips_core.models.lda.shrink import Prior

GROUPS = 8  # of words that share a prior, or how frequent its classes are
FEWEST_WORDS = 100  # of a group
CLASS_SHAPES = 4.0 ** np.linspace(-1, 1, 4)  # of the gamma distributions that classes of words start from
TOPIC_GRID = np.geomspace(0.02, 50, 18)
WORD_GRID = np.geomspace(0.01, 500, 24)


def frequency_groups(shares: Array) -> npt.NDArray[np.int64]:
    """Return words in GROUPS equal groups from rare to frequent, in fewer where these would be small."""
    rank = np.argsort(np.argsort(shares, kind="stable"), kind="stable")
    return rank * GROUPS // max(len(shares), GROUPS * FEWEST_WORDS)


def word_prior() -> Prior:
    """Return an exponential prior for words, whose classes are their groups."""
    return Prior(np.tile(_gamma(WORD_GRID, 1.0), (1, GROUPS, 1)), np.eye(GROUPS))


def topic_prior(topics: int) -> Prior:
    """Return the prior that the cells of topics start from."""
    classes = [_gamma(TOPIC_GRID, shape) for shape in CLASS_SHAPES]
    return Prior(np.tile(classes, (topics, 1, 1)), np.full((GROUPS, len(classes)), 1 / len(classes)))


def _gamma(grid: Array, shape: float) -> Array:
    """Return weights of bumps on a geometric grid for a gamma density of mean 1."""
    weights = grid**shape * np.exp(-shape * grid)
    return np.asarray(weights / weights.sum())
