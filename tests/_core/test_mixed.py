"""Powers, categories and missing cells: the C++ kernels against the twin and exact arithmetic."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _core.problems import (
    LAYOUTS,
    assert_bitwise,
    assert_labels_exact,
    assert_same_statistics,
    exact_labels,
    exact_parts,
    exact_sums,
    make_mixed_problem,
    power_of,
    python,
    relaid,
)
from fwkmeans._core import twin
from fwkmeans.typing import Block, LastLabels

compiled = pytest.importorskip("fwkmeans._core.compiled")

DTYPES = [np.float32, np.float64]
KERNELS = {"compiled": compiled, "twin": twin}
POWERS = (1.0, 1.1, 1.7, 2.0, 3.0, 4.6, 20.0, np.inf)
FINITE = POWERS[:-1]
ROUNDING = {np.float32: 1e-6, np.float64: 1e-12}
#: Precision, and whether clusters share their weights: in turn, with what else is varied.
TURNS = list(itertools.product(DTYPES, [False, True]))
each_kernel = pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS.keys())


def labels_of(problem, kernels):
    """Return the labels of every start, (R, n)."""
    return np.stack([problem.of_start(r).assign(kernels)[0] for r in range(len(problem.centers))])


def assert_sums_exact(got, expected):
    """Assert statistics that differ from exact ones by rounding alone."""
    np.testing.assert_array_equal(got.rows, expected.rows)
    exact = expected._replace(**{f: getattr(expected, f).astype(float) for f in ("mass", "sums")})
    np.testing.assert_allclose(got.mass, exact.mass, rtol=1e-13)
    np.testing.assert_allclose(got.squares, exact.squares.astype(float), rtol=1e-12)
    np.testing.assert_allclose(got.counts, exact.counts.astype(float), rtol=1e-12)
    size = np.sqrt(exact.mass)[..., None] * np.sqrt(got.squares)
    assert np.all(np.abs(got.sums - exact.sums) <= 1e-12 * size)


def assert_everything_exact(problem):
    """Assert what both kernels say of a problem, start by start, against extended precision."""
    with np.errstate(over="ignore"):
        statistics = problem.accumulate(compiled)
        assert_same_statistics(statistics, problem.accumulate(twin))
    labels = labels_of(problem, compiled)
    expected = exact_sums(problem, labels)
    assert_sums_exact(statistics, expected)
    if problem.gaps:
        np.testing.assert_allclose(
            statistics.observed, expected.observed.astype(float), rtol=1e-12, atol=1e-14
        )
    else:
        np.testing.assert_array_equal(statistics.observed, statistics.mass[..., None])
    farthest = problem.farthest(compiled)
    for got, wanted in zip(farthest, problem.farthest(twin), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    for start in range(len(problem.centers)):
        one = problem.of_start(start)
        assert_labels_exact(labels[start], problem, start)
        np.testing.assert_array_equal(one.assign(twin)[0], labels[start])
        assert_one_start_exact(one, labels[start], farthest[0][start], int(farthest[1][start]))


def assert_one_start_exact(one, labels, distance, row):
    d, factors = exact_parts(one)
    p, n = power_of(one, 0), len(labels)
    own = np.take_along_axis(d, labels[:, None].astype(int), axis=1)[:, 0]
    s = np.ones(n) if one.sample_weight is None else one.sample_weight
    # objective
    terms = own + one.offsets[0][labels]
    objective = terms[s > 0].max(initial=0) if p == np.inf else (s * terms).sum()
    size = float((s * (np.abs(own) + np.abs(one.offsets).max())).sum())
    for kernels in (compiled, twin):
        assert abs(one.assign(kernels)[1] - float(objective)) <= 1e-12 * size
    # distances are roots, after what missing cells do to them
    stretch = stretches(one)
    if one.gaps and one.rescale:
        seen = np.where(factors < np.inf, d * np.where(factors < np.inf, factors, 1), np.inf)
    else:
        seen = d if p == np.inf else d * stretch[:, None]
    roots = (seen if p == np.inf else seen ** (1 / np.longdouble(p))).astype(float)
    dtype = one.rows.dtype.type
    for kernels in (compiled, twin):
        got = one.distances(kernels)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, roots, rtol=ROUNDING[dtype])
    # the farthest row
    reach = own if p == np.inf else own * stretch
    reach = np.where((s > 0) & one.eligible[0][labels], reach, 0)
    if reach.max() == 0:
        assert (distance, row) == (0.0, -1)
    else:
        assert distance == pytest.approx(float(reach.max()), rel=1e-12)
        assert float(reach[row - one.first_row]) == pytest.approx(distance, rel=1e-12)


def stretches(problem):
    """Return all / observed features of each row."""
    observed = (~np.isnan(problem.rows)).sum(axis=1)
    n_features = problem.rows.shape[1]
    if problem.levels is not None:
        observed = observed + (problem.levels >= 0).sum(axis=1)
        n_features += problem.levels.shape[1]
    return n_features / observed.astype(np.longdouble) if problem.gaps else np.ones(len(observed))


# ---- powers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_powers_mixed_in_one_batch(layout):
    dtype, shared = TURNS[list(LAYOUTS).index(layout) % 4]
    for seed, (n, m, k) in enumerate([(1, 1, 1), (33, 2, 6), (129, 9, 5), (1100, 3, 3)]):
        problem = make_mixed_problem(
            seed,
            n,
            m,
            k,
            POWERS,
            dtype=dtype,
            shared=shared,
            layout=layout,
            sample_weight=seed % 2 == 1,
            offsets=seed % 3 == 1,
            zero_weights=seed % 4 == 2,
            other_reference=seed % 2 == 0,
            first_row=1000 * (seed % 3),
        )
        assert_everything_exact(problem)


@pytest.mark.parametrize("p", POWERS)
def test_every_number_of_rows_features_and_clusters(p):
    shapes = itertools.chain(
        ((n, 3, 3) for n in range(1, 35)),
        ((19, m, 4) for m in range(1, 36)),
        ((19, 5, k) for k in range(1, 14)),
    )
    for seed, (n, m, k) in enumerate(shapes):
        dtype = DTYPES[seed % 2]
        problem = make_mixed_problem(seed, n, m, k, [p], dtype=dtype, shared=seed % 3 == 0)
        assert_labels_exact(problem.assign(compiled)[0], problem)
        assert_same_statistics(problem.accumulate(compiled), problem.accumulate(twin))
        for got, wanted in zip(problem.farthest(compiled), problem.farthest(twin), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 120),
    m=st.integers(1, 20),
    k=st.integers(1, 9),
    powers=st.lists(
        st.one_of(st.sampled_from(FINITE), st.floats(1.0, 12.0)), min_size=1, max_size=3
    ),
    options=st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(DTYPES),
            "layout": st.sampled_from(list(LAYOUTS)),
            "n_categorical": st.integers(0, 3),
            "missing": st.sampled_from([0.0, 0.1, 0.6]),
            "first_row": st.integers(0, 2**40),
        }
        | {
            name: st.booleans()
            for name in ("shared", "sample_weight", "offsets", "other_reference", "rescale")
        }
    ),
)
def test_any_mixed_problem(seed, n, m, k, powers, options):
    assert_everything_exact(make_mixed_problem(seed, n, m, k, powers, **options))


@pytest.mark.parametrize("dtype", DTYPES)
def test_power_two_among_others_is_the_square(dtype):
    problem = make_mixed_problem(1, 700, 7, 5, [2.0, 3.0, 2.0], dtype=dtype, sample_weight=True)
    squares = problem._replace(power=None)
    for what in ("accumulate", "farthest"):
        mixed, plain = getattr(problem, what)(compiled), getattr(squares, what)(compiled)
        for a, b in zip(mixed, plain, strict=True):
            if a is not None:
                np.testing.assert_array_equal(a[[0, 2]], b[[0, 2]])
    assert_bitwise(problem.assign(compiled), squares.assign(compiled))
    assert_bitwise([problem.distances(compiled)], [squares.distances(compiled)])


@pytest.mark.parametrize("p", [1.05, 1.1, 1.5, 1.7, 2.5, 3.0, 4.6, 7.3, 12.0, 20.0])
def test_powers_are_accurate_over_all_magnitudes(p):
    rng = np.random.default_rng(0)
    reach = 300 / p
    x = rng.uniform(1, 10, 4000) * 10.0 ** rng.uniform(-reach, reach - 1, 4000)
    x[:200] = 1.0 + rng.uniform(-1e-3, 1e-3, 200)
    x[200:400] = 2.0 ** rng.integers(-int(reach), int(reach), 200)
    x[400:500] = np.sqrt(0.5) * (1 + rng.uniform(-1e-14, 1e-14, 100))
    block = Block(x[None, :], None)  # every number is a feature of one row
    zero, power, labels = np.zeros((1, 1, 4000)), np.asarray([p]), np.zeros((1, 1), np.int32)
    expected = x.astype(np.longdouble) ** np.longdouble(p)
    for kernels in (compiled, twin):
        got = kernels.powers(block, zero, power, labels)[0, 0]
        assert np.abs(got / expected - 1).max() < 1e-13
    # one feature at a time, the roots of which are the numbers themselves
    column = make_mixed_problem(0, 4000, 1, 1, [p])
    column = column._replace(
        rows=x[:, None], centers=np.zeros((1, 1, 1)), weights=np.ones((1, 1, 1))
    )
    np.testing.assert_allclose(column.distances(compiled)[:, 0], x, rtol=1e-13)


@pytest.mark.parametrize("p", [1.0, 1.1, 3.0, 20.0, np.inf])
@each_kernel
def test_powers_at_the_ends(kernels, p):
    x = np.asarray([[0.0, -0.0, 1.0, -1.0, 5e-324, 1e300, -1e300]])
    zero, power, labels = np.zeros((1, 1, 7)), np.asarray([p]), np.zeros((1, 1), np.int32)
    with np.errstate(over="ignore"):
        got = kernels.powers(Block(x, None), zero, power, labels)[0, 0]
    np.testing.assert_array_equal(got[:4], [0.0, 0.0, 1.0, 1.0])
    assert 0.0 <= got[4] <= 5e-324
    np.testing.assert_array_equal(got[5:], 1e300 if p in (1.0, np.inf) else np.inf)


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_go_to_the_lowest_cluster(dtype, p):
    # small integers: powers of equal differences are equal, and most rows tie
    rng = np.random.default_rng(2)
    problem = make_mixed_problem(0, 777, 3, 13, [p], dtype=dtype)
    rows, centers = rng.integers(-2, 3, (777, 3)), rng.integers(-2, 3, (1, 13, 3)) * 1.0
    problem = problem._replace(
        rows=rows.astype(dtype), centers=centers, weights=np.ones_like(problem.weights)
    )
    size = np.abs(rows[:, None] - centers[0])
    if p == np.inf:
        d = size.max(axis=-1)
    else:  # the sums of a few different powers: by how often each occurs
        d = sum((size == t).sum(axis=-1) * float(t) ** p for t in range(5))
    expected = (d <= d.min(axis=1, keepdims=True) * (1 + 1e-14)).argmax(axis=1)
    if p in (1.0, 3.0, np.inf):  # sums of integers
        np.testing.assert_array_equal(problem.assign(twin)[0], expected)
    np.testing.assert_array_equal(problem.assign(compiled)[0], expected)


# ---- categories ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [0, 1, 6])
@pytest.mark.parametrize("n_categorical", [1, 3, 40])
def test_categories(n_categorical, n_features):
    dtype, shared = TURNS[(n_categorical + n_features) % 4]
    for seed, (n, k) in enumerate([(1, 1), (70, 6), (1100, 4)]):
        problem = make_mixed_problem(
            seed,
            n,
            n_features,
            k,
            [2.0, 1.0, 3.0],
            dtype=dtype,
            shared=shared,
            n_categorical=n_categorical,
            n_levels=3 + seed,
            sample_weight=seed % 2 == 1,
            offsets=seed == 2,
        )
        assert_everything_exact(problem)


@pytest.mark.parametrize("n_features", [0, 2])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_thousands_of_levels(missing, n_features):
    problem = make_mixed_problem(
        5, 1500, n_features, 5, [2.0, 1.5], n_categorical=2, n_levels=2500, missing=missing
    )
    assert problem.costs.shape == (2, 5, 5000)
    assert_everything_exact(problem)


@pytest.mark.parametrize("layout", ["Fortran", "every other row", "all backwards"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_categories_in_any_layout(missing, layout):
    problem = make_mixed_problem(3, 400, 4, 5, [2.0, 1.7], n_categorical=4, missing=missing)
    other = problem._replace(
        rows=relaid(problem.rows, layout), levels=relaid(problem.levels, layout)
    )
    assert_bitwise(other.accumulate(compiled), problem.accumulate(compiled))
    assert_bitwise(other.assign(compiled), problem.assign(compiled))
    assert_bitwise([other.distances(compiled)], [problem.distances(compiled)])


def test_kernels_agree_on_categories_beside_a_largest_difference():
    """Whatever a category counts for where p is infinite, it counts in both kernels."""
    problem = make_mixed_problem(8, 300, 3, 4, [np.inf], n_categorical=2)
    np.testing.assert_array_equal(problem.assign(compiled)[0], problem.assign(twin)[0])
    assert problem.assign(compiled)[1] == pytest.approx(problem.assign(twin)[1], rel=1e-12)
    np.testing.assert_allclose(problem.distances(compiled), problem.distances(twin), rtol=1e-12)


@each_kernel
def test_rows_equal_but_for_a_category_are_told_apart_by_its_cost(kernels):
    problem = make_mixed_problem(0, 600, 3, 2, [2.0], n_categorical=1, n_levels=2)
    costs = np.zeros((1, 2, 2))
    costs[0, 0, 1] = costs[0, 1, 0] = 1e-9
    problem = problem._replace(
        rows=np.full((600, 3), 1e3),
        centers=np.full((1, 2, 3), 1e3 + 1),
        weights=np.ones((1, 2, 3)),
        costs=costs,
    )
    np.testing.assert_array_equal(problem.assign(kernels)[0], problem.levels[:, 0])


# ---- missing cells ------------------------------------------------------------------------------


@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("n_categorical", [0, 3])
def test_missing_cells(n_categorical, shared, rescale):
    for seed, (n, m, k, missing) in enumerate(
        [(1, 2, 1, 0.3), (70, 5, 6, 0.1), (500, 9, 3, 0.7), (1100, 1, 4, 0.5)]
    ):
        problem = make_mixed_problem(
            seed,
            n,
            m,
            k,
            FINITE if n_categorical else POWERS,
            dtype=DTYPES[(seed + shared) % 2],
            shared=shared,
            n_categorical=n_categorical,
            missing=missing,
            rescale=rescale,
            sample_weight=seed % 2 == 1,
            offsets=seed % 3 == 1,
            layout=list(LAYOUTS)[seed],
        )
        assert_everything_exact(problem)


def test_stretch_is_a_choice():
    problem = make_mixed_problem(2, 300, 6, 4, [2.0], missing=0.4)
    block = problem.block()._replace(stretch=False)
    roots = np.sqrt(exact_parts(problem)[0]).astype(float)
    for kernels in (compiled, twin):
        np.testing.assert_allclose(kernels.distances(block, problem.assigning), roots, rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.7, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_observed_without_weight_goes_elsewhere(dtype, p):
    """Where nothing of a cluster's weight is observed, nothing speaks for that cluster."""
    problem = make_mixed_problem(3, 200, 3, 3, [p], dtype=dtype, missing=0.01, rescale=True)
    problem.rows[...] = np.random.default_rng(0).normal(size=(200, 3))
    problem.rows[:, 1:] = np.nan
    weights = problem.weights.copy()
    weights[0, 0] = [0.0, 0.5, 0.5]  # cluster 0 does not look at the only cell there is
    problem = problem._replace(weights=weights)
    for kernels in (compiled, twin):
        labels = problem.assign(kernels)[0]
        assert 0 not in labels
        np.testing.assert_array_equal(labels, exact_labels(problem))
        assert np.isinf(problem.distances(kernels)[:, 0]).all()
        assert np.isfinite(problem.distances(kernels)[:, 1:]).all()
    assert_same_statistics(problem.accumulate(compiled), problem.accumulate(twin))
    # ... of all of them: the first
    weights[..., 0], weights[..., 1:] = 0.0, 0.5
    nowhere = problem._replace(weights=weights)
    for kernels in (compiled, twin):
        np.testing.assert_array_equal(nowhere.assign(kernels)[0], 0)
        np.testing.assert_array_equal(nowhere.distances(kernels), 0.0)
    assert_same_statistics(nowhere.accumulate(compiled), nowhere.accumulate(twin))


