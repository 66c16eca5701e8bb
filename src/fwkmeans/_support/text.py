"""Numbers, names and tables as people read them."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any

_BLOCKS = " ▏▎▍▌▋▊▉█"

# ---- numbers ------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with about `digits` significant digits, a dash if there is none.

    Examples
    --------
    >>> number(-3.14159265), number(1234567.8), number(0.00001234), number(None)
    ('−3.142', '1,234,568', '1.234e-05', '–')
    >>> number(1996)  # four digits, such as those of a year, need no comma
    '1996'
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", math.floor(math.log10(abs(value)))
    if size < -4 or size > 8:
        return f"{sign}{abs(value):.{digits - 1}e}"
    return sign + _with_decimals(abs(value), max(0, digits - 1 - size))


def _with_decimals(size: float, decimals: int) -> str:
    text = f"{size:,.{decimals}f}" if size >= 10_000 else f"{size:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rounded(value: float | None, scale: float | None = None) -> str:
    """Return a number with the digits that matter where differences of about `scale` do.

    Examples
    --------
    >>> rounded(5.5519, 2.69), rounded(1115.711, 596.2), rounded(1115.711, 0.04), rounded(0.23, 90)
    ('5.6', '1116', '1115.711', '0.2')
    """
    if value is None or not math.isfinite(value) or not scale or not math.isfinite(scale):
        return number(value)
    size = math.floor(math.log10(abs(value))) if value else 0
    decimals = 1 - math.floor(math.log10(abs(scale)))
    if size < -4 or size > 8 or decimals > 10:
        return number(value)
    text = _with_decimals(abs(value), max(0, decimals))
    if value and not text.strip("0."):  # what is not 0 never looks like it
        return number(value, 1)
    return f"−{text}" if value < 0 else text


def percent(share: float | None, *, fine: bool = False) -> str:
    """Return a share in percent; one that is neither 0 nor 1 never looks like it is.

    Examples
    --------
    >>> percent(0.333), percent(0.0004), percent(0.9999), percent(1.0)
    ('33%', '<1%', '>99%', '100%')
    >>> percent(0.333, fine=True), percent(0.0521, fine=True), percent(0.0004, fine=True)
    ('33%', '5.2%', '<0.1%')
    """
    if share is None or not math.isfinite(share):
        return "–"
    if share >= 0.995:
        return "100%" if share >= 1 - 1e-9 else ">99%"
    if fine and 0 < share < 0.0995:
        return "<0.1%" if share < 0.0005 else f"{share:.1%}"
    return "<1%" if 0 < share < 0.005 else f"{max(0.0, share):.0%}"


def two_decimals(value: float) -> str:
    """Return a number such as an adjusted Rand index with two decimals."""
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 row`` or ``2,000 rows``."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


# ---- names --------------------------------------------------------------------------------------


def joined(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def quoted(names: Iterable[Any], most: int = 8) -> str:
    """Return the names in quotes with commas between them, the first few of many."""
    shown = list(map(repr, names))
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")


def shortened(text: Any, longest: int = 60, *, keep_end: bool = False, mark: str = "…") -> str:
    """Return a text on one line, without its end if it is long, or without its middle.

    Examples
    --------
    >>> shortened("temperature in July 2021", 12), shortened("column 1017", 9, keep_end=True)
    ('temperature…', 'colum…017')
    """
    line = " ".join(str(text).split())
    if len(line) <= longest:
        return line
    end = line[-(longest // 3) :] if keep_end else ""
    return line[: longest - len(end) - len(mark)] + mark + end


def printable(value: Any, stand_in: str = "\ufffd") -> str:
    """Return any value as one line of text without control characters and half characters.

    Format characters go too: those that turn the direction of text scramble a whole line.
    """
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    for space in "\t\n\r":
        text = text.replace(space, " ")
    return _without_controls(text, stand_in)


def harmless(text: str) -> str:
    """Return text without characters that a terminal obeys, or that turn its direction.

    Examples
    --------
    >>> harmless("a" + chr(0x202E) + "b" + chr(27) + "[2J")
    'a?b?[2J'
    """
    return _without_controls(text, "?", keep="\n\t")


def _without_controls(text: str, stand_in: str, keep: str = "") -> str:
    return "".join(
        stand_in if unicodedata.category(c) in ("Cc", "Cf") and c not in keep else c for c in text
    )


def distinct_names(
    names: Iterable[str], pattern: str = "{} ({})", taken: Iterable[str] = ()
) -> list[str]:
    """Return the names, with a number behind those that occur again or are taken.

    Examples
    --------
    >>> distinct_names(["a", "b", "a", "a (2)"])
    ['a', 'b', 'a (3)', 'a (2)']
    """
    given, used = list(names), set(taken)
    reserved, found = used | set(given), []
    for name in given:
        unique, at = name, 1
        while unique in (used if at == 1 else reserved):
            at += 1
            unique = pattern.format(name, at)
        used.add(unique)
        reserved.add(unique)
        found.append(unique)
    return found


# ---- terminals ----------------------------------------------------------------------------------


def has_blocks() -> bool:
    """Tell whether stdout can show more than ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        _BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def for_terminal(name: Any, width: int) -> str:
    """Return a name that a terminal can show in so many columns."""
    mark = "…" if has_blocks() else ""
    text = harmless(shortened(name, width, mark=mark))
    if width_of(text) <= width:
        return text
    while width_of(text) + len(mark) > width:
        text = text[:-1]
    return text + mark


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    Examples
    --------
    >>> width_of("abc"), width_of("東京"), width_of("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text that takes so many columns of a terminal; flush left, or right."""
    spaces = " " * max(0, width - width_of(text))
    return spaces + text if right else text + spaces


def bar(share: float, width: int = 20) -> str:
    """Return a bar; a share of 1 is `width` characters long."""
    share = min(1.0, max(0.0, share))
    if not has_blocks():
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()


def aligned(
    rows: Sequence[Sequence[str]], header: Sequence[str], right: Collection[str] = ()
) -> list[str]:
    """Return a table; columns are flush left, those whose titles are in `right` flush right."""
    widths = [max(width_of(row[at]) for row in (header, *rows)) for at in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        columns = zip(cells, widths, header, strict=True)
        parts = (padded(cell, width, right=title in right) for cell, width, title in columns)
        return "  ".join(parts).rstrip()

    return [line(header), "  ".join("-" * width for width in widths), *map(line, rows)]
