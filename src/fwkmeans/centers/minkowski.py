"""The point with the lowest sum of powers of distances: median, mean, midrange and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from fwkmeans._core.passes import RootsOf, SlopesAt
from fwkmeans._core.twin import Slopes
from fwkmeans._support.checks import check_power
from fwkmeans.centers.mean import MeanCenter
from fwkmeans.typing import (
    BoolArray,
    Description,
    FloatArray,
    IntArray,
    Source,
    Statistics,
)

_FEW = 20_000  # rows; with more, all threads share each pass
_MOST = 300  # passes over the rows; bisection alone needs about 60
_ROUGH = 8  # passes in single precision before


class MinkowskiCenter(MeanCenter):
    r"""The minimizer of :math:`f(c) = \sum_{i \in S_k} s_i |y_{iv} - c|^p`.

    This is the weighted median for p = 1 (halfway between the two middle values if half of the
    weight lies on either side), the mean for p = 2, and the midrange for p = infinity. For other p,
    the root of f' is bracketed by the data and found by Newton steps. For p < 2, f'' is infinite at
    every row, so the linear model leaves out the two nearest rows, whose terms are kept exactly.
    All features of all clusters and starts step together, and each step is one pass over the rows.

    Parameters
    ----------
    p : float, default=2.0
        Exponent, at least 1, infinity included. In a batch each start may have its own, in an array
        of shape (n_starts, 1, 1) that does not contain 2.
    categories : {"mode", "frequencies"}, default="mode"
        The center of categorical features: the most frequent category, or the frequencies.
    """

    def __init__(self, p: float = 2.0, categories: str = "mode") -> None:
        self.p = p
        self.categories = categories

    @property
    def is_mean(self) -> bool:  # type: ignore[override]
        """Whether this is the mean."""
        return not isinstance(self.p, np.ndarray) and self.p == 2

    @property
    def in_core(self) -> bool:  # type: ignore[override]
        """Whether the loop in the core knows it."""
        return self.is_mean

    @property
    def one_per_start(self) -> tuple[str, ...]:
        """Parameters that may differ among the starts of a batch; see `Minkowski`."""
        return () if self.p == 2 or np.isinf(self.p) else ("p",)

    @property
    def operations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Operations that it needs from the kernels."""
        return () if self.is_mean else ("slopes",)

    def bind(self, table: Description) -> Self:
        """Return the rule for this table."""
        check_power(self.p)
        return super().bind(table)

    def _points(self, statistics: Statistics, before: FloatArray, source: Source) -> FloatArray:
        if self.is_mean:
            return super()._points(statistics, before, source)
        # if many labels are new, as in a first pass, the mean is better than the last center
        new = (statistics.changed > 0.3 * source.n_rows)[:, None, None]
        begin = np.where(new, super()._points(statistics, before, source), before)
        far = statistics.changed > 0
        centers = minkowski_centers(source, begin, self.p, statistics.observed, far)
        return np.where(statistics.observed > 0, centers, before)


def minkowski_centers(
    source: Source,
    before: FloatArray,
    p: Any,
    mass: FloatArray,
    far: BoolArray | None = None,
) -> FloatArray:
    """Return the minimizers for the numeric features of every cluster: (R, K, Mn).

    Parameters
    ----------
    source : Source
        The rows, with the labels of each start in row memory.
    before : ndarray of shape (n_starts, n_clusters, n_numeric)
        The first guess; it is returned if a cluster has no value.
    p : float, or ndarray with one entry for each start
        Exponent, not 2.
    mass : ndarray of shape (n_starts, n_clusters, n_numeric or 1)
        Mass of the values.
    far : ndarray of shape (n_starts,), optional
        Whether the first guess may be far away; by default it may.

    Returns
    -------
    ndarray of the shape of `before`
        The minimizers.
    """
    mass = np.broadcast_to(mass, before.shape)
    far = np.ones(len(before), dtype=np.bool_) if far is None else far
    if not isinstance(p, np.ndarray):
        power = np.full(len(before), float(p))
        return _way_for(p)(_Wanted(source, before, power, mass, far, None))
    power, centers = p.ravel(), np.empty_like(before)
    ways = [_way_for(own) for own in power.tolist()]
    for way in dict.fromkeys(ways):
        some = np.array([at for at, own in enumerate(ways) if own is way])
        wanted = _Wanted(source, before[some], power[some], mass[some], far[some], some)
        centers[some] = way(wanted)
    return centers


