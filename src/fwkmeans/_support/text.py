"""Numbers as text that is pleasant to read: bars and aligned tables."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Collection, Sequence

__all__ = [
    "InputError",
    "aligned",
    "bar",
    "count",
    "harmless",
    "has_blocks",
    "listing",
    "percent",
    "shortened",
]

_BLOCKS = " ▏▎▍▌▋▊▉█"


class InputError(ValueError):
    """Something is wrong with what the user gave; the text says what to do."""


def bar(share: float, width: int = 20) -> str:
    """Return a bar; a share of 1 is `width` characters long."""
    share = min(1.0, max(0.0, share))
    if not has_blocks():
        return "#" * round(share * width)
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()


def has_blocks() -> bool:
    """Tell whether stdout can show more than ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        _BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def percent(share: float) -> str:
    """Return a share in percent, with a digit behind the point if it is small."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def count(number: int, what: str) -> str:
    """Return ``1 row`` or ``3 rows``, with spaces between thousands."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}".replace(",", " ")


def shortened(name: str, width: int) -> str:
    """Return a name that is at most so long, on one line."""
    name = harmless(" ".join(name.split()))
    return name if len(name) <= width else f"{name[: width - 1]}…" if has_blocks() else name[:width]


def harmless(text: str) -> str:
    """Return a text without characters that a terminal obeys, or that turn its direction.

    Examples
    --------
    >>> harmless("a" + chr(0x202E) + "b" + chr(27) + "[2J")
    'a?b?[2J'
    """
    return "".join(
        "?" if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t" else c for c in text
    )


def listing(names: Sequence[str], most: int = 8) -> str:
    """Return quoted names with commas, the first few of many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def aligned(
    rows: Sequence[Sequence[str]], header: Sequence[str], right: Collection[str] = ()
) -> list[str]:
    """Return a table; columns are flush left, those whose titles are in `right` flush right."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            f"{cell:>{width}}" if title in right else f"{cell:<{width}}"
            for cell, width, title in zip(cells, widths, header, strict=True)
        )
        return "  ".join(padded).rstrip()

    return [line(header), "  ".join("-" * width for width in widths), *map(line, rows)]
