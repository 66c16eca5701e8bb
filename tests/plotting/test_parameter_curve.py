import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, IKPrototypes, IMWKMeans, KMeans, WKMeans
from fwkmeans.datasets import load_uci
from fwkmeans.plotting import ParameterCurveDisplay
from fwkmeans.preprocessing import RangeStandardizer

pytestmark = pytest.mark.usefixtures("pyplot")


def test_scores_are_the_rand_index_with_classes(rows, iris):
    values = [4.0, 1.1, 2.0]
    estimator = IMWKMeans(3)
    display = ParameterCurveDisplay.from_estimator(
        estimator, rows, param_name="p", param_range=values, y=iris.target
    )
    expected = [
        adjusted_rand_score(iris.target, IMWKMeans(3, p=p).fit_predict(rows)) for p in values
    ]
    np.testing.assert_allclose(display.scores, expected)
    assert display.param_range[display.best_index_] == values[int(np.argmax(expected))]
    assert display.lines_[0].get_xdata().tolist() == [1.1, 2.0, 4.0]  # in order
    np.testing.assert_allclose(display.lines_[0].get_ydata(), np.asarray(expected)[[1, 2, 0]])
    assert display.best_.get_xdata().tolist() == [values[display.best_index_]]
    assert display.ax_.get_xlabel() == "p"
    assert display.ax_.get_ylabel() == "adjusted Rand index"
    assert estimator.p == 2.0
    assert not hasattr(estimator, "labels_")


def test_without_classes_it_is_the_silhouette_of_what_is_clustered(iris):
    model = make_pipeline(RangeStandardizer(), WKMeans(random_state=0))
    display = ParameterCurveDisplay.from_estimator(
        model, iris.data, param_name="wkmeans__n_clusters", param_range=[1, 2, 3]
    )
    rows = RangeStandardizer().fit_transform(iris.data)
    expected = [
        silhouette_score(rows, WKMeans(k, random_state=0).fit_predict(rows)) for k in (2, 3)
    ]
    assert np.isnan(display.scores[0])
    np.testing.assert_allclose(display.scores[1:], expected)
    assert display.ax_.get_xlabel() == "n_clusters"


def test_repeats_give_mean_and_band(rows, iris):
    estimator = KMeans(3, n_init=1, init="random")
    display = ParameterCurveDisplay.from_estimator(
        estimator, rows, param_name="max_iter", param_range=[1, 50], y=iris.target, n_repeats=4
    )
    found = np.empty((2, 4))
    for i, max_iter in enumerate([1, 50]):
        for seed in range(4):
            model = KMeans(3, n_init=1, init="random", max_iter=max_iter, random_state=seed)
            found[i, seed] = adjusted_rand_score(iris.target, model.fit_predict(rows))
    np.testing.assert_allclose(display.scores, found.mean(axis=1))
    np.testing.assert_allclose(display.spread, found.std(axis=1))
    band = display.fill_between_[0].get_paths()[0].vertices
    np.testing.assert_allclose(band[:, 1].max(), (display.scores + display.spread).max())


def test_scorers_by_name_and_as_functions(rows, iris):
    def rows_in_largest(model, X, y):
        return np.bincount(model.predict(X)).max()

    for scoring, expected in [
        ("adjusted_rand_score", lambda m: adjusted_rand_score(iris.target, m.predict(rows))),
        (rows_in_largest, lambda m: np.bincount(m.labels_).max()),
    ]:
        display = ParameterCurveDisplay.from_estimator(
            WKMeans(3, random_state=0),
            rows,
            param_name="beta",
            param_range=[2.0, 5.0],
            y=iris.target,
            scoring=scoring,
        )
        models = [WKMeans(3, beta=b, random_state=0).fit(rows) for b in (2.0, 5.0)]
        np.testing.assert_allclose(display.scores, [expected(m) for m in models])
    assert display.ax_.get_ylabel() == "rows in largest"


def test_values_that_are_no_finite_numbers_stand_at_even_steps():
    values = ["refresh", None, np.inf, 2.0]
    display = ParameterCurveDisplay.from_predictions(values, [0.1, 0.4, 0.3, 0.2], param_name="c")
    assert display.lines_[0].get_xdata().tolist() == [0, 1, 2, 3]
    ticks = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert ticks == ["refresh", "None", "inf", "2.0"]
    assert display.best_.get_xdata().tolist() == [1]
    assert "best: c = None (0.4)" in display.best_.get_label()


