"""Minkowski centers are minimizers, whatever the data, found in a few passes."""

import numpy as np
import pytest

import reference
from fwkmeans import FeatureWeightedKMeans
from fwkmeans._tabular.layout import Layout
from fwkmeans.centers import CENTER_RULES, MeanCenter, MinkowskiCenter
from fwkmeans.centers.minkowski import minkowski_centers
from fwkmeans.dissimilarities import Minkowski, SquaredEuclidean
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.typing import Assignment, KeptLabels
from row_memory import with_labels

POWERS = [1.0, 1.05, 1.1, 1.5, 1.9, 2.5, 4.0, 20.0, np.inf]
MOST_PASSES = 80


@pytest.fixture(autouse=True, params=["passes", "gathered"])
def way(request, monkeypatch):
    """Centers by passes over all rows, as for files, and by values gathered in memory."""
    few = 0 if request.param == "passes" else 20_000
    monkeypatch.setattr("fwkmeans.centers.minkowski._FEW", few)
    return request.param


class CountingSource(MemorySource):
    """Counts the passes over the rows."""

    passes = 0

    def reduce(self, reduction):
        self.passes += 1
        return super().reduce(reduction)


def data(kind, rng, n):
    """Return a column of n numbers."""
    return {
        "normal": lambda: rng.normal(size=n),
        "uniform": lambda: rng.random(n),
        "skewed": lambda: rng.standard_exponential(n) ** 3,
        "heavy tails": lambda: rng.standard_t(1, n),
        "outlier": lambda: np.where(np.arange(n) == 0, 1e6, rng.normal(size=n)),
        "two groups": lambda: rng.normal(size=n) + 100.0 * (rng.random(n) < 0.5),
        "discrete": lambda: rng.integers(0, 5, n) * 1.0,
        "binary": lambda: (rng.random(n) < 0.3) * 1.0,
        "mostly one value": lambda: np.where(rng.random(n) < 0.9, 0.3, rng.normal(size=n)),
        "far": lambda: 1e8 + rng.normal(size=n),
        "tiny": lambda: 1e-12 * rng.normal(size=n),
        "tiny and far": lambda: 1.0 + 1e-12 * rng.normal(size=n),
        "large": lambda: 1e12 * rng.normal(size=n),
    }[kind]()


KINDS = [
    "normal",
    "uniform",
    "skewed",
    "heavy tails",
    "outlier",
    "two groups",
    "discrete",
    "binary",
    "mostly one value",
    "far",
    "tiny",
    "tiny and far",
    "large",
]


def objective(y, s, c, p):
    """Return f(c) in extended precision, in units of the largest distance."""
    here = (s > 0) & ~np.isnan(y)
    size = np.abs(y[here].astype(np.longdouble) - np.longdouble(c))
    if p == np.inf:
        return size.max()
    unit = max(size.max(), np.longdouble(np.finfo(float).tiny))
    return (s[here] * (size / unit) ** np.longdouble(p)).sum() * unit ** np.longdouble(p)


def assert_minimizer(y, s, got, p):
    """Assert that `got` is the minimizer for one column of one cluster."""
    here = (s > 0) & ~np.isnan(y)
    values, weight = y[here].astype(np.float64), s[here]
    expected = reference.minkowski_center(values, weight, p)
    span = np.ptp(values)
    close = 1e-12 * span + 4 * np.spacing(np.abs(values).max())
    assert values.min() <= got <= values.max()
    if abs(got - expected) > close:  # only where f is flat to the last digit
        assert 1 < p < 1.3, (got, expected, span)
        assert abs(got - expected) <= 1e-9 * span + close
    # The next doubles about the minimizer are as good: far from 0 it lies between two of them.
    beside = (expected, np.nextafter(expected, -np.inf), np.nextafter(expected, np.inf))
    best = max(objective(y, s, c, p) for c in beside)
    assert objective(y, s, got, p) <= best * (1 + 1e-13) + np.finfo(float).tiny


def found(source, labels, p, before=None, far=None):
    """Return the centers for labels of shape (R, n), and the number of passes."""
    n_starts, n_clusters = len(labels), int(labels.max()) + 1
    if before is None:
        before = np.zeros((n_starts, n_clusters, source.n_features))
    s = np.ones(source.n_rows) if source.sample_weight is None else source.sample_weight
    there = ~np.isnan(source.rows)
    mass = np.zeros(before.shape)
    for r in range(n_starts):
        np.add.at(mass[r], labels[r], s[:, None] * there)
    labeled = with_labels(source, labels)
    labeled.passes = 0
    centers = minkowski_centers(labeled, before, p, mass, far)
    source.passes = labeled.passes
    assert source.passes <= MOST_PASSES
    return centers


