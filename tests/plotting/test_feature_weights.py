from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from fwkmeans import (
    SYNCLUS,
    AWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.datasets import load_uci
from fwkmeans.plotting import FeatureWeightsDisplay
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.weighting import GroupEntropyWeights

pytestmark = pytest.mark.usefixtures("pyplot")


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_image_holds_the_weights_heaviest_feature_first(rows, iris):
    model = AWKMeans(3, random_state=0).fit(rows)
    display = FeatureWeightsDisplay.from_estimator(model, feature_names=iris.feature_names)
    means = [sum(model.feature_weights_[k, v] for k in range(3)) / 3 for v in range(4)]
    order = sorted(range(4), key=lambda v: -means[v])
    np.testing.assert_array_equal(display.features_, order)
    np.testing.assert_array_equal(display.im_.get_array(), model.feature_weights_[:, order])
    assert ticks(display.ax_.xaxis) == [iris.feature_names[v] for v in order]
    sizes = np.bincount(model.labels_)
    assert ticks(display.ax_.yaxis) == [f"{k} ({sizes[k]})" for k in range(3)]
    shown = [text.get_text() for text in display.text_.flat]
    assert shown == [f"{w:.2f}" for w in model.feature_weights_[:, order].ravel()]
    assert display.colorbar_.ax.get_ylabel() == "feature weight"


def test_weights_shared_by_all_clusters_are_one_row(rows):
    model = WKMeans(3, random_state=0).fit(rows)
    display = FeatureWeightsDisplay.from_estimator(model)
    assert display.im_.get_array().shape == (1, 4)
    assert ticks(display.ax_.yaxis) == ["all (150)"]


def test_only_the_heaviest_features_are_shown(rows):
    model = AWKMeans(3, random_state=0).fit(rows)
    display = FeatureWeightsDisplay.from_estimator(model, top=2)
    every = FeatureWeightsDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.features_, every.features_[:2])
    assert display.im_.get_array().shape == (3, 2)
    assert "2 lighter" in display.ax_.get_xlabel()


def test_pipeline_gives_names_of_encoded_columns():
    table = load_uci("heart")
    model = make_pipeline(TableEncoder(), AWKMeans(2, random_state=0)).fit(table.data)
    display = FeatureWeightsDisplay.from_estimator(model)
    names = model[:-1].get_feature_names_out()
    assert ticks(display.ax_.xaxis) == [names[v] for v in display.features_]
    np.testing.assert_array_equal(
        display.im_.get_array(), model[-1].feature_weights_[:, display.features_]
    )


def test_pipeline_of_one_step_and_names_of_frames(iris):
    frame = load_uci("iris").data
    model = make_pipeline(AWKMeans(2, random_state=0)).fit(frame)
    display = FeatureWeightsDisplay.from_estimator(model)
    assert display.feature_names == list(iris.feature_names)
    without = make_pipeline(RangeStandardizer(), AWKMeans(2, random_state=0)).fit(iris.data)
    assert FeatureWeightsDisplay.from_estimator(without).feature_names == ["x0", "x1", "x2", "x3"]


def test_given_axes_are_used_and_no_figure_is_made(rows, pyplot):
    figure, (left, right) = pyplot.subplots(1, 2)
    model = AWKMeans(3, random_state=0).fit(rows)
    display = FeatureWeightsDisplay.from_estimator(model, ax=right, colorbar=False, cmap="Greys")
    assert display.ax_ is right
    assert display.figure_ is figure
    assert pyplot.get_fignums() == [figure.number]
    assert display.im_.get_cmap().name == "Greys"
    assert not left.images
    assert display.colorbar_ is None
    assert display.plot(left) is display
    assert display.ax_ is left


def test_many_clusters_features_and_long_names_fit(many):
    X, _, names = many
    model = AWKMeans(20, random_state=0).fit(X)
    display = FeatureWeightsDisplay.from_estimator(model, feature_names=names)
    assert display.im_.get_array().shape == (20, 100)
    assert display.text_ is None
    assert max(len(text) for text in ticks(display.ax_.xaxis)) <= 28
    assert display.figure_.get_size_inches().max() <= 20
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    assert all(a.x1 <= b.x1 and b.x0 >= a.x0 for a, b in pairwise(boxes))
    width, height = display.figure_.bbox.size
    assert all(box.x0 >= 0 and box.x1 <= width and 0 <= box.y0 <= height for box in boxes)


