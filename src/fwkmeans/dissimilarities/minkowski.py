"""Minkowski dissimilarity of numbers, and dissimilarities of categories."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from fwkmeans._core.passes import (
    Accumulation,
    Distances,
    FarthestRow,
    Labeling,
    PowersAbout,
)
from fwkmeans._support.checks import CATEGORY_WEIGHT, check_parameters, check_power
from fwkmeans._support.copies import copied, of_starts
from fwkmeans._tabular.layout import Layout
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    Description,
    FloatArray,
    IntArray,
    KeptLabels,
    Pass,
    Source,
    Statistics,
)

CATEGORIES = ("matching", "squared")
_ULPS = 2e-15  # how far the computed center of equal values can be from them, of their size
_ROUNDOFF = 1.2e-16  # of a sum, for each term


class Minkowski(BaseEstimator):
    r"""Weighted Minkowski dissimilarity of numbers, with categories.

    .. math:: d(y_i, c_k) = \sum_v w_{kv} |y_{iv} - c_{kv}|^p, \qquad
              p = \infty: \ \max_v w_{kv} |y_{iv} - c_{kv}|

    where :math:`w` are the effective weights. The center of a categorical feature is the
    frequencies f of its categories in the cluster. The feature adds w times :math:`1 - f_y` or
    :math:`1 - 2 f_y + \sum_l f_l^2`.

    Parameters
    ----------
    p : float, default=2.0
        Exponent, at least 1, infinity included. In a batch each start may have its own, in an array
        of shape (n_starts, 1, 1) that contains neither 2 nor infinity.
    categories : {"matching", "squared"}, default="matching"
        "matching" is :math:`1 - f_y`. If the center is a mode, this is 0 for the mode and 1 for
        other categories; if it is frequencies, it is the share of the cluster that differs.
        "squared" is the squared Euclidean distance of the indicator of y from f.
    category_weight : float or "balanced", default=1.0
        What the dissimilarity of categories is multiplied by. "balanced" chooses a factor for every
        categorical feature such that its scatter is the mean scatter of the numeric ones (or of the
        categorical ones, if there are no others).
    """

    _constraints: ClassVar = {"category_weight": CATEGORY_WEIGHT}

    table: Description  # set by bind

    def __init__(
        self, p: float = 2.0, categories: str = "matching", category_weight: Any = 1.0
    ) -> None:
        self.p = p
        self.categories = categories
        self.category_weight = category_weight

    @property
    def needs_labels(self) -> bool:
        """Whether dispersions need another pass with the same labels."""
        return not self._is_squared

    @property
    def in_core(self) -> bool:
        """Whether the loop in the core knows it; a class that derives from this must say so."""
        return self._is_squared

    @property
    def one_per_start(self) -> tuple[str, ...]:
        """Parameters that may differ among the starts of a batch.

        For p = 2 the loop runs in the core, and for infinity the sums are maxima: these are batches
        of their own.
        """
        return () if self.p == 2 or np.isinf(self.p) else ("p",)

    @property
    def _is_squared(self) -> bool:
        return not isinstance(self.p, np.ndarray) and self.p == 2

    @property
    def _is_largest(self) -> bool:
        return not isinstance(self.p, np.ndarray) and bool(np.isinf(self.p))

    @property
    def operations(self) -> tuple[str, ...]:
        """Operations that it needs from the kernels."""
        return ("slopes", "powers") if self.needs_labels else ()

    @property
    def descends(self) -> bool:
        """Whether rows are assigned by the same dissimilarity that the objective sums."""
        return not (self.table.gaps and self.table.rescale)

    def bind(self, table: Description) -> Self:
        """Return the dissimilarity for this table."""
        check_power(self.p)
        check_parameters(self, self._constraints)
        if not table.layout.is_numeric and np.isinf(self.p):
            raise ValueError(
                "p is infinite, but X has categorical columns: a largest difference has no place "
                "for them. Take a finite p, or encode them with "
                "fwkmeans.preprocessing.TableEncoder."
            )
        if self.categories not in CATEGORIES:
            expected = " or ".join(map(repr, CATEGORIES))
            raise ValueError(f"categories={self.categories!r}: expected {expected}.")
        bound = copied(self)
        bound.table = table
        return bound

    def take(self, starts: IntArray | BoolArray) -> Self:
        """Return the dissimilarity for only these starts of the batch."""
        return of_starts(self, starts)

    def combine(self, weights: FloatArray, dispersion: FloatArray) -> FloatArray:
        """Return the part of the objective that comes from rows: the weighted dispersion, (R,)."""
        if self._is_largest:
            return np.asarray((weights * dispersion).max(axis=(-2, -1)))
        if weights.shape[1] == 1:
            dispersion = dispersion.sum(axis=-2, keepdims=True)
        total: FloatArray = (weights * dispersion).sum(axis=-1).sum(axis=-1)
        return total

    def accumulation(
        self,
        assignment: Assignment,
        reference: FloatArray | None = None,
        labels: KeptLabels | None = None,
    ) -> Accumulation:
        """Return the pass that assigns rows and sums relative to the reference or the centers."""
        assigning = self._pass(assignment)
        reference = assigning.centers if reference is None else reference
        span = self.table.layout.numbers_of(self.table.span)
        return Accumulation(assigning, reference, labels, span)

    def labeling(self, assignment: Assignment) -> Labeling:
        """Return the pass that writes the labels of the only start and sums its objective."""
        return Labeling(self._pass(assignment))

    def farthest(self, assignment: Assignment, eligible: BoolArray) -> FarthestRow:
        """Return the pass that finds the row farthest from its own center."""
        return FarthestRow(self._pass(assignment), eligible)

    def distances(self, assignment: Assignment) -> Distances:
        """Return the pass that writes the root of the dissimilarity to every center."""
        weights = assignment.weights * assignment.scale[:, None, None]
        return Distances(self._pass(assignment._replace(weights=weights)))

    def rounding(self, rows: FloatArray, assignment: Assignment) -> FloatArray:
        """Return how large the dissimilarity of a row to an equal center can be by rounding: (R,).

        There is one row per start. Centers are sums divided by a mass, so they can differ by a few
        ulps from a row that they should equal.
        """
        table, layout = self.table, self.table.layout
        centers, weights, offsets, _ = assignment
        ulps = layout.numbers_of(1e-13 * table.span + 1e-15 * table.magnitude)
        numbers = layout.numbers_of(np.broadcast_to(weights, (*offsets.shape, weights.shape[-1])))
        apart = np.abs(layout.points(rows)[:, None] - layout.points(centers))
        if self._is_largest:
            costs, levels = (numbers * apart).max(axis=-1), (numbers * ulps).max(axis=-1)
        else:
            costs = (numbers * _raised(apart, self.p)).sum(axis=-1)
            levels = (numbers * _raised(ulps[None, None], self.p)).sum(axis=-1)
        if not layout.is_numeric:
            categories = layout.levels(layout.categories_of(weights))
            categories = categories * self._category_costs(centers)
            costs = costs + (categories * layout.frequencies(rows)[:, None]).sum(axis=-1)
        own = (costs + offsets).argmin(axis=-1)
        return np.asarray(levels[np.arange(own.size), own])

    def dispersion(
        self,
        statistics: Statistics,
        assignment: Assignment,
        centers: FloatArray,
        source: Source,
        table: Description,
    ) -> FloatArray:
        r"""Return :math:`D_{kv} = \sum_{i \in S_k} d(y_{iv}, c_{kv})` about the new centers.

        Where all values of a cluster may be equal but for rounding, it is zero: a center is off by
        a few ulps of its size, and by what the sums of its step have lost, so the dispersion of n
        rows is not known any better than n times the p-th power of that. How large values in other
        clusters are does not matter.
        """
        layout = table.layout
        points = layout.points(centers)
        ulps = np.abs(points)
        ulps *= _ULPS
        away = points - statistics.reference
        if away.any():
            ulps += _ROUNDOFF * statistics.rows[..., None] * np.abs(away, out=away)
        known = ulps if self._is_largest else statistics.observed * _raised(ulps, self.p)
        if self._is_squared:
            numbers = self._squared(statistics, assignment, points, source, known)
        else:
            numbers = source.reduce(PowersAbout(points, self._powers(points)))
        numbers[(numbers <= known) | ~layout.numbers_of(table.varying)] = 0.0
        if layout.is_numeric:
            return numbers
        return layout.features(
            numbers, category_dispersion(statistics.counts, self._category_costs(centers), layout)
        )

    def _powers(self, points: FloatArray) -> FloatArray:
        if isinstance(self.p, np.ndarray):
            assert len(self.p) == len(points)  # the kernels do not look
            return self.p.ravel()
        return np.full(len(points), float(self.p))

    def _squared(
        self,
        statistics: Statistics,
        assignment: Assignment,
        points: FloatArray,
        source: Source,
        known: FloatArray,
    ) -> FloatArray:
        """Return dispersions about the centers from the sums of squares about the references.

        If a center has moved so far that they cancel, the pass is repeated with the new centers.
        Errors below `known` do not matter.
        """
        dispersion, cancels = self._about(points, statistics)
        if not cancels.any():
            return dispersion
        # the difference has an error of about 1e-16 of the terms that cancel
        lost = (cancels > 1e5 * dispersion) & (1e-14 * cancels > known)
        starts = np.flatnonzero(lost.any(axis=(-2, -1)))
        if starts.size:
            again = source.reduce(self.accumulation(assignment.take(starts), points[starts]))
            anew, _ = self._about(points[starts], again)
            dispersion[starts] = np.where(lost[starts], anew, dispersion[starts])
        return dispersion

    def _about(self, points: FloatArray, statistics: Statistics) -> tuple[FloatArray, FloatArray]:
        """Return the dispersions about means, and the size of the terms that cancel.

        S and Q are sums relative to r, usually the old center: :math:`D = Q - n (c - r)^2`. Far
        from the origin the rounding of c counts, and :math:`2 (c - r) (S - n (c - r))` is not zero.
        """
        step = points - statistics.reference
        if not step.any():
            return statistics.squares.copy(), step
        moved = step * step
        moved *= statistics.observed
        dispersion = statistics.squares - moved
        residue = 2.0 * step * (statistics.sums - statistics.observed * step)
        beyond = np.abs(residue) > 1e-13 * np.abs(dispersion)
        dispersion[beyond] -= residue[beyond]
        return dispersion, moved

    def _category_costs(self, centers: FloatArray) -> FloatArray:
        """Return the dissimilarity of each category from the centers: (R, K, levels)."""
        table: Description = self.table
        costs = category_costs(self.categories, centers, table.layout)
        if table.category_scale is not None:
            costs *= table.layout.levels(table.category_scale)
        return costs

    def _pass(self, assignment: Assignment) -> Pass:
        """Return what the kernels need to assign rows."""
        centers, weights, offsets, _ = assignment
        layout: Layout = self.table.layout
        power = None if self._is_squared else self._powers(centers)
        costs = own = None
        if not layout.is_numeric:
            own = layout.categories_of(weights)
            costs = layout.levels(own) * self._category_costs(centers)
        return Pass(
            np.ascontiguousarray(layout.points(centers)),
            np.ascontiguousarray(layout.numbers_of(weights)),
            np.ascontiguousarray(offsets),
            layout.numbers_of(self.table.mean),
            power,
            costs,
            own,
            self.table.rescale,
        )


class SquaredEuclidean(Minkowski):
    r"""Weighted squared Euclidean dissimilarity.

    .. math:: d(y_i, c_k) = \sum_v w_{kv} (y_{iv} - c_{kv})^2

    where :math:`w` are the effective weights. One pass over the rows gives the labels and the sums
    of :math:`y - c` and of its square. The new means and the dispersions about them follow from
    these sums.

    Parameters
    ----------
    categories : {"matching", "squared"}, default="matching"
        What categorical features add; see `Minkowski`.
    category_weight : float or "balanced", default=1.0
        What the dissimilarity of categories is multiplied by; see `Minkowski`.
    """

    p = 2.0
    in_core = True

    def __init__(self, categories: str = "matching", category_weight: Any = 1.0) -> None:
        self.categories = categories
        self.category_weight = category_weight


def _raised(values: FloatArray, p: Any) -> FloatArray:
    """Return values of shape (R or 1, ., .) to the power p.

    Where each start has its own p, starts with an equal one are raised together: with an array of
    exponents NumPy may round otherwise.
    """
    if not isinstance(p, np.ndarray):
        return np.asarray(values**p)
    values = np.broadcast_to(values, (len(p), *values.shape[1:]))
    powers = np.empty(values.shape)
    for own in np.unique(p):
        here = p[:, 0, 0] == own
        powers[here] = values[here] ** float(own)
    return powers


def category_costs(kind: str, centers: FloatArray, layout: Layout) -> FloatArray:
    """Return the plain dissimilarity of each category from the centers: (R, K, levels)."""
    frequencies = layout.frequencies(centers)
    if kind == "matching":
        return 1.0 - frequencies
    squares = layout.levels(layout.sums(frequencies * frequencies))
    costs: FloatArray = 1.0 - 2.0 * frequencies + squares
    costs[..., layout.offsets[1:] - 1] = 1.0  # an unknown category is equally far from all
    return costs


def category_dispersion(counts: FloatArray, costs: FloatArray, layout: Layout) -> FloatArray:
    """Return the sum of dissimilarities over the rows of each cluster: (R, K, Mc)."""
    total = layout.sums(counts * costs)
    # a sum of n and -n leaves only rounding
    unit = costs[..., layout.offsets[1:] - 1]  # that of an unknown category
    total[total <= 1e-14 * layout.sums(counts) * unit] = 0.0
    return total
