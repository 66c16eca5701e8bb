"""k-means++ on large tables: rows of all blocks are candidates, far ones above all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from fwkmeans import EWKMeans, KMeans, WKMeans
from fwkmeans._init import Seeds, far_rows, spread_entities
from fwkmeans._init import entities as module
from fwkmeans._init.far_rows import Chances, draw_far_rows, exponential
from fwkmeans._tabular.layout import Layout
from fwkmeans.sources import ChunkedSource, MemorySource, centers_of, count_present, describe
from fwkmeans.sources.sparse import SparseSource
from fwkmeans.typing import Entities
from hostile_source import HostileSource

SAMPLE = 200


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(module, "SEEDING_ROWS", SAMPLE)
    monkeypatch.setattr(module, "FAR_ROWS", 100)


def rare(rng, n_rows=4000, far=(300.0,), each=2):
    """Return rows about four centers, and some few that are far from all: the last column."""
    X = rng.normal(size=(n_rows, 3)) + 4.0 * rng.integers(4, size=(n_rows, 1))
    places = rng.choice(n_rows, (len(far), each), replace=False)
    for where, distance in zip(places, far, strict=True):
        X[where] += distance
    return X, places


@pytest.mark.parametrize("kind", ["double", "single", "sparse"])
def test_the_nearest_rows_are_those_of_the_formula(rng, monkeypatch, kind):
    monkeypatch.setattr(far_rows, "_ENTRIES", 64)  # in several steps
    X = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.5)
    X = X.astype(np.float32 if kind == "single" else np.float64)
    rows = csr_array(X) if kind == "sparse" else X
    chosen = np.array([3, 250, 77, 4])
    labels, squared = module._nearest(rows, rows[chosen])
    exact = ((X[:, None].astype(np.float64) - X[chosen]) ** 2).sum(axis=-1)
    assert_allclose(squared, exact.min(axis=1), rtol=1e-5 if kind == "single" else 1e-12)
    assert_allclose(exact[np.arange(300), labels], exact.min(axis=1), rtol=1e-12)


def starts_of(source, n_clusters, seed, n_starts=3):
    return spread_entities(source, n_clusters, Seeds(seed), range(n_starts), describe(source)[0])


CHANCES = Chances(0.7, np.array([0.1, 0.2, 0.3, 0.4]), 0.25)


def slowly(X, centers, weight, seed, n):
    """Give every row its key, one by one."""
    keys, number = [], 0
    for row, own in zip(X, weight, strict=True):
        if own == 0:
            continue
        squared = [sum((a - b) ** 2 for a, b in zip(row, c, strict=True)) for c in centers]
        chance = own * (0.7 * min(squared) / 16 + CHANCES.floors[squared.index(min(squared))])
        keys.append((exponential(np.array([number]), seed)[0] / chance, number))
        number += 1
    return [number for _, number in sorted(keys)[:n]]


def test_random_numbers_of_rows_are_exponential_and_independent():
    numbers = np.arange(100_000)
    e = exponential(numbers, 5)
    assert_allclose([e.mean(), e.var(), (e > 1).mean()], [1, 1, np.exp(-1)], rtol=0.02)
    for other in (e[:-1], exponential(numbers[1:], 6), exponential(numbers[1:] << 32, 5)):
        assert abs(np.corrcoef(e[1:], other)[0, 1]) < 0.02
    assert_array_equal(exponential(numbers[70:80], 5), e[70:80])
    assert (e > 0).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["memory", "float32", "blocks", "hostile", "sparse"])
def test_far_rows_are_those_of_a_slow_draw(rng, kind, weighted, monkeypatch):
    monkeypatch.setattr(far_rows, "_ENTRIES", 64)  # several steps in a block
    X = rng.normal(size=(90, 3))
    X[X < -0.5] = 0.0
    X[20:25] = X[:5]
    weight = rng.integers(0, 3, 90) * 0.5 if weighted else np.ones(90)
    given = weight if weighted else None
    source = {
        "memory": lambda: MemorySource(X, given),
        "float32": lambda: MemorySource(X.astype(np.float32), given),
        "blocks": lambda: ChunkedSource(X, given, block_bytes=170),
        "hostile": lambda: HostileSource(MemorySource(X, given)),
        "sparse": lambda: SparseSource(csr_array(X), given),
    }[kind]()
    table, centers = describe(source)[0], X[:4]
    found = draw_far_rows(
        source, centers, table, CHANCES, count_present(source), 11, 20, with_entities=True
    )
    assert_array_equal(found.numbers, slowly(X, centers, weight, 11, 21))
    there = np.flatnonzero(weight)[found.numbers]
    assert_allclose(found.entities.numbers, X[there], rtol=1e-6)
    assert_array_equal(found.weights, weight[there])
    squared = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1) / 16
    assert found.potential == pytest.approx(weight @ squared, rel=1e-5)


def test_far_rows_of_categories_and_missing_cells(rng):
    layout = Layout(np.array([0]), np.array([1]), np.array([0, 3]))
    rows = rng.normal(size=(60, 1))
    rows[5::9] = np.nan
    rows[5] = 0.0
    levels = rng.integers(0, 3, (60, 1)).astype(np.int32)
    source = MemorySource(rows, None, layout=layout, levels=levels).with_gaps(stretch=False)
    table = describe(source)[0]
    chosen = Entities(rows[1:4], levels[1:4])
    chances = Chances(1.0, np.array([0.3, 0.2, 0.1]), 1.0)
    found = draw_far_rows(
        source,
        centers_of(chosen, table),
        table,
        chances,
        count_present(source),
        3,
        60,
        with_entities=True,
    )
    squared = np.nan_to_num((rows - rows[1:4].T) ** 2) + (levels != levels[1:4].T)
    keys = exponential(np.arange(60), 3)
    keys /= squared.min(axis=1) + chances.floors[squared.argmin(axis=1)]
    assert_array_equal(found.numbers, np.argsort(keys))
    assert found.potential == pytest.approx(squared.min(axis=1).sum())
    assert_array_equal(found.entities.levels, levels[found.numbers])


def test_fewer_rows_with_weight_than_are_drawn():
    weight = np.repeat([0.0, 1.0], [50, 3])
    source = MemorySource(np.repeat([[1.0], [2.0]], [51, 2], axis=0), weight)
    found = draw_far_rows(
        source,
        np.array([[1.0]]),
        describe(source)[0],
        Chances(0.0, np.ones(1), 1.0),
        count_present(source),
        0,
        5,
        with_entities=True,
    )
    assert sorted(found.numbers) == [0, 1, 2]
    assert found.potential == 2


@pytest.mark.parametrize("n_different", [1, 3])
def test_tables_of_few_different_rows(small_sample, n_different):
    X = np.repeat(np.eye(3)[:n_different], 900 // n_different, axis=0)
    centers = starts_of(MemorySource(X), 3, 0)
    assert len(np.unique(centers.reshape(-1, 3), axis=0)) == n_different


def test_weights_of_candidates_make_them_count_for_all_rows(rng, small_sample):
    """Sums over the candidates are right on average, that of the squares nearly each time."""
    X, _ = rare(rng)
    weight = rng.random(len(X)) + 0.5
    source = MemorySource(X, weight)
    table, present = describe(source)[0], count_present(source)
    sums, squares = [], []
    for seed in range(40):
        numbers, _ = module._seeding_numbers(source, 5, Seeds(seed))
        fetch = module._Fetching(source, present, table, numbers.size)
        found, expected = module._candidates(fetch, 5, Seeds(seed), numbers)
        weights = found.weights / module.chance_drawn(expected, numbers.size / len(X))
        assert len(np.unique(found.numbers)) == found.numbers.size
        assert_array_equal(found.entities.numbers, X[found.numbers])
        assert (weights >= found.weights * (1 - 1e-12)).all()
        sums.append(weights.sum())
        squares.append(weights @ ((X[found.numbers] - X.mean(axis=0)) ** 2).sum(axis=1))
    right = weight @ ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    assert np.mean(sums) == pytest.approx(weight.sum(), rel=0.03)
    assert np.mean(squares) == pytest.approx(right, rel=0.03)
    assert np.std(squares) < 0.2 * right


def test_rare_clusters_that_a_sample_misses_are_found(rng, small_sample, monkeypatch):
    """Two rows of 4000, where 200 are drawn: nearly every sample has none of them."""
    X, (far,) = rare(rng)
    source = MemorySource(X)

    def n_found():
        return sum(
            (np.isin(X[far, 0], start[:, 0])).any()
            for seed in range(10)
            for start in starts_of(source, 5, seed)
        )

    assert n_found() == 30

    def sample_alone(fetch, n_clusters, seeds, numbers):
        return fetch(numbers), np.ones(numbers.size)

    monkeypatch.setattr(module, "_candidates", sample_alone)
    assert n_found() <= 10


def test_clusters_that_others_overshadow_are_found_in_further_rounds(rng, small_sample):
    """What is far by a hundred has no chance beside what is far by a million, at first."""
    X, places = rare(rng, far=(1e6, 300.0), each=2)
    source = MemorySource(X)
    rounds = []
    original = module.draw_far_rows

    def counted(*given, **options):
        rounds[-1] += 1
        return original(*given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "draw_far_rows", counted)
        n = 0
        for seed in range(10):
            rounds.append(0)
            for start in starts_of(source, 6, seed):
                n += all(np.isin(X[far, 0], start[:, 0]).any() for far in places)
    assert n >= 27
    assert 1 <= min(rounds) <= max(rounds) <= module.ROUNDS
    assert np.median(rounds) >= 2


def test_starts_do_not_depend_on_blocks_or_batches(rng, small_sample, tmp_path):
    X, _ = rare(rng, 3000)
    weight = rng.integers(0, 3, 3000) * 1.0
    every = starts_of(MemorySource(X, weight), 4, 1)
    np.save(tmp_path / "rows.npy", X)
    for source in (
        ChunkedSource(tmp_path / "rows.npy", weight, block_bytes=999),
        HostileSource(MemorySource(X, weight)),
        MemorySource(X[weight > 0], weight[weight > 0]),  # rows without weight are absent
    ):
        assert_array_equal(starts_of(source, 4, 1), every)
    source = MemorySource(X, weight)
    alone = spread_entities(source, 4, Seeds(1), range(2, 3), describe(source)[0])
    assert_array_equal(alone[0], every[2])
    assert not np.array_equal(starts_of(source, 4, 2), every)


def test_sparse_rows_stay_sparse(rng, small_sample, monkeypatch):
    X, (far,) = rare(rng)
    X[:, :2] *= rng.random((4000, 2)) < 0.3
    expected = starts_of(MemorySource(X), 5, 0)
    monkeypatch.setattr(module, "SEEDING_BYTES", 0)
    monkeypatch.setattr(module, "_limit", lambda source, n_clusters: SAMPLE)
    found = starts_of(SparseSource(csr_array(X)), 5, 0)
    assert found.shape == expected.shape
    rows = {tuple(row) for row in X}
    for start in found:
        assert all(tuple(row) in rows for row in start)
        assert np.isin(X[far, 2], start[:, 2]).any()


def test_dask_draws_the_same_rows(rng, small_sample):
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    X, _ = rare(rng, 1000)
    options = {"n_init": 2, "random_state": 0, "max_iter": 3}
    expected = EWKMeans(5, **options).fit(X)
    with dask.config.set(scheduler="synchronous"):
        model = EWKMeans(5, **options).fit(da.from_array(X, chunks=(130, 3)))
        assert_array_equal(model.labels_.compute(), expected.labels_)
    assert_allclose(model.cluster_centers_, expected.cluster_centers_)


def test_frames_with_gaps_and_huge_values(rng, small_sample):
    pd = pytest.importorskip("pandas")
    X, _ = rare(rng, 1000)
    for factor in (1e-130, 1e130):
        expected, model = (KMeans(5, n_init=2, random_state=0).fit(f * X) for f in (1, factor))
        assert_array_equal(model.labels_, expected.labels_)
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=rng.choice(["x", "y"], 1000))
    frame.loc[::7, "a"] = np.nan
    frame.loc[3:9, "kind"] = None
    model = WKMeans(5, missing="ignore", n_init=2, random_state=0).fit(frame)
    assert np.isfinite(model.inertia_)
    assert len(np.unique(model.labels_)) == 5
