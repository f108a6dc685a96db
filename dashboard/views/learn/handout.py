"""Two printable pages for each lesson: exercise and solution, with a figure and the way to the screen."""

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

PARTS = {"Exercise": False, "Solution": True}  # and whether the answer is revealed on it
_SIZE = {"width": 660, "height": 330, "updatemenus": [], "template": "none"}
_TYPE = {"family": "Helvetica, Arial, Liberation Sans, sans-serif", "color": "#1C2733"}


def page(lesson: Lesson, values: Mapping[str, Any], part: str, address: str, later: Later) -> bytes:
    """Return a part of a lesson's hand-out at the present values, as HTML that needs nothing else."""
    outcome = lesson.look(values, PARTS[part], later)
    settings = [
        (parameter.label, _shown(parameter, values[parameter.name])) for parameter in lesson.parameters
    ]
    text = _template().render(
        lesson=lesson,
        heading=lessons.heading(lesson),
        part=part,
        question=lesson.question(values),
        settings=settings,
        outcome=outcome,
        figure=None if outcome.figure is None else _printed(outcome.figure),
        plotly=plotly_script,
        address=address,
        mark=layout.MARK,
    )
    return text.encode()


def bold(markdown: str) -> Markup:
    """Escape a sentence; what is **bold** stays so.

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
    """Return a figure for paper: one size, and nothing to press."""
    layout_on_paper = {**figure["layout"], **_SIZE, "font": {**_TYPE, "size": 12}}
    return {"data": figure["data"], "layout": layout_on_paper}


def _shown(parameter: Number | Choice, value: Any) -> str:
    return parameter.options[value] if isinstance(parameter, Choice) else brief(value)
