"""Pictures of a report as SVG that lives inside a page and takes its colors from there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from fwkmeans._support.optional import require
from fwkmeans._support.text import count, number

#: Number of colors that the page has for clusters, ``--c0`` to ``--c9``; then they repeat.
COLORS = 10
#: Shapes tell clusters apart where colors do not; here as characters.
_SIGNS = "●■▲◆▼✚✖◀▶★♦"

# Colors that matplotlib draws with stand for variables of the page.
_INK, _MUTED, _LINE, _ACCENT, _SURFACE = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {
    _INK: "var(--ink)",
    _MUTED: "var(--muted)",
    _LINE: "var(--line)",
    _ACCENT: "var(--accent)",
    _SURFACE: "var(--surface)",
} | {f"#0a00{k:02x}": f"var(--c{k})" for k in range(COLORS)}

_STYLE = {
    "axes.edgecolor": _LINE,
    "axes.facecolor": "none",
    "axes.labelcolor": _MUTED,
    "axes.labelsize": 11,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
    "path.simplify": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "fwkmeans",
    "text.color": _INK,
    "text.usetex": False,
    "xtick.color": _MUTED,
    "xtick.labelsize": 10,
    "ytick.color": _MUTED,
    "ytick.labelsize": 10,
}


def _shape_of(cluster: int) -> int:
    return (cluster % COLORS + cluster // COLORS) % len(_SIGNS)


def sign_of(cluster: int) -> str:
    """Return the shape of a cluster's points as a character of text, not a picture of its own."""
    return _SIGNS[_shape_of(cluster)] + "\ufe0e"


def series_color(number: int) -> str:
    """Return the color, as drawn, of a cluster or another series; they repeat."""
    return f"#0a00{number % COLORS:02x}"


#: Shapes of points, around 0, of radius 1; the same as the signs.
_SHAPES = (
    "M1 0A1 1 0 1 1 -1 0A1 1 0 1 1 1 0Z",
    "M-.85 -.85H.85V.85H-.85Z",
    "M0 -1.1L1 .8H-1Z",
    "M0 -1.2L1 0L0 1.2L-1 0Z",
    "M0 1.1L1 -.8H-1Z",
    "M-.4 -1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M-1 -.55L-.55 -1L0 -.45L.55 -1L1 -.55L.45 0L1 .55L.55 1L0 .45L-.55 1L-1 .55L-.45 0Z",
    "M-1.1 0L.8 -1V1Z",
    "M1.1 0L-.8 -1V1Z",
    "M0 -1.2L.35 -.4L1.2 -.35L.55 .2L.75 1.05L0 .6L-.75 1.05L-.55 .2L-1.2 -.35L-.35 -.4Z",
    "M0 -1.2L.7 0L0 1.2L-.7 0Z",
)
#: Size of the map, and of the frame about its points.
_MAP_WIDTH, _MAP_MARGIN = 760, 44


def draw_map(summary: dict[str, Any]) -> str:
    """Return the map of the rows as SVG; cluster k is the element ``map-cluster-k``.

    Point i of the summary is the element with ``data-i``; a script moves it to other axes.
    """
    places = summary["map"]
    x, y, labels = (np.asarray(places[key]) for key in ("x", "y", "labels"))
    radius = float(np.interp(labels.size, [50, 2000], [4.6, 2.4]))
    shape = float(np.ptp(y) / max(1e-9, np.ptp(x))) if labels.size else 0.0
    inner = _MAP_WIDTH - 2 * _MAP_MARGIN
    height = round(float(np.clip(inner * shape, 220, 480))) + 2 * _MAP_MARGIN
    scale = min(inner / max(1e-9, np.ptp(x)), (height - 2 * _MAP_MARGIN) / max(1e-9, np.ptp(y)))
    middle = [(float(one.min()) + float(one.max())) / 2 if one.size else 0.0 for one in (x, y)]
    across = _MAP_WIDTH / 2 + (x - middle[0]) * scale
    down = height / 2 - (y - middle[1]) * scale
    defs, layers = [], []
    for k in np.unique(labels).tolist():
        form = _shape_of(k)
        mark = f'<path id="map-mark-{form}" d="{_SHAPES[form]}" transform="scale({radius:.2f})"/>'
        if mark not in defs:
            defs.append(mark)
        points = "".join(
            f'<use href="#map-mark-{form}" data-i="{i}" x="{across[i]:.1f}" y="{down[i]:.1f}"/>'
            for i in np.flatnonzero(labels == k)
        )
        layers.append(f'<g id="map-cluster-{k}" style="fill: var(--c{k % COLORS})">{points}</g>')
    size = f"{_MAP_WIDTH} {height}"
    text = (
        f"{count(places['n_shown'], 'row')} as points, one color and shape for each of "
        f"{count(summary['n_clusters'], 'cluster')}. {places['axes']}"
    )
    return (
        f'<svg class="figure" id="map-picture" viewBox="0 0 {size}" role="img" '
        'aria-labelledby="map-title map-desc">'
        f'<title id="map-title">Map of the rows</title><desc id="map-desc">{escape(text)}</desc>'
        f"<defs>{''.join(defs)}</defs>"
        f'<rect class="frame" x="1" y="1" width="{_MAP_WIDTH - 2}" height="{height - 2}"/>'
        f'<g class="points">{"".join(layers)}</g>'
        f'<g class="ends" aria-hidden="true">'
        f'<text id="map-x-low" x="12" y="{height - 12}"></text>'
        f'<text id="map-x-name" x="{_MAP_WIDTH / 2}" y="{height - 12}" text-anchor="middle"></text>'
        f'<text id="map-x-high" x="{_MAP_WIDTH - 12}" y="{height - 12}" text-anchor="end"></text>'
        '<text id="map-y-high" x="12" y="22"></text><text id="map-y-name" x="12" y="40"></text>'
        f'<text id="map-y-low" x="12" y="{height - 32}"></text></g></svg>'
    )


