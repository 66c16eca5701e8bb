"""Pictures of a report as SVG that lives inside a page and takes its colors from there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from fwkmeans._support.optional import require
from fwkmeans._support.text import count, number
from fwkmeans.typing import FloatArray

#: Number of colors that the page has for clusters, ``--c0`` to ``--c9``; then they repeat.
COLORS = 10
#: Shapes tell clusters apart where colors do not.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "d")
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
    return (cluster % COLORS + cluster // COLORS) % len(_MARKERS)


def sign_of(cluster: int) -> str:
    """Return the shape of a cluster's points as a character of text, not a picture of its own."""
    return _SIGNS[_shape_of(cluster)] + "\ufe0e"


def series_color(number: int) -> str:
    """Return the color, as drawn, of a cluster or another series; they repeat."""
    return f"#0a00{number % COLORS:02x}"


def draw_map(summary: dict[str, Any]) -> str:
    """Return the map of the rows as SVG; cluster k is the element ``map-cluster-k``."""
    places = summary["map"]
    x, y, labels = (np.asarray(places[key]) for key in ("x", "y", "labels"))
    size = float(np.interp(labels.size, [50, 2000], [34, 9]))
    shape = float(np.ptp(y) / max(1e-9, np.ptp(x))) if labels.size else 0.0
    height = float(np.clip(7.0 * shape + 0.6, 3.2, 5.4))

    def draw(axes: Any) -> None:
        for k in np.unique(labels).tolist():
            own = labels == k
            axes.scatter(
                x[own],
                y[own],
                s=size,
                marker=_MARKERS[_shape_of(k)],
                facecolor=series_color(k),
                edgecolor=_SURFACE,
                linewidth=0.4,
                gid=f"cluster-{k}",
            )
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xticks([])
        axes.set_yticks([])

    return svg(
        "map",
        draw,
        (7.2, height),
        "Map of the rows",
        f"{count(places['n_shown'], 'row')} as points, one color and shape for each of "
        f"{count(summary['n_clusters'], 'cluster')}. {places['axes']}",
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


def draw_stability(summary: dict[str, Any]) -> str:
    """Return objective and agreement of single starts as SVG."""
    stability = summary["stability"]
    pairs = zip(stability["objective"], stability["ari"], strict=True)
    finite = sorted((o, a) for o, a in pairs if o is not None and a is not None)
    objective, ari = np.array(finite).reshape(-1, 2).T

    def draw(axes: Any) -> None:
        for value, agreement, times in _counted(objective, ari):
            axes.scatter(
                value,
                agreement,
                s=30 + 22 * times,
                facecolor=_ACCENT,
                edgecolor=_SURFACE,
                alpha=0.8,
                linewidth=0.6,
            )
            if times > 1:
                place = (8 + 1.2 * np.sqrt(times), 0)
                axes.annotate(
                    f"{times}×",
                    (value, agreement),
                    place,
                    textcoords="offset points",
                    va="center",
                    fontsize=10,
                )
        axes.set_xlabel("objective (lower is better)")
        axes.set_ylabel("agreement (ARI)")
        low = float(min(0.0, ari.min(initial=0.0)))
        axes.set_ylim(low - 0.1, 1.1)
        axes.margins(x=0.14)
        axes.grid(axis="y")
        if objective.size and np.ptp(objective) <= 1e-9 * np.abs(objective).max():
            width = max(1e-9, 0.1 * float(np.abs(objective).max()))
            axes.set_xlim(objective.min() - width, objective.max() + width)
        axes.locator_params(axis="x", nbins=4)
        _plain_numbers(axes.xaxis)

    middle = float(np.median(ari)) if ari.size else float("nan")
    return svg(
        "stability",
        draw,
        (4.6, 3.0),
        "Agreement of other starts",
        f"{count(stability['n_starts'], 'start')} as discs, equal ones as one. In the middle "
        f"their agreement is {number(middle, 2)}, from {number(ari.min(initial=1.0), 2)} to "
        f"{number(ari.max(initial=-1.0), 2)}.",
    )


def _counted(objective: FloatArray, ari: FloatArray) -> list[tuple[float, float, int]]:
    """Return the different results, to the eye, and how often each occurs."""
    width = float(np.ptp(objective)) if objective.size else 0.0
    first = objective.min(initial=np.inf)
    steps = np.round((objective - first) / width, 2) if width > 0 else np.zeros_like(objective)
    counts = Counter(zip(steps.tolist(), np.round(ari, 2).tolist(), strict=True))
    return [(first + step * width, agreement, n) for (step, agreement), n in counts.items()]


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
