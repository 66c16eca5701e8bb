"""What tells clusters apart, column by column, in the units of the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans._support.separation import (
    MOST_CELLS,
    Apart,
    Masses,
    each_against_rest,
    masses_of_categories,
    masses_of_many,
    masses_of_numbers,
)
from fwkmeans.reports.table import Column
from fwkmeans.typing import FloatArray, IntArray, LabelArray

#: Rows of a large table that are looked at, and of each cluster at least.
MOST_ROWS, LEAST_ROWS = 10_000, 200
#: Different values up to which a column may be what a cluster repeats.
MOST_VALUES = 50
#: Share of a cluster's rows with a value, and of the value's rows in the cluster, from which on the
#: cluster is nothing but these rows.
SAME = 0.98
#: If another column tells so many rows apart, a cluster is more than the value of a column.
MORE = 0.6
#: Agreement (adjusted Rand index) from which on clusters repeat columns.
SAME_PARTITION = 0.95
#: Columns of which two together are tried.
MOST_TRIED = 8


class Distinctions(NamedTuple):
    """How well each column tells each cluster from the other rows."""

    masses: list[Masses]
    rest: list[Apart]
    share: FloatArray  # (K, columns), 0 to 1


def distinctions(
    columns: Sequence[Column],
    labels: LabelArray,
    n_clusters: int,
    weights: FloatArray | None,
    random_state: np.random.RandomState,
) -> Distinctions:
    """Compare each cluster with the other rows; of large tables a sample is looked at."""
    if labels.size > MOST_ROWS:
        chosen, weights = rows_of_each(labels, n_clusters, weights, random_state)
        labels = labels[chosen]
        columns = [column.take(chosen) for column in columns]
    masses = _masses(columns, labels, n_clusters, weights)
    rest = each_against_rest(masses)
    share = np.stack([one.share for one in rest], axis=1)
    return Distinctions(masses, rest, share)


def _masses(
    columns: Sequence[Column], labels: LabelArray, n_clusters: int, weights: FloatArray | None
) -> list[Masses]:
    found: dict[int, Masses] = {}
    whole = [v for v, one in enumerate(columns) if one.is_numeric and not one.missing.any()]
    at_a_time = max(1, MOST_CELLS // labels.size)
    for begin in range(0, len(whole), at_a_time):
        some = whole[begin : begin + at_a_time]
        numbers = np.stack([columns[v].numbers for v in some])  # type: ignore[misc]
        found |= zip(some, masses_of_many(numbers, labels, n_clusters, weights), strict=True)
    for v, one in enumerate(columns):
        if one.codes is not None:
            n = len(one.categories)
            found[v] = masses_of_categories(one.codes, n, labels, n_clusters, weights)
        elif v not in found:
            assert one.numbers is not None
            found[v] = masses_of_numbers(one.numbers, labels, n_clusters, weights)
    return [found[v] for v in range(len(columns))]


def rows_of_each(
    labels: LabelArray,
    n_clusters: int,
    weights: FloatArray | None,
    random_state: np.random.RandomState,
) -> tuple[IntArray, FloatArray]:
    """Return rows of every cluster, and weights that make up for those left out."""
    sizes = np.bincount(labels, minlength=n_clusters)
    wanted = np.minimum(
        sizes, np.maximum(LEAST_ROWS, np.ceil(MOST_ROWS * sizes / labels.size))
    ).astype(np.int64)
    chosen = np.concatenate(
        [
            random_state.choice(np.flatnonzero(labels == k), wanted[k], replace=False)
            for k in np.flatnonzero(sizes)
        ]
    )
    factor = (sizes / np.maximum(wanted, 1))[labels[chosen]]
    return chosen, factor if weights is None else factor * weights[chosen]


# ---- clusters that only repeat columns ----------------------------------------------------------


def repeated_values(
    columns: Sequence[Column], found: Distinctions, sizes: FloatArray
) -> list[tuple[str, str | float] | None]:
    """Return for each cluster the column and the value that it is nothing but the rows of.

    None where there is no such column, and where other columns tell the cluster apart as well.
    """
    repeats: list[tuple[str, str | float] | None] = [None] * len(sizes)
    for k in np.flatnonzero(sizes > 0):
        order = np.argsort(-found.share[k], kind="stable")
        if order.size > 1 and found.share[k, order[1]] >= MORE:
            continue
        v = int(order[0])
        mass = found.masses[v].mass
        if not 1 < (mass.sum(axis=1) > 0).sum() <= MOST_VALUES:
            continue
        at = int(mass[:, k].argmax())
        least = SAME * max(float(sizes[k]), float(mass[at].sum()))
        if mass[at, k] >= least:
            values = found.masses[v].values
            told = columns[v].categories[at] if values is None else float(values[at])
            repeats[k] = (columns[v].name, told)
    return repeats


def repeated_columns(
    columns: Sequence[Column], found: Distinctions, labels: LabelArray, sizes: IntArray
) -> list[str]:
    """Return the column whose values alone give the clusters; else none.

    Two columns together count too, if no other column tells the clusters apart.
    """
    used = int((sizes > 0).sum())
    if used < 2:
        return []
    few = [v for v, one in enumerate(found.masses) if 1 < len(one.mass) <= MOST_VALUES]
    overall = (sizes / sizes.sum()) @ found.share
    few.sort(key=lambda v: -float(overall[v]))
    codes = {v: _codes(columns[v]) for v in few[:MOST_TRIED]}
    tried: list[tuple[int, ...]] = [(v,) for v in codes]
    tried += [*combinations(codes, 2)]
    for chosen in tried:
        joint = np.zeros(labels.size, dtype=np.int64)
        for v in chosen:
            joint = joint * (MOST_VALUES + 2) + codes[v]
        if len(np.unique(joint)) > 3 * used:
            continue
        if len(chosen) > 1 and np.delete(overall, chosen).max(initial=0) >= MORE:
            continue
        if adjusted_rand_score(joint, labels) >= SAME_PARTITION:
            return [columns[v].name for v in chosen]
    return []


def _codes(column: Column) -> Any:
    """Return a small number for each value, 0 for a missing one."""
    if column.codes is not None:
        return column.codes.astype(np.int64) + 1
    assert column.numbers is not None
    codes = np.unique(column.numbers, return_inverse=True)[1]
    codes = codes.reshape(-1) + 1
    codes[np.isnan(column.numbers)] = 0
    return codes
