"""Initial centers drawn from the rows."""

import functools

import numpy as np
import pytest

from fwkmeans import KMeans
from fwkmeans._init import INITIALIZATIONS, Seeds
from fwkmeans._init import entities as entities_module
from fwkmeans.sources import MemorySource, describe, rows_at
from laws.configurations import make_rows

each_init = pytest.mark.parametrize("init", INITIALIZATIONS)


def draw_centers(init, source, n_clusters, seeds, starts):
    return INITIALIZATIONS[init](source, n_clusters, seeds, starts, describe(source)[0])


@each_init
@pytest.mark.parametrize("weighted", [False, True])
def test_centers_are_different_rows_with_weight(init, weighted, rng, dtype, global_random_seed):
    X = make_rows(rng, 50, 3).astype(dtype)
    weight = rng.random(50) * (np.arange(50) % 3 > 0) if weighted else None
    centers = draw_centers(init, MemorySource(X, weight), 10, Seeds(global_random_seed), range(20))
    assert centers.shape == (20, 10, 3)
    assert centers.dtype == np.float64
    numbers = {tuple(row): number for number, row in enumerate(X.astype(float))}
    for start in centers:
        chosen = [numbers[tuple(row)] for row in start]
        assert len(set(chosen)) == 10
        if weighted:
            assert all(number % 3 > 0 for number in chosen)
    assert len(np.unique(centers[:, 0], axis=0)) > 5


@each_init
def test_a_start_depends_only_on_its_number(init, rng, global_random_seed):
    source = MemorySource(make_rows(rng, 50, 3))
    draw = functools.partial(draw_centers, init)
    every = draw(source, 4, Seeds(global_random_seed), range(9))
    for start in (0, 3, 8):
        alone = draw(source, 4, Seeds(global_random_seed), range(start, start + 1))
        np.testing.assert_array_equal(alone[0], every[start])
    other = draw(source, 4, Seeds(global_random_seed + 1), range(9))
    assert not np.array_equal(every, other)


@each_init
def test_all_rows_can_be_asked_for(init, rng, global_random_seed):
    X = make_rows(rng, 6, 3)
    centers = draw_centers(init, MemorySource(X), 6, Seeds(global_random_seed), range(3))
    for start in centers:
        np.testing.assert_array_equal(np.sort(start[:, 0]), np.sort(X[:, 0]))


def test_rows_are_drawn_uniformly(rng, global_random_seed):
    X = np.arange(10.0)[:, None]
    centers = draw_centers("random", MemorySource(X), 3, Seeds(global_random_seed), range(3000))
    counts = np.bincount(centers.ravel().astype(int), minlength=10)
    np.testing.assert_allclose(counts, 900, atol=150)


def test_seeding_large_tables_looks_at_a_sample(rng, monkeypatch, global_random_seed):
    monkeypatch.setattr(entities_module, "SEEDING_ROWS", 100)
    X = np.arange(5000.0)[:, None]
    source = MemorySource(X, (np.arange(5000) % 2).astype(float))
    taken = []

    def counted(source, numbers, present=None):
        taken.append(len(numbers))
        return rows_at(source, numbers, present)

    monkeypatch.setattr(entities_module, "rows_at", counted)
    centers = draw_centers("k-means++", source, 1, Seeds(global_random_seed), range(3))
    assert len(taken) == 1  # all in one pass: the sample, and half as many to begin with
    assert 100 < taken[0] <= 150
    assert np.all(centers % 2 == 1)


def test_seeds_are_independent_streams(global_random_seed):
    seeds = Seeds(global_random_seed)
    draws = seeds.uniform("centers", range(50), 3)
    assert len(np.unique(draws)) == 150
    assert np.all((draws >= 0) & (draws < 1))
    np.testing.assert_array_equal(seeds.uniform("centers", range(20, 30), 3), draws[20:30])
    assert not np.isin(seeds.uniform("weights", range(50), 3), draws).any()
    assert len(set(seeds.integers("centers", range(50)))) == 50
    assert seeds.integers("centers", range(7, 9)) == seeds.integers("centers", range(50))[7:9]
    state = np.random.RandomState(global_random_seed)
    np.testing.assert_array_equal(Seeds(state).uniform("centers", range(50), 3), draws)
    assert not np.isin(Seeds(state).uniform("centers", range(50), 3), draws).any()  # moved on


def test_every_set_of_rows_is_equally_likely(global_random_seed):
    uniform = Seeds(global_random_seed).uniform("centers", range(12000), 2)
    drawn = np.sort(entities_module.distinct_integers(uniform, 4), axis=1)
    pairs, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(pairs) == 6
    np.testing.assert_allclose(counts, 2000, atol=250)


def test_more_starts_keep_the_first_ones(rng):
    X = make_rows(rng, 80, 4)
    few = KMeans(6, init="random", n_init=2, random_state=1).fit(X)
    many = KMeans(6, init="random", n_init=30, random_state=1).fit(X)
    assert many.inertia_ <= few.inertia_


def test_auto_is_ten_starts(rng):
    X = make_rows(rng, 80, 4)
    a = KMeans(6, random_state=1).fit(X)
    b = KMeans(6, n_init=10, random_state=1).fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_rows_of_little_weight_are_rarely_chosen(global_random_seed, rng):
    """An outlier that would nearly always be a center of k-means++ is none if it hardly counts."""
    X = np.vstack([rng.normal(size=(50, 2)), [[1e3, 1e3]]])
    seeds = Seeds(global_random_seed)
    for weight, is_center in ((1.0, True), (1e-12, False)):
        source = MemorySource(X, np.where(X[:, 0] > 100, weight, 1.0))
        centers = draw_centers("k-means++", source, 2, seeds, range(20))
        np.testing.assert_array_equal((centers > 100).any(axis=(1, 2)), is_center)
