"""What takes part: an algorithm, its settings, and the values of its parameter."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans.estimators import ALGORITHMS
from fwkmeans.estimators.names import find_algorithm, parse_value

#: The six algorithms of the survey's experiments, in the order of its tables.
COMPARED = ("AWK", "WK-Means", "EW-KM", "IK-P", "iMWK-Means", "FWSA")

#: Algorithms that get categories as they are; all others get binary columns.
RAW_CATEGORIES = ("AWK", "IK-P")


# The parameter of each algorithm, and the lowest value of its grid. All else is as the estimators
# say (`survey_settings`): the readings that fit the published figures, and for iMWK-Means what its
# author's programs do; see the replication page.
_PARAMETERS: Mapping[str, tuple[str | None, float]] = {
    "AWK": ("beta", 1.0),
    "WK-Means": ("beta", 1.0),
    "EW-KM": ("gamma", 0.0),
    "IK-P": ("beta", 1.0),
    "iMWK-Means": ("p", 1.0),
    "FG-K-Means": ("eta", 0.0),
}

_MOST_VALUES = 10_000
_NO_VALUE = (math.nan,)  # one object, which equals itself

# What the protocol decides, and a setting cannot.
_FIXED = ("n_clusters", "n_init", "random_state", "n_jobs", "verbose", "groups", "spaces")
_FIXED_READING = ("categorical_features", "missing", "missing_category", "handle_unknown")


class Contender(NamedTuple):
    """An algorithm with settings, and the values its parameter takes."""

    label: str  # the name, and settings that are not the survey's
    name: str
    settings: tuple[tuple[str, Any], ...]
    parameter: str | None
    values: tuple[float, ...]  # one NaN if there is no parameter

    @property
    def raw_categories(self) -> bool:
        """Whether categories are given as they are."""
        return self.name in RAW_CATEGORIES

    @property
    def takes_groups(self) -> bool:
        """Whether the algorithm knows groups of features."""
        return self.name in ("SYNCLUS", "CK-Means", "FG-K-Means")

    def check(self) -> None:
        """Raise if a value or setting is none of the algorithm's, before anything is run."""
        rows = np.array([[0.0, 0.0], [0.1, 1.0], [1.0, 0.2], [0.9, 0.9]])
        for value in self.values if self.parameter else (None,):
            model = self.model(2).set_params(max_iter=1, random_state=0)
            if self.parameter is not None:
                model.set_params(**{self.parameter: value})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(rows)

    def model(self, n_clusters: int, groups: Sequence[int] | None = None) -> Any:
        """Return the estimator, on one thread."""
        settings = {"init": "random", **dict(self.settings)}
        if groups is not None and self.takes_groups:
            settings["spaces" if self.name == "CK-Means" else "groups"] = list(groups)
        return ALGORITHMS[self.name](n_clusters, n_jobs=1, **settings)


def parse_contender(
    text: str, *, grid: Sequence[float] | None = None, step: float = 0.1
) -> Contender:
    """Return the algorithm that a text such as ``EW-KM[dispersion=sum]`` names.

    Parameters
    ----------
    text : str
        Name of an algorithm, upper or lower case, optionally with settings in brackets.
    grid : sequence of float, default=None
        Values of its parameter; None: the survey's, 1.0 (EW-KM and FG-K-Means: 0) to 5.0.
    step : float, default=0.1
        Step of the survey's grid.

    Returns
    -------
    Contender
        The algorithm, its settings and values.
    """
    match = re.fullmatch(r"\s*([^\[\]]+?)\s*(?:\[(.*)\])?\s*", text)
    if match is None:
        raise ValueError(
            f"{text!r} does not name an algorithm; expected NAME or NAME[parameter=value,...]."
        )
    name = find_algorithm(match[1])
    swept, lowest = _PARAMETERS.get(name, (None, 1.0))
    given = _read_settings(match[2] or "", name)
    usual = {k: v for k, v in ALGORITHMS[name].survey_settings.items() if k != swept}
    settings = {**usual, **given}
    own = {k: v for k, v in settings.items() if usual.get(k, _Missing) != v}
    label = name + (f"[{','.join(f'{k}={v}' for k, v in sorted(own.items()))}]" if own else "")
    parameter = None if swept in given else swept
    values: Sequence[float] = _NO_VALUE
    if parameter is not None:
        values = survey_grid(lowest, step) if grid is None else grid
    return Contender(label, name, tuple(sorted(settings.items())), parameter, tuple(values))


def survey_grid(lowest: float = 1.0, step: float = 0.1, highest: float = 5.0) -> tuple[float, ...]:
    """Return the values from the lowest to the highest, as decimal numbers."""
    n_steps = int((highest - lowest) / step + 1e-9)
    return tuple(round(lowest + at * step, 10) for at in range(n_steps + 1))


def parse_grid(text: str) -> tuple[float, ...]:
    """Return the numbers that ``1:5:0.1`` (from, to, step) or ``1.5,2,3`` name."""
    try:
        numbers = [float(part) for part in text.split(":" if ":" in text else ",")]
        if not all(map(math.isfinite, numbers)):
            raise ValueError
        if ":" not in text:
            return tuple(sorted(set(numbers)))
        lowest, highest, step = numbers
        if not (step > 0 and highest >= lowest):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"{text!r} is not a grid; expected FROM:TO:STEP such as 1:5:0.1, or numbers with "
            "commas."
        ) from None
    if (highest - lowest) / step > _MOST_VALUES:
        raise ValueError(f"{text!r} has too many values; expected {_MOST_VALUES} at most.")
    return survey_grid(lowest, step, highest)


class _Missing:
    """No value."""


def _read_settings(text: str, name: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    known = [
        key for key in ALGORITHMS[name]().get_params() if key not in (*_FIXED, *_FIXED_READING)
    ]
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in known:
            raise ValueError(
                f"{part!r} is not a setting of {name}; expected parameter=value with one of "
                f"{', '.join(known)}."
            )
        settings[key] = parse_value(value)
        if isinstance(settings[key], float) and settings[key].is_integer():
            settings[key] = int(settings[key])  # 2.0 is 2, and so is its label
    return settings
