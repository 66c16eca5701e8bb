import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from fwkmeans import (
    SYNCLUS,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans._support.text import percent
from fwkmeans.datasets import load_uci
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.fitted import FittedView
from fwkmeans.plotting import ClusterMapDisplay
from fwkmeans.plotting.models import metric_of
from fwkmeans.plotting.planes import plane_of_components, principal_axes
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.weighting import EntropyWeights

pytestmark = pytest.mark.usefixtures("pyplot")

MODELS = [
    KMeans(3, random_state=0),
    SYNCLUS(3, groups=[0, 0, 1, 1], group_weights=[0.3, 0.7], random_state=0),
    ConvexKMeans(3, spaces=[0, 0, 1, 1], random_state=0),
    AWKMeans(3, beta=3.0, random_state=0),
    WKMeans(3, beta=4.0, random_state=0),
    WKMeans(3, weights="cluster", smoothing="inside", random_state=0),
    EWKMeans(3, random_state=0),
    IKPrototypes(3, random_state=0),
    FWSAKMeans(3, random_state=0),
    FGKMeans(3, groups=[0, 0, 1, 1], random_state=0),
    FeatureWeightedKMeans(3, weighting=EntropyWeights(), random_state=0),
    *(IMWKMeans(3, p=p, smoothing=0.05) for p in (1.2, 1.5, 2.0, 3.0, 20.0)),
    IMWKMeans(3, p=np.inf, smoothing=0.0),
]


def slice_of(model, display, plane, k):
    """Return points of the outline as rows of the table, all else as in the center."""
    return model.cluster_centers_[k] + (display.outlines[k] - display.centers[k]) @ plane.T


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_outlines_are_at_the_models_own_distance(model, rows):
    model = model.fit(rows)
    display = ClusterMapDisplay.from_estimator(model, rows, features=(3, 1))
    back = np.zeros((4, 2))
    back[[3, 1], [0, 1]] = 1.0
    for k in range(3):
        points = slice_of(model, display, back, k)
        points = points[np.isfinite(points).all(axis=1)]
        assert len(points) >= 700
        distances = model.transform(points)[:, k]
        np.testing.assert_allclose(distances, display.radii[k], rtol=1e-9)
        np.testing.assert_array_equal(
            display.outlines_[k].get_xydata(), display.outlines[k], strict=True
        )
    np.testing.assert_array_equal(display.points, rows[:, [3, 1]])
    np.testing.assert_array_equal(display.centers, model.cluster_centers_[:, [3, 1]])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_outlines_among_components_are_slices_too(model, rows):
    model = model.fit(rows)
    display = ClusterMapDisplay.from_estimator(model, rows)
    view = FittedView.of(model)
    weights, p = view.effective_weights * view.scale, view.power
    scales = weights if np.isinf(p) else weights ** (1 / p)
    shares = np.bincount(model.labels_) / 150
    mean = np.sqrt(sum(shares[k] * scales[k] ** 2 for k in range(3)))
    plane = plane_of_components(rows, mean)
    np.testing.assert_allclose(plane.onto.T @ plane.back, np.eye(2), atol=1e-10)
    for k in range(3):
        points = slice_of(model, display, plane.back, k)
        points = points[np.isfinite(points).all(axis=1)]
        assert len(points) >= 700
        distances = model.transform(points)[:, k]
        np.testing.assert_allclose(distances, display.radii[k], rtol=1e-8)
    pca = PCA(2).fit(rows * mean)
    found = np.abs(display.points)
    np.testing.assert_allclose(found, np.abs(pca.transform(rows * mean)), atol=1e-9)
    for share, name in zip(pca.explained_variance_ratio_, display.axis_names, strict=True):
        assert f"({percent(share)})" in name


@pytest.mark.parametrize("features", [None, (0, 2)])
@pytest.mark.parametrize("p", [1.3, 2.0])
def test_half_of_the_rows_are_inside_the_shape(rows, features, p):
    from matplotlib.path import Path

    model = IMWKMeans(3, p=p).fit(rows)
    display = ClusterMapDisplay.from_estimator(model, rows, features=features)
    for k in range(3):
        own = display.points[display.labels == k]
        inside = Path(display.outlines[k]).contains_points(own).sum()
        on = np.sum(np.bincount(np.unique(own, axis=0, return_inverse=True)[1]).max())
        assert abs(inside - len(own) / 2) <= on  # rows may be equal


def test_shapes_are_what_their_names_say():
    X = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    args = {"labels": np.zeros(4), "features": (0, 1), "radius": 2.0}
    diamond = ClusterMapDisplay.from_predictions(X, p=1, weights=[1.0, 2.0], **args).outlines[0]
    assert [2.0, 0.0] in diamond.tolist()
    assert [0.0, 1.0] in diamond.tolist()
    np.testing.assert_allclose(np.abs(diamond) @ [1.0, 2.0], 2.0)
    box = ClusterMapDisplay.from_predictions(X, p=np.inf, weights=[1.0, 4.0], **args).outlines[0]
    np.testing.assert_allclose(np.abs(box).max(axis=0), [2.0, 0.5])
    np.testing.assert_allclose((np.abs(box) * [1.0, 4.0]).max(axis=1), 2.0)
    ellipse = ClusterMapDisplay.from_predictions(X, p=2, weights=[1.0, 4.0], **args).outlines[0]
    np.testing.assert_allclose(ellipse**2 @ [1.0, 4.0], 4.0)
    np.testing.assert_array_equal(ellipse[0], ellipse[-1])


def test_features_without_weight_give_strips_or_nothing():
    X = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 2.0], [2.0, 3.0, 3.0]])
    display = ClusterMapDisplay.from_predictions(
        X, [0, 0, 0], weights=[1.0, 0.0, 0.0], features=(0, 1), radius=0.5
    )
    line = display.outlines[0]
    finite = np.isfinite(line).all(axis=1)
    assert 0 < (~finite).sum() < 5
    np.testing.assert_allclose(np.abs(line[finite, 0] - 1.0), 0.5)
    assert np.ptp(line[finite, 1]) > 30
    low, high = display.ax_.get_ylim()
    assert -2.0 < low < high < 5.0
    nothing = ClusterMapDisplay.from_predictions(
        X, [0, 0, 0], weights=[1.0, 0.0, 0.0], features=(1, 2), radius=0.5
    )
    assert np.isnan(nothing.outlines[0]).all()
    nothing.figure_.canvas.draw()


