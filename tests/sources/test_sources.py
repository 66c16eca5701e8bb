"""Memory and chunks are the same table: every reduction, every block size."""

from itertools import chain

import numpy as np
import pytest

from fwkmeans._tabular.layout import Layout
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources import (
    BLOCK_BYTES,
    ChunkedSource,
    MemorySource,
    centers_of,
    describe,
    join_in_tree,
    rows_at,
)
from fwkmeans.sources.base import join_neighbors, join_rest
from fwkmeans.typing import Assignment, Entities
from hostile_source import HostileSource
from row_memory import Put, distances_by, labels_by

N, M, K, R = 101, 3, 4, 2

# bytes of a block: less than a row, one row, a few rows, all but one, more than all
BLOCKS = {"below": 1, "one": 8 * M, "few": 8 * M * 7 + 5, "most": 8 * M * (N - 1), "all": 1 << 20}


@pytest.fixture(params=["unweighted", "weighted"])
def table(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, M)) + 10
    weight = rng.integers(0, 3, N) * 1.5 if request.param == "weighted" else None
    return X, weight


@pytest.fixture
def assignment():
    rng = np.random.default_rng(1)
    return Assignment(
        rng.normal(size=(R, K, M)) + 10,
        rng.uniform(0.1, 1, (R, K, M)),
        rng.normal(size=(R, K)) * 0.1,
        np.asarray([1.0, 4.0]),
    )


