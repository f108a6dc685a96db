"""Draw the project's own figures as SVG, without a browser: lines, markers, bars of error, bands, legends.

Only what `figures` uses of Plotly is understood: traces of the type scatter, and linear or logarithmic axes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

WIDTH, LEFT, RIGHT, BOTTOM = 860.0, 76.0, 18.0, 56.0
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
TEXT, GRID_COLOUR = "#2b3440", "#dfe3e8"
CHARACTER = 7.0  # width of a letter at 13 px, roughly
_DASHES = {"dash": "9 6", "dot": "2 5", "dashdot": "9 5 2 5", "longdash": "16 7"}
_PERCENT = ".0%"

Place = Callable[[float], float]


def render(figure: Mapping[str, Any], title: str = "") -> str:
    """Return a figure as the text of an SVG file; `title` is read out by screen readers."""
    layout, traces = figure["layout"], figure["data"]
    shown = [trace for trace in traces if trace.get("name") and trace.get("showlegend", True)]
    legend, legend_height = _legend(shown) if layout.get("showlegend", True) else ([], 0.0)
    top, height = 14 + legend_height, float(layout["height"]) + legend_height
    x_axis, y_axis = layout["xaxis"], layout["yaxis"]
    x_ends, y_ends = _ends(x_axis, traces, "x"), _ends(y_axis, traces, "y")
    x = _placer(x_axis, x_ends, LEFT, WIDTH - RIGHT)
    y = _placer(y_axis, y_ends, height - BOTTOM, top)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" '
        f'height="{height:g}" font-family="{FONT}" font-size="13" fill="{TEXT}" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_grid(x_axis, x_ends, x, y_axis, y_ends, y, height, top),
        f'<clipPath id="plot"><rect x="{LEFT:g}" y="{top:g}" width="{WIDTH - LEFT - RIGHT:g}" '
        f'height="{height - top - BOTTOM:g}"/></clipPath>',
        '<g clip-path="url(#plot)">',
        *(line for trace in traces for line in _trace(trace, x, y)),
        "</g>",
        *legend,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values]


def _is_log(axis: Mapping[str, Any]) -> bool:
    return axis.get("type") == "log"


def _ends(axis: Mapping[str, Any], traces: Sequence[Mapping[str, Any]], name: str) -> tuple[float, float]:
    """Ends of an axis, as logarithms where it is logarithmic."""
    if "range" in axis:
        low, high = axis["range"]
        return float(low), float(high)
    values = []
    for trace in traces:
        centre = _numbers(trace[name])
        error = trace.get(f"error_{name}", {})
        reach = _numbers(error["array"]) if error.get("visible", bool(error)) else [0.0] * len(centre)
        values += [middle + sign * far for middle, far in zip(centre, reach, strict=True) for sign in (-1, 1)]
    values = [math.log10(value) if _is_log(axis) else value for value in values if math.isfinite(value)]
    low, high = min(values), max(values)
    if axis.get("rangemode") == "tozero" and not _is_log(axis):
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    return low - (0 if low == 0 else room), high + room


def _placer(axis: Mapping[str, Any], ends: tuple[float, float], start: float, stop: float) -> Place:
    """Return the function from a value to its place in the picture."""
    low, high = ends

    def place(value: float) -> float:
        if _is_log(axis):
            value = math.log10(max(value, 1e-300))
        return start + (value - low) / (high - low) * (stop - start)

    return place


def _ticks(axis: Mapping[str, Any], ends: tuple[float, float]) -> list[tuple[float, str]]:
    low, high = ends
    if "tickvals" in axis:
        named = zip(_numbers(axis["tickvals"]), axis["ticktext"], strict=True)
        return [
            (value, str(text))
            for value, text in named
            if low <= (math.log10(value) if _is_log(axis) else value) <= high
        ]
    rough = (high - low) / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * nice for nice in (1, 2, 5, 10) if unit * nice >= rough)
    digits = max(0, -math.floor(math.log10(step)))
    values = [index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)]
    if axis.get("tickformat") == _PERCENT:
        return [(value, f"{value:.0%}") for value in values]
    return [(value, f"{value:,.{digits}f}") for value in values]


def _grid(
    x_axis: Mapping[str, Any], x_ends: tuple[float, float], x: Place,
    y_axis: Mapping[str, Any], y_ends: tuple[float, float], y: Place,
    height: float, top: float,
) -> list[str]:  # fmt: skip
    base, end = height - BOTTOM, WIDTH - RIGHT
    parts = []
    for value, text in _ticks(x_axis, x_ends):
        at = x(value)
        parts.append(_line(at, top, at, base))
        parts.append(_text(at, base + 20, text, "middle"))
    for value, text in _ticks(y_axis, y_ends):
        at = y(value)
        parts.append(_line(LEFT, at, end, at))
        parts.append(_text(LEFT - 8, at + 4.5, text, "end"))
    middle = (top + base) / 2
    parts.append(_text((LEFT + end) / 2, height - 12, _title(x_axis), "middle"))
    turned = f' transform="rotate(-90 16 {middle:.1f})"'
    parts.append(_text(16, middle, _title(y_axis), "middle", turned))
    return parts


def _title(axis: Mapping[str, Any]) -> str:
    return str(axis.get("title", {}).get("text", ""))


def _trace(trace: Mapping[str, Any], x: Place, y: Place) -> list[str]:
    if trace["type"] != "scatter":
        raise ValueError(f"only traces of the type scatter can be drawn as SVG, got {trace['type']!r}")
    points = list(zip(map(x, _numbers(trace["x"])), map(y, _numbers(trace["y"])), strict=True))
    mode = trace.get("mode", "lines")
    parts = []
    if trace.get("fill"):
        outline = points
        if trace["fill"] == "tozeroy":
            outline = [*points, (points[-1][0], y(0.0)), (points[0][0], y(0.0))]
        parts.append(f'<polygon points="{_coordinates(outline)}" fill="{escape(trace["fillcolor"])}"/>')
    line = trace.get("line", {})
    if "lines" in mode and line.get("width", 2) > 0:
        dash = _DASHES.get(line.get("dash", "solid"))
        parts.append(
            f'<polyline points="{_coordinates(points)}" fill="none" stroke="{_colour(trace)}" '
            f'stroke-width="{line.get("width", 2):g}" stroke-linejoin="round"'
            + (f' stroke-dasharray="{dash}"/>' if dash else "/>")
        )
    parts += _errors(trace, x, y)
    if "markers" in mode:
        marker = trace.get("marker", {})
        size, symbol = float(marker.get("size", 6)), marker.get("symbol", "circle")
        parts += [_marker(at_x, at_y, size, symbol, _colour(trace)) for at_x, at_y in points]
    return parts


def _errors(trace: Mapping[str, Any], x: Place, y: Place) -> list[str]:
    error = trace.get("error_y", {})
    if not error.get("visible", bool(error)):
        return []
    parts = []
    points = zip(_numbers(trace["x"]), _numbers(trace["y"]), _numbers(error["array"]), strict=True)
    for at, middle, reach in points:
        place, low, high = x(at), y(middle - reach), y(middle + reach)
        stroke = f'stroke="{_colour(trace)}" stroke-width="1.5"'
        path = f"M{place:.1f} {low:.1f}V{high:.1f}M{place - 4:.1f} {low:.1f}h8M{place - 4:.1f} {high:.1f}h8"
        parts.append(f'<path d="{path}" {stroke}/>')
    return parts


def _marker(x: float, y: float, size: float, symbol: str, colour: str) -> str:
    half = size / 2
    if symbol == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{half:g}" fill="{colour}"/>'
    shapes: dict[str, list[tuple[float, float]]] = {
        "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
        "triangle-up": [(0, -1.2), (1.15, 0.8), (-1.15, 0.8)],
        "triangle-down": [(0, 1.2), (1.15, -0.8), (-1.15, -0.8)],
        "cross": [
            (-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4),
            (0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4),
        ],
    }  # fmt: skip
    corners = [(x + half * right, y + half * down) for right, down in shapes[symbol]]
    return f'<polygon points="{_coordinates(corners)}" fill="{colour}"/>'


def _legend(traces: Sequence[Mapping[str, Any]]) -> tuple[list[str], float]:
    """Return the legend above the plot, in as many rows as it needs, and its height."""
    parts: list[str] = []
    x, row = LEFT, 0
    for trace in traces:
        name = str(trace["name"])
        width = 44 + CHARACTER * len(name)
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, row = LEFT, row + 1
        y = 18.0 + 20 * row
        sample = dict(trace) | {"x": [x, x + 26], "y": [y - 4.5, y - 4.5], "error_y": {}, "fill": ""}
        if "markers" in trace.get("mode", "lines"):
            lines = sample | {"mode": trace["mode"].replace("markers", "").strip("+")}
            sample = sample | {"x": [x + 13], "y": [y - 4.5], "mode": "markers"}
            parts += _trace(lines, float, float) if "lines" in trace["mode"] else []
        parts += _trace(sample, float, float)
        parts.append(_text(x + 32, y, name, "start"))
        x += width
    return parts, 20.0 * (row + 1) if traces else 0.0


def _colour(trace: Mapping[str, Any]) -> str:
    return escape(str(trace.get("line", {}).get("color") or trace.get("marker", {}).get("color") or TEXT))


def _coordinates(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points if math.isfinite(x) and math.isfinite(y))


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{GRID_COLOUR}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
