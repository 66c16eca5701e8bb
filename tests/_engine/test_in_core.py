"""The loop in the core and the loop in Python: the same labels and iterations, values to 1e-12."""

from __future__ import annotations

import numpy as np
import pytest

from fwkmeans import (
    AWKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    FWSAKMeans,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans._engine import (
    Recipe,
    alternate,
    alternate_in_python,
    assignment_of,
    bind_parts,
    why_not_in_core,
)
from fwkmeans._engine.in_core import alternate_in_core
from fwkmeans._init import Seeds, initial_weights, random_entities
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.sources import MemorySource, describe, weigh_gaps
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    FixedWeights,
    GroupEntropyWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    UniformWeights,
)

RULES = [
    UniformWeights(),
    FixedWeights(),
    EntropyWeights(),
    EntropyWeights(gamma=0.0),
    EntropyWeights(gamma=1e-3),
    EntropyWeights(dispersion="mean"),
    SharedPowerWeights(),
    SharedPowerWeights(beta=1.0),
    SharedPowerWeights(beta=0.0),
    SharedPowerWeights(beta=-1.5),
    ClusterPowerWeights(),
    ClusterPowerWeights(beta=1.3, smoothing="frozen"),
    ClusterPowerWeights(beta=3.0, smoothing="refresh"),
    ClusterPowerWeights(smoothing="inside"),
    ClusterPowerWeights(beta=-1.0, smoothing=0.2),
    SelfAdjustingWeights(),
    SelfAdjustingWeights(safeguard=True),
    SharedPowerWeights(beta=4.0, guard=0.1),
    SharedPowerWeights(beta=-1.5, guard=0.5),
    ClusterPowerWeights(beta=4.0, guard=0.05),
    ClusterPowerWeights(smoothing="refresh", guard=1.0),
    ClusterPowerWeights(beta=1.3, smoothing="frozen", guard=0.3),
    ClusterPowerWeights(smoothing="inside", guard=0.2),
    SelfAdjustingWeights(guard=1.0),
    SelfAdjustingWeights(safeguard=True, guard=0.1),
    GroupEntropyWeights(),
    GroupEntropyWeights(dispersion="mean"),
    GroupEntropyWeights(lam=0.0, eta=1e-3),
    GroupEntropyWeights(lam=1e-2, eta=0.0, dispersion="mean"),
]


def _tables() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    blobs = rng.normal(size=(400, 3)) + 4.0 * rng.integers(0, 3, (400, 1))
    wide = rng.normal(size=(300, 21)) * rng.random(21)
    return {
        "blobs": blobs,
        "wide": wide,
        "single": wide.astype(np.float32),
        "strided": np.asfortranarray(wide)[::2, ::3],
        "one column": rng.normal(size=(200, 1)),
        "few values": rng.integers(0, 3, (90, 3)).astype(np.float64),  # ties, empty clusters
        "constant": np.column_stack([blobs, np.ones(400)]),
        "far": blobs + 1e7,
        "very wide": rng.normal(size=(60, 300)),
        "segments": rng.normal(size=(5000, 4)) + 3.0 * rng.integers(0, 4, (5000, 1)),
    }


TABLES = _tables()


def _problem(X, rule, n_clusters, n_starts, sample_weight=None, n_threads=1):
    source = MemorySource(X, sample_weight, n_threads)
    if np.isnan(X).any():
        source = weigh_gaps(source)[1]
    table, _ = describe(source)
    recipe, table = bind_parts(Recipe(SquaredEuclidean(), MeanCenter(), rule), source, table)
    recipe = recipe._replace(weighting=recipe.weighting.bind(table, n_clusters))
    seeds, starts = Seeds(1), range(n_starts)
    centers = random_entities(source, n_clusters, seeds, starts, table)
    how = "random" if isinstance(rule, FixedWeights) else "uniform"
    weights = initial_weights(how, recipe.weighting, n_clusters, table, seeds, starts)
    return source, recipe, table, centers, weights


