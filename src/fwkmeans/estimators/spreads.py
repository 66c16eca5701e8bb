"""The warning about columns whose units cannot be compared.

All algorithms here depend on the units of the columns. With one column of iris, wine or Gaussian
clusters multiplied by 1000, clusterings from the same initial centers agree with the original ones
by an adjusted Rand index of .25 to .7 (K-Means, FWSA), 0 to .6 (EW-KM, FG-K-Means), 0 to .3
(iMWK-Means, whose smoothing is in units of the data) and .2 to 1 (CK-Means). Power weights (AWK,
WK-Means, IK-P: .6 to 1) and those of SYNCLUS (.8 to 1) absorb units exactly once they are learned,
but the first distances are unweighted and decide where a run ends. So none of them is exempt. Users
who pass initial weights have thought about the units, and are not warned.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from fwkmeans._support.warn import caller_outside, warn_user
from fwkmeans.estimators.model import Model
from fwkmeans.exceptions import UnequalSpreadWarning
from fwkmeans.typing import Description

__all__ = ["MOST", "warn_of_unequal_spreads"]

#: The largest ratio of the spreads of two columns that does not lead to a warning.
MOST = 100.0

_said: set[tuple[Any, ...]] = set()  # classes and columns


def warn_of_unequal_spreads(estimator: Model, table: Description) -> None:
    """Warn if a numeric column spreads more than 100 times as widely as another.

    Both the standard deviation and the range must differ that much, so that standardized columns
    never lead to a warning. Constant and categorical columns and spherical spaces do not count. The
    warning is shown once for each class and set of columns, unless all warnings are enabled.
    """
    how = estimator._weight_init
    if not isinstance(how, str) or how == "inverse-variance":
        return
    smallest, largest = table.span_range
    if largest <= MOST * smallest:
        return  # the usual case
    numeric = np.zeros(table.scatter.size, dtype=np.bool_)
    numeric[table.layout.numeric] = True
    for columns in vars(estimator).get("_unit_spaces", ()):  # only directions count there
        numeric[columns] = False
    counts = numeric & (table.span > 0) & (table.scatter > 0) & np.isfinite(table.scatter)
    if counts.sum() < 2:
        return
    # two roots: the scatter of tiny weights, divided by them, could underflow
    deviation = np.sqrt(table.scatter) / np.sqrt(table.mass)
    wide = int(np.where(counts, deviation, -np.inf).argmax())
    narrow = int(np.where(counts, deviation, np.inf).argmin())
    ratio = float(deviation[wide] / deviation[narrow])
    if min(ratio, float(table.span[wide] / table.span[narrow])) <= MOST:
        return
    who = type(estimator).__name__
    names = estimator._names
    first, second = (at if names is None else repr(str(names[at])) for at in (wide, narrow))
    _warn_once(
        (who, counts.size if names is None else tuple(names), wide, narrow),
        f"Column {first} of X spreads {ratio:.3g} times as widely as column {second} (standard "
        f"deviations {deviation[wide]:.3g} and {deviation[narrow]:.3g}). {who} compares rows in "
        "the units that columns have, so that those with large numbers decide the clusters. If "
        f"that is not what you want, put RangeStandardizer (fwkmeans.preprocessing) or "
        f"StandardScaler (sklearn.preprocessing) before {who} in a pipeline.",
    )


def _warn_once(what: tuple[Any, ...], message: str) -> None:
    """Warn at the line of the caller, and only once unless Python's filters ask for more.

    Python's own record of warnings does not help: every `warnings.catch_warnings`, as in
    scikit-learn's validation, clears it.
    """
    frame = caller_outside()
    module = str(frame.f_globals.get("__name__", "__main__"))
    if _action(message, module, frame.f_lineno) in ("default", "module", "once"):
        if what in _said:
            return
        _said.add(what)
    warn_user(message, UnequalSpreadWarning)


def _action(message: str, module: str, line: int) -> str:
    """Return what Python's filters say about the warning."""
    for action, text, category, where, number in warnings.filters:
        if (
            issubclass(UnequalSpreadWarning, category)
            and (text is None or re.match(text, message))
            and (where is None or re.match(where, module))
            and number in (0, line)
        ):
            return str(action)
    return "default"
