"""What a column of a table is: an amount, a category, a key, a date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.text import count, quoted
from fwkmeans._tabular.wording import Wording, on_command_line

#: So many texts are fine in a table of any size; beyond, there should be ten rows for each.
MOST_LEVELS = 20
#: Beyond so many texts, and fewer than ten rows for each, a column says nothing about groups.
TOO_MANY = 100
#: Texts that form no groups even if each of them has many rows, and that cost much memory.
MOST_TEXTS = 500
#: Rows that a table needs before texts can be called nearly unique.
LEAST_ROWS = 8

#: What pandas calls an index without a name in a file.
_INDEX = re.compile(r"__index_level_\d+__")
#: Words in names of columns. The last word of a key, such as customerId:
_KEYS = {
    *("id", "ids", "key", "nr", "num", "number", "index", "idx", "uuid", "guid", "rowid"),
    *("sku", "isbn", "ean", "upc", "phone", "tel", "fax", "ssn", "account", "rownames", "unnamed"),
}
#: The only word, or the last, of a column that says to whom a row belongs:
_OWNERS = {
    *("individual", "person", "subject", "patient", "participant", "respondent", "household"),
    *("user", "customer", "case", "record", "row", "obs", "observation", "trial"),
}
#: Any word of a column of postcodes, or of other codes that are no amounts:
_POSTCODES = {"zip", "zipcode", "postcode", "postal", "plz", "postleitzahl"}
_CODES = {"code", "codes", "cd", "coded", "fips", "sic", "naics", "isic", "icd"}
#: The last word of a column whose whole numbers stand for categories, if they are few:
_CATEGORIES = {
    *("category", "type", "kind", "class", "group", "species", "brand", "color", "colour", "mode"),
    *("sex", "gender", "race", "ethnicity", "religion", "occupation", "occ", "job", "marital"),
    *("country", "region", "state", "province", "county", "city", "district", "site", "station"),
    *("department", "dept", "sector", "industry", "store", "shop", "status", "origin"),
}
_YEARS = {"year", "yr", "years", "yyyy", "jahr", "annee", "année", "año", "anno", "modelyear"}
#: Keys whose numbers may also be amounts or measurements, such as the number of rooms.
_MAY_COUNT = {
    *("number", "num", "nr", "no", "index", "idx", "account", "key", "phone", "tel", "fax"),
}
#: Keys and codes glued to what they are the key of, such as geonameid or schoolidk.
_GLUED = re.compile(r"(?:id|code|key|no|nr|num)(?:[a-z]|\d+)?")
_OF_WHAT = (
    *("user", "customer", "client", "person", "patient", "subject", "school", "student", "class"),
    *(
        "teacher",
        "movie",
        "film",
        "item",
        "product",
        "order",
        "account",
        "invoice",
        "store",
        "shop",
    ),
    *("geoname", "geo", "place", "city", "county", "country", "state", "region", "area", "ad"),
    *("firm", "company", "employee", "emp", "staff", "member", "house", "hh", "family", "site"),
    *("station", "sensor", "device", "event", "session", "trip", "flight", "game", "team"),
    *("player", "doc", "article", "tweet", "post", "object", "group", "record", "row", "sample"),
    *("case", "bar", "zip", "post", "fips", "plot", "block", "tract", "district", "p", "u", "uu"),
)
#: Rows that repeat no number although so many pairs were expected to be equal: no accident.
_SURELY, _PERHAPS = 7.0, 2.0


class Kind(NamedTuple):
    """What a column is taken as, and why."""

    use: str  # "number", "categories" or "left out"
    why: str
    doubt: str = ""  # why a column that is used may be a key or a code all the same


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters.

    Examples
    --------
    >>> words_of("customerID"), words_of("Zip_code 5"), words_of("__index__")
    (['customer', 'id'], ['zip', 'code', '5'], ['index'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+|\d+", apart.lower())


def key_in(name: str) -> str:
    """Return what kind of key a name is that of: "key", "code", "may count", or nothing.

    Examples
    --------
    >>> key_in("movieId"), key_in("geonameid"), key_in("id_str"), key_in("schoolid3")
    ('key', 'key', 'key', 'key')
    >>> key_in("adcode"), key_in("number"), key_in("humid"), key_in("casino")
    ('code', 'may count', '', '')
    """
    words = words_of(name)
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if not words:
        return ""
    last = words[-1]
    if last in _KEYS or (last == "no" and len(words) < 3):
        return "may count" if last in _MAY_COUNT else "key"
    if words[0] in ("id", "uuid", "guid"):
        return "key"
    if last in _CODES:
        return "code"
    for one in _OF_WHAT:
        if last.startswith(one) and _GLUED.fullmatch(last, len(one)):
            glued = last[len(one) :]
            return "code" if glued.startswith("code") else "key"
    return ""


def kind_of(arrow: Any, values: Any, column: str, say: Wording = on_command_line) -> Kind:
    """Return what a column is taken as if nobody says what it is."""
    types, kind, n_rows = arrow.types, values.type, len(values)
    if _INDEX.fullmatch(column):
        return Kind("left out", "the index of a pandas table")
    if types.is_null(kind) or values.null_count == n_rows:
        return Kind("left out", "no cell is filled")
    if types.is_temporal(kind):
        return Kind("left out", f"dates or times, see {say('dates')}")
    n_filled = n_rows - values.null_count
    if n_filled * 4 < n_rows:
        return Kind("left out", f"only {n_filled:,} of {n_rows:,} cells are filled")
    if types.is_boolean(kind):
        return Kind("categories", "true or false")
    if types.is_string(kind):
        return _kind_of_text(values.drop_null(), say)
    if types.is_integer(kind) or types.is_floating(kind):
        return _kind_of_numbers(values.drop_null().to_numpy(), column)
    return Kind("left out", f"cells of type {kind} are neither numbers nor text")


def _kind_of_text(present: Any, say: Wording) -> Kind:
    n_rows, n_texts = len(present), len(present.unique())
    is_unique = n_rows >= 3 and n_texts == n_rows
    if is_unique or is_nearly_unique(n_texts, n_rows):
        texts = present.unique().to_pylist()
        stray = [one for one in texts if not is_float(one)]
        odd = [one for one in texts if not is_comma_number(one)] if has_commas(texts) else stray
        if has_commas(texts) and not odd:
            advice = say("decimal", ",")
            return Kind("left out", f"numbers with a decimal comma? then add {advice}")
        if odd and 4 * len(odd) <= len(texts) >= 4:
            advice = f"name those with {say('na')}, or take them as missing with {say('coerce')}"
            return Kind("left out", f"numbers, but for {quoted(odd, 3)}? then {advice}")
        if is_unique:
            return Kind("left out", "every row has a text of its own, as a name or key")
        why = f"{n_texts:,} different texts in {count(n_rows, 'row')}, as names or keys"
        return Kind("left out", why)
    if n_texts > MOST_TEXTS:
        why = f"{n_texts:,} different texts that repeat, too many to form groups"
        return Kind("left out", why)
    return Kind("categories", "text")


def is_nearly_unique(n_values: int, n_rows: int) -> bool:
    """Tell whether values have too few rows each to say anything about groups of rows."""
    if n_rows < LEAST_ROWS:
        return False
    return 2 * n_values > n_rows or n_values > max(TOO_MANY, n_rows / 10)


def _kind_of_numbers(numbers: NDArray[Any], column: str) -> Kind:
    finite = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    words = words_of(column) or [""]
    if not finite.size or (finite.dtype.kind == "f" and (finite != np.floor(finite)).any()):
        return Kind("number", "numbers")
    distinct, n_rows = np.unique(finite), finite.size
    n_values = distinct.size
    is_short = float(np.abs(finite).max()) < 2**53
    steps = np.diff(finite.astype(np.float64))
    is_year = bool({*words} & _YEARS) and distinct[0] >= 1000 and distinct[-1] <= 2200
    if n_rows >= 5 and (steps == 1).all():
        return Kind("left out", "each row is the next year" if is_year else "it numbers the rows")
    if words[-1] in _OWNERS and n_values > MOST_LEVELS and ((steps == 0) | (steps == 1)).all():
        return Kind("left out", "it numbers groups of rows")
    if is_year:
        return Kind("number", "years")
    key = key_in(column)
    if n_rows >= 5 and n_values > 2 and key:
        found = _kind_of_key(key, n_values, n_rows, steps)
        if found is not None:
            return found
    if {*words} & _POSTCODES or key == "code":
        what = "postcodes" if {*words} & _POSTCODES else "codes"
        if n_values > max(MOST_LEVELS, n_rows / 10):
            why = f"{what}, not amounts, and {n_values:,} different ones in {n_rows:,} rows"
            return Kind("left out", why)
        return Kind("categories", f"{what}, not amounts")
    if words[-1] in _CATEGORIES and 2 < n_values <= min(MOST_LEVELS, n_rows / 3) and is_short:
        return Kind("categories", "a few whole numbers, named like categories")
    if n_values == 1:
        return Kind("number", "the same in every row, so without influence")
    if n_values == n_rows >= 10:
        return _kind_of_different(distinct, steps)
    return Kind("number", "whole numbers")


def _kind_of_key(key: str, n_values: int, n_rows: int, steps: NDArray[Any]) -> Kind | None:
    """Return what a column of whole numbers with the name of a key is, None if it may count."""
    named = "and its name is that of a key"
    if n_values == n_rows:
        return Kind("left out", f"every row has a number of its own, {named}")
    if n_values > 0.9 * n_rows:
        return Kind("left out", f"nearly every row has a number of its own, {named}")
    if (steps == 1).mean() > 0.9:
        return Kind("left out", f"it counts rows, {named}")
    if key == "key" and n_values <= MOST_LEVELS:
        return Kind("categories", f"a few numbers, {named}", f"a few numbers, {named}")
    if key == "key":
        return Kind("left out", f"{n_values:,} numbers that repeat, {named}")
    return None


def _kind_of_different(distinct: NDArray[Any], steps: NDArray[Any]) -> Kind:
    """Return what a column is in which no whole number repeats, whatever its name.

    Of amounts in this range some would be equal by chance, as birthdays are. Numbers that rise from
    row to row may be keys, or the table is sorted by them.
    """
    n_rows = distinct.size
    extent = float(distinct[-1]) - float(distinct[0]) + 1.0
    expected = n_rows * (n_rows - 1.0) / (2.0 * extent)  # pairs of equal ones
    rises = bool((steps > 0).all())
    if expected >= _SURELY:
        how = "and they rise from row to row" if rises else "where amounts would repeat"
        return Kind("left out", f"no number repeats, {how}, as in keys")
    if rises or expected >= _PERHAPS:
        how = "and they rise from row to row" if rises else "though they lie close together"
        return Kind("number", "whole numbers", f"none of its whole numbers repeats, {how}")
    return Kind("number", "whole numbers")


# ---- numbers that are text ----------------------------------------------------------------------

_WITH_COMMAS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


def has_commas(texts: Sequence[str]) -> bool:
    """Tell whether most texts are numbers with a comma."""
    return 2 * sum("," in one and is_comma_number(one) for one in texts) > len(texts)


def is_comma_number(text: str) -> bool:
    """Tell whether a text is a number with a decimal comma, or with commas between thousands."""
    return is_float(text.replace(",", ".", 1)) or _WITH_COMMAS.fullmatch(text) is not None


def is_float(text: str) -> bool:
    """Tell whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