def _assert_close(one, other, name):
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind != "f":
        np.testing.assert_array_equal(one, other, err_msg=name)
        return
    size = np.abs(other[np.isfinite(other)]).max(initial=0.0)  # zeros are so only to rounding
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * size, err_msg=name)


def _assert_same(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        if name != "weights" and a is not None:
            _assert_close(a, b, name)
    _assert_close(one.weights.values, other.weights.values, "weights")
    assert one.weights.memory.keys() == other.weights.memory.keys()
    for key, values in one.weights.memory.items():
        _assert_close(values, other.weights.memory[key], key)


@pytest.mark.thinned
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_core_and_python_give_the_same_bits(rule, name):
    problem = _problem(TABLES[name], rule, 5, 4)
    assert alternate_in_core(*problem, max_iter=60, tol=1e-6) is not None
    _assert_same(
        alternate(*problem, max_iter=60, tol=1e-6),
        alternate_in_python(*problem, max_iter=60, tol=1e-6),
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("n_clusters", [1, 11])
def test_same_bits_with_sample_weights_and_any_number_of_clusters(rule, n_clusters):
    X = TABLES["blobs"]
    weight = np.random.default_rng(2).random(len(X)) * (np.arange(len(X)) % 7 > 0)
    problem = _problem(X, rule, n_clusters, 3, weight)
    for stop in ({"max_iter": 40, "tol": 0.0}, {"max_iter": 3, "tol": 1e-3}):
        _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


def with_gaps(X, rng):
    """Return the table with one in seven cells missing, but for those of the first column."""
    X = X.copy()
    X[:, 1:][rng.random(X[:, 1:].shape) < 1 / 7] = np.nan
    return X


@pytest.mark.thinned
@pytest.mark.parametrize("name", ["blobs", "wide", "single", "few values", "constant", "segments"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_same_bits_where_cells_are_missing(rule, name):
    rng = np.random.default_rng(4)
    X = with_gaps(TABLES[name], rng)
    problem = _problem(X, rule, 5, 2, rng.random(len(X)))
    assert alternate_in_core(*problem, max_iter=30, tol=1e-6) is not None
    _assert_same(
        alternate(*problem, max_iter=30, tol=1e-6),
        alternate_in_python(*problem, max_iter=30, tol=1e-6),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "rule",
    [UniformWeights(), EntropyWeights(dispersion="mean"), ClusterPowerWeights()],
    ids=repr,
)
def test_same_bits_where_few_wide_rows_race_in_single_precision(rule, dtype):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, 120)) + 3.0 * rng.integers(0, 3, (150, 120))
    X[::10] = X[1::10]  # ties: rows that are their own center
    problem = _problem(X.astype(dtype), rule, 45, 2)
    stop = {"max_iter": 15, "tol": 1e-7}
    assert alternate_in_core(*problem, **stop) is not None
    _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_kept_for_races_have_lengths_in_the_weights_of_the_start(dtype):
    rng = np.random.default_rng(0)
    X = 0.3 * rng.normal(size=(400, 420)) + rng.integers(0, 3, (6, 420))[rng.integers(0, 6, 400)]
    *problem, weights = _problem(X.astype(dtype), SharedPowerWeights(beta=1.5), 14, 2)
    values = weights.values.copy()
    values[0] = 1e-4 / 420
    values[0, :, :2] = 0.4999  # the next start has equal weights
    problem.append(weights._replace(values=values / values.sum(axis=-1, keepdims=True)))
    stop = {"max_iter": 8, "tol": 0.0}
    assert alternate_in_core(*problem, **stop) is not None
    _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


@pytest.mark.parametrize(
    "rule", [UniformWeights(), EntropyWeights(), ClusterPowerWeights()], ids=repr
)
@pytest.mark.parametrize("gaps", [False, True])
def test_same_bits_where_only_rows_that_change_are_summed(rule, gaps):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_500, 4)) + 2.0 * rng.integers(0, 5, (20_500, 1))
    X = with_gaps(X, rng) if gaps else X
    problem = _problem(X, rule, 6, 2)
    expected = alternate_in_python(*problem, max_iter=60, tol=1e-7)
    assert expected.n_iter.max() > 20  # full recounts in between
    _assert_same(alternate(*problem, max_iter=60, tol=1e-7), expected)


