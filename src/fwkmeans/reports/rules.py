"""Each cluster as a short rule that a person can apply, and all of them as SQL.

A small decision tree is fitted to the labels; each of its leaves is a conjunction of conditions.
Numbers go into it as ranks, so that no value is rounded, and a bound is then the shortest number
between the two neighbors. All figures come from the rules themselves, applied to the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.text import joined, number, shortened
from fwkmeans._tabular.dates import age_between, moment_of_age
from fwkmeans.reports.distinctions import MOST_ROWS, rows_of_each
from fwkmeans.reports.table import Column
from fwkmeans.typing import BoolArray, FloatArray, LabelArray

#: Leaves for each cluster that the tree may grow, and steps beyond those that as many need.
LEAVES, DEPTH = 3, 3
#: Share of the rows by which the tree may get worse while it is cut back.
GIVEN_UP = 0.03
#: Columns that the tree sees, those that separate best, and categories of each.
MOST_COLUMNS, MOST_CATEGORIES = 60, 20
#: Ways into a cluster that a sentence names, and share of its rows that the second must add.
MOST_WAYS, WORTH_A_WAY = 2, 0.1


class Condition(NamedTuple):
    """What a rule asks of one column."""

    column: str
    type: str = "numeric"  # or what its categories are: "text", "truth" or "number"
    low: float | None = None  # from here on
    high: float | None = None  # below this
    equals: str | None = None  # this category
    excludes: tuple[str, ...] = ()  # none of these
    missing: bool = False  # whether a missing cell will do
    known: bool = True  # whether others will

    def holds(self, column: Column) -> BoolArray:
        """Return for which rows it holds."""
        if column.numbers is not None:
            known = ~np.isnan(column.numbers)
            at_least = column.numbers >= (-np.inf if self.low is None else self.low)
            below = column.numbers < (np.inf if self.high is None else self.high)
            return np.asarray((known & at_least & below & self.known) | (~known & self.missing))
        assert column.codes is not None
        codes = {name: code for code, name in enumerate(column.categories)}
        if self.equals is not None:
            return np.asarray(column.codes == codes.get(self.equals, -2))
        others = ~np.isin(column.codes, [codes[one] for one in self.excludes if one in codes])
        return np.asarray(others & ((column.codes >= 0) | self.missing))


Way = tuple[Condition, ...]


class Rules(NamedTuple):
    """For each cluster the ways into it; together they give every row exactly one cluster.

    A row has none if a cell is missing in a column that had no missing cells.
    """

    ways: list[list[Way]]

    def apply(self, columns: Sequence[Column]) -> LabelArray:
        """Return the cluster of each row; -1 if a cell is missing that never was."""
        labels = np.full(len(columns[0].missing), -1, dtype=np.int32)
        for k, ways in enumerate(self.ways):
            for way in ways:
                labels[_fits(way, columns)] = k
        return labels


def _fits(way: Way, columns: Sequence[Column]) -> BoolArray:
    by_name = {column.name: column for column in columns}
    fits: BoolArray = np.ones(len(columns[0].missing), dtype=bool)
    for condition in way:
        fits &= condition.holds(by_name[condition.column])
    return fits


def find_rules(
    columns: Sequence[Column],
    separation: FloatArray,
    labels: LabelArray,
    n_clusters: int,
    weights: FloatArray | None,
    random_state: np.random.RandomState,
) -> Rules:
    """Return short rules for clusters; `separation` says which columns to look at first."""
    if labels.size > MOST_ROWS:
        rows, weights = rows_of_each(labels, n_clusters, weights, random_state)
        labels, columns = labels[rows], [column.take(rows) for column in columns]
    order = np.argsort(-separation, kind="stable")[:MOST_COLUMNS]
    chosen = [columns[v] for v in order if columns[v].varies]
    if len(np.unique(labels)) < 2 or not chosen:
        only = int(labels[0]) if labels.size else 0
        return Rules([[()] if k == only else [] for k in range(n_clusters)])
    from sklearn.tree import DecisionTreeClassifier

    inputs, features = _inputs(chosen)
    tree = DecisionTreeClassifier(
        max_leaf_nodes=max(2, LEAVES * len(np.unique(labels))),
        max_depth=DEPTH + math.ceil(math.log2(n_clusters)),
        class_weight="balanced",
        random_state=0,
    )
    tree.fit(inputs, labels, sample_weight=weights)
    ways: list[list[Way]] = [[] for _ in range(n_clusters)]
    for k, path in _paths(tree, inputs, labels, n_clusters, weights):
        ways[k].append(_way(path, features))
    return Rules(ways)


class _Feature(NamedTuple):
    """An input of the tree: the ranks of numbers, or whether a cell is a category."""

    column: Column
    values: FloatArray | None  # distinct numbers, rising
    category: str | None


def _inputs(columns: Sequence[Column]) -> tuple[NDArray[np.float32], list[_Feature]]:
    arrays: list[Any] = []
    features = []
    for column in columns:
        if column.numbers is not None:
            values, ranks = np.unique(column.numbers, return_inverse=True)
            ranks = ranks.reshape(-1).astype(np.float32)
            ranks[np.isnan(column.numbers)] = np.nan
            arrays.append(ranks)
            features.append(_Feature(column, values[~np.isnan(values)], None))
            continue
        assert column.codes is not None
        for code, name in enumerate(column.categories[:MOST_CATEGORIES]):
            arrays.append(np.equal(column.codes, code).astype(np.float32))
            features.append(_Feature(column, None, name))
    return np.stack(arrays, axis=1), features


#: Feature, the ranks on both sides of the bound, whether to the left, and whether missing is.
Path = list[tuple[int, tuple[int, int] | None, bool, bool]]


def _paths(
    tree: Any,
    inputs: NDArray[np.float32],
    labels: LabelArray,
    n_clusters: int,
    weights: FloatArray | None,
) -> list[tuple[int, Path]]:
    """Return the leaves that are worth it, with the cluster and the path of each."""
    nodes = tree.tree_
    left, right = nodes.children_left, nodes.children_right
    mass = np.zeros((nodes.node_count, n_clusters))
    np.add.at(mass, (tree.apply(inputs), labels), 1.0 if weights is None else weights)
    for node in range(nodes.node_count - 1, -1, -1):  # children come after their parents
        if left[node] >= 0:
            mass[node] = mass[left[node]] + mass[right[node]]
    is_leaf = left < 0
    removed = np.zeros(nodes.node_count, dtype=bool)
    left_over = GIVEN_UP * mass[0].sum()
    wanted = set(np.flatnonzero(mass[0] > 0).tolist())
    while True:
        costs = [
            (mass[[left[n], right[n]]].max(axis=1).sum() - mass[n].max(), n)
            for n in np.flatnonzero(~is_leaf)
            if is_leaf[left[n]] and is_leaf[right[n]]
        ]
        for cost, joint in sorted(costs):
            if cost > left_over:
                continue
            leaves = np.flatnonzero(is_leaf & ~removed)
            kept = [*leaves[~np.isin(leaves, (left[joint], right[joint]))], joint]
            had = {int(mass[n].argmax()) for n in leaves}
            if had & wanted > {int(mass[n].argmax()) for n in kept}:
                continue  # a cluster would lose its only rule
            removed[[left[joint], right[joint]]] = True
            is_leaf[joint] = True
            left_over -= cost
            break
        else:
            break
    leaves_of = tree.apply(inputs)
    found: list[tuple[int, Path]] = []
    waiting: list[tuple[int, Path]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if is_leaf[node]:
            found.append((int(mass[node].argmax()), path))
            continue
        feature, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        values = inputs[np.isin(leaves_of, _below(node, left, right)), feature]
        goes = bool(nodes.missing_go_to_left[node])
        between = None
        if (values > threshold).any():  # else missing cells are parted from all numbers
            between = int(values[values <= threshold].max()), int(values[values > threshold].min())
        waiting.append((int(right[node]), [*path, (feature, between, False, not goes)]))
        waiting.append((int(left[node]), [*path, (feature, between, True, goes)]))
    return found


def _below(node: int, left: NDArray[Any], right: NDArray[Any]) -> list[int]:
    """Return the leaves of the tree under a node."""
    if left[node] < 0:
        return [node]
    return _below(int(left[node]), left, right) + _below(int(right[node]), left, right)


def _way(path: Path, features: Sequence[_Feature]) -> Way:
    """Return the steps of a path, those about one column together."""
    found: dict[str, Condition] = {}
    for at, between, is_left, missing in path:
        column, values, category = features[at]
        name, with_missing = column.name, bool(column.missing.any())
        if values is None:
            assert category is not None
            now = found.get(name, Condition(name, column.holds, missing=with_missing))
            if not is_left:
                now = Condition(name, column.holds, equals=category)
            elif now.equals is None:
                now = now._replace(excludes=(*now.excludes, category))
            found[name] = now
            continue
        now = found.get(name, Condition(name, missing=with_missing))
        now = now._replace(missing=now.missing and missing)
        if between is None:
            found[name] = now._replace(known=now.known and is_left)
            continue
        bound = _bound(name, *(float(values[rank]) for rank in between))
        if is_left:
            now = now._replace(high=bound if now.high is None else min(now.high, bound))
        else:
            now = now._replace(low=bound if now.low is None else max(now.low, bound))
        found[name] = now
    return tuple(found.values())


def _bound(name: str, low: float, high: float) -> float:
    """Return the shortest number above `low`, up to `high`."""
    age = age_between(name, low, high)
    if age is not None:
        return age
    for digits in range(-12, 16):
        step = 10.0**-digits
        middle = math.floor((low + high) / 2 / step + 0.5)
        for at in (middle, middle - 1, middle + 1):
            one = round(at * step, max(0, digits))
            if low < one < high or (one == high and one.is_integer() and low.is_integer()):
                return one
    return high


# ---- words --------------------------------------------------------------------------------------


def describe_rules(
    rules: Rules, columns: Sequence[Column], labels: LabelArray, weights: FloatArray | None
) -> tuple[list[dict[str, Any] | None], float | None]:
    """Return the rule of each cluster as plain data, and the share of rows that all get right.

    The figures of a rule are those of the ways that its text names.
    """
    mass = np.ones(labels.size) if weights is None else weights
    total = float(mass.sum())
    told: list[dict[str, Any] | None] = []
    for k, ways in enumerate(rules.ways):
        own = labels == k
        if not ways or not own.any():
            told.append(None)
            continue
        fits = [_fits(way, columns) for way in ways]
        order = sorted(range(len(ways)), key=lambda at: -float(mass[fits[at] & own].sum()))
        here, others = float(mass[own].sum()), float(mass[~own].sum())
        added = [float(mass[fits[at] & own].sum()) for at in order]
        shown = [
            at
            for at, more in zip(order[:MOST_WAYS], added, strict=False)
            if at == order[0] or more >= WORTH_A_WAY * here
        ]
        inside = np.any([fits[at] for at in shown], axis=0)
        there = float(mass[inside & own].sum())
        told.append(
            {
                "text": "; or ".join(_text(ways[at], columns) for at in shown),
                "covers": there / here if here > 0 else None,
                "others": float(mass[inside & ~own].sum()) / others if others > 0 else None,
                "precision": there / float(mass[inside].sum()) if mass[inside].any() else None,
                "n_more": len(ways) - len(shown),
                "ways": [[condition._asdict() for condition in ways[at]] for at in order],
            }
        )
    right = float(mass[rules.apply(columns) == labels].sum())
    return told, right / total if total > 0 else None


def _text(way: Way, columns: Sequence[Column]) -> str:
    by_name = {column.name: column for column in columns}
    return joined([_words(one, by_name[one.column]) for one in way]) if way else "every row"


def _words(condition: Condition, column: Column) -> str:
    name = shortened(condition.column, 40)
    if not condition.known:
        return f"{name} missing"
    if column.numbers is None:
        if condition.equals is not None:
            return f"{name} “{shortened(condition.equals, 40)}”"
        left = set(column.categories) - set(condition.excludes)
        if len(left) == 1 and not column.missing.any():
            return f"{name} “{shortened(left.pop(), 40)}”"
        excluded = [f"“{shortened(one, 40)}”" for one in condition.excludes]
        return f"{name} {'not' if len(excluded) == 1 else 'neither'} {' nor '.join(excluded)}"
    told = _range_in_words(condition, column.numbers)
    with_missing = condition.missing and bool(column.missing.any())
    return f"{name} {told}{' or missing' if with_missing else ''}"


def _range_in_words(condition: Condition, numbers: FloatArray) -> str:
    low, high = condition.low, condition.high
    if low is None and high is None:
        return "known"
    fits = numbers[(numbers >= (low if low is not None else -np.inf))]
    fits = fits[fits < (high if high is not None else np.inf)]
    if fits.size and fits.min() == fits.max():
        return number(float(fits[0]), 6)
    until, since = (
        None if one is None else moment_of_age(condition.column, one) for one in (low, high)
    )
    if since is not None:  # the older a moment, the higher its age
        return f"from {since} on" if until is None else f"from {since} to before {until}"
    if until is not None:
        return f"before {until}"
    if low is None:
        return f"below {number(high, 6)}"
    if high is None:
        return f"{number(low, 6)} or more"
    return f"from {number(low, 6)} to below {number(high, 6)}"
