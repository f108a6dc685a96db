"""Pieces of the Learn page: question and reveal, controls, navigation, presenter mode."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from dashboard import components, handout, layout, session
from dashboard.lessons import CURRENT, LESSONS, PRESENT
from dashboard.lessons.base import LETTERS, Lesson, Outcome, Scale
from dashboard.session import Choice, Number

_STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding-top: 4rem; padding-bottom: 1rem; }
[data-testid="stMain"] [data-testid="stVerticalBlock"] { gap: 0.75rem; }
.st-key-narrow-lesson-numbers [data-testid="stMetricValue"] { font-size: 1.5rem; }
.updatemenu-button:focus-visible { outline: 3px solid #1F83C4; }
@media (max-width: 1100px) { .st-key-lesson-row > :has([data-testid="stButtonGroup"]) { order: 1; } }
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { animation: none !important; transition: none !important; }
}
</style>"""
_LARGER = """<style>
html { font-size: 112%; }
[data-testid="stMain"] [data-testid="stVerticalBlock"] { gap: 0.5rem; }
header[data-testid="stHeader"] { display: none; }
[data-testid="stMainBlockContainer"] { max-width: none; padding: 1rem 2.5rem; }
</style>"""
# Plotly draws its buttons as shapes: name them for screen readers, and let the keyboard reach and press them.
_KEYS = """<script>
(() => {
  if (window.vipsPlayButtons) return;
  window.vipsPlayButtons = true;
  const name = () => document.querySelectorAll('.updatemenu-button:not([role])').forEach((button) => {
    button.setAttribute('role', 'button');
    button.setAttribute('tabindex', '0');
    button.setAttribute('aria-label', button.textContent.replace(/[^A-Za-z ]/g, '').trim());
  });
  new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
  document.addEventListener('keydown', (event) => {
    if (!['Enter', ' '].includes(event.key) || !event.target.closest?.('.updatemenu-button')) return;
    event.preventDefault();
    event.target.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  });
  name();
})();
</script>"""
_PRESENTED = {"height": 470, "font": 17}


def style(present: bool) -> None:
    """Set the page's own style: one screen for one lesson, and larger type when presenting."""
    st.html(_STYLE + (_LARGER if present else ""))


def script() -> None:
    """Let the keyboard reach the charts' buttons; comes last, because it takes a line of the page."""
    st.html(_KEYS, unsafe_allow_javascript=True)


def navigation(lesson: Lesson, present: bool) -> None:
    """Show the way to the other lessons; when presenting, the arrow keys turn pages."""
    row = st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="lesson-row"
    )
    with row:
        _turn("Previous", lesson.number - 1, ":material/arrow_back:", "Left" if present else None)
        if not present:
            key = f"lessons:{lesson.number}"  # a new lesson is a new widget: no late message can turn back
            st.segmented_control(
                CURRENT.label, list(CURRENT.options), default=str(lesson.number), required=True,
                format_func=lambda number: CURRENT.options[number], key=key, label_visibility="collapsed",
                on_change=session.takes(CURRENT.name, key),
            )  # fmt: skip
        _turn("Next", lesson.number + 1, ":material/arrow_forward:", "Right" if present else None)
        st.toggle(
            PRESENT.label, present, key="present", help=PRESENT.help,
            on_change=session.takes(PRESENT.name, "present", lambda on: "1" if on else "0"),
        )  # fmt: skip


def _turn(label: str, number: int, icon: str, shortcut: str | None) -> None:
    st.button(
        f"{label} lesson", key=f"turn-{label}", icon=icon, shortcut=shortcut, type="tertiary",
        disabled=not 1 <= number <= len(LESSONS),
        on_click=session.sets(CURRENT.name, str(number)),
    )  # fmt: skip