def draw_histogram(own: Sequence[float], whole: Sequence[float]) -> str:
    """Return small bars of a cluster in front of those of all rows, as SVG."""
    top = max([*own, *whole, 1e-9])
    return (
        '<svg class="hist" viewBox="0 0 96 28" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="whole" d="{_steps(whole, top)}"/><path class="own" d="{_steps(own, top)}"/>'
        "</svg>"
    )


def _steps(shares: Sequence[float], top: float) -> str:
    width = 96 / max(1, len(shares))
    path = "M0 28"
    for at, share in enumerate(shares):
        path += f"V{28 - 26 * share / top:.1f}H{(at + 1) * width:.1f}"
    return f"{path}V28Z"


def draw_silhouettes(values: Sequence[float]) -> str:
    """Return silhouettes, the largest first, as an area above and below a line, as SVG."""
    ordered = sorted(values, reverse=True)
    if len(ordered) > 48:
        ordered = [ordered[round(at * (len(ordered) - 1) / 47)] for at in range(48)]
    width = 96 / max(1, len(ordered))
    path = "M0 18"
    for at, value in enumerate(ordered):
        path += f"V{18 - 17 * max(value, -0.55):.1f}H{(at + 1) * width:.1f}"
    return (
        '<svg class="hist" viewBox="0 0 96 28" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="own" d="{path}V18Z"/><path class="zero" d="M0 18H96"/></svg>'
    )


def draw_objective(summary: dict[str, Any]) -> str:
    """Return the course of the objective over the iterations as SVG."""
    history = np.array([np.nan if v is None else v for v in summary["objective_history"]])

    def draw(axes: Any) -> None:
        steps = np.arange(1, history.size + 1)
        marker = "o" if history.size <= 40 else None
        axes.plot(steps, history, color=_ACCENT, linewidth=1.8, marker=marker, markersize=4)
        axes.set_xlabel("iteration")
        axes.set_ylabel("objective")
        axes.grid(axis="y")
        _whole_numbers(axes.xaxis)
        _plain_numbers(axes.yaxis)

    first, last = (number(None if np.isnan(v) else float(v)) for v in history[[0, -1]])
    return svg(
        "objective",
        draw,
        (4.6, 3.0),
        "Course of the objective",
        f"From {first} after the first iteration to {last} after "
        f"{count(history.size, 'iteration')}.",
    )


# ---- from matplotlib to a part of the page ------------------------------------------------------


_MODULES = ("style", "figure")


def svg(
    name: str, draw: Callable[[Any], None], size: tuple[float, float], title: str, text: str
) -> str:
    """Return what `draw` draws as an SVG element whose ids begin with its name."""
    style, figures = (require(f"matplotlib.{one}", "Reports", "report") for one in _MODULES)
    with style.context(["default", _STYLE]):
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        text_of_file = StringIO()
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text_of_file, format="svg", metadata=metadata)
    return _embed(name, text_of_file.getvalue(), title, text)


def _embed(name: str, svg: str, title: str, text: str) -> str:
    """Return the SVG without what only files need, with text for those who cannot see it."""
    found = re.search(r'<svg[^>]*viewBox="([^"]+)"[^>]*>(.*)</svg>', svg, flags=re.DOTALL)
    assert found is not None
    box, body = found.groups()
    body = re.sub(
        r"<metadata>.*?</metadata>|<!--.*?-->|<style.*?</style>", "", body, flags=re.DOTALL
    )
    body = body.replace("xlink:href", "href")
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)
    body = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d+\.\d\d)\d+", r"\1", tag.group()), body)
    body = re.sub(r"font-family: [^;\"]+;? ?", "", body)
    body = re.sub(r'(<g clip-path="[^"]+")>((?:\s*<use [^>]+/>)+)', _style_once, body)
    for color, variable in _VARIABLES.items():
        body = body.replace(color, variable)
    body = re.sub(r"(?m)^\s+|\n(?=\n)", "", body)
    return (
        f'<svg class="figure" viewBox="{box}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(text)}</desc>{body}</svg>'
    )


def _style_once(group: re.Match[str]) -> str:
    """Return a group of markers with the style that all have in one place."""
    opening, markers = group.groups()
    styles = set(re.findall(r' style="([^"]+)"', markers))
    if len(styles) != 1:
        return group.group()
    return f'{opening} style="{styles.pop()}">' + re.sub(r' style="[^"]+"', "", markers)


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))


def _plain_numbers(axis: Any) -> None:
    """Label ticks with whole values: an offset above the axis is easily overlooked."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}".replace("-", "−")))
