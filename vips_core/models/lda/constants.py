"""The constants of refined topics, in one place: an ablation replaces them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """What refined topics take as given."""

    word_steps: int = 2
    forming_steps: int = 2
    fewest_split: int = 10
    split_shape: float = 100.0
    start_shape: float = 30.0
    fewest_steps: int = 10
    useful_steps: int = 20
    cell_noise: float = 8.0
    fewest_topics: int = 4
    unmeasured_mass: float = 0.001
    smallest_mass: float = 0.1
    word_weight_power: float = 0.2
    largest_word_weight: float = 8.0
    cell_weight_power: float = 0.1
    smallest_cell_share: float = 1e-3
    expected: float = 0.9
    count_noise: float = 10.0
    usual_noise: float = 1.5
    rank_offset: float = 10.0
    rank_scales: tuple[float, float] = (1.0, 1.0)
    word_slope_steps: int = 25
    word_em_steps: int = 50
    largest_log: float = 6.0
    longest_step: float = 1.0
    cell_variance: tuple[float, float] = (0.1, 10.0)
    first_slope_steps: int = 6
    slope_steps: int = 2
    groups: int = 8
    fewest_group_words: int = 100
    class_shapes: tuple[float, ...] = tuple(4.0 ** (step / 3) for step in (-3, -1, 1, 3))
    topic_grid: tuple[float, float, int] = (0.02, 50, 18)
    word_grid: tuple[float, float, int] = (0.01, 500, 24)
    first_em_steps: int = 10
    em_steps: int = 2
    bump_cells: float = 1e-3
    class_columns: float = 1.0


CONSTANTS = Constants()
