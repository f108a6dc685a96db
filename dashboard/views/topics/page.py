"""Topics: the themes of documents, learned behind the wall."""

from pathlib import Path

import streamlit as st

from dashboard import state
from dashboard.components import layout
from dashboard.components.charts import chart, clickable
from dashboard.components.inputs import one_of, plain_slider
from dashboard.components.layout import card
from dashboard.components.tables import csv_button, table_twin
from dashboard.model_page import page as model_page
from dashboard.model_page import results
from dashboard.stored import DataSet, Finished
from dashboard.views.topics import charts, data, tables, text
from dashboard.views.topics.data import Topics
from dashboard.views.topics.definition import PAGE, RELEVANCE, SHOWN
from vips_core import measured_topics


def show() -> None:
    """Draw the page."""
    st.html(Path(__file__).with_name("tables.css"))
    model_page.show(PAGE, _results)


def _results(runs: dict[str, Finished], data_set: DataSet) -> None:
    ids = tuple(item.run.id for item in runs.values())
    topics = data.aligned(ids, runs)
    words = data_set.train.vocabulary
    weight, base = float(state.get("relevance")), data.reference(runs)
    line = {} if data_set.test is None else {data.UNIGRAM: data.unigram(ids, topics, data_set)}
    failed = data.failed(runs, line[data.UNIGRAM]) if line else []
    if failed:
        st.warning(text.failed([SHOWN.options[method] for method in failed]), icon=":material/warning:")
    for method, item in runs.items():
        measured, of = measured_topics(item.trained), item.trained.model.topics
        if measured < of:
            st.info(text.empty(SHOWN.options[method], measured, of), icon=":material/info:")
    with card("Topics side by side", text.matched(base, len(runs))):
        plain_slider(RELEVANCE, 0.05)
        st.html(tables.side_by_side(topics, words, weight))
        table = tables.words_table(topics, words, weight)
        table_twin("topics", text.WORDS_ALT, lambda: table)
    _one_topic(ids, topics, words, base)
    if data_set.test is not None:
        left, right = st.columns(2, gap="medium")
        with left, card("Held-out perplexity while training", text.PERPLEXITY_CAPTION):
            results.scores_while_training(PAGE, runs, "perplexity", text.PERPLEXITY_ALT, line)
        useful = {method: one_run for method, one_run in topics.items() if method not in failed}
        if useful:
            with right, card("Coherence of the topics", text.COHERENCE_CAPTION):
                scores = data.coherence((*ids, *useful), useful, data_set.test)
                chart(charts.coherence(scores), "coherence", text.COHERENCE_ALT, lambda: scores)
    with st.expander("Topics as in the paper's Table 1"):
        st.caption("Three topics with their word probabilities.")
        count = min(3, *(len(one_run.words) for one_run in topics.values()))
        st.html(tables.as_in_paper(table, count))
        csv_button(tables.paper_table(table, count), "table-1")
    with card("Topics of your text", "Your text is never stored and never put in the link."):
        _own_text(runs, topics, words)


def _one_topic(ids: tuple[str, ...], topics: dict[str, Topics], words: tuple[str, ...], base: str) -> None:
    method, weight = data.shown(topics), float(state.get("relevance"))
    pair = (method, base) if base != method and topics[method].overlap is not None else (method,)
    number = data.chosen(len(topics[method].words))
    map_side, bars_side = st.columns(2, gap="medium")
    with map_side, card("Map of topics", text.MAP_CAPTION):
        one_of("shown", "Method", {name: SHOWN.options[name] for name in topics}, method)
        places = data.topic_map(ids, pair, topics)
        figure = charts.intertopic_map(places, topics, number)
        clickable(figure, "map", text.MAP_ALT, data.choose_clicked)
        table_twin("map", text.MAP_ALT, lambda: tables.map_table(places, topics))
    with bars_side, card("Words of one topic", text.BARS_CAPTION):
        names = data.names(topics[method], words, weight)
        one_of("topic", "Topic", {str(i + 1): name for i, name in enumerate(names)}, str(number + 1))
        figure, table = charts.word_bars(topics, words, pair, number, weight)
        chart(figure, "bars", text.BARS_ALT, lambda: table)


def _own_text(runs: dict[str, Finished], topics: dict[str, Topics], words: tuple[str, ...]) -> None:
    pasted = st.text_area("Text", key="own-text", max_chars=data.MOST_TEXT, placeholder=text.PLACEHOLDER)
    if not pasted.strip():
        return
    try:
        known, shares = data.text_topics(runs, topics, pasted)
    except ValueError as problem:
        layout.problem(str(problem))
        return
    st.caption(f"Words in the public vocabulary: {known:,}. All others are ignored.")
    if known:
        names = data.names(next(iter(topics.values())), words, 1.0)
        figure = charts.text_bars(shares, names)
        chart(figure, "own-text", text.TEXT_ALT, lambda: tables.text_table(shares, names))