def test_predictions_of_repeats_and_spread():
    scores = np.asarray([[0.0, 1.0], [2.0, 4.0]])
    display = ParameterCurveDisplay.from_predictions([1, 2], scores)
    assert display.lines_[0].get_ydata().tolist() == [0.5, 3.0]
    assert display.spread.tolist() == [0.5, 1.0]
    display = ParameterCurveDisplay.from_predictions([1, 2], [1.0, 2.0], spread=[0.25, 0.5])
    assert display.fill_between_[0].get_paths()[0].vertices[:, 1].min() == 0.75
    nothing = ParameterCurveDisplay.from_predictions([1, 2], [np.nan, np.nan])
    assert nothing.best_ is None
    assert nothing.best_index_ is None
    assert ParameterCurveDisplay.from_predictions([1], [1.0]).fill_between_ is None


def test_own_axes(pyplot):
    figure, ax = pyplot.subplots()
    display = ParameterCurveDisplay.from_predictions([1, 2], [1.0, 2.0], ax=ax, linestyle=":")
    assert display.ax_ is ax
    assert display.lines_[0].get_linestyle() == ":"
    assert pyplot.get_fignums() == [figure.number]


def test_bad_input_gets_a_sentence(rows, iris):
    fit = ParameterCurveDisplay.from_estimator
    model = make_pipeline(RangeStandardizer(), WKMeans(3))
    with pytest.raises(ValueError, match="Did you mean 'wkmeans__beta'"):
        fit(model, rows, param_name="beta", param_range=[2.0])
    with pytest.raises(ValueError, match=r"not a parameter of WKMeans. It has beta, "):
        fit(WKMeans(3), rows, param_name="gamma", param_range=[2.0])
    with pytest.raises(ValueError, match="param_range is empty"):
        fit(WKMeans(3), rows, param_name="beta", param_range=[])
    with pytest.raises(ValueError, match="y has 3 labels for 150 rows"):
        fit(WKMeans(3), rows, param_name="beta", param_range=[2.0], y=[1, 2, 3])
    with pytest.raises(TypeError, match="scoring=3"):
        fit(WKMeans(3), rows, param_name="beta", param_range=[2.0], scoring=3)
    with pytest.raises(ValueError, match="categories or missing cells"):
        fit(IKPrototypes(2), load_uci("heart").data, param_name="beta", param_range=[2.0])
    codes = AWKMeans(2, categorical_features=[0])
    with pytest.raises(ValueError, match="categories or missing cells"):
        fit(codes, np.arange(20.0).reshape(10, 2) % 3, param_name="beta", param_range=[2.0])
    with pytest.raises(ValueError, match=r"scores has shape \(2,\) for 3 values"):
        ParameterCurveDisplay.from_predictions([1, 2, 3], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"spread has shape \(1,\)"):
        ParameterCurveDisplay.from_predictions([1, 2], [1.0, 2.0], spread=[1.0])


def test_a_second_curve_joins_the_first(pyplot):
    ax = pyplot.subplots()[1]
    options = {"param_name": "beta", "score_name": "ARI", "ax": ax}
    first = ParameterCurveDisplay.from_predictions([1, 2], [0.1, 0.2], label="AWK", **options)
    assert len(ax.get_legend().get_texts()) == 1
    second = ParameterCurveDisplay.from_predictions([1, 2], [0.4, 0.3], label="WK", **options)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["AWK", "best: beta = 2 (0.2)", "WK", "best: beta = 1 (0.4)"]
    assert first.lines_[0].get_color() != second.lines_[0].get_color()
    assert second.best_.get_markerfacecolor() == second.lines_[0].get_color()
    assert second.best_.get_markeredgecolor() != second.lines_[0].get_color()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("beta", "ARI")
    ParameterCurveDisplay.from_predictions([3, 4], [1, 2], param_name="p", ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("parameter", "score")


def test_repeats_without_a_score_are_left_out():
    scores = [[0.2, np.nan, 0.4], [np.nan, np.nan, np.nan], [0.1, 0.1, 0.1]]
    display = ParameterCurveDisplay.from_predictions([1, 2, 3], scores)
    np.testing.assert_allclose(display.scores, [0.3, np.nan, 0.1])
    np.testing.assert_allclose(display.spread, [0.1, np.nan, 0.0], atol=1e-12)
    assert display.best_index_ == 0
