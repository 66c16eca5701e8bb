"""Defects that were mended once, each of which must not come back."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fwkmeans import (
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.selection import sweep
from fwkmeans.sources import BlockSource, ChunkedSource, MemorySource
from fwkmeans.typing import Block, BlockReduction, Layout, Statistics
from fwkmeans.weighting import UniformWeights
from laws.configurations import assert_identical, make_rows


def doubled(rows):
    return 2.0 * rows


# ---- sources as users hand them over ------------------------------------------------------------


def test_what_a_file_is_seen_through_is_not_forgotten(rng):
    X = make_rows(rng, 90, 4)
    expected = KMeans(3, random_state=0).fit(ChunkedSource(doubled(X), block_bytes=500))
    source = ChunkedSource(X, block_bytes=500, seen=doubled)
    model = KMeans(3, random_state=0).fit(source)
    assert_identical(model, expected)
    np.testing.assert_array_equal(model.predict(source), expected.labels_)
    unit = ConvexKMeans(3, spaces=[[0, 1, 2, 3]], spherical=True, random_state=0, n_init=1)
    assert np.isfinite(unit.fit(source).inertia_)  # one function after another


@pytest.mark.parametrize("estimator", [AWKMeans, WKMeans, IKPrototypes])
def test_levels_of_a_source_are_categories(estimator, rng):
    pandas = pytest.importorskip("pandas")
    numbers, codes = make_rows(rng, 80, 2), rng.integers(0, 3, (80, 1))
    table = pandas.DataFrame(numbers, columns=list("ab")).assign(c=codes[:, 0])
    expected = estimator(3, categorical_features=["c"], random_state=0).fit(table)
    layout = Layout(np.array([0, 1]), np.array([2]), np.array([0, 4]))
    source = MemorySource(numbers, levels=codes, layout=layout)
    model = estimator(3, random_state=0).fit(source)
    assert_identical(model, expected)
    assert list(model.category_frequencies_[2]) == [0, 1, 2]
    np.testing.assert_array_equal(model.predict(source), model.labels_)


def test_levels_where_they_cannot_be_used_are_refused(rng):
    layout = Layout(np.array([0, 1]), np.array([2]), np.array([0, 4]))
    source = MemorySource(make_rows(rng, 9, 2), levels=np.zeros((9, 1), int), layout=layout)
    with pytest.raises(ValueError, match=r"categorical columns; EWKMeans needs numbers"):
        EWKMeans(2).fit(source)
    other = Layout(np.array([0, 1]), np.array([2]), np.array([0, 5]))
    model = AWKMeans(1).fit(source)
    with pytest.raises(ValueError, match="not those that AWKMeans was fitted with"):
        model.predict(MemorySource(source.rows, levels=source.levels, layout=other))


@pytest.mark.parametrize("as_source", [MemorySource, ChunkedSource])
@pytest.mark.parametrize("estimator", [KMeans, IMWKMeans])
def test_patterns_do_not_change_the_weights_of_the_caller(as_source, estimator, rng):
    X, weight = make_rows(rng, 60, 3), rng.random(60)
    before = weight.copy()
    estimator(3, init="anomalous").fit(as_source(X, weight))
    estimator(3, init="anomalous").fit(X, sample_weight=weight)
    np.testing.assert_array_equal(weight, before)


def test_labels_of_a_large_file_leave_memory(rng, tmp_path):
    """Row memory beyond the size of a block goes to a file; the fit stays the same."""
    X = make_rows(rng, 4000, 3)
    np.save(tmp_path / "rows.npy", X)
    source = ChunkedSource(tmp_path / "rows.npy", block_bytes=6000)
    _, kept = source.run(_Labels())
    arrays = [memory["labels"] for memory in kept._memory]
    assert not isinstance(arrays[0], np.memmap)
    assert isinstance(arrays[-1], np.memmap)
    np.testing.assert_array_equal(kept.gather("labels", axis=1), [np.arange(4000)])
    expected = IMWKMeans(3, p=1.5, max_iter=3).fit(X)
    model = IMWKMeans(3, p=1.5, max_iter=3).fit(source)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


class _Labels(BlockReduction):
    def on_block(self, block, memory):
        here = np.arange(block.first_row, block.first_row + len(block.rows), dtype=np.int32)
        return None, {"labels": here[None]}


# ---- batches ------------------------------------------------------------------------------------


def test_smoothing_is_swept_at_p_infinity(rng):
    X = make_rows(rng, 60, 4)
    values = [0.0, 0.5, 2.0]
    runs = sweep(IMWKMeans(3, p=np.inf, init="anomalous"), X, "smoothing", values)
    for at, value in enumerate(values):
        model = IMWKMeans(3, p=np.inf, init="anomalous", smoothing=value).fit(X)
        np.testing.assert_array_equal(runs.labels[at, 0], model.labels_)
        assert runs.objective[at, 0] == model.objective_history_[-1]


class Fragile(UniformWeights):
    """Has no objective where the dispersion is large."""

    def __init__(self, limit=np.inf):
        self.limit = limit

    def objective(self, weighted_dispersion, weights, context):
        return np.where(weighted_dispersion > self.limit, np.nan, weighted_dispersion)


def test_a_start_without_objective_does_not_end_the_others(rng):
    X = make_rows(rng, 100, 3)
    options = {"init": "random", "n_init": 12, "random_state": 0, "max_iter": 50}
    good = FeatureWeightedKMeans(4, weighting=UniformWeights(), **options).fit(X)
    first = [
        FeatureWeightedKMeans(
            4, weighting=UniformWeights(), **(options | {"n_init": 1, "random_state": seed})
        )
        .fit(X)
        .objective_history_[0]
        for seed in range(12)
    ]
    limit = float(np.median(first))
    model = FeatureWeightedKMeans(4, weighting=Fragile(limit), **options).fit(X)
    assert np.isfinite(model.objective_history_).all()
    assert good.inertia_ <= model.inertia_ * (1 + 1e-12)
    with pytest.raises(ValueError, match=r"not finite.*RangeStandardizer"):
        FeatureWeightedKMeans(4, weighting=Fragile(0.0), **options).fit(X)


# ---- what the survey's author ran ---------------------------------------------------------------


def cell(name, p, **options):
    table = load_uci(name)
    rows = TableEncoder(impute="median", category_weight=1).fit_transform(table.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        published = {"init": "anomalous", "guard": 0}
        model = IMWKMeans(table.n_clusters, p=p, **published, **options).fit(rows)
    return model, round(float(adjusted_rand_score(table.target, model.labels_)), 2)


def test_fewer_clusters_where_fewer_patterns_exist():
    model, ari = cell("ecoli", 2.5, few_patterns="accept")
    assert (model.n_clusters_, len(model.cluster_centers_), ari) == (3, 3, 0.04)
    assert cell("ecoli", 2.5)[0].n_clusters_ == 8
    X = np.array([[0.0], [0.1], [5.0]])
    with pytest.warns(ConvergenceWarning, match="2 clusters instead of n_clusters=3"):
        IMWKMeans(3, init="anomalous", few_patterns="accept", min_pattern_size=1).fit(X)


@pytest.mark.parametrize(
    ("name", "p", "published"),
    [("tic_tac_toe", 1.8, 0.02), ("balance_scale", 2.5, 0.09), ("car", 3.2, 0.13)],
)
def test_the_last_of_equally_far_rows_starts_a_pattern(name, p, published):
    assert cell(name, p, few_patterns="accept", pattern_ties="last")[1] == published
    assert cell(name, p)[1] != published


# ---- statistics as an algebra -------------------------------------------------------------------


def statistics_of(X, weight, labels, reference, cells=False):
    """Return the statistics of one start by a plain loop."""
    n_clusters, n_features = reference.shape
    zero = np.zeros((1, n_clusters, n_features))
    out = Statistics(
        np.zeros((1, n_clusters)),
        np.zeros((1, n_clusters), dtype=np.int64),
        zero.copy(),
        zero.copy(),
        zero.copy() if cells else None,
        np.zeros((1, n_clusters, 0)),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        reference[None],
    )
    for row, s, k in zip(X, weight, labels, strict=True):
        out.mass[0, k] += s
        out.rows[0, k] += s > 0
        there = ~np.isnan(row)
        step = np.where(there, row - reference[k], 0.0)
        out.sums[0, k] += s * step
        out.squares[0, k] += s * step**2
        if cells:
            out.cells[0, k] += s * there
    return out


def assert_close(a, b):
    for name, one, other in zip(a._fields, a, b, strict=True):
        assert (one is None) == (other is None), name
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("cells", [False, True])
def test_statistics_are_added_scaled_moved_and_taken(cells, rng):
    X, weight = make_rows(rng, 40, 3), rng.random(40)
    if cells:
        X[rng.random(X.shape) < 0.3] = np.nan
    labels = rng.integers(0, 3, 40)
    reference, other = rng.normal(size=(2, 3, 3))
    whole = statistics_of(X, weight, labels, reference, cells)
    parts = [
        statistics_of(X[at], weight[at], labels[at], reference, cells)
        for at in (slice(0, 11), slice(11, 40))
    ]
    assert_close(parts[0].plus(parts[1]), whole)
    assert_close(whole.scaled(0.5), statistics_of(X, 0.5 * weight, labels, reference, cells))
    assert_close(whole.about(other[None]), statistics_of(X, weight, labels, other, cells))
    moved = whole.about(other[None]).about(reference[None])
    assert_close(moved, whole)
    two = Statistics._make(
        None if part is None else np.concatenate([part, 2 * part]) for part in whole
    )
    second = np.array([1])
    assert_close(two.put(second, whole).take(second), whole)
    assert_close(two.put(second, whole).take(np.array([True, False])), whole)
    assert not np.array_equal(two.mass[1], whole.mass[0])  # nothing was changed in place


# ---- sources of one's own -----------------------------------------------------------------------


class Halves(BlockSource):
    """The rows in two blocks."""

    def __init__(self, X, layout=None, levels=None):
        self.X, self.levels, self.n_threads = X, levels, 1
        self.layout = numeric_layout(X.shape[1]) if layout is None else layout

    n_blocks = 2

    @property
    def n_rows(self):
        return len(self.X)

    @property
    def dtype(self):
        return self.X.dtype

    def blocks(self):
        middle = len(self.X) // 2
        for piece in (slice(0, middle), slice(middle, None)):
            levels = None if self.levels is None else self.levels[piece]
            first = piece.start
            yield Block(self.X[piece], None, first, 1, levels, self.gaps, self.stretch)

    def mapped(self, transform):
        return self._with(X=transform(self.X))


@pytest.mark.parametrize("algorithm", ALGORITHMS.values())
def test_anybody_s_source_can_be_fitted(algorithm, rng):
    X, weight = make_rows(rng, 80, 4), rng.random(80)
    options = {"random_state": 0, "n_init": 1, "init": "random", "max_iter": 20}
    expected = algorithm(3, **options).fit(X, sample_weight=weight)
    model = algorithm(3, **options).fit(Halves(X), sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(Halves(X)), expected.labels_)
    np.testing.assert_allclose(model.transform(Halves(X)), expected.transform(X), rtol=1e-8)
    assert model.score(Halves(X), sample_weight=weight) == pytest.approx(-expected.inertia_)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or other missing values"):
        model.predict(Halves(X))


def test_anybody_s_source_may_have_levels(rng):
    X, levels = make_rows(rng, 60, 2), rng.integers(0, 3, (60, 1)).astype(np.int32)
    layout = Layout(np.array([0, 1]), np.array([2]), np.array([0, 4]))
    options = {"random_state": 0, "n_init": 1}
    expected = AWKMeans(3, **options).fit(MemorySource(X, levels=levels, layout=layout))
    model = AWKMeans(3, **options).fit(Halves(X, layout, levels))
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_a_callable_init_is_not_given_rows_that_nobody_has(rng):
    def init(rows, n_clusters, random_state):
        return rows[:n_clusters]

    X = make_rows(rng, 30, 3)
    for source in (Halves(X), ChunkedSource(X, seen=doubled)):
        with pytest.raises(ValueError, match="init is a callable, which needs all rows at once"):
            KMeans(2, init=init).fit(source)


def test_the_coding_of_a_file_is_not_forgotten(rng):
    X = np.column_stack([make_rows(rng, 60, 2), rng.integers(0, 3, 60)])
    source = ChunkedSource(X, block_bytes=300, coding=Coding.learn(X, [2]))
    expected = AWKMeans(3, categorical_features=[2], random_state=0, n_init=1).fit(X)
    model = AWKMeans(3, random_state=0, n_init=1).fit(source)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert list(model.category_frequencies_[2]) == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="categorical columns; EWKMeans needs numbers"):
        EWKMeans(2).fit(source)


@pytest.mark.parametrize(
    ("levels", "layout", "message"),
    [
        (np.zeros((9, 1), int), None, r"levels has shape \(9, 1\); expected \(9, 0\)"),
        (np.zeros((8, 1), int), True, r"levels has shape \(8, 1\); expected \(9, 1\)"),
        (np.full((9, 1), 7), True, "counted through all categorical columns"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels, layout, message, rng):
    layout = layout and Layout(np.array([0, 1]), np.array([2]), np.array([0, 4]))
    with pytest.raises(ValueError, match=message):
        MemorySource(rng.random((9, 2)), levels=levels, layout=layout)
    with pytest.raises(TypeError, match="rows is list; expected a matrix"):
        MemorySource([[1.0, 2.0]])
    with pytest.raises(ValueError, match="as many rows and columns as before"):
        KMeans(2).fit(ChunkedSource(rng.random((9, 2)), seen=_first_row))


def _first_row(rows):
    return rows[:1]
