"""Values of any size: a result as exact as for ordinary ones, or a sentence that says why not."""

import numpy as np
import pytest

from fwkmeans import (
    SYNCLUS,
    AutoKMeans,
    AWKMeans,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans._core import twin
from fwkmeans._core.passes import Labeling
from fwkmeans.dissimilarities import Minkowski
from fwkmeans.exceptions import UnequalSpreadWarning
from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import Assignment, Block
from laws.configurations import FEW, REPRESENTATIVE, make_rows, name_of

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{UnequalSpreadWarning.__module__}.UnequalSpreadWarning"
)


def dispersions(model, X, p):
    """Return D of each cluster about its center, from differences."""
    parts = [np.abs(X[model.labels_ == k] - c) ** p for k, c in enumerate(model.cluster_centers_)]
    return np.stack([part.sum(axis=0) for part in parts])


@pytest.mark.parametrize("huge", [1e8, 1e12, 1e16])
@pytest.mark.parametrize(
    ("make", "p", "shared"),
    [
        (lambda: AWKMeans.as_in_survey(2, random_state=0), 2.0, False),
        (lambda: WKMeans(2, beta=2.0, guard=0, random_state=0), 2.0, True),
        (lambda: IMWKMeans.as_in_survey(2, p=2.0, smoothing=0.0), 2.0, False),
        (lambda: IMWKMeans.as_in_survey(2, p=1.5, smoothing=0.0), 1.5, False),
    ],
    ids=["AWK", "WK-Means", "iMWK-Means", "iMWK-Means, p=1.5"],
)
def test_one_huge_value_does_not_hide_the_dispersion_of_the_other_cluster(
    make, p, shared, huge, rng
):
    X = rng.standard_normal((100, 3))
    X[7, 0] = huge
    model = make().fit(X)
    large = int(np.bincount(model.labels_).argmax())
    assert (model.labels_ == large).sum() == 99
    D = dispersions(model, X, p)
    D = D.sum(axis=0) if shared else D[large]
    expected = D ** (-1.0 / (p - 1.0))
    np.testing.assert_allclose(model.feature_weights_[large], expected / expected.sum(), rtol=1e-9)


def test_equal_values_have_no_dispersion_wherever_they_are(rng):
    """A cluster whose values are equal in two columns shares its weight between them."""
    for value in (0.1, 1.0 / 3.0, 1e8 / 7.0, -1e-9 / 3.0):
        X = rng.standard_normal((60, 4))
        X[:30] += 50.0 * max(1.0, abs(value))
        X[30:, 1:3] = value
        model = AWKMeans.as_in_survey(2, init=X[[0, 45]]).fit(X)
        pure = model.feature_weights_[model.labels_[45]]
        np.testing.assert_array_equal(pure, [0.0, 0.5, 0.5, 0.0])


@pytest.mark.parametrize("configuration", FEW, ids=name_of)
def test_a_row_without_weight_may_hold_any_number(configuration, rng):
    X = make_rows(rng, 40, 4)
    weight = np.ones(41)
    weight[-1] = 0.0
    alone = configuration.estimator(3, 4, init=X[:3]).fit(X, sample_weight=weight[:-1])
    for far in (1e200, -1e307):
        rows = np.vstack([X, np.full((1, 4), far)])
        model = configuration.estimator(3, 4, init=X[:3]).fit(rows, sample_weight=weight)
        assert model.inertia_ == alone.inertia_
        np.testing.assert_array_equal(model.cluster_centers_, alone.cluster_centers_)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        assert np.isfinite(model.transform(rows)).all()


