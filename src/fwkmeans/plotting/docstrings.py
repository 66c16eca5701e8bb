"""The paragraphs that the documentation of every display shares."""

from __future__ import annotations

import inspect
from typing import TypeVar

Display = TypeVar("Display", bound=type)

_AX = """ax : matplotlib Axes, default=None
    Where to draw; None makes a figure."""

_SHARED = {
    "introduction": """Use `from_estimator` or `from_predictions`, which compute and draw. The
constructor only keeps its arguments; `plot` draws them.""",
    "axes": """ax_ : matplotlib Axes
    Axes with the picture.
figure_ : matplotlib Figure
    Figure that holds the axes.""",
    "heat map": """text_ : ndarray of matplotlib Text, in the shape of the image, or None
    What is written into the cells; None if there is no room.
colorbar_ : matplotlib Colorbar or None
    The scale of the colors.""",
    "ax": _AX,
    "drawn": f"""{_AX}
**style : dict
    Passed on to `plot`.

Returns
-------
display : {{class}}
    The display, drawn.""",
    "self": """Returns
-------
self : {class}
    The display.""",
    "cells": """include_values : bool, default=True
    Whether to write values into the cells, where there is room.
colorbar : bool, default=True
    Whether to draw the scale of the colors.
**style : dict
    Passed on to matplotlib's ``imshow``.""",
    "estimator": """estimator : estimator of fwkmeans, or Pipeline that ends with one
    The fitted model.""",
    "X": """X : array-like or frame of shape (n_samples, n_features)
    The rows.""",
    "feature_names": """feature_names : sequence of str, default=None
    Names of the model's features; None takes those seen in `fit` or given by the pipeline.""",
}


def documented(cls: Display) -> Display:
    """Fill lines such as ``{drawn}`` in the docstrings of a display and its methods."""
    methods = (getattr(one, "__func__", one) for one in vars(cls).values())
    for documented_thing in (cls, *filter(inspect.isfunction, methods)):
        if documented_thing.__doc__ is not None:
            lines = inspect.cleandoc(documented_thing.__doc__).splitlines()
            filled = "\n".join(_SHARED.get(line.strip("{}"), line) for line in lines)
            documented_thing.__doc__ = filled.replace("{class}", cls.__name__)
    return cls
