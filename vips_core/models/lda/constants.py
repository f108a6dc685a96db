"""The constants of refined topics, so that an ablation can replace them; `Refined.default_clip` is apart.

Chosen by held-out completion perplexity on public documents (State of the Union, Wikipedia, newsgroups,
docstrings, package descriptions and generated ones), unless derived as stated. "Without" is what
`tests/benchmarks/utility/ablation_lda.py` measured: the mean change of perplexity when a mechanism is off.
"""

from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array


@dataclass(frozen=True)
class Constants:
    """Tunable constants of refined topics."""

    # Steps of training
    words_first: bool = True  # the first step measures word counts, not topics; without: +7.4 %
    forming_steps: int = 2  # steps of the first, smaller generation of topics; without (0): +1.1 %
    fewest_split: int = 10  # topics from which there are two generations: halves of fewer are too coarse
    split_shape: float = 100.0  # shape of the gamma jitter of split topics: they differ by 10 %
    start_shape: float = 30.0  # shape of the gamma distribution that topics start from: they differ by 18 %
    fewest_steps: int = 10  # steps that topics need to form
    useful_steps: int = 20  # steps beyond which noise grows and topics do not improve

    # How many topics are measured
    cell_noise: float = 8.0  # averaged noise over the mean of a cell, up to which one more topic pays
    unmeasured_mass: float = 0.001  # mass of an empty topic over the average topic's: λ must be positive
    smallest_mass: float = 0.1  # least mass over the average topic's, because noisy mass may be negative

    # What is measured
    cell_weight_power: float = 0.1  # cells weigh share^-power, so noise is more in proportion; 0: +0.3 %
    smallest_cell_share: float = 1e-3  # a cell's share over the average topic's, bounds its weight to 2
    expected: float = 0.9  # part of exactly known words that is expected, not measured; without (0): +0.6 %
    count_noise: float = 10.0  # expectations are divided by 1 + this · (noise / count)²; without (0): +1.7 %

    # The average over steps
    usual_noise: float = 1.5  # noise over cell at which step t weighs t^-1/2; without an average (∞): +12 %

    # Layer 1: word shares
    rank_offset: float = 10.0  # ranks; log(rank + 10) flattens the head of Zipf's law
    word_slope_steps: int = 25  # Newton steps, until they settle; without (0): +5.6 %
    word_em_steps: int = 50  # EM steps, until they settle; with 1: +0.6 %, Wikipedia +2.4 %

    # Layer 3: semantic prior
    largest_log: float = 6.0  # bounds the logarithm of a predicted ratio, so that exp stays finite
    longest_step: float = 1.0  # largest change of a log ratio in a Newton step: diverges without
    cell_variance: tuple[float, float] = (0.1, 10.0)  # least and largest ω²; keeps weights positive
    slope_steps: int = 2  # Newton steps after each release, from the last prior; without (0): +10.5 %

    # Layers 4 and 5: mixture prior and word classes
    groups: int = 8  # of words by frequency; 1, and one class: +0.9 %, Wikipedia +0.8 %
    fewest_group_words: int = 100  # words: a smaller group learns nothing of its own
    # Gamma shapes that classes start from; one, and one group: as above
    class_shapes: tuple[float, ...] = tuple(4.0 ** (step / 3) for step in (-3, -1, 1, 3))
    grid: tuple[float, float, int] = (0.02, 50, 18)  # first, last and number of bumps: count / expected
    bump_cells: float = 1e-3  # cells that each bump has beforehand, so that none is lost for good
    class_columns: float = 1.0  # words that each class has beforehand, likewise

    @property
    def bumps(self) -> Array:
        """Centres of the bumps: a geometric grid."""
        return np.geomspace(*self.grid)


CONSTANTS = Constants()
