"""The seven lessons of the classroom, one module each."""

from dashboard.lessons import (
    composition,
    gaussian_noise,
    one_step,
    outcomes,
    polya_gamma,
    promise,
    subsampling,
)
from dashboard.session import Choice

LESSONS = tuple(
    module.LESSON
    for module in (promise, gaussian_noise, composition, subsampling, one_step, polya_gamma, outcomes)
)
CURRENT = Choice(
    "lesson", "Lesson", "1", {str(lesson.number): f"{lesson.number} {lesson.name}" for lesson in LESSONS}, ""
)
PRESENT = Choice("present", "Present", "0", {"0": "off", "1": "on"}, "Larger type, and arrow keys to turn.")
