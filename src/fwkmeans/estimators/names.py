"""Names of algorithms and values of parameters, as users type them."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from typing import Any

from fwkmeans._support.errors import InputError
from fwkmeans.estimators import ALGORITHMS

__all__ = ["find_algorithm", "parse_value"]


def find_algorithm(name: str, further: Sequence[str] = ()) -> str:
    """Return the survey's name of an algorithm, given any spelling of it or of its class.

    The beginning of a name is enough if it is unique. `further` names are known, too.
    """

    def key(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", text.lower())

    titles = [*further, *ALGORITHMS]
    spellings = {key(title): title for title in titles}
    spellings |= {key(cls.__name__): title for title, cls in ALGORITHMS.items()}
    if key(name) in spellings:
        return spellings[key(name)]
    begun = {title for spelling, title in spellings.items() if spelling.startswith(key(name))}
    if len(begun) == 1:
        return begun.pop()
    near = [one for one in spellings if spellings[one] in begun and key(name)]
    near = near or difflib.get_close_matches(key(name), spellings, n=2, cutoff=0.5)
    likely = list(dict.fromkeys(spellings[one] for one in near))
    hint = f"did you mean {' or '.join(likely)}?"
    raise InputError(
        f"There is no algorithm {name!r}: "
        f"{hint if likely else 'choose one of ' + ', '.join(titles) + '.'}"
    )


def parse_value(text: str) -> Any:
    """Return a number, a truth value, None, a list or the text itself."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    try:
        return float(text)  # inf
    except ValueError:
        return text
