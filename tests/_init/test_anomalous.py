"""Anomalous patterns against the slow loop of the reference."""

import numpy as np
import pytest

import reference
from fwkmeans._engine import Recipe, bind_parts
from fwkmeans._init import anomalous as anomalous_module
from fwkmeans._init import anomalous_patterns, anomalous_start
from fwkmeans._tabular.layout import Layout
from fwkmeans.centers import MeanCenter, MinkowskiCenter
from fwkmeans.dissimilarities import Minkowski, SquaredEuclidean
from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.typing import Assignment
from fwkmeans.weighting import UniformWeights
from laws.configurations import make_rows

POWERS = [1.0, 1.1, 1.5, 2.0, 3.0, 5.0, np.inf]


def parts_of(source, p):
    """Return dissimilarity, center rule and table, bound to each other."""
    table, _ = describe(source)
    recipe = Recipe(Minkowski(p), MinkowskiCenter(p), UniformWeights())
    recipe, table = bind_parts(recipe, source, table)
    return recipe.dissimilarity, recipe.center, table


def patterns_of(source, p, *, weighted):
    return anomalous_patterns(source, *parts_of(source, p), exponent=p if weighted else None)


def assert_same_patterns(found, expected, X):
    assert len(found) == len(expected)
    span = np.ptp(X, axis=0).max()
    for got, wanted in zip(found, expected, strict=True):
        assert got.mass == pytest.approx(wanted["size"], rel=1e-12)
        np.testing.assert_allclose(got.center, wanted["center"], rtol=0, atol=1e-9 * span)
        np.testing.assert_allclose(got.weights, wanted["weights"], rtol=1e-7, atol=1e-9)


@pytest.mark.thinned
@pytest.mark.parametrize("sample", ["unweighted", "weighted", "zeros"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "learning weights"])
@pytest.mark.parametrize("p", POWERS)
def test_patterns_are_those_of_the_reference(p, weighted, sample, rng):
    for n, m in ((40, 3), (25, 1), (60, 5)):
        X = make_rows(rng, n, m)
        s = {
            "unweighted": None,
            "weighted": rng.uniform(0.2, 3.0, n),
            "zeros": rng.integers(0, 3, n) * 1.0,
        }[sample]
        expected = reference.anomalous_patterns(X, s, p=p, weighted=weighted)
        found = patterns_of(MemorySource(X, s), p, weighted=weighted)
        assert_same_patterns(found, expected, X)
        total = n if s is None else s.sum()
        assert sum(pattern.mass for pattern in found) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "learning weights"])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_chunks_equal_memory(p, weighted, rng):
    X = make_rows(rng, 90, 4)
    s = rng.integers(0, 3, 90) * 1.0
    memory = patterns_of(MemorySource(X, s), p, weighted=weighted)
    for block_bytes in (1, 500, 1 << 20):
        chunks = patterns_of(ChunkedSource(X, s, block_bytes=block_bytes), p, weighted=weighted)
        assert len(chunks) == len(memory)
        for a, b in zip(chunks, memory, strict=True):
            assert a.mass == pytest.approx(b.mass, rel=1e-13)
            np.testing.assert_allclose(a.center, b.center, atol=1e-10)
            np.testing.assert_allclose(a.weights, b.weights, atol=1e-10)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_patterns_are_the_same_every_time_and_for_any_number_of_threads(n_threads, rng):
    X = make_rows(rng, 3000, 4)
    once = patterns_of(MemorySource(X), 1.5, weighted=True)
    for threads in (1, n_threads):
        again = patterns_of(MemorySource(X, None, threads), 1.5, weighted=True)
        assert len(again) == len(once)
        for a, b in zip(again, once, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_array_equal(x, y)


def test_the_table_is_left_as_it_was(rng):
    X, s = make_rows(rng, 50, 3), rng.random(50)
    before = X.copy(), s.copy()
    patterns_of(MemorySource(X, s), 2.0, weighted=True)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(s, before[1])


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_integer_weights_are_repeated_rows(p, rng):
    X = make_rows(rng, 40, 3)
    s = rng.integers(0, 4, 40)
    weighed = patterns_of(MemorySource(X, s * 1.0), p, weighted=True)
    repeated = patterns_of(MemorySource(np.repeat(X, s, axis=0)), p, weighted=True)
    assert len(weighed) == len(repeated)
    for a, b in zip(weighed, repeated, strict=True):
        assert a.mass == pytest.approx(b.mass)
        np.testing.assert_allclose(a.center, b.center, atol=1e-9)
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "learning weights"])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_duplicates_stay_together(p, weighted, rng):
    places = make_rows(rng, 12, 3)
    X = np.repeat(places, 5, axis=0)[rng.permutation(60)]
    found = patterns_of(MemorySource(X), p, weighted=weighted)
    assert_same_patterns(found, reference.anomalous_patterns(X, p=p, weighted=weighted), X)
    assert all(pattern.mass % 5 == 0 for pattern in found)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "learning weights"])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_rows_on_the_center_are_one_last_pattern(p, weighted):
    # symmetric about zero, which is the center for every p, with rows on it
    X = np.asarray([[4.0, 1.0], [-4.0, -1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    found = patterns_of(MemorySource(X), p, weighted=weighted)
    assert [pattern.mass for pattern in found] == [1.0, 1.0, 3.0]
    np.testing.assert_array_equal(found[-1].center, 0.0)
    # the first of tied rows is the farthest
    np.testing.assert_array_equal(found[0].center, X[0])
    np.testing.assert_array_equal(found[1].center, X[1])


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "learning weights"])
def test_equal_rows_are_one_pattern(weighted):
    found = patterns_of(MemorySource(np.full((7, 2), 0.1)), 2.0, weighted=weighted)
    assert [pattern.mass for pattern in found] == [7.0]
    np.testing.assert_array_equal(found[0].center, 0.1)


def test_one_row():
    found = patterns_of(MemorySource(np.asarray([[3.0, -1.0]])), 3.0, weighted=True)
    assert [pattern.mass for pattern in found] == [1.0]
    np.testing.assert_array_equal(found[0].center, [3.0, -1.0])


def test_constant_features_get_no_weight(rng):
    X = make_rows(rng, 40, 4)
    X[:, 1] = 2.5
    for p in (1.5, 2.0):
        found = patterns_of(MemorySource(X), p, weighted=True)
        assert_same_patterns(found, reference.anomalous_patterns(X, p=p, weighted=True), X)
        for pattern in found:
            assert pattern.weights[1] == 0.0
            assert pattern.center[1] == 2.5
            assert pattern.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_table_does_not_matter(scale, rng):
    X = make_rows(rng, 50, 3)
    for p in (1.5, 2.0, 4.0):
        a = patterns_of(MemorySource(X), p, weighted=True)
        b = patterns_of(MemorySource(X * scale), p, weighted=True)
        assert [pattern.mass for pattern in a] == [pattern.mass for pattern in b]
        for one, other in zip(a, b, strict=True):
            np.testing.assert_allclose(one.center * scale, other.center, atol=1e-9 * scale)
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-9)


