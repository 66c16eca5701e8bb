import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, KMeans, WKMeans
from fwkmeans.datasets import load_uci
from fwkmeans.plotting import ClusterProfilesDisplay
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder

pytestmark = pytest.mark.usefixtures("pyplot")


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_values_are_means_in_the_units_of_the_table(iris):
    frame = load_uci("iris").data
    model = make_pipeline(RangeStandardizer(), WKMeans(3, random_state=0)).fit(frame)
    display = ClusterProfilesDisplay.from_estimator(model, frame)
    labels = model[-1].labels_
    for v in range(4):
        column = iris.data[:, v]
        assert display.values[v, 0] == pytest.approx(column.mean())
        for k in range(3):
            mean = sum(column[labels == k]) / sum(labels == k)
            assert display.values[v, 1 + k] == pytest.approx(mean)
            difference = (mean - column.mean()) / column.std()
            assert display.im_.get_array()[v, 1 + k] == pytest.approx(difference)
    assert ticks(display.ax_.yaxis) == list(iris.feature_names)
    sizes = np.bincount(labels)
    assert ticks(display.ax_.xaxis) == ["all (150)", *(f"{k} ({sizes[k]})" for k in range(3))]
    assert [[text.get_text() for text in row] for row in display.text_] == display.texts


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_show_their_mode_and_its_share(library):
    module = pytest.importorskip(library)
    table = module.DataFrame(
        {"size": [1.0, 2.0, None, 5.0, 9.0], "color": ["red", "red", "blue", "blue", None]}
    )
    labels = [0, 0, 0, 1, 1]
    display = ClusterProfilesDisplay.from_predictions(table, labels)
    np.testing.assert_allclose(display.values[0], [4.25, 1.5, 7.0])
    np.testing.assert_allclose(display.values[1], [0.5, 2 / 3, 1.0])
    np.testing.assert_allclose(display.differences[1], [0.0, 1 / 3, 1.0])
    assert display.texts[1] == ["blue: 50%", "red: 67%", "blue: 100%"]


def test_categories_of_a_model_are_those_it_was_told_of(rng):
    X = np.column_stack([rng.random(30), rng.integers(3, size=30)])
    model = AWKMeans(2, categorical_features=[1], random_state=0).fit(X)
    display = ClusterProfilesDisplay.from_estimator(model, X)
    first = X[model.labels_ == 0, 1]
    share = max(np.mean(first == code) for code in range(3))
    assert display.values[1, 1] == pytest.approx(share)
    assert display.texts[1][1].endswith("%")


def test_columns_in_which_clusters_differ_most_come_first(rng):
    labels = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 5))
    X[:, 3] += 10 * labels
    X[:, 1] += 4 * labels
    display = ClusterProfilesDisplay.from_predictions(X, labels, top=2)
    assert display.features_.tolist() == [3, 1]
    assert display.im_.get_array().shape == (2, 3)
    assert ticks(display.ax_.yaxis) == ["x3", "x1"]
    assert "3 columns not shown" in display.ax_.get_xlabel()


def test_separation_ranks_before_differences(rng):
    labels = np.repeat([0, 1, 2], 20)
    X = np.column_stack([rng.normal(size=60), rng.normal(size=60), labels + rng.random(60) / 2])
    X[0, 0] = 1000.0  # one row makes the means differ, and tells nothing apart
    display = ClusterProfilesDisplay.from_predictions(X, labels, top=1)
    assert display.features_.tolist() == [2]
    np.testing.assert_allclose(display.separation[2], 1.0)
    assert display.separation.shape == (3, 3)


def test_constant_and_empty_columns_and_clusters(rows):
    X = np.array([[1.0, np.nan, 0.0], [1.0, np.nan, 1.0], [1.0, 3.0, 2.0]])
    display = ClusterProfilesDisplay.from_predictions(X, ["a", "a", "b"])
    assert display.differences[0].tolist() == [0.0, 0.0, 0.0]
    assert display.texts[1] == ["3", "–", "3"]
    display.figure_.canvas.draw()
    one = ClusterProfilesDisplay.from_estimator(KMeans(1).fit(rows), rows)
    np.testing.assert_allclose(one.differences, 0.0, atol=1e-12)
    assert one.texts[0] == ["0", "0"]
    model = KMeans(3, random_state=0).fit(rows)
    some = ClusterProfilesDisplay.from_estimator(model, rows[:2])
    assert np.isnan(some.values).any()
    assert some.sizes.sum() == 2
    some.figure_.canvas.draw()