def test_units_may_differ_by_orders_of_magnitude(rng):
    X = rng.normal(size=(50, 2)) * [1e6, 1e-6]
    display = ClusterMapDisplay.from_predictions(
        X, np.zeros(50), weights=1.0 / X.var(axis=0), features=(0, 1), radius=1.0
    )
    steps = np.diff(display.outlines[0] / np.ptp(X, axis=0), axis=0)
    assert np.linalg.norm(steps, axis=1).max() < 0.02


def test_pipeline_shows_rows_as_the_model_sees_them():
    frame = load_uci("iris").data
    model = make_pipeline(RangeStandardizer(), AWKMeans(3, random_state=0)).fit(frame)
    names = ("petal_length", "sepal_width")
    display = ClusterMapDisplay.from_estimator(model, frame, features=names)
    seen = model[:-1].transform(frame)
    np.testing.assert_array_equal(display.points, np.asarray(seen)[:, [2, 1]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == names
    for k, scatter in enumerate(display.scatters_):
        own = np.asarray(seen)[model[-1].labels_ == k][:, [2, 1]]
        np.testing.assert_array_equal(scatter.get_offsets(), own)
    legend = [text.get_text() for text in display.legend_.get_texts()]
    assert legend == [f"{k} ({n})" for k, n in enumerate(np.bincount(model[-1].labels_))]


def test_categories_are_left_out_and_gaps_filled(rng):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "color": rng.choice(["red", "blue"], 40),
            "a": rng.random(40),
            "b": np.where(np.arange(40) == 3, np.nan, rng.random(40)),
        }
    )
    model = IKPrototypes(2, missing="ignore", random_state=0).fit(table)
    display = ClusterMapDisplay.from_estimator(model, table, features=("a", "b"))
    np.testing.assert_allclose(display.points[4], table[["a", "b"]].to_numpy()[4])
    own = model.labels_[3]
    np.testing.assert_allclose(display.points[3, 1], model.cluster_centers_[own, 2])
    assert ClusterMapDisplay.from_estimator(model, table).points.shape == (40, 2)
    with pytest.raises(ValueError, match="'color', a categorical column"):
        ClusterMapDisplay.from_estimator(model, table, features=("a", "color"))


