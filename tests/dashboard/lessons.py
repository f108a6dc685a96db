"""What lessons show for given values, computed at once."""

from dashboard.views.learn import lessons
from vips_core import PrivacyPlan


def at_once(function, *args):
    """Make a slow call at once, not in the background."""
    return function(*args)


def outcome(lesson, revealed=True, **changes):
    """A lesson's outcome with the slow calls made at once."""
    taught = lessons.LESSONS[lesson]
    return taught.look(taught.defaults | changes, revealed, at_once)


def single_step(noise, delta):
    return PrivacyPlan(records=100, expected_batch=100, steps=1, noise_multiplier=noise, delta=delta)
