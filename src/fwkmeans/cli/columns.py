"""The columns of a table that the command line reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import aligned, for_terminal, percent
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.reading import read_and_keep
from fwkmeans._tabular.roles import (
    Chosen,
    Roles,
    Use,
    choose_classes,
    choose_columns,
    count_missing,
    match_columns,
)
from fwkmeans.cli.errors import with_option

__all__ = [
    "Chosen",
    "Roles",
    "Use",
    "check_keys",
    "choose_classes",
    "choose_columns",
    "count_missing",
    "match_columns",
    "read_columns",
    "use_lines",
    "with_shares",
]


def read_columns(path: str, how: Format, roles: Roles, name: str, *, keep: bool = False) -> Chosen:
    """Read a table and take the columns to cluster by out of it.

    With `keep` the table stays beside them as it is written in its file.
    """
    keys = [*roles.id, *([] if roles.labels is None else [roles.labels])]
    (table, remarks), written = read_and_keep(path, how, roles.categorical, keys=keys)
    try:
        chosen = choose_columns(table, roles, name, how.missing, is_text=written is not None)
        if keep and written is not None:
            chosen = chosen._replace(table=written)
    except InputError as error:
        of_table = " ".join(with_option(*remark) for remark in remarks.found())
        raise InputError(f"{error} {of_table}".rstrip()) from None
    told = [with_option(*remark) for remark in remarks.found(chosen.features.column_names)]
    return chosen._replace(notes=[*told, *chosen.notes], style=remarks.style)


def with_shares(
    doubtful: Mapping[str, str], shares: Mapping[str, float]
) -> tuple[list[str], list[str]]:
    """Return what to say first of columns that may be keys, and what beside other notes.

    A column with more than half of the weight decides nearly alone.
    """
    first, others = [], []
    for column, text in doubtful.items():
        share = shares.get(column, 0.0)
        said = f"{text} It has {percent(share, fine=True)} of the weight."
        if share > DECIDES:
            first.append(f"The clusters follow the column {column!r} more than all others. {said}")
        else:
            others.append(said)
    return first, others


#: Share of the weight from which on a column decides nearly alone.
DECIDES = 0.5


def check_keys(keys: Iterable[str], columns: Iterable[str]) -> None:
    """Raise if a key of the rows has the name of another column that is written."""
    taken = set(columns)
    for key in keys:
        if key in taken:
            raise InputError(
                f"--id {key}: the output has a column {key!r} of its own. Rename the column of the "
                "table."
            )


def use_lines(uses: Sequence[Use]) -> list[str]:
    """Return what was done with each column, as a table."""
    rows = [
        [
            for_terminal(one.column, 40),
            one.use,
            f"{one.n_values:,}",
            f"{one.n_missing:,}" if one.n_missing else "",
            one.why,
        ]
        for one in uses
    ]
    header = ["column", "used as", "different", "missing", "why"]
    return aligned(rows, header, right={"different", "missing"})
