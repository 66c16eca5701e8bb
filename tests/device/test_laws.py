"""The laws of all algorithms on a device, where the whole loop runs there."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import fwkmeans as fw
from fwkmeans.sources import DeviceSource

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::UserWarning"),  # five iterations, and a single column
]
#: every kind of rule that the device knows
MODELS = {
    "KMeans": fw.KMeans(4),
    "EW-KM": fw.EWKMeans(4, dispersion="sum"),
    "EW-KM, mean": fw.EWKMeans(4, dispersion="mean"),
    "EW-KM, vertex": fw.EWKMeans(4, gamma=0.0),
    "WK-Means": fw.WKMeans(4, weights="global", guard=0.0),
    "WK-Means, negative": fw.WKMeans(4, weights="global", beta=-2.0, guard=0.0),
    "WK-Means, vertex": fw.WKMeans(4, weights="global", beta=1.0, guard=0.0),
    "AWK": fw.AWKMeans(4, guard=0.0, smoothing=0.0),
    "AWK, frozen": fw.AWKMeans(4, guard=0.0, smoothing="frozen"),
    "AWK, inside": fw.AWKMeans(4, guard=0.0, smoothing="inside"),
    "WK-Means, guarded": fw.WKMeans(4, weights="global", guard=0.5),
    "AWK, guarded": fw.AWKMeans(4, guard=0.5, smoothing="frozen"),
}
FEW = ["EW-KM", "WK-Means", "AWK, frozen"]


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(30, 4)) + at for at in (0, 2, 4)])
    rows[:, 3] = rng.normal(size=90)
    return rows


def starts_of(X: np.ndarray) -> np.ndarray:
    return X[[0, 5, 40, 70]]


@pytest.fixture
def looped(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return how the loops on the device ended."""
    from fwkmeans._core.device import loop

    ended: list[Any] = []
    alternate = loop.alternate

    def listened(*args: Any, **options: Any) -> Any:
        ended.append(alternate(*args, **options))
        return ended[-1]

    monkeypatch.setattr(loop, "alternate", listened)
    return ended


def fitted(name: str, X: Any, weight: Any = None, where: str | None = None, **parameters: Any):
    model = copy.deepcopy(MODELS[name])
    known = {"n_init": 1, "max_iter": 5, "random_state": 0} | parameters
    if "init" not in known:
        known["init"] = starts_of(X)
    model.set_params(**{k: v for k, v in known.items() if k in model.get_params()})
    return model.fit(X, sample_weight=weight, device=where)


def assert_alike(a: Any, b: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.feature_weights_, b.feature_weights_, rtol=rtol, atol=rtol)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=rtol)


@pytest.mark.parametrize("name", MODELS)
def test_the_loop_on_the_device_equals_that_of_the_host(name, X, where, looped, monkeypatch):
    """With sums of rows that change, weights, and laws that need no second fit."""

    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 0)
    weight = np.random.default_rng(1).integers(0, 4, 90).astype(float)
    host, device = (fitted(name, X, weight, at, tol=0.0) for at in (None, where))
    assert len(looped) == 1
    assert not looped[0].given_up.any()
    assert_alike(device, host)
    assert device.n_iter_ == host.n_iter_
    np.testing.assert_allclose(device.objective_history_, host.objective_history_, rtol=1e-9)
    scale = np.abs(device.objective_history_[1:])
    assert (np.diff(device.objective_history_) <= 1e-12 * scale).all()
    np.testing.assert_allclose(device.feature_weights_.sum(axis=1), 1.0)
    assert (device.feature_weights_ >= 0).all()
    np.testing.assert_array_equal(device.predict(X, device=where), device.labels_)


