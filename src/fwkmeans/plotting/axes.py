"""What all displays do with axes: get some, write names beside them, numbers into cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._support.optional import require
from fwkmeans._support.text import shortened
from fwkmeans.typing import FloatArray

#: Names longer than this are cut.
LONGEST = 28

_LETTER = 0.09  # inches that a letter of a name takes

_SMALLEST = 5.0  # points; smaller text cannot be read, so some of it is left out instead


def open_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        if not hasattr(ax, "imshow"):
            raise TypeError(
                f"ax is {type(ax).__name__}; expected matplotlib Axes, such as one of those that "
                "plt.subplots() returns, or None for a new figure."
            )
        return ax
    pyplot = require("matplotlib.pyplot", "Displays", "plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def plain(name: Any, longest: int = LONGEST) -> str:
    r"""Return a short name in which a dollar sign is just that, not the start of a formula."""
    return shortened(name, longest, keep_end=True).replace("$", r"\$")


def name_ticks(ax: Any, which: str, names: Sequence[Any]) -> None:
    """Write names at 0, 1, 2, ... along an axis, as large as there is room for."""
    axis = getattr(ax, f"{which}axis")
    room = _room(ax)[0 if which == "x" else 1] / max(len(names), 1)
    size = min(10.0, max(_SMALLEST, 0.85 * room))
    step = max(1, int(np.ceil(_SMALLEST / max(0.85 * room, 1e-3))))
    shown = [plain(name) for name in names[::step]]
    axis.set_ticks(np.arange(0, len(names), step), shown, fontsize=size)
    widest = max(map(len, shown), default=0) * 0.6 * size
    if which == "x" and widest > step * room:
        ax.tick_params(axis="x", rotation=90)
    ax.tick_params(axis=which, length=0)


def write_values(ax: Any, image: Any, texts: Sequence[Sequence[str]], room: int) -> Any:
    """Write one text into each cell of an image, black or white, whatever can be read there.

    Return the texts in the shape of the image; None if a cell has less room than for so many
    characters, and nothing is written.
    """
    values: FloatArray = np.asarray(image.get_array(), dtype=np.float64)
    engine = ax.figure.get_layout_engine()
    if engine is not None:  # names and scales take their place first
        engine.execute(ax.figure.figure or ax.figure)
    width, height = np.asarray(_room(ax)) / values.shape[::-1]
    size = min(9.0, 0.7 * height, width / (0.65 * room))
    if size < _SMALLEST:
        return None
    red, green, blue, opaque = np.moveaxis(image.to_rgba(values, norm=True), -1, 0)
    light = (0.299 * red + 0.587 * green + 0.114 * blue) * opaque
    light = light + (1.0 - opaque) * _lightness(ax) > 0.5  # cells without a number show the paper
    written = np.empty(values.shape, dtype=object)
    for (i, j), is_light in np.ndenumerate(light):
        color = "black" if is_light else "white"
        text = texts[i][j].replace("$", r"\$")
        written[i, j] = ax.text(j, i, text, ha="center", va="center", color=color, fontsize=size)
    return written


def draw_heat_map(
    display: Any,
    ax: Any,
    matrix: Any,
    names: tuple[Sequence[Any], Sequence[Any]],
    label: str,
    texts: Sequence[Sequence[str]] | None,
    *,
    titles: dict[str, str],
    letters: int,
    colorbar: bool,
    style: dict[str, Any],
    cell: float = 0.62,
    **own_style: Any,
) -> Any:
    """Draw a matrix with names of its rows and columns, a scale of the colors and a text in cells.

    The axes and what is drawn become attributes of the display. The image has the user's style, and
    where that says nothing the display's own. Texts are left out if cells have no room for so many
    letters. Returns the axes.
    """
    ax = open_axes(ax, matrix_size(*names, label, cell))
    if "norm" in style:  # brings limits of its own
        own_style = {"cmap": own_style["cmap"]}
    display.ax_, display.figure_ = ax, ax.figure
    display.im_ = ax.imshow(matrix, **({"aspect": "auto"} | own_style | style))
    display.colorbar_ = add_colorbar(ax, display.im_, label) if colorbar else None
    name_ticks(ax, "x", names[1])
    name_ticks(ax, "y", names[0])
    ax.set(**titles)
    display.text_ = None if texts is None else write_values(ax, display.im_, texts, letters)
    return ax


def line_style(given: dict[str, Any], **own: Any) -> dict[str, Any]:
    """Return the style of a line: the user's (also ``c``, ``lw``), and defaults for the rest."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    named: dict[str, Any] = normalize_kwargs(given, Line2D)
    return own | named


def scatter_style(given: dict[str, Any], **own: Any) -> dict[str, Any]:
    """Return the style of points: the user's (also ``lw``), and defaults for the rest."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.collections import PathCollection

    named: dict[str, Any] = normalize_kwargs(given, PathCollection)
    if "c" in named:
        own.pop("color", None)
    return own | named


def matrix_size(
    rows: Sequence[Any], columns: Sequence[Any], label: str, cell: float
) -> tuple[float, float]:
    """Return the size in inches of a figure for a matrix with these names beside it.

    It is at least as tall as the label of the colors is long.
    """
    left, below = (_LETTER * _longest(names) for names in (rows, columns))
    if len(columns) * below <= 9.0:
        cell = max(cell, below + _LETTER)
    return (
        float(np.clip(1.6 + left + cell * len(columns), 4.0, 16.0)),
        float(np.clip(0.8 + 0.34 * len(rows), 0.7 + _LETTER * _longest(label.splitlines()), 14.0))
        + (below if below > cell else 0.2),
    )


def add_colorbar(ax: Any, image: Any, label: str) -> Any:
    """Add the scale of the colors beside an image, not taller than it need be."""
    tall = ax.get_window_extent().height / ax.figure.dpi
    shrink = min(1.0, 5.0 / tall)
    bar = ax.figure.colorbar(image, ax=ax, shrink=shrink, aspect=max(8.0, 5.0 * tall))
    letters = max(map(len, label.splitlines()))
    bar.set_label(label, fontsize=float(np.clip(10.0 * tall / (_LETTER * letters), 6.0, 10.0)))
    return bar


def _longest(names: Sequence[Any]) -> int:
    return max((len(shortened(name, LONGEST, keep_end=True)) for name in names), default=0)


def _lightness(ax: Any) -> float:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.get_facecolor())
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _room(ax: Any) -> tuple[float, float]:
    """Return width and height of axes in points."""
    box = ax.get_window_extent()
    return 72.0 * box.width / ax.figure.dpi, 72.0 * box.height / ax.figure.dpi
