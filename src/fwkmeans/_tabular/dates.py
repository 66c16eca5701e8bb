"""Dates and times in the orders that people write them, and the numbers that clusters can use."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MONTHS = {
    "jan": 1, "ene": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mrz": 3, "apr": 4,
    "avr": 4, "abr": 4, "may": 5, "mai": 5, "jun": 6, "jui": 6, "jul": 7, "aug": 8, "aoû": 8,
    "aou": 8, "ago": 8, "sep": 9, "set": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
    "déc": 12, "dic": 12,
}  # fmt: skip
_NAMES: tuple[str, ...] = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
_DAYS: tuple[str, ...] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_CLOCK = (
    r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d+)?)?(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?:\s?(?:Z|[A-Z]{3,4}|(?:UTC|GMT)?[+-]\d{2}:?\d{2}))?(?:\s?\([\w\s]+\))?"
_TIME = rf"(?:(?:[T,]|\s|,\s){_CLOCK}{_ZONE})?"
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?\s)?"
_WORD = r"(?P<word>[A-Za-zäéû]{3,10})\.?"

#: A cell of one kind; `a` and `b` are day and month in an order that the column must tell.
_KINDS = tuple(
    re.compile(f"{pattern}$")
    for pattern in (
        rf"(?P<y>\d{{4}})(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}}){_TIME}",
        rf"(?P<a>\d{{1,2}})(?P<sep>[-/.])(?P<b>\d{{1,2}})(?P=sep)(?P<y>\d{{4}}|\d{{2}}){_TIME}",
        r"(?P<y>(?:19|20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?:T?(?P<H>\d\d)(?P<M>\d\d)(?P<S>\d\d))?",
        rf"{_DAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[\s.-]*{_WORD}[\s,-]*(?P<y>\d{{4}}|\d{{2}}){_TIME}",
        rf"{_DAY}{_WORD}\s?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y>\d{{4}}){_TIME}",
        rf"{_WORD}[\s,-](?P<y>\d{{4}}|\d{{2}})",
        r"(?P<y>\d{4})[-/](?P<m>\d{1,2})",
        r"(?P<y>\d{4})[-\s]?[Qq](?P<quarter>[1-4])",
        _CLOCK,
    )
)

_AGE = re.compile(r"(?P<column>.+) \(years before (?P<day>\d{4}-\d\d-\d\d)\)")
_PART = re.compile(r"(?P<column>.+): (?P<part>year|month|weekday|hour)")
_YEAR = 365.2425


class Dates(NamedTuple):
    """Moments, NaT where a cell is missing, and whether day and month could be told apart."""

    moments: NDArray[np.datetime64]
    is_ambiguous: bool


def read_dates(cells: Sequence[str | None]) -> Dates | None:
    """Return the cells as moments if all of them are dates or times of one kind.

    Examples
    --------
    >>> read_dates(["31.12.1999", "1.2.2000"]).moments.tolist()[1].isoformat()
    '2000-02-01T00:00:00'
    >>> read_dates(["13/14/2000"]) is None
    True
    """
    texts = {one.strip(): at for at, one in enumerate(dict.fromkeys(cells)) if one is not None}
    if not texts:
        return None
    for kind in _KINDS:
        if not all(map(kind.match, islice(texts, 20))):
            continue
        found = [kind.match(one) for one in texts]
        if all(found):
            parts = [one.groupdict() for one in found if one is not None]
            return _moments(parts, list(texts), cells)
    return None


def _moments(
    parts: list[dict[str, str | None]], texts: list[str], cells: Sequence[str | None]
) -> Dates | None:
    """Return the moments of all cells, given the parts of each distinct text."""
    is_ambiguous = False
    if "a" in parts[0]:
        first = max(int(one["a"] or 0) for one in parts)
        second = max(int(one["b"] or 0) for one in parts)
        is_ambiguous = first <= 12 and second <= 12
        month_first = second > 12 or (is_ambiguous and parts[0]["sep"] == "/")
        names = ("m", "d") if month_first else ("d", "m")
        parts = [one | dict(zip(names, (one["a"], one["b"]), strict=True)) for one in parts]
    moment_of: dict[str | None, Any] = {None: np.datetime64("NaT", "s")}
    for text, one in zip(texts, parts, strict=True):
        moment = _moment(one)
        if moment is None:
            return None
        moment_of[text] = moment
    moments = [moment_of[one if one is None else one.strip()] for one in cells]
    return Dates(np.array(moments, dtype="datetime64[s]"), is_ambiguous)


def _moment(parts: dict[str, str | None]) -> np.datetime64 | None:
    year, month = int(parts.get("y") or 1970), int(parts.get("m") or 1)
    if len(parts.get("y") or "1970") == 2:
        year += 1900 if year >= 69 else 2000
    if parts.get("word"):
        month = _MONTHS.get(str(parts["word"])[:3].lower(), 0)
        if str(parts["word"]).lower().startswith("juil"):
            month = 7
    if parts.get("quarter"):
        month = 3 * int(parts["quarter"] or 1) - 2
    hour = int(parts.get("H") or 0)
    if parts.get("half"):
        hour = hour % 12 + (12 if str(parts["half"]) in "Pp" else 0)
    day, minute, second = (
        int(parts.get(one) or low) for one, low in (("d", 1), ("M", 0), ("S", 0))
    )
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute < 60 and second <= 60):
        return None
    try:
        start = np.datetime64(f"{year:04}-{month:02}-{day:02}", "s")
    except ValueError:  # such as February 30
        return None
    return start + np.timedelta64(3600 * hour + 60 * minute + second, "s")


# ---- what clusters can use ----------------------------------------------------------------------


def ages(column: str, moments: NDArray[np.datetime64]) -> dict[str, NDArray[Any]]:
    """Return years before the latest day; it stands in the name, so that a model can repeat it."""
    latest = np.nanmax(moments).astype("datetime64[D]")
    return {f"{column} (years before {latest})": _years_before(moments, latest)}


def _years_before(moments: NDArray[np.datetime64], day: np.datetime64) -> NDArray[np.float64]:
    seconds = (day.astype("datetime64[s]") - moments) / np.timedelta64(1, "s")
    return np.asarray(seconds / 86_400 / _YEAR)


def age_between(name: str, low: float, high: float) -> float | None:
    """Return an age above `low`, up to `high`, that is just older than a plain day or moment.

    None if the column of this name does not hold ages. The first day of a year, or of a month, is
    plainer than others.

    Examples
    --------
    >>> bound = age_between("born (years before 2020-06-01)", 18.6, 20.2)
    >>> moment_of_age("born (years before 2020-06-01)", bound)
    '2001-01-01'
    """
    found = _AGE.fullmatch(name)
    if found is None:
        return None
    day = np.datetime64(found["day"], "D")
    newer, older = (_moment_at(day, age) for age in (low, high))
    for unit in ("Y", "M", "D"):
        cut = newer.astype(f"datetime64[{unit}]").astype("datetime64[s]")
        if older < cut:
            break
    else:
        cut = newer
    return float(np.nextafter(_years_before(np.array([cut]), day)[0], np.inf))


def moment_of_age(name: str, bound: float) -> str | None:
    """Return the moment from which on ages are below a bound; None if there are no ages."""
    found = _AGE.fullmatch(name)
    if found is None:
        return None
    moment = _moment_at(np.datetime64(found["day"], "D"), bound)
    day = moment.astype("datetime64[D]")
    return str(day) if day == moment else str(moment).replace("T", " ")


def _moment_at(day: np.datetime64, age: float) -> Any:
    return day.astype("datetime64[s]") - np.timedelta64(round(age * _YEAR * 86_400), "s")


def part_of(name: str) -> str | None:
    """Return which part of a date a column holds: year, month, weekday or hour; else None."""
    found = _PART.fullmatch(name)
    return None if found is None else found["part"]


def parts_of(column: str, moments: NDArray[np.datetime64]) -> dict[str, NDArray[Any]]:
    """Return year and hour as numbers, month and weekday as categories: those that vary."""
    found = {
        f"{column}: {part}": _part(moments, part) for part in ("year", "month", "weekday", "hour")
    }
    return {name: values for name, values in found.items() if _varies(values)}


def _varies(values: NDArray[Any]) -> bool:
    present = {one for one in values.tolist() if one is not None and one == one}
    return len(present) > 1


def _part(moments: NDArray[np.datetime64], part: str) -> NDArray[Any]:
    missing = np.isnat(moments)
    days = moments.astype("datetime64[D]")
    if part == "year":
        return np.where(missing, np.nan, moments.astype("datetime64[Y]").astype(np.int64) + 1970.0)
    if part == "hour":
        return np.where(missing, np.nan, (moments - days) / np.timedelta64(3600, "s"))
    if part == "month":
        names, at = _NAMES, moments.astype("datetime64[M]").astype(np.int64) % 12
    else:
        names, at = _DAYS, (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
    texts = np.array(names, dtype=object)[np.where(missing, 0, at)]
    texts[missing] = None
    return np.asarray(texts)


def derived_from(name: str, columns: Collection[str]) -> str | None:
    """Return the column of dates that a column of a model is made of; None if there is none."""
    found = _AGE.fullmatch(name) or _PART.fullmatch(name)
    column = None if found is None else found["column"]
    return column if column in columns else None


def derive(name: str, moments: NDArray[np.datetime64]) -> NDArray[Any]:
    """Return the column of a model with this name, made of dates."""
    age = _AGE.fullmatch(name)
    if age is not None:
        return _years_before(moments, np.datetime64(age["day"], "D"))
    part = _PART.fullmatch(name)
    assert part is not None
    return _part(moments, part["part"])
