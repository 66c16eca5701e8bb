"""The rules of clusters as SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from fwkmeans._support.text import count, percent, printable
from fwkmeans._tabular.dates import derived_from, moment_of_age, part_of

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")  # as SQL counts them


def rules_as_sql(
    summary: dict[str, Any], *, dates: Collection[str] = (), numbers: Collection[str] = ()
) -> str:
    """Return the rules of a summary as a CASE expression, which gives the number of the cluster.

    It is written for DuckDB and SQLite. Other databases read it as well if the rules do not ask for
    the month, the weekday or the hour of a date.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    dates : collection of str, default=()
        Columns of dates in the table that columns of the summary are made of, such as
        ``day: month``. In the database they are dates, or text like ``2024-05-31``.
    numbers : collection of str, default=()
        Columns that hold numbers in the table and were taken as categories.

    Returns
    -------
    sql : str
        The expression, with comments that say what the clusters are and how good the rules are.

    See Also
    --------
    summarize : Finds the rules.

    Examples
    --------
    >>> from fwkmeans import KMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.reports import rules_as_sql, summarize
    >>> X = load_uci("iris", as_frame="pandas").data
    >>> summary = summarize(KMeans(2, random_state=0).fit(X), X, names=["long", "short"])
    >>> print(rules_as_sql(summary))
    -- Short rules for 2 clusters, by fwkmeans: they give the cluster of 100% of the rows.
    -- Numbers start from 0, as in the column cluster of fwkmeans fit --out.
    CASE
      -- 0: long
      WHEN "petal_length" >= 3.4
        THEN 0
      -- 1: short
      WHEN "petal_length" < 3.4
        THEN 1
    END
    <BLANKLINE>
    """
    return "\n".join(_lines(summary, set(dates), set(numbers))) + "\n"


def _lines(summary: dict[str, Any], dates: set[str], numbers: set[str]) -> Iterator[str]:
    clusters = [one for one in summary["clusters"] if one["rule"] is not None]
    unit = summary["unit"]
    if summary["rules_right"] is not None:
        yield (
            f"-- Short rules for {count(len(summary['clusters']), unit)}, by fwkmeans: they "
            f"give the {unit} of {percent(summary['rules_right'])} of the rows."
        )
    yield f"-- Numbers start from 0, as in the column {unit} of fwkmeans fit --out."
    if not clusters:
        yield "CAST(NULL AS INTEGER)"
        return
    yield "CASE"
    for one in clusters:
        name = " ".join(printable(one["name"]).split())
        yield f"  -- {one['number']}: {name}"
        ways = [_way(way, dates, numbers) for way in one["rule"]["ways"]]
        told = ways[0] if len(ways) == 1 else "\n    OR ".join(f"({way})" for way in ways)
        yield f"  WHEN {told}"
        yield f"    THEN {one['number']}"
    yield "END"


def _way(way: list[dict[str, Any]], dates: set[str], numbers: set[str]) -> str:
    parts = [one for condition in way for one in _condition(condition, dates, numbers)]
    return " AND ".join(parts) or "1 = 1"


def _condition(condition: dict[str, Any], dates: set[str], numbers: set[str]) -> Iterator[str]:
    name = condition["column"]
    made_of = derived_from(name, dates)
    cell = _quoted(name, '"') if made_of is None else _quoted(made_of, '"')
    part = None if made_of is None else part_of(name)
    if condition["type"] != "numeric":
        yield _of_categories(condition, cell, part, is_number=name in numbers)
        return
    if not condition["known"]:
        yield f"{cell} IS NULL"
        return
    bounds = [condition["low"], condition["high"]]
    signs = [">=", "<"]
    if made_of is None:
        literals = [None if one is None else _number(one) for one in bounds]
    elif part is None:  # years before a day: the older, the more
        literals = [None if b is None else _quoted(moment_of_age(name, b), "'") for b in bounds]
        signs.reverse()
    elif part == "year":
        literals = [None if b is None else f"'{int(b):04}-01-01'" for b in bounds]
    else:
        literals = [None if one is None else _number(one) for one in bounds]
    shown = cell if part != "hour" else _hours(cell)
    for sign, literal in zip(signs, literals, strict=True):
        if literal is not None:
            known = f"{shown} {sign} {literal}"
            yield f"({known} OR {cell} IS NULL)" if condition["missing"] else known
    if not condition["missing"] and bounds == [None, None]:
        yield f"{cell} IS NOT NULL"


def _of_categories(
    condition: dict[str, Any], cell: str, part: str | None, *, is_number: bool
) -> str:
    def literal(category: str) -> str:
        if part == "month":
            return str(_MONTHS.index(category) + 1)
        if part == "weekday":
            return str(_DAYS.index(category))
        if condition["type"] == "truth":
            return category.upper()
        return category if is_number or condition["type"] == "number" else _quoted(category, "'")

    shown = cell
    if part in ("month", "weekday"):
        shown = f"CAST(strftime('{'%m' if part == 'month' else '%w'}', {cell}) AS INTEGER)"
    if condition["equals"] is not None:
        return f"{shown} = {literal(condition['equals'])}"
    excluded = ", ".join(map(literal, condition["excludes"]))
    others = f"{shown} NOT IN ({excluded})"
    return f"({others} OR {cell} IS NULL)" if condition["missing"] else others


def _hours(cell: str) -> str:
    parts = (("%H", 1), ("%M", 60), ("%S", 3600))
    told = (f"CAST(strftime('{what}', {cell}) AS INTEGER) / {by}.0" for what, by in parts)
    return f"({' + '.join(told)})"


def _number(value: float) -> str:
    """Return a number that every database reads as the same one."""
    text = repr(float(value))
    if "e" in text or "." not in text:
        return text
    return text.removesuffix(".0") if len(text) < 17 else f"{text}e0"


def _quoted(text: Any, quote: str) -> str:
    return quote + str(text).replace(quote, 2 * quote) + quote