@pytest.mark.parametrize("n_categorical", [0, 3])
@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_looking_for_gaps_where_there_are_none_changes_nothing(dtype, rescale, n_categorical):
    problem = make_mixed_problem(
        4, 1300, 7, 5, FINITE, dtype=dtype, n_categorical=n_categorical, sample_weight=True
    )
    looking = problem._replace(gaps=True, rescale=rescale)
    for kernels in (compiled, twin):
        plain, gappy = problem.accumulate(kernels), looking.accumulate(kernels)
        for part in ("mass", "rows", "sums", "squares", "counts", "fingerprint"):
            np.testing.assert_array_equal(getattr(plain, part), getattr(gappy, part))
        np.testing.assert_allclose(gappy.observed, plain.observed + 0 * gappy.sums, rtol=1e-13)
        assert_bitwise(looking.farthest(kernels), problem.farthest(kernels))
        assert_bitwise(looking.assign(kernels), problem.assign(kernels))
        assert_bitwise([looking.distances(kernels)], [problem.distances(kernels)])


def test_gaps_need_no_sample_weights():
    """Run in a process of its own: once this read the weights that were not given."""
    python(GAPS_WITHOUT_WEIGHTS)


GAPS_WITHOUT_WEIGHTS = """
import numpy as np
from _core.problems import assert_bitwise, make_mixed_problem
from fwkmeans._core import compiled
problem = make_mixed_problem(0, 300, 4, 3, [2.0, 1.5], missing=0.2)
ones = problem._replace(sample_weight=np.ones(300)).accumulate(compiled)
assert_bitwise(problem._replace(sample_weight=None).accumulate(compiled), ones)
"""


