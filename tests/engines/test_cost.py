"""What a step costs on a cluster."""

import pytest

from vips_core.cli import main
from vips_core.engines.cost import step_cost


def test_more_workers_help_until_the_scheduler_limits():
    costs = {workers: step_cost(workers, batch=1e6, cells=400_000) for workers in (1, 10, 100, 1000, 10_000)}
    assert costs[1].summing == pytest.approx(35)
    assert costs[10].total < costs[1].total / 8
    assert costs[10_000].total > costs[100].total
    assert [costs[workers].limit for workers in (1, 10_000)] == ["summing", "scheduling"]


def test_every_edge_of_the_trees_carries_all_cells():
    small, large = (step_cost(64, batch=1, cells=cells) for cells in (10**6, 10**8))
    assert large.sending / small.sending == pytest.approx(100, rel=0.2)
    assert large.adding / small.adding == pytest.approx(100, rel=0.2)


def test_plan_shows_it(capsys):
    plan = [
        "plan",
        "--records",
        "1000000",
        "--batch",
        "100000",
        "--steps",
        "10",
        "--noise",
        "2",
        "--delta",
        "1e-8",
    ]
    assert main([*plan, "--cluster-workers", "10", "1000"]) == 0
    printed = capsys.readouterr().out
    assert "limited by" in printed
    assert main([*plan, "--cluster-workers", "0"]) == 2
    assert "workers must be a whole number of at least 1" in capsys.readouterr().err
