"""What a column of a table is: an amount, a category, a key, a date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.text import count, quoted

#: So many texts are fine in a table of any size; beyond, there should be ten rows for each.
MOST_LEVELS = 20
#: Beyond so many texts, and fewer than ten rows for each, a column says nothing about groups.
TOO_MANY = 100
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


class Kind(NamedTuple):
    """What a column is taken as, and why."""

    use: str  # "number", "categories" or "left out"
    why: str


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters.

    Examples
    --------
    >>> words_of("customerID"), words_of("Zip_code 5"), words_of("__index__")
    (['customer', 'id'], ['zip', 'code', '5'], ['index'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W\d_]+|\d+", apart.lower())


def kind_of(arrow: Any, values: Any, column: str) -> Kind:
    """Return what a column is taken as if nobody says what it is."""
    types, kind, n_rows = arrow.types, values.type, len(values)
    if _INDEX.fullmatch(column):
        return Kind("left out", "the index of a pandas table")
    if types.is_null(kind) or values.null_count == n_rows:
        return Kind("left out", "no cell is filled")
    if types.is_temporal(kind):
        return Kind("left out", "dates or times, see --dates")
    n_filled = n_rows - values.null_count
    if n_filled * 4 < n_rows:
        return Kind("left out", f"only {n_filled:,} of {n_rows:,} cells are filled")
    if types.is_boolean(kind):
        return Kind("categories", "true or false")
    if types.is_string(kind):
        return _kind_of_text(values.drop_null())
    if types.is_integer(kind) or types.is_floating(kind):
        return _kind_of_numbers(values.drop_null().to_numpy(), column)
    return Kind("left out", f"cells of type {kind} are neither numbers nor text")


def _kind_of_text(present: Any) -> Kind:
    n_rows, n_texts = len(present), len(present.unique())
    is_unique = n_rows >= 3 and n_texts == n_rows
    if is_unique or is_nearly_unique(n_texts, n_rows):
        texts = present.unique().to_pylist()
        stray = [one for one in texts if not is_float(one)]
        odd = [one for one in texts if not is_comma_number(one)] if has_commas(texts) else stray
        if has_commas(texts) and not odd:
            return Kind("left out", "numbers with a decimal comma? then add --decimal ,")
        if 4 * len(odd) <= len(texts) >= 4:
            return Kind("left out", f"numbers, but for {quoted(odd, 3)}? then name those with --na")
        if is_unique:
            return Kind("left out", "every row has a text of its own, as a name or key")
        why = f"{n_texts:,} different texts in {count(n_rows, 'row')}, as names or keys"
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
    ups = float((steps == 1).mean()) if n_rows > 1 else 0.0
    if n_rows >= 5 and ups == 1:
        is_year = {*words} & _YEARS and finite[0] >= 1000 and finite[-1] <= 2200
        return Kind("left out", "each row is the next year" if is_year else "it numbers the rows")
    if words[-1] in _OWNERS and n_values > MOST_LEVELS and ((steps == 0) | (steps == 1)).all():
        return Kind("left out", "it numbers groups of rows")
    is_key = words[-1] in _KEYS or (words[-1] == "no" and len(words) < 3)
    if is_key and n_rows >= 5 and n_values > 2:
        if n_values == n_rows:
            return Kind(
                "left out", "every row has a number of its own, and its name is that of a key"
            )
        if n_values > 0.9 * n_rows:
            why = "nearly every row has a number of its own, and its name is that of a key"
            return Kind("left out", why)
        if ups > 0.9:
            return Kind("left out", "it counts rows, and its name is that of a key")
    if {*words} & _POSTCODES or words[-1] in _CODES:
        what = "postcodes" if {*words} & _POSTCODES else "codes"
        if n_values > max(MOST_LEVELS, n_rows / 10):
            why = f"{what}, not amounts, and {n_values:,} different ones in {n_rows:,} rows"
            return Kind("left out", why)
        return Kind("categories", f"{what}, not amounts")
    if words[-1] in _CATEGORIES and 2 < n_values <= min(MOST_LEVELS, n_rows / 3) and is_short:
        return Kind("categories", "a few whole numbers, named like categories")
    if {*words} & _YEARS and distinct[0] >= 1000 and distinct[-1] <= 2200:
        return Kind("number", "years")
    if n_values == 1:
        return Kind("number", "the same in every row, so without influence")
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