def test_tables_without_numbers_are_described_in_every_layout():
    """Run in a process of its own: once this divided by the number of columns."""
    python(NO_NUMBERS)


NO_NUMBERS = """
import numpy as np
from _core.problems import LAYOUTS
from fwkmeans._core import compiled
from fwkmeans.typing import Block
for layout in LAYOUTS.values():
    rows = layout(5000, 0, np.dtype(np.float64))
    assert compiled.describe(Block(rows, None), np.empty(0)).n_rows == 5000
assert compiled.describe(Block(np.ones((5000, 3))[:, :0], None), np.empty(0)).n_rows == 5000
"""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_describe_leaves_missing_cells_out(dtype, weighted):
    problem = make_mixed_problem(6, 3000, 5, 1, missing=0.4, dtype=dtype, sample_weight=weighted)
    rows, s = problem.rows.astype(np.longdouble), problem.sample_weight
    reference = problem.reference[0, 0]
    there = ~np.isnan(rows)
    t = np.where(there, rows - reference, 0)
    present = there & (s > 0)[:, None]
    for kernels in (compiled, twin):
        moments = problem.describe(kernels)
        np.testing.assert_allclose(moments.observed, (s[:, None] * there).sum(axis=0), rtol=1e-13)
        sums, squares = (s[:, None] * t).sum(axis=0), (s[:, None] * t * t).sum(axis=0)
        np.testing.assert_allclose(moments.squares, squares.astype(float), rtol=1e-12)
        size = np.sqrt(moments.observed * moments.squares)
        assert np.all(np.abs(moments.sums - sums.astype(float)) <= 1e-12 * size)
        np.testing.assert_array_equal(
            moments.minimum, np.where(present, rows, np.inf).min(axis=0).astype(float)
        )
        np.testing.assert_array_equal(
            moments.maximum, np.where(present, rows, -np.inf).max(axis=0).astype(float)
        )
        np.testing.assert_array_equal(moments.missing, (~there).sum(axis=0))
        np.testing.assert_array_equal(moments.nonfinite, moments.missing)


