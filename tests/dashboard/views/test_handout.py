"""Hand-outs of lessons: all but our own markup is text."""

from dataclasses import replace

import pandas as pd

from dashboard.views.learn import handout, lessons
from dashboard.views.learn.lessons.base import Answer, Outcome, always

MARKUP = '<script>alert(1)</script> "quoted" & **bold**'
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt; &#34;quoted&#34; &amp; <b>bold</b>"


def test_texts_numbers_and_addresses_are_escaped():
    outcome = Outcome(numbers=((MARKUP, MARKUP),), figure=None, table=pd.DataFrame, explanation=MARKUP)
    lesson = replace(
        lessons.LESSONS["promise"],
        title=MARKUP,
        alt=MARKUP,
        question=always(MARKUP, Answer(MARKUP), Answer("b", MARKUP)),
        look=lambda *_: outcome,
    )
    link = 'https://x/learn?a="><script>'
    exercise, solution = (
        handout.page(lesson, lesson.defaults, part, link, None).decode() for part in handout.PARTS
    )
    for text in (exercise, solution):
        assert "<script>" not in text
        assert 'href="https://x/learn?a=&#34;&gt;&lt;script&gt;"' in text
    assert f"<p>{ESCAPED}</p>" in exercise
    assert f"☐ a) {ESCAPED}</li>" in exercise
    assert f"<td>{ESCAPED}</td><td>{ESCAPED}</td>" in solution


def test_words_in_a_figure_cannot_end_the_script():
    drawn = {"data": [{"name": "</script><script>alert(1)</script>"}], "layout": {}}
    outcome = Outcome(numbers=(), figure=drawn, table=pd.DataFrame, explanation="")
    lesson = replace(lessons.LESSONS["promise"], look=lambda *_: outcome)
    text = handout.page(lesson, lesson.defaults, "Solution", "https://x", None).decode()
    assert "<script>alert" not in text
