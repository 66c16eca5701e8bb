"""Groups of features and their types, for given memberships of the rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fwkmeans._mixture.blocks import INFINITE, block_null, score_of_type
from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.singles import expected_variance, moments, scores, variances
from fwkmeans.typing import FloatArray, IntArray

NOISE, TIED, VOL, SPEC = "noise", "tied", "vol", "spec"
#: Columns are grouped only if so large a share of the rows has them all.
COMPLETE = 0.6
#: Pairs of columns for each row beyond which chance correlations are reckoned with.
MANY_PAIRS = 4
#: Columns beyond which a group does not grow: its cost is cubic in them.
MOST_COLUMNS = 50
#: Columns that are grouped in a wide table: those that tell the clusters apart best.
MOST_GROUPED = 100


class Group(NamedTuple):
    """Two or more numeric columns that depend on each other within clusters."""

    columns: tuple[int, ...]
    type: str
    tail: float  # degrees of freedom; infinite: normal
    factored: bool = False  # whether shapes are made of few factors; else of all correlations


class Structure(NamedTuple):
    """The groups of the columns and their types."""

    singles: tuple[str, ...]  # type of each numeric column; "" in a group
    groups: tuple[Group, ...]
    categories: tuple[str, ...]  # NOISE or SPEC


def structure(
    sample: Sample,
    membership: FloatArray,
    *,
    types: tuple[str, ...],
    tails: tuple[float, ...],
    grouping: bool,
    factored: bool = False,
) -> Structure:
    """Return the groups and types of highest expected criterion.

    Groups grow greedily. Each gets its best type, or falls apart into single columns if these
    score better. If the columns are `factored`, all that are not noise form one group of few
    factors instead; they are common to all clusters, unless a covariance has more entries than a
    cluster has rows. Of several clusters not everything may be noise: then the column that is least
    so counts.
    """
    weighted = sample.weighted(membership)
    n_clusters = membership.shape[1]
    singles: list[str] = []
    groups: list[Group] = []
    doubts: list[tuple[float, str, int, Any]] = []  # score above noise, place, and type there
    if sample.n_numbers:
        best, noise, kind = _scores_of_singles(sample, weighted, tied=factored)
        order = np.argsort(noise - best, kind="stable")
        leading = order[: MOST_GROUPED if grouping else 0]
        lead, alone = best - noise, np.maximum(best, noise)
        singles = np.where(lead < 0, NOISE, kind).tolist()
        if factored:
            columns = _complete_columns(sample, order[lead[order] >= 0])
            if columns.size > 1:
                n_entries = columns.size * (columns.size + 1) // 2
                kinds = types if n_entries * n_clusters > sample.n_rows else (TIED,)
                group, _ = _best_group(sample, weighted, columns, kinds, tails, factored=True)
                groups.append(group)
                for v in groups[0].columns:
                    singles[v] = ""
        for columns in correlated_groups(sample, weighted, among=leading):
            if columns.size == 1:
                continue
            group, score = _best_group(sample, weighted, columns, types, tails)
            share = float(sample.rows.complete(columns).mean())
            if alone[columns].sum() * share > score:
                continue
            for v in columns.tolist():
                singles[v] = ""
            null, tail = block_null(sample, columns, tails)
            doubts.append((score - null, "group", len(groups), group))
            groups.append(group._replace(type=NOISE, tail=tail) if null > score else group)
    categories, excess = _categories(sample, weighted)
    used = {*singles, *(group.type for group in groups), *categories} - {"", NOISE}
    if not used and n_clusters > 1:
        doubts += [(lead[v], "single", v, str(kind[v])) for v, one in enumerate(singles) if one]
        doubts += [(above, "category", v, SPEC) for v, above in enumerate(excess)]
    if doubts and not used and n_clusters > 1:
        _, place, at, kind_there = max(doubts, key=lambda doubt: doubt[0])
        {"single": singles, "group": groups, "category": categories}[place][at] = kind_there  # type: ignore[index]
    return Structure(tuple(singles), tuple(groups), tuple(categories))


def leads(sample: Sample, membership: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far each numeric and each categorical column alone scores above noise."""
    weighted = sample.weighted(membership)
    best, noise, _ = _scores_of_singles(sample, weighted)
    return best - noise, _categories(sample, weighted)[1]