def question(lesson: Lesson, outcome: Outcome) -> None:
    """Ask and take an answer, or show the solution."""
    name = lesson.answer.name
    picked, shown = session.get(name), session.get(lesson.shown.name) == "1"
    st.markdown(f"**{lesson.question}**")
    if shown:
        right = lesson.answers[lesson.right]
        verdict = "" if picked == "none" else "Right. " if picked == LETTERS[lesson.right] else "Not quite. "
        kind = st.success if verdict == "Right. " else st.info
        kind(f"{verdict}**{right}**", icon=":material/lightbulb:")
        st.markdown(outcome.explanation)
    else:
        letters = LETTERS[: len(lesson.answers)]
        key = f"answer:{name}"
        st.radio(
            lesson.answer.label, list(letters), None if picked == "none" else letters.index(picked), key=key,
            format_func=lambda letter: lesson.answer.options[letter], label_visibility="collapsed",
            on_change=session.takes(name, key),
        )  # fmt: skip


def reveal(lesson: Lesson) -> None:
    """Show the button that uncovers the answer, once one is picked, or covers it again."""
    picked, shown = session.get(lesson.answer.name), session.get(lesson.shown.name) == "1"
    st.button(
        "Ask again" if shown else "Reveal", key=f"reveal:{lesson.number}",
        type="secondary" if shown else "primary", disabled=not shown and picked == "none",
        help=None if shown or picked != "none" else "Choose an answer first.",
        on_click=session.sets(lesson.shown.name, "0" if shown else "1"),
    )  # fmt: skip


def controls(parameters: tuple[Number | Choice, ...]) -> dict[str, Any]:
    """Show the controls and return their values by name."""
    show = {Number: components.number_with_slider, Scale: _slider, Choice: _buttons}
    return {parameter.name: show[type(parameter)](parameter) for parameter in parameters}


def _buttons(parameter: Choice) -> str:
    return components.choice(parameter, as_buttons=True)


def _slider(parameter: Scale) -> str:
    key = f"scale:{parameter.name}"
    st.select_slider(
        parameter.label, list(parameter.options), session.get(parameter.name), key=key, help=parameter.help,
        format_func=lambda value: parameter.options[value],
        on_change=session.takes(parameter.name, key),
    )  # fmt: skip
    return session.get(parameter.name)


def numbers(outcome: Outcome, revealed: bool) -> None:
    """Show the outcome's large numbers, covered before the reveal."""
    columns = layout.narrow_columns("lesson-numbers", len(outcome.numbers))
    for column, (label, value) in zip(columns, outcome.numbers, strict=True):
        layout.metric(label, value if revealed else "?", column)


def chart(lesson: Lesson, outcome: Outcome, revealed: bool, present: bool) -> None:
    """Show the chart, larger when presenting, and after the reveal its table."""
    drawn = outcome.figure
    if drawn is not None and present:
        layout = {**drawn["layout"], "height": _PRESENTED["height"], "font": {"size": _PRESENTED["font"]}}
        drawn = {**drawn, "layout": layout}
    name = f"lesson{lesson.number}"
    if drawn is None or revealed:
        components.chart(drawn, name, lesson.alt, outcome.table)
    else:
        components.plot(drawn, name, lesson.alt)
    st.caption(lesson.caption)


def mathematics(lesson: Lesson) -> None:
    """Show the formulas, one click away."""
    with st.popover("The mathematics", icon=":material/function:"):
        for formula in lesson.formulas:
            st.latex(formula.latex)
            st.caption(formula.source)


def address(page: str, lesson: Lesson, state: Mapping[str, Any]) -> str:
    """Return the address that opens a lesson in a state."""
    return f"{page}?{urlencode({CURRENT.name: lesson.number, **state})}"


def take_home(lesson: Lesson, values: Mapping[str, Any], outcome: Outcome) -> None:
    """Offer the hand-out: exercise, solution, and the address of this very state."""
    state = {item.name: session.get(item.name) for item in lesson.state}
    link = address(st.context.url or "", lesson, state)
    ready = all(value is not None for _, value in outcome.numbers)
    st.download_button(
        "Hand-out", lambda: handout.page(lesson, values, outcome, link).encode(),
        f"lesson-{lesson.number}.html", "text/html", icon=":material/print:", on_click="ignore",
        disabled=not ready, help="One page to print: exercise, solution, and a link to this screen.",
    )  # fmt: skip
