"""Partitions of the rows along trees, and what normal clusters score on each.

A tree costs next to nothing beside a mixture, and so do all its cuts. They say which numbers of
clusters are worth a mixture, however many these are, and where it starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from fwkmeans._mixture.sample import Sample, products
from fwkmeans._mixture.singles import (
    EXPECTED,
    LOG_2PI,
    PRIOR_ROWS,
    expected_variance,
    moments,
    scores,
    variances,
)
from fwkmeans._mixture.structure import lead_of_categories
from fwkmeans.typing import BoolArray, FloatArray, IntArray, LabelArray

#: Columns of which a cluster may have all correlations.
MOST_CORRELATED = 12
#: A cut has at least so many rows for each cluster, in the mean: as many as the prior.
LEAST_ROWS = 3
#: Every number is looked at up to this one, then about every twentieth.
EVERY_NUMBER = 60
#: Clusters of their own shape grow from pieces: so many at most, of so many rows for each axis.
MOST_PIECES, PIECE_ROWS = 100, 4
#: Variance of a kernel, as a share of that within round clusters, and of that across their shape.
NARROW = 0.05
#: A partition whose smallest cluster has less than this share of N / K is uneven.
SMALLEST = 0.2


def is_even(labels: LabelArray, n_clusters: int) -> bool:
    """Tell whether even the smallest cluster has rows enough."""
    sizes = np.bincount(labels, minlength=n_clusters)
    return bool(sizes.min() >= SMALLEST * labels.size / n_clusters)


class WardTree:
    """Ward's tree of some rows, and the partitions that are its cuts."""

    def __init__(self, rows: FloatArray) -> None:
        self.n_rows = len(rows)
        grows = rows.shape[1] > 0 and len(rows) > 1
        self.merges: IntArray = np.empty((0, 2), dtype=np.int64)
        if grows:
            self.merges = linkage(rows, "ward")[:, :2].astype(np.int64)

    def cut(self, n_clusters: int) -> LabelArray:
        """Return the partition into so many clusters; into one if all columns are constant."""
        n_rows = self.n_rows
        if not len(self.merges):
            return np.zeros(n_rows, dtype=np.int32)
        merges = self.merges[: max(0, n_rows - n_clusters)]
        nodes = np.repeat(n_rows + np.arange(len(merges)), 2)
        size = n_rows + len(merges)
        graph = coo_matrix((np.ones(nodes.size), (nodes, merges.ravel())), shape=(size, size))
        return np.asarray(connected_components(graph, directed=False)[1][:n_rows], dtype=np.int32)


class Clumps(NamedTuple):
    """Sums over the rows of some sets of rows, in columns in units of their deviation."""

    mass: FloatArray  # (n,)
    means: FloatArray  # (n, M)
    scatter: FloatArray  # (n, M, M), or (n, M) without correlations
    counts: FloatArray  # (n, L) of levels

    def take(self, at: IntArray) -> Clumps:
        """Return some of the sets."""
        return Clumps(*(part[at] for part in self))

    def joined(self, other: Clumps) -> Clumps:
        """Return each set together with one of the others, or all with the only other one."""
        mass = self.mass + other.mass
        apart = other.means - self.means
        share = self.mass * other.mass / mass
        pairs = (
            apart[:, :, None] * apart[:, None] * share[:, None, None]
            if self.scatter.ndim == 3
            else apart**2 * share[:, None]
        )
        means = self.means + apart * (other.mass / mass)[:, None]
        scatter = self.scatter + other.scatter + pairs
        return Clumps(mass, means, scatter, self.counts + other.counts)

    def put(self, at: int, clump: Clumps) -> None:
        """Overwrite a set."""
        for part, new in zip(self, clump, strict=True):
            part[at] = new[0]


class Score(NamedTuple):
    """The criterion of a partition whose clusters are normal, as likelihood of labels and rows."""

    single: float  # columns alone, each of its best type
    tied: float  # all correlations, common to the clusters
    own: float  # all correlations, of each cluster


class Cut(NamedTuple):
    """A partition."""

    labels: LabelArray
    score: float
    has_shapes: bool  # whether its clusters have all correlations of their own