@pytest.mark.parametrize("size", [1e-145, 1e-140, 1e-135, 1e-60, 1.0])
@pytest.mark.parametrize("configuration", REPRESENTATIVE, ids=name_of)
def test_what_numpy_says_of_the_users_numbers_is_nothing_to_ours(configuration, size, rng):
    size **= 2.0 / configuration.power  # its powers are as large
    X = size * make_rows(rng, 40, 4)
    fits = []
    for settings in ({}, {"all": "raise"}):
        model = configuration.estimator(3, 4, n_init=2, random_state=0, data=size)
        with np.errstate(**settings):
            fits.append([*vars(model.fit(X)).items(), ("transform", model.transform(X))])
            assert np.isfinite([model.score(X)]).all()
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    for (name, one), (_, other) in zip(*fits, strict=True):
        if name == "transform" or (name.endswith("_") and isinstance(one, np.ndarray | float)):
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_densities_of_far_rows_underflow_silently(rng):
    X = rng.normal(size=(200, 3)) + 4.0 * rng.integers(0, 3, (200, 1))
    with np.errstate(all="raise"):
        model = AutoKMeans(3).fit(X)
        for method in (model.predict, model.transform, model.predict_proba, model.score):
            assert np.isfinite(method(X * 1e4)).all()


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 5.0, np.inf])
def test_rows_so_far_that_powers_overflow_have_distances_and_labels(p, rng):
    """They are those of rows and centers a thousand times smaller, to the bit, and of the twin."""
    X = rng.standard_normal((12, 3)) * 2.0**980
    centers = rng.standard_normal((1, 4, 3)) * 2.0**980
    weights = rng.uniform(0.1, 0.9, (1, 4, 3))
    weights[0, 1, 2] = 0.0
    _, near = distances_of(X / 2.0**980, centers / 2.0**980, weights, p)
    labels, far = distances_of(X, centers, weights, p)
    np.testing.assert_allclose(far / 2.0**980, near, rtol=1e-13)
    np.testing.assert_array_equal(labels, near.argmin(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        same, again = distances_of(X, centers, weights, p, twin)
    np.testing.assert_array_equal(same, labels)
    np.testing.assert_allclose(again, far, rtol=1e-13)


def distances_of(X, centers, weights, p, kernels=None):
    source = MemorySource(X)
    table, _ = describe(source)
    dissimilarity = Minkowski(p=p).bind(table)
    assignment = Assignment(centers, weights, np.zeros((1, len(centers[0]))), np.ones(1))
    labeling, distances = dissimilarity.labeling(assignment), dissimilarity.distances(assignment)
    if kernels is not None:
        block = Block(X, None)
        return (
            kernels.assign(block, labeling.assigning)[0],
            kernels.distances(block, distances.assigning),
        )
    assert isinstance(labeling, Labeling)
    labels = source.run(labeling)[1].gather("labels", axis=1)[0]
    return labels, source.run(distances)[1].gather("distances")


def test_distances_beyond_the_largest_number_are_refused(rng):
    X = rng.standard_normal((20, 2)).astype(np.float32)
    model = KMeans(2, random_state=0).fit(X)
    assert np.isfinite(model.transform(np.float32([[1e38, 0.0]]))).all()
    with pytest.raises(ValueError, match="Distances are too large for float32"):
        model.transform(np.float32([[3e38, 3e38]]))
    with pytest.raises(ValueError, match="sum of the dissimilarities of X overflows"):
        KMeans(2, random_state=0).fit(X.astype(float)).score([[1e200, 0.0]])


@pytest.mark.parametrize("exponent", [266, -300, 480, -470])
@pytest.mark.parametrize("centred", [False, True])
def test_synclus_does_not_depend_on_the_unit(centred, exponent, rng):
    X = make_rows(rng, 50, 4)
    usual = SYNCLUS(3, init=X[:3], centred=centred).fit(X)
    Y = np.ldexp(X, exponent)
    scaled = SYNCLUS(3, init=Y[:3], centred=centred).fit(Y)
    np.testing.assert_array_equal(scaled.feature_weights_, usual.feature_weights_)
    np.testing.assert_array_equal(scaled.objective_history_, usual.objective_history_)
    assert scaled.inertia_ == usual.inertia_


@pytest.mark.parametrize("make", [WKMeans, AWKMeans, KMeans])
def test_squares_that_lose_their_digits_are_refused(make, rng):
    X = rng.standard_normal((30, 3))
    with pytest.raises(ValueError, match="squares of columns 0, 1, 2 of X underflow"):
        make(2, random_state=0).fit(X * 1e-157)
    usual, small = (make(2, init=Y[:2]).fit(Y) for Y in (X, np.ldexp(X, -450)))
    np.testing.assert_allclose(usual.feature_weights_, small.feature_weights_, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiny_sample_weights_are_weights(dtype, rng):
    X = make_rows(rng, 40, 3).astype(dtype)
    weight = rng.uniform(0.5, 1.0, 40)
    usual = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    tiny = KMeans(3, random_state=0).fit(X, sample_weight=np.ldexp(weight, -900))
    np.testing.assert_array_equal(tiny.labels_, usual.labels_)
    assert tiny.inertia_ == np.ldexp(usual.inertia_, -900)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e10])
def test_far_from_the_origin_every_entry_of_the_history_keeps_its_digits(offset, rng):
    """Integers far from the origin lose no digit, and so neither does the first objective."""
    X = rng.integers(0, 1000, (200, 3)).astype(float)
    near, far = (KMeans(4, init=Y[:4], tol=0).fit(Y) for Y in (X, X + offset))
    error = 4e-16 * offset  # of a center
    limit = 1e-12 + 10 * (error / 100.0) ** 2
    np.testing.assert_allclose(far.objective_history_, near.objective_history_, rtol=limit)
