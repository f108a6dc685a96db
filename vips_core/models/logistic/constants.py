"""The refined variant's tunable constants: what each bounds, in what unit, and where it comes from.

"Tuned" means: set by hand with the tables of the utility bench in view. The benchmark
`tests/benchmarks/utility/ablation.py` measures what changes without a mechanism.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Tunable constants of `refined`; a limiting value turns a mechanism off.

    Lengths are in units of a typical record: (κ, z) has norm 1/`full_weight`, and the block's bound is 1.
    """

    # Coordinates
    full_weight: float = 0.8  # share of a typical record's norm up to which a record counts in full; tuned
    # Share of the norm bound beyond which moments shorten a row: the longest are rare
    moment_radius: float = 0.5
    # Mean²/second moment above which a column is centred, ∞ for none: sparse rows stay so
    common_mean: float = 0.1
    min_z_mean: float = 2.0  # z-score above which a column's mean counts as nonzero
    max_z_constant: float = 3.0  # z-score below which a column may be the constant, or its mean may be 1
    constant_variance: float = 1e-3  # variance of a column in [0, 1] up to which it may be the constant
    # Power of a column's variance to which its share of the signal is proportional, with much signal and with
    # little, and N·μ/d halfway between them; tuned by AUC on generated cohorts. Equal powers: no dependence.
    power_clear: float = 0.5
    power_noisy: float = 1.25
    signal_halfway: float = 4.0

    # Schedule
    most_steps: int = 16  # full batches: more neither helped nor hurt
    moment_every: int = 12  # one release in this many finds coordinates
    moments_from: int = 4  # steps below which none is spent on coordinates
    matrix_every: int = 16  # one release in this many for each of the two curvature matrices
    matrix_late: float = 0.4  # part of the steps before the later matrix: p is near its last value then
    warm_steps: int = 1  # steps before the early matrix
    # N·μ/d^1.5 from which a matrix makes intervals honest, and from which another one guides steps. A Wigner
    # matrix's edge is 2ν√d against an average eigenvalue of N/d: visible from about 2; tuned. ∞ for no
    # matrix. Without one, 90 % intervals of four tables held 79 % of weights instead of 89 %.
    visible_matrix: float = 3.0
    clear_matrix: float = 7.0
    # Edge of a noise matrix's spectrum in ν√d, Wigner's law; 0: eigenvalues as measured
    noise_edge: float = 2.0

    # Prior
    prior_log_odds: float = 1.5  # standard deviation of a typical record's log odds; chosen leave-one-out
    prior_level: float = 2.0  # standard deviation of the level's log odds: outcomes from 2 % to 98 %

    # Steps
    largest_step: float = 0.9  # part of Newton's step: the curvature changes on the way; tuned
    largest_move: float = 1.0  # standard deviation of log odds over records that one step may add; ∞ for none
    least_curvature: float = 0.02  # share of the average direction's curvature that steps assume at least

    # Curvature's diagonal
    minority_mean: float = 0.75  # mean of min(p, 1−p) a priori, as a part of the rarer label's share
    minority_std: float = 0.5  # its standard deviation a priori; ∞: as measured
    least_minority: float = 0.1  # smallest value of the same, since measured totals may be negative
    total_memory: int = 3  # steps over which totals are averaged: p changes

    # Shared directions (`curvature`)
    min_z_direction: float = 3.0  # z-score required to accept a direction; ∞ for none
    harmless_excess: float = 1.0  # excess over the known curvature that is left alone, as a part of it
    # Curvature of a direction, as a part of the diagonal's sum, which bounds it; ∞ for no cap
    largest_excess: float = 1.0
    most_directions: int = 8  # directions kept: more cost time

    # Averages
    skipped_start: float = 0.1  # part of the steps that no average holds: the level is not yet found
    skipped_late: float = 0.5  # further part left out of the late average where noise is small
    path_error: float = 0.2  # assumed relative error of the trajectory; ∞: the late average alone

    @property
    def prior_slope(self) -> float:
        """τ: a slope's standard deviation a priori, in coordinates."""
        return self.prior_log_odds * self.full_weight
