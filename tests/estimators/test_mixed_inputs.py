"""Tables of numbers and categories, however they are given, and the sentences for bad ones."""

import pickle
from types import SimpleNamespace

import joblib
import narwhals.stable.v2 as nw
import numpy as np
import pytest
from sklearn.base import clone

from fwkmeans import (
    AWKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.sources import ChunkedSource
from laws.test_mixed import assert_identical, public

TAKE_CATEGORIES = [AWKMeans, WKMeans, FGKMeans, IKPrototypes, FeatureWeightedKMeans]
#: One with modes, one with groups and one with frequencies: the others share their code.
ESTIMATORS = [WKMeans, FGKMeans, IKPrototypes]
METHODS = ("fit", "fit_predict", "fit_transform", "predict", "transform", "score")
COLORS = ["blue", "green", "red", "yellow"]
SIZES = ["large", "medium", "small"]

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def build(estimator, n_clusters=3, **options):
    return estimator(n_clusters, **({"n_init": 2, "random_state": 0, "n_jobs": 1} | options))


@pytest.fixture
def table(rng):
    """Two numbers, a color, a size and a flag, as lists of Python values."""
    n = 60
    group = rng.integers(0, 3, n)
    color = np.where(rng.random(n) < 0.6, group, rng.integers(0, 4, n))
    size = np.where(rng.random(n) < 0.6, group, rng.integers(0, 3, n))
    return SimpleNamespace(
        price=(group + rng.random(n)).tolist(),
        color=[COLORS[c] for c in color],
        weight=rng.random(n).tolist(),
        size=[SIZES[c] for c in size],
        sold=(rng.random(n) < 0.5).tolist(),
    )


def frame_of(df_module, table, **replaced):
    return df_module.DataFrame(vars(table) | replaced)


def objects_of(table):
    return np.array(list(zip(*vars(table).values(), strict=True)), dtype=object)


def codes_of(table):
    return np.column_stack(
        [
            table.price,
            [COLORS.index(c) for c in table.color],
            table.weight,
            [SIZES.index(c) for c in table.size],
            np.asarray(table.sold, dtype=float),
        ]
    )


NAMES = ["price", "color", "weight", "size", "sold"]


def assert_same_numbers(a, b):
    """Compare all but names bit by bit."""
    a, b = public(a), public(b)
    for name in set(a) - {"feature_names_in_", "category_frequencies_", "modes_", "groups_"}:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    for one, other in zip(
        a["category_frequencies_"].values(), b["category_frequencies_"].values(), strict=True
    ):
        np.testing.assert_array_equal(list(one.values()), list(other.values()))


# ---- the same table in every form -------------------------------------------------------------


@each_estimator
class TestForms:
    def test_pandas_polars_objects_and_codes_give_the_same_bits(self, estimator, table):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        models = [
            build(estimator).fit(frame_of(pandas, table)),
            build(estimator).fit(frame_of(polars, table)),
            build(estimator).fit(objects_of(table)),
            build(estimator).fit(objects_of(table).tolist()),
            build(estimator, categorical_features=[1, 3, 4]).fit(codes_of(table)),
        ]
        assert_identical(models[0], models[1])
        assert_identical(models[2], models[3])
        for model in models[1:]:
            assert_same_numbers(models[0], model)
        assert list(models[0].category_frequencies_) == ["color", "size", "sold"]
        assert list(models[2].category_frequencies_) == [1, 3, 4]
        assert list(models[0].category_frequencies_["color"]) == COLORS
        assert list(models[0].category_frequencies_["sold"]) == [False, True]
        assert set(models[0].modes_["size"]) <= set(SIZES)
        assert list(models[4].category_frequencies_[1]) == [0.0, 1.0, 2.0, 3.0]

    def test_files_give_what_codes_give(self, estimator, table, tmp_path):
        X = codes_of(table)
        np.save(tmp_path / "rows.npy", X)
        options = {"categorical_features": [1, 3, 4], "n_init": 1}
        a = build(estimator, **options).fit(X)
        for rows in (tmp_path / "rows.npy", ChunkedSource(X, block_bytes=700)):
            b = build(estimator, **options).fit(rows)
            np.testing.assert_array_equal(a.labels_, b.labels_)
            assert a.modes_ == b.modes_
            np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)

    def test_names_indices_and_masks_choose_the_same_columns(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        by_dtype = build(estimator).fit(frame)
        for given in (
            ["color", "size", "sold"],
            ["sold", "color", "size"],
            [1, 3, 4],
            np.array([4, 1, 3]),
            [False, True, False, True, True],
            np.array([False, True, False, True, True]),
        ):
            assert_identical(by_dtype, build(estimator, categorical_features=given).fit(frame))

    def test_categorical_columns_are_like_text(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        other = nw.from_native(frame).with_columns(
            nw.col("color").cast(nw.Categorical), nw.col("size").cast(nw.Categorical)
        )
        a, b = build(estimator).fit(frame), build(estimator).fit(other.to_native())
        assert_identical(a, b)
        np.testing.assert_array_equal(a.predict(other.to_native()), b.labels_)
        np.testing.assert_array_equal(b.transform(frame), a.transform(frame))

    def test_categories_that_do_not_occur_are_none(self, estimator, table):
        pandas = pytest.importorskip("pandas")
        frame = frame_of(pandas, table)
        kinds = pandas.CategoricalDtype(["pink", *COLORS, "white"])
        a = build(estimator).fit(frame)
        assert_identical(a, build(estimator).fit(frame.assign(color=frame["color"].astype(kinds))))

    def test_the_declared_order_shows_but_decides_nothing(self, estimator, table):
        polars = pytest.importorskip("polars")
        frame = frame_of(polars, table)
        declared = frame.with_columns(polars.col("size").cast(polars.Enum(SIZES[::-1])))
        weights = np.random.default_rng(0).random(60)  # no ties between modes
        a = build(estimator, n_init=1).fit(frame, sample_weight=weights)
        b = build(estimator, n_init=1).fit(declared, sample_weight=weights)
        assert list(b.category_frequencies_["size"]) == SIZES[::-1]
        np.testing.assert_array_equal(a.labels_, b.labels_)
        assert a.modes_ == b.modes_

    def test_single_precision_numbers_stay(self, estimator, table, df_module):
        frame = frame_of(
            df_module,
            table,
            price=np.asarray(table.price, np.float32),
            weight=np.asarray(table.weight, np.float32),
        )
        model = build(estimator).fit(frame)
        assert model.cluster_centers_.dtype == model.transform(frame).dtype == np.float32
        np.testing.assert_array_equal(model.predict(frame), model.labels_)

    def test_whole_numbers_are_numbers_unless_listed(self, estimator, table, df_module):
        frame = frame_of(df_module, table, weight=list(range(60)))
        assert "weight" not in build(estimator).fit(frame).modes_
        listed = build(estimator, categorical_features=["color", "size", "sold", "weight"])
        assert list(listed.fit(frame).category_frequencies_["weight"]) == list(range(60))

    def test_a_column_listed_in_an_array_of_numbers(self, estimator, table):
        X = codes_of(table)
        for dtype in (np.float64, np.float32):
            model = build(estimator, categorical_features=[1]).fit(X.astype(dtype))
            assert list(model.modes_) == [1]
            assert model.cluster_centers_.dtype == dtype

    def test_arrays_of_booleans_and_of_text_are_categories_throughout(self, estimator, rng, table):
        flags = rng.random((60, 4)) < 0.5
        model = build(estimator).fit(flags)
        assert list(model.modes_) == [0, 1, 2, 3]
        assert set(model.modes_[0]) <= {False, True}
        assert np.isnan(model.cluster_centers_).all()
        numbers = build(estimator, categorical_features=None).fit(flags)
        assert numbers.modes_ == {}
        assert np.isfinite(numbers.cluster_centers_).all()
        text = build(estimator).fit(np.column_stack([table.color, table.size]))
        assert list(text.category_frequencies_[1]) == SIZES

    def test_values_of_several_types_are_different_categories(self, estimator):
        cells = [1, "1", True, 2.5, "a", None] * 8
        X = np.array([[i % 7, cell] for i, cell in enumerate(cells)], dtype=object)
        model = build(estimator, categorical_features=[1], missing_category="own").fit(X)
        # 1 and True are one key of a dict, so the categories of such a column are shown as code
        kinds = {"1", "'1'", "True", "2.5", "'a'", "None"}
        assert set(model.category_frequencies_[1]) == kinds
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        total = sum(model.category_frequencies_[1].values())
        np.testing.assert_allclose(total[np.unique(model.labels_)], 1.0)


# ---- what a fitted model shows ----------------------------------------------------------------


@each_estimator
class TestFitted:
    def test_centers_are_missing_where_there_are_categories(self, estimator, table, df_module):
        model = build(estimator).fit(frame_of(df_module, table))
        assert model.cluster_centers_.shape == (3, 5)
        assert np.isnan(model.cluster_centers_[:, [1, 3, 4]]).all()
        assert np.isfinite(model.cluster_centers_[:, [0, 2]]).all()
        assert np.isfinite(model.feature_weights_).all()
        np.testing.assert_allclose(model.feature_weights_.sum(axis=1), 1.0)
        assert list(model.feature_names_in_) == NAMES
        for frequencies in model.category_frequencies_.values():
            total = sum(frequencies.values())
            np.testing.assert_allclose(total[np.unique(model.labels_)], 1.0)
        for name, modes in model.modes_.items():
            assert len(modes) == 3
            assert set(modes) <= set(model.category_frequencies_[name])

    def test_labels_distances_and_score_belong_together(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator)
        distances = model.fit_transform(frame)
        np.testing.assert_array_equal(distances, model.transform(frame))
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        np.testing.assert_array_equal(build(estimator).fit_predict(frame), model.labels_)
        assert model.score(frame) == -model.inertia_

    def test_cloning_pickling_and_refitting(self, estimator, table, df_module, tmp_path):
        frame = frame_of(df_module, table)
        model = build(estimator)
        fitted = clone(model).fit(frame)
        assert_identical(fitted, clone(fitted).fit(frame))
        again = pickle.loads(pickle.dumps(fitted))
        assert_identical(fitted, again)
        np.testing.assert_array_equal(again.predict(frame), fitted.labels_)
        joblib.dump(fitted, tmp_path / "model.joblib")
        assert_identical(fitted, joblib.load(tmp_path / "model.joblib"))
        numbers = codes_of(table)
        again.fit(numbers)
        assert again.modes_ == again.category_frequencies_ == {}
        assert not hasattr(again, "feature_names_in_")
        assert_identical(again, clone(model).fit(numbers))
        assert_identical(fitted, again.fit(frame))

    def test_fit_leaves_parameters_and_the_table_alone(self, estimator, table):
        pandas = pytest.importorskip("pandas")
        frame = frame_of(pandas, table)
        kept = frame.copy()
        mask = np.array([False, True, False, True, True])
        model = build(estimator, categorical_features=mask)
        before = repr(model.get_params())
        model.fit(frame)
        assert repr(model.get_params()) == before
        assert model.categorical_features is mask
        pandas.testing.assert_frame_equal(frame, kept)

    def test_names_of_the_output(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator).set_output(transform=df_module.__name__)
        name = estimator.__name__.lower()
        output = model.fit_transform(frame)
        assert isinstance(output, df_module.DataFrame)
        assert list(output.columns) == [f"{name}{k}" for k in range(3)]
        assert list(model.get_feature_names_out()) == [f"{name}{k}" for k in range(3)]

    def test_other_columns_are_refused_after_the_fit(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator).fit(frame)
        for method in (model.predict, model.transform, model.score):
            with pytest.raises(ValueError, match="feature names"):
                method(frame[["color", "price", "weight", "size", "sold"]])
            with pytest.raises(ValueError, match=r"features|feature names"):
                method(frame[NAMES[:4]])

    def test_one_category(self, estimator, table, df_module):
        frame = frame_of(df_module, table, color=["red"] * 60)
        model = build(estimator).fit(frame)
        assert np.all(model.feature_weights_[:, 1] == 0) or estimator is FeatureWeightedKMeans
        assert model.modes_["color"] == ["red"] * 3

    def test_only_categories_that_never_vary(self, estimator):
        X = np.array([["a", "b"]] * 6)
        model = build(estimator, 2).fit(X)
        assert set(model.labels_) == {0}
        assert model.inertia_ == 0 or estimator is FGKMeans

    def test_thousands_of_categories(self, estimator, rng):
        n = 20_000
        codes = rng.integers(0, 5000, n)
        codes[:5000] = np.arange(5000)
        X = np.empty((n, 3), dtype=object)
        X[:, 0], X[:, 2] = rng.random(n), rng.random(n)
        X[:, 1] = [f"customer {code}" for code in codes]
        model = build(estimator, n_init=1, max_iter=3, init="random").fit(X)
        assert len(model.category_frequencies_[1]) == 5000
        assert model.modes_[1][0].startswith("customer ")
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert len(pickle.dumps(model)) < 5_000_000

    @pytest.mark.parametrize("init", ["k-means++", "random"])
    def test_more_clusters_than_distinct_rows(self, estimator, init):
        X = np.array([["a", "x"], ["b", "y"], ["a", "y"]] * 4)
        model = build(estimator, 6, init=init).fit(X)
        assert set(model.labels_) <= set(range(6))
        assert np.isfinite(model.inertia_)


# ---- categories never seen, and missing ones ---------------------------------------------------


@each_estimator
class TestUnknown:
    def test_unseen_categories_differ_from_every_cluster(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator).fit(frame)
        new = frame_of(df_module, table, color=["pink"] * 60)
        other = frame_of(df_module, table, color=[f"pink {i}" for i in range(60)])
        np.testing.assert_array_equal(model.transform(new), model.transform(other))
        assert model.predict(new).shape == (60,)
        assert np.isfinite(model.score(new))
        assert "pink" not in model.category_frequencies_["color"]

    def test_unseen_categories_can_be_errors(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator, handle_unknown="error").fit(frame)
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        new = frame_of(df_module, table, color=["pink", "white"] + table.color[2:])
        for method in (model.predict, model.transform, model.score):
            with pytest.raises(ValueError, match=r"Column 'color'.*not seen: 'pink', 'white'"):
                method(new)

    def test_unseen_categories_can_be_errors_in_files(self, estimator, table, source):
        X = codes_of(table)
        model = build(estimator, handle_unknown="error", categorical_features=[1, 3, 4])
        model.fit(source(X))
        X[7, 1] = 99.0
        for method in (model.predict, model.transform, model.score):
            with pytest.raises(ValueError, match=r"Column 'x1'.*not seen: 99\.0"):
                method(source(X))

    def test_missing_cells_are_named(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator).fit(frame)
        bad = frame_of(
            df_module,
            table,
            color=[None] + table.color[1:],
            weight=[float("nan")] + table.weight[1:],
        )
        for method in METHODS:
            with pytest.raises(
                ValueError,
                match=r"columns 'color', 'weight'.*'ignore'.*'rescale'.*missing_category='own'",
            ):
                getattr(build(estimator) if method[:3] == "fit" else model, method)(bad)

    @pytest.mark.parametrize("missing", ["ignore", "rescale"])
    def test_missing_cells_are_the_same_in_every_form(self, estimator, table, missing):
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        table.color[3] = table.color[7] = table.sold[5] = table.price[9] = None
        objects = objects_of(table)
        model = build(estimator, missing=missing).fit(frame_of(pandas, table))
        assert_identical(model, build(estimator, missing=missing).fit(frame_of(polars, table)))
        assert_same_numbers(model, build(estimator, missing=missing).fit(objects))
        nan = objects.copy()
        nan[3, 1] = nan[9, 0] = float("nan")
        assert_same_numbers(model, build(estimator, missing=missing).fit(nan))
        assert None not in model.category_frequencies_["color"]
        np.testing.assert_array_equal(model.predict(frame_of(polars, table)), model.labels_)

    def test_missing_categories_of_their_own(self, estimator, table, df_module):
        gaps = [None if i % 5 == 0 else color for i, color in enumerate(table.color)]
        named = ["~" if color is None else color for color in gaps]  # the last one, as None is
        a = build(estimator, missing_category="own").fit(frame_of(df_module, table, color=gaps))
        b = build(estimator).fit(frame_of(df_module, table, color=named))
        assert list(a.category_frequencies_["color"]) == [*COLORS, None]
        assert_same_numbers(a, b)
        assert [mode or "~" for mode in a.modes_["color"]] == b.modes_["color"]

    def test_missing_categories_of_their_own_up_to_their_order(self, estimator, table, df_module):
        weights = np.random.default_rng(1).random(60)  # no ties between modes
        gaps = [None if i % 5 == 0 else color for i, color in enumerate(table.color)]
        named = ["?" if color is None else color for color in gaps]  # the first one
        a = build(estimator, missing_category="own", n_init=1)
        a.fit(frame_of(df_module, table, color=gaps), sample_weight=weights)
        b = build(estimator, n_init=1)
        b.fit(frame_of(df_module, table, color=named), sample_weight=weights)
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, atol=1e-9)
        np.testing.assert_allclose(
            a.category_frequencies_["color"][None], b.category_frequencies_["color"]["?"]
        )

    def test_missing_numbers_still_raise_beside_categories_of_their_own(
        self, estimator, table, df_module
    ):
        table.price[0] = table.color[0] = None
        with pytest.raises(ValueError, match="missing values in column 'price' "):
            build(estimator, missing_category="own").fit(frame_of(df_module, table))

    def test_a_missing_category_where_fit_saw_none(self, estimator, table, source):
        X = codes_of(table)
        gaps, strange = X.copy(), X.copy()
        gaps[::2, 1], strange[::2, 1] = np.nan, 99.0
        options = {"categorical_features": [1, 3, 4]}
        model = build(estimator, **options).fit(source(X))
        with pytest.raises(ValueError, match="missing values in column 1"):
            model.predict(source(gaps))
        own = build(estimator, missing_category="own", **options).fit(source(X))
        np.testing.assert_array_equal(own.transform(source(gaps)), own.transform(source(strange)))
        left_out = build(estimator, missing="ignore", **options).fit(source(X))
        # what is left, times 5 / 4
        assert np.all(left_out.transform(source(gaps)) <= 1.251 * own.transform(source(strange)))
        np.testing.assert_array_equal(left_out.predict(source(X)), left_out.labels_)

    def test_nothing_observed_is_named(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        model = build(estimator, missing="ignore").fit(frame)
        empty = frame_of(df_module, table, color=[None] * 60)
        listed = {"categorical_features": ["color", "size", "sold"]}
        with pytest.raises(ValueError, match="Nothing is observed in column 'color' of X"):
            build(estimator, missing="ignore", **listed).fit(empty)
        rows = {name: [None if i in (4, 7) else c for i, c in enumerate(column)]
                for name, column in vars(table).items()}  # fmt: skip
        for method in METHODS:
            fresh = build(estimator, missing="ignore") if method[:3] == "fit" else model
            with pytest.raises(ValueError, match="Nothing is observed in rows 4, 7 of X"):
                getattr(fresh, method)(df_module.DataFrame(rows))


# ---- starts -----------------------------------------------------------------------------------


@each_estimator
class TestStarts:
    def test_centers_as_a_frame_with_categories(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        a = build(estimator, init=frame[:3], n_init=1).fit(frame)
        b = build(estimator, init=objects_of(table)[:3], n_init=1).fit(frame)
        c = build(estimator, init=objects_of(table)[:3].tolist(), n_init=1).fit(frame)
        assert_identical(a, b)
        assert_identical(a, c)

    def test_centers_with_an_unknown_category_are_refused(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        centers = objects_of(table)[:3]
        centers[1, 1] = "pink"
        with pytest.raises(ValueError, match=r"init has 'pink' in column .*none of the categories"):
            build(estimator, init=centers, n_init=1).fit(frame)
        centers[1, 1] = None
        with pytest.raises(ValueError, match="init has missing or infinite cells"):
            build(estimator, init=centers, n_init=1).fit(frame)

    def test_centers_of_the_wrong_shape_are_refused(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        with pytest.raises(ValueError, match=r"\(2, 5\).*expected \(3, 5\)"):
            build(estimator, init=objects_of(table)[:2], n_init=1).fit(frame)
        wrong = frame[["color", "price", "weight", "size", "sold"]][:3]
        with pytest.raises(ValueError, match=r"columns of init are \['color', 'price'"):
            build(estimator, init=wrong, n_init=1).fit(frame)

    def test_a_callable_gets_the_table_as_it_was_given(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        seen = []

        def first_rows(X, n_clusters, random_state):
            seen.append((type(X), random_state.randint(1000)))
            return X[:n_clusters]

        a = build(estimator, init=first_rows).fit(frame)
        assert [kind for kind, _ in seen] == [type(frame)] * 2
        assert len({number for _, number in seen}) == 2
        b = build(estimator, init=frame[:3], n_init=1).fit(frame)
        np.testing.assert_array_equal(a.labels_, b.labels_)

    def test_weights_to_start_with(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        uniform = build(estimator).fit(frame)
        given = build(estimator, weight_init=np.full(5, 3.0)).fit(frame)
        np.testing.assert_array_equal(uniform.labels_, given.labels_)
        with pytest.raises(ValueError, match=r"weight_init has shape \(4,\).*\(5,\)"):
            build(estimator, weight_init=np.ones(4)).fit(frame)
        assert np.isfinite(build(estimator, weight_init="random").fit(frame).inertia_)

    @pytest.mark.parametrize("init", ["k-means++", "random"])
    @pytest.mark.parametrize("missing", ["ignore", "rescale"])
    def test_every_start_works_with_gaps(self, estimator, init, missing, table, df_module):
        table.color[::4] = [None] * 15
        table.price[1::4] = [None] * 15
        model = build(estimator, init=init, missing=missing).fit(frame_of(df_module, table))
        assert np.isfinite(model.inertia_)
        assert set(model.labels_) <= {0, 1, 2}

    def test_anomalous_patterns(self, estimator, table, df_module):
        model = build(estimator, init="anomalous", n_init="auto").fit(frame_of(df_module, table))
        assert set(model.labels_) <= {0, 1, 2}
        assert np.isfinite(model.inertia_)


def test_groups_by_names_include_categorical_columns(table, df_module):
    frame = frame_of(df_module, table)
    groups = {"numbers": ["price", "weight"], "kinds": ["color", "size", "sold"]}
    model = build(FGKMeans, groups=groups).fit(frame)
    assert model.group_weights_.shape == (3, 2)
    np.testing.assert_array_equal(model.groups_["kinds"], [1, 3, 4])
    for columns in model.groups_.values():
        np.testing.assert_allclose(model.feature_weights_[:, columns].sum(axis=1), 1.0)
    assert_same_numbers(model, build(FGKMeans, groups=[[0, 2], [1, 3, 4]]).fit(frame))
    np.testing.assert_allclose(model.group_weights_.sum(axis=1), 1.0)


# ---- what is refused --------------------------------------------------------------------------


@each_estimator
class TestRefused:
    def test_text_that_is_not_said_to_be_categorical(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        with pytest.raises(ValueError, match=r"Column 'color'.*categorical_features"):
            build(estimator, categorical_features=None).fit(frame)
        with pytest.raises(ValueError, match=r"Column 'size'.*categorical_features"):
            build(estimator, categorical_features=["color"]).fit(frame)
        with pytest.raises(ValueError, match=r"Column 'x1'.*categorical_features"):
            build(estimator, categorical_features=[3, 4]).fit(objects_of(table))

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ([True, False], ValueError, r"mask of length 2, but X has 5 columns"),
            (["colour"], ValueError, r"columns that X does not have: 'colour'.*'price', 'color'"),
            ([7], ValueError, r"outside the table: 7\. X has 5 columns"),
            ([1, "size"], TypeError, "entries of type int, str"),
            ([1, 1], ValueError, "more than once"),
        ],
        ids=str,
    )
    def test_columns_that_are_not_there(self, estimator, given, error, message, table, df_module):
        with pytest.raises(error, match=f"categorical_features.*{message}"):
            build(estimator, categorical_features=given).fit(frame_of(df_module, table))

    def test_names_where_columns_have_none(self, estimator, table, source):
        for rows in (codes_of(table), source(codes_of(table))):
            with pytest.raises(ValueError, match=r"names 'color', but X has no column names"):
                build(estimator, categorical_features=["color"]).fit(rows)

    def test_dates(self, estimator, table, df_module):
        days = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]").astype("datetime64[us]")
        frame = frame_of(df_module, table, weight=days)
        for given in ("from_dtype", ["color", "size", "sold", "weight"]):
            with pytest.raises(ValueError, match="Column 'weight' holds dates or times"):
                build(estimator, categorical_features=given).fit(frame)

    def test_containers_in_cells(self, estimator, table):
        pandas = pytest.importorskip("pandas")
        frame = frame_of(pandas, table, color=[[1, 2]] * 60)
        with pytest.raises(TypeError, match="Column 'color' holds values of type list"):
            build(estimator, categorical_features=["color", "size", "sold"]).fit(frame)

    def test_infinite_numbers(self, estimator, table, df_module):
        table.price[3] = float("inf")
        for missing in ("error", "ignore", "rescale"):
            with pytest.raises(ValueError, match="infinity in column 'price'"):
                build(estimator, missing=missing).fit(frame_of(df_module, table))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("missing", "drop"),
            ("missing_category", "other"),
            ("handle_unknown", "infrequent_if_exist"),
            ("handle_unknown", None),
        ],
    )
    def test_options_that_do_not_exist(self, estimator, name, value, table, df_module):
        with pytest.raises(ValueError, match=f"{name}={value!r}: expected '"):
            build(estimator, **{name: value}).fit(frame_of(df_module, table))

    def test_bad_sample_weights(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        with pytest.raises(ValueError, match="zero for every row"):
            build(estimator).fit(frame, sample_weight=np.zeros(60))
        with pytest.raises(ValueError, match=r"sample_weight\.shape == \(59,\)"):
            build(estimator).fit(frame, sample_weight=np.ones(59))

    def test_empty_tables(self, estimator, table, df_module):
        frame = frame_of(df_module, table)
        with pytest.raises(ValueError, match=r"0 (row|sample)\(s\)"):
            build(estimator).fit(frame[:0])
        model = build(estimator).fit(frame)
        with pytest.raises(ValueError, match=r"0 (row|sample)\(s\)"):
            model.predict(frame[:0])


@pytest.mark.parametrize("estimator", [KMeans, EWKMeans, IMWKMeans])
def test_algorithms_without_categories_name_the_way_out(estimator, table, df_module):
    with pytest.raises(ValueError, match=r"(?i)not numeric.*'color', 'size'.*TableEncoder"):
        estimator(3).fit(frame_of(df_module, table))


@pytest.mark.parametrize("estimator", TAKE_CATEGORIES)
def test_tags_tell_what_is_taken(estimator):
    tags = estimator().__sklearn_tags__().input_tags
    assert tags.categorical
    assert tags.string
    assert not tags.allow_nan
    assert estimator(missing="ignore").__sklearn_tags__().input_tags.allow_nan
    assert not estimator(categorical_features=None).__sklearn_tags__().input_tags.categorical


@pytest.mark.parametrize("missing_category", ["same", "own"])
def test_predict_accepts_the_rows_of_fit_also_those_without_weight(missing_category):
    """A category that occurs only there is like one never seen, in fit and in predict."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1, 2.0], "c": list("aabbz")})
    if missing_category == "own":
        frame.loc[4, "c"] = None
    weight = [1, 1, 1, 1, 0]
    options = {"handle_unknown": "error", "missing_category": missing_category}
    model = AWKMeans(2, random_state=0, **options).fit(frame, sample_weight=weight)
    assert list(model.category_frequencies_["c"]) == ["a", "b"]
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    assert model.transform(frame).shape == (5, 2)
    with pytest.raises(ValueError, match="not seen: 'q'"):
        model.predict(frame.assign(c=list("aabbq")))