def _complete_columns(sample: Sample, order: IntArray) -> IntArray:
    """Return the first columns in an order that enough rows have together, not too many."""
    if sample.rows.observed is None:
        return np.sort(order[:MOST_GROUPED])
    found: list[int] = []
    here = np.ones(sample.n_rows, dtype=bool)
    for v in order.tolist():
        both = here & (sample.rows.observed[:, v] > 0)
        if both.mean() >= COMPLETE and len(found) < MOST_GROUPED:
            here = both
            found.append(v)
    return np.array(sorted(found), dtype=np.int64)


def _scores_of_singles(
    sample: Sample, weighted: FloatArray, *, tied: bool = False
) -> tuple[FloatArray, FloatArray, NDArray[np.str_]]:
    """Return the scores of columns alone as clusters and as noise, and the better type.

    They are compared as tied ones only, if so asked for.
    """
    n_clusters = weighted.shape[1]
    expected, found = expected_variance(sample, n_clusters), moments(sample.alone, weighted)
    common, own = scores(expected, found, *variances(sample.kernel, expected, found))
    tied_score = common - 0.5 * (n_clusters + 1) * sample.log_n
    own_score = np.full_like(own, -INFINITE) if tied else own - n_clusters * sample.log_n
    kind = np.where(own_score > tied_score, SPEC, TIED)
    return np.maximum(tied_score, own_score), sample.null - 1.5 * sample.log_n, kind


def _best_group(
    sample: Sample,
    weighted: FloatArray,
    columns: IntArray,
    types: tuple[str, ...],
    tails: tuple[float, ...],
    *,
    factored: bool = False,
) -> tuple[Group, float]:
    score, kind, tail = max(
        (score_of_type(sample, weighted, columns, kind, tail, factored=factored), kind, tail)
        for kind in types
        for tail in (tails if kind == TIED else (INFINITE,))
    )
    return Group(tuple(int(v) for v in columns), kind, tail, factored), score


def _categories(sample: Sample, weighted: FloatArray) -> tuple[list[str], FloatArray]:
    """Return the type of each categorical column, and how far it scores above noise."""
    if not sample.n_categorical:
        return [], np.empty(0)
    lead = lead_of_categories(sample, level_shares(sample, weighted)[0])
    return [SPEC if above >= 0 else NOISE for above in lead], lead


def lead_of_categories(sample: Sample, counts: FloatArray) -> FloatArray:
    """Return how far each categorical column scores above noise, from counts in clusters."""
    each = sample.level_vote * counts * np.log(np.maximum(_shares(sample, counts), 1e-300))
    logs = np.bincount(sample.level_column, each.sum(axis=0), minlength=sample.n_categorical)
    price = 0.5 * (len(counts) - 1) * sample.level_free * sample.log_n
    return np.asarray(logs - sample.level_null - price)