class _Wanted(NamedTuple):
    """Minimizers that are found in the same way."""

    source: Source
    before: FloatArray  # (R, K, Mn)
    power: FloatArray  # (R,)
    mass: FloatArray  # (R, K, Mn)
    far: BoolArray  # (R,)
    starts: IntArray | None  # (R,) which of the labels; None means all


def _way_for(p: float) -> Callable[[_Wanted], FloatArray]:
    if p == 1:
        return _searched
    return _midranges if np.isinf(p) else _roots


def _midranges(wanted: _Wanted) -> FloatArray:
    source, before, power, _, _, starts = wanted
    ends = source.reduce(SlopesAt(before, power, starts))
    known = ends.low <= ends.high
    low, high = np.where(known, ends.low, before), np.where(known, ends.high, before)
    return low / 2 + high / 2


def _roots(wanted: _Wanted) -> FloatArray:
    """Return the minimizers for exponents between 1 and infinity."""
    source, before, power, _, far, starts = wanted
    if _is_small(source):
        return source.reduce(RootsOf(before, power, starts))
    return _searched(wanted._replace(before=_steered(wanted)) if far.any() else wanted)


def _steered(wanted: _Wanted) -> FloatArray:
    """Return points near the minimizers, by a few steps whose slopes are rough.

    Steps are Newton's, or those of the secant method where p is near 1: there the curvature at a
    point says more about the nearest rows than about the way to the minimizer.
    """
    source, before, power, _, far, starts = wanted
    p, points = power[:, None, None], before.copy()
    going = np.broadcast_to(far[:, None, None], before.shape)
    last, last_slope = np.full((2, *before.shape), np.nan)
    low, high = np.full((2, *before.shape), np.nan)
    for look in range(_ROUGH):
        asked = np.where(going, points, np.nan)
        slopes = source.reduce(SlopesAt(asked, power, starts, rough=True))
        slope = slopes.slope
        with np.errstate(all="ignore"):
            if look == 0:
                low, high = slopes.low, slopes.high
                near = np.where(p < 1.5, 1e-6, 1e-5) * (high - low)
            going = going & (low < high) & np.isfinite(slope) & (slope != 0)
            low = np.where(going & (slope < 0), np.maximum(low, points), low)
            high = np.where(going & (slope > 0), np.minimum(high, points), high)
            newton = -slope / ((p - 1.0) * slopes.curvature)
            secant = slope * (last - points) / (slope - last_slope)
            new = points + np.where((p < 1.5) & (newton * secant > 0), secant, newton)
            new = np.where((new > low) & (new < high), new, low / 2 + high / 2)
        last, last_slope = np.where(going, points, last), np.where(going, slope, last_slope)
        points = np.where(going, new, points)
        going = going & (np.abs(points - last) > near)
        going = going & (np.mean(going, axis=(-2, -1), keepdims=True) > 0.1)  # few can wait
        if not going.any():
            break
    return points


def _searched(wanted: _Wanted) -> FloatArray:
    """Return the minimizers by passes over the rows; either all exponents are 1 or none is."""
    source, before, power, mass, _, starts = wanted
    centers = before.copy()
    going = np.arange(len(before))
    first = source.reduce(SlopesAt(centers, power, starts))
    starts = going if starts is None else starts
    search = _Search(centers, first, power[:, None, None], mass)
    for _ in range(_MOST):
        done = np.asarray(search.done.all(axis=(-2, -1)))
        if done.any():
            centers[going[done]] = search.found[done]
            going = going[~done]
            if not going.size:
                return centers
            search = search.take(~done)
        points = search.next_points()
        if not search.done.all():
            search.look(points, source.reduce(SlopesAt(points, power[going], starts[going])))
    centers[going] = np.where(search.done, search.found, search.points)
    return centers