# ---- updates ------------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_features", [0, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_updates_equal_a_full_count(kernels, weighted, n_features, missing):
    rng = np.random.default_rng(1)
    first = make_mixed_problem(
        0,
        1500,
        n_features,
        6,
        [2.0, 1.0, 2.7],
        n_categorical=5,
        missing=missing,
        sample_weight=weighted,
    )
    second = first._replace(
        centers=first.centers + 0.2 * rng.normal(size=first.centers.shape),
        costs=first.costs * rng.uniform(0.8, 1.2, first.costs.shape),
    )
    last = LastLabels(np.full((3, 1500), -1, dtype=np.int32), np.zeros(3, dtype=bool))
    before = first.accumulate(kernels, last=last)
    np.testing.assert_array_equal(last.labels, labels_of(first, kernels))
    known = last.labels.copy()
    changes = second.accumulate(kernels, last=last._replace(update=np.ones(3, dtype=bool)))
    whole = second.accumulate(kernels)
    np.testing.assert_array_equal(last.labels, labels_of(second, kernels))
    np.testing.assert_array_equal(changes.fingerprint, whole.fingerprint)
    np.testing.assert_array_equal(changes.changed, (known != last.labels).sum(axis=1))
    assert np.all(changes.changed > 0)
    added = before.plus(changes)
    for part in ("mass", "rows", "sums", "squares", "observed", "counts"):
        total, expected = getattr(added, part), getattr(whole, part)
        scale = np.abs(expected).max(initial=0) + 1
        np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-12 * scale)


