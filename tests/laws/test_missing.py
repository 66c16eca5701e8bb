"""Missing cells: the reference's steps, an objective that never rises, no trace without gaps."""

import functools
import pickle

import numpy as np
import pytest

import fwkmeans.estimators.plan
from fwkmeans.sources import ChunkedSource
from laws import test_mixed as mixed
from laws.configurations import Configuration, make_rows, name_of, some_rows, untied
from laws.test_mixed import HUANG, MIXED, TOLERANCE, Table

NUMERIC = [
    Configuration("K-Means", {}),
    Configuration("AWK", {"beta": 2.0}),
    Configuration("AWK", {"beta": 1.5, "smoothing": "frozen"}),
    *(Configuration("WK-Means", {"beta": beta}) for beta in (2.0, 1.0, -1.5)),
    *(
        Configuration(
            "WK-Means",
            {"beta": 2.0, "weights": "cluster", "smoothing": smoothing},
            monotone=smoothing != "refresh",
        )
        for smoothing in ("frozen", "refresh", "inside")
    ),
    Configuration("EW-KM", {}),
    Configuration("EW-KM", {"gamma": 20.0}),
    Configuration("EW-KM", {"dispersion": "mean"}),
    Configuration("FWSA", {}, monotone=False),
    Configuration("FG-K-Means", {"groups": 2, "lam": 5.0, "eta": 1.0}),
    Configuration("IK-P", {"beta": 8.0}, monotone=False),
    Configuration("IK-P", {"beta": 2.0, "variant": "monotone"}),
    *(Configuration("iMWK-Means", {"p": p}, monotone=False) for p in (1.0, 1.5, 2.0, 4.0, np.inf)),
    *(
        Configuration("iMWK-Means", {"p": p, "smoothing": smoothing})
        for p, smoothing in (
            (1.0, "frozen"),
            (1.5, 0.0),
            (1.5, "frozen"),
            (2.0, 0.0),
            (4.0, "frozen"),
            (np.inf, 0.0),
        )
    ),
]

#: Numbers alone, and beside categories.
ALL = [(configuration, False) for configuration in NUMERIC] + [
    (configuration, True) for configuration in MIXED
]
FEW = [(configuration, False) for configuration in NUMERIC[::3]] + [
    (configuration, True) for configuration in mixed.FEW
]


def name_of_both(value):
    return name_of(value[0]) + (" with categories" if value[1] else "")


each_configuration = pytest.mark.parametrize("configured", ALL, ids=name_of_both)
each_of_few = pytest.mark.parametrize("configured", FEW, ids=name_of_both)
each_policy = pytest.mark.parametrize("missing", ["ignore", "rescale"])

#: The few, each with one of the policies in turn.
BY_TURNS = [(one, ("ignore", "rescale")[at % 2]) for at, one in enumerate(FEW)]
each_by_turns = pytest.mark.parametrize(
    ("configured", "missing"),
    BY_TURNS,
    ids=[f"{name_of_both(one)}-{missing}" for one, missing in BY_TURNS],
)