def test_same_bits_where_the_last_cells_of_a_feature_leave_a_cluster(monkeypatch):
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 1)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 3))
        X[6:, 2] = np.nan
        problem = _problem(X[rng.permutation(400)], UniformWeights(), 6, 2, rng.random(400))
        stop = {"max_iter": 60, "tol": 0.0}
        _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


@pytest.mark.thinned
@pytest.mark.parametrize("name", ["blobs", "single", "strided", "few values", "far", "segments"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_core_labels_rows_as_a_pass_does(rule, gaps, name):
    rng = np.random.default_rng(8)
    X = with_gaps(TABLES[name], rng) if gaps else TABLES[name]
    problem = _problem(X, rule, 5, 4, rng.integers(0, 3, len(X)).astype(np.float64))
    source, recipe, _, _, _ = problem
    stop = {"max_iter": 7, "tol": 0.0}
    outcome = alternate(*problem, **stop, label=True)
    assert alternate(*problem, **stop).labeled is None
    run = outcome.best()
    if run.labeled is None:  # the core has given up a start, maybe the best
        assert alternate_in_core(*problem, **stop)[1].any()
        return
    _assert_labeled(run, source, recipe, X.dtype)


def _assert_labeled(run, source, recipe, dtype):
    public = run.centers.astype(dtype).astype(np.float64)
    assignment = assignment_of(recipe.weighting, public[None], run.weights)
    (total, mass), labeled = source.run(recipe.dissimilarity.labeling(assignment))
    np.testing.assert_array_equal(run.labeled.labels, labeled.gather("labels", axis=1)[0])
    np.testing.assert_array_equal(run.labeled.total, assignment.scale * total)
    np.testing.assert_array_equal(run.labeled.mass, mass)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "rule",
    [
        UniformWeights(),
        EntropyWeights(gamma=0.5, dispersion="mean"),
        SharedPowerWeights(beta=1.5),
        ClusterPowerWeights(smoothing="inside"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("shape", [(330, 130), (3000, 9)])  # one segment and several
def test_final_labels_by_bounds_are_those_of_a_pass(shape, rule, dtype):
    """Centers have moved since the last pass, and the best start may be any of them."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=shape) + rng.integers(0, 3, shape)
    X[::10] = X[1::10]  # ties
    problem = _problem(X.astype(dtype), rule, 40, 4, rng.integers(0, 3, len(X)).astype(np.float64))
    _, recipe, table, centers, weights = problem
    stop = {"max_iter": 3, "tol": 0.0}
    expected = alternate_in_python(*problem, **stop)
    best = int(expected.objective.argmin())
    for place, n_threads in ((0, 1), (1, 1), (3, 1), (0, 2), (2, 2)):
        source = MemorySource(X.astype(dtype), problem[0].sample_weight, n_threads)
        order = np.roll(np.arange(4), place - best)
        moved = (source, recipe, table, centers[order], weights.take(order))
        outcome = alternate(*moved, **stop, label=True)
        np.testing.assert_array_equal(outcome.centers, expected.centers[order])
        _assert_labeled(outcome.best(), source, recipe, dtype)


@pytest.mark.parametrize("n_starts", [1, 12])  # a team for one start; starts side by side
def test_same_bits_for_any_number_of_threads_and_any_batch(n_starts):
    X = TABLES["segments"]
    problem = _problem(X, EntropyWeights(), 4, n_starts, n_threads=3)
    together = alternate(*problem, max_iter=50, tol=1e-6)
    _, recipe, table, centers, weights = problem
    for start in {0, n_starts - 1}:
        one = np.asarray([start])
        alone = (MemorySource(X), recipe, table, centers[one], weights.take(one))
        run = alternate(*alone, max_iter=50, tol=1e-6)
        np.testing.assert_array_equal(run.centers[0], together.centers[start])
        n_iter = together.n_iter[start]
        np.testing.assert_array_equal(run.history[0], together.history[start, :n_iter])


@pytest.mark.parametrize(
    "kind", ["plain", "single", "Fortran", "weights", "gaps", "doubtful", "lost digits"]
)
@pytest.mark.parametrize(
    "rule",
    [
        UniformWeights(),
        EntropyWeights(),
        EntropyWeights(dispersion="mean"),
        GroupEntropyWeights(),
        ClusterPowerWeights(smoothing="refresh"),
        ClusterPowerWeights(smoothing="inside", guard=0.2),
    ],
    ids=repr,
)
@pytest.mark.parametrize("bounded", [True, False])  # by bounds; packed once for all passes
def test_same_bits_where_threads_share_a_small_wide_table(bounded, rule, kind):
    """Rows of one segment are assigned in pieces, and summed cluster by cluster."""
    rng = np.random.default_rng(7)
    n_features = 200 if bounded else 180
    n_clusters = 150 if bounded else 26 if rule.shared else 13
    X = rng.normal(size=(700, n_features)) + 3.0 * rng.integers(0, 3, (700, n_features))
    X[::10] = X[1::10]  # ties
    if kind == "doubtful":  # for races in single precision
        X[::2] = X[0] + 1e-9 * X[::2]
    X = X.astype(np.float32 if kind == "single" else np.float64)
    X = np.asfortranarray(X) if kind == "Fortran" else X
    X = with_gaps(X, rng) if kind == "gaps" else X
    if kind == "lost digits":  # of some clusters: narrow ones that move far, beside a wide one
        X = 1e3 * rng.integers(0, 2, (9, n_features))[rng.integers(0, 9, 700)] + 1e-3 * X
        X[:99] = 1e3 * rng.normal(size=(99, n_features))
    weight = rng.random(700) * (np.arange(700) % 7 > 0) if kind == "weights" else None
    stop = {"max_iter": 3, "tol": 1e-7}
    one, three = (_problem(X, rule, n_clusters, 1, weight, n_threads) for n_threads in (1, 3))
    if kind == "lost digits":
        one[3][...] += 1.0
        three[3][...] = one[3]
    expected = alternate_in_python(*one, **stop)
    for problem in (one, three):
        assert alternate_in_core(*problem, **stop) is not None
        _assert_same(alternate(*problem, **stop), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "rule",
    [
        UniformWeights(),
        EntropyWeights(gamma=20.0),
        EntropyWeights(gamma=0.5, dispersion="mean"),
        ClusterPowerWeights(),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    ("n_rows", "n_features"), [(600, 30), (600, 380), (5000, 30)]
)  # packed; by bounds, in one segment and in several
def test_same_bits_where_clusters_are_empty_and_rows_are_found_for_them(
    n_rows, n_features, rule, weighted, dtype
):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(n_rows, n_features)) + 6.0 * rng.integers(0, 3, (n_rows, n_features))
    X[n_rows // 2 :] = X[: n_rows - n_rows // 2]  # as far as another row
    weight = rng.random(n_rows) * (np.arange(n_rows) % 3 > 0) if weighted else None
    problem = list(_problem(X.astype(dtype), rule, 14, 1, weight, 2))
    problem[3] = problem[3].copy()
    problem[3][:, 1:9] = problem[3][:, :1]  # the first of equal centers gets all rows
    stop = {"max_iter": 6, "tol": 1e-7}
    assert alternate_in_core(*problem, **stop) is not None
    _assert_same(alternate(*problem, **stop), alternate_in_python(*problem, **stop))


@pytest.mark.parametrize("kind", ["plain", "weights"])
@pytest.mark.parametrize(("n_features", "n_clusters"), [(300, 100), (180, 13)])  # bounds; packed
def test_labels_and_objective_of_a_small_table_do_not_depend_on_threads(
    n_features, n_clusters, kind
):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(700, n_features)) + 3.0 * rng.integers(0, 3, (700, n_features))
    weight = rng.random(700) if kind == "weights" else None
    init = X[:n_clusters].copy()
    fits = [
        EWKMeans(n_clusters, init=init, max_iter=4, n_jobs=jobs, tol=0).fit(X, sample_weight=weight)
        for jobs in (1, 2, 3)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.labels_, fits[0].labels_)
        assert fit.inertia_ == fits[0].inertia_
        np.testing.assert_array_equal(fit.predict(X), fits[0].labels_)


_THREE = np.asarray([0.0, 1.0, 30.0]).reshape(3, 1, 1)


@pytest.mark.parametrize(
    "rule",
    [
        EntropyWeights(gamma=_THREE),
        SharedPowerWeights(beta=_THREE),
        ClusterPowerWeights(beta=1.0 + _THREE, smoothing=_THREE),
        SharedPowerWeights(beta=4.0, guard=_THREE),
        ClusterPowerWeights(beta=1.0 + _THREE, smoothing="refresh", guard=_THREE),
        SelfAdjustingWeights(guard=_THREE),
        GroupEntropyWeights(lam=_THREE, eta=1.0 + _THREE),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_parameter_may_have_one_value_for_each_start(rule):
    problem = _problem(TABLES["blobs"], rule, 3, 3)
    _assert_same(
        alternate(*problem, max_iter=50, tol=1e-6),
        alternate_in_python(*problem, max_iter=50, tol=1e-6),
    )


@pytest.mark.parametrize("dispersion", ["sum", "mean"])
@pytest.mark.parametrize("name", ["wide", "constant", "few values", "very wide"])
def test_same_bits_for_any_groups_of_features(name, dispersion):
    X = TABLES[name]
    # groups of one and of many, in any order; the last one of "constant" does not vary at all
    groups = np.random.default_rng(4).integers(0, max(2, X.shape[1] // 9), X.shape[1])
    groups[-1] = groups.max() + 1
    problem = _problem(X, GroupEntropyWeights(groups, dispersion=dispersion), 5, 3)
    assert alternate_in_core(*problem, max_iter=60, tol=1e-6) is not None
    _assert_same(
        alternate(*problem, max_iter=60, tol=1e-6),
        alternate_in_python(*problem, max_iter=60, tol=1e-6),
    )


ESTIMATORS = [KMeans, WKMeans, AWKMeans, EWKMeans, FGKMeans, FWSAKMeans, IMWKMeans]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_default_fits_run_in_the_core(estimator, monkeypatch):
    def never(*args, **options):
        raise AssertionError("the loop ran in Python")

    monkeypatch.setattr("fwkmeans._engine.loop.alternate_in_python", never)
    estimator(3, n_init=2).fit(TABLES["blobs"])


def test_a_start_whose_sums_overflow_ends_as_in_python():
    X = TABLES["blobs"].copy()
    source, recipe, table, centers, weights = _problem(X, UniformWeights(), 3, 3)
    centers[1] = 1e200  # squares overflow
    problem = (source, recipe, table, centers, weights)
    with np.errstate(all="ignore"):
        expected = alternate_in_python(*problem, max_iter=20, tol=1e-6)
        _assert_same(alternate(*problem, max_iter=20, tol=1e-6), expected)


class _Doubled(EntropyWeights):
    def update(self, dispersion, context):
        return super().update(2.0 * dispersion, context)


def test_a_rule_that_derives_from_a_known_one_runs_in_python():
    X = TABLES["blobs"]
    assert "does not know _Doubled" in why_not_in_core(*_problem(X, _Doubled(1.0), 3, 2)[:3])
    assert not why_not_in_core(*_problem(X, EntropyWeights(0.5), 3, 2)[:3])
    own = FeatureWeightedKMeans(3, weighting=_Doubled(1.0), random_state=0).fit(X)
    known = FeatureWeightedKMeans(3, weighting=EntropyWeights(0.5), random_state=0).fit(X)
    np.testing.assert_allclose(own.feature_weights_, known.feature_weights_, rtol=1e-9)


def test_verbose_fits_report_every_iteration(caplog):
    X = TABLES["blobs"]
    told = KMeans(3, verbose=2, n_init=1, random_state=0).fit(X)
    assert sum("iteration" in record.message for record in caplog.records) == told.n_iter_
    silent = KMeans(3, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(told.cluster_centers_, silent.cluster_centers_)
