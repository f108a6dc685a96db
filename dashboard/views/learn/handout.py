"""Printable hand-outs for each lesson: one page with the exercise, one with the solution."""

import functools
import re
from collections.abc import Mapping
from typing import Any

from jinja2 import Template
from markupsafe import Markup, escape

from dashboard.background import Later
from dashboard.components import layout
from dashboard.components.formats import brief
from dashboard.state import Choice, Number
from dashboard.views.learn import lessons
from dashboard.views.learn.lessons.base import Lesson
from vips_core.reports.page import plotly_script, templates

PARTS = {"Exercise": False, "Solution": True}  # hand-outs, and whether each reveals the answer
_SIZE = {"width": 660, "height": 330, "updatemenus": [], "template": "none"}  # pixels that fit on A4
_TYPE = {"family": "Helvetica, Arial, Liberation Sans, sans-serif", "color": "#1C2733", "size": 12}


def page(lesson: Lesson, values: Mapping[str, Any], part: str, address: str, later: Later) -> bytes:
    """Return a lesson's hand-out at these values, as HTML that loads nothing else."""
    outcome = lesson.look(values, PARTS[part], later)
    text = _template().render(
        lesson=lesson,
        heading=lessons.heading(lesson),
        part=part,
        question=lesson.question(values),
        settings=[(control.label, _shown(control, values[control.name])) for control in lesson.parameters],
        outcome=outcome,
        figure=None if outcome.figure is None else _printed(outcome.figure),
        plotly=plotly_script,
        address=address,
        mark=layout.MARK,
    )
    return text.encode()


def bold(markdown: str) -> Markup:
    """Escape a sentence, but keep its **bold** words.

    Examples
    --------
    >>> bold("1 < 2, **always**")
    Markup('1 &lt; 2, <b>always</b>')
    """
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(markdown))))


@functools.cache
def _template() -> Template:
    environment = templates("dashboard.views.learn")
    environment.filters["bold"] = bold
    return environment.get_template("handout.html.j2")


def _printed(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Return a figure for paper, in one size and without buttons."""
    return {"data": figure["data"], "layout": {**figure["layout"], **_SIZE, "font": _TYPE}}


def _shown(parameter: Number | Choice, value: Any) -> str:
    return parameter.options[value] if isinstance(parameter, Choice) else brief(value)
