"""Workers and supervisors that are killed at random moments: nothing is stuck, nothing is under-counted."""

import sys

import pytest

from tests.crash.harness import Harness
from tests.crash.killed_steps import kill_creations, kill_registrations

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
WORKERS, SUPERVISORS = 50, 10


@pytest.fixture
def harness(tmp_path):
    found = Harness(tmp_path, seed=0)
    yield found
    found.close()


def test_killed_workers(harness):
    kills = 0
    while kills < WORKERS:
        harness.keep_busy()
        if harness.kill_worker():
            kills += 1
            harness.check_opens()
    harness.drain()
    totals = harness.check_costs()
    assert totals["runs"] >= 10
    assert totals["released"] > 100


def test_killed_supervisors(harness):
    for _ in range(SUPERVISORS):
        harness.keep_busy()
        harness.kill_worker()
        harness.kill_supervisor()
        harness.check_opens()
        harness.supervisor = harness.supervise()
    harness.drain()
    assert harness.check_costs()["released"] > 100


@pytest.mark.parametrize("kill", [kill_registrations, kill_creations])
def test_killed_registrations_and_creations(tmp_path, kill):
    kill(tmp_path, kills=10, seed=0)