@pytest.mark.parametrize("name", FEW)
def test_weights_of_rows_count_like_repeated_rows(name, X, where):
    weight = np.random.default_rng(2).integers(0, 3, 90)
    weight[[0, 5, 40, 70]] = 1
    parameters = {"init": starts_of(X)}
    weighted = fitted(name, X, weight.astype(float), where, **parameters)
    repeated = fitted(name, np.repeat(X, weight, axis=0), None, where, **parameters)
    weighted.labels_ = np.repeat(weighted.labels_, weight)
    assert_alike(weighted, repeated)
    assert weighted.n_iter_ == repeated.n_iter_


@pytest.mark.parametrize("name", FEW)
def test_the_order_of_rows_and_columns_does_not_matter(name, X, where):
    rows, columns = np.random.default_rng(3).permutation(90), np.array([2, 0, 3, 1])
    a = fitted(name, X, None, where)
    b = fitted(name, X[rows][:, columns], None, where, init=starts_of(X)[:, columns])
    np.testing.assert_array_equal(a.labels_[rows], b.labels_)
    np.testing.assert_allclose(a.feature_weights_[:, columns], b.feature_weights_, rtol=1e-9)


@pytest.mark.parametrize("name", FEW)
def test_two_runs_and_a_batch_of_starts_give_the_same_bits(name, X, where, looped):
    X = X.astype(np.float32)
    batch = fitted(name, X, None, where, init="random", n_init=3, max_iter=3)
    again = fitted(name, X, None, where, init="random", n_init=3, max_iter=3)
    np.testing.assert_array_equal(batch.cluster_centers_, again.cluster_centers_)
    np.testing.assert_array_equal(batch.feature_weights_, again.feature_weights_)
    assert batch.inertia_ == again.inertia_
    single = fitted(name, X, None, where, init="random", n_init=1, max_iter=3)
    first = looped[0].history[0, : single.n_iter_]
    np.testing.assert_array_equal(first, single.objective_history_)


@pytest.mark.parametrize("name", ["EW-KM", "WK-Means"])
def test_an_empty_cluster_moves_to_the_row_that_is_farthest(name, X, where, looped):
    far = np.vstack([starts_of(X)[:2], [[1e3] * 4] * 2])
    host, device = (fitted(name, X, None, at, init=far) for at in (None, where))
    assert not looped[0].given_up.any()
    assert_alike(device, host)
    assert np.unique(device.labels_).size == 4
    twins = np.repeat(np.eye(2, 4), 5, axis=0)  # only two different rows: clusters stay empty
    host, device = (fitted(name, twins, None, at, init=far) for at in (None, where))
    np.testing.assert_array_equal(device.labels_, host.labels_)
    assert device.inertia_ == pytest.approx(host.inertia_, abs=1e-12)


def test_rows_far_from_the_origin_keep_their_digits(X, where):
    """Centers move far from their references, so sums cancel and are taken again."""
    rows = X * [1, 1e-6, 1e3, 1] + [0, 1e3, 1e6, -1e5]
    rows[60:, 1] += 1
    host, device = (fitted("AWK", rows, None, at, init=rows[[0, 1, 2, 80]]) for at in (None, where))
    np.testing.assert_array_equal(device.labels_, host.labels_)
    np.testing.assert_allclose(device.feature_weights_, host.feature_weights_, rtol=1e-6)


def test_sums_that_overflow_end_as_on_the_host(where, looped):
    X = np.array([[0.0, 1], [1, 0], [2, 2], [1e200, -1e200]])
    for at in (None, where):
        with pytest.raises(ValueError, match=r"overflow|too large|infin"):
            fw.EWKMeans(2, init=X[:2], n_init=1).fit(X, device=at)


def test_limits_of_the_device_are_known(X, where):
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device.kernels import DevicePass

    source = DeviceSource(torch.as_tensor(X).to(where))
    assert "alternate" in source.operations
    wide = DeviceSource(torch.zeros((2, 5000), device=where))
    assert "alternate" not in wide.operations  # the host computes the weights of so many columns
    with pytest.raises(ValueError, match="46341 clusters: rows on a device can have up to 46340"):
        DevicePass(*source.blocks(), 1, 46341, shared=True)
