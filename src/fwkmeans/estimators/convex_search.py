"""The weights that CK-Means tries, and how it compares the results."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._engine import Outcome, Run, assignment_of, first_lowest
from fwkmeans._init import Seeds
from fwkmeans.estimators.batches import run_plans
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.plan import Plan
from fwkmeans.typing import BoolArray, FloatArray, IntArray, Weights
from fwkmeans.weighting.simplex import FLOOR

logger = logging.getLogger("fwkmeans")

#: Lattices with more points than this raise an error.
MOST_CANDIDATES = 100_000
#: Steps of the search over many spaces: how much weight goes from one space to another.
STEPS = (0.2, 0.1, 0.05)
#: Maximum number of exchanges with each step.
EXCHANGES = 5
#: Number of random candidates in that search.
RANDOM = 32

_TIE = 1e-9  # of log Q; rounding changes it by less, another partition by more
_NOTHING = 1e-12  # of a space's total distortion: the difference to it is not known any better


class Spaces(NamedTuple):
    """The feature spaces of a table."""

    numbers: IntArray  # (M,) space of each column
    weighted: BoolArray  # (M,) columns that can carry weight
    totals: FloatArray  # (m,) distortion about the centroid of all rows
    used: BoolArray  # (m,) spaces that are not constant
    exponents: FloatArray  # (m,)
    guard: float  # this share of the totals counts both within and between clusters

    def on_columns(self, candidates: FloatArray) -> FloatArray:
        """Return the weight of each column: (n, M)."""
        return np.where(self.weighted, np.take(candidates, self.numbers, axis=-1), 0.0)

    def by_space(self, values: FloatArray) -> FloatArray:
        """Sum over the columns of each space: (n, m)."""
        sums = [values[:, self.numbers == space].sum(axis=-1) for space in range(self.totals.size)]
        return np.stack(sums, axis=-1)

    def log_fisher(self, within: FloatArray) -> FloatArray:
        r"""Return :math:`\sum_l e_l \log(\Gamma_l / \Lambda_l)`, both with the guard: (n,)."""
        total, exponents = self.totals[self.used], self.exponents[self.used]
        within = within[:, self.used]
        between = np.maximum(total - within, 0.0) + self.guard * total
        within = within + self.guard * total
        nothing = between <= _NOTHING * total
        floored = np.where(nothing, 1.0, np.maximum(within, FLOOR * total))
        logs = np.log(floored) - np.log(np.where(nothing, 1.0, between))
        summed: FloatArray = (exponents * logs).sum(axis=-1)
        return np.where(nothing.any(axis=-1), np.inf, summed)


class Trial(NamedTuple):
    """The result of one candidate."""

    number: int
    weights: FloatArray  # (m,)
    log_fisher: float
    unevenness: float  # squared distance to even weights
    run: Run

    def beats(self, other: Trial | None) -> bool:
        """Tell whether this is the better choice: lower Q, more even, lower W, in this order."""
        if other is None:
            return True
        if not _close(self.log_fisher, other.log_fisher, _TIE):
            return self.log_fisher < other.log_fisher
        if not _close(self.unevenness, other.unevenness, 1e-12):
            return self.unevenness < other.unevenness
        difference = other.run.objective - self.run.objective
        return difference > 1e-12 * abs(other.run.objective)

    def improves(self, other: Trial) -> bool:
        """Tell whether Q is clearly lower; ties do not count."""
        return self.log_fisher < other.log_fisher and not _close(
            self.log_fisher, other.log_fisher, _TIE
        )


def _close(a: float, b: float, tolerance: float) -> bool:
    return a == b or abs(a - b) <= tolerance


class Result(NamedTuple):
    """All candidates and the best of them."""

    candidates: FloatArray  # (n, m)
    log_fisher: FloatArray  # (n,)
    best: Trial
    on_boundary: bool


class Search:
    """Run the inner problem for many weights, as one batch of candidates x starts.

    Parameters
    ----------
    model, plan, spaces
        What is fitted, and how.
    centers : ndarray of shape (n_starts, n_clusters, n_features)
        Initial centers, the same for every candidate.
    """

    def __init__(self, model: Model, plan: Plan, spaces: Spaces, centers: FloatArray) -> None:
        self._model, self._plan, self._spaces, self._centers = model, plan, spaces, centers
        self._candidates: list[FloatArray] = []
        self._log_fisher: list[float] = []

    def over(self, candidates: FloatArray) -> Result:
        """Try all candidates of a grid."""
        even = self._spaces.used / self._spaces.used.sum()
        best = self._best(candidates, self._centers, lambda w: w - even)
        lowest, highest = candidates.min(axis=0), candidates.max(axis=0)
        offered = highest > lowest
        edge = offered & ((best.weights <= lowest) | (best.weights >= highest))
        return self._result(best, bool(edge.any()))

    def anywhere(self, seeds: Seeds) -> Result:
        """Try some candidates, then move weight between spaces while that lowers Q.

        Shares are weights times total distortion, so with even shares all spaces count the same.
        """
        spaces = self._spaces
        totals = spaces.totals[spaces.used]
        even = np.full(totals.size, 1.0 / totals.size)

        def share(weights: FloatArray) -> FloatArray:
            shares = weights[spaces.used] * totals
            scaled: FloatArray = shares / shares.sum()
            return scaled

        def weigh(shares: FloatArray) -> FloatArray:
            weights = np.zeros((len(shares), spaces.used.size))
            weights[:, spaces.used] = shares / totals * totals.min()
            scaled: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
            return scaled

        def unevenness(weights: FloatArray) -> FloatArray:
            deviation: FloatArray = share(weights) - even
            return deviation

        shares = np.concatenate(
            [
                even[None],
                (totals / totals.sum())[None],  # even weights
                (np.eye(even.size) + even) / 2.0,
                seeds.common("candidates").dirichlet(np.ones(even.size), RANDOM),
            ]
        )
        best = self._best(weigh(shares), self._centers, unevenness)
        for step in STEPS:
            for _ in range(EXCHANGES):
                shares = _exchanges(share(best.weights), step)
                starts = np.concatenate([best.run.centers[None], self._centers[:1]])
                found = self._best(weigh(shares), starts, unevenness)
                if not found.improves(best):
                    break
                best = found
        return self._result(best, bool((best.weights[spaces.used] == 0).any()))

    def _result(self, best: Trial, on_boundary: bool) -> Result:
        candidates = np.concatenate(self._candidates)
        return Result(candidates, np.asarray(self._log_fisher), best, on_boundary)

    def _best(
        self,
        candidates: FloatArray,
        centers: FloatArray,
        unevenness: Callable[[FloatArray], FloatArray],
    ) -> Trial:
        best: Trial | None = None
        numbers = itertools.count(len(self._log_fisher))
        self._candidates.append(candidates)
        for (run, log_fisher), weights in zip(
            self._runs(candidates, centers), candidates, strict=True
        ):
            self._log_fisher.append(log_fisher)
            uneven = float((unevenness(weights) ** 2).sum())
            trial = Trial(next(numbers), weights, log_fisher, uneven, run)
            best = trial if trial.beats(best) else best
        assert best is not None
        logger.info(
            "%d candidates done, log Q %.10g, weights %s",
            len(self._log_fisher),
            best.log_fisher,
            np.round(best.weights, 4).tolist(),
        )
        return best

    def _runs(self, candidates: FloatArray, centers: FloatArray) -> Iterator[tuple[Run, float]]:
        """Yield the best start of each candidate, and its log Q."""
        n_starts = len(centers)
        by_column = self._spaces.on_columns(candidates)
        step = max(1, self._plan.n_together // n_starts)
        for first in range(0, len(candidates), step):
            weights = by_column[first : first + step]
            outcomes = self._outcomes(weights, centers)
            runs = [_best_start(outcomes, number, len(weights)) for number in range(len(weights))]
            yield from zip(runs, self._fisher(runs), strict=True)

    def _outcomes(self, weights: FloatArray, centers: FloatArray) -> list[Outcome]:
        """Run every start for every candidate, candidate by candidate.

        If there are several candidates, they are one batch.
        """
        n_starts, n_clusters, _ = centers.shape
        values = np.repeat(np.repeat(weights, n_starts, axis=0)[:, None], n_clusters, axis=1)
        begin = np.tile(centers, (len(weights), 1, 1)), Weights(values)
        plan = self._plan._replace(n_starts=len(values), begin=begin)
        return [batch.outcome for batch in run_plans(self._model, [plan])]

    def _fisher(self, runs: list[Run]) -> list[float]:
        """Return log Q of the clusters of these rows, about their own centroids."""
        source, (dissimilarity, center, rule), table = self._plan[:3]
        weights = Weights(np.concatenate([run.weights.values for run in runs]))
        public = np.stack([run.centers for run in runs]).astype(source.dtype)
        assignment = assignment_of(rule, public.astype(np.float64), weights)
        statistics = source.reduce(dissimilarity.accumulation(assignment))
        centers = center.update(statistics, assignment, source)
        dispersion = dissimilarity.dispersion(statistics, assignment, centers, source, table)
        within = self._spaces.by_space(dispersion.sum(axis=1))
        return [float(value) for value in self._spaces.log_fisher(within)]


def _best_start(outcomes: list[Outcome], candidate: int, n_candidates: int) -> Run:
    """Return the start with the lowest objective of one candidate."""
    counts = [outcome.objective.size // n_candidates for outcome in outcomes]
    objectives = [
        outcome.objective[candidate * count : (candidate + 1) * count]
        for outcome, count in zip(outcomes, counts, strict=True)
    ]
    at = first_lowest(np.concatenate(objectives))
    for outcome, count in zip(outcomes, counts, strict=True):
        if at < count:
            return _only(outcome, candidate * count + at).best()
        at -= count
    raise AssertionError


def _only(outcome: Outcome, start: int) -> Outcome:
    one = np.asarray([start])
    parts: dict[str, Any] = {
        name: part[one] for name, part in outcome._asdict().items() if isinstance(part, np.ndarray)
    }
    return Outcome(weights=outcome.weights.take(one), **parts)


def _exchanges(shares: FloatArray, step: float) -> FloatArray:
    """Return the shares with part of one of the largest moved to any other: (n, m).

    At most 1/step shares are as large as the step, so only that many are reduced.
    """
    givers = np.argsort(-shares, kind="stable")[: math.ceil(1.0 / step)]
    moved = []
    for giver in givers[shares[givers] > 0]:
        for taker in range(shares.size):
            if taker != giver:
                other = shares.copy()
                amount = min(step, shares[giver])
                other[giver] -= amount
                other[taker] += amount
                moved.append(other)
    return np.stack(moved)


def grid_of(grid: Any, spaces: Spaces) -> FloatArray | None:
    """Return the candidates, (n, n_spaces); None if they come from a search."""
    used, varies = spaces.used, bool(spaces.totals.any())
    n_used = int(used.sum())
    if isinstance(grid, str):
        if grid != "auto":
            raise ValueError(f"grid={grid!r}: expected 'auto', an integer or an array of weights.")
        if n_used > 4:
            return None if varies else _spread(np.full((1, n_used), 1.0 / n_used), used)
        if n_used == 2:
            first = np.arange(1, 20) / 20.0
            return _spread(np.stack([first, 1.0 - first], axis=-1), used)
        return _spread(_lattice(10, n_used), used)
    if isinstance(grid, Integral) and not isinstance(grid, bool | np.bool_):
        return _spread(_lattice(_resolution(int(grid), n_used), n_used), used)
    return _given(grid, used)


def _resolution(resolution: int, n_spaces: int) -> int:
    if resolution < 1:
        raise ValueError(f"grid={resolution}: expected a resolution >= 1.")
    n_points = math.comb(resolution + n_spaces - 1, n_spaces - 1)
    if n_points > MOST_CANDIDATES:
        raise ValueError(
            f"grid={resolution} has {n_points} points for {n_spaces} spaces; at most "
            f"{MOST_CANDIDATES} are tried. Use grid='auto', fewer spaces or an array of weights."
        )
    return resolution


def _lattice(resolution: int, n_spaces: int) -> FloatArray:
    """Return all weights that are multiples of 1/resolution, in lexicographic order."""
    places = resolution + n_spaces - 1
    bars = itertools.combinations(range(places), n_spaces - 1)
    points = [np.diff([-1, *bar, places]) - 1 for bar in bars]
    return np.asarray(points, dtype=np.float64) / resolution


def _spread(weights: FloatArray, used: BoolArray) -> FloatArray:
    spread = np.zeros((len(weights), used.size))
    spread[:, used] = weights
    return spread


def _given(grid: Any, used: BoolArray) -> FloatArray:
    refusal = f"grid={grid!r}: expected 'auto', an integer or an array of weights."
    try:
        values = np.asarray(grid, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(refusal) from error
    if values.ndim == 0:
        raise TypeError(refusal)
    if values.ndim != 2 or values.shape[1] != used.size or not len(values):
        raise ValueError(
            f"grid has shape {values.shape}; expected (n_candidates, {used.size}): one weight for "
            "each space."
        )
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("grid has negative, infinite or missing entries; weights are >= 0.")
    values = np.where(used, values, 0.0)
    largest = values.max(axis=-1, keepdims=True)
    if not (largest > 0).all():
        row = int(np.argmin(largest[:, 0]))
        raise ValueError(
            f"grid gives no weight, in row {row}, to any space that is not constant. Leave that "
            "row out."
        )
    values = values / largest
    scaled: FloatArray = values / values.sum(axis=-1, keepdims=True)
    return scaled