# ---- to the last bit ----------------------------------------------------------------------------

MIXES = {
    "powers": {},
    "categories": {"n_categorical": 4},
    "gaps": {"missing": 0.3},
    "rescaled": {"missing": 0.3, "rescale": True, "n_categorical": 3},
}
each_mix = pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES.keys())


def some_labels(problem, seed=0):
    shape = (len(problem.centers), len(problem.rows))
    rng = np.random.default_rng(seed)
    return rng.integers(0, problem.centers.shape[1], shape).astype(np.int32)


@each_mix
@pytest.mark.parametrize(("n_threads", "dtype"), [(2, np.float32), (8, np.float64)])
def test_results_do_not_depend_on_threads(dtype, n_threads, mix):
    for seed, (n, m, k) in enumerate([(1500, 9, 5), (9000, 2, 4), (70000, 1, 2)]):
        problem = make_mixed_problem(
            seed, n, m, k, [1.7, 2.0, 1.0], dtype=dtype, sample_weight=seed != 1, **mix
        )
        labels = some_labels(problem)
        for what in ("accumulate", "farthest", "assign"):
            once = getattr(problem, what)(compiled, 1)
            assert_bitwise(getattr(problem, what)(compiled, n_threads), once)
        assert_bitwise([problem.distances(compiled, n_threads)], [problem.distances(compiled)])
        for what in ("powers", "slopes"):
            many = getattr(problem, what)(compiled, labels, n_threads)
            assert_bitwise(many, getattr(problem, what)(compiled, labels))


