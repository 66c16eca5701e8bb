"""What parameters may be, as tables: each entry tests a value and says what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from fwkmeans.exceptions import InvalidParameterError

_ABSENT: Any = object()  # a parameter that a part does not have


class Constraint(NamedTuple):
    """What a parameter may be. Alternatives are joined by ``|``."""

    holds: Callable[[Any], bool]
    words: tuple[str, ...]  # one for each alternative: "expected 'auto' or a number >= 0"
    advice: str = ""  # why, or what to do; a sentence

    def __or__(self, other: Constraint) -> Constraint:
        """Return what holds if either does."""
        return Constraint(
            lambda value: self.holds(value) or other.holds(value),
            self.words + other.words,
            " ".join(filter(None, (self.advice, other.advice))),
        )

    def but(self, advice: str) -> Constraint:
        """Return the same constraint with another advice."""
        return self._replace(advice=advice)

    def check(self, name: str, value: Any, owner: str = "") -> None:
        """Raise an error that says what was got, what was expected and what to do."""
        if self.holds(value):
            return
        *others, last = self.words
        expected = f"{', '.join(others)} or {last}" if others else last
        advice = f" {self.advice}" if self.advice else ""
        who = f"{owner} got " if owner else ""
        raise InvalidParameterError(f"{who}{name}={_shown(value)}: expected {expected}.{advice}")


#: Types of parameters that compare by value.
SIMPLE = frozenset({bool, float, int, str, type(None)})
_MANY = 1000
#: Values that have been checked, most of which will be checked again and again.
_fine: set[tuple[Callable[[Any], bool], type, Any]] = set()


def check_parameters(part: Any, constraints: Mapping[str, Constraint]) -> None:
    """Check the parameters of an estimator or part that are in the table."""
    for name, constraint in constraints.items():
        value = getattr(part, name, _ABSENT)
        if value is _ABSENT:
            continue
        simple = type(value) in SIMPLE
        if simple and (constraint.holds, type(value), value) in _fine:
            continue
        constraint.check(name, value, type(part).__name__)
        if simple and len(_fine) < _MANY:
            _fine.add((constraint.holds, type(value), value))


def one_of(*values: str) -> Constraint:
    """Return the constraint to be one of these words."""
    return Constraint(
        lambda value: isinstance(value, str) and value in values, tuple(map(repr, values))
    )


def integer(at_least: int) -> Constraint:
    """Return the constraint to be an integer, a truth value excepted."""
    return Constraint(
        lambda value: _is_integer(value) and value >= at_least, (f"an integer >= {at_least}",)
    )


def number(
    words: str, valid: Callable[[Any], Any], *, finite: bool = True, batched: bool = False
) -> Constraint:
    """Return the constraint to be a number, or, if `batched`, an array with one for each start."""

    def holds(value: Any) -> bool:
        if type(value) is float:  # the usual case, ten times as fast
            return bool(valid(value)) and (not finite or math.isfinite(value))
        if not is_number(value) and not (batched and one_value_a_start(value)):
            return False
        try:
            numbers = np.asarray(value, dtype=np.float64)
        except (OverflowError, TypeError, ValueError):  # such as 10**400, or an array of words
            return False
        return bool(np.all(valid(numbers) & (np.isfinite(numbers) | (not finite))))

    return Constraint(holds, (words,))


def at_least_zero(*, batched: bool = False) -> Constraint:
    """Return the constraint to be a finite number >= 0."""
    return number("a number >= 0", lambda numbers: numbers >= 0, batched=batched)


_NO_ARRAYS = (str, bytes, Mapping, set, frozenset)


def several(words: str) -> Constraint:
    """Return the constraint to be an array, list, frame or the like."""
    return Constraint(
        lambda value: (
            type(value) is np.ndarray  # the usual case: abstract types take a while to ask
            or (hasattr(value, "__len__") and not isinstance(value, _NO_ARRAYS))
        ),
        (words,),
    )


BOOLEAN = Constraint(lambda value: isinstance(value, (bool, np.bool_)), ("True", "False"))
CALLABLE = Constraint(callable, ("a callable",))
MAPPING = Constraint(lambda value: isinstance(value, Mapping), ("a mapping",))
SOME_NUMBERS = Constraint(
    lambda value: (
        isinstance(value, tuple)
        and len(value) == 2
        and all(_is_integer(one) for one in value)
        and 1 <= value[0] <= value[1]
    ),
    ("(lowest, highest) with 1 <= lowest <= highest",),
)
NONE = Constraint(lambda value: value is None, ("None",))

JOBS = NONE | Constraint(
    lambda value: _is_integer(value) and value != 0,
    ("an integer other than 0",),
    "None and -1 are all cores.",
)
RANDOM_STATE = (
    NONE
    | Constraint(
        lambda value: _is_integer(value) and 0 <= value < 2**32, ("an integer from 0 to 2**32 - 1",)
    )
    | Constraint(
        lambda value: isinstance(value, np.random.RandomState) or value is np.random,
        ("a numpy.random.RandomState",),
    )
)
POWER = number("a number >= 1, or float('inf')", lambda p: p >= 1, finite=False).but(
    "Below 1 a center is not the place where a sum of powers is lowest."
)

#: The weight of categorical columns: see `TableEncoder` and `Minkowski`.
CATEGORY_WEIGHT = one_of("balanced") | number("a number > 0", lambda weight: weight > 0)


def check_power(p: Any) -> None:
    """Raise unless p is at least 1."""
    POWER.check("p", p)


def one_value_a_start(value: Any) -> bool:
    """Tell whether a parameter has one value for each start of a batch: shape (R, 1, 1)."""
    return isinstance(value, np.ndarray) and value.ndim == 3 and value.shape[1:] == (1, 1)


def _is_integer(value: Any) -> bool:
    # the usual types first: abstract ones take a while to ask
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number, a truth value excepted."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Return a value in one line that can be read."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