def with_gaps(rng, table, share, missing):
    """Return the table with holes, but no row or column that is nothing else."""
    X = table.X.copy()
    holes = rng.random(X.shape) < share
    holes[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = False
    holes[: X.shape[1]] &= ~np.eye(len(X), X.shape[1], dtype=bool)[: X.shape[1]]
    X[holes] = np.nan
    return observed_centers(table._replace(X=X, missing=missing))


def observed_centers(table):
    """Return the table with centers whose categories occur in rows with weight."""
    centers = table.centers.copy()
    for v in table.categorical:
        codes = table.X[table.mass > 0, v]
        codes = codes[~np.isnan(codes)]
        centers[~np.isin(centers[:, v], codes), v] = codes[0]
    return table._replace(centers=centers)


def complete(rng, has_categories, n_rows=60, n_clusters=3, zeros=True):
    mass = rng.random(n_rows) + 0.05
    if zeros:
        mass *= rng.random(n_rows) > 0.15
        mass[:5] = 0.5
    if has_categories:
        X, categorical = mixed.mixed_rows(rng, n_rows, "cnncn", n_clusters)
    else:
        X, categorical = make_rows(rng, n_rows, 4, n_clusters), []
    return Table(X, categorical, mixed.distinct_rows(rng, X[mass > 0], n_clusters), mass)


@functools.cache
def gappy(number, share, missing, seed, n_clusters=3):
    """Return a table with gaps and what the reference does.

    Tables on which a row is as near to one center as to another are left out: the last digit would
    decide. There are many where a column that is not observed in a cluster takes all its weight.
    """
    configuration, has_categories = ALL[number]
    rng = np.random.default_rng([seed, number])
    for _ in range(15):
        table = complete(rng, has_categories, n_clusters=n_clusters)
        table = with_gaps(rng, table, share, missing)
        expected = mixed.expected_fit(configuration, table)
        if not expected.tied:
            return table, expected
    return None


def gappy_table(configured, share, missing, seed, n_clusters=3):
    found = gappy(ALL.index(configured), share, missing, seed, n_clusters)
    if found is None:
        pytest.skip("ties in each of fifteen tables")
    return found


@pytest.mark.thinned
@each_configuration
@each_policy
def test_agrees_to_the_end(configured, missing, global_random_seed):
    table, expected = gappy_table(configured, 0.4, missing, global_random_seed)
    mixed.assert_agrees(mixed.fit(configured[0], table), expected, table, 300)


@pytest.mark.thinned
@each_of_few
@each_policy
def test_agrees_on_files(configured, missing, global_random_seed, tmp_path):
    table, expected = gappy_table(configured, 0.4, missing, global_random_seed)
    np.save(tmp_path / "rows.npy", table.X)
    rows = ChunkedSource(tmp_path / "rows.npy", block_bytes=17 * table.X[0].nbytes)
    model = mixed.fit(configured[0], table, lambda _: rows)
    mixed.assert_agrees(model, expected, table, 300)


@pytest.mark.thinned
@each_of_few
@each_policy
def test_agrees_step_by_step(configured, missing, global_random_seed):
    for share in (0.05, 0.4):
        table, _ = gappy_table(configured, share, missing, global_random_seed)
        for max_iter in (1, 2, 3):
            expected = mixed.expected_fit(configured[0], table, max_iter)
            model = mixed.fit(configured[0], table, max_iter=max_iter)
            mixed.assert_agrees(model, expected, table, max_iter)


# ---- degenerate tables ------------------------------------------------------------------------


def constant_column(rng, table):
    table.X[:, 1] = table.centers[:, 1] = 0.3
    return table


def one_value_observed(rng, table):
    table.X[:, 2] = np.nan
    table.X[0, 2] = 0.3
    return table


def one_cell_a_row(rng, table):
    rows = np.arange(len(table.X))
    kept = table.X[rows, rows % 4].copy()
    table.X[:, :4] = np.nan
    table.X[rows, rows % 4] = kept
    return table


def one_cluster(rng, table):
    return table._replace(centers=table.centers[:1])


def far_rows_with_gaps(rng, table):
    table.X[:2] = np.nan
    table.X[0, 1], table.X[1, 2] = 80.0, -90.0
    return table


def duplicate_rows(rng, table):
    again = rng.integers(0, 12, len(table.X))
    return table._replace(X=table.X[again], mass=table.mass[again] + 0.1)


def duplicated_seeds(rng, table):
    return table._replace(centers=table.centers[[0, 0, 1]])


DEGENERATE = [
    constant_column,
    one_value_observed,
    one_cell_a_row,
    one_cluster,
    far_rows_with_gaps,
    duplicate_rows,
    duplicated_seeds,
]


@pytest.mark.thinned
@each_by_turns
@pytest.mark.parametrize("spoil", DEGENERATE, ids=lambda spoil: spoil.__name__)
def test_agrees_on_degenerate_tables(configured, missing, spoil, rng):
    configuration, has_categories = configured
    for _ in range(6):
        table = complete(rng, has_categories, zeros=False)
        table = spoil(rng, with_gaps(rng, table, 0.1, missing))
        hollow = np.isnan(table.X).all(axis=1)
        table.X[hollow, 1] = table.centers[0, 1]
        table = observed_centers(table)
        expected = mixed.expected_fit(configuration, table)
        if not expected.tied:
            break
    else:
        pytest.skip("ties in each of six tables")
    mixed.assert_agrees(mixed.fit(configuration, table), expected, table, 300)


# ---- the objective ----------------------------------------------------------------------------

MONOTONE = [configured for configured in ALL if configured[0].monotone]


@pytest.mark.thinned
@pytest.mark.parametrize("configured", MONOTONE, ids=name_of_both)
def test_objective_never_rises_with_missing_cells(configured, rng):
    configuration, has_categories = configured
    for n_clusters in (2, 5, 12):
        table = complete(rng, has_categories, n_clusters=n_clusters)
        table = with_gaps(rng, table, 0.25, "ignore")
        table = table._replace(X=np.round(table.X, 1 if n_clusters == 12 else 15))
        for init in (table.centers, "random"):
            model = mixed.fit(configuration, table, init=init, n_init=1, random_state=0)
            mixed.assert_never_rises(model)


# ---- data without gaps ------------------------------------------------------------------------


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("configured", "in_blocks"),
    [(configured, False) for configured in FEW + [(one, True) for one in HUANG]]
    + [(configured, True) for configured in FEW],
    ids=lambda value: (
        name_of_both(value) if isinstance(value, tuple) else ["memory", "chunks"][value]
    ),
)
def test_a_table_without_gaps_gives_the_same_bits_whatever_missing_says(configured, in_blocks, rng):
    configuration, has_categories = configured
    table = complete(rng, has_categories)
    rows = ChunkedSource(table.X, block_bytes=700) if in_blocks else table.X
    error, ignore, rescale = (
        mixed.fit(configuration, table._replace(missing=missing), lambda _: rows)
        for missing in ("error", "ignore", "rescale")
    )
    mixed.assert_identical(error, ignore)
    mixed.assert_identical(error, rescale)
    for method in ("predict", "transform", "score"):
        np.testing.assert_array_equal(getattr(error, method)(rows), getattr(ignore, method)(rows))
        np.testing.assert_array_equal(getattr(error, method)(rows), getattr(rescale, method)(rows))