def _is_small(source: Source) -> bool:
    """Tell whether the rows are one block and few enough to gather them cluster by cluster."""
    return source.n_blocks == 1 and source.n_rows <= _FEW and "roots" in source.operations


class _Search:
    """Brackets around the minimizers, and the results of the last pass; arrays are (R, K, M)."""

    def __init__(self, points: FloatArray, slopes: Slopes, p: FloatArray, mass: FloatArray) -> None:
        self.p, self.mass = p, mass  # p is (R, 1, 1)
        self.for_median = bool(p[0] == 1)
        self.low, self.high = slopes.low.copy(), slopes.high.copy()
        self.found = points.copy()
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        with np.errstate(invalid="ignore"):
            self.rest = np.spacing(size) + 1e-14 * (self.high - self.low)
            # convergence is quadratic: after a step this short, the next one is below rounding
            self.near = np.where(p < 2, 1e-10, 1e-9) * (self.high - self.low)
        self.done: BoolArray = ~(self.low < self.high)  # no value, or equal ones
        np.copyto(self.found, self.low, where=self.low == self.high)
        self.steps = [np.full(points.shape, np.inf), np.full(points.shape, np.inf)]
        self.slope_low, self.slope_high = -mass, mass.copy()  # at the ends, for p = 1
        self.halve = False
        self.look(points, slopes)

    def take(self, starts: BoolArray) -> _Search:
        """Keep only these starts."""
        kept = object.__new__(_Search)
        kept.for_median, kept.halve = self.for_median, self.halve
        for name in (
            "p",
            "mass",
            "low",
            "high",
            "slope_low",
            "slope_high",
            "found",
            "rest",
            "near",
            "done",
            "points",
        ):
            setattr(kept, name, getattr(self, name)[starts])
        kept.slopes = Slopes(*(part[starts] for part in self.slopes))
        kept.steps = [step[starts] for step in self.steps]
        return kept

    def look(self, points: FloatArray, slopes: Slopes) -> None:
        """Use the results of a pass: narrow the brackets, or finish if a point is the minimizer."""
        self.points, self.slopes = points, slopes
        if self.for_median:
            self._look_for_median()
            return
        zero = slopes.slope == 0
        self._finish(points, zero)
        np.copyto(self.low, points, where=~self.done & (slopes.slope < 0) & (points > self.low))
        np.copyto(self.high, points, where=~self.done & (slopes.slope > 0) & (points < self.high))
        narrow = self.high - self.low <= self.rest
        self._finish(np.where(slopes.slope > 0, self.high, self.low), narrow)

    def next_points(self) -> FloatArray:
        """Return the next points; NaN where the minimizer is found."""
        guess = self.points.copy()
        at = np.nonzero(~self.done)
        slopes = Slopes(*(part[at] for part in self.slopes))
        if self.for_median:
            guess[at] = self._median_guess(at, slopes)
            return np.where(self.done, np.nan, guess)
        inside, error = _roots_of_models(
            self.points[at], slopes, self.p[at[0], 0, 0], self.mass[at]
        )
        low, high, here = self.low[at], self.high[at], self.points[at]
        step = np.abs(inside - here)
        slow = step > 0.5 * self.steps[0][at]  # more than half of the step before the last one
        outside = ~((inside > low) & (inside < high))  # NaN included
        halved = low / 2 + high / 2
        new = np.where(outside | slow, halved, inside)
        self.steps[0] = self.steps[1].copy()
        self.steps[1][at] = np.where(outside | slow, high - low, step)
        still = np.zeros(guess.shape, dtype=np.bool_)
        beside = (inside > slopes.below) & (inside < slopes.above)
        smooth = np.broadcast_to(self.p >= 2, guess.shape)[at]
        last = (step <= self.near[at]) & (beside | smooth)
        last = (last | (error <= self.rest[at])) & ~outside
        still[at] = (step <= self.rest[at]) | last
        guess[at] = np.where(still[at], np.clip(inside, low, high), new)
        self._finish(guess, still)
        return np.where(self.done, np.nan, guess)

    def _finish(self, values: FloatArray, where: BoolArray) -> None:
        new = where & ~self.done
        np.copyto(self.found, values, where=new)
        self.done = self.done | new

    def _look_for_median(self) -> None:
        s, points = self.slopes, self.points
        even = 1e-12 * self.mass
        with np.errstate(invalid="ignore"):
            self._finish(points, np.abs(s.slope) < s.equal - even)
            between = (s.equal <= 0) & (np.abs(s.slope) <= even)
            self._finish(s.below / 2 + s.above / 2, between)
            self._finish(points / 2 + s.above / 2, np.abs(s.slope + s.equal) <= even)
            self._finish(points / 2 + s.below / 2, np.abs(s.slope - s.equal) <= even)
            # the next value is the median: at most half of the mass is on either side of it
            right, left = s.slope < -s.equal, s.slope > s.equal
            self._finish(s.above, right & (s.slope + s.equal + 2 * s.above_mass > even))
            self._finish(s.below, left & (s.slope - s.equal - 2 * s.below_mass < -even))
        right &= ~self.done & (points > self.low)
        left &= ~self.done & (points < self.high)
        np.copyto(self.slope_low, s.slope, where=right)
        np.copyto(self.slope_high, s.slope, where=left)
        np.copyto(self.low, points, where=right)
        np.copyto(self.high, points, where=left)

    def _median_guess(self, at: tuple[IntArray, ...], slopes: Slopes) -> FloatArray:
        """Return the middle of the bracket, by value or by mass in turn; at least the next row."""
        self.halve = not self.halve
        low, high = self.low[at], self.high[at]
        middle = low / 2 + high / 2
        if not self.halve:
            below, above = -self.slope_low[at], self.slope_high[at]
            middle = low + (high - low) * (below / (below + above))
        right, left = np.maximum(middle, slopes.above), np.minimum(middle, slopes.below)
        guess: FloatArray = np.where(slopes.slope < 0, right, left)
        return guess


