"""The paper's experiments as sweeps."""

import pytest

from vips_core.privacy.plan import PrivacyPlan
from vips_core.sweeps.grid import PRESETS, SIZES, Sweep, preset


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_sweeps_that_a_file_can_hold(name, size):
    definition = preset(name, size)
    assert Sweep.from_toml(definition.to_toml()) == definition
    methods = {cell.method for cell in definition.cells()}
    assert {"refined", "paper", "strong", "non-private"} <= methods


def test_presets_compare_at_the_epsilon_of_the_papers_releases():
    definition = preset("paper-sbn", "full")
    cells = definition.cells()
    batches = {400, 800, 1600, 3200}
    for method in ("paper", "strong", "non-private"):
        assert {cell.get("batch") for cell in cells if cell.method == method} == batches
    for batch in batches:
        plan = PrivacyPlan(records=60_000, expected_batch=batch, epochs=1, noise_multiplier=1.0, delta=1e-5)
        (asked,) = {
            cell.get("epsilon") for cell in cells if cell.get("batch") == batch and cell.method == "strong"
        }
        assert asked == pytest.approx(plan.epsilon("pld"), rel=5e-4)
    assert len({cell.seed for cell in cells}) == 10
    assert {cell.get("hidden") for cell in cells} == {100}


@pytest.mark.parametrize("size", SIZES)
def test_the_topics_epsilon_are_those_of_the_papers_releases(size):
    cells = preset("paper-lda", size).cells()
    asked = {(cell.get("batch"), cell.get("epsilon")) for cell in cells if cell.method == "strong"}
    released = {(cell.get("batch"), cell.get("noise")) for cell in cells if cell.method == "paper"}
    assert len(asked) == len(released) == (6 if size == "quick" else 15)
    # A smaller noise has a larger ε, so that the sorted pairs belong together.
    pairs = zip(sorted(asked), sorted(released, key=lambda pair: (pair[0], -pair[1])), strict=True)
    for (batch, epsilon), (same_batch, noise) in pairs:
        assert batch == same_batch
        plan = PrivacyPlan(records=18_963, expected_batch=batch, epochs=1, noise_multiplier=noise, delta=1e-5)
        assert epsilon == pytest.approx(plan.epsilon("pld"), rel=5e-4)


def test_the_full_topic_preset_has_the_papers_grid():
    cells = preset("paper-lda", "full").cells()
    paper = [cell for cell in cells if cell.method == "paper"]
    assert {cell.get("noise") for cell in paper} == {1.0, 1.1, 1.24, 1.5, 2.0}
    assert [round(batch / 18_963, 4) for batch in sorted({cell.get("batch") for cell in paper})] == [
        0.0125, 0.025, 0.05,
    ]  # fmt: skip
    assert {cell.get("topics") for cell in cells} == {50}
