"""Problems for the kernels, their exact answers in NumPy, and Python in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fwkmeans.typing import Block, Pass

LAYOUTS = {
    "C": lambda n, m, dtype: np.empty((n, m), dtype),
    "Fortran": lambda n, m, dtype: np.empty((n, m), dtype, order="F"),
    "every other row": lambda n, m, dtype: np.empty((2 * n, m), dtype)[::2],
    "every other column": lambda n, m, dtype: np.empty((n, 2 * m), dtype)[:, ::2],
    "both, Fortran": lambda n, m, dtype: np.empty((3 * n, 2 * m), dtype, order="F")[::3, ::2],
    "rows backwards": lambda n, m, dtype: np.empty((n, m), dtype)[::-1],
    "all backwards": lambda n, m, dtype: np.empty((n, m), dtype, order="F")[::-1, ::-1],
    "slice of columns": lambda n, m, dtype: np.empty((n, m + 5), dtype)[:, 2 : 2 + m],
}


class Problem(NamedTuple):
    """The arguments of the kernels."""

    rows: Any
    sample_weight: Any
    first_row: int
    centers: Any
    weights: Any
    offsets: Any
    reference: Any
    shift: Any
    eligible: Any
    power: Any = None
    levels: Any = None
    costs: Any = None
    category_weights: Any = None
    gaps: bool = False
    rescale: bool = False

    def block(self, n_threads=1):
        return Block(
            self.rows,
            self.sample_weight,
            self.first_row,
            n_threads,
            self.levels,
            self.gaps,
            self.gaps,
        )

    @property
    def assigning(self):
        return Pass(
            self.centers,
            self.weights,
            self.offsets,
            self.shift,
            self.power,
            self.costs,
            self.category_weights,
            self.rescale,
        )

    def accumulate(self, kernels, n_threads=1, last=None):
        return kernels.assign_and_accumulate(
            self.block(n_threads), self.assigning, self.reference, last
        )

    def farthest(self, kernels, n_threads=1):
        return kernels.find_farthest(self.block(n_threads), self.assigning, self.eligible)

    def assign(self, kernels, n_threads=1):
        one = self.of_start(0)
        return kernels.assign(one.block(n_threads), one.assigning)

    def distances(self, kernels, n_threads=1):
        one = self.of_start(0)
        return kernels.distances(one.block(n_threads), one.assigning)

    def describe(self, kernels, n_threads=1):
        return kernels.describe(self.block(n_threads), self.reference[0, 0, :])

    def powers(self, kernels, labels, n_threads=1):
        return kernels.powers(self.block(n_threads), self.centers, self.power, labels)

    def slopes(self, kernels, labels, n_threads=1):
        return kernels.slopes(self.block(n_threads), self.centers, self.power, labels)

    def of_start(self, start):
        return self.of_starts(slice(start, start + 1))

    def of_starts(self, starts):
        batched = ("centers", "weights", "offsets", "reference", "eligible")
        optional = ("power", "costs", "category_weights")
        names = [*batched, *(name for name in optional if getattr(self, name) is not None)]
        return self._replace(**{name: getattr(self, name)[starts, ...] for name in names})


def relaid(rows, layout):
    """Return the same rows in another memory layout."""
    table = LAYOUTS[layout](*rows.shape, rows.dtype)
    table[...] = rows
    return table


def make_problem(
    seed,
    n_rows,
    n_features,
    n_clusters,
    n_starts=1,
    *,
    dtype=np.float64,
    shared=False,
    layout="C",
    sample_weight=False,
    offsets=False,
    zero_weights=False,
    other_reference=False,
    first_row=0,
    scale=1.0,
    origin=0.0,
):
    """Return a random problem without ties."""
    rng = np.random.default_rng(seed)
    shape = (n_starts, n_clusters, n_features)
    rows = relaid((scale * (rng.normal(size=(n_rows, n_features)) + origin)).astype(dtype), layout)
    centers = scale * (rng.normal(size=shape) + origin)
    weights = rng.uniform(0.05, 1, size=(n_starts, 1 if shared else n_clusters, n_features))
    if zero_weights:
        weights[rng.random(weights.shape) < 0.4] = 0.0
        weights[..., 0] = 0.5  # a cluster without any weight ties with others like it
    weighting = None
    if sample_weight:
        weighting = rng.integers(0, 4, n_rows) * rng.uniform(0.5, 1.5, n_rows)
    return Problem(
        rows,
        weighting,
        first_row,
        centers,
        weights,
        scale**2 * rng.normal(size=shape[:2]) * (1.0 if offsets else 0.0),
        centers + scale * rng.normal(size=shape) if other_reference else centers,
        np.full(n_features, scale * origin),
        rng.random(shape[:2]) < 0.7,
    )


def make_mixed_problem(
    seed,
    n_rows,
    n_features,
    n_clusters,
    powers=(2.0,),
    *,
    n_categorical=0,
    n_levels=4,
    missing=0.0,
    rescale=False,
    **options,
):
    """Return a random problem with a power for each start, categories, and missing cells.

    `n_levels` levels a column. Missing cells have their rows' sample weights with them, and every
    row keeps one cell.
    """
    rng = np.random.default_rng((seed, 1))
    problem = make_problem(seed, n_rows, n_features, n_clusters, len(powers), **options)
    problem = problem._replace(power=np.asarray(powers, dtype=np.float64), rescale=rescale)
    if n_categorical:
        first = n_levels * np.arange(n_categorical)
        levels = first + rng.integers(0, n_levels, (n_rows, n_categorical))
        own = rng.uniform(0.05, 1, (*problem.weights.shape[:2], n_categorical))
        frequencies = rng.random((len(powers), n_clusters, n_categorical, n_levels))
        costs = np.broadcast_to(own[..., None], frequencies.shape) * frequencies
        problem = problem._replace(
            levels=levels.astype(np.int32),
            costs=costs.reshape(len(powers), n_clusters, -1),
            category_weights=own,
        )
    return with_gaps(problem, missing, rng) if missing else problem


def with_gaps(problem, share, rng):
    """Return the problem with cells taken out at random, all but one in a row at most."""
    n_rows, n_features = problem.rows.shape
    n_categorical = 0 if problem.levels is None else problem.levels.shape[1]
    gone = rng.random((n_rows, n_features + n_categorical)) < share
    gone[np.arange(n_rows), rng.integers(0, gone.shape[1], n_rows)] = False
    problem.rows[gone[:, :n_features]] = np.nan
    if problem.levels is not None:
        problem = problem._replace(levels=np.where(gone[:, n_features:], -1, problem.levels))
    weight = np.ones(n_rows) if problem.sample_weight is None else problem.sample_weight
    return problem._replace(gaps=True, sample_weight=weight * gone.shape[1] / (~gone).sum(axis=1))


def power_of(problem, start):
    return 2.0 if problem.power is None else float(problem.power[start])


def exact_parts(problem, start=0):
    """Return d of one start, (n, K), and what rescaling multiplies it by, in extended precision."""
    wide, p = np.longdouble, power_of(problem, start)
    rows = np.asarray(problem.rows).astype(wide)
    there = ~np.isnan(rows)
    centers = problem.centers[start].astype(wide)
    weights = np.broadcast_to(problem.weights[start], centers.shape).astype(wide)
    costs, factors = [], []
    for k, (c, w) in enumerate(zip(centers, weights, strict=True)):
        apart = np.where(there, np.abs(rows - c), 0)
        if p == np.inf:
            d = (w * apart).max(axis=1, initial=0)
            part, every = np.where(there, w, 0).max(axis=1, initial=0), w.max(initial=0)
        else:
            d = (w * (apart**2 if p == 2 else apart ** wide(p))).sum(axis=1)
            part, every = np.where(there, w, 0).sum(axis=1), w.sum()
        if problem.levels is not None:
            seen = problem.levels >= 0
            own = problem.costs[start, k].astype(wide)[problem.levels]
            d = d + np.where(seen, own, 0).sum(axis=1)
            if problem.rescale:
                category = problem.category_weights[start]
                category = category[k if len(category) > 1 else 0].astype(wide)
                part, every = part + np.where(seen, category, 0).sum(axis=1), every + category.sum()
        costs.append(d)
        factors.append(np.where(part > 0, every / np.where(part > 0, part, 1), np.inf))
    return np.stack(costs, axis=1), np.stack(factors, axis=1)


def exact_dissimilarities(problem, start=0):
    """Return d + offset of one start, (n, K), in extended precision, as rows are assigned by."""
    d, factors = exact_parts(problem, start)
    if problem.gaps and problem.rescale:
        d = np.where(factors < np.inf, d * np.where(factors < np.inf, factors, 1), np.inf)
    return d + problem.offsets[start]


def exact_labels(problem, start=0):
    return exact_dissimilarities(problem, start).argmin(axis=1).astype(np.int32)


class Sums(NamedTuple):
    """What the rows of each cluster add up to, (R, K, ...)."""

    mass: Any
    rows: Any
    sums: Any
    squares: Any
    observed: Any
    counts: Any


def exact_sums(problem, labels):
    """Return the sums of an accumulation by known labels, row by row in extended precision."""
    wide = np.longdouble
    n_starts, n_clusters, n_features = problem.centers.shape
    rows = np.asarray(problem.rows).astype(wide)
    there = ~np.isnan(rows)
    s = np.ones(len(rows)) if problem.sample_weight is None else problem.sample_weight
    s = s.astype(wide)
    n_levels = 0 if problem.costs is None else problem.costs.shape[2]
    shape = (n_starts, n_clusters)
    mass, counted = np.zeros(shape, wide), np.zeros(shape, np.int64)
    sums, squares, observed = (np.zeros((*shape, n_features), wide) for _ in range(3))
    counts = np.zeros((*shape, n_levels), wide)
    for r in range(n_starts):
        for k in range(n_clusters):
            mine = labels[r] == k
            t = np.where(there[mine], rows[mine] - problem.reference[r, k], 0)
            own = s[mine][:, None]
            mass[r, k], counted[r, k] = s[mine].sum(), (s[mine] > 0).sum()
            sums[r, k], squares[r, k] = (own * t).sum(axis=0), (own * t * t).sum(axis=0)
            observed[r, k] = (own * there[mine]).sum(axis=0)
            if problem.levels is not None:
                for v in range(problem.levels.shape[1]):
                    level = problem.levels[mine, v]
                    np.add.at(counts[r, k], level[level >= 0], s[mine][level >= 0])
    return Sums(mass, counted, sums, squares, observed, counts)


def assert_labels_exact(labels, problem, start=0, tol=1e-12):
    """Assert the exact argmin wherever the best two differ by more than tol."""
    d = exact_dissimilarities(problem, start)
    labels = np.asarray(labels)
    assert labels.min() >= 0
    assert labels.max() < d.shape[1]
    best = d.min(axis=1)
    chosen = np.take_along_axis(d, labels[:, None].astype(np.int64), axis=1)[:, 0]
    size = np.maximum(np.abs(chosen), np.abs(best)) + np.abs(problem.offsets[start]).max()
    with np.errstate(invalid="ignore"):  # nothing observed of any cluster's weight: inf - inf
        wrong = chosen - best > tol * size
    assert not wrong.any(), f"{wrong.sum()} of {wrong.size} rows, first {np.flatnonzero(wrong)[:5]}"


def assert_same_statistics(got, expected, rtol=1e-12):
    """Assert equal counts and fingerprints, and sums that differ by rounding alone."""
    np.testing.assert_array_equal(got.rows, expected.rows)
    np.testing.assert_array_equal(got.fingerprint, expected.fingerprint)
    np.testing.assert_array_equal(got.changed, expected.changed)
    for part in ("mass", "squares", "observed", "counts"):
        np.testing.assert_allclose(getattr(got, part), getattr(expected, part), rtol=rtol)
    # |sum of s t| <= sqrt(mass) sqrt(squares), the size rounding is measured by
    size = np.sqrt(expected.mass)[..., None] * np.sqrt(expected.squares)
    assert np.all(np.abs(got.sums - expected.sums) <= rtol * size)


def assert_bitwise(got, expected):
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=isinstance(a, np.ndarray))


def python(code, *args, timeout=120, **environment):
    """Run code in a fresh interpreter that sees this one's modules; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        env=child_environment(**environment),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def child_environment(**changes):
    here = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **changes}
