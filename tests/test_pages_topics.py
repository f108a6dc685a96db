"""The Topics page: every number against the core, without a browser."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, pdist, squareform

from dashboard import charts, library, topics, topics_charts
from tests.test_workbench import WORDS, address, checked, page, said, store, train, worked
from vips_core import Corpus, infer_topics, match_topics, npmi_coherence, topic_words, unigram_perplexity

__all__ = ["store"]  # a fixture


@pytest.fixture
def trained(store):
    """A page with a private and a non-private run of two topics."""
    return worked(train(page(methods="refined,non-private", epsilon=5, epochs=20)), store)


def found_by(at):
    ids = address(at)["runs"].split(",")
    return tuple(ids), {item.request.method: item for item in map(library.finished, ids)}


def html_of(at, part):
    (body,) = [item.proto.body for item in at.get("html") if f'class="{part}"' in item.proto.body]
    return body


def test_topics_are_matched_to_the_non_private_ones(trained):
    ids, found = found_by(trained)
    aligned = topics.aligned(ids, found)
    private, plain = (topic_words(found[name].fit.params) for name in ("refined", "non-private"))
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
    assert tables[3]["Method"].iloc[-1] == "One distribution for all (unigram)"


def test_scores_are_the_core_s(trained):
    ids, found = found_by(trained)
    data = library.data("open")
    aligned = topics.aligned(ids, found)
    counts = np.bincount(data.train.indices, data.train.counts, minlength=len(WORDS))
    assert topics.unigram(ids, aligned, data) == unigram_perplexity(counts, data.test)
    table = topics.coherence(ids, aligned, data.test)
    expected = npmi_coherence(aligned["refined"].words, data.test, top=len(WORDS))
    np.testing.assert_allclose(table[table["Method"] == "refined"]["Coherence (NPMI)"], expected)


def test_private_data_take_the_unigram_line_from_a_release(store):
    at = worked(train(page(data="clinic", epsilon=0.9)), store)
    ids, found = found_by(at)
    aligned, data = topics.aligned(ids, found), library.data("clinic")
    released = aligned["refined"].marginal * data.test.counts.sum()
    assert topics.unigram(ids, aligned, data) == unigram_perplexity(released, data.test)


def test_without_held_out_records_nothing_is_scored(store):
    from tests.test_workbench import documents

    store.add_data("letters", documents(50, 3), private=False, unit="one document")
    at = worked(train(page(data="letters")), store)
    titles = [header.value for header in at.subheader]
    assert "Topics side by side" in titles
    assert "Coherence of the topics" not in titles
    assert "Held-out perplexity while training" not in titles


def test_relevance_goes_from_probability_to_lift(trained):
    ids, found = found_by(trained)
    part = topics.aligned(ids, found)["non-private"]
    count = part.words.shape[1]
    np.testing.assert_array_equal(topics.best_words(part, 1.0, count), np.argsort(-part.words, axis=1))
    lift = part.words / (part.shares @ part.words)
    np.testing.assert_array_equal(topics.best_words(part, 0.0, count), np.argsort(-lift, axis=1))
    before = html_of(trained, "vips-topics")
    checked(trained.slider(key="plain:relevance").set_value(0.0).run())
    assert address(trained)["relevance"] == "0.0"
    assert html_of(trained, "vips-topics") != before


def test_map_keeps_jensen_shannon_distances():
    words = np.random.default_rng(0).dirichlet(np.full(30, 0.3), 3)
    expected = squareform(pdist(words, jensenshannon))
    np.testing.assert_allclose(topics.divergence(words), expected**2, atol=1e-12)
    part = topics.Topics(words, np.full(3, 1 / 3), None, np.arange(3))
    found = topics.topic_map(("map",), ("refined",), {"refined": part})
    np.testing.assert_allclose(squareform(pdist(found.places)), expected, atol=1e-9)  # 3 points fit a plane
    assert found.kept == pytest.approx(1.0)


def test_map_joins_partners(trained):
    ids, found = found_by(trained)
    aligned = topics.aligned(ids, found)
    place = topics.topic_map(ids, ("refined", "non-private"), aligned)
    lines, private, plain = topics_charts.intertopic_map(place, aligned, 0)["data"]
    np.testing.assert_array_equal(lines["x"][:2], [private["x"][0], plain["x"][0]])
    assert private["marker"]["line"]["width"][0] > private["marker"]["line"]["width"][1]


def test_topics_of_a_pasted_text(trained):
    text = "Tax upon tax, and more debt; unknownword"
    checked(trained.text_area(key="own-text").set_value(text).run())
    assert "3 of its words are in the public vocabulary" in said(trained)
    ids, found = found_by(trained)
    aligned = topics.aligned(ids, found)
    known, shares = topics.text_topics(found, aligned, text)
    corpus = Corpus.from_counts([[2, 1, 0, 0, 0, 0]], WORDS)
    expected = infer_topics(found["refined"].fit, corpus)[0][aligned["refined"].order]
    assert known == 3
    np.testing.assert_allclose(shares["refined"], expected)
    assert "tax" not in str(address(trained)).lower()
    checked(trained.text_area(key="own-text").set_value("nothing known").run())
    assert "0 of its words" in said(trained)


def test_runs_with_other_numbers_of_topics_stand_beside_each_other(store):
    first = address(worked(train(page(methods="non-private")), store))["runs"]
    second = address(worked(train(page(topics=3)), store))["runs"]
    at = page(runs=f"{first},{second}", shown="refined", topic=3)
    assert "Topics side by side" in [header.value for header in at.subheader]
    checked(at.text_area(key="own-text").set_value("tax and debt").run())
    assert address(at)["topic"] == "3"


def test_table_as_in_the_paper(trained):
    ids, found = found_by(trained)
    aligned = topics.aligned(ids, found)
    table = topics.paper_table(aligned, WORDS, 1.0, range(2))
    best = int(np.argmax(aligned["refined"].words[1]))
    assert table["Topic 2, Refined"].iloc[0] == WORDS[best]
    assert table["Topic 2, Refined, probability"].iloc[0] == round(aligned["refined"].words[1, best], 5)
    assert "Topic 2" in html_of(trained, "vips-paper")


def test_scores_over_steps_take_a_log_axis_for_runs_of_very_different_length():
    scores = {"refined": [(1, 9.0), (10, 5.0)], "paper": [(1, 9.0), (200, 8.0)]}
    figure = charts.scores_over_steps(scores, topics.LABELS, "perplexity", {"Unigram": 7.0})
    assert figure["layout"]["xaxis"]["type"] == "log"
    assert figure["data"][2]["y"] == [7.0, 7.0]
    del scores["paper"]
    assert "type" not in charts.scores_over_steps(scores, topics.LABELS, "perplexity")["layout"]["xaxis"]