@each_of_few
def test_starts_without_gaps_are_the_same_whatever_missing_says(configured, rng):
    configuration, has_categories = configured
    table = complete(rng, has_categories)
    for init in ("k-means++", "random"):
        models = [
            mixed.fit(
                configuration,
                table._replace(missing=missing),
                init=init,
                n_init=3,
                random_state=1,
            )
            for missing in ("error", "ignore", "rescale")
        ]
        mixed.assert_identical(models[0], models[1])
        mixed.assert_identical(models[0], models[2])


# ---- invariances ------------------------------------------------------------------------------


@each_by_turns
class TestInvariance:
    @pytest.fixture
    def table(self, configured, missing, global_random_seed):
        table = gappy_table(configured, 0.25, missing, global_random_seed)[0]
        return table._replace(X=table.X.copy(), centers=table.centers.copy())

    def test_translation(self, configured, table):
        step = np.zeros(table.X.shape[1])
        step[1:3] = 3.0, -20.0  # numbers in both kinds of tables
        a = mixed.fit(configured[0], table)
        b = mixed.fit(configured[0], table._replace(X=table.X + step, centers=table.centers + step))
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=TOLERANCE)
        np.testing.assert_allclose(a.cluster_centers_ + step, b.cluster_centers_, atol=1e-8)

    def test_order_of_rows(self, configured, table, rng):
        order = rng.permutation(len(table.X))
        a = mixed.fit(configured[0], table)
        b = table._replace(X=table.X[order], mass=table.mass[order])
        b = mixed.fit(configured[0], b)
        np.testing.assert_array_equal(a.labels_[order], b.labels_)
        assert_close(a, b)

    def test_order_of_features(self, configured, table):
        n_features = table.X.shape[1]
        order = np.array([3, 0, 2, 1, 4])[np.r_[:4, 4:n_features]]
        a = mixed.fit(configured[0], table)
        places = [int(np.flatnonzero(order == v)[0]) for v in table.categorical]
        b = table._replace(
            X=table.X[:, order], centers=table.centers[:, order], categorical=sorted(places)
        )
        b = mixed.estimator(configured[0], b)
        if configured[0].parameters.get("groups"):
            b.set_params(groups=np.asarray(b.groups)[order])
        b.fit(table.X[:, order], sample_weight=table.mass)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert_close(a, b, features=order)

    def test_order_of_clusters(self, configured, table):
        if mixed.expected_fit(configured[0], table).level:
            pytest.skip("rows without a column of weight are as near to all")
        order = np.array([2, 0, 1])
        a = mixed.fit(configured[0], table)
        b = mixed.fit(configured[0], table._replace(centers=table.centers[order]))
        np.testing.assert_array_equal(a.labels_, order[b.labels_])
        assert_close(a, b, clusters=order)

    def test_rows_of_weight_zero_are_absent(self, configured, table):
        present = table.mass > 0
        assert not present.all()
        a = mixed.fit(configured[0], table)
        b = mixed.fit(configured[0], table._replace(X=table.X[present], mass=table.mass[present]))
        np.testing.assert_array_equal(a.labels_[present], b.labels_)
        assert_close(a, b)

    def test_scaling_sample_weights_changes_nothing(self, configured, table):
        a = mixed.fit(configured[0], table)
        b = mixed.fit(configured[0], table._replace(mass=7.0 * table.mass), mass=7.0)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=TOLERANCE)

    def test_integer_sample_weights_are_repeated_rows(self, configured, table, rng):
        times = rng.integers(1, 4, len(table.X))
        a = mixed.fit(configured[0], table._replace(mass=times))
        b = table._replace(X=np.repeat(table.X, times, axis=0), mass=None)
        if mixed.expected_fit(configured[0], table._replace(mass=times)).tied:
            pytest.skip("ties with these weights")
        b = mixed.fit(configured[0], b)
        np.testing.assert_array_equal(np.repeat(a.labels_, times), b.labels_)
        assert_close(a, b)