def test_spherical_spaces_have_no_shape(rng):
    X = rng.random((30, 4))
    model = ConvexKMeans(2, spaces=[0, 0, 1, 1], spherical=[True, False], random_state=0).fit(X)
    with pytest.raises(ValueError, match="shapes=False"):
        ClusterMapDisplay.from_estimator(model, X)
    display = ClusterMapDisplay.from_estimator(model, X, features=(0, 1), shapes=False)
    np.testing.assert_allclose(np.linalg.norm(display.points, axis=1), 1.0)
    assert display.outlines is None
    display = ClusterMapDisplay.from_estimator(model, X, features=(2, 3))
    points = np.repeat(model.cluster_centers_[:1], len(display.outlines[0]), axis=0)
    points[:, 2:] = display.outlines[0]
    np.testing.assert_allclose(model.transform(points)[:, 0], display.radii[0])


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows_and_one_cluster(rows, n_rows):
    display = ClusterMapDisplay.from_estimator(KMeans(1).fit(rows[:n_rows]), rows[:n_rows])
    assert np.isfinite(display.points).all()
    display.figure_.canvas.draw()
    model = WKMeans(n_rows, random_state=0).fit(rows[:n_rows])
    ClusterMapDisplay.from_estimator(model, rows[:n_rows]).figure_.canvas.draw()


def test_clusters_without_rows_have_no_shape(rows):
    model = KMeans(3, random_state=0).fit(rows)
    display = ClusterMapDisplay.from_estimator(model, rows[model.labels_ != 1])
    assert np.isnan(display.outlines[1]).all()
    assert np.isfinite(display.outlines[0]).all()
    display.figure_.canvas.draw()


def test_many_clusters_look_different(many):
    X, labels, names = many
    display = ClusterMapDisplay.from_predictions(X, labels, feature_names=names)
    looks = set()
    for scatter in display.scatters_:
        shape = scatter.get_paths()[0].vertices.round(6).tobytes()
        looks.add((tuple(scatter.get_facecolor()[0]), shape))
    assert len(looks) == 20
    assert len(display.legend_.get_texts()) == 20
    assert [text.get_text() for text in display.centers_] == [str(k) for k in range(20)]


def test_labels_of_any_kind_and_means_as_centers(rows, iris):
    display = ClusterMapDisplay.from_predictions(rows, iris.target, features=(0, 1), shapes=False)
    for k, name in enumerate(np.unique(iris.target)):
        own = rows[np.asarray(iris.target) == name]
        np.testing.assert_allclose(display.centers[k], own.mean(axis=0)[:2])
    assert display.cluster_names == np.unique(iris.target).tolist()


def test_own_axes_and_radius(rows, pyplot):
    figure, ax = pyplot.subplots()
    model = AWKMeans(3, random_state=0).fit(rows)
    display = ClusterMapDisplay.from_estimator(
        model, rows, radius=[0.1, 0.2, 0.3], ax=ax, legend=False, alpha=0.25
    )
    assert display.radii.tolist() == [0.1, 0.2, 0.3]
    assert display.ax_ is ax
    assert display.legend_ is None
    assert display.scatters_[0].get_alpha() == 0.25
    assert pyplot.get_fignums() == [figure.number]


