"""A weight rule of one's own, and what is said if it lacks something."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from fwkmeans import EWKMeans, FeatureWeightedKMeans, FGKMeans, WKMeans
from fwkmeans.typing import Weights
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    GroupEntropyWeights,
    SharedPowerWeights,
    WeightRule,
)
from laws.configurations import make_rows, some_rows


class Inverse(WeightRule):
    """Weights inverse to the dispersion."""

    def __init__(self, floor=1e-9):
        self.floor = floor

    def update(self, dispersion, context):
        weights = context.table.varying / (dispersion + self.floor)
        return weights / weights.sum(axis=-1, keepdims=True)


class Patient(WeightRule):
    """Weights that follow the mean of all dispersions so far."""

    monotone = False

    def update(self, dispersion, context):
        memory = context.previous.memory
        n = memory.get("n", np.zeros((len(dispersion), 1, 1))) + 1
        mean = memory.get("mean", np.zeros_like(dispersion))
        mean = mean + (dispersion - mean) / n
        weights = 1 / (mean + 1e-9)
        weights /= weights.sum(axis=-1, keepdims=True)
        return Weights(weights, {"n": n, "mean": mean})


class Broken(WeightRule):
    def update(self, dispersion, context):
        return np.full_like(dispersion, np.nan)


class Duck:
    """Not derived from anything."""

    shared = False
    monotone = True

    def update(self, dispersion, context):
        return np.ones_like(dispersion)


def test_a_rule_with_only_update(rng, source, dtype):
    X = make_rows(rng, 80, 4).astype(dtype)
    centers = some_rows(rng, X, 3).astype(np.float64)
    model = FeatureWeightedKMeans(3, weighting=Inverse(), init=centers, max_iter=1)
    model.fit(source(X))
    labels = ((X[:, None].astype(float) - centers) ** 2).sum(axis=-1).argmin(axis=1)
    D = np.stack([((X[labels == k] - X[labels == k].mean(0)) ** 2).sum(0) for k in range(3)])
    expected = (1 / D) / (1 / D).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.feature_weights_, expected, rtol=1e-4)
    model.set_params(max_iter=100).fit(source(X))
    np.testing.assert_allclose(model.feature_weights_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_rule_with_memory_in_batches(rng):
    X = make_rows(rng, 80, 4)
    model = FeatureWeightedKMeans(3, weighting=Patient(), n_init=6, random_state=0, max_iter=50)
    model.fit(X)
    assert np.all(np.isfinite(model.feature_weights_))
    alone = clone(model).set_params(n_init=1).fit(X)
    assert model.objective_history_[-1] <= alone.objective_history_[-1]


def test_a_rule_with_memory_and_relocation(rng):
    X = make_rows(rng, 80, 4)
    centers = np.repeat(X[:1], 4, axis=0)
    model = FeatureWeightedKMeans(4, weighting=Patient(), init=centers, max_iter=50).fit(X)
    assert len(np.unique(model.labels_)) == 4


def test_rules_have_parameters(rng):
    X = make_rows(rng, 60, 4)
    model = FeatureWeightedKMeans(3, weighting=Inverse(), random_state=0)
    assert model.get_params()["weighting__floor"] == 1e-9
    a = clone(model).set_params(weighting__floor=1e9).fit(X)
    np.testing.assert_allclose(a.feature_weights_, 0.25, atol=1e-6)
    assert model.weighting.floor == 1e-9


def test_a_rule_that_returns_nan_is_told_so(rng):
    X = make_rows(rng, 40, 4)
    with pytest.raises(ValueError, match=r"Broken\(\) returned weights.*not a number"):
        FeatureWeightedKMeans(2, weighting=Broken()).fit(X)


def test_missing_methods_are_named(rng):
    X = make_rows(rng, 40, 4)
    with pytest.raises(
        TypeError, match=r"cannot be used as weighting.*no bind, effective.*observe"
    ) as e:
        FeatureWeightedKMeans(2, weighting=Duck()).fit(X)
    assert "WeightRule" in str(e.value)
    with pytest.raises(TypeError, match=r"cannot be used as dissimilarity.*labeling"):
        FeatureWeightedKMeans(2, dissimilarity=Duck()).fit(X)
    with pytest.raises(TypeError, match=r"cannot be used as center.*operations"):
        FeatureWeightedKMeans(2, center=Duck()).fit(X)


def test_a_class_instead_of_an_instance_is_named(rng):
    with pytest.raises(TypeError, match="Inverse is a class; give an instance"):
        FeatureWeightedKMeans(2, weighting=Inverse).fit(make_rows(rng, 40, 4))


def test_a_center_rule_that_needs_more_than_is_collected(rng):
    class Median(BaseEstimator):
        operations = ("median",)
        is_mean = unique = False

        def bind(self, table):
            return self

        def take(self, starts):
            return self

        def minimizes(self, dissimilarity):
            return False

        def update(self, statistics, assignment, source):
            raise AssertionError

    with pytest.raises(TypeError, match=r"Median\(\) needs the labels of the rows \(median\)"):
        FeatureWeightedKMeans(2, center=Median()).fit(make_rows(rng, 40, 4))


BAD_VALUES = [
    ("AWK", {"beta": 0.5}, r"beta=0\.5: expected a number <= 0 or >= 1"),
    ("AWK", {"beta": np.nan}, "beta=nan: expected"),
    ("AWK", {"beta": np.inf}, "beta=inf: expected"),
    ("AWK", {"smoothing": -1.0}, r"smoothing=-1\.0: expected .* or a number >= 0"),
    ("AWK", {"smoothing": "frosen"}, "smoothing='frosen': expected 'frozen', 'refresh', 'inside'"),
    ("WK-Means", {"beta": 0.999}, "Between 0 and 1 the formula .* maximizes"),
    ("WK-Means", {"weights": "local"}, "weights='local': expected 'global' or 'cluster'"),
    ("WK-Means", {"weights": "cluster", "smoothing": -0.1}, "smoothing=-0.1: expected"),
    ("WK-Means", {"weights": "cluster", "beta": 0.1}, "beta=0.1: expected"),
    ("EW-KM", {"gamma": -1}, "gamma=-1: expected 'auto' or a number >= 0"),
    ("EW-KM", {"dispersion": "median"}, "dispersion='median': expected 'sum' or 'mean'"),
    ("FG-K-Means", {"lam": -0.5}, "lam=-0.5: expected 'auto' or a number >= 0"),
    ("FG-K-Means", {"eta": -0.5}, "eta=-0.5: expected 'auto' or a number >= 0"),
    ("FG-K-Means", {"eta": np.nan}, "eta=nan: expected"),
]


@pytest.mark.parametrize(("algorithm", "parameters", "message"), BAD_VALUES, ids=str)
def test_values_the_specification_rejects(algorithm, parameters, message, rng):
    from fwkmeans.estimators import ALGORITHMS

    model = ALGORITHMS[algorithm](2, **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(make_rows(rng, 30, 4))


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("AWK", {"beta": "two"}),
        ("AWK", {"beta": None}),
        ("EW-KM", {"gamma": "automatic"}),
        ("EW-KM", {"gamma": None}),
        ("FG-K-Means", {"lam": "big"}),
        ("FG-K-Means", {"eta": {}}),
    ],
    ids=str,
)
def test_values_that_are_no_numbers_are_named(algorithm, parameters, rng):
    from fwkmeans.estimators import ALGORITHMS

    model = ALGORITHMS[algorithm](2, **parameters)
    (name,) = parameters
    with pytest.raises((TypeError, ValueError), match=f"{name}=.*expected"):
        model.fit(make_rows(rng, 30, 4))


def test_an_ignored_smoothing_does_not_matter(rng):
    """Global weights have no constant."""
    from fwkmeans import WKMeans

    X = make_rows(rng, 40, 4)
    a = WKMeans(2, smoothing=3.0, random_state=0).fit(X)
    b = WKMeans(2, random_state=0).fit(X)
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)


def test_bound_values_are_public(rng):
    X = make_rows(rng, 40, 4)
    scatter = ((X - X.mean(0)) ** 2).sum()
    assert EWKMeans(2, dispersion="sum").fit(X).gamma_ == pytest.approx(scatter / 8)
    assert EWKMeans(2, gamma=3).fit(X).gamma_ == 3
    assert ClusterPowerWeights().monotone
    assert not ClusterPowerWeights(smoothing="refresh").monotone


class Given(WeightRule):
    """Returns what a function makes of the dispersion."""

    def __init__(self, make=None, shared=False):
        self.make = make
        self.shared = shared

    def update(self, dispersion, context):
        return self.make(dispersion, context)


def normalized(values):
    return values / values.sum(axis=-1, keepdims=True)


def in_place(dispersion, context):
    dispersion += 1.0
    return normalized(dispersion)


@pytest.mark.parametrize(
    ("make", "shared", "error", "message"),
    [
        (lambda d, c: normalized(1 / (d + 0.1)), True, ValueError, "returned different ones"),
        (lambda d, c: np.zeros_like(d), False, ValueError, "without any positive weight"),
        (lambda d, c: d + 1j, False, TypeError, "type complex128"),
        (lambda d, c: d[..., :1], False, ValueError, "returned weights of shape"),
        (lambda d, c: Weights(d, {"x": np.ones(7)}), False, ValueError, "first axis is not"),
        (in_place, False, ValueError, "read-only"),
    ],
)
def test_rules_that_break_their_promise_are_told_so(rng, make, shared, error, message):
    X = rng.random((40, 3))
    with pytest.raises(error, match=message):
        FeatureWeightedKMeans(2, weighting=Given(make, shared), random_state=0).fit(X)


def test_a_fitted_model_does_not_change_with_its_part(rng):
    X = rng.random((80, 3))
    rule = SharedPowerWeights(2.0)
    model = FeatureWeightedKMeans(3, weighting=rule, random_state=0).fit(X)
    before = model.score(X), model.transform(X)
    FeatureWeightedKMeans(3, weighting=rule, random_state=0).set_params(weighting__beta=8.0).fit(X)
    model.set_params(weighting__beta=5.0)
    assert model.score(X) == before[0] == -model.inertia_
    np.testing.assert_array_equal(model.transform(X), before[1])


@pytest.mark.parametrize("groups", [[0, 0], [0.5, 1.0, 0.0], [[0, 1, 1]]])
def test_groups_of_the_rule_are_checked(rng, groups):
    rule = GroupEntropyWeights(groups=np.asarray(groups))
    with pytest.raises(ValueError, match="expected one integer for each of the 3 features"):
        FeatureWeightedKMeans(2, weighting=rule).fit(rng.random((30, 3)))


@pytest.mark.parametrize(("odd", "plain"), [([1, 1, 1], [0, 0, 0]), ([-1, 0, 5], [0, 1, 2])])
def test_groups_of_the_rule_are_numbered_anew(rng, odd, plain):
    X = rng.random((60, 3))
    a, b = (
        FeatureWeightedKMeans(
            2, weighting=GroupEntropyWeights(groups=np.asarray(groups)), init=X[:2]
        ).fit(X)
        for groups in (odd, plain)
    )
    np.testing.assert_array_equal(a.feature_weights_, b.feature_weights_)
    assert a.inertia_ == b.inertia_


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [
        (EWKMeans, {"gamma": np.array([1.0, 2.0, 3.0])}),
        (EWKMeans, {"gamma": "1.5"}),
        (WKMeans, {"beta": [2.0, 3.0, 4.0]}),
        (WKMeans, {"beta": "2"}),
        (FGKMeans, {"lam": (1, 2, 3)}),
    ],
)
def test_parameters_are_numbers_and_nothing_like_them(rng, estimator, parameter):
    with pytest.raises(TypeError, match=r"got (gamma|beta|lam)=.*: expected .*a number"):
        estimator(2, **parameter).fit(rng.random((30, 3)))


class Counting(WeightRule):
    """Remembers one number a start, which no cluster owns."""

    def initial(self, n_starts, n_clusters, table):
        return Weights(
            super().initial(n_starts, n_clusters, table).values, {"n": np.zeros(n_starts)}
        )

    def update(self, dispersion, context):
        return Weights(normalized(1 / (dispersion + 0.1)), {"n": context.previous.memory["n"] + 1})


def test_memory_of_any_shape_survives_a_relocation(rng):
    X = rng.random((60, 3))
    init = np.r_[X[:2], X[:2] + 50.0]
    model = FeatureWeightedKMeans(4, weighting=Counting(), init=init).fit(X)
    assert len(np.unique(model.labels_)) == 4
    assert model._memory["n"][0] == model.n_iter_


class OneRow(WeightRule):
    """Shared weights as one row, the way keepdims leaves them."""

    shared = True

    def update(self, dispersion, context):
        return normalized(1 / (dispersion.sum(axis=-2, keepdims=True) + 0.1))


def test_shared_weights_may_be_one_row(rng):
    model = FeatureWeightedKMeans(3, weighting=OneRow(), random_state=0).fit(rng.random((50, 4)))
    assert np.all(model.feature_weights_ == model.feature_weights_[0])


def test_one_value_a_start_is_for_the_engine(rng):
    rule = EntropyWeights(gamma=np.ones((3, 1, 1)))
    with pytest.raises(ValueError, match=r"one value for each start; an estimator takes a number"):
        FeatureWeightedKMeans(2, weighting=rule, n_init=3).fit(rng.random((30, 3)))