def test_thousand_features_have_fewer_names(rng):
    display = FeatureWeightsDisplay.from_predictions(rng.random((3, 1000)))
    assert len(ticks(display.ax_.xaxis)) < 300


@pytest.mark.parametrize("n_rows", [2, 5])
def test_one_cluster_and_two_rows(rows, n_rows):
    display = FeatureWeightsDisplay.from_estimator(KMeans(1).fit(rows[:n_rows]))
    assert ticks(display.ax_.yaxis) == [f"0 ({n_rows})"]
    varying = sum(np.ptp(rows[:n_rows], axis=0) > 0)
    expected = [1 / varying] * varying + [0.0] * (4 - varying)
    np.testing.assert_allclose(display.im_.get_array(), [expected])


def test_predictions_take_lists_and_one_row():
    display = FeatureWeightsDisplay.from_predictions(
        [0.2, 0.8], feature_names=["a$b$", "c"], sizes=[3, 4]
    )
    np.testing.assert_array_equal(display.im_.get_array(), [[0.8, 0.2]])
    assert ticks(display.ax_.yaxis) == ["all (7)"]
    display.figure_.canvas.draw()  # dollar signs are no formula
    assert FeatureWeightsDisplay.from_predictions([[1, 0], [0, 1]]).ax_.get_ylabel() == "cluster"


def test_bad_input_gets_a_sentence(rows):
    with pytest.raises(NotFittedError):
        FeatureWeightsDisplay.from_estimator(KMeans(2))
    from sklearn.cluster import KMeans as Other

    with pytest.raises(TypeError, match="expected an estimator of fwkmeans"):
        FeatureWeightsDisplay.from_estimator(Other(2).fit(rows))
    with pytest.raises(TypeError, match="the class KMeans cannot be shown"):
        FeatureWeightsDisplay.from_estimator(KMeans)
    with pytest.raises(ValueError, match="2 names for 4 features"):
        FeatureWeightsDisplay.from_estimator(KMeans(2).fit(rows), feature_names=["a", "b"])
    with pytest.raises(TypeError, match="is one string"):
        FeatureWeightsDisplay.from_predictions([[1.0]], feature_names="a")
    with pytest.raises(ValueError, match="negative"):
        FeatureWeightsDisplay.from_predictions([[1.0, -1.0]])
    with pytest.raises(ValueError, match="sizes has 3 numbers for 2 clusters"):
        FeatureWeightsDisplay.from_predictions([[1.0], [1.0]], sizes=[1, 2, 3])
    with pytest.raises(ValueError, match="top == 0"):
        FeatureWeightsDisplay.from_predictions([[1.0]], top=0)
    with pytest.raises(TypeError, match="expected matplotlib Axes"):
        FeatureWeightsDisplay.from_predictions([[1.0]], ax=3)


def test_weights_of_groups_are_multiplied_in(rng):
    X = rng.random((60, 5)) + 2.0 * rng.integers(2, size=(60, 1))
    groups = {"one": [0], "rest": [1, 2, 3, 4]}
    number = np.array([0, 1, 1, 1, 1])
    for model in (
        FGKMeans(2, groups=groups, random_state=0),
        SYNCLUS(2, groups=groups, group_weights=[0.1, 0.9], random_state=0),
        FeatureWeightedKMeans(2, weighting=GroupEntropyWeights(number), random_state=0),
    ):
        display = FeatureWeightsDisplay.from_estimator(model.fit(X))
        np.testing.assert_allclose(display.weights.sum(axis=1), 1.0)
        assert display.colorbar_.ax.get_ylabel() == "feature weight\ntimes group weight"
        if hasattr(model, "group_weights_"):
            product = np.atleast_2d(model.group_weights_)[:, number] * model.feature_weights_
            product = product / product.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(display.weights, product[: len(display.weights)])
        assert (display.weights[:, 0] < 0.6).all()  # alone in its group, where its weight is 1
    one_group = FeatureWeightsDisplay.from_estimator(FGKMeans(2, random_state=0).fit(X))
    assert one_group.weight_name == "feature weight"


def test_weights_may_be_of_something_else():
    display = FeatureWeightsDisplay.from_predictions([[0.2, 0.8]], weight_name="group weight")
    assert display.colorbar_.ax.get_ylabel() == "group weight"
