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
    min_z_moment: float = 2.0  # z-score up to which noise explains a column's mean or variance
    constant_variance: float = 1e-3  # variance of a column in [0, 1] up to which it may be the constant
    # Power of a column's variance to which its share of the signal is proportional, with much signal and with
    # little, and N·μ/d halfway between them; tuned by AUC on generated cohorts. Equal powers: no dependence.
    power_clear: float = 0.5
    power_noisy: float = 1.25
    signal_halfway: float = 4.0

    # Schedule
    most_steps: int = 16  # full batches: more neither helped nor hurt
    release_every: int = 16  # one release in this many finds coordinates, and as many each curvature matrix
    moments_from: int = 4  # steps below which none is spent on coordinates
    matrix_late: float = 0.4  # part of the steps before the later matrix: p is near its last value then
    warm_steps: int = 1  # steps before the early matrix
    # N·μ/d^1.5 from which a matrix makes intervals honest, and from which another one guides steps. A Wigner
    # matrix's edge is 2ν√d against an average eigenvalue of N/d: visible from about 2; tuned. ∞ for no
    # matrix. Without one, 90 % intervals of four tables held 79 % of weights instead of 89 %.
    visible_matrix: float = 3.0
    clear_matrix: float = 7.0

    # Prior
    prior_log_odds: float = 1.5  # standard deviation of a typical record's log odds; chosen leave-one-out
    prior_level: float = 2.0  # standard deviation of the level's log odds: outcomes from 2 % to 98 %

    # Steps
    largest_step: float = 0.9  # part of Newton's step: the curvature changes on the way; tuned
    least_curvature: float = 0.02  # part of an average axis' curvature that predictions take as the least
    minority_mean: float = 0.75  # mean of min(p, 1−p) a priori, as a part of the rarer label's share
    minority_std: float = 0.5  # its standard deviation a priori; ∞: as measured

    # Power of a step's number in its weight in averages where noise is large; up to twice that where it is
    # small. At ½ the noise's variance is 9/8 of that with equal weights, at 1 it is 4/3; tuned.
    averaging: float = 0.5

    # Shared directions (`curvature`)
    min_z_direction: float = 3.0  # z-score required to accept a direction; ∞ for none
    most_directions: int = 8  # directions kept: more cost time

    @property
    def prior_slope(self) -> float:
        """τ: a slope's standard deviation a priori, in coordinates."""
        return self.prior_log_odds * self.full_weight
