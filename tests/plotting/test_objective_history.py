import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fwkmeans import EWKMeans, KMeans, WKMeans
from fwkmeans.plotting import ObjectiveHistoryDisplay
from fwkmeans.preprocessing import RangeStandardizer

pytestmark = pytest.mark.usefixtures("pyplot")


def test_line_holds_the_history(iris):
    model = make_pipeline(RangeStandardizer(), WKMeans(3, random_state=0)).fit(iris.data)
    display = ObjectiveHistoryDisplay.from_estimator(model)
    history = model[-1].objective_history_
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), history)
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), np.arange(len(history)) + 1)
    assert display.ax_.get_xlabel() == "iteration"
    assert display.ax_.get_ylabel() == "objective of WKMeans"


def test_several_runs_relative_to_their_first():
    display = ObjectiveHistoryDisplay.from_predictions(
        {"a": [4.0, 2.0], "b": [-2.0, -3.0, -4.0], "c": [0.0, -1.0]}, relative=True
    )
    found = [line.get_ydata().tolist() for line in display.lines_]
    assert found == [[1.0, 0.5], [-1.0, -1.5, -2.0], [0.0, -1.0]]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b", "c"]
    looks = {(line.get_color(), line.get_marker()) for line in display.lines_}
    assert len(looks) == 3


def test_one_iteration_and_rounding_do_not_fill_the_picture(rows):
    display = ObjectiveHistoryDisplay.from_predictions([5.0])
    assert display.lines_[0].get_xdata().tolist() == [1]
    display = ObjectiveHistoryDisplay.from_estimator(KMeans(1).fit(rows))
    low, high = display.ax_.get_ylim()
    assert high - low > 0.01 * abs(high)


def test_own_axes_name_and_style(rows, pyplot):
    figure, ax = pyplot.subplots()
    model = EWKMeans(2, random_state=0).fit(rows)
    display = ObjectiveHistoryDisplay.from_estimator(model, name="mine", ax=ax, c="red")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.lines_[0].get_color() == "red"
    assert display.lines_[0].get_label() == "mine"
    assert pyplot.get_fignums() == [figure.number]


@pytest.mark.parametrize("histories", [{}, {"a": []}, [[1.0], [2.0]], 3.0])
def test_bad_histories_get_a_sentence(histories):
    with pytest.raises(ValueError, match=r"empty|expected \(n_iter,\)"):
        ObjectiveHistoryDisplay.from_predictions(histories)


def test_a_second_display_joins_the_first(pyplot):
    ax = pyplot.subplots()[1]
    first = ObjectiveHistoryDisplay.from_predictions({"KMeans": [3.0, 2.0]}, ax=ax)
    assert ax.get_ylabel() == "objective of KMeans"
    assert ax.get_legend() is None
    second = ObjectiveHistoryDisplay.from_predictions({"WKMeans": [2.0, 1.0]}, ax=ax)
    assert ax.get_ylabel() == "objective"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["KMeans", "WKMeans"]
    assert first.lines_[0].get_color() != second.lines_[0].get_color()
