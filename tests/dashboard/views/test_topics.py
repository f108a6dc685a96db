"""The Topics page: every number against the core, without a browser."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon, pdist, squareform

from dashboard import stored
from dashboard.components.charts import scores_over_steps
from dashboard.components.formats import number
from dashboard.views.topics import charts, data, tables, text
from dashboard.views.topics.definition import PAGE
from tests.dashboard.topics_page import WORDS, documents, page, press_train, said, store, worked
from tests.pages import address, checked, widget
from vips_core import (
    Documents,
    infer_topics,
    match_topics,
    measured_topics,
    npmi_coherence,
    topic_words,
    unigram_perplexity,
)

__all__ = ["store"]  # a fixture


@pytest.fixture
def trained(store):
    """A page with a private and a non-private run of two topics."""
    return worked(press_train(page(methods="refined,non-private", epsilon=20, epochs=20, seed=1)), store)


def finished_by(at):
    ids = address(at)["runs"].split(",")
    return tuple(ids), {item.request.method: item for item in map(stored.finished, ids)}


def html_of(at, part):
    (body,) = [item.proto.body for item in at.get("html") if f'class="{part}"' in item.proto.body]
    return body


def test_topics_without_room_are_said_to_be_empty(store):
    at = worked(press_train(page(methods="refined,non-private", epsilon=0.002, topics=6, epochs=20)), store)
    found = measured_topics(finished_by(at)[1]["refined"].fit)
    assert 1 <= found <= 3  # the noise leaves room for three
    assert text.empty("Refined", found, 6) in [item.value for item in at.info]
    summaries = [(store.folder(run) / "summary.txt").read_text() for run in address(at)["runs"].split(",")]
    assert f"Found {found} of 6 topics; the noise hides the others." in summaries[0]
    assert "room" not in summaries[1]


def test_topics_are_matched_to_the_non_private_ones(trained):
    ids, finished = finished_by(trained)
    aligned = data.aligned(ids, finished)
    private, plain = (topic_words(finished[name].fit.params) for name in ("refined", "non-private"))
    partner, overlap = match_topics(plain, private)
    order = aligned["non-private"].order
    assert np.all(np.diff(aligned["non-private"].shares) <= 0)
    np.testing.assert_array_equal(aligned["refined"].words, private[partner[order]])
    np.testing.assert_allclose(aligned["refined"].overlap, overlap[order])
    assert f"{overlap[order][0]:.0%} in common" in html_of(trained, "vips-topics")


def test_words_in_the_page_are_escaped(trained):
    body = html_of(trained, "vips-topics") + html_of(trained, "vips-paper")
    assert "&lt;b&gt;peace&lt;/b&gt;" in body
    assert "<b>peace" not in body


def test_every_chart_has_a_table_twin(trained):
    assert len(trained.get("plotly_chart")) == 4
    names = ("topics", "map", "bars", "perplexity", "coherence")
    for name in names:
        trained.session_state[f"table:{name}"] = True
    checked(trained.run())
    tables = [item.value for item in trained.dataframe]
    assert [len(table) for table in tables] == [2 * 2 * len(WORDS), 4, len(WORDS), len(tables[3]), 4]
    assert tables[3]["Method"].iloc[-1] == "Unigram (no topics)"


def test_scores_are_the_core_s(trained):
    ids, finished = finished_by(trained)
    data_set = stored.data("open")
    aligned = data.aligned(ids, finished)
    counts = np.bincount(data_set.train.indices, data_set.train.counts, minlength=len(WORDS))
    assert data.unigram(ids, aligned, data_set) == unigram_perplexity(counts, data_set.test)
    table = data.coherence(ids, aligned, data_set.test)
    expected = npmi_coherence(aligned["refined"].words, data_set.test, top=len(WORDS))
    np.testing.assert_allclose(table[table["Method"] == "refined"]["Coherence (NPMI)"], expected)


def test_private_data_take_the_unigram_line_from_a_release(store):
    at = worked(press_train(page(data="clinic", epsilon=0.9)), store)
    ids, finished = finished_by(at)
    aligned, data_set = data.aligned(ids, finished), stored.data("clinic")
    released = aligned["refined"].marginal * data_set.test.counts.sum()
    assert data.unigram(ids, aligned, data_set) == unigram_perplexity(released, data_set.test)


def test_without_held_out_records_nothing_is_scored(store):
    store.add_data("letters", documents(50, 3), private=False, unit="one document")
    at = worked(press_train(page(data="letters")), store)
    titles = [header.value for header in at.header]
    assert "Topics side by side" in titles
    assert "Coherence of the topics" not in titles
    assert "Held-out perplexity while training" not in titles


def test_relevance_goes_from_probability_to_lift(trained):
    ids, finished = finished_by(trained)
    part = data.aligned(ids, finished)["non-private"]
    count = part.words.shape[1]
    np.testing.assert_array_equal(data.best_words(part, 1.0, count), np.argsort(-part.words, axis=1))
    lift = part.words / (part.shares @ part.words)
    np.testing.assert_array_equal(data.best_words(part, 0.0, count), np.argsort(-lift, axis=1))
    before = html_of(trained, "vips-topics")
    checked(widget(trained.slider, "plain:relevance").set_value(0.0).run())
    assert address(trained)["relevance"] == "0.0"
    assert html_of(trained, "vips-topics") != before


def test_map_keeps_jensen_shannon_distances():
    words = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 3)
    expected = squareform(pdist(words, jensenshannon))
    np.testing.assert_allclose(data.divergence(words), expected**2, atol=1e-12)
    part = data.Topics(words, np.full(3, 1 / 3), None, np.arange(3), 3)
    placed = data.topic_map(("map",), ("refined",), {"refined": part})
    np.testing.assert_allclose(
        squareform(pdist(placed["refined"])), expected, atol=1e-9
    )  # 3 points fit in a plane


def test_map_joins_partners(trained):
    ids, finished = finished_by(trained)
    aligned = data.aligned(ids, finished)
    place = data.topic_map(ids, ("refined", "non-private"), aligned)
    lines, private, plain = charts.intertopic_map(place, aligned, 0)["data"]
    np.testing.assert_array_equal(lines["x"][:2], [private["x"][0], plain["x"][0]])
    assert private["marker"]["line"]["width"][0] > private["marker"]["line"]["width"][1]


def test_topics_of_a_pasted_text(trained):
    text = "Tax upon tax, and more debt; unknownword"
    checked(trained.text_area(key="own-text").set_value(text).run())
    assert "Words in the public vocabulary: 3." in said(trained)
    ids, finished = finished_by(trained)
    aligned = data.aligned(ids, finished)
    known, shares = data.text_topics(finished, aligned, text)
    corpus = Documents.from_counts([[2, 1, 0, 0, 0, 0]], WORDS)
    expected = infer_topics(finished["refined"].fit, corpus)[0][aligned["refined"].order]
    assert known == 3
    np.testing.assert_allclose(shares["refined"], expected)
    assert "tax" not in str(address(trained)).lower()
    checked(trained.text_area(key="own-text").set_value("nothing known").run())
    assert "Words in the public vocabulary: 0." in said(trained)


def test_runs_with_other_numbers_of_topics_stand_beside_each_other(store):
    first = address(worked(press_train(page(methods="non-private")), store))["runs"]
    second = address(worked(press_train(page(topics=3)), store))["runs"]
    at = page(runs=f"{first},{second}", shown="refined", topic=3)
    assert "Topics side by side" in [header.value for header in at.header]
    checked(at.text_area(key="own-text").set_value("tax and debt").run())
    assert address(at)["topic"] == "3"


def test_table_as_in_the_paper(trained):
    ids, finished = finished_by(trained)
    aligned = data.aligned(ids, finished)
    table = tables.paper_table(tables.words_table(aligned, WORDS, 1.0), 2)
    best = int(np.argmax(aligned["refined"].words[1]))
    assert table["Topic 2, Refined"].iloc[0] == WORDS[best]
    assert table["Topic 2, Refined, probability"].iloc[0] == round(aligned["refined"].words[1, best], 5)
    assert "Topic 2" in html_of(trained, "vips-paper")


def test_scores_over_steps_take_a_log_axis_for_runs_of_very_different_length():
    scores = {"refined": [(1, 9.0), (10, 5.0)], "paper": [(1, 9.0), (200, 8.0)]}
    figure = scores_over_steps(scores, PAGE.labels, "perplexity", {"Unigram": 7.0})
    assert figure["layout"]["xaxis"]["type"] == "log"
    assert figure["data"][2]["y"] == [7.0, 7.0]
    going_on = {"refined": [(1, 9.0), (6, 5.0)], "paper": [(1, 9.0)]}
    x = scores_over_steps(going_on, PAGE.labels, "perplexity", planned=[20, 20])["layout"]["xaxis"]
    assert (x.get("type"), x["range"]) == (None, [0, 20.4])  # of the plan, as when they will have ended
    del scores["paper"]
    assert "type" not in scores_over_steps(scores, PAGE.labels, "perplexity")["layout"]["xaxis"]


def test_few_steps_have_a_tick_each():
    few, many = ({"refined": [(1, 9.0), (last, 5.0)]} for last in (4, 40))
    axes = [scores_over_steps(scores, PAGE.labels, "perplexity")["layout"]["xaxis"] for scores in (few, many)]
    assert [axis.get("dtick") for axis in axes] == [1, None]


def test_one_topic_has_a_place_too():
    topics = data.Topics(np.full((1, 4), 0.25), np.ones(1), None, np.arange(1), 1)
    placed = data.topic_map(("one",), ("refined",), {"refined": topics})
    assert placed["refined"].tolist() == [[0.0, 0.0]]
    assert charts.intertopic_map(placed, {"refined": topics}, 0)["data"]


def test_charts_show_words_as_they_are():
    """Plotly interprets some HTML."""
    topics = data.Topics(np.full((1, 2), 0.5), np.ones(1), None, np.arange(1), 1)
    figure, table = charts.word_bars({"refined": topics}, ("<b>peace</b>", "war"), ("refined",), 0, 1.0)
    assert set(figure["data"][0]["y"]) == {"&lt;b&gt;peace&lt;/b&gt;", "war"}
    assert set(table["Word"]) == {"<b>peace</b>", "war"}


def test_coherence_that_differs_by_rounding_only_keeps_its_ticks():
    table = pd.DataFrame({"Method": "refined", "Topic": [1, 2], charts.COHERENCE: [0.1, 0.1 + 1e-17]})
    figure = charts.coherence(table)
    assert figure["data"][0]["y"] == [0.1, 0.1]
    assert (figure["layout"]["xaxis"]["tick0"], figure["layout"]["xaxis"]["dtick"]) == (1, 1)


def test_empty_topics_have_no_number_on_the_map():
    """They all have the words of all documents, so their numbers would overlap."""
    topics = data.Topics(
        np.array([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]), np.array([1.0, 0, 0]), None, np.arange(3), 1
    )
    placed = data.topic_map(("empty",), ("refined",), {"refined": topics})
    (circles,) = charts.intertopic_map(placed, {"refined": topics}, 0)["data"]
    assert circles["text"] == ["1", "", ""]
    assert circles["customdata"] == [[1, 100.0], [2, 0.0], [3, 0.0]]


def test_the_table_leaves_out_topics_that_were_not_told_apart():
    order = np.array([2, 0, 1])  # shown first is the fit's third topic
    topics = data.Topics(np.eye(3), np.array([0.5, 0.3, 0.2]), None, order, 2)
    first, second, third = tables.side_by_side({"refined": topics}, ("a", "b", "c"), 1.0).split(
        'scope="row"'
    )[1:]
    assert tables.NOT_FOUND in first
    assert tables.NOT_FOUND not in second + third
    assert "30.0% of the words" in second


def run_with(scores, of_all):
    return SimpleNamespace(
        run=SimpleNamespace(validation_scores=scores),
        result={"held_out": {"perplexity (completion)": of_all}},
    )


def test_topics_no_better_than_one_distribution_have_failed():
    runs = {
        "refined": run_with([(1, 900.0), (2, 700.0)], 810.0),
        "strong": run_with([(1, 700.0), (2, 800.0)], 790.0),
        "paper": run_with([], 801.0),  # stopped before its first score
    }
    assert data.failed(runs, 800.0) == ["strong", "paper"]
    assert "**Strong** has failed" in text.failed(["Strong"])


def test_a_sentence_comes_first(store):
    at = worked(press_train(page()), store)
    (run_id,) = address(at)["runs"].split(",")
    held_out = stored.finished(run_id).result["held_out"]
    name = next(iter(PAGE.task.scores))
    first = next(element.value for element in at.main.markdown if element.value.startswith("**On held-out"))
    assert f"{name} is {number(held_out[name])} (Refined, ε = " in first
    assert first.endswith("half of a text from the other half: smaller is better.")
