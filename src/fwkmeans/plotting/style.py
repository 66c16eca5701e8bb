"""Colors and markers of all displays, in one place."""

from __future__ import annotations

#: Okabe and Ito's colors, which differ for all kinds of color vision, without those too pale for
#: white paper and too dark for black.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")

#: Their number has no divisor in common with that of the colors, so 56 clusters look different.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: Parts of one thing from nothing to all of it: a map whose lightness rises evenly.
SEQUENTIAL = "cividis"

#: Below and above something: two hues that differ for all kinds of color vision.
DIVERGING = "PuOr_r"

#: What is singled out, such as the best value of a parameter.
ACCENT = "#D55E00"


def color_of(number: int) -> str:
    """Return the color of a cluster or line."""
    return COLORS[number % len(COLORS)]


def marker_of(number: int) -> str:
    """Return the marker of a cluster or line."""
    return MARKERS[number % len(MARKERS)]
