r"""Whether a table has clusters at all.

K-Means is run on the table and on tables without clusters: one normal cloud with the same
correlations, and an even spread over the same box. Scatter within K clusters that is clearly below
that of both kinds of tables, for some K, speaks for clusters. Skewed columns are made symmetric
first, so that a long tail is no cluster, and columns of few values keep them in the tables without
clusters, so that "yes" and "no" are no clusters either.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.preprocessing import PowerTransformer

from fwkmeans._support.threads import one_blas_thread
from fwkmeans._tabular.coding import Coding
from fwkmeans.estimators.kmeans import KMeans
from fwkmeans.exceptions import FewerClustersWarning
from fwkmeans.selection.indices import draw_rows
from fwkmeans.selection.standardized import in_memory, take_rows
from fwkmeans.typing import FloatArray

#: Numbers of clusters that are tried.
NUMBERS = (2, 3, 4, 5, 6)
#: Standard deviations below tables without clusters from which there may be, and are, clusters.
DOUBTFUL, CLEAR = 1.5, 3.0
#: Values up to which a column of numbers is one of few values; more columns than so are summed up.
FEW_VALUES, MOST_COLUMNS, COMPONENTS = 12, 50, 20
#: Standard deviations beyond which a value is an outlier, and drawn in.
FARTHEST = 3.0


class Tendency(NamedTuple):
    """How far a table is from tables without clusters."""

    score: float  # the lower of the two; -infinity if nothing varies
    normal: float  # standard deviations from normal tables
    uniform: float  # the same for uniform ones

    @property
    def verdict(self) -> str:
        """Whether there are clusters: "clear", "doubtful" or "none"."""
        if self.score >= CLEAR:
            return "clear"
        return "doubtful" if self.score >= DOUBTFUL else "none"


def cluster_tendency(
    X: Any, *, n_references: int = 8, max_rows: int = 400, random_state: Any = 0
) -> Tendency:
    """Return whether a table has clusters at all.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        The table; cells may be missing.
    n_references : int, default=8
        Number of tables without clusters, of each kind.
    max_rows : int, default=400
        If there are more rows, so many are drawn.
    random_state : int, default=0
        What the draws depend on.

    Returns
    -------
    Tendency
        ``verdict`` is "clear", "doubtful" or "none"; ``score`` is the number behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.selection.tendency import cluster_tendency
    >>> cluster_tendency(load_uci("iris").data).verdict
    'clear'
    >>> cluster_tendency(np.random.default_rng(0).normal(size=(150, 4))).verdict
    'none'
    """
    table = in_memory(X)
    with one_blas_thread():  # the same digits on any number of cores, and faster on small tables
        return _tendency(table, n_references, max_rows, random_state)


def _tendency(table: Any, n_references: int, max_rows: int, random_state: Any) -> Tendency:
    rng = np.random.default_rng(random_state)
    rows = draw_rows(table.shape[0], max_rows, random_state)
    smooth, few, categories = _columns(table, rows)
    if not smooth.shape[1] + few.shape[1] + len(categories) or len(rows) < 2 * max(NUMBERS):
        return Tendency(-np.inf, -np.inf, -np.inf)
    own = _scatters(np.hstack([smooth, few, *categories]))
    scores = []
    for draw in (_normal, _even):
        others = []
        for _ in range(n_references):
            drawn, coarse = draw(smooth, few, rng)
            shuffled = [rng.permutation(one) for one in categories]
            others.append(_scatters(np.hstack([drawn, coarse, *shuffled])))
        mean, spread = np.mean(others, axis=0), np.std(others, axis=0, ddof=1)
        spread = np.maximum(spread, max(spread.mean(), 1e-3))  # few tables tell little about it
        scores.append(float(((mean - own) / spread).max()))
    return Tendency(min(scores), *scores)


def _columns(table: Any, rows: Any) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Return columns of many values, of few, and indicators of each column of categories."""
    coding = Coding.learn(table, "from_dtype")
    drawn = take_rows(table, rows) if len(rows) < table.shape[0] else table
    numbers = coding.rows(drawn).astype(np.float64)
    numbers = numbers[:, np.isfinite(numbers).any(axis=0)]
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    numbers = np.where(np.isnan(numbers), np.nanmedian(numbers, axis=0), numbers)
    numbers = numbers[:, np.ptp(numbers, axis=0) > 0]
    is_few = np.array([_has_few_values(column) for column in numbers.T], dtype=bool)
    smooth, few = _symmetric(numbers[:, ~is_few]), _scaled(numbers[:, is_few])
    categories = []
    for codes in coding.codes(drawn).T:
        levels = np.unique(codes)
        if 1 < levels.size <= MOST_COLUMNS:
            block = (codes[:, None] == levels).astype(np.float64)
            block -= block.mean(axis=0)
            categories.append(block / np.sqrt((block**2).sum() / len(block)))
    return smooth, few, categories