def test_categorical_tables_and_many_clusters(many, pyplot):
    soybean = load_uci("soybean_small")
    model = make_pipeline(TableEncoder(), WKMeans(4, random_state=0)).fit(soybean.data)
    display = ClusterProfilesDisplay.from_estimator(model, soybean.data)
    assert display.values.shape == (35, 5)
    X, labels, names = many
    display = ClusterProfilesDisplay.from_predictions(X, labels, feature_names=names)
    assert display.im_.get_array().shape == (100, 21)
    assert display.figure_.get_size_inches().max() <= 20


def test_own_axes(rows, pyplot):
    figure, ax = pyplot.subplots()
    labels = np.arange(150) % 2
    display = ClusterProfilesDisplay.from_predictions(rows, labels, ax=ax, include_values=False)
    assert display.ax_ is ax
    assert display.text_ is None
    assert pyplot.get_fignums() == [figure.number]


def test_bad_input_gets_a_sentence(rows):
    with pytest.raises(ValueError, match="labels has 2 labels for 150 rows"):
        ClusterProfilesDisplay.from_predictions(rows, [0, 1])
    with pytest.raises(ValueError, match="expected one label for each row"):
        ClusterProfilesDisplay.from_predictions(rows, np.zeros((150, 2)))
    with pytest.raises(ValueError, match="1 names for 4 features"):
        ClusterProfilesDisplay.from_predictions(rows, np.zeros(150), feature_names=["a"])


def test_dollar_signs_in_categories_are_text(pyplot):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"price": ["$5-$9", "$5-$9", "a$b", "a$b"]})
    display = ClusterProfilesDisplay.from_predictions(table, [0, 0, 1, 1])
    assert display.texts[0][1] == "$5-$9: 100%"
    written = [text.get_text() for text in display.text_.flat]
    assert written[1] == r"\$5-\$9: 100%"
    display.figure_.canvas.draw()


def test_cells_without_a_number_can_be_read(pyplot):
    X = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 1.0], [4.0, 2.0]])
    display = ClusterProfilesDisplay.from_predictions(X, [0, 0, 1, 1])
    dash = [text for text in display.text_.flat if text.get_text() == "–"]
    assert [text.get_color() for text in dash] == ["black"]
    with pyplot.style.context("dark_background"):
        display = ClusterProfilesDisplay.from_predictions(X, [0, 0, 1, 1])
    dash = [text for text in display.text_.flat if text.get_text() == "–"]
    assert [text.get_color() for text in dash] == ["white"]


def test_categories_of_a_pipeline_are_those_of_its_encoder_or_model(rng):
    X = np.column_stack([rng.integers(3, size=40), rng.random((40, 2))])
    encoder = TableEncoder(categorical="keep", categorical_features=[0])
    wide = TableEncoder(categorical_features=[0])
    model = WKMeans(2, random_state=0)
    told = WKMeans(2, categorical_features=[0], random_state=0)
    for pipeline in (
        make_pipeline(encoder, model),
        make_pipeline("passthrough", wide, model),
        make_pipeline(RangeStandardizer(), told),
    ):
        display = ClusterProfilesDisplay.from_estimator(pipeline.fit(X), X)
        assert display.texts[0][0].endswith("%")
        assert not display.texts[1][0].endswith("%")
    pipeline = make_pipeline(PCA(2), model).fit(X)
    assert not ClusterProfilesDisplay.from_estimator(pipeline, X).texts[0][0].endswith("%")
    display = ClusterProfilesDisplay.from_estimator(pipeline, X, categorical_features=[0])
    assert display.texts[0][0].endswith("%")


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_label_of_the_colors_is_inside_the_figure(n_columns, rng):
    display = ClusterProfilesDisplay.from_predictions(
        rng.random((9, n_columns)),
        np.arange(9) % 3,
        feature_names=[f"c{v}" for v in range(n_columns)],
    )
    display.figure_.canvas.draw()
    label = display.colorbar_.ax.yaxis.label.get_window_extent()
    whole = display.figure_.bbox
    assert label.y0 >= whole.y0
    assert label.y1 <= whole.y1
