"""A hundred people as icons, some of them found by an attacker."""

import math

import streamlit as st

from vips_core.reports.figures import GREY, VERMILION

_COLUMNS, _WIDTH, _HEIGHT = 20, 12, 17


def show(found: float, sentence: str) -> None:
    """Draw 100 people of whom so many are found; a part of a person is drawn paler."""
    whole = math.floor(found)
    last = range(whole, min(whole + 1, 100))
    paths = [
        f'<path d="{_people(range(100))}" fill="{GREY}" fill-opacity="0.45"/>',
        f'<path d="{_people(range(whole))}" fill="{VERMILION}"/>',
        f'<path d="{_people(last)}" fill="{VERMILION}" fill-opacity="{found - whole:.2f}"/>',
    ]
    width, height = _WIDTH * _COLUMNS, _HEIGHT * 100 // _COLUMNS
    size = f'viewBox="0 0 {width} {height}" width="{3 * width}" height="{3 * height}"'
    svg = f'<svg {size} xmlns="http://www.w3.org/2000/svg">{"".join(paths)}</svg>'
    st.image(svg, width="stretch", alt=sentence)


def _people(places: range) -> str:
    """Return heads and shoulders at these places of the crowd, as one path."""
    return "".join(_person(_WIDTH * (place % _COLUMNS), _HEIGHT * (place // _COLUMNS)) for place in places)


def _person(x: float, y: float) -> str:
    head = f"M{x + 3.4:g} {y + 3.7:g}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0z"
    return f"{head}M{x + 1.6:g} {y + 15:g}v-4.4a4.4 3.4 0 0 1 8.8 0v4.4z"
