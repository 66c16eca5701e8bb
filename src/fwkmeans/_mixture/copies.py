"""Categorical columns that say nearly the same: together they count as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from fwkmeans.typing import FloatArray, IntArray

#: Adjusted mutual information, as a share of the larger entropy, from which on one column is nearly
#: a copy of another, and from which on they are the same. If a tenth of its cells are drawn again,
#: a copy has about 0.7.
NEAR, SAME = 0.5, 0.999
#: Two columns are compared if so large a share of the rows has both.
COMPLETE = 0.6


class Copies(NamedTuple):
    """Sets of categorical columns that say the same; a column without copies is one of its own."""

    codes: IntArray  # (N, Q) level of each row, -1 where it is missing
    same: IntArray  # (Q,) number of the set of columns that are copies of each other
    near: IntArray  # (Q,) number of the set of near copies; it holds whole sets of copies

    @property
    def votes(self) -> FloatArray:
        """What each column counts for.

        A set of near copies has as many votes as one of its columns would need to say what they
        say together: their joint entropy over the mean of their own. Copies share one vote.
        """
        votes = 1.0 / np.bincount(self.same)[self.same] if self.same.size else np.empty(0)
        for at, parts in self._sets():
            if parts.size > 1:
                own = sum(_entropy(self.codes[:, [part]]) for part in parts)
                votes[at] *= _entropy(self.codes[:, parts]) / max(own, 1e-300)
        return np.asarray(votes)

    @property
    def sets(self) -> list[IntArray]:
        """The columns of each set of near copies that has several."""
        return [at for at, _ in self._sets() if at.size > 1]

    def apart(self) -> Copies:
        """Return the same, but only two columns, or two sets of copies, are near copies.

        More of them may be near copies of one column, or each may tell of the same clusters.
        """
        near = self.near.copy()
        for at, parts in self._sets():
            if parts.size > 2:
                near[at] = near.size + self.same[at]
        return self._replace(near=np.unique(near, return_inverse=True)[1].ravel())

    def _sets(self) -> list[tuple[IntArray, IntArray]]:
        """Return the columns of each set of near copies, and one of each set of copies in it."""
        sets = [np.flatnonzero(self.near == number) for number in np.unique(self.near)]
        return [(at, at[np.unique(self.same[at], return_index=True)[1]]) for at in sets]


def find_copies(levels: csr_matrix, level_column: IntArray, n_columns: int) -> Copies:
    """Find the categorical columns that say the same.

    `levels` has 1 where a row has a level; the levels of a column lie together.
    """
    from sklearn.metrics import adjusted_mutual_info_score  # slow to import, for these columns only

    alike = np.zeros((n_columns, n_columns))
    codes = np.full((levels.shape[0], n_columns), -1, dtype=np.int64)
    found = levels.tocoo()
    codes[found.row, level_column[found.col]] = found.col
    for a, b in _candidates(levels, level_column):
        here = (codes[:, a] >= 0) & (codes[:, b] >= 0)
        # chance alone makes columns of many levels look alike; this figure is free of it
        alike[a, b] = adjusted_mutual_info_score(
            codes[here, a], codes[here, b], average_method="max"
        )
    found = (
        connected_components(csr_matrix(alike >= least), directed=False)[1]
        for least in (SAME, NEAR)
    )
    return Copies(codes, *found)


def _candidates(levels: csr_matrix, level_column: IntArray) -> list[tuple[int, int]]:
    """Return pairs of columns that may be near copies by the mutual information that is found."""
    there, column = np.unique(level_column, return_inverse=True)  # columns that have any level
    begins = np.searchsorted(column, np.arange(there.size))
    ends = np.searchsorted(column, np.arange(there.size), side="right")
    by_level = levels.T.tocsr()
    pairs = []
    for a, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        both = (by_level[begin:end] @ levels).toarray()  # (levels of the column, all levels)
        rows = np.add.reduceat(both.sum(axis=0), begins)
        shares = both / np.maximum(rows, 1.0)[column]
        joint = np.add.reduceat(_terms(shares).sum(axis=0), begins)
        theirs = np.add.reduceat(_terms(shares.sum(axis=0)), begins)
        ours = _terms(np.add.reduceat(shares, begins, axis=1)).sum(axis=0)
        larger = np.maximum(ours, theirs)
        alike = (ours + theirs - joint >= NEAR * larger) & (larger > 0)
        alike &= rows >= COMPLETE * levels.shape[0]
        pairs += [(int(there[a]), int(there[b])) for b in np.flatnonzero(alike) if b > a]
    return pairs


def _terms(shares: FloatArray) -> FloatArray:
    """Return what each share adds to the entropy."""
    return np.asarray(-shares * np.log(np.maximum(shares, 1e-300)))


def _entropy(codes: IntArray) -> float:
    """Return the entropy of columns together."""
    counts = np.unique(codes, axis=0, return_counts=True)[1]
    return float(_terms(counts / counts.sum()).sum())
