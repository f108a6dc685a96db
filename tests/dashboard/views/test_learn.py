"""The Learn page: questions, reveals, controls, addresses and hand-outs."""

import itertools
import json
import math
from urllib.parse import parse_qsl, urlsplit

import plotly.graph_objects as go
import pytest

from dashboard.components.formats import at_most
from dashboard.views.learn import lessons, screen
from dashboard.views.learn.lessons import figures
from dashboard.views.learn.lessons.base import LETTERS
from tests.dashboard.lessons import at_once
from tests.pages import address, metrics, settled, view, widget

OTHER = {
    "linkage": ("linkage_people", 500),
    "response": ("response_eps", 0.5),
    "neighbours": ("neighbours_rows", 3),
    "processing": ("processing_noise", 2.0),
    "local": ("local_people", 1000),
    "promise": ("promise_eps", 2.0),
    "noise": ("noise_std", 8.0),
    "composition": ("composition_noise", 2.0),
    "subsampling": ("subsampling_q", 0.2),
    "wall": ("wall_eps", 0.2),
    "polya": ("polya_c", 4.0),
    "outcomes": ("outcomes_eps", "3"),
    "attack": ("attack_noise", 5.0),
}


def asked(lesson):
    return lessons.LESSONS[lesson].question(lessons.LESSONS[lesson].defaults)


def page(lesson, /, **address):
    return settled(view("learn", **{"lesson": lesson, **address}))


def revealed(lesson, /, **address):
    return page(lesson, **{f"{lesson}_shown": 1, **address})


@pytest.mark.parametrize("lesson", OTHER)
def test_a_question_comes_before_the_reveal(lesson):
    at = page(lesson)
    assert set(metrics(at).values()) == {"?"}
    assert len(at.get("plotly_chart")) == 1
    assert at.button(f"reveal:{lesson}").disabled
    right = asked(lesson).right
    settled(at.radio[0].set_value(LETTERS[right]).run())
    settled(at.button(f"reveal:{lesson}").click().run())
    assert at.success[0].value.startswith("Right. ")
    assert "?" not in metrics(at).values()
    assert address(at)[f"{lesson}_shown"] == "1"
    assert address(at)[f"{lesson}_answer"] == LETTERS[right]
    settled(at.button(f"reveal:{lesson}").click().run())
    assert set(metrics(at).values()) == {"?"}


@pytest.mark.parametrize("lesson", OTHER)
def test_a_wrong_answer_is_said_to_be_one(lesson):
    answers = asked(lesson).answers
    wrong = (asked(lesson).right + 1) % len(answers)
    at = revealed(lesson, **{f"{lesson}_answer": LETTERS[wrong]})
    assert at.info[0].value.startswith(f"Not quite. {answers[wrong].mistake}")
    assert answers[asked(lesson).right].text in at.info[0].value


@pytest.mark.parametrize("lesson", OTHER)
def test_each_lesson_has_all_that_a_course_needs(lesson):
    """Aim, minutes, exercise, an animation that can be stopped, a sentence for each wrong answer, notes."""
    taught, at, presented = lessons.LESSONS[lesson], revealed(lesson), revealed(lesson, present=1)
    captions = [caption.value for caption in at.caption]
    assert f"**Aim.** {taught.objective} About {taught.minutes} minutes." in captions
    for shown in (at, presented):
        words = [markdown.value for markdown in shown.markdown]
        assert f"**Exercise, on paper.** {taught.exercise}" in words
        assert not any(taught.solution in word for word in words)  # in the second hand-out only
    assert all(any(note in markdown.value for markdown in presented.markdown) for note in taught.notes)
    figure = json.loads(at.get("plotly_chart")[0].proto.spec)
    assert len(figure["frames"]) > 1
    (menu,) = figure["layout"]["updatemenus"]
    assert [button["label"] for button in menu["buttons"]] == ["▶ Play", "❚❚ Pause"]
    wrong = [answer for place, answer in enumerate(asked(lesson).answers) if place != asked(lesson).right]
    assert len(wrong) >= 2
    assert all(answer.mistake.endswith((".", "!", "?")) for answer in wrong)


@pytest.mark.parametrize("lesson", OTHER)
def test_a_control_changes_the_numbers_and_the_address_keeps_it(lesson):
    name, value = OTHER[lesson]
    before, after = metrics(revealed(lesson)), revealed(lesson, **{name: value})
    assert metrics(after) != before
    assert address(after)[name] == str(value)
    assert not after.error


def test_a_control_moves_on_the_page():
    at = revealed("promise")
    (entry,) = [element for element in at.number_input if element.key.startswith("number:promise_eps:")]
    settled(entry.set_value(2.0).run())
    assert metrics(at)["Factor on the odds, at most"] == f"×{at_most(math.exp(2) + 1e-3)}"
    at = revealed("outcomes")
    settled(widget(at.select_slider, "scale:outcomes_eps").set_value("10").run())
    assert address(at)["outcomes_eps"] == "10"


def test_the_address_of_a_lesson_holds_that_lesson_alone():
    at = page("composition", composition_q=0.5, promise_eps=1)
    own = {f"composition_{name}" for name in ("answer", "shown", "noise", "q", "steps")}
    assert set(address(at)) == {"lesson", "present", *own}