class Cuts:
    """Cuts of Ward's tree, and clusters of their own shape that grow from one of them.

    Parameters
    ----------
    sample : Sample
        The rows.

    Attributes
    ----------
    of_tree : dict
        The `Score` for numbers of clusters.
    of_shapes : dict
        The score of clusters of their own shape.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._numbers, levels = sample.in_deviations()
        self._tree = WardTree(np.hstack([self._numbers, levels]))
        unit = np.sqrt(np.maximum(sample.variance, 1e-300))
        self._size = unit.size
        self._kernel: FloatArray = sample.kernel / unit**2
        self._noise: FloatArray = sample.null + sample.n_rows * np.log(unit) - 1.5 * sample.log_n
        self._correlated = 1 < self._size <= MOST_CORRELATED
        self._found: dict[int, list[LabelArray]] = {}
        self._best: dict[int, Cut] = {}
        self.of_tree: dict[int, Score] = {}
        self._grade_tree()
        self._pieces: LabelArray = np.empty(0, dtype=np.int32)
        self._joined: list[tuple[int, int]] = []
        self.of_shapes: dict[int, float] = {}
        if self._correlated:
            self._grow_shapes()

    def partitions(self, n_clusters: int) -> list[LabelArray]:
        """Return the partitions into so many clusters."""
        if n_clusters not in self._found:
            found = [self._tree.cut(n_clusters)]
            if 1 < n_clusters <= len(self._joined):
                number = np.arange(len(self._joined) + 1)
                for kept, gone in self._joined[: number.size - n_clusters]:
                    number[number == gone] = kept
                labels = np.unique(number, return_inverse=True)[1].ravel()[self._pieces]
                found.append(labels.astype(np.int32))
            self._found[n_clusters] = found
        return self._found[n_clusters]

    def best_numbers(self) -> list[int]:
        """Return the numbers of highest score, for each kind of clusters; the best one first."""
        curves = [
            {n: getattr(score, kind) for n, score in self.of_tree.items()}
            for kind in (Score._fields if self._correlated else ("single",))
        ]
        curves += [self.of_shapes] if self.of_shapes else []
        best = [max(curve, key=lambda n: (curve[n], -n)) for curve in curves]
        order = sorted(range(len(curves)), key=lambda i: -curves[i][best[i]])
        return list(dict.fromkeys(best[i] for i in order))

    def best(self, n_clusters: int) -> Cut:
        """Return the partition of highest score.

        Clusters of their own shape must be better than one cluster, and none of them tiny.
        """
        if n_clusters not in self._best:
            labels, *grown = self.partitions(n_clusters)
            score = self._score_of(n_clusters)
            tried = [Cut(labels, max(score.single, score.tied), False)]
            tried.append(Cut(labels, score.own, True))
            tried += [Cut(one, self.of_shapes[n_clusters], True) for one in grown]
            least = max(self._score_of(1))
            tried = [
                cut
                for cut in tried
                if not cut.has_shapes or (cut.score > least and is_even(cut.labels, n_clusters))
            ]
            self._best[n_clusters] = max(tried, key=lambda cut: cut.score)
        return self._best[n_clusters]

    def widest(self, n_clusters: int, sample: Sample) -> FloatArray | None:
        """Return the variance that a kernel must not exceed, so that it hides no cluster.

        It is that within clusters. Of clusters that have a shape it is a small part of what other
        columns leave of a column. There is none if one cluster scores as well.
        """
        best = self.best(n_clusters)
        within = _spread(sample, best.labels, own_shape=best.has_shapes)
        if best.has_shapes:
            return NARROW * within
        share = within / np.maximum(sample.variance, 1e-300)
        return within * np.exp(np.log(np.maximum(share, 1e-300)).mean()) if share.size else within

    def _score_of(self, n_clusters: int) -> Score:
        if n_clusters not in self.of_tree:
            self.of_tree[n_clusters] = self._score(self._clumps(self._tree.cut(n_clusters)))
        return self.of_tree[n_clusters]

    # ---- Ward's tree ----------------------------------------------------------------------------

    def _grade_tree(self) -> None:
        n_rows, merges = self._tree.n_rows, self._tree.merges
        most = max(1, n_rows // LEAST_ROWS) if len(merges) else 1
        first = self._tree.cut(most)
        most = int(first.max()) + 1
        clumps = self._clumps(first)
        nodes = Clumps(*(np.concatenate([part, np.zeros_like(part)]) for part in clumps))
        place = np.concatenate([first, np.full(n_rows, -1)])
        inner = n_rows - most
        for node, (one, _) in enumerate(merges[:inner]):
            place[n_rows + node] = place[one]
        alive = set(range(most))
        wanted = _numbers_up_to(most)
        if most in wanted:
            self.of_tree[most] = self._score(clumps)
        for step, pair in enumerate(merges[inner:]):
            one, other = place[pair[:1]], place[pair[1:]]
            new = most + step
            place[n_rows + inner + step] = new
            nodes.put(new, nodes.take(one).joined(nodes.take(other)))
            alive -= {int(one[0]), int(other[0])}
            alive.add(new)
            if len(alive) in wanted:
                self.of_tree[len(alive)] = self._score(nodes.take(np.array(sorted(alive))))

    def _clumps(self, labels: LabelArray) -> Clumps:
        sample, n_rows, size = self._sample, len(labels), self._size
        shape = int(labels.max()) + 1, n_rows
        member = csr_matrix((sample.weight, (labels, np.arange(n_rows))), shape=shape)
        mass = np.asarray(member.sum(axis=1)).ravel()
        means = np.asarray(member @ self._numbers) / mass[:, None]
        rest = self._numbers - means[labels]
        if self._correlated:
            products = (rest[:, :, None] * rest[:, None]).reshape(n_rows, -1)
            scatter = np.asarray(member @ products).reshape(-1, size, size)
        else:
            scatter = np.asarray(member @ rest**2)
        return Clumps(mass, means, scatter, (member @ sample.rows.levels).toarray())

    def _score(self, clumps: Clumps) -> Score:
        n_clusters, size, log_n = len(clumps.mass), self._size, self._sample.log_n
        mass, n = clumps.mass, float(self._sample.n_rows)
        same = float(mass @ np.log(mass / n)) - 0.5 * (n_clusters - 1) * log_n
        same += self._score_of_categories(clumps.counts)
        kernel, expected = self._kernel, self._expected(n_clusters)
        diagonal = (
            np.diagonal(clumps.scatter, axis1=1, axis2=2) if self._correlated else clumps.scatter
        )
        found = np.repeat(mass[:, None], size, axis=1), clumps.means, diagonal
        common, own = scores(expected, found, *variances(kernel, expected, found))
        common -= 0.5 * (n_clusters + 1) * log_n
        own -= n_clusters * log_n
        single = same + float(np.maximum(np.maximum(common, own), self._noise).sum())
        if not self._correlated:
            return Score(single, -np.inf, -np.inf)
        price = 0.5 * n_clusters * size * log_n
        shape_price = 0.25 * size * (size + 1) * log_n
        pooled = clumps.scatter.sum(axis=0, keepdims=True)
        tied = self._densities(mass.sum(keepdims=True), pooled, expected)[0]
        shapes = self._densities(mass, clumps.scatter, expected).sum()
        return Score(
            single,
            same + float(tied) - price - shape_price,
            same + float(shapes) - price - n_clusters * shape_price,
        )

    def _expected(self, n_clusters: int) -> FloatArray:
        share = EXPECTED * n_clusters ** (-2 / max(self._size, 1))
        return np.asarray(share + self._kernel)

    def _densities(self, mass: FloatArray, scatter: FloatArray, expected: FloatArray) -> FloatArray:
        """Return the criterion of normal clusters with all correlations, less its price."""
        size = len(expected)
        whole = mass[:, None, None] * np.diag(self._kernel) + PRIOR_ROWS * np.diag(expected)
        shapes = (scatter + whole) / (mass + PRIOR_ROWS)[:, None, None]
        prior = 0.5 * PRIOR_ROWS * (np.log(expected).sum() + size)
        log_det = np.linalg.slogdet(shapes)[1]
        return np.asarray(
            prior - 0.5 * (mass + PRIOR_ROWS) * (log_det + size) - 0.5 * mass * size * LOG_2PI
        )

    def _score_of_categories(self, counts: FloatArray) -> float:
        """Return the criterion of the categorical columns, each noise or not."""
        sample = self._sample
        if not sample.n_categorical:
            return 0.0
        lead = lead_of_categories(sample, counts + sample.frequency)
        free = 0.5 * sample.level_free * sample.log_n
        return float((np.maximum(lead, 0.0) + sample.level_null - free).sum())

    # ---- clusters of their own shape ------------------------------------------------------------

    def _grow_shapes(self) -> None:
        """Join the two clusters whose joint density loses least, from pieces of Ward's tree."""
        n_rows = self._tree.n_rows
        most = max(MOST_PIECES, 2 * max(self.best_numbers()))
        n_pieces = min(n_rows // (PIECE_ROWS * (self._size + 1)), most)
        if n_pieces < 2 or not len(self._tree.merges):
            return
        self._pieces = self._tree.cut(n_pieces)
        clumps = self._clumps(self._pieces)
        expected = self._expected(n_pieces)
        value = self._worth(clumps, expected)
        alive: BoolArray = np.ones(n_pieces, dtype=bool)
        gain = np.full((n_pieces, n_pieces), -np.inf)
        for one in range(n_pieces - 1):
            rest = np.arange(one + 1, n_pieces)
            gain[one, rest] = self._gain(clumps, value, one, rest, expected)
        self.of_shapes[n_pieces] = self._score(clumps).own
        for n_clusters in range(n_pieces - 1, 0, -1):
            kept, gone = (int(at) for at in np.unravel_index(np.argmax(gain), gain.shape))
            self._joined.append((kept, gone))
            joined = clumps.take(np.array([kept])).joined(clumps.take(np.array([gone])))
            clumps.put(kept, joined)
            value[kept] = self._worth(joined, expected)[0]
            alive[gone] = False
            gain[gone], gain[:, gone] = -np.inf, -np.inf
            others = np.flatnonzero(alive)
            self.of_shapes[n_clusters] = self._score(clumps.take(others)).own
            others = others[others != kept]
            if others.size:
                new = self._gain(clumps, value, kept, others, expected)
                gain[np.minimum(kept, others), np.maximum(kept, others)] = new

    def _worth(self, clumps: Clumps, expected: FloatArray) -> FloatArray:
        share = clumps.mass * np.log(clumps.mass / self._sample.n_rows)
        return share + self._densities(clumps.mass, clumps.scatter, expected)

    def _gain(
        self, clumps: Clumps, value: FloatArray, one: int, others: IntArray, expected: FloatArray
    ) -> FloatArray:
        joined = clumps.take(np.full(others.size, one)).joined(clumps.take(others))
        return np.asarray(self._worth(joined, expected) - value[one] - value[others])


def _numbers_up_to(most: int) -> set[int]:
    """Return the numbers of clusters that are looked at."""
    numbers, n = set(range(1, min(most, EVERY_NUMBER) + 1)), float(EVERY_NUMBER)
    while n * 1.05 <= most:
        n *= 1.05
        numbers.add(round(n))
    return numbers | {most}


def _spread(sample: Sample, labels: LabelArray, *, own_shape: bool) -> FloatArray:
    """Return the variance of each column within the clusters of a partition.

    Of clusters that have a shape it is the variance that the other columns leave.
    """
    member = np.eye(labels.max() + 1)[labels]
    mass, means, scatter = moments(sample.alone, sample.weighted(member))
    if not own_shape:
        within = scatter.sum(axis=0) / np.maximum(mass.sum(axis=0), 1e-12)
        return np.asarray(within)
    total, logs = 0.0, np.zeros(sample.n_numbers)
    expected = EXPECTED * expected_variance(sample, len(means))
    for k, mean in enumerate(means):
        here = labels == k
        rest, weight = sample.rows.numbers[here] - mean, sample.weight[here]
        shape = products(rest, weight) + PRIOR_ROWS * np.diag(expected)
        left = 1 / np.diagonal(np.linalg.inv(shape / (weight.sum() + PRIOR_ROWS)))
        logs += weight.sum() * np.log(left)
        total += weight.sum()
    return np.asarray(np.exp(logs / total))
