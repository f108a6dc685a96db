"""Constants of refined topics, in a class so that an ablation can replace them (except `default_clip`).

They were chosen by held-out completion perplexity on public documents (State of the Union, Wikipedia,
newsgroups, docstrings, package descriptions and generated ones), unless a derivation is stated. Percentages
are the mean change of perplexity without a mechanism (`tests/benchmarks/utility/ablation_lda.py`).
"""

from dataclasses import dataclass

import numpy as np

from vips_core.kernels import Array


@dataclass(frozen=True)
class Constants:
    """Tunable constants of refined topics."""

    # Steps of training
    word_steps: float = 0.15  # part of the steps that measures word counts, at least one step
    start_shape: float = 30.0  # gamma shape of the initial topics: cells differ by 18 %
    fewest_steps: int = 10  # steps that topics need to form
    useful_steps: int = 20  # steps beyond which noise grows and topics do not improve

    # How many topics are measured
    cell_noise: float = 8.0  # largest averaged noise over mean cell at which another topic still pays
    unmeasured_mass: float = 0.001  # an empty topic's mass over the average topic's: keeps λ positive
    smallest_mass: float = 0.1  # least mass of a topic over the average: a noisy mass may be negative

    # The last step
    concentrations: tuple[float, ...] = tuple(10 ** (step / 3) for step in range(7))  # α₀ compared with ∞
    completion_bound: float = 1.0  # nats per word: most that a document may add, as a norm over α₀
    gain_noise: float = (
        0.002  # nats per word: noise of the mean gain below which no more documents are scored
    )
    fewest_scored: int = 2_000  # documents
    clear_gain: float = 2.0  # standard deviations of noise above which topics predict better than word shares
    unigram: float = 1e4  # α₀ in place of ∞: far above any document's words
    first_words: int = 10  # first words of a topic by which topics are told apart
    distinct: float = 0.6  # least share of different words among the first words of all topics

    # What is measured
    cell_weight_power: float = 0.1  # cells weigh share^-power, for noise nearer in proportion; 0: +0.3 %
    smallest_cell_share: float = 1e-3  # least share of a cell over the average topic's: weights up to 2
    expected: float = 0.9  # share of an exactly known word that is expected, not measured; 0: +0.6 %
    count_noise: float = 10.0  # expectations are divided by 1 + this · (noise / count)²; 0: +1.7 %

    # The average over steps
    usual_noise: float = 1.5  # noise over cell at which step t weighs t^-1/2; ∞ for no average: +12 %

    # Layer 1: word shares
    rank_offset: float = 10.0  # ranks; log(rank + 10) flattens the head of Zipf's law
    word_slope_steps: int = 25  # Newton steps, enough to converge; 0 for no regression: +5.6 %
    word_em_steps: int = 50  # EM steps, enough to converge; 1: +0.6 %, Wikipedia +2.4 %

    # Layer 3: semantic prior
    largest_log: float = 6.0  # largest absolute log of a predicted ratio, which keeps exp finite
    longest_step: float = 1.0  # largest change of a log ratio in one Newton step, which prevents divergence
    cell_variance: tuple[float, float] = (0.1, 10.0)  # least and largest ω²; keeps weights positive
    slope_steps: int = 2  # Newton steps after each release, from the last prior; 0 for no prior: +10.5 %

    # Layer 4: mixture prior
    grid: tuple[float, float, int] = (0.02, 50, 18)  # first, last and number of bumps: count / expected
    bump_cells: float = 1e-3  # prior count of cells for each bump, so that no bump is lost for good

    @property
    def bumps(self) -> Array:
        """Centres of the bumps: a geometric grid."""
        return np.geomspace(*self.grid)


CONSTANTS = Constants()