@pytest.mark.parametrize(
    ("lesson", "name", "value", "complaint"),
    [
        ("promise", "lesson", "9", f"lesson must be one of {', '.join(lessons.LESSONS)}, got '9'"),
        ("promise", "present", "yes", "present must be one of 0, 1"),
        ("promise", "promise_eps", "nan", "promise_eps must be a number of at least 0.01 and at most 10"),
        ("promise", "promise_answer", "e", "promise_answer must be one of none, a, b, c, d"),
        (
            "subsampling",
            "subsampling_answer",
            "d",
            "subsampling_answer must be one of none, a, b, c, got 'd'",
        ),
        ("noise", "noise_shown", "2", "noise_shown must be one of 0, 1"),
        ("composition", "composition_steps", "1e9", "composition_steps must be a whole number"),
        ("wall", "wall_stage", "data", "wall_stage must be one of wall, noise, released, parameters"),
        ("polya", "polya_c", "-1", "polya_c must be a number of at least 0 and at most 10"),
        ("outcomes", "outcomes_eps", "7", "outcomes_eps must be one of 0.1, 0.3, 1, 3, 10, ∞"),
        ("outcomes", "outcomes_run", "9", "outcomes_run must be a whole number of at least 1 and at most 8"),
    ],
)
def test_bad_address_gives_one_sentence(lesson, name, value, complaint):
    (error,) = page(lesson, **{name: value}).error
    assert complaint in error.value.replace("\\", "")


def test_lessons_turn_and_only_presenting_binds_the_arrow_keys():
    first, *others = lessons.LESSONS
    at = page(first)
    assert at.button("turn-Previous").disabled
    assert at.button("turn-Next").proto.shortcut == ""
    assert at.get("popover")[-1].proto.popover.label == "Hand-outs"
    at = page(first, present=1)
    assert at.get("popover")[-1].proto.popover.label == "Notes"
    assert [at.button(f"turn-{way}").proto.shortcut for way in ("Previous", "Next")] == ["left", "right"]
    for place, lesson in enumerate(others, 2):
        settled(at.button("turn-Next").click().run())
        assert address(at)["lesson"] == lesson
        assert address(at)["present"] == "1"
        assert at.title[0].value == f"{place}. {lessons.LESSONS[lesson].title}"
    assert at.button("turn-Next").disabled
    settled(at.button("turn-Previous").click().run())
    assert address(at)["lesson"] == others[-2]


def test_a_lesson_keeps_its_values_while_others_are_visited():
    at = page("promise", promise_eps=3.0)
    settled(at.button("turn-Next").click().run())
    settled(at.button("turn-Previous").click().run())
    assert address(at)["promise_eps"] == "3.0"


@pytest.mark.parametrize("lesson", ["promise", "wall", "attack"])
def test_hand_out_s_link_opens_the_same_state(lesson):
    name, value = OTHER[lesson]
    first = revealed(lesson, **{name: value, f"{lesson}_answer": "b"})
    assert [b.proto.label for b in first.get("download_button")][:2] == ["Exercise", "Solution"]
    state = {item.name: first.session_state[f"value:{item.name}"] for item in lessons.LESSONS[lesson].state}
    link = screen.address("http://127.0.0.1:8501/learn", lessons.LESSONS[lesson], state)
    second = page(lesson, **dict(parse_qsl(urlsplit(link).query)))
    assert metrics(second) == metrics(first)
    assert second.info[0].value == first.info[0].value


@pytest.mark.parametrize("lesson", OTHER)
def test_words_in_a_presented_figure_are_large_in_every_frame(lesson):
    drawn = figures.presented(
        lessons.LESSONS[lesson].look(lessons.LESSONS[lesson].defaults, True, at_once).figure
    )
    layouts = [drawn["layout"], *(frame["layout"] for frame in drawn["frames"])]
    sizes = [words["font"]["size"] for layout in layouts for words in layout.get("annotations", [])]
    sizes += [
        layout[name]["tickfont"]["size"] for layout in layouts for name in layout if name[1:5] == "axis"
    ]
    assert min(sizes) >= 17


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("lesson", OTHER)
def test_plots_that_are_stacked_do_not_overlap_in_any_frame(lesson, reveal):
    drawn = lessons.LESSONS[lesson].look(lessons.LESSONS[lesson].defaults, reveal, at_once).figure
    below = figures.stacked(drawn)
    if "xaxis2" not in drawn["layout"]:
        assert below == drawn
        return
    assert go.Figure({**below, "frames": []}).layout.height > drawn["layout"]["height"]
    layouts = [below["layout"], *(frame["layout"] for frame in below.get("frames", []))]
    for layout in layouts:
        rows = sorted(axis["domain"] for name, axis in layout.items() if name.startswith("yaxis"))
        assert all(low[1] < high[0] for low, high in itertools.pairwise(rows))
        assert all(axis["domain"] == [0, 1] for name, axis in layout.items() if name.startswith("xaxis"))
        assert all(0 <= words["x"] <= 1 for words in layout["annotations"] if words["xref"] == "paper")
