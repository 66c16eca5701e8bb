import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, KMeans, WKMeans
from fwkmeans.plotting import PartitionAgreementDisplay
from fwkmeans.preprocessing import RangeStandardizer

pytestmark = pytest.mark.usefixtures("pyplot")


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_matrix_holds_the_index_of_each_pair(rows, iris):
    models = {
        "plain": KMeans(3, random_state=0).fit(rows),
        "AWK": AWKMeans(3, random_state=0).fit(rows),
        "piped": make_pipeline(RangeStandardizer(), WKMeans(2, random_state=0)).fit(iris.data),
    }
    display = PartitionAgreementDisplay.from_estimators(models)
    labels = [models["plain"].labels_, models["AWK"].labels_, models["piped"][-1].labels_]
    for i in range(3):
        for j in range(3):
            expected = adjusted_rand_score(labels[i], labels[j])
            assert display.im_.get_array()[i, j] == pytest.approx(expected)
    assert ticks(display.ax_.xaxis) == ticks(display.ax_.yaxis) == list(models)
    assert display.counts is None
    shown = [text.get_text() for text in display.text_.flat]
    assert shown == [f"{a:.2f}" for a in display.agreement.flat]


def test_new_rows_are_predicted(rows):
    models = {"a": KMeans(2, random_state=0).fit(rows), "b": KMeans(3, random_state=0).fit(rows)}
    display = PartitionAgreementDisplay.from_estimators(models, rows[:40])
    assert display.counts.sum() == 40


def test_two_partitions_are_counted_and_matched():
    first = np.asarray(["x", "x", "x", "y", "y", "z", "z", "z"])
    second = np.asarray([5, 5, 7, 7, 7, 6, 6, 6])
    display = PartitionAgreementDisplay.from_predictions({"one": first, "two": second})
    rows, columns = display.clusters
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            together = sum((first == a) & (second == b))
            assert display.im_.get_array()[i, j] == together
    assert columns == [5, 7, 6]  # so that the diagonal is as full as can be
    assert display.ax_.get_ylabel() == "one"
    assert display.ax_.get_xlabel() == "two"
    assert f"{adjusted_rand_score(first, second):.2f}" in display.ax_.get_title()
    display.plot(kind="agreement")
    assert display.im_.get_array().shape == (2, 2)


@pytest.mark.parametrize(("n_first", "n_second"), [(1, 4), (4, 1), (2, 5), (5, 2), (1, 1)])
def test_partitions_of_different_size(rng, n_first, n_second):
    first, second = rng.integers(n_first, size=60), rng.integers(n_second, size=60)
    display = PartitionAgreementDisplay.from_predictions({"a": first, "b": second})
    rows, columns = display.clusters
    assert sorted(columns) == np.unique(second).tolist()
    counts = [[sum((first == a) & (second == b)) for b in columns] for a in rows]
    np.testing.assert_array_equal(display.counts, counts)


def test_own_axes(pyplot):
    figure, ax = pyplot.subplots()
    display = PartitionAgreementDisplay.from_predictions({"a": [0, 1], "b": [1, 0]}, ax=ax)
    assert display.ax_ is ax
    assert pyplot.get_fignums() == [figure.number]


def test_bad_input_gets_a_sentence(rows):
    show = PartitionAgreementDisplay.from_predictions
    with pytest.raises(TypeError, match="partitions is list; expected a dict"):
        show([[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="at least two"):
        show({"a": [0, 1]})
    with pytest.raises(ValueError, match="different numbers of rows: 'a' 2, 'b' 3"):
        show({"a": [0, 1], "b": [0, 1, 2]})
    with pytest.raises(ValueError, match=r"The partition 'b' has shape \(1, 2\)"):
        show({"a": [0, 1], "b": [[0, 1]]})
    with pytest.raises(ValueError, match="kind='pie'"):
        show({"a": [0, 1], "b": [0, 1]}, kind="pie")
    with pytest.raises(ValueError, match="shows two partitions; there are 3"):
        show({"a": [0, 1], "b": [0, 1], "c": [0, 1]}, kind="contingency")
    with pytest.raises(TypeError, match="expected a dict with the name of each fitted model"):
        PartitionAgreementDisplay.from_estimators(KMeans(2).fit(rows))


def test_a_model_is_compared_with_classes(iris, rows):
    model = KMeans(3, random_state=0).fit(rows)
    display = PartitionAgreementDisplay.from_estimator(model, rows, iris.target, y_name="species")
    assert display.names == ["species", "KMeans"]
    assert display.counts.sum() == 150
    assert display.agreement[0, 1] == pytest.approx(adjusted_rand_score(iris.target, model.labels_))
    again = PartitionAgreementDisplay.from_estimator(model, None, iris.target)
    np.testing.assert_array_equal(again.counts, display.counts)
    with pytest.raises(ValueError, match="y has 3 labels for 150 rows"):
        PartitionAgreementDisplay.from_estimator(model, rows, [0, 1, 2])
    with pytest.raises(ValueError, match="name and y_name are both 'a'"):
        PartitionAgreementDisplay.from_estimator(model, rows, iris.target, name="a", y_name="a")
