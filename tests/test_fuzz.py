"""A sample of `tests.benchmarks.fuzz`: bad input is accepted or refused in one line, at once."""

import pytest

from tests.benchmarks import fuzz


@pytest.mark.filterwarnings("ignore")  # from pandas and Pillow about damaged files
@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_damaged_and_absurd_input_gets_one_line(target):
    inputs = round(200 / fuzz.TARGETS[target][1])
    ((_, count, accepted, problems),) = fuzz.run([target], inputs, seed=15)
    assert problems == []
    assert 0 < accepted < count == 200  # the sample sees both
