"""Numbers, shares and names as people read them, and values as JSON can hold them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "clean",
    "index",
    "listing",
    "name_of",
    "number",
    "of_reports",
    "percent",
    "plural",
    "readable",
    "short",
    "signed",
    "tidy",
    "unique",
]

#: Longest name that is shown in full.
LONGEST_NAME = 60


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with about `digits` significant digits, a dash if there is none.

    Examples
    --------
    >>> number(-3.14159265), number(1234567.8), number(0.00001234), number(None)
    ('−3.142', '1,234,568', '1.234e-05', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", math.floor(math.log10(abs(value)))
    if size < -4 or size > 8:
        return f"{sign}{abs(value):.{digits - 1}e}"
    text = f"{abs(value):,.{max(0, digits - 1 - size)}f}"
    return sign + (text.rstrip("0").rstrip(".") if "." in text else text)


def percent(share: float | None, *, fine: bool = False) -> str:
    """Return a share in percent; what is neither nothing nor all never looks like it.

    Examples
    --------
    >>> percent(0.333), percent(0.0004), percent(0.9999), percent(1.0)
    ('33 %', '< 1 %', '> 99 %', '100 %')
    >>> percent(0.333, fine=True), percent(0.0521, fine=True), percent(0.0004, fine=True)
    ('33 %', '5.2 %', '< 0.1 %')
    """
    if share is None or not math.isfinite(share):
        return "–"
    if share >= 1 - 1e-9:
        return "100 %"
    if share >= 0.995:
        return "> 99 %"
    if fine and 0 < share < 0.0995:
        return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
    if 0 < share < 0.005:
        return "< 1 %"
    return f"{100 * max(0.0, share):.0f} %"


def signed(value: float | None) -> str:
    """Return a number with one decimal and its sign, zero without.

    Examples
    --------
    >>> signed(1.26), signed(-0.04), signed(None)
    ('+1.3', '0.0', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.05 else "0.0"


def index(value: float) -> str:
    """Return an index such as the adjusted Rand index with two decimals."""
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")


def tidy(text: str) -> str:
    """Return a text in which numbers and percent signs stay on one line."""
    return text.replace(" %", "\u00a0%")


def plural(count: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 row`` or ``2,000 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listing(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text without its end if it is very long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def name_of(value: Any) -> str:
    """Return any value as text that can be written: no control characters, no half characters.

    Format characters go too: those that turn the direction of text scramble a whole line.
    """
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    shown = (" " if c in "\t\n\r" else c for c in text)
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf") else c for c in shown)


def readable(value: Any) -> Any:
    """Return a parameter as JSON can hold it: simple values as they are, others described."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return name_of(value)
    if isinstance(value, float | np.generic):
        return clean(value) if clean(value) is not None else str(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{type(value).__name__} of shape {shape}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, dict | list | tuple | range | set):
        return short(name_of(value), 200)
    return short(" ".join(name_of(value).split()), 200)


def clean(value: Any) -> Any:
    """Return the value as JSON can hold it: NumPy's numbers as Python's, no NaN, no infinity."""
    if isinstance(value, dict):
        return {str(key): clean(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return clean(value.tolist())
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def of_reports(error: ImportError) -> ImportError:
    """Return the error of a missing library with what to do about it."""
    return ImportError(
        f"Reports need {error.name or 'jinja2 and matplotlib'}, which is not installed. Install "
        'them with: pip install "fwkmeans[report]"',
        name=error.name,
    )


def unique(names: Iterable[str]) -> list[str]:
    """Return the names with a number behind those that occur again."""
    given = list(names)
    taken, found = set(given), []
    seen: set[str] = set()
    for name in given:
        if name in seen:
            at = 2
            while f"{name} ({at})" in taken:
                at += 1
            name = f"{name} ({at})"
            taken.add(name)
        seen.add(name)
        found.append(name)
    return found
