"""Topics: what documents are about, learned behind the wall."""

import streamlit as st

from dashboard import charts, components, layout, session, topics, topics_charts, workbench
from dashboard import topics_words as say
from dashboard.components import chart
from dashboard.layout import card
from dashboard.library import DataSet, Finished
from dashboard.topics import LABELS, Topics


def show() -> None:
    """Draw the page."""
    workbench.show(topics.BENCH, _results)


def _results(found: dict[str, Finished], data: DataSet) -> None:
    ids = tuple(item.run.id for item in found.values())
    aligned = topics.aligned(ids, found)
    words = data.train.vocabulary
    weight, base = float(session.get("relevance")), topics.reference(found)
    with card("Topics side by side", say.matched(base, len(found))):
        components.plain_slider(topics.RELEVANCE, 0.05)
        st.html(topics_charts.STYLE + topics_charts.topics_html(aligned, words, weight))
        components.table_twin(
            "topics", "Words of each topic, by method.", lambda: topics.words_table(aligned, words, weight)
        )
    _one_topic(ids, aligned, words, base)
    if data.test is not None:
        _scores(ids, found, aligned, data)
    with card("As in the paper's Table 1", "Three topics with the probabilities of their words."):
        _paper_table(aligned, words, weight)
    with card("Topics of your text", "What you paste here is not stored and is in no address."):
        _own_text(found, aligned, words)


def _one_topic(ids: tuple[str, ...], aligned: dict[str, Topics], words: tuple[str, ...], base: str) -> None:
    method = topics.shown(aligned)
    pair = (method, base) if base != method and aligned[method].overlap is not None else (method,)
    number = topics.chosen(len(aligned[method].words))
    map_side, bars_side = st.columns(2, gap="medium")
    with map_side, card("Map of topics", say.MAP_CAPTION):
        components.one_of("shown", "Method", {name: LABELS[name] for name in aligned}, method)
        place = topics.topic_map(ids, pair, aligned)
        figure = topics_charts.intertopic_map(place, aligned, number)
        components.clickable(figure, "map", say.MAP_ALT, topics.take)
        components.table_twin("map", say.MAP_ALT, lambda: topics.map_table(place, aligned))
    with bars_side, card("Words of one topic", say.BARS_CAPTION):
        names = topics.names(aligned[method], words, float(session.get("relevance")))
        components.one_of(
            "topic", "Topic", {str(i + 1): name for i, name in enumerate(names)}, str(number + 1)
        )
        figure, table = topics_charts.word_bars(aligned, words, pair, number, float(session.get("relevance")))
        chart(figure, "bars", say.BARS_ALT, lambda: table)


def _scores(
    ids: tuple[str, ...], found: dict[str, Finished], aligned: dict[str, Topics], data: DataSet
) -> None:
    left, right = st.columns(2, gap="medium")
    curves = {method: item.run.scores for method, item in found.items() if item.run.scores}
    with left, card("Held-out perplexity while training", say.PERPLEXITY_CAPTION):
        line = {"One distribution for all (unigram)": topics.unigram(ids, aligned, data)}
        figure = charts.scores_over_steps(curves, LABELS, "perplexity (completion)", line) if curves else None
        if figure is None:
            st.caption("No score was taken while these runs trained.")
        else:
            chart(figure, "perplexity", say.PERPLEXITY_ALT, lambda: topics.curves_table(curves, line))
    with right, card("Coherence of the topics", say.COHERENCE_CAPTION):
        table = topics.coherence(ids, aligned, data.test)
        chart(topics_charts.coherence_chart(table), "coherence", say.COHERENCE_ALT, lambda: table)


def _paper_table(aligned: dict[str, Topics], words: tuple[str, ...], weight: float) -> None:
    size = min(len(part.words) for part in aligned.values())
    count = min(3, size)
    st.html(topics_charts.paper_html(aligned, words, weight, count))
    components.csv_button(topics.paper_table(aligned, words, weight, range(count)), "table-1")


def _own_text(found: dict[str, Finished], aligned: dict[str, Topics], words: tuple[str, ...]) -> None:
    text = st.text_area("Text", key="own-text", max_chars=topics.MOST_TEXT, placeholder=say.PLACEHOLDER)
    if not text.strip():
        return
    try:
        known, shares = topics.text_topics(found, aligned, text)
    except ValueError as problem:
        layout.problem(str(problem))
        return
    st.caption(f"{known:,} of its words are in the public vocabulary; the others are left out.")
    if known:
        names = topics.names(next(iter(aligned.values())), words, 1.0)
        figure = topics_charts.text_bars(shares, names)
        chart(figure, "own-text", say.TEXT_ALT, lambda: topics.text_table(shares, names))