def _has_few_values(column: FloatArray) -> bool:
    values, times = np.unique(column, return_counts=True)
    return bool(values.size <= FEW_VALUES or 2 * times.max() > column.size)


def _symmetric(numbers: FloatArray) -> FloatArray:
    """Return columns with mean 0 and variance 1 without long tails; components of very many."""
    if not numbers.shape[1]:
        return numbers
    scaled = _scaled(numbers)
    if numbers.shape[1] <= MOST_COLUMNS:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = PowerTransformer().fit_transform(scaled)
        usable = np.isfinite(found).all(axis=0)
        return np.clip(np.where(usable, found, scaled), -FARTHEST, FARTHEST)
    scaled = np.clip(scaled, -FARTHEST, FARTHEST)
    places, lengths, _ = np.linalg.svd(scaled - scaled.mean(axis=0), full_matrices=False)
    return np.asarray((places * lengths)[:, :COMPONENTS])


def _scaled(numbers: FloatArray) -> FloatArray:
    largest = np.abs(numbers).max(axis=0, initial=0.0)
    numbers = numbers / np.where(largest > 0, largest, 1.0)  # so that no square overflows
    spread = numbers.std(axis=0)
    return np.asarray((numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _normal(
    smooth: FloatArray, few: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a normal table with the same correlations; columns of few values keep their values."""
    n_rows, n_smooth = smooth.shape
    scores = norm.ppf((rankdata(few, axis=0) - 0.5) / n_rows) if few.size else few
    latent = np.hstack([smooth, scores])
    lengths, axes = _axes(latent)
    drawn = rng.standard_normal((n_rows, lengths.size)) @ (axes * lengths[:, None])
    drawn /= np.sqrt(n_rows)
    places = np.argsort(np.argsort(drawn[:, n_smooth:], axis=0), axis=0)
    coarse = np.take_along_axis(np.sort(few, axis=0), places, axis=0)
    return np.clip(drawn[:, :n_smooth], smooth.min(axis=0), smooth.max(axis=0)), coarse


def _even(
    smooth: FloatArray, few: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a uniform table over the box of the principal components."""
    _, coarse = _normal(smooth, few, rng)
    if not smooth.size:
        return smooth, coarse
    _, axes = _axes(smooth)
    places = smooth @ axes.T
    drawn = rng.uniform(places.min(axis=0), places.max(axis=0), size=places.shape)
    return drawn @ axes, coarse


def _axes(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lengths and directions of the principal axes, pointing the same way everywhere."""
    _, lengths, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    turned = axes.max(axis=1, initial=0.0) < -axes.min(axis=1, initial=0.0)
    return lengths, np.where(turned[:, None], -axes, axes)


def _scatters(rows: FloatArray) -> FloatArray:
    """Return the logarithm of the share of the scatter that K clusters leave."""
    total = ((rows - rows.mean(axis=0)) ** 2).sum()
    models = [KMeans(n, n_init=3, max_iter=50, tol=1e-3, random_state=0, n_jobs=1) for n in NUMBERS]
    with warnings.catch_warnings():  # of tables with few different rows: nobody asked for so many
        warnings.simplefilter("ignore", FewerClustersWarning)
        left = [model.fit(rows).inertia_ for model in models]
    return np.asarray(np.log(np.maximum(left, 1e-12 * total) / total))
