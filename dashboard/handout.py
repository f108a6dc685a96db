"""One printable page for each lesson: exercise, solution, formulas, and the way back to the screen."""

import html
import re
from collections.abc import Mapping
from typing import Any

from dashboard import layout
from dashboard.formats import brief
from dashboard.lessons.base import Lesson, Outcome
from dashboard.session import Choice, Number

_CSS = """
@page { size: A4; margin: 14mm 16mm; }
body { font: 10.5pt/1.4 Helvetica, Arial, "Liberation Sans", sans-serif; color: #1C2733; max-width: 178mm;
  margin: 8mm auto; }
header { display: flex; align-items: center; gap: 3mm; border-bottom: 0.6mm solid #1F83C4; }
header svg { width: 9mm; }
h1 { font-size: 17pt; margin: 2mm 0; } h2 { font-size: 12pt; margin: 5mm 0 1.5mm; color: #0F6FB0; }
p { margin: 1.5mm 0; } ol { list-style: none; padding: 0; margin: 1.5mm 0; } li { margin: 1mm 0; }
table { border-collapse: collapse; margin: 2mm 0; } td { padding: 0.8mm 6mm 0.8mm 0; }
td:last-child { font-weight: 600; }
.formula { font: italic 12.5pt "Times New Roman", "Liberation Serif", serif; margin: 2.5mm 0 0 6mm; }
.formula sub, .formula sup { font-size: 0.7em; line-height: 0; }
.source { font-size: 9pt; color: #55626F; margin: 0 0 0 6mm; }
.fold { border-top: 0.3mm dashed #7F8A95; margin: 6mm 0 0; font-size: 8.5pt; color: #55626F; }
@media print { body { margin: 0; } }
footer { font-size: 9pt; margin-top: 4mm; overflow-wrap: anywhere; } a { color: #0F6FB0; }
"""


def page(lesson: Lesson, values: Mapping[str, Any], outcome: Outcome, address: str) -> str:
    """Return the hand-out of a lesson at the present values, as HTML that needs nothing else."""
    answers = "".join(
        f"<li>☐ {letter}) {_text(answer)}</li>"
        for letter, answer in zip("abcd", lesson.answers, strict=False)
    )
    settings = [(p.label, _shown(p, values[p.name])) for p in lesson.parameters]
    formulas = "".join(
        f'<p class="formula">{formula.html}</p><p class="source">{_text(formula.source)}</p>'
        for formula in lesson.formulas
    )
    link = html.escape(address)
    title = f"{lesson.number}. {_text(lesson.title)}"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_CSS}</style></head><body>
<header>{layout.MARK}<h1>{title}</h1></header>
<p>{_text(lesson.introduction)}</p>
<h2>Exercise</h2>
<p>{_text(lesson.question)}</p><ol>{answers}</ol>
<p>Then, on paper, with these settings: {_text(lesson.exercise)}</p>
{_table(settings)}
<h2>Formulas</h2>{formulas}
<p class="fold">Fold here before you hand this out.</p>
<h2>Solution</h2>
<p><b>{_text(lesson.answers[lesson.right])}.</b> {_text(outcome.explanation)}</p>
<p>{_text(lesson.solution)}</p>
{_table(outcome.numbers)}
<footer>Open this screen: <a href="{link}">{link}</a><br>
Equations and sections are those of Park, Foulds, Chaudhuri and Welling, <i>Variational Bayes In Private
Settings</i>. Made with VIPS Explorer.</footer>
</body></html>
"""


def _table(rows: Any) -> str:
    cells = "".join(f"<tr><td>{_text(label)}</td><td>{_text(str(value))}</td></tr>" for label, value in rows)
    return f"<table>{cells}</table>"


def _shown(parameter: Number | Choice, value: Any) -> str:
    return parameter.options[value] if isinstance(parameter, Choice) else brief(value)


def _text(markdown: str) -> str:
    """Escape a sentence; what is **bold** stays so."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(markdown))