def _roots_of_models(
    points: FloatArray, slopes: Slopes, p: FloatArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the roots of models of f' at the points, and bounds of their errors."""
    guess, error = np.empty_like(points), np.full(points.shape, np.inf)
    for own in np.unique(p):
        here = p == own
        part = Slopes(*(one[here] for one in slopes))
        with np.errstate(all="ignore"):
            if own < 2:
                guess[here], error[here] = _beside_rows(points[here], part, float(own))
            else:
                step, error[here] = _bent_step(part, float(own), mass[here])
                guess[here] = points[here] + step
    return guess, error


def _bent_step(slopes: Slopes, p: float, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Newton's steps for p > 2, Halley's from 3 on; and bounds of their errors from 4 on.

    From there on the mean of |y - c|^(p-4) is bounded by that of |y - c|^(p-2), so that the fourth
    derivative is known to be small.
    """
    step = -slopes.slope / ((p - 1.0) * slopes.curvature)
    bend = 0.5 * (p - 2.0) * slopes.third / slopes.curvature * step
    halley = (p >= 3) & (np.abs(bend) < 0.5)
    step = np.where(halley, step / (1.0 + bend), step)
    spread, size = (slopes.curvature / mass) ** (1.0 / (p - 2.0)), np.abs(step)
    error = (p - 2.0) * (p - 3.0) / 3.0 * size**3 / spread**2 + bend**2 * size
    return step, np.where((p >= 4) & halley & (size <= 0.01 * spread), error, np.inf)


def _beside_rows(points: FloatArray, slopes: Slopes, p: float) -> tuple[FloatArray, FloatArray]:
    """Return the root of a model of f' for 1 < p < 2, and a bound of its error.

    The model is linear, except for the rows at the point and the nearest ones on either side, whose
    terms ``s |y - c|^(p-1)`` are kept. Where a step is shorter than the distance to all other rows,
    it is corrected by their third derivative, and the fourth one bounds the error.
    """
    q = p - 1.0
    right = slopes.slope < 0
    behind, ahead = slopes.below_mass, slopes.above_mass
    behind, ahead = np.where(right, behind, ahead), np.where(right, ahead, behind)
    back, end = points - slopes.below, slopes.above - points
    back, end = np.where(right, back, end), np.where(right, end, back)
    back, end = np.where(behind > 0, back, 1.0), np.where(ahead > 0, end, 1.0)
    pull_back, pull_ahead = behind * back**q, ahead * end**q
    # f' rises with the distance traveled from the point; the root is where it is zero
    begin = -np.abs(slopes.slope) - pull_back + pull_ahead
    bend = q * np.maximum(slopes.curvature - pull_back / back - pull_ahead / end, 0.0)

    def model(distance: FloatArray) -> FloatArray:
        rise: FloatArray = begin + bend * distance + behind * (back + distance) ** q
        rise += slopes.equal * distance**q - ahead * np.maximum(end - distance, 0.0) ** q
        return rise

    # |t|^q is linear in t^q, so measure from the end where it is curved
    half = end / 2
    near_end, beyond = model(half) < 0, model(end) < 0
    curved = near_end | (slopes.equal > 0)

    def traveled(x: FloatArray) -> FloatArray:
        length = np.where(curved, x ** (1.0 / q), x)
        return np.where(near_end, end - length, length)

    far = np.where(curved, half**q, half)
    root = _illinois(lambda x: np.where(near_end, -1.0, 1.0) * model(traveled(x)), far, beyond)
    newton = np.maximum(np.abs(slopes.slope) / np.where(bend > 0, bend, np.nan), end)
    distance = np.where(beyond, newton, traveled(root))
    # the next row, if the distance to it is below rounding
    distance = np.where(~beyond & (end - distance <= 1e-13 * end), end, distance)
    nearest = np.minimum(np.where(behind > 0, back, np.inf), np.where(ahead > 0, end, np.inf))
    steep = behind * (back + distance) ** (q - 1.0) + slopes.equal * distance ** (q - 1.0)
    steep = bend + q * (steep + ahead * np.maximum(end - distance, 0.0) ** (q - 1.0))
    known_back, known_ahead = pull_back / back**2, pull_ahead / end**2
    third = np.where(right, slopes.third, -slopes.third) - known_back + known_ahead
    size = np.maximum(slopes.third_size - known_back - known_ahead, 0.0)
    scale = 0.5 * q * (1.0 - q) * distance**2 / steep
    change = scale * third
    fourth = size / nearest * np.maximum(1.0 - distance / nearest, 0.0) ** (q - 3.0)  # at most
    error = (2.0 - q) / 3.0 * scale * fourth * distance + change**2 / distance
    close = (distance <= nearest / 2) & (np.abs(change) <= distance / 4)  # false if NaN
    distance = np.where(close, distance + change, distance)
    guess = np.where(right, points + distance, points - distance)
    return guess, np.where(close, error, np.inf)


def _illinois(
    rising: Callable[[FloatArray], FloatArray], far: FloatArray, unwanted: BoolArray
) -> FloatArray:
    """Return roots in [0, far] of rising functions, by the Illinois variant of regula falsi."""
    low, high = np.zeros_like(far), far
    below, above = rising(low), rising(high)
    root, last = far, np.zeros(far.shape)
    found = unwanted | ~(far > 0)
    for _ in range(12):
        span = above - below
        new = np.where(span > 0, (low * above - high * below) / np.where(span > 0, span, 1.0), low)
        still = np.abs(new - root) <= 1e-15 * far
        root = np.where(found, root, new)  # a root that is found no longer changes
        found = found | still
        if found.all():
            break
        value = rising(root)
        side = np.where(value < 0, -1.0, 1.0)
        again = side == last  # the same end has stayed twice: halve its value
        above = np.where(side > 0, value, np.where(again, above / 2, above))
        below = np.where(side < 0, value, np.where(again, below / 2, below))
        low, high = np.where(side < 0, root, low), np.where(side > 0, root, high)
        last = side
    return root
