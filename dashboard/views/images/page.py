"""Images: hidden causes of black-and-white images, learned behind the wall."""

import streamlit as st

from dashboard import state
from dashboard.components.inputs import buttons, switch
from dashboard.components.layout import card, download_button
from dashboard.components.tables import table_twin
from dashboard.model_page import page as model_page
from dashboard.stored import DataSet, Finished
from dashboard.views.images import board, data, pixels, text
from dashboard.views.images.definition import PAGE, SAMPLE, UNITS
from vips_core import Images


def show() -> None:
    """Draw the page."""
    st.html(pixels.STYLE)
    model_page.show(PAGE, _results)


def _results(runs: dict[str, Finished], data_set: DataSet) -> None:
    if data_set.test is not None:
        baseline = data.accuracy_of_one_image(tuple(run.run.id for run in runs.values()), data_set.test)
        if failed := data.failed(runs, baseline):
            sentence = text.failed([PAGE.labels[method] for method in failed], baseline)
            st.warning(sentence, icon=":material/warning:")
        _comparison(runs, data_set.test)
    board.show(runs, data_set)
    _samples(runs)
    _dictionary(runs)


def _comparison(runs: dict[str, Finished], test: Images) -> None:
    last = max(1, test.row_count - data.COLUMNS + 1)
    first, mark = min(state.get("first"), last), state.get("wrong") is not None
    shown = data.from_number(test, first)
    originals, by_method = data.truth(shown), data.reconstructions(runs, shown)
    rows = data.comparison(runs, by_method, originals, first, mark)
    with card("Held-out images and their reconstructions", text.comparison_caption(test, first, mark)):
        st.html(pixels.table(rows))
        with st.container(horizontal=True, vertical_alignment="center"):
            for label, step in (("Previous", -data.COLUMNS), ("Next", data.COLUMNS)):
                to = min(max(1, first + step), last)
                st.button(label, on_click=state.set_value("first", to), disabled=to == first)
            switch("wrong", "Mark wrong pixels", "1")
            _png_button(rows, "reconstructions")
        accuracies = data.accuracy_table(by_method, originals, first)
        table_twin("reconstructions", text.ACCURACY_ALT, lambda: accuracies)


def _dictionary(runs: dict[str, Finished]) -> None:
    with card("Dictionary", text.DICTIONARY_CAPTION):
        chosen = state.get(UNITS.name)
        shown = chosen if chosen in runs else next(iter(runs))
        labels = {method: UNITS.options[method] for method in runs}
        buttons(UNITS.name, UNITS.label, labels, shown, label_visibility="collapsed", width="content")
        tiles, table = data.dictionary(runs[shown])
        st.html(pixels.tiles(tiles))
        if len(table) > len(tiles):
            st.caption(f"{len(tiles)} of {len(table):,} hidden units. All are in the table.")
        table_twin("dictionary", text.DICTIONARY_CAPTION, lambda: table)


def _samples(runs: dict[str, Finished]) -> None:
    with card("Samples", text.SAMPLES_CAPTION):
        rows = data.samples(runs, state.get(SAMPLE.name))
        st.html(pixels.table(rows))
        with st.container(horizontal=True):
            again = state.set_value(SAMPLE.name, state.get(SAMPLE.name) % int(SAMPLE.high) + 1)
            st.button("Draw new samples", icon=":material/casino:", on_click=again)
            _png_button(rows, "samples")


def _png_button(rows: list[pixels.Row], name: str) -> None:
    download_button("Download PNG", lambda: pixels.sheet(rows), f"{name}.png")