def assert_close(a, b, **options):
    for model in (a, b):
        if not hasattr(model, "category_frequencies_"):
            model.category_frequencies_ = {}
    mixed.assert_close(a, b, **options)


@pytest.mark.thinned
@each_by_turns
def test_the_number_of_threads_does_not_matter(configured, missing, rng, source):
    configuration, has_categories = configured
    table = with_gaps(rng, complete(rng, has_categories, 3000, 5), 0.2, missing)
    X = table.X
    rows = X if source(X) is X else ChunkedSource(X, block_bytes=X.nbytes // 2)
    common = {"init": "random", "n_init": 3, "random_state": 5, "max_iter": 5}
    one, two, five = (
        mixed.fit(configuration, table, lambda _: rows, n_jobs=n_jobs, **common)
        for n_jobs in (1, 2, 5)
    )
    mixed.assert_identical(one, two)
    mixed.assert_identical(one, five)
    np.testing.assert_array_equal(one.transform(X), five.transform(X))
    assert one.score(X) == five.score(X)


@each_by_turns
def test_the_size_of_batches_does_not_matter(configured, missing, rng, monkeypatch):
    configuration, has_categories = configured
    table = with_gaps(rng, complete(rng, has_categories, 100, 5), 0.2, missing)
    fits = []
    for size in (64 * 2**20, 1):
        monkeypatch.setattr(fwkmeans.estimators.plan, "BATCH_BYTES", size)
        fits.append(
            mixed.fit(configuration, table, init="k-means++", n_init=4, random_state=5, max_iter=40)
        )
    mixed.assert_identical(*fits)


@pytest.mark.thinned
@each_of_few
@each_policy
def test_memory_equals_chunks(configured, missing, global_random_seed, dtype):
    table = gappy_table(configured, 0.25, missing, global_random_seed)[0]
    X = table.X.astype(dtype)
    rows = ChunkedSource(X, block_bytes=600)
    a = mixed.fit(configured[0], table, lambda _: X)
    b = mixed.fit(configured[0], table, lambda _: rows)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert_close(a, b, rtol=1e-9 if dtype == np.float64 else 1e-3)
    assert a.cluster_centers_.dtype == b.cluster_centers_.dtype == dtype
    np.testing.assert_array_equal(b.predict(rows), b.labels_)
    np.testing.assert_allclose(a.transform(X), b.transform(rows), rtol=1e-3, atol=1e-4)
    assert b.score(rows, sample_weight=table.mass) == -b.inertia_


# ---- what missing cells mean ------------------------------------------------------------------


@pytest.mark.parametrize("configuration", mixed.FEW, ids=name_of)
@each_policy
def test_labels_and_distances_follow_from_what_the_model_shows(configuration, missing, rng):
    if configuration.parameters.get("smoothing") == "inside":
        pytest.skip("the constant that is added to every row is not shown")
    table = with_gaps(rng, complete(rng, True), 0.25, missing)
    model = mixed.fit(configuration, table)
    new = with_gaps(rng, complete(rng, True), 0.4, missing).X
    new[::3, 0] = 99.0  # never seen
    root = 1 if configuration.algorithm == "IK-P" else 2
    for X in (table.X, new):
        d = mixed.dissimilarity_by_loops(configuration, model, X, table.categorical)
        if missing == "ignore":
            d *= X.shape[1] / (~np.isnan(X)).sum(axis=1, keepdims=True)
        else:
            every = mixed.effective_weights(configuration, model)
            known = (~np.isnan(X)) @ every.T
            with np.errstate(divide="ignore", invalid="ignore"):
                d = np.where(known > 0, d * every.sum(axis=1) / known, np.inf)
                d[~(known > 0).any(axis=1)] = 0.0  # no cluster is any better
        with np.errstate(invalid="ignore"):
            clear = untied(d, np.where(np.isfinite(d), d, 0.0), 1e-12)
        np.testing.assert_array_equal(model.predict(X)[clear], d.argmin(axis=1)[clear])
        found = model.transform(X) ** root
        finite = np.isfinite(d)
        np.testing.assert_array_equal(np.isfinite(found), finite)
        np.testing.assert_allclose(found[finite], d[finite], atol=1e-9 * d[finite].max())
    np.testing.assert_array_equal(model.predict(table.X), model.labels_)
    assert model.score(table.X, sample_weight=table.mass) == -model.inertia_


@each_of_few
def test_inertia_of_rescale_is_that_of_ignore_at_the_same_place(configured, rng):
    configuration, has_categories = configured
    table = with_gaps(rng, complete(rng, has_categories, zeros=False), 0.25, "rescale")
    model = mixed.fit(configuration, table)
    expected = mixed.expected_fit(configuration, table)
    if not expected.tied:
        assert model.inertia_ == pytest.approx(expected.result.objective, rel=1e-9)
    np.testing.assert_array_equal(model.predict(table.X), model.labels_)
    assert model.score(table.X, sample_weight=table.mass) == -model.inertia_


def test_a_missing_cell_weights_its_row_by_hand(source):
    X = np.array([[0.0, 0.0], [0.2, np.nan], [10.0, 6.0], [np.nan, 7.0]])
    centers = np.array([[0.0, 0.0], [10.0, 6.0]])
    model = Configuration("K-Means", {}).estimator(2, 2, init=centers, missing="ignore")
    model.fit(source(X))
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    # the second and fourth rows count twice
    np.testing.assert_allclose(model.cluster_centers_, [[0.4 / 3, 0.0], [10.0, 20.0 / 3]])
    d = (0.4 / 3) ** 2 + 2 * (0.2 - 0.4 / 3) ** 2 + (2 / 3) ** 2 + 2 * (1 / 3) ** 2
    assert model.inertia_ == pytest.approx(d)


@pytest.mark.thinned
@pytest.mark.parametrize("configuration", mixed.FEW + HUANG, ids=name_of)
def test_a_missing_category_of_its_own_is_like_a_last_category(configuration, rng, source):
    table = complete(rng, True)
    table.X[rng.random(len(table.X)) < 0.3, 0] = np.nan
    named = table._replace(X=np.where(np.isnan(table.X), 77.0, table.X))
    a = mixed.fit(configuration, table, source, missing_category="own")
    b = mixed.fit(configuration, named, source)
    assert None in a.category_frequencies_[0]
    a.modes_[0] = [77.0 if mode is None else mode for mode in a.modes_[0]]
    a.category_frequencies_[0] = {
        77.0 if category is None else category: f
        for category, f in a.category_frequencies_[0].items()
    }
    mixed.assert_identical(a, b)


@each_by_turns
def test_fitted_models_can_be_pickled(configured, missing, rng):
    configuration, has_categories = configured
    table = with_gaps(rng, complete(rng, has_categories), 0.25, missing)
    model = mixed.fit(configuration, table)
    again = pickle.loads(pickle.dumps(model))
    mixed.assert_identical(model, again)
    np.testing.assert_array_equal(again.predict(table.X), model.labels_)
    mixed.assert_identical(model, again.fit(table.X, sample_weight=table.mass))


# ---- what is refused --------------------------------------------------------------------------


def _with(X, rows, columns, value=np.nan):
    X = X.copy()
    X[rows, columns] = value
    return X


@pytest.mark.parametrize("configuration", NUMERIC[::9], ids=name_of)
@pytest.mark.parametrize("method", ["fit", "predict", "transform", "score"])
def test_missing_cells_raise_by_default_and_the_options_are_named(
    configuration, method, rng, source
):
    X = make_rows(rng, 40, 4)
    model = configuration.estimator(3, 4, init=some_rows(rng, X, 3)).fit(X)
    bad = _with(_with(X, 3, 2), 5, 0)
    with pytest.raises(ValueError, match=r"NaN.* in columns 0, 2.*missing='ignore'.*'rescale'"):
        getattr(model, method)(source(bad))


@pytest.mark.parametrize("configuration", NUMERIC[::9], ids=name_of)
@each_policy
def test_nothing_observed_in_a_row_or_column_raises_by_name(configuration, missing, rng, source):
    X = make_rows(rng, 40, 4)
    centers = some_rows(rng, X, 3)
    model = configuration.estimator(3, 4, init=centers, missing=missing)
    with pytest.raises(ValueError, match="Nothing is observed in column 2 of X"):
        model.fit(source(_with(X, slice(None), 2)))
    with pytest.raises(ValueError, match="Nothing is observed in rows 4, 7 of X"):
        model.fit(source(_with(X, [4, 7], slice(None))))
    with pytest.raises(ValueError, match="infinity in column 1"):
        model.fit(source(_with(X, 3, 1, np.inf)))
    model.fit(source(_with(X, 3, 2)))
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="Nothing is observed in row 4 of X"):
            method(source(_with(X, 4, slice(None))))
    # a column without anything is fine after the fit: the others decide
    assert model.predict(source(_with(X, slice(None), 2))).shape == (40,)


@each_policy
def test_a_column_observed_only_where_there_is_no_weight_raises_by_name(missing, rng, source):
    X = make_rows(rng, 40, 4)
    X[1:, 3] = np.nan
    weight = np.ones(40)
    weight[0] = 0.0
    model = Configuration("K-Means", {}).estimator(3, 4, init=X[:3] * 0 + 1, missing=missing)
    model.set_params(init=np.nan_to_num(X[:3]))
    with pytest.raises(ValueError, match="Nothing is observed in column 3 of X"):
        model.fit(source(X), sample_weight=weight)


@pytest.mark.parametrize("value", ["drop", None, 1, True])
def test_other_policies_are_refused(value, rng):
    for configuration in NUMERIC[::3]:
        with pytest.raises(ValueError, match=r"missing=.*expected 'error', 'ignore' or 'resc"):
            configuration.estimator(3, 4, missing=value).fit(make_rows(rng, 40, 4))
