"""The lessons in their order, one module each."""

from dashboard.state import Choice
from dashboard.views.learn.lessons import (
    attack,
    composition,
    gaussian_noise,
    linkage,
    local,
    neighbours,
    one_step,
    outcomes,
    polya_gamma,
    processing,
    promise,
    response,
    subsampling,
)
from dashboard.views.learn.lessons.base import Lesson

LESSONS: dict[str, Lesson] = {
    module.LESSON.key: module.LESSON
    for module in (
        linkage,
        response,
        promise,
        neighbours,
        gaussian_noise,
        composition,
        subsampling,
        processing,
        local,
        one_step,
        polya_gamma,
        outcomes,
        attack,
    )
}


def heading(lesson: Lesson) -> str:
    """Return a lesson's number and title."""
    return f"{list(LESSONS).index(lesson.key) + 1}. {lesson.title}"


def _length(lesson: Lesson) -> str:
    return f"{lesson.minutes} min, optional" if lesson.optional else f"{lesson.minutes} min"


CURRENT = Choice(
    "lesson",
    "Lesson",
    next(iter(LESSONS)),
    {key: f"{heading(lesson)} ({_length(lesson)})" for key, lesson in LESSONS.items()},
    "",
)
PRESENT = Choice(
    "present", "Present", "0", {"0": "off", "1": "on"}, "Larger type; arrow keys turn the pages."
)
