"""Images: hidden causes of binary images, learned behind the wall."""

import streamlit as st

from dashboard import components, drawing, images, layout, pixels, session, workbench
from dashboard.layout import card
from dashboard.library import DataSet, Finished
from vips_core import BinaryRows


def show() -> None:
    """Draw the page."""
    workbench.show(images.BENCH, _results)


def _results(runs: dict[str, Finished], data: DataSet) -> None:
    if data.test is None:
        st.info(images.NOTHING_HELD_OUT)
    else:
        _comparison(runs, data.test)
    _own(runs, data.train.shape)
    _samples(runs)
    _dictionary(runs)


def _comparison(runs: dict[str, Finished], test: BinaryRows) -> None:
    last = max(1, len(test) - images.COLUMNS + 1)
    first, mark = min(session.get("first"), last), session.get("wrong") is not None
    shown = images.some(test, first)
    originals, found = images.truth(shown), images.reconstructions(runs, shown)
    rows = images.comparison(runs, found, originals, first, mark)
    with card("Held-out images and their reconstructions", images.comparison_caption(test, first, mark)):
        st.html(pixels.rows(rows))
        with st.container(horizontal=True, vertical_alignment="center"):
            for label, step in (("Earlier", -images.COLUMNS), ("Later", images.COLUMNS)):
                to = min(max(1, first + step), last)
                st.button(label, on_click=session.sets("first", to), disabled=to == first)
            st.toggle(
                "Mark wrong pixels", mark, key="mark",
                on_change=session.sets("wrong", None if mark else "1"),
            )  # fmt: skip
            _png_button(rows, "reconstructions")
        components.table_twin(
            "reconstructions", images.ACCURACY_ALT, lambda: images.accuracy_table(found, originals, first)
        )


def _own(runs: dict[str, Finished], shape: tuple[int, int]) -> None:
    with card("Draw or upload a digit", images.OWN_CAPTION):
        board, seen = st.columns([2, 3], gap="medium")
        with board:
            ink = drawing.canvas(shape)
        with seen:
            file = st.file_uploader(
                "Or upload a PNG or JPEG image", ["png", "jpg", "jpeg"], key="digit",
                max_upload_size=drawing.MEGABYTES, help="While there is one, the drawing is not shown.",
            )  # fmt: skip
            try:
                ink = ink if file is None else drawing.read(file.getvalue())
                if ink is None:
                    st.caption("Draw something, and each method's reconstruction appears here.")
                else:
                    st.html(pixels.tiles(images.of_digit(runs, drawing.as_digit(ink, shape)), large=True))
            except ValueError as problem:
                layout.problem(str(problem))


def _dictionary(runs: dict[str, Finished]) -> None:
    with card("Dictionary", images.DICTIONARY_CAPTION):
        method = images.shown_units(runs)
        tiles, table = images.dictionary(runs[method])
        st.html(pixels.tiles(tiles))
        if len(table) > len(tiles):
            st.caption(f"{len(tiles)} of {len(table):,} hidden units; the table has all.")
        components.table_twin("dictionary", images.DICTIONARY_CAPTION, lambda: table)


def _samples(runs: dict[str, Finished]) -> None:
    with card("Samples", images.SAMPLES_CAPTION):
        rows = images.samples(runs, session.get("drawn"))
        st.html(pixels.rows(rows))
        with st.container(horizontal=True):
            again = session.sets("drawn", session.get("drawn") + 1)
            st.button("Draw others", icon=":material/casino:", on_click=again)
            _png_button(rows, "samples")


def _png_button(rows: list[tuple[str, str, list[pixels.Picture]]], name: str) -> None:
    st.download_button(
        "Download PNG", lambda: pixels.sheet(images.named_pictures(rows)), f"{name}.png", "image/png",
        key=f"png:{name}", icon=":material/download:", on_click="ignore",
    )  # fmt: skip
