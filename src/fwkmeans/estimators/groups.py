"""Groups of columns, in all the ways in which users can specify them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._tabular.columns import describe_columns, resolve_columns
from fwkmeans.estimators.model import Model
from fwkmeans.typing import IntArray


class Groups(NamedTuple):
    """A partition of the columns."""

    names: list[Any]
    numbers: IntArray  # (n_features,) number of each column's group


def groups_of_estimator(estimator: Model, parameter: str) -> Groups:
    """Return the groups that an estimator was given, or found if its parameter is "auto"."""
    given = getattr(estimator, parameter)
    if isinstance(given, str) and given == "auto":
        given = estimator._found_groups
    names = estimator._names
    return resolve_groups(given, names, estimator.n_features_in_, parameter)


def resolve_groups(
    groups: Any, feature_names: Sequence[str] | None, n_features: int, what: str = "groups"
) -> Groups:
    """Return which group each column is in.

    Parameters
    ----------
    groups : None, mapping, sequence of columns, or one label per column
        A mapping from group name to columns; a sequence with the columns of each group; or a flat
        sequence of ``n_features`` labels. Columns are names, indices, a mask or a slice. None is
        one group of all columns.
    feature_names : sequence of str, default=None
        Names of the columns, if they have any.
    n_features : int
        Number of columns.
    what : str, default="groups"
        The parameter's name, for messages.

    Returns
    -------
    Groups
        Groups in the order given; labels in order of first appearance.
    """
    if groups is None:
        return Groups(["all"], np.zeros(n_features, dtype=np.int64))
    groups = _in_column_order(groups, feature_names, what)
    if isinstance(groups, Mapping):
        names, members = list(groups), list(groups.values())
    elif isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise TypeError(
            f"{what}={groups!r}: expected 'auto', the columns of each group, a mapping from group "
            "names to columns, or one label per column."
        )
    elif len(groups) and all(_is_label(entry) for entry in groups):
        return _from_labels(groups, n_features, what)
    else:
        members = list(groups)
        names = list(range(len(members)))
    columns = [_columns_of(m, feature_names, n_features, what) for m in members]
    return Groups(names, _partition(names, columns, feature_names, n_features, what))


def _in_column_order(groups: Any, feature_names: Sequence[str] | None, what: str) -> Any:
    """Return a series of labels in the order of the columns that its index names."""
    index = getattr(groups, "index", None)
    if index is None or callable(index) or not any(isinstance(name, str) for name in index):
        return groups
    if feature_names is None or sorted(map(str, index)) != sorted(map(str, feature_names)):
        known = "no names" if feature_names is None else list(feature_names)
        raise ValueError(f"{what} is indexed by {list(index)}, but the columns of X are {known}.")
    return [groups[name] for name in feature_names]


def _is_label(entry: Any) -> bool:
    if isinstance(entry, Real):
        return float(entry) == float(entry)  # not NaN
    return isinstance(entry, str | np.bool_)


def _from_labels(labels: Any, n_features: int, what: str) -> Groups:
    labels = [entry.item() if isinstance(entry, np.generic) else entry for entry in labels]
    if len(labels) != n_features:
        raise ValueError(
            f"{what} has {len(labels)} labels for {n_features} columns; expected one label per "
            "column. To list columns, give one list per group."
        )
    names = list(dict.fromkeys(labels))
    return Groups(names, np.asarray([names.index(label) for label in labels], dtype=np.int64))


def _columns_of(
    member: Any, feature_names: Sequence[str] | None, n_features: int, what: str
) -> IntArray:
    if isinstance(member, slice):
        return np.arange(n_features, dtype=np.int64)[member]
    return resolve_columns(member, feature_names, n_features, what).astype(np.int64)


def _partition(
    names: list[Any],
    columns: list[IntArray],
    feature_names: Sequence[str] | None,
    n_features: int,
    what: str,
) -> IntArray:
    if not names:
        raise ValueError(f"{what} is empty; give at least one group, or None.")
    empty = [name for name, members in zip(names, columns, strict=True) if not members.size]
    if empty:
        raise ValueError(f"{what}: group {empty[0]!r} has no column. Leave it out.")
    counts = np.bincount(np.concatenate(columns), minlength=n_features)
    if (counts > 1).any():
        raise ValueError(
            f"{what} overlap: {describe_columns(counts > 1, feature_names)} in more than one "
            "group. Each column belongs to exactly one."
        )
    if (counts == 0).any():
        raise ValueError(
            f"{what} leave out {describe_columns(counts == 0, feature_names)}. Each column belongs "
            "to exactly one group; put the rest into a group of its own, or drop those columns."
        )
    numbers = np.empty(n_features, dtype=np.int64)
    for number, members in enumerate(columns):
        numbers[members] = number
    return numbers