def test_bad_input_gets_a_sentence(rows):
    model = KMeans(2, random_state=0).fit(rows)
    show = ClusterMapDisplay.from_estimator
    with pytest.raises(ValueError, match="gives 1 features; a map shows two"):
        show(model, rows, features=[1])
    with pytest.raises(ValueError, match="names columns that X does not have: 'y'"):
        show(model, rows, features=("x0", "y"))
    for radius in ("mean", 0.0, [1.0, 2.0, 3.0], np.nan):
        with pytest.raises(ValueError, match="expected 'median', a number > 0"):
            show(model, rows, radius=radius)
    with pytest.raises(ValueError, match="needs two numeric features; there is 1"):
        show(KMeans(2).fit(rows[:, :1]), rows[:, :1])
    from_predictions = ClusterMapDisplay.from_predictions
    with pytest.raises(ValueError, match=r"weights has shape \(3,\)"):
        from_predictions(rows, np.zeros(150), weights=[1, 2, 3])
    with pytest.raises(ValueError, match="weights has values that are not finite numbers"):
        from_predictions(rows, np.zeros(150), weights=[1, 2, 3, -1])
    with pytest.raises(ValueError, match=r"centers has shape \(2, 4\)"):
        from_predictions(rows, np.zeros(150), centers=rows[:2])
    with pytest.raises(ValueError, match=r"p=0\.5"):
        from_predictions(rows, np.zeros(150), p=0.5)


def test_a_dissimilarity_of_ones_own_has_no_shape(rows):
    model = KMeans(2, random_state=0).fit(rows)

    class Other(Minkowski):
        p = None

        def __init__(self):
            pass

    model._parts = model._parts._replace(dissimilarity=Other())
    with pytest.raises(ValueError, match="not a Minkowski dissimilarity"):
        metric_of(model)
    assert metric_of(model, shapes=False).p == 2.0


def test_axes_may_share_both_limits(rows, pyplot):
    models = [KMeans(3, random_state=0).fit(rows), WKMeans(3, random_state=0).fit(rows)]
    figure, axes = pyplot.subplots(1, 2, sharex=True, sharey=True)
    displays = [
        ClusterMapDisplay.from_estimator(model, rows, ax=ax)
        for model, ax in zip(models, axes, strict=True)
    ]
    figure.canvas.draw()
    for display in displays:  # all rows of both are in the common picture
        low, high = np.transpose([display.ax_.get_xlim(), display.ax_.get_ylim()])
        assert (display.points > low).all()
        assert (display.points < high).all()
        assert display.ax_.get_aspect() == 1


@pytest.mark.parametrize("word", ["lw", "linewidth", "linewidths"])
def test_widths_have_several_names(rows, word):
    model = KMeans(3, random_state=0).fit(rows)
    display = ClusterMapDisplay.from_estimator(model, rows, ec="black", **{word: 1.5})
    assert display.scatters_[0].get_linewidth() == [1.5]
    assert tuple(display.scatters_[0].get_edgecolor()[0][:3]) == (0, 0, 0)


def test_many_columns_take_little_memory(rng):
    rows = rng.random((30, 6000))
    plane = plane_of_components(rows, np.ones(6000))
    _, lengths, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(np.sum(plane.onto.T * right[:2], axis=1)), 1.0)
    np.testing.assert_allclose(plane.shares, lengths[:2] ** 2 / (lengths**2).sum())


def test_one_row_has_a_plane_too(rng):
    plane = plane_of_components(rng.random((1, 4)), np.array([1.0, 2.0, 3.0, 1.0]))
    np.testing.assert_allclose(plane.onto.T @ plane.back, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("shape", [(210, 230), (230, 210), (205, 900)])
def test_axes_of_wide_tables_are_those_of_a_full_decomposition(shape):
    rng = np.random.default_rng(0)
    values = rng.normal(size=shape) * np.r_[5, 4, np.ones(shape[1] - 2)]
    values -= values.mean(axis=0)
    axes, shares = principal_axes(values)
    _, lengths, directions = np.linalg.svd(values, full_matrices=False)
    np.testing.assert_allclose(shares, (lengths**2 / (lengths**2).sum())[:2], rtol=1e-10)
    np.testing.assert_allclose(np.abs(axes.T @ directions[:2].T), np.eye(2), atol=1e-8)
    np.testing.assert_array_equal(axes, principal_axes(values)[0])
