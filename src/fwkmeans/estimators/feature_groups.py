"""Groups of features that depend on each other, found from the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from fwkmeans._mixture import Sample, Table, correlated_groups, encoded_sample, fixed_sample
from fwkmeans._support.threads import one_blas_thread
from fwkmeans.estimators.inputs import open_rows, refuse_infinite
from fwkmeans.estimators.model import OfTable
from fwkmeans.sources import MemorySource, count_faults
from fwkmeans.typing import FloatArray, IntArray, Source

#: Rows that are looked at; more of a table would hardly change the groups.
SAMPLE_ROWS = 5000


class _Reader(OfTable, BaseEstimator):
    """What `open_rows` needs to know of an estimator."""

    n_jobs: int | None = 1
    handle_unknown, missing_category, _missing = "ignore", "same", "ignore"
    n_features_in_: int

    def __init__(self, categorical_features: Any) -> None:
        self.categorical_features = categorical_features

    def _why_not_sparse(self) -> str | None:
        return "it reads every cell"


_Reader.__name__ = "group_features"  # what messages call it


def group_features(
    X: Any,
    labels: Any = None,
    *,
    categorical_features: Any = "from_dtype",
    sample_weight: Any = None,
) -> list[IntArray]:
    """Find groups of features that depend on each other.

    Two groups of numeric features are joined while the normal density of both together gains more
    than it costs by the BIC: half the logarithm of the number of rows for each correlation between
    them. Two groups of categorical features are joined while their mutual information does.
    Numeric features are not joined with categorical ones.

    Parameters
    ----------
    X : frame or array-like of shape (n_samples, n_features)
        The table, in any units. Missing cells are left out.
    labels : array-like of shape (n_samples,), default=None
        Clusters of the rows: features are then grouped by how they vary within clusters.
    categorical_features : "from_dtype", None, names, indices or mask, default="from_dtype"
        Columns that hold categories, as in the estimators.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weight of each row.

    Returns
    -------
    groups : list of ndarray
        The columns of each group, in order of their first column. Every column is in one group.

    See Also
    --------
    FGKMeans : Learns weights of groups; ``groups="auto"`` calls this function.
    AutoKMeans : Finds groups and clusters together.

    Examples
    --------
    The first column of ionosphere has two values, the others are 16 pairs of a real and an
    imaginary part, side by side:

    >>> from fwkmeans import group_features
    >>> from fwkmeans.datasets import load_uci
    >>> [group.size for group in group_features(load_uci("ionosphere").data)]
    [1, 16, 16]
    """
    if issparse(X):
        raise TypeError("X is sparse; group_features needs dense rows. Use X.toarray() of some.")
    reader = _Reader(categorical_features)
    given = open_rows(reader, X, sample_weight, None, reset=True)
    if not isinstance(given.source, MemorySource):
        raise TypeError(f"X is {type(X).__name__}; group_features needs a table in memory.")
    refuse_infinite(reader, given.source, count_faults(given.source))
    return groups_of(given.source, labels)


def find_groups(estimator: Any, source: Source) -> None:
    """Give an estimator with ``groups="auto"`` or ``spaces="auto"`` the groups of its table."""
    for parameter in ("groups", "spaces"):
        given = getattr(estimator, parameter, None)
        if isinstance(given, str) and given == "auto":
            if not isinstance(source, MemorySource):
                raise ValueError(
                    f"{parameter}='auto' needs dense rows in memory. Find the groups with "
                    f"fwkmeans.group_features on some of the rows, and pass them as {parameter}."
                )
            numbers = np.empty(source.layout.n_features, dtype=np.int64)
            for number, columns in enumerate(groups_of(source)):
                numbers[columns] = number
            estimator._found_groups = numbers


def groups_of(source: MemorySource, labels: Any = None) -> list[IntArray]:
    """Return the groups of the features of a source; see `group_features`."""
    weight = source.sample_weight
    weight = np.ones(source.n_rows) if weight is None else weight
    clusters = np.zeros(source.n_rows, dtype=np.int64)
    if labels is not None:
        clusters = np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
        if clusters.shape != (source.n_rows,):
            raise ValueError(
                f"labels has {clusters.size} entries for {source.n_rows} rows; expected one for "
                "each row."
            )
    layout = source.layout
    here = fixed_sample(weight, SAMPLE_ROWS)
    sample = encoded_sample(Table(source.rows, source.levels, layout, weight), here, compress=False)
    encoding = sample.encoding
    weighted = np.eye(clusters.max() + 1)[clusters[here]] * sample.weight[:, None]
    with one_blas_thread():  # the same sums on any number of cores
        found = [layout.numeric[encoding.numbers[at]] for at in correlated_groups(sample, weighted)]
    categories = np.concatenate([layout.categorical, layout.numeric[encoding.pairs]])
    found += [categories[at] for at in _dependent_categories(sample, weighted)]
    seen = np.concatenate([np.empty(0, dtype=np.int64), *found])
    found += [np.array([v]) for v in np.setdiff1d(np.arange(layout.n_features), seen)]
    return sorted((np.sort(group) for group in found), key=lambda group: int(group[0]))


def _dependent_categories(sample: Sample, weighted: FloatArray) -> list[IntArray]:
    """Return groups of categorical columns: joined while the pairs between them gain in sum."""
    n_columns = sample.n_categorical
    gain = np.zeros((n_columns, n_columns))
    for cluster in weighted.T:
        if not cluster.sum() > 0:
            continue
        rows = sample.rows.levels
        counts = (rows.multiply(cluster[:, None]).T @ rows).toarray()
        for i in range(n_columns):
            for j in range(i):
                table = counts[np.ix_(sample.level_column == i, sample.level_column == j)]
                gain[i, j] += _dependence(table)
    free = np.outer(sample.n_levels - 1, sample.n_levels - 1)
    gain = gain + gain.T - 0.5 * weighted.shape[1] * free * sample.log_n
    groups = [[v] for v in range(n_columns)]
    while len(groups) > 1:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        sums = [gain[np.ix_(groups[i], groups[j])].sum() for i, j in pairs]
        best = int(np.argmax(sums))
        if not sums[best] > 0:
            break
        i, j = pairs[best]
        groups[j] += groups.pop(i)
    return [np.array(group) for group in groups]


def _dependence(table: FloatArray) -> float:
    """Return the mass of a table of counts times the mutual information of its two columns."""
    total = table.sum()
    if not total > 0:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    here = table > 0
    return float((table[here] * np.log(table[here] / expected[here])).sum())
