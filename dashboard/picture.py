"""The idea in one picture: records behind a wall, noisy sums outside, a ledger of all that passed."""

_BLUE, _ORANGE, _GREEN = "#1F83C4", "#D55E00", "#009E73"
_PEOPLE = [(60 + 34 * (i % 4), 74 + 36 * (i // 4)) for i in range(16)]
_DRAWN = {1, 3, 6, 8, 11, 14}  # those that this step's batch took


def _person(index: int, x: int, y: int) -> str:
    colour = _BLUE if index in _DRAWN else "currentColor"
    opacity = 1 if index in _DRAWN else 0.35
    return (
        f'<g fill="{colour}" opacity="{opacity}"><circle cx="{x}" cy="{y}" r="5.5"/>'
        f'<path d="M{x - 9} {y + 19}a9 10.5 0 0 1 18 0z"/></g>'
    )


def _arrow(x: int, y: int, to: int, colour: str = "currentColor") -> str:
    return (
        f'<path d="M{x} {y}H{to - 7}" stroke="{colour}" stroke-width="2.5" fill="none"/>'
        f'<path d="M{to - 9} {y - 5.5}L{to} {y}L{to - 9} {y + 5.5}z" fill="{colour}"/>'
    )


def _text(x: int, y: int, words: str, size: int = 15, weight: int = 400, opacity: float = 1.0) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="middle" font-size="{size}" font-weight="{weight}" '
        f'opacity="{opacity}" fill="currentColor">{words}</text>'
    )


def _bars(x: int, y: int, heights: tuple[int, ...], colour: str) -> str:
    return "".join(
        f'<rect x="{x + 15 * i}" y="{y - height}" width="11" height="{height}" rx="1.5" fill="{colour}"/>'
        for i, height in enumerate(heights)
    )


def _bricks(x: int, top: int, bottom: int) -> str:
    rows = []
    for row, y in enumerate(range(top, bottom, 17)):
        cuts = (x, x + 13, x + 34) if row % 2 else (x, x + 22, x + 34)
        for left, right in zip(cuts, cuts[1:], strict=False):
            rows.append(f'<rect x="{left}" y="{y}" width="{right - left - 2}" height="15" rx="2"/>')
    return f'<g fill="{_ORANGE}">{"".join(rows)}</g>'


ALT = (
    "Records stay behind the wall. Only bounded sums with noise pass it; each pass is written into a ledger, "
    "from which ε follows; everything outside is free."
)
_FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"


def wall(ink: str) -> str:
    """Return the picture as SVG with texts in this colour."""
    return (
        f'<svg viewBox="24 14 936 282" color="{ink}" font-family="{_FONT}" width="936" height="282" '
        'xmlns="http://www.w3.org/2000/svg">'
        + _text(111, 40, "Records", 16, 650)
        + "".join(_person(index, x, y) for index, (x, y) in enumerate(_PEOPLE))
        + _text(111, 236, "a random few are drawn", 13, opacity=0.75)
        + _arrow(192, 130, 238)
        + _text(302, 40, "Bounded sums", 16, 650)
        + _bars(258, 164, (30, 68, 46, 22, 54, 38), _BLUE)
        + '<path d="M250 166H354" stroke="currentColor" stroke-width="1.5" opacity="0.5"/>'
        + _text(302, 236, "no one can move them much", 13, opacity=0.75)
        + _arrow(366, 130, 414)
        + _bricks(424, 20, 262)
        + _text(441, 288, "the wall adds noise", 13, 650)
        + _arrow(468, 130, 518)
        + _text(580, 40, "Noisy sums", 16, 650)
        + _bars(536, 164, (44, 57, 58, 12, 47, 52), _GREEN)
        + '<path d="M528 166H632" stroke="currentColor" stroke-width="1.5" opacity="0.5"/>'
        + _arrow(644, 130, 692)
        + _text(824, 40, "Model", 16, 650)
        + "".join(_box(704, y, 240, "currentColor") for y in (62, 111, 160))
        + _text(824, 86, "Topics of documents")
        + _text(824, 135, "Risk of a person")
        + _text(824, 184, "Patterns in images")
        + f'<path d="M580 176V222" stroke="{_ORANGE}" stroke-width="2.5" stroke-dasharray="5 4"/>'
        + _box(510, 224, 140, _ORANGE)
        + _text(580, 248, "Ledger")
        + _arrow(654, 243, 702, _ORANGE)
        + _text(824, 249, "ε, what it may reveal", 16, 650)
        + "</svg>"
    )


def _box(x: int, y: int, width: int, colour: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="38" rx="8" fill="none" stroke="{colour}" '
        'stroke-opacity="0.7" stroke-width="1.5"/>'
    )
