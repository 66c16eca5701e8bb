"""Sums over pairs from one pass over the rows, and non-negative least squares."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fwkmeans.sources import ChunkedSource, MemorySource, describe
from fwkmeans.weighting.nonnegative import NonnegativeQuadratic
from fwkmeans.weighting.pairs import pair_gram, units_of
from laws.configurations import make_rows
from pairs import Pairs


def gram_of(X, s=None, groups=None, source=MemorySource, **options):
    rows = source(X, s, **options)
    table, _ = describe(rows)
    groups = [np.arange(X.shape[1])] if groups is None else groups
    blocks = pair_gram(rows, table, groups)
    units = units_of(table) ** 2
    return [
        block * table.mass**2 * np.outer(units[g], units[g])
        for block, g in zip(blocks, groups, strict=True)
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_gram_is_the_sum_over_all_pairs(rng, dtype, weighted):
    X = (make_rows(rng, 40, 5) * [1, 3, 0.01, 1, 50] + [0, 5, 1, -90, 7]).astype(dtype)
    s = rng.random(40) * (rng.random(40) > 0.3) if weighted else None
    expected = Pairs(X.astype(float), np.zeros(40), np.zeros(5), [1], s).gram()
    np.testing.assert_allclose(gram_of(X, s)[0], expected, rtol=1e-11)
    groups = [np.array([1, 4]), np.array([0, 2, 3])]
    for g, block in zip(groups, gram_of(X, s, groups), strict=True):
        np.testing.assert_allclose(block, expected[np.ix_(g, g)], rtol=1e-11)


def test_integer_weights_are_repeated_rows(rng):
    X, times = make_rows(rng, 40, 4), rng.integers(0, 4, 40)
    weighted = gram_of(X, times.astype(float))[0]
    np.testing.assert_allclose(weighted, gram_of(np.repeat(X, times, axis=0))[0], rtol=1e-12)


def test_absent_rows_may_hold_anything(rng):
    X, s = make_rows(rng, 40, 4), np.ones(40)
    wild, s[:2] = X.copy(), 0.0
    wild[:2] = 1e150
    np.testing.assert_allclose(gram_of(wild, s)[0], gram_of(X[2:])[0], rtol=1e-12)


@pytest.mark.parametrize("block_bytes", [1, 333, 10**6])
def test_blocks_change_rounding_only(rng, block_bytes):
    X, s = make_rows(rng, 157, 4), rng.random(157)
    chunked = gram_of(X, s, source=ChunkedSource, block_bytes=block_bytes)[0]
    np.testing.assert_allclose(chunked, gram_of(X, s)[0], rtol=1e-12)


def test_long_tables_are_read_in_pieces(rng):
    X = make_rows(rng, 40_000, 4)
    centered = X - X.mean(axis=0)
    squares = centered**2
    total = squares.sum(axis=0)
    expected = 2 * len(X) * squares.T @ squares
    expected += 2 * np.outer(total, total) + 4 * (centered.T @ centered) ** 2
    np.testing.assert_allclose(gram_of(X)[0], expected, rtol=1e-10)


def test_threads_do_not_matter(rng):
    X = make_rows(rng, 5000, 6)
    np.testing.assert_array_equal(gram_of(X, n_threads=1)[0], gram_of(X, n_threads=4)[0])


@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_fourth_powers_neither_overflow_nor_underflow(rng, scale):
    X = make_rows(rng, 40, 3)
    rows = MemorySource(X * [scale, 1.0, 1 / scale])
    table, _ = describe(rows)
    block = pair_gram(rows, table, [np.arange(3)])[0]
    size = np.sqrt(np.diagonal(block))
    plain = gram_of(X)[0]
    expected = plain / np.sqrt(np.outer(np.diagonal(plain), np.diagonal(plain)))
    np.testing.assert_allclose(block / np.outer(size, size), expected, rtol=1e-10)


# ---- non-negative least squares -----------------------------------------------------------------


def value(A, b, z):
    return z @ A @ z - 2 * b @ z


def assert_is_minimum(A, b, z, tolerance=1e-9):
    """Check the conditions that hold at minima only, the problem being convex."""
    assert np.all(z >= 0)
    gradient = (A @ z - b) / np.sqrt(np.diagonal(A))
    size = np.abs(b / np.sqrt(np.diagonal(A))).max()
    assert np.all(gradient >= -tolerance * size)
    assert np.all(np.abs(gradient[z > 0]) <= tolerance * size)


def test_minimum_agrees_with_scipy(rng):
    for _ in range(20):
        n = int(rng.integers(1, 7))
        root = rng.standard_normal((n + 3, n)) * 10.0 ** rng.uniform(-1, 1, n)
        A, b = root.T @ root, rng.standard_normal(n)
        b[0] = abs(b[0])
        z = NonnegativeQuadratic(A).minimize(b)
        assert_is_minimum(A, b, z)
        size = np.sqrt(np.diagonal(A))
        scaled = A / np.outer(size, size)
        found = minimize(
            lambda y, scaled=scaled, b=b / size: value(scaled, b, y),
            np.ones(n),
            jac=lambda y, scaled=scaled, b=b / size: 2 * (scaled @ y - b),
            bounds=[(0, None)] * n,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-11, "maxiter": 5000},
        )
        assert value(A, b, z) <= found.fun + 1e-12 * abs(found.fun)
        np.testing.assert_allclose(z * size, found.x, atol=1e-4 * (1 + found.x.max()))


def test_copies_share_equally_in_any_order(rng):
    root = rng.standard_normal((9, 3))
    A = (root.T @ root) ** 2  # a Gram of squares is no smaller than 0
    b = A @ np.array([1.0, 0.5, 0.2])
    for order in ([0, 1, 0, 2], [2, 0, 0, 1], [0, 0, 0, 1, 2]):
        z = NonnegativeQuadratic(A[np.ix_(order, order)]).minimize(b[order])
        assert_is_minimum(A[np.ix_(order, order)], b[order], z)
        copies = z[np.asarray(order) == 0]
        np.testing.assert_allclose(copies, 1.0 / len(copies), rtol=1e-8)
        np.testing.assert_allclose(z[order.index(1)], 0.5, rtol=1e-7)
        np.testing.assert_allclose(z[order.index(2)], 0.2, rtol=1e-7)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_singular_forms_of_any_sign(rng, rank):
    for _ in range(10):
        root = rng.standard_normal((rank, 6))
        A = root.T @ root
        b = A @ rng.random(6)
        z = NonnegativeQuadratic(A).minimize(b)
        assert_is_minimum(A, b, z, 1e-7)
        order = rng.permutation(6)
        again = NonnegativeQuadratic(A[np.ix_(order, order)]).minimize(b[order])
        np.testing.assert_allclose(again, z[order], atol=1e-6 * z.max())


def test_nothing_positive_gives_zero():
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(NonnegativeQuadratic(A).minimize(np.array([-1.0, 0.0])), 0.0)
