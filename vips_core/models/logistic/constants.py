"""The refined variant's tunable constants, with meaning, unit and origin.

They were set by hand with the tables of the utility bench in view, unless another origin is stated. The
benchmark `tests/benchmarks/utility/ablation.py` measures the scores without each mechanism.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Tunable constants of `refined`; a limiting value turns a mechanism off.

    Lengths are in units of the block's bound, 1, which is also the norm of a typical record (κ, z).
    """

    # Coordinates
    # Share of the norm bound above which moments shorten a row: few rows are longer
    moment_radius: float = 0.5
    # Mean²/second moment above which a column is centred; ∞ centres none, which keeps sparse rows sparse
    common_mean: float = 0.1
    # Prior standard deviation of columns' means, and of their average's; with more noise none is measured
    mean_std: float = 0.25
    min_z_moment: float = 2.0  # z-score up to which a column's mean or variance counts as noise
    constant_variance: float = 1e-3  # variance beyond noise up to which a column in [0, 1] counts as constant

    # Schedule
    most_steps: int = 16  # full batches in a recommended plan: more neither helped nor hurt
    # One release in this many measures moments, one each curvature matrix, and one the calibration
    release_every: int = 16
    moments_from: int = 4  # steps of a plan from which on moments and calibration are measured
    matrix_late: float = 0.4  # share of the steps before the later matrix: p is then near its final value
    warm_steps: int = 1  # gradient steps before the early matrix
    # N·μ/(d+1)^1.5 from which a matrix makes intervals honest, and from which an earlier one guides steps; ∞
    # for no matrix. The edge 2ν√d of a Wigner matrix makes an average eigenvalue of N/d visible from about 2.
    # Without a matrix, 90 % intervals of four tables held 79 % of weights instead of 89 %.
    visible_matrix: float = 3.0
    clear_matrix: float = 7.0

    # Prior
    prior_log_odds: float = 1.5  # τ: a slope's, and a typical record's log odds'; chosen leave-one-out
    prior_level: float = 1.0  # standard deviation of the level's log odds: outcomes from 12 % to 88 %
    slope_std: float = 0.5  # standard deviation of the calibration slope around 1; 0 for no calibration

    # Steps
    largest_step: float = 0.9  # largest share of a Newton step, because the curvature changes on the way
    minority_mean: float = 0.75  # prior mean of min(p, 1−p), as a share of the rarer label's frequency
    minority_std: float = 0.5  # its prior standard deviation; ∞ takes it as measured

    # Power of a step's number in its weight in averages, where noise is large; up to twice that where noise
    # is small. Power ½ multiplies the noise variance under equal weights by 9/8, power 1 by 4/3.
    averaging: float = 0.5

    # Shared directions (`curvature`)
    min_z_direction: float = 3.0  # z-score required to accept a direction; ∞ for no directions
    most_directions: int = 8  # most directions kept, to bound time
