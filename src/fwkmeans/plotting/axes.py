"""What all displays do with axes: get some, write names beside them, numbers into cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._typing import FloatArray

#: Names longer than this are cut.
LONGEST = 28

_SMALLEST = 5.0  # points; smaller text cannot be read, so some of it is left out instead


def open_axes(ax: Any, size: tuple[float, float], who: str) -> Any:
    """Return the axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        if not hasattr(ax, "imshow"):
            raise TypeError(
                f"ax is {type(ax).__name__}; expected matplotlib Axes, such as one of those that "
                "plt.subplots() returns, or None for a new figure."
            )
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{who} draws with matplotlib, which cannot be imported. Install it with: "
            'pip install "fwkmeans[plot]"'
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def shorten(name: Any, longest: int = LONGEST) -> str:
    """Return the name, cut in the middle if it is too long, so that numbered names differ."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def plain(name: Any, longest: int = LONGEST) -> str:
    r"""Return a short name in which a dollar sign is just that, not the start of a formula."""
    return shorten(name, longest).replace("$", r"\$")


def name_ticks(ax: Any, which: str, names: Sequence[Any]) -> None:
    """Write names at 0, 1, 2, ... along an axis, as large as there is room for."""
    axis = getattr(ax, f"{which}axis")
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    room = 72.0 * (box.width if which == "x" else box.height) / max(len(names), 1)
    size = min(10.0, max(_SMALLEST, 0.85 * room))
    step = max(1, int(np.ceil(_SMALLEST / max(0.85 * room, 1e-3))))
    shown = [plain(name) for name in names[::step]]
    axis.set_ticks(np.arange(0, len(names), step), shown, fontsize=size)
    widest = max(map(len, shown), default=0) * 0.6 * size
    if which == "x" and widest > step * room:
        ax.tick_params(axis="x", rotation=90)
    ax.tick_params(axis=which, length=0)


def write_values(ax: Any, image: Any, texts: Sequence[Sequence[str]], room: int) -> list[Any]:
    """Write one text into each cell of an image, black or white, whatever can be read there.

    Nothing is written if a cell has less room than for so many characters.
    """
    values: FloatArray = np.asarray(image.get_array(), dtype=np.float64)
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    width, height = 72.0 * box.width / values.shape[1], 72.0 * box.height / values.shape[0]
    size = min(9.0, 0.7 * height, width / (0.65 * room))
    if size < _SMALLEST:
        return []
    red, green, blue, _ = np.moveaxis(image.to_rgba(values, norm=True), -1, 0)
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
    written = []
    for (i, j), is_light in np.ndenumerate(light):
        color = "black" if is_light else "white"
        written.append(
            ax.text(j, i, texts[i][j], ha="center", va="center", color=color, fontsize=size)
        )
    return written


def matrix_size(
    shape: tuple[int, ...], names: Sequence[Any], cell: float = 0.62
) -> tuple[float, float]:
    """Return the size in inches of a figure for a matrix of cells, with names along its columns."""
    n_rows, n_columns = shape
    below = 0.09 * max((len(shorten(name)) for name in names), default=0)
    return (
        float(np.clip(2.2 + cell * n_columns, 4.5, 16.0)),
        float(np.clip(1.3 + 0.34 * n_rows, 2.2, 14.0) + min(below, 2.4)),
    )
