"""The lessons in their order, one module each."""

import importlib

from dashboard.state import Choice
from dashboard.views.learn.lessons.base import Lesson

_ORDER = """
    linkage response promise neighbours gaussian_noise composition subsampling processing local one_step
    polya_gamma outcomes attack
""".split()
_MODULES = [importlib.import_module(f"{__name__}.{name}") for name in _ORDER]
LESSONS: dict[str, Lesson] = {module.LESSON.key: module.LESSON for module in _MODULES}


def heading(lesson: Lesson) -> str:
    """Return the number and title of a lesson."""
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
    "present", "Present", "0", {"0": "off", "1": "on"}, "Larger type; the arrow keys change the lesson."
)