def assert_minimizers(source, labels, centers, p):
    rows = np.asarray(source.rows)
    s = np.ones(len(rows)) if source.sample_weight is None else source.sample_weight
    for r in range(len(labels)):
        for k in range(centers.shape[1]):
            mine = labels[r] == k
            for v in range(centers.shape[2]):
                if ((s > 0) & ~np.isnan(rows[:, v]) & mine).any():
                    assert_minimizer(rows[mine, v], s[mine], centers[r, k, v], p)


def some_labels(rng, n_starts, n, n_clusters):
    labels = rng.integers(0, n_clusters, (n_starts, n)).astype(np.int32)
    labels[:, :n_clusters] = np.arange(n_clusters)[: labels.shape[1]]  # none is empty
    return labels


@pytest.mark.thinned
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", POWERS)
def test_centers_are_minimizers(p, kind, rng):
    weighted = (POWERS.index(p) + KINDS.index(kind)) % 2 == 1
    for n in (3, 20, 150):
        X = np.stack([data(kind, rng, n) for _ in range(4)], axis=1)
        weight = rng.integers(0, 3, n) * rng.uniform(0.3, 2.0, n) if weighted else None
        if weighted:
            weight[: n // 3 + 1] = 1.0
        source = CountingSource(X, weight)
        labels = some_labels(rng, 2, n, min(2, n))
        assert_minimizers(source, labels, found(source, labels, p), p)


@pytest.mark.parametrize("p", POWERS)
def test_a_good_beginning_leads_to_the_same_place(p, rng):
    X = np.stack([data(kind, rng, 80) for kind in ("normal", "skewed", "discrete")], axis=1)
    labels = some_labels(rng, 1, 80, 3)
    cold = found(CountingSource(X), labels, p)
    for before in (cold, cold + 1e-9, cold + 1e-3, X[None, :3].copy(), cold * 0 - 1e9):
        warm = found(CountingSource(X), labels, p, before)
        np.testing.assert_allclose(warm, cold, rtol=0, atol=1e-11 * np.ptp(X, axis=0).max())


@pytest.mark.parametrize("p", [1.0, 1.05, 1.5, 1.9, 2.5, 4.0, 20.0])
def test_a_center_already_found_costs_few_passes(p, rng):
    X = rng.normal(size=(300, 4))
    labels = some_labels(rng, 1, 300, 3)
    source = CountingSource(X)
    centers = found(source, labels, p)
    found(source, labels, p, centers, far=np.array([False]))
    assert source.passes <= 6


@pytest.mark.parametrize("missing", [0.1, 0.6])
@pytest.mark.parametrize("p", POWERS)
def test_missing_cells_are_left_out(p, missing, rng):
    X = np.stack([data(kind, rng, 120) for kind in ("normal", "discrete", "heavy tails")], axis=1)
    X[rng.random(X.shape) < missing] = np.nan
    source = CountingSource(X, rng.integers(0, 3, 120) * 1.0, gaps=True)
    labels = some_labels(rng, 2, 120, 3)
    assert_minimizers(source, labels, found(source, labels, p), p)


@pytest.mark.parametrize("p", POWERS)
def test_few_and_equal_rows(p):
    def center(values, weight=None):
        X = np.asarray(values, dtype=np.float64)[:, None]
        labels = np.zeros((1, len(X)), dtype=np.int32)
        return found(CountingSource(X, weight), labels, p)[0, 0, 0]

    assert center([0.1]) == 0.1
    assert center([0.1] * 7) == 0.1
    assert center([-1e300] * 3) == -1e300
    assert center([0.1, 0.7]) == pytest.approx(0.4, rel=1e-14)
    assert center([0.7, 0.1, 0.1, 0.7]) == pytest.approx(0.4, rel=1e-14)
    assert center([-3.0, 0.0, 3.0]) == pytest.approx(0.0, abs=1e-14)
    weight = np.asarray([0.0, 2.0, 0.0])
    assert center([5.0, 0.1, -9.0], weight) == 0.1
    # ratio of the distances to two rows: (s1 / s2)^(1 / (p - 1))
    if 1 < p < np.inf:
        ratio = 3.0 ** (1 / (p - 1))
        got = center([0.0, 1.0], np.asarray([1.0, 3.0]))
        assert got == pytest.approx(ratio / (1 + ratio), rel=1e-12)


@pytest.mark.parametrize("p", POWERS)
def test_two_close_rows_far_from_zero(p, rng):
    """Neighboring numbers are as far apart as the bracket can ever be narrow."""
    for origin in (1.0, 1.3, 1024.0, 1000.0, -0.5, 2.0**27):
        for distance in (1e-3, 1e-6, 1e-9, 1e-12):
            X = origin * (1 + distance * rng.random((2, 20)))
            source = CountingSource(X)
            centers = found(source, np.zeros((1, 2), dtype=np.int32), p)[0, 0]
            middle = X.mean(axis=0)
            np.testing.assert_allclose(centers, middle, rtol=0, atol=4 * np.spacing(abs(origin)))


def test_medians_amid_the_two_middle_values(rng):
    for n in (2, 4, 10, 100):
        X = rng.normal(size=(n, 5))
        labels = np.zeros((1, n), dtype=np.int32)
        got = found(CountingSource(X), labels, 1.0)[0, 0]
        np.testing.assert_allclose(got, np.median(X, axis=0), rtol=1e-15)
    # half of the weight on either side: thirds do not add up exactly
    X = np.asarray([[0.0], [1.0], [5.0], [9.0]])
    labels = np.zeros((1, 4), dtype=np.int32)
    for weight, expected in [
        ([0.1, 0.2, 0.3, 0.0], 3.0),
        ([1 / 3, 1 / 3, 1 / 3, 1.0], 7.0),
        ([0.7, 0.1, 0.1, 0.1], 0.0),
        ([0.0, 1.0, 1.0, 0.0], 3.0),
        ([1.0, 1.0, 1.0, 0.0], 1.0),
    ]:
        got = found(CountingSource(X, np.asarray(weight)), labels, 1.0)[0, 0, 0]
        assert got == pytest.approx(expected, rel=1e-15)


def test_midranges(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 1e300, 1e-300]
    labels = some_labels(rng, 2, 50, 4)
    source = CountingSource(X)
    centers = found(source, labels, np.inf)
    assert source.passes == 1
    for r, k in np.ndindex(2, 4):
        mine = X[labels[r] == k]
        expected = mine.min(axis=0) / 2 + mine.max(axis=0) / 2
        np.testing.assert_array_equal(centers[r, k], expected)


@pytest.mark.parametrize("p", POWERS)
def test_a_cluster_without_values_keeps_its_center(p, rng):
    X = rng.normal(size=(40, 2))
    X[20:, 1] = np.nan
    weight = np.ones(40)
    weight[10:20] = 0.0
    labels = np.repeat(np.arange(4), 10).astype(np.int32)[None]
    before = rng.normal(size=(1, 5, 2))
    source = CountingSource(X, weight, gaps=True)
    mass = np.zeros((1, 5, 2))
    np.add.at(mass[0], labels[0], weight[:, None] * ~np.isnan(X))
    centers = minkowski_centers(with_labels(source, labels), before, p, mass)
    np.testing.assert_array_equal(centers[0, [1, 4]], before[0, [1, 4]])
    np.testing.assert_array_equal(centers[0, 2:4, 1], before[0, 2:4, 1])
    assert_minimizers(source, labels, centers, p)


@pytest.mark.parametrize("p", POWERS)
def test_starts_do_not_depend_on_each_other(p, rng):
    X = np.stack([data(kind, rng, 60) for kind in ("normal", "discrete", "outlier")], axis=1)
    labels = some_labels(rng, 5, 60, 3)
    before = rng.normal(size=(5, 3, 3))
    together = found(CountingSource(X), labels, p, before)
    for start in range(5):
        one = slice(start, start + 1)
        alone = found(CountingSource(X), labels[one], p, before[one])
        np.testing.assert_array_equal(alone[0], together[start])


@pytest.mark.thinned
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", POWERS)
def test_chunks_equal_memory(p, dtype, rng):
    X = np.stack([data(kind, rng, 200) for kind in ("normal", "discrete", "skewed")], axis=1)
    X = X.astype(dtype)
    weight = rng.integers(0, 3, 200) * 1.0
    labels = some_labels(rng, 2, 200, 3)
    memory = found(CountingSource(X, weight), labels, p)
    for block_bytes in (1, 1000, 3000):
        chunks = found(ChunkedSource(X, weight, block_bytes=block_bytes), labels, p)
        np.testing.assert_allclose(chunks, memory, rtol=0, atol=1e-11 * np.ptp(X, axis=0).max())


# ---- the part -----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [*POWERS, 2.0])
def test_the_rule_updates_to_minimizers(p, rng):
    X = rng.normal(size=(90, 3))
    weight = rng.random(90)
    source = MemorySource(X, weight)
    table, _ = describe(source)
    dissimilarity, rule = Minkowski(p).bind(table), MinkowskiCenter(p).bind(table)
    shape = (2, 4, 3)
    state = Assignment(rng.normal(size=shape), np.ones(shape), np.zeros(shape[:2]), np.ones(2))
    state.centers[1, 2] = 1e3  # stays empty
    statistics, source = source.run(dissimilarity.accumulation(state, labels=KeptLabels.new(2)))
    labels = source.gather("labels", axis=1)
    centers = rule.update(statistics, state, source)
    np.testing.assert_array_equal(centers[1, 2], state.centers[1, 2])
    assert_minimizers(source, labels, centers, p)
    # ... and the dispersions about them are those of the formula
    dispersion = dissimilarity.dispersion(statistics, state, centers, source, table)
    for r, k in np.ndindex(2, 4):
        mine = labels[r] == k
        for v in range(3):
            expected = 0.0
            if mine.any():
                expected = float(objective(X[mine, v], weight[mine], centers[r, k, v], p))
            assert dispersion[r, k, v] == pytest.approx(expected, rel=1e-10)


def test_the_rule_says_what_it_minimizes():
    table, _ = describe(MemorySource(np.eye(3)))
    for p in (1.0, 1.5, 2.0, 3.0, np.inf):
        rule = MinkowskiCenter(p).bind(table)
        assert rule.minimizes(Minkowski(p).bind(table))
        assert not rule.minimizes(Minkowski(p + 0.5 if p < np.inf else 2.0).bind(table))
        assert rule.unique == (1 < p < np.inf)
    assert MinkowskiCenter(2.0).bind(table).minimizes(SquaredEuclidean().bind(table))
    assert MeanCenter().bind(table).minimizes(Minkowski(2.0).bind(table))
    assert not MeanCenter().bind(table).minimizes(Minkowski(3.0).bind(table))
    assert CENTER_RULES["minkowski"] is MinkowskiCenter


def test_categories_have_to_match_what_is_minimized():
    layout = Layout(np.asarray([0, 2]), np.asarray([1]), np.asarray([0, 3]))
    levels = np.asarray([[0], [1], [0]], dtype=np.int32)
    table, _ = describe(MemorySource(np.eye(3)[:, :2], levels=levels, layout=layout))
    for own, kind, expected in [
        ("mode", "matching", True),
        ("frequencies", "squared", True),
        ("mode", "squared", False),
        ("frequencies", "matching", False),
    ]:
        rule = MinkowskiCenter(3.0, own).bind(table)
        assert rule.minimizes(Minkowski(3.0, kind).bind(table)) == expected
        assert rule.unique == (own == "frequencies")


@pytest.mark.parametrize(
    ("p", "error", "message"),
    [
        (0.5, ValueError, "p=0.5: expected a number >= 1"),
        (np.nan, ValueError, "p=nan: expected a number >= 1"),
        (-np.inf, ValueError, "p=-inf: expected"),
        ("two", TypeError, "p='two': expected a number >= 1"),
        (None, TypeError, "p=None: expected a number"),
        (True, TypeError, "p=True: expected a number"),
    ],
)
def test_powers_that_are_refused(p, error, message):
    table, _ = describe(MemorySource(np.eye(3)))
    for part in (MinkowskiCenter(p), Minkowski(p)):
        with pytest.raises(error, match=message):
            part.bind(table)


def test_parts_that_do_not_keep_labels_are_refused():
    model = FeatureWeightedKMeans(1, dissimilarity=SquaredEuclidean(), center=MinkowskiCenter(3.0))
    with pytest.raises(
        TypeError, match=r"needs the labels of the rows.*Give both parts the same p"
    ):
        model.fit(np.eye(3))
