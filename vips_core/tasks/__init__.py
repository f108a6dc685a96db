"""One task for each model: all that is particular to it, for commands, config files, workers and pages."""

from collections.abc import Mapping

from vips_core.data import kind_of
from vips_core.tasks.base import (
    NON_PRIVATE,
    PAPER,
    REFINED,
    STRONG,
    TOP,
    WATCHED,
    Method,
    Report,
    Score,
    Task,
    evenly_spread,
    protected_unit,
)
from vips_core.tasks.images import IMAGES
from vips_core.tasks.risk import GRADIENT_DESCENT, OBJECTIVE_PERTURBATION, RISK
from vips_core.tasks.topics import TOPICS, UNCUT_WORDS

__all__ = [
    "GRADIENT_DESCENT",
    "IMAGES",
    "METHODS",
    "NON_PRIVATE",
    "OBJECTIVE_PERTURBATION",
    "PAPER",
    "REFINED",
    "RISK",
    "STRONG",
    "TASKS",
    "TOP",
    "TOPICS",
    "UNCUT_WORDS",
    "WATCHED",
    "Method",
    "Report",
    "Score",
    "Task",
    "evenly_spread",
    "protected_unit",
    "task_of",
]

TASKS: Mapping[str, Task] = {task.name: task for task in (TOPICS, RISK, IMAGES)}
METHODS: Mapping[str, Method] = {
    name: method for task in TASKS.values() for name, method in task.methods.items()
}  # those of all tasks, each once


def task_of(records: object) -> Task:
    """Return the task that these records suit.

    Examples
    --------
    >>> import numpy as np
    >>> from vips_core import Corpus
    >>> task_of(Corpus.from_counts(np.eye(2, dtype=int), ["a", "b"])).name
    'lda'
    """
    for task in TASKS.values():
        if kind_of(records) is task.data_type:
            return task
    known = ", ".join(task.data_type.__name__ for task in TASKS.values())
    raise ValueError(f"records must be one of {known}, got {kind_of(records).__name__}")