def bound(source):
    return SquaredEuclidean().bind(describe(source)[0])


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("block_bytes", BLOCKS.values(), ids=BLOCKS.keys())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chunks_equal_memory_for_every_reduction(table, assignment, dtype, block_bytes, n_threads):
    X, weight = table
    X = X.astype(dtype)
    memory = MemorySource(X, weight, n_threads)
    chunks = ChunkedSource(X, weight, n_threads, block_bytes=block_bytes)
    assert (memory.n_rows, memory.n_features, memory.dtype) == (N, M, dtype)
    assert (chunks.n_rows, chunks.n_features, chunks.dtype) == (N, M, dtype)
    euclid, one = bound(memory), assignment.take(np.asarray([1]))

    for reference in (None, assignment.centers + 0.3):
        reduction = euclid.accumulation(assignment, reference)
        a, b = memory.reduce(reduction), chunks.reduce(reduction)
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_array_equal(a.fingerprint, b.fingerprint)
        np.testing.assert_allclose(a.mass, b.mass, rtol=1e-14)
        np.testing.assert_allclose(a.sums, b.sums, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(a.squares, b.squares, rtol=1e-13)

    eligible = np.asarray([[True, False, True, True], [True, True, True, True]])
    reduction = euclid.farthest(assignment, eligible)
    (a, row), (b, also_row) = memory.reduce(reduction), chunks.reduce(reduction)
    np.testing.assert_array_equal(a, b)  # nothing is summed over rows
    np.testing.assert_array_equal(row.numbers, also_row.numbers)

    labels, objective = labels_by(memory, euclid, one)
    chunk_labels, chunk_objective = labels_by(chunks, euclid, one)
    assert chunk_labels.dtype == labels.dtype == np.int32
    np.testing.assert_array_equal(chunk_labels, labels)
    assert chunk_objective == pytest.approx(objective, rel=1e-13)

    for source in (memory, chunks):
        _, mass = source.reduce(euclid.labeling(one))
        np.testing.assert_allclose(mass, np.bincount(labels, weight, K), rtol=1e-14)

    distances = distances_by(memory, euclid, one)
    assert distances.shape == (N, K)
    assert distances.dtype == dtype
    np.testing.assert_array_equal(distances_by(chunks, euclid, one), distances)

    (a, bad), (b, also_bad) = describe(memory), describe(chunks)
    assert a.n_rows == b.n_rows
    for field in ("mass", "mean", "scatter"):
        np.testing.assert_allclose(getattr(a, field), getattr(b, field), rtol=1e-12)
    np.testing.assert_array_equal(a.minimum, b.minimum)
    np.testing.assert_array_equal(a.maximum, b.maximum)
    np.testing.assert_array_equal(bad, also_bad)

    numbers = np.asarray([5, 40, 0, 5, 17])
    present = X if weight is None else X[weight > 0]
    for source in (memory, chunks):
        drawn, drawn_weight = rows_at(source, numbers)
        np.testing.assert_array_equal(drawn.numbers, present[numbers])
        if weight is not None:
            np.testing.assert_array_equal(drawn_weight, weight[weight > 0][numbers])


@pytest.mark.parametrize("n_threads", [2, 5])
def test_a_reduction_does_not_depend_on_threads(table, assignment, n_threads):
    X, weight = table
    reduction = bound(MemorySource(X, weight)).accumulation(assignment)
    once = ChunkedSource(X, weight, 1, block_bytes=999).reduce(reduction)
    many = ChunkedSource(X, weight, n_threads, block_bytes=999).reduce(reduction)
    for a, b in zip(once, many, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("block_bytes", BLOCKS.values(), ids=BLOCKS.keys())
def test_blocks_are_the_rows_in_order(table, block_bytes):
    X, weight = table
    blocks = list(ChunkedSource(X, weight, 2, block_bytes).blocks())
    np.testing.assert_array_equal(np.concatenate([block.rows for block in blocks]), X)
    ends = np.cumsum([len(block.rows) for block in blocks])
    assert [block.first_row for block in blocks] == [0, *ends[:-1]]
    assert all(block.n_threads == 2 for block in blocks)
    if weight is None:
        assert all(block.sample_weight is None for block in blocks)
    else:
        np.testing.assert_array_equal(np.concatenate([b.sample_weight for b in blocks]), weight)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i4", "i8", "?", ">f4", ">f8"])
def test_a_block_as_it_is_computed_on_keeps_to_its_budget(dtype):
    X = np.ones((4000, 5), dtype=dtype)
    for block in ChunkedSource(X, block_bytes=4000).blocks():
        assert block.rows.nbytes <= 4000
        assert block.rows.dtype in (np.float32, np.float64)
        assert block.rows.dtype.isnative


def test_rows_of_a_computable_type_are_not_copied():
    for dtype in (np.float32, np.float64):
        for X in (np.ones((100, 3), dtype), np.ones((100, 3), dtype, order="F")):
            for block in ChunkedSource(X, block_bytes=200).blocks():
                assert np.shares_memory(block.rows, X)
            assert MemorySource(X).rows is X


def test_same_rows_with_other_weights_keep_the_block_size():
    X = np.zeros((10, 2))
    source = ChunkedSource(X, None, 1, block_bytes=77).with_(np.ones(10), 3)
    assert (source.block_bytes, source.n_threads) == (77, 3)
    assert source.rows is X
    np.testing.assert_array_equal(source.sample_weight, 1.0)
    assert ChunkedSource(X).block_bytes == BLOCK_BYTES


def test_other_weights_leave_the_view_of_the_rows_alone(rng):
    X = rng.normal(size=(30, 3))
    view = ChunkedSource(X, block_bytes=200).mapped(np.abs)
    again = view.with_(rng.random(30), 2)
    np.testing.assert_array_equal(np.vstack([b.rows for b in again.blocks()]), np.abs(X))


def test_drawn_rows_have_their_own_levels(rng):
    layout = Layout(np.array([0, 2]), np.array([1]), np.array([0, 9]))
    rows, levels = rng.normal(size=(20, 2)), rng.integers(0, 8, (20, 1)).astype(np.int32)
    numbers = np.array([7, 3, 19, 3, 0])
    memory = MemorySource(rows, levels=levels, layout=layout)
    for source in (memory, HostileSource(memory, seed=5)):
        drawn, weight = rows_at(source, numbers)
        np.testing.assert_array_equal(drawn.numbers, rows[numbers])
        np.testing.assert_array_equal(drawn.levels, levels[numbers])
        assert weight is None


def test_where_a_drawn_row_has_a_gap_the_center_of_the_table_stands_in():
    layout = Layout(np.array([0, 2]), np.array([1]), np.array([0, 4]))
    rows, levels = np.array([[1.0, np.nan], [2.0, 5.0]]), np.array([[1], [-1]], dtype=np.int32)
    table, _ = describe(MemorySource(rows, levels=levels, layout=layout, gaps=True))
    shares = np.array([0.2, 0.5, 0.3, 0.0])
    table = table._replace(center=layout.centers(np.array([1.5, 7.0]), shares))
    centers = centers_of(Entities(rows, levels), table)
    np.testing.assert_array_equal(layout.points(centers), [[1.0, 7.0], [2.0, 5.0]])
    np.testing.assert_array_equal(layout.frequencies(centers), [[0.0, 1.0, 0.0, 0.0], shares])


def test_a_view_of_a_view_is_one_after_the_other(rng):
    X = rng.normal(size=(30, 3))
    for source in (MemorySource(X), ChunkedSource(X, block_bytes=200)):
        view = source.mapped(np.abs).mapped(np.sqrt)
        np.testing.assert_array_equal(
            np.vstack([b.rows for b in view.blocks()]), np.sqrt(np.abs(X))
        )


@pytest.mark.parametrize(
    ("parts", "tree"),
    [
        ("a", "a"),
        ("abc", "((ab)c)"),
        ("abcde", "(((ab)(cd))e)"),
        ("abcdefg", "(((ab)(cd))((ef)g))"),
    ],
)
def test_parts_are_joined_with_their_neighbors_in_order(parts, tree):
    assert join_in_tree(parts, lambda before, after: f"({before}{after})") == tree


@pytest.mark.parametrize("n", [1, 2, 7, 16, 37])
def test_blocks_in_any_groups_are_joined_in_the_same_tree(rng, n):
    """Joining what is there first, in each group and then in groups of groups, changes nothing."""

    def join(before, after):
        return f"({before}{after})"

    names = [chr(ord("A") + at) for at in range(n)]
    for n_groups in (1, 2, 5):
        where = rng.integers(n_groups, size=n)
        groups = [[(at, 1, names[at]) for at in np.flatnonzero(where == g)] for g in range(5)]
        joined = [join_neighbors(group, join) for group in groups]
        halves = [joined[:2], joined[2:]]
        above = [join_neighbors(sorted(chain(*half)), join) for half in halves]
        left = join_neighbors(sorted(chain(*above)), join)
        assert join_rest(left, join) == join_in_tree(names, join)
        assert len(left) == n.bit_count()


def test_row_memory_is_replaced_gathered_and_forgotten_by_name(rng):
    X, old, new = np.zeros((30, 2)), rng.random(30), rng.random(30)
    _, first = ChunkedSource(X, block_bytes=80).run(Put("one", old, 0))
    _, both = first.run(Put("two", old, 0))
    _, changed = both.run(Put("one", new, 0))
    np.testing.assert_array_equal(first.gather("one"), old)  # the source before is as it was
    np.testing.assert_array_equal(changed.gather("one"), new)
    np.testing.assert_array_equal(changed.forget("one").gather("two"), old)
    with pytest.raises(KeyError, match="one"):
        changed.forget("one").gather("one")