@each_mix
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_start_does_not_depend_on_its_batch(n_threads, mix):
    for n in (100, 3000):
        batch = make_mixed_problem(1, n, 4, 5, FINITE, sample_weight=True, **mix)
        labels = some_labels(batch)
        whole = batch.accumulate(compiled, n_threads)
        farthest = batch.farthest(compiled, n_threads)
        powers, slopes = (
            getattr(batch, what)(compiled, labels, n_threads) for what in ("powers", "slopes")
        )
        for starts in ([4], [6, 0], [3, 3, 5, 2, 1], list(range(6, -1, -1))):
            part = batch.of_starts(starts)
            for got, every in (
                (part.accumulate(compiled, n_threads), whole),
                (part.farthest(compiled, n_threads), farthest),
                (part.slopes(compiled, labels[starts], n_threads), slopes),
                ([part.powers(compiled, labels[starts], n_threads)], [powers]),
            ):
                assert_bitwise(got, [None if f is None else f[starts] for f in every])


@each_mix
@pytest.mark.parametrize("p", [1.0, 1.7, 2.0, 4.6])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_label_does_not_depend_on_the_other_rows(dtype, p, mix):
    rng = np.random.default_rng(0)
    for n, m, k in [(1100, 6, 9), (200, 1, 3)]:
        problem = make_mixed_problem(n, n, m, k, [p], dtype=dtype, **mix)
        thirds = np.where(np.isnan(problem.rows), np.nan, rng.integers(-3, 4, (n, m)) / 3)
        problem = problem._replace(  # many rows tie up to rounding
            rows=thirds.astype(dtype),
            centers=rng.integers(-3, 4, (1, k, m)) / 3,
            weights=np.ones_like(problem.weights),
        )
        whole = problem.assign(compiled, 2)[0]
        subsets = [slice(i, i + size) for i in (0, 1, 63, 128) for size in (1, 2, 65)]
        subsets += [slice(None, None, -1), slice(3, None, 7), rng.permutation(n)]
        for subset in subsets:
            chosen = {"rows": problem.rows[subset]}
            for name in ("sample_weight", "levels"):
                if getattr(problem, name) is not None:
                    chosen[name] = getattr(problem, name)[subset]
            labels = problem._replace(**chosen).assign(compiled)[0]
            np.testing.assert_array_equal(labels, whole[subset])


