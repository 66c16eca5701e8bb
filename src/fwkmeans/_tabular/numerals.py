"""Numbers as people write them: separators of thousands, decimal commas, percents, money."""

from __future__ import annotations

from typing import Any, NamedTuple

from fwkmeans._support.optional import require

_SPACE = r"[ \x{a0}\x{2009}\x{202f}]"
_MONEY = r"(?:\p{Sc}|US\$|A\$|C\$|USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN|kr\.?|zł|Fr\.|Rs\.?)"
_MONEY_BEFORE = rf"^([-+]?){_SPACE}*{_MONEY}{_SPACE}*([-+]?\d)"
_MONEY_BEHIND = rf"(\d){_SPACE}*{_MONEY}$"
#: What accountants write for -12.
_IN_PARENTHESES = r"^\(([^-+()]*\d[^()]*)\)$"
_PERCENT = rf"^[-+]?\d+([.,]\d+)?{_SPACE}*%$"

_PLAIN = r"^[-+]?\d*\.?\d+$"
_WHOLE = r"^[-+]?\d+$"
_COMMA_GROUPS = r"^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
_SEVERAL_GROUPS = r"^[-+]?[1-9]\d{0,2}(,\d{3}){2,}(\.\d+)?$"
_POINT_GROUPS = r"^[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$"
_SPACE_GROUPS = rf"^[-+]?[1-9]\d{{0,2}}((?:{_SPACE}|['’])\d{{3}})+([.,]\d+)?$"
_DECIMAL_COMMA = r"^[-+]?\d+,\d+$"
#: Cells that only a decimal comma explains: a comma behind points, or several groups of thousands.
_EUROPEAN = r"^[-+]?[1-9]\d{0,2}((\.\d{3})+,\d+|(\.\d{3}){2,})$"


class Numerals(NamedTuple):
    """Cells that can be cast to numbers, what was done to them, and the setting that decides it."""

    cells: Any
    remark: str
    setting: str | None = None
    value: str | None = None
    decimal: str = "."


def as_people_write(cells: Any, decimal: str | None, sep: str) -> Numerals | None:
    """Return cells of text as what can be cast to numbers; None if some cells are no numbers.

    `decimal` is the decimal point of the file, None if nobody said; `sep` separates its cells.
    """
    compute = require("pyarrow.compute", "CSV files", "io")
    bare = compute.replace_substring(compute.utf8_trim_whitespace(cells), "\u2212", "-")
    said = []
    without = compute.replace_substring_regex(bare, _IN_PARENTHESES, r"-\1")
    negative = compute.match_substring_regex(bare, _IN_PARENTHESES)
    if compute.any(negative).as_py() and not compute.all(negative).as_py():
        bare = without
        said.append("cells such as (12) were read as -12")
    without = compute.replace_substring_regex(without, _MONEY_BEFORE, r"\1\2")
    without = compute.replace_substring_regex(without, _MONEY_BEHIND, r"\1")
    if compute.any(compute.match_substring_regex(cells, _MONEY)).as_py():
        bare = without
        said.insert(0, "amounts of money were read as numbers")
    if _every(compute, bare, _PERCENT):
        bare = compute.replace_substring_regex(bare, rf"{_SPACE}*%$", "")
        bare = compute.replace_substring(bare, ",", ".")
        return Numerals(bare, "; ".join([*said, "cells such as 45% were read as the number 45."]))
    grouped = _without_groups(compute, bare, decimal, sep)
    if grouped is not None:
        return grouped._replace(remark="; ".join([*said, grouped.remark]))
    if said and _every(compute, bare, _PLAIN):
        return Numerals(bare, f"{'; '.join(said)}.")
    return None


def _without_groups(compute: Any, cells: Any, decimal: str | None, sep: str) -> Numerals | None:
    """Return numbers without separators of thousands and with a decimal point."""
    with_points = compute.replace_substring(cells, ",", ".")
    commas = sep != "," and decimal is None and _every(compute, cells, _DECIMAL_COMMA, _WHOLE)
    thousands = decimal != "," and _every(compute, cells, _COMMA_GROUPS, _PLAIN)
    has_comma = _some(compute, cells, ",")
    if (
        thousands
        and has_comma
        and (not commas or sep != ";" or _some(compute, cells, _SEVERAL_GROUPS))
    ):
        remark = "commas were taken as separators of thousands (1,234 is 1234)."
        return Numerals(compute.replace_substring(cells, ",", ""), remark)
    if commas and has_comma:
        remark = "commas were taken as decimal commas, so 1,5 is 1.5; a decimal point keeps text."
        return Numerals(with_points, remark, "decimal", ".", ",")
    sure = decimal == "," or (decimal is None and _some(compute, cells, _EUROPEAN))
    if sure and _every(compute, cells, _POINT_GROUPS, _DECIMAL_COMMA, _WHOLE):
        bare = compute.replace_substring(compute.replace_substring(cells, ".", ""), ",", ".")
        remark = "points were taken as separators of thousands (1.234,5 is 1234.5)."
        return Numerals(bare, remark, decimal=",")
    spaced = _some(compute, cells, _SPACE_GROUPS)
    if spaced and _every(compute, cells, _SPACE_GROUPS, _PLAIN, _DECIMAL_COMMA):
        bare = compute.replace_substring_regex(with_points, rf"(?:{_SPACE}|['’])", "")
        return Numerals(bare, "spaces were taken as separators of thousands (1 234 is 1234).")
    return None


def _every(compute: Any, cells: Any, *patterns: str) -> bool:
    either = "|".join(f"(?:{one})" for one in patterns)
    return bool(compute.all(compute.match_substring_regex(cells, either)).as_py())


def _some(compute: Any, cells: Any, pattern: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(cells, pattern)).as_py())
