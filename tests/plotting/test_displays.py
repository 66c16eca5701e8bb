"""What holds for every display."""

import inspect

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, KMeans, plotting
from fwkmeans.preprocessing import RangeStandardizer

LABELS = np.arange(12) % 3
ROWS = np.random.default_rng(0).random((12, 4)) + LABELS[:, None]

DRAWN = {
    "FeatureWeightsDisplay": lambda cls, **kw: cls.from_predictions(ROWS[:3], **kw),
    "ClusterProfilesDisplay": lambda cls, **kw: cls.from_predictions(ROWS, LABELS, **kw),
    "ClusterMapDisplay": lambda cls, **kw: cls.from_predictions(ROWS, LABELS, **kw),
    "ParameterCurveDisplay": lambda cls, **kw: cls.from_predictions([1, 2], [0.1, 0.2], **kw),
    "ObjectiveHistoryDisplay": lambda cls, **kw: cls.from_predictions([3.0, 2.0], **kw),
    "PartitionAgreementDisplay": lambda cls, **kw: cls.from_predictions(
        {"a": LABELS, "b": LABELS // 2}, **kw
    ),
}


@pytest.fixture(params=plotting.__all__)
def cls(request, pyplot):
    return getattr(plotting, request.param)


def draw(cls, **style):
    return DRAWN[cls.__name__](cls, **style)


def test_a_figure_is_made_only_without_axes(cls, pyplot):
    display = draw(cls)
    assert pyplot.get_fignums() == [display.figure_.number]
    assert display.ax_.figure is display.figure_
    figure, ax = pyplot.subplots()
    before = pyplot.get_fignums()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert draw(cls, ax=ax).ax_ is ax
    assert pyplot.get_fignums() == before


def test_subfigures_are_places_too(cls, pyplot):
    figure = pyplot.figure(layout="constrained")
    left, right = figure.subfigures(1, 2)
    display = draw(cls, ax=right.subplots())
    assert display.figure_ is right
    assert not left.axes
    figure.canvas.draw()


def test_figures_without_pyplot_are_places_too(cls, tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    draw(cls, ax=figure.subplots())
    figure.savefig(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 1000


def test_constructor_keeps_its_arguments_and_draws_nothing(cls, pyplot):
    display = draw(cls)
    pyplot.close("all")
    parameters = inspect.signature(cls).parameters
    arguments = {name: getattr(display, name) for name in parameters}
    copy = cls(**arguments)
    assert all(getattr(copy, name) is value for name, value in arguments.items())
    assert set(vars(copy)) == set(parameters)
    assert pyplot.get_fignums() == []
    assert copy.plot().ax_ is not display.ax_


def test_axes_are_named(cls, pyplot):
    ax = draw(cls).ax_
    assert ax.get_xlabel()
    assert ax.get_ylabel() or cls is plotting.ClusterProfilesDisplay  # names of columns are there


def test_several_axes_are_refused(cls, pyplot):
    with pytest.raises(TypeError, match="ax is ndarray; expected matplotlib Axes"):
        draw(cls, ax=pyplot.subplots(1, 2)[1])


@pytest.mark.parametrize(
    "name", ["FeatureWeightsDisplay", "ClusterProfilesDisplay", "PartitionAgreementDisplay"]
)
def test_colors_may_have_a_scale_of_their_own(name, pyplot):
    from matplotlib.colors import LogNorm

    display = draw(getattr(plotting, name), norm=LogNorm(0.1, 2.0))
    assert display.im_.norm.vmin == 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_and_types(df_module, dtype, pyplot):
    frame = df_module.DataFrame({f"f{v}": ROWS[:, v].astype(dtype) for v in range(4)})
    piped = make_pipeline(RangeStandardizer(), AWKMeans(3, random_state=0)).fit(frame)
    plain = KMeans(3, random_state=0).fit(frame)
    for model in (piped, plain):
        assert plotting.ClusterMapDisplay.from_estimator(model, frame).points.shape == (12, 2)
        profiles = plotting.ClusterProfilesDisplay.from_estimator(model, frame)
        np.testing.assert_allclose(profiles.values[:, 0], ROWS.mean(axis=0), rtol=1e-5)
        assert list(profiles.feature_names) == ["f0", "f1", "f2", "f3"]
        weights = plotting.FeatureWeightsDisplay.from_estimator(model)
        assert weights.feature_names == ["f0", "f1", "f2", "f3"]


@pytest.mark.parametrize(
    "call",
    [
        lambda model: plotting.FeatureWeightsDisplay.from_estimator(model),
        lambda model: plotting.ClusterProfilesDisplay.from_estimator(model, ROWS),
        lambda model: plotting.ClusterMapDisplay.from_estimator(model, ROWS),
        lambda model: plotting.ObjectiveHistoryDisplay.from_estimator(model),
        lambda model: plotting.PartitionAgreementDisplay.from_estimators({"a": model, "b": model}),
    ],
)
def test_models_must_be_fitted(call):
    failed = KMeans(100)
    with pytest.raises(ValueError, match="n_clusters=100"):
        failed.fit(ROWS)
    for model in (KMeans(2), failed, make_pipeline(RangeStandardizer(), KMeans(2))):
        with pytest.raises(ValueError, match="not fitted"):
            call(model)


def test_paths_of_files_are_refused(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, ROWS)
    model = KMeans(3, random_state=0).fit(path)
    for cls in (plotting.ClusterMapDisplay, plotting.ClusterProfilesDisplay):
        with pytest.raises(TypeError, match="show rows that are in memory"):
            cls.from_estimator(model, path)
        with pytest.raises(TypeError, match="show rows that are in memory"):
            cls.from_predictions(str(path), LABELS)


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [(["a", None] * 6, "None and text"), ([1, "a"] * 6, "numbers and text")],
)
def test_labels_are_of_one_kind(labels, kinds):
    labels = np.array(labels, dtype=object)
    for cls in (plotting.ClusterMapDisplay, plotting.ClusterProfilesDisplay):
        with pytest.raises(ValueError, match=f"labels has {kinds}, which have no common order"):
            cls.from_predictions(ROWS, labels)
    with pytest.raises(ValueError, match="The partition 'a' has"):
        plotting.PartitionAgreementDisplay.from_predictions({"a": labels, "b": LABELS})
