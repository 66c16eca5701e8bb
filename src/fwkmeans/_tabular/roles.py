"""Which columns of a table are clustered, and as what."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, joined, quoted
from fwkmeans._tabular.codes import without_order
from fwkmeans._tabular.dates import ages, derive, derived_from, parts_of
from fwkmeans._tabular.format import MISSING, Style
from fwkmeans._tabular.kinds import (
    MOST_LEVELS,
    Kind,
    has_commas,
    is_comma_number,
    is_float,
    kind_of,
)
from fwkmeans._tabular.wording import Wording, on_command_line

#: Names of columns that often hold what clusters are compared with.
CLASSES = {"class", "classes", "cluster", "label", "labels", "species", "target", "y"}

#: A value so many times as far from the others as they are from each other is no measurement.
FAR = 1000.0
#: Numbers that types end with.
_LARGEST = {
    *(2.0**bits - 1 for bits in (15, 16, 31, 32)),
    *(2.0**bits for bits in (15, 31, 63)),
    *(float(np.finfo(kind).max) for kind in (np.float32, np.float64)),
}


class Roles(NamedTuple):
    """What the user said about columns, by name; `use` and `drop` may hold patterns."""

    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    drop: Sequence[str] = ()
    id: Sequence[str] = ()
    labels: str | None = None
    dates: str = "drop"  # or "age", or "parts"
    use: Sequence[str] = ()  # no others
    coerce: bool = False  # whether cells of numeric columns that are no numbers are missing


class Use(NamedTuple):
    """What was done with a column, and why."""

    column: str
    use: str  # "number", "categories", "key", "classes" or "left out"
    why: str
    n_values: int  # different ones
    n_missing: int


#: Share of different texts from which on a column that was left out names the rows.
NAMING = 0.9


class Chosen(NamedTuple):
    """The columns to cluster by, and those beside them."""

    features: Any  # pyarrow.Table
    classes: NDArray[Any] | None
    ids: dict[str, list[Any]]  # the columns of keys
    notes: list[str]
    left_out: dict[str, str]  # reason for each column that was left out without being told so
    n_missing: int  # cells
    uses: list[Use]  # of all columns of the table
    table: Any  # pyarrow.Table, as it was read, or as it is written in its file
    style: Style = Style()  # of its file
    doubtful: Mapping[str, str] = {}  # what to say of columns that are used and may be keys

    @property
    def row_names(self) -> list[Any] | None:
        """The first key, or the first column of text that was left out as it names the rows."""
        if self.ids:
            return next(iter(self.ids.values()))
        columns = set(self.table.column_names)  # asked for once: it is a new list each time
        for one in self.uses:
            known = one.column in columns and one.column in self.left_out
            if known and one.n_values > NAMING * self.table.num_rows:
                values = self.table[one.column]
                if str(values.type) == "string":
                    names: list[Any] = values.to_pylist()
                    return names
        return None


def choose_columns(
    table: Any,
    roles: Roles,
    name: str,
    missing: Sequence[str] = MISSING,
    *,
    is_text: bool = True,
    known: Mapping[str, Kind] | None = None,
    say: Wording = on_command_line,
) -> Chosen:
    """Take the columns to cluster by out of a table, each as numbers or categories.

    Numbers are numeric, text and truth values categorical, whatever is not overruled; dates, empty
    columns, keys, codes and texts of which nearly every row has its own are left out (`kind_of`).
    `is_text` tells whether the table comes from a file of text, whose separator may be wrong;
    `known` are columns of which more is known than these rows tell. Sentences name settings as
    `say` does.
    """
    roles = expanded(roles, table.column_names, name, say)
    _check_roles(table, roles, name, say)
    arrow = require("pyarrow", "Tables", "io")
    columns: dict[str, Any] = {}
    uses: list[Use] = []
    notes: list[str] = []
    doubts: dict[str, str] = {}
    told = {*roles.categorical, *roles.numeric, *roles.use}
    for column, values in zip(table.column_names, table.columns, strict=True):
        kind, made = _made_of(arrow, values, column, roles, known or {}, notes, say)
        columns |= made
        n_values = len(values.drop_null().unique()) if _is_hashable(arrow, values.type) else 0
        uses.append(Use(column, kind.use, kind.why, n_values, count_missing(arrow, values)))
        if column in made and column not in told:
            notes += _doubts(arrow, made[column], column, say)
            if kind.doubt:
                doubts[column] = kind.doubt
            may_be_classes = kind.use == "categories" or n_values <= MOST_LEVELS
            if roles.labels is None and column.lower() in CLASSES and may_be_classes:
                notes.append(
                    f"Column {column!r} is used like any other; if it holds known classes, "
                    f"leave it out and compare with it: {say('labels', column)}."
                )
    aside = {*roles.drop, *roles.id, roles.labels}
    left_out = {one.column: one.why for one in uses if one.use == "left out"}
    left_out = {column: why for column, why in left_out.items() if column not in aside}
    coded = [one.column for one in uses if one.use == "categories" and one.why in _GUESSED]
    if coded:
        several = len(coded) > 1
        notes.insert(
            0,
            f"The numbers of {quoted(coded, 5)} were taken as categories, because "
            f"{'they are' if several else 'it is'} named like codes ({say('numeric')}).",
        )
    unused = [] if roles.use else list(left_out)  # who says what to use knows what is not
    if unused:
        notes.insert(0, said_left_out({one: left_out[one] for one in unused}, table, say))
    _check_number(table, columns, name, left_out, is_text, say)
    features = arrow.table(columns)
    numbers = [one for one in columns if one not in told and one not in doubts]
    for column in without_order(arrow, features, numbers):
        doubts[column] = "rows with the same number are alike, and rows with the next one are not"
    notes += _about_stand_ins(arrow, features, say)
    return Chosen(
        features,
        choose_classes(table, roles, name, missing, say),
        {key: table[key].to_pylist() for key in roles.id},
        notes,
        left_out,
        sum(count_missing(arrow, values) for values in features.columns),
        uses,
        table,
        doubtful={column: _asked(column, doubt, say) for column, doubt in doubts.items()},
    )


def _asked(column: str, doubt: str, say: Wording) -> str:
    """Return what to say of a column that is used and may be a key, without its share."""
    return (
        f"Column {column!r} may be a key or a code ({doubt}): leave it out with "
        f"{say('drop', column)}, or say that it holds amounts with {say('numeric', column)}."
    )


def expanded(roles: Roles, columns: Sequence[str], name: str, say: Wording) -> Roles:
    """Return roles without patterns: what `use` does not name is dropped.

    A column that is named by `use` itself, and not by a pattern, is used whatever it looks like.
    """
    drop = _matching(roles.drop, columns, "drop", name, say)
    if not roles.use:
        return roles._replace(drop=drop)
    used = {*_matching(roles.use, columns, "use", name, say)}
    both = used & {*drop, *roles.id, roles.labels}
    if both & {*roles.use}:
        (one, *_) = sorted(both & {*roles.use})
        raise InputError(
            f"Column {one!r} is named by {say('use')} and is to be left out or set aside: choose "
            "one."
        )
    beside = {*used, *roles.id, roles.labels, *roles.categorical, *roles.numeric}
    return roles._replace(
        drop=list(dict.fromkeys([*drop, *(one for one in columns if one not in beside)])),
        use=[one for one in roles.use if one in columns],
    )


def _matching(
    patterns: Sequence[str], columns: Sequence[str], setting: str, name: str, say: Wording
) -> list[str]:
    """Return the columns that names or patterns such as ``temp_*`` stand for."""
    present, found = set(columns), []
    for one in patterns:
        if one in present or not any(sign in one for sign in "*?["):
            found.append(one)
            if one not in present and setting == "use":
                raise InputError(f"{say(setting, one)}: {name} {_lacks(one, columns)}")
            continue
        matching = [column for column in columns if fnmatchcase(column, one)]
        if not matching:
            raise InputError(
                f"{say(setting, one)}: {name} has no column called so; {_has(columns)}"
            )
        found += matching
    return list(dict.fromkeys(found))


def _lacks(column: str, columns: Sequence[str]) -> str:
    near = difflib.get_close_matches(column, columns, n=1, cutoff=0.66)
    hint = f"did you mean {near[0]!r}?" if near else _has(columns)
    return f"has no such column; {hint}"


#: Reasons of `kind_of` that rest on the name of a column alone.
_GUESSED = {
    "postcodes, not amounts",
    "codes, not amounts",
    "a few whole numbers, named like categories",
}


def _made_of(
    arrow: Any,
    values: Any,
    column: str,
    roles: Roles,
    known: Mapping[str, Kind],
    notes: list[str],
    say: Wording,
) -> tuple[Kind, dict[str, Any]]:
    """Return what a column is, and the columns to cluster by that are made of it."""
    if column in roles.drop:
        return Kind("left out", say("use" if roles.use else "drop")), {}
    if column in roles.id:
        return Kind("key", say("id")), {}
    if column == roles.labels:
        return Kind("classes", f"{say('labels')}, only compared with"), {}
    if column in roles.categorical:
        return Kind("categories", say("categorical")), {column: as_text(arrow, values)}
    if column in roles.numeric:
        if roles.coerce:
            values = coerced(arrow, values, column, notes, say)
        numbers = as_numbers(arrow, values, column, asked=True, say=say)
        return Kind("number", say("numeric")), {column: numbers}
    if arrow.types.is_temporal(values.type) and roles.dates != "drop" and len(values.drop_null()):
        made = _of_dates(arrow, values, column, roles.dates)
        if made:
            return Kind("dates", f"{say('dates', roles.dates)}: {quoted(made)}"), made
    kind = known[column] if column in known else kind_of(arrow, values, column, say)
    if column in roles.use and kind.use == "left out":
        if _is_number(arrow, values.type):
            return Kind("number", say("use")), {column: values}
        if arrow.types.is_string(values.type) and len(values.drop_null()):
            return Kind("categories", say("use")), {column: values}
    if kind.use == "left out":
        return kind, {}
    if kind.use == "categories" and _is_number(arrow, values.type):
        return kind, {column: as_text(arrow, values)}
    return kind, {column: values}


def coerced(arrow: Any, values: Any, column: str, notes: list[str], say: Wording) -> Any:
    """Return a column of text without the cells that are no numbers, which are counted."""
    if not arrow.types.is_string(values.type):
        return values
    cells = values.to_pylist()
    odd = [one for one in cells if one is not None and not is_float(one)]
    if not odd:
        return values
    notes.append(
        f"Column {column!r}: {count(len(odd), 'cell')} of {len(cells):,} "
        f"{'is no number' if len(odd) == 1 else 'are no numbers'} and "
        f"{'was' if len(odd) == 1 else 'were'} taken as missing "
        f"({quoted(dict.fromkeys(odd), 3)}; {say('coerce')})."
    )
    kept = [one if one is not None and is_float(one) else None for one in cells]
    return arrow.chunked_array([arrow.array(kept, type=arrow.string())])


def _of_dates(arrow: Any, values: Any, column: str, what: str) -> dict[str, Any]:
    moments = moments_of(arrow, values)
    found = ages(column, moments) if what == "age" else parts_of(column, moments)
    return {name: _as_column(arrow, cells) for name, cells in found.items()}


def _as_column(arrow: Any, cells: NDArray[Any]) -> Any:
    return arrow.chunked_array([arrow.array(cells, from_pandas=True)])


def moments_of(arrow: Any, values: Any) -> NDArray[Any]:
    """Return a column of dates or times as NumPy has them."""
    kind = values.type
    if arrow.types.is_time(kind):
        seconds = [None if one is None else one.isoformat() for one in values.to_pylist()]
        texts = [None if one is None else f"1970-01-01T{one}" for one in seconds]
        return np.array([one or "NaT" for one in texts], dtype="datetime64[s]")
    if arrow.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(arrow.timestamp(kind.unit))
    return np.asarray(values.to_numpy().astype("datetime64[s]"))


def _is_hashable(arrow: Any, kind: Any) -> bool:
    """Tell whether the cells of a column can be told apart quickly."""
    return bool(arrow.types.is_primitive(kind) or arrow.types.is_string(kind))


def match_columns(
    table: Any,
    names: Sequence[str],
    text: Iterable[str],
    numbers: Iterable[str],
    truths: Iterable[str],
    name: str,
) -> Any:
    """Return the columns of a model, by name, as what the model knows them as."""
    arrow = require("pyarrow", "Tables", "io")
    table = _with_derived(arrow, table, names)
    present = set(table.column_names)
    missing = [one for one in names if one not in present]
    if missing:
        what = "column" if len(missing) == 1 else "columns"
        raise InputError(
            f"{name} lacks the {what} {quoted(missing)} of the model: it has "
            f"{quoted(table.column_names)}. Name its columns as those the model was fitted to."
        )
    columns = {one: table[one] for one in names}
    columns |= {one: as_text(arrow, table[one]) for one in text}
    columns |= {one: as_numbers(arrow, table[one], one, asked=False) for one in numbers}
    mended = {one: _as_truths(arrow, table[one]) for one in truths}
    columns |= mended
    if not any(isinstance(values, np.ndarray) for values in mended.values()):
        return arrow.table(columns)
    # cells other than truth values stay as they are, which only an array of objects can hold
    rows = np.empty((table.num_rows, len(names)), dtype=object)
    for v, one in enumerate(names):
        values = columns[one]
        rows[:, v] = values if isinstance(values, np.ndarray) else values.to_pylist()
    return rows


def _with_derived(arrow: Any, table: Any, names: Sequence[str]) -> Any:
    """Return a table with the columns of a model that are made of its dates."""
    present = set(table.column_names)
    made: dict[str, Any] = {}
    for one in names:
        column = None if one in present else derived_from(one, present)
        if column is None:
            continue
        if not arrow.types.is_temporal(table[column].type):
            raise InputError(
                f"Column {column!r} holds {table[column].type}, but the model was fitted to dates."
            )
        made[one] = _as_column(arrow, derive(one, moments_of(arrow, table[column])))
    return with_columns(arrow, table, made) if made else table


def with_columns(arrow: Any, table: Any, beside: dict[str, Any]) -> Any:
    """Return a table with further columns: one that is added alone copies the list of all."""
    columns = [*table.columns, *beside.values()]
    return arrow.Table.from_arrays(columns, names=[*table.column_names, *beside])


def _as_truths(arrow: Any, values: Any) -> Any:
    """Return a column as truth values; as an array of objects if there are other cells."""
    if arrow.types.is_boolean(values.type) or arrow.types.is_null(values.type):
        return values.cast(arrow.bool_())
    words = {"true": True, "false": False, "1": True, "0": False}
    numbers = {1: True, 0: False}
    cells = np.empty(len(values), dtype=object)
    cells[:] = [
        words.get(value.lower(), value) if isinstance(value, str) else numbers.get(value, value)
        for value in values.to_pylist()
    ]
    if all(value is None or isinstance(value, bool) for value in cells):
        return arrow.chunked_array([arrow.array(cells.tolist(), type=arrow.bool_())])
    return cells


def _check_roles(table: Any, roles: Roles, name: str, say: Wording = on_command_line) -> None:
    """Raise if a column that was named is not there, or was given two roles."""
    given = {
        "categorical": roles.categorical,
        "numeric": roles.numeric,
        "drop": roles.drop,
        "id": roles.id,
        "labels": [] if roles.labels is None else [roles.labels],
    }
    present = set(table.column_names)
    role_of: dict[str, str] = {}
    for setting, columns in given.items():
        for column in columns:
            if column not in present:
                lacks = _lacks(column, table.column_names)
                raise InputError(f"{say(setting)} {column}: {name} {lacks}")
            if role_of.setdefault(column, setting) != setting:
                raise InputError(
                    f"Column {column!r} is named by {say(role_of[column])} and by {say(setting)}: "
                    "choose one."
                )


def _has(columns: Sequence[str]) -> str:
    return f"it has {quoted(columns)}."


def _check_number(
    table: Any,
    columns: dict[str, Any],
    name: str,
    left_out: dict[str, str],
    is_text: bool,
    say: Wording,
) -> None:
    """Raise unless there are two columns to weigh against each other."""
    if len(columns) > 1:
        return
    if table.num_columns == 1:
        hint = ": --sep space" * (" " in table.column_names[0].strip())
        advice = f"say with --sep what separates them{hint}" if is_text else "choose another sheet"
        raise InputError(
            f"{name} has one column, {table.column_names[0]!r}: weights of features need two or "
            f"more. If there should be more, {advice}."
        )
    used = "no column is" if not columns else f"only the column {next(iter(columns))!r} is"
    others = [one for one in table.column_names if one not in columns]
    why = f"Left out: {_reasons(left_out)}" if left_out else f"{quoted(others)} are set aside"
    raise InputError(
        f"Of {name} {used} left to cluster by ({why}): weights of features need two or "
        f"more; overrule with {say('numeric')} or {say('categorical')}, or give another table."
    )


# ---- what a column is ---------------------------------------------------------------------------


def said_left_out(left_out: Mapping[str, str], table: Any, say: Wording) -> str:
    """Return a sentence about the columns that were left out, and how to use them all the same."""
    arrow = require("pyarrow", "Tables", "io")
    numbers, texts = [], []
    for column in list(left_out)[:MOST_TOLD]:
        kind = table.schema.field(column).type
        if _is_number(arrow, kind):
            numbers.append(column)
        elif arrow.types.is_string(kind):
            texts.append(column)
    ways = [say(one, *own) for one, own in (("numeric", numbers), ("categorical", texts)) if own]
    use = f" Use what is none all the same with {' or '.join(ways)}." if ways else ""
    use = use.replace(" what is none", " them" if len(numbers) + len(texts) > 1 else " it")
    return f"Left out: {_reasons(left_out)}.{use}"


#: Columns that were left out and are told one by one.
MOST_TOLD = 5


def _reasons(left_out: Mapping[str, str]) -> str:
    parts = [f"{column!r} ({reason})" for column, reason in list(left_out.items())[:MOST_TOLD]]
    more = len(left_out) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")


def _doubts(arrow: Any, values: Any, column: str, say: Wording) -> list[str]:
    """Return what may be wrong with a column that is used as text."""
    if not arrow.types.is_string(values.type):
        return []
    texts = values.drop_null().unique().to_pylist()
    if has_commas(texts):
        odd = [one for one in texts if not is_comma_number(one)]
        if odd:
            return [
                f"Column {column!r} is used as categories because of {quoted(odd, 3)}; if it "
                f"holds numbers, add {say('na', *odd[:3])}."
            ]
        advice = say("decimal", ",")
        return [f"Column {column!r} looks like numbers with a decimal comma: add {advice}"]
    stray = [text for text in texts if not is_float(text)]
    if len(texts) >= 4 and 0 < len(stray) * 4 <= len(texts):
        return [
            f"Column {column!r} is used as categories because of {quoted(stray, 3)}; if it holds "
            f"numbers, add {say('numeric', column)} {say('coerce')}, which takes such cells as "
            "missing and counts them."
        ]
    if len(texts) > max(MOST_LEVELS, len(values) / 10):
        return [
            f"Column {column!r} has {len(texts)} different texts in {count(len(values), 'row')}, "
            "too many to form groups, and most algorithms take each as a column of its own; leave "
            f"it out with {say('drop', column)} if it does not hold categories."
        ]
    return []


def _about_stand_ins(arrow: Any, features: Any, say: Wording) -> list[str]:
    """Return a sentence about each number that seems to stand for a missing cell."""
    found: dict[float, list[tuple[str, int]]] = {}
    for column, values in zip(features.column_names, features.columns, strict=True):
        if _is_number(arrow, values.type):
            for value, n_rows in stand_ins(values.drop_null().to_numpy()):
                found.setdefault(value, []).append((column, n_rows))
    sentences = []
    for value, places in found.items():
        text = f"{value:.0f}" if abs(value) < 1e15 and value == int(value) else f"{value!r}"
        told = [f"column {one!r} ({count(n_rows, 'row')})" for one, n_rows in places[:5]]
        told += [f"{len(places) - 5} more"] if len(places) > 5 else []
        sentences.append(
            f"{text} is far from all other values of {joined(told)}: if it means a missing cell, "
            f"add {say('na', text)}."
        )
    return sentences


def stand_ins(numbers: NDArray[Any]) -> list[tuple[float, int]]:
    """Return numbers at either end that seem to stand for missing cells, and how often they occur.

    Such a number is much farther from its neighbor than the others are from each other: how much
    depends on what it looks like. The other end does not count, since it may be a stand-in too.

    Examples
    --------
    >>> stand_ins(np.array([0.5, 1.5, -999, 2.5, -999, 1e9]))
    [(1000000000.0, 1), (-999.0, 2)]
    """
    finite = np.sort(numbers[np.isfinite(numbers)].astype(np.float64))
    # most columns have no such number, which takes two neighbors to see
    inner = finite[(finite > finite[0]) & (finite < finite[-1])] / 4 if finite.size else finite
    if not inner.size or max(inner[0] - finite[0] / 4, finite[-1] / 4 - inner[-1]) <= np.ptp(inner):
        return []
    values, times = np.unique(finite, return_counts=True)
    found = []
    first, last = 0, values.size - 1
    while last - first >= 3:
        inner = values[first : last + 1] / 4  # so that no difference overflows
        low, high = inner[1] - inner[0], inner[-1] - inner[-2]
        at, gap = (first, low) if low > high else (last, high)
        others = inner[1:-1] if inner.size > 4 else np.delete(inner, at - first)
        if not gap / _distance(values[at]) > others[-1] - others[0]:
            break
        found.append((float(values[at]), int(times[at])))
        first, last = (first + 1, last) if at == first else (first, last - 1)
    return found


def _distance(value: float) -> float:
    """Return how many times the range of the others a value is away if it is none of them."""
    digits = f"{abs(value):.15g}".replace("e+", "e")
    if re.fullmatch(r"9{2,}(\.9+)?", digits):
        return 1.0
    return 10.0 if abs(value) in _LARGEST or re.fullmatch(r"10{5,}|1e\d+", digits) else FAR


def _is_number(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_integer(kind) or arrow.types.is_floating(kind))


def as_text(arrow: Any, values: Any) -> Any:
    """Return a column as text."""
    if arrow.types.is_string(values.type):
        return values
    if arrow.types.is_floating(values.type):
        texts = [None if v is None or v != v else f"{v:.17g}" for v in values.to_pylist()]
    else:
        texts = [None if v is None else str(v) for v in values.to_pylist()]
    return arrow.chunked_array([arrow.array(texts, type=arrow.string())])


def as_numbers(
    arrow: Any, values: Any, column: str, *, asked: bool, say: Wording = on_command_line
) -> Any:
    """Return a column as numbers, or raise a sentence that shows a cell that is none."""
    kind = values.type
    if _is_number(arrow, kind):
        return values
    if arrow.types.is_null(kind) or arrow.types.is_boolean(kind):
        return values.cast(arrow.float64())
    if arrow.types.is_string(kind):
        cells = values.to_pylist()
        bad = next((at for at, v in enumerate(cells) if v is not None and not is_float(v)), None)
        if bad is None:
            numbers = [None if v is None else float(v) for v in cells]
            return arrow.chunked_array([arrow.array(numbers, type=arrow.float64())])
        advice = (
            f"take it as {say('categorical', column)}, take such cells as missing with "
            f"{say('coerce')}, or name the texts that mean a missing cell with {say('na')}"
            if asked
            else "the model was fitted to numbers; correct the cell, or name the texts that mean "
            f"a missing cell with {say('na')}"
        )
        raise InputError(
            f"Column {column!r} holds {cells[bad]!r} (row {bad + 1}), not a number: {advice}."
        )
    raise InputError(f"Column {column!r} holds {kind}, expected numbers: convert or drop it.")


def count_missing(arrow: Any, values: Any) -> int:
    """Return the number of missing cells, NaN included."""
    n = int(values.null_count)
    if arrow.types.is_floating(values.type):
        n += int(np.isnan(values.drop_null().to_numpy()).sum())
    return n


def choose_classes(
    table: Any,
    roles: Roles,
    name: str,
    missing: Sequence[str] = MISSING,
    say: Wording = on_command_line,
) -> NDArray[Any] | None:
    """Return the known classes, as text; None if no column holds them.

    Classes may be called NA: only empty cells, and texts that the user named, are missing ones.
    """
    if roles.labels is None:
        return None
    _check_roles(table, Roles(labels=roles.labels), name, say)
    values = table[roles.labels].to_pylist()
    missing_texts = {"", *(set(missing) - set(MISSING))}
    n_missing = sum(value is None or value in missing_texts for value in values)
    if n_missing:
        raise InputError(
            f"Column {roles.labels!r} ({say('labels')}) has {count(n_missing, 'missing cell')}: "
            "every row needs a known class to compare with; drop those rows."
        )
    return np.array([str(value) for value in values])