def test_circles_end_with_their_largest_set(monkeypatch):
    """Weights look at the pattern alone, so sets may come back; the reference ends them as well."""
    largest, circles = anomalous_module._largest, []

    def recorded(circle):
        circles.append(len(circle))
        return largest(circle)

    monkeypatch.setattr(anomalous_module, "_largest", recorded)
    for seed in range(25):
        X = np.random.default_rng(seed).random((12, 3))
        for p in (1.05, 1.2):
            found = patterns_of(MemorySource(X), p, weighted=True)
            assert_same_patterns(found, reference.anomalous_patterns(X, p=p, weighted=True), X)
    assert 1 < max(circles) < 20


def test_many_rows_in_memory_are_forgotten_as_they_are_taken(rng):
    X = make_rows(rng, 400, 3)
    found = patterns_of(MemorySource(X), 2.0, weighted=True)
    assert_same_patterns(found, reference.anomalous_patterns(X, p=2.0, weighted=True), X)


# ---- the start ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "learning weights"])
def test_the_most_populous_patterns_are_the_start(weighted, rng):
    X = make_rows(rng, 80, 4)
    source = MemorySource(X)
    parts, exponent = parts_of(source, 2.0), 2.0 if weighted else None
    patterns = anomalous_patterns(source, *parts, exponent=exponent)
    order = sorted(range(len(patterns)), key=lambda at: (-patterns[at].mass, at))
    for n_clusters in (1, 2, 3, len(patterns)):
        start = anomalous_start(source, *parts, n_clusters, exponent=exponent)
        assert start.centers.shape == start.weights.shape == (n_clusters, 4)
        assert start.n_patterns == n_clusters
        for at in range(n_clusters):
            np.testing.assert_array_equal(start.centers[at], patterns[order[at]].center)
            if weighted:
                np.testing.assert_array_equal(start.weights[at], patterns[order[at]].weights)


def test_all_patterns_of_some_size_are_the_start_if_no_number_is_given(rng):
    X = make_rows(rng, 80, 4)
    source = MemorySource(X)
    parts = parts_of(source, 2.0)
    patterns = anomalous_patterns(source, *parts)
    for smallest in (1.0, 2.0, 10.0):
        start = anomalous_start(source, *parts, None, smallest=smallest)
        kept = [pattern for pattern in patterns if pattern.mass >= smallest]
        assert start.n_patterns == len(start.centers) == len(kept)
        for center, pattern in zip(start.centers, kept, strict=True):
            np.testing.assert_array_equal(center, pattern.center)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_rows_far_from_all_centers_are_added_where_patterns_are_few(p, rng):
    X = make_rows(rng, 30, 3)
    source = MemorySource(X)
    parts = parts_of(source, p)
    n_patterns = len(anomalous_patterns(source, *parts))
    start = anomalous_start(source, *parts, n_patterns + 4)
    assert start.n_patterns == n_patterns
    for at in range(n_patterns, n_patterns + 4):
        d = (np.abs(X[:, None] - start.centers[:at]) ** p).sum(axis=-1).min(axis=1)
        np.testing.assert_array_equal(start.centers[at], X[d.argmax()])