def level_shares(sample: Sample, weighted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return counts and frequencies of levels in clusters, both (K, L).

    The table's own frequencies count as one more row of each cluster.
    """
    counts = np.asarray(sample.rows_of_levels @ weighted).T + sample.frequency
    return counts, _shares(sample, counts)


def _shares(sample: Sample, counts: FloatArray) -> FloatArray:
    column, n_columns = sample.level_column, sample.n_categorical
    totals = np.stack([np.bincount(column, row, minlength=n_columns) for row in counts])
    return np.asarray(counts / totals[:, column])


def correlated_groups(
    sample: Sample, weighted: FloatArray, among: IntArray | None = None
) -> list[IntArray]:
    """Return groups of columns that correlate within the clusters, each an array of columns.

    The two groups are joined whose joint normal density gains most over separate ones, beyond the
    price of the correlations between them, until no pair gains. In tables with many more pairs of
    columns than rows a correlation costs more, because among so many some are large by chance.
    Columns that are not `among` those to look at are left out.
    """
    at = np.arange(sample.n_numbers) if among is None else np.sort(among)
    n_columns, n = sample.n_numbers, float(sample.n_rows)
    correlation, together = _within_correlation(sample, weighted, at)
    pairs = 0.5 * n_columns * (n_columns - 1)
    price = 0.5 * sample.log_n + max(0.0, float(np.log(max(pairs, 1.0) / (MANY_PAIRS * n))))
    with np.errstate(divide="ignore"):
        gain = -0.5 * together * np.log(np.maximum(1 - correlation**2, 1e-300)) - price
    gain[together < COMPLETE * n] = -INFINITE
    np.fill_diagonal(gain, -INFINITE)
    observed = None if sample.rows.observed is None else sample.rows.observed[:, at] > 0
    linked = np.asarray(gain > 0)  # only groups with a linked pair of columns are tried
    members: dict[int, list[int]] = {v: [v] for v in range(at.size)}
    log_det = np.zeros(at.size)
    best = gain.max(axis=1, initial=-INFINITE)
    while members:
        i = int(np.argmax(best))
        if not best[i] > 0:
            break
        j = int(np.argmax(gain[i]))
        joined = members[i] + members.pop(j)
        members[i] = joined
        log_det[i] = _log_det(correlation, joined)
        gain[[i, j], :] = gain[:, [i, j]] = -INFINITE
        near = np.any(linked[joined], axis=0)
        complete = None if observed is None else observed[:, joined].all(axis=1)
        # covariances of what the joined columns leave of the others: their determinants tell
        # how much those of all columns together are smaller
        toward = correlation[joined]
        left = correlation - toward.T @ np.linalg.solve(toward[:, joined], toward)
        for h, others in members.items():
            if h == i or len(joined) + len(others) > MOST_COLUMNS:
                continue
            if not any(near[v] for v in others):
                continue
            mass = n
            if complete is not None and observed is not None:
                shared = complete & observed[:, others].all(axis=1)
                if shared.mean() < COMPLETE:
                    continue
                mass = float(sample.weight[shared].sum())
            value = _log_det(left, others)
            if not math.isnan(value):
                cost = len(joined) * len(others) * price
                gain[i, h] = gain[h, i] = -0.5 * mass * (value - log_det[h]) - cost
        best = gain.max(axis=1, initial=-INFINITE)
    return [at[sorted(columns)] for columns in members.values()]


def _log_det(matrix: FloatArray, columns: list[int]) -> float:
    """Return the logarithm of the determinant of some columns of a matrix; NaN if it has none."""
    if len(columns) == 1:
        value = float(matrix[columns[0], columns[0]])
        return math.log(value) if value > 0 else math.nan
    sign, log = np.linalg.slogdet(matrix[np.ix_(columns, columns)])
    return float(log) if sign > 0 else math.nan


def _within_correlation(
    sample: Sample, weighted: FloatArray, at: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return correlations about the centers, and the mass of rows that have both columns."""
    observed = sample.rows.observed
    mass, means = (found[:, at] for found in moments(sample.alone, weighted)[:2])
    if observed is None:
        scatter = sample.products(at) - (means * mass).T @ means
        together = np.full(scatter.shape, float(sample.n_rows))
    else:
        numbers, observed = sample.rows.numbers[:, at], observed[:, at]
        together = (observed * sample.weight[:, None]).T @ observed
        scatter = np.zeros_like(together)
        for k in range(weighted.shape[1]):
            rest = (numbers - means[k]) * observed
            scatter += (rest * weighted[:, k : k + 1]).T @ rest
        scatter *= sample.n_rows / np.maximum(together, 1.0)
    np.fill_diagonal(scatter, np.diagonal(scatter) + sample.n_rows * sample.kernel[at])
    root = np.sqrt(np.diagonal(scatter))
    return np.asarray(scatter / root / root[:, None]), together
