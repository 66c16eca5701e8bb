"""What tells groups apart, against plain loops and random divisions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

from fwkmeans._support import separation as sep


def slow(first, second, ordered):
    """Return the three shares of two lists of (value, weight), by their definitions."""
    mass_1, mass_2 = (sum(w for _, w in one) for one in (first, second))
    values = sorted({v for v, _ in first} | {v for v, _ in second})

    def share(group, total, chosen):
        return sum(w for v, w in group if v in chosen) / total

    if not ordered:
        sets = itertools.chain.from_iterable(
            itertools.combinations(values, size) for size in range(len(values) + 1)
        )
        return max(share(first, mass_1, s) - share(second, mass_2, s) for s in sets)
    signs = sum(a[1] * b[1] * np.sign(a[0] - b[0]) for a in first for b in second)
    ranges = [values[i:j] for i in range(len(values)) for j in range(i + 1, len(values) + 1)]
    widest = max(abs(share(first, mass_1, r) - share(second, mass_2, r)) for r in ranges)
    return signs / (mass_1 * mass_2), widest


def kish(group):
    weights = np.array([w for _, w in group])
    return weights.sum() ** 2 / (weights**2).sum()


@pytest.mark.parametrize("seed", range(12))
def test_numbers_against_loops(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 25)), int(rng.integers(2, 4))
    numbers = rng.integers(0, 7, n) * 0.5 if seed % 2 else rng.normal(size=n)
    numbers[rng.random(n) < 0.15] = np.nan
    labels = rng.integers(0, k, n)
    labels[:k] = range(k)
    weights = None if seed % 3 else rng.random(n) + 0.1
    column = sep.masses_of_numbers(numbers, labels, k, weights)
    mass = np.ones(n) if weights is None else weights
    rows = [(v, w, label) for v, w, label in zip(numbers, mass, labels, strict=True) if v == v]
    rest = sep.against_rest(column)
    pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
    apart = sep.between(column, np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))
    cases = [(rest, j, {j}, set(range(k)) - {j}) for j in range(k)]
    cases += [(apart, at, {a}, {b}) for at, (a, b) in enumerate(pairs)]
    for found, at, own, other in cases:
        first = [(v, w) for v, w, label in rows if label in own]
        second = [(v, w) for v, w, label in rows if label in other]
        if not first or not second:
            assert found.share[at] == 0
            continue
        higher, widest = slow(first, second, ordered=True)
        assert found.higher[at] == pytest.approx(higher)
        n_1, n_2 = kish(first), kish(second)
        values = [v for v, _ in first + second]
        pooled = {
            u: n_1 * sum(w for v, w in first if v == u) / sum(w for _, w in first)
            + n_2 * sum(w for v, w in second if v == u) / sum(w for _, w in second)
            for u in values
        }
        total = n_1 + n_2
        ties = sum(t**3 - t for t in pooled.values()) / (total**3 - total)
        sd = np.sqrt((total + 1) / (3 * n_1 * n_2) * (1 - ties))
        level, width = (
            min(1, np.sqrt(2 / np.pi) * sd),
            min(1, np.sqrt(np.pi / 2 * total / n_1 / n_2)),
        )
        beyond = [
            max(0.0, (t - e) / (1 - e)) if e < 1 else 0.0
            for t, e in ((abs(higher), level), (widest, width))
        ]
        assert found.share[at] == pytest.approx(max(beyond), abs=1e-9)
        inside = found.inside[at] - found.inside_other[at]
        assert abs(inside) == pytest.approx(widest)


@pytest.mark.parametrize("seed", range(8))
def test_categories_against_loops(seed):
    rng = np.random.default_rng(seed)
    n, k, c = 18, 3, 4
    codes, labels = rng.integers(-1, c, n), rng.integers(0, k, n)
    labels[:k] = range(k)
    codes[:k] = range(k)
    column = sep.masses_of_categories(codes, c, labels, k)
    found = sep.against_rest(column).share
    for j in range(k):
        first = [(v, 1.0) for v, label in zip(codes, labels, strict=True) if v >= 0 and label == j]
        second = [(v, 1.0) for v, label in zip(codes, labels, strict=True) if v >= 0 and label != j]
        total = len(first) + len(second)
        chance = 0.0
        for u in range(c):
            marked = sum(v == u for v, _ in first + second)
            law = hypergeom(total, marked, len(first))
            size = np.arange(len(first) + 1)
            chance += (law.pmf(size) * np.abs(size - law.mean())).sum()
        chance *= (1 / len(first) + 1 / len(second)) / 2
        expected = max(0.0, (slow(first, second, ordered=False) - chance) / (1 - chance))
        assert found[j] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["numbers", "ties", "categories", "names"])
@pytest.mark.parametrize("size", [1, 5, 60])
def test_chance_is_near_zero_on_average(kind, size):
    """What is subtracted is what random divisions give: tiny clusters are not special."""
    rng = np.random.default_rng(0)
    n = 200
    labels = np.zeros(n, dtype=int)
    labels[:size] = 1
    found = []
    for _ in range(60):
        rng.shuffle(labels)
        if kind in ("numbers", "ties"):
            column = rng.normal(size=n) if kind == "numbers" else rng.integers(0, 3, n) * 1.0
            masses = sep.masses_of_numbers(column, labels, 2)
        else:
            codes = rng.integers(0, 4, n) if kind == "categories" else np.arange(n)
            masses = sep.masses_of_categories(codes, n, labels, 2)
        found.append(sep.against_rest(masses).share[1])
    assert np.mean(found) < {1: 0.3, 5: 0.25, 60: 0.08}[size]
    if kind == "names":
        assert max(found) < 1e-9


def test_one_row_is_told_by_how_far_out_it_is():
    numbers = np.arange(100.0)
    for row, least, most in ((99, 0.95, 1.0), (50, 0.0, 0.01)):
        labels = (np.arange(100) == row).astype(int)
        found = sep.against_rest(sep.masses_of_numbers(numbers, labels, 2)).share[1]
        assert least <= found <= most


def test_a_column_that_decides_alone_has_one_and_a_constant_none():
    labels = np.repeat([0, 1, 2], 30)
    found = sep.against_rest(sep.masses_of_numbers(labels + np.linspace(0, 0.5, 90), labels, 3))
    np.testing.assert_allclose(found.share, 1.0)
    assert found.by_range.tolist() == [False, True, False]
    numbers = labels + np.linspace(0, 0.5, 90)
    assert (found.low[1], found.high[1]) == (numbers[30], numbers[59])
    assert (found.inside[1], found.inside_other[1]) == pytest.approx((1.0, 0.0))
    coded = sep.against_rest(sep.masses_of_categories(labels, 3, labels, 3))
    np.testing.assert_allclose(coded.share, 1.0)
    for column in (np.full(90, 7.0), np.full(90, np.nan)):
        assert (sep.against_rest(sep.masses_of_numbers(column, labels, 3)).share == 0).all()
    alone = sep.against_rest(sep.masses_of_numbers(np.arange(9.0), np.zeros(9, dtype=int), 2))
    assert (alone.share == 0).all()


def test_two_values_are_the_same_as_numbers_and_as_categories():
    rng = np.random.default_rng(0)
    labels, codes = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    codes[labels == 1] |= rng.integers(0, 2, (labels == 1).sum())
    numbers = sep.against_rest(sep.masses_of_numbers(codes * 1.0, labels, 2)).share
    categories = sep.against_rest(sep.masses_of_categories(codes, 2, labels, 2)).share
    np.testing.assert_allclose(numbers, categories, atol=0.01)


def test_scales_units_and_equal_weights_do_not_matter():
    rng = np.random.default_rng(0)
    numbers, labels = rng.normal(size=50), rng.integers(0, 3, 50)
    plain = sep.against_rest(sep.masses_of_numbers(numbers, labels, 3)).share
    for column, weights in ((np.exp(numbers), None), (numbers, np.full(50, 0.01))):
        other = sep.against_rest(sep.masses_of_numbers(column, labels, 3, weights)).share
        np.testing.assert_allclose(other, plain, atol=1e-9)
    weights = rng.integers(0, 2, 50) * 2.0
    kept = weights > 0
    zero = sep.against_rest(sep.masses_of_numbers(numbers, labels, 3, weights)).share
    removed = sep.against_rest(sep.masses_of_numbers(numbers[kept], labels[kept], 3)).share
    np.testing.assert_allclose(zero, removed, atol=1e-9)


@pytest.mark.parametrize("n", [40, 99, 120, 150])
def test_a_group_on_one_side_is_low_or_high(n):
    """Sums of shares are equal up to rounding only, which must not make up a second side."""
    rng = np.random.default_rng(n)
    labels = rng.integers(0, 3, n)
    labels[:3] = range(3)
    numbers = np.array([10.0, 40.0, 80.0])[labels] + rng.integers(-5, 6, n)
    found = sep.against_rest(sep.masses_of_numbers(numbers, labels, 3))
    assert found.by_range.tolist() == [False, True, False]
    assert np.sign(found.higher[[0, 2]]).tolist() == [-1, 1]
    assert [found.low[1], found.high[1]] == [f(numbers[labels == 1]) for f in (np.min, np.max)]


def test_a_few_rows_on_the_other_side_do_not_make_two_sides():
    others = np.linspace(40, 60, 100)
    one = np.concatenate([np.full(4, 10.0), np.linspace(90, 99, 96)])
    labels = np.repeat([0, 1], 100)
    few = sep.against_rest(sep.masses_of_numbers(np.concatenate([one, others]), labels, 2))
    assert not few.by_range[0]
    assert few.higher[0] > 0
    one[:40] = 10.0
    many = sep.against_rest(sep.masses_of_numbers(np.concatenate([one, others]), labels, 2))
    assert many.by_range[0]
    assert np.isnan(many.low[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_together_are_what_they_are_one_by_one(weighted, monkeypatch):
    monkeypatch.setattr(sep, "MOST_CELLS", 300)  # so that some are stacked and some are cut off
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 40)
    weights = rng.random(40) + 0.1 if weighted else None
    numbers = rng.normal(size=(12, 40)) + labels
    numbers[3:6] = np.round(numbers[3:6])
    numbers[6], numbers[7] = 1.0, np.where(numbers[7] > 0, 0.0, -0.0)
    masses = sep.masses_of_many(numbers, labels, 4, weights)
    masses.append(sep.masses_of_categories(labels % 3, 3, labels, 4, weights))
    together = sep.each_against_rest(masses)
    for v, row in enumerate(numbers):
        alone = sep.masses_of_numbers(row, labels, 4, weights)
        for found, expected in zip(masses[v], alone, strict=True):
            np.testing.assert_array_equal(found, expected)
    for one, found in zip(masses, together, strict=True):
        for ours, expected in zip(found, sep.against_rest(one), strict=True):
            np.testing.assert_array_equal(ours, expected)