def test_squared_euclid_and_means_are_the_plain_form(rng):
    X = make_rows(rng, 60, 3)
    source = MemorySource(X)
    table, _ = describe(source)
    recipe = Recipe(SquaredEuclidean(), MeanCenter(), UniformWeights())
    recipe, table = bind_parts(recipe, source, table)
    found = anomalous_patterns(source, recipe.dissimilarity, recipe.center, table)
    assert_same_patterns(found, reference.anomalous_patterns(X, p=2.0, weighted=False), X)
    assert all(np.array_equal(pattern.weights, np.ones(3)) for pattern in found)


@pytest.mark.parametrize("missing", [0.1, 0.3])
def test_tables_with_missing_cells_and_categories_are_divided_up(missing, rng):
    n = 80
    X = make_rows(rng, n, 3)
    X[rng.random(X.shape) < missing] = np.nan
    levels = rng.integers(0, 3, (n, 2)) + np.asarray([0, 4])
    levels[rng.random(levels.shape) < missing] = -1
    X[np.isnan(X).all(axis=1) & (levels < 0).all(axis=1), 0] = 0.0
    observed = (~np.isnan(X)).sum(axis=1) + (levels >= 0).sum(axis=1)
    layout = Layout(np.asarray([0, 2, 4]), np.asarray([1, 3]), np.asarray([0, 4, 8]))
    source = MemorySource(
        X, 5 / observed, levels=levels.astype(np.int32), layout=layout, gaps=True, stretch=True
    )
    dissimilarity, center, table = parts_of(source, 2.0)
    found = anomalous_patterns(source, dissimilarity, center, table)
    assert sum(pattern.mass for pattern in found) == pytest.approx((5 / observed).sum())
    for pattern in found:
        assert np.isfinite(pattern.center).all()
        np.testing.assert_allclose(layout.sums(layout.frequencies(pattern.center)), 1.0)
    # no pattern's center is as good as that of the table for its own first row
    first = Assignment(table.center[None, None], np.ones((1, 1, 5)), np.zeros((1, 1)), np.ones(1))
    distance, _ = source.reduce(dissimilarity.farthest(first, np.ones((1, 1), bool)))
    assert distance[0] > 0


def test_of_rows_that_are_as_far_but_for_rounding_the_first_one_starts_a_pattern():
    angles = 2 * np.pi * np.arange(11) / 11
    corners = 3.0 + np.column_stack([np.cos(angles), np.sin(angles)])
    for first in range(11):
        X = np.roll(corners, -first, axis=0)
        center = patterns_of(MemorySource(X), 2.0, weighted=False)[0].center - 3.0
        size = (1 + 2 * np.cos(angles[1])) / 3  # of the mean of a corner and its neighbors
        np.testing.assert_allclose(center, size * (X[0] - 3.0), atol=1e-12)


def test_the_order_of_rows_does_not_matter_beside_categories(rng):
    X = make_rows(rng, 80, 3)
    levels = (rng.integers(0, 3, (80, 2)) + np.asarray([0, 4])).astype(np.int32)
    layout = Layout(np.asarray([0, 2, 4]), np.asarray([1, 3]), np.asarray([0, 4, 8]))
    order = rng.permutation(80)
    found = [
        patterns_of(MemorySource(X[i], levels=levels[i], layout=layout), 2.0, weighted=False)
        for i in (np.arange(80), order)
    ]
    assert len(found[0]) == len(found[1]) > 3
    for a, b in zip(*found, strict=True):
        assert a.mass == b.mass
        np.testing.assert_allclose(a.center, b.center, atol=1e-12)


@pytest.mark.parametrize("block_bytes", [8, 24, 1 << 20])
@pytest.mark.parametrize(
    ("last_of_ties", "expected"), [(False, [0, 1, 3, 4, 6, 7, 2]), (True, [4, 3, 1, 0, 7, 6, 8])]
)
def test_rows_that_are_as_far_but_for_rounding_come_in_their_order(
    last_of_ties, expected, block_bytes
):
    X = np.array(
        [[-3.0], [3.0], [1.0], [np.nextafter(-3, -4)], [3.0], [0.0], [2.0], [-2.0], [-1.0]]
    )
    source = ChunkedSource(X, block_bytes=block_bytes)
    search = anomalous_module._Search(source, *parts_of(source, 2.0), None, last_of_ties)
    for n in (1, 3, 5, 7):
        assert [row.place for row in search._farthest(n)] == expected[:n]