@each_mix
def test_inputs_are_left_alone(mix):
    problem = make_mixed_problem(0, 500, 5, 4, [1.7, 2.0], sample_weight=True, offsets=True, **mix)
    labels = some_labels(problem)
    before = [None if part is None else np.array(part) for part in (*problem, labels)]
    for what in ("accumulate", "farthest", "assign", "distances", "describe"):
        getattr(problem, what)(compiled)
    problem.powers(compiled, labels)
    problem.slopes(compiled, labels)
    after = [None if part is None else np.asarray(part) for part in (*problem, labels)]
    assert_bitwise(after, before)


# ---- the twin elsewhere -------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@each_mix
def test_twin_is_the_same_in_every_array_library(library, mix):
    xp = pytest.importorskip(library)
    problem = make_mixed_problem(0, 90, 4, 3, [1.7, 2.0, 1.0, 3.0], sample_weight=True, **mix)
    labels = some_labels(problem)
    arrays = {
        name: xp.asarray(np.ascontiguousarray(part))
        for name, part in problem._asdict().items()
        if isinstance(part, np.ndarray)
    }
    elsewhere = problem._replace(**arrays)
    for what in ("accumulate", "farthest", "assign"):
        got, expected = getattr(elsewhere, what)(twin), getattr(problem, what)(twin)
        for a, b in zip(got, expected, strict=True):
            if b is not None:
                np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        np.asarray(elsewhere.distances(twin)), problem.distances(twin), rtol=1e-12
    )
    powers = elsewhere.powers(twin, xp.asarray(labels))
    np.testing.assert_allclose(np.asarray(powers), problem.powers(twin, labels), rtol=1e-12)
    slopes = elsewhere.slopes(twin, xp.asarray(labels))
    for a, b in zip(slopes, problem.slopes(twin, labels), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12, atol=1e-12)
