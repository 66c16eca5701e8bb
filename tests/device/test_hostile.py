"""Tables that are hard on products of few digits, and arrays as people have them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fwkmeans as fw
from fwkmeans._core import twin
from fwkmeans._core.device.rows import DeviceRows
from fwkmeans._support.arrays import to_host
from fwkmeans.sources import DeviceSource
from fwkmeans.typing import Block, Pass

pytestmark = pytest.mark.long


def _table(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, centers, and weights of each cluster."""
    rng = np.random.default_rng(len(name))
    shapes = {"wide": (9, 900, 3), "odd": (70, 37, 19), "many": (20, 3, 260), "one": (33, 4, 1)}
    n, m, k = shapes.get(name, (130, 5, 6))
    X = rng.normal(size=(n, m))
    weights = rng.random((k, m))
    if name == "far":
        X += 1e6
    elif name == "units":
        X *= 10.0 ** np.linspace(-8, 8, m)
    elif name == "outliers":
        X[3, 1], X[50, 0], X[51] = 1e30, -1e9, 1e5
    elif name == "constant":
        X[:, 2:] = 7.0
    elif name == "equal rows":
        X = X[np.zeros(n, dtype=int)]
    elif name == "steps":  # many rows are equally far from two centers
        X = np.rint(X)
    elif name == "one weight":
        weights = np.where(np.arange(m) == 1, 1.0, 0.0) * weights
    elif name == "tiny weights":
        weights *= 10.0 ** -np.arange(0, 3 * m, 3)
    elif name == "no weight":
        weights[:] = 0.0
    centers = X[rng.integers(0, n, k)] + (0.0 if name == "steps" else 0.3 * X.std(axis=0))
    return X, centers, weights / (2 * max(weights.max(), 1e-300))


NAMES = ["far", "units", "outliers", "constant", "equal rows", "steps", "one weight"]
NAMES += ["tiny weights", "no weight", "wide", "odd", "many", "one"]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, np.float32) for name in NAMES] + [(name, np.float64) for name in NAMES[:6]],
)
def test_labels_of_hard_tables_are_exact(name, dtype, where):
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device import kernels

    X, centers, weights = _table(name)
    X = X.astype(dtype)
    offsets = np.linspace(-0.1, 0.1, len(centers)) if name == "odd" else np.zeros(len(centers))
    given = Pass(centers[None], weights[None], offsets[None], X.mean(axis=0, dtype=np.float64))
    labels, objective = twin.assign(Block(X, None), given)
    found, same = kernels.assign(Block(DeviceRows(torch.as_tensor(X).to(where)), None), given)
    np.testing.assert_array_equal(found.cpu().numpy(), labels)
    assert same == pytest.approx(objective, rel=1e-9)


def test_few_rows_are_in_doubt(where):
    """The bound of the rounding is not so wide that products decide nothing."""
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device import kernels

    rng = np.random.default_rng(0)
    for n_clusters, most in ((4, 0.01), (20, 0.25)):  # split factors, and whole ones
        X = (1000 + rng.normal(size=(500, 8))).astype(np.float32)
        given = Pass(
            X[None, :n_clusters].astype(np.float64),
            rng.random((1, n_clusters, 8)) / 2,
            np.zeros((1, n_clusters)),
            X.mean(axis=0, dtype=np.float64),
        )
        rows = DeviceRows(torch.as_tensor(X).to(where))
        kernels.assign_and_accumulate(Block(rows, None), given, given.centers, None)
        assert rows.n_doubtful <= most * 500


def test_products_that_cannot_be_trusted_decide_nothing(where, monkeypatch):
    """With very many columns the bound does not hold: all rows are decided in float64."""
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device import kernels

    monkeypatch.setattr(kernels, "_LARGEST_ERROR", 0.0)
    X, centers, weights = _table("steps")
    X = X.astype(np.float32)[:40]
    given = Pass(centers[None], weights[None], np.zeros((1, 6)), X.mean(axis=0, dtype=np.float64))
    rows = DeviceRows(torch.as_tensor(X).to(where))
    kernels.assign_and_accumulate(Block(rows, None), given, given.centers, None)
    assert rows.n_doubtful == 40
    labels, _ = kernels.assign(Block(rows, None), given)
    np.testing.assert_array_equal(to_host(labels), twin.assign(Block(X, None), given)[0])


def _views(X: np.ndarray, where: str) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    tensor = torch.as_tensor(X).to(where)
    wide = torch.zeros((2 * len(X), 2 * X.shape[1] + 1), dtype=tensor.dtype, device=where)
    wide[::2, 1::2] = tensor
    return {
        "plain": tensor,
        "columns first": tensor.T.contiguous().T,
        "steps": wide[::2, 1::2],
        "needs a gradient": tensor.clone().requires_grad_(),
    }


@pytest.mark.filterwarnings("ignore::fwkmeans.exceptions.NotConvergedWarning")
def test_tensors_of_any_strides_and_with_gradients(where):
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0.0], [5], [9]], 20, axis=0)
    views = _views(X.astype(np.float32), where)
    fits = []
    for rows in views.values():
        centers = views["needs a gradient"][[0, 20, 40]]  # where the rows are, with a gradient
        model = fw.EWKMeans(3, init=centers, n_init=1, max_iter=1, tol=0.0)
        fits.append(model.fit(DeviceSource(rows)))
    for model in fits[1:]:
        np.testing.assert_array_equal(to_host(model.labels_), to_host(fits[0].labels_))
        assert model.inertia_ == pytest.approx(fits[0].inertia_, rel=1e-9)


def test_half_precision_is_read_exactly(where):
    torch = pytest.importorskip("torch")
    half = (
        torch.as_tensor(np.random.default_rng(0).normal(size=(40, 3))).to(torch.float16).to(where)
    )
    assert DeviceSource(half).dtype == np.float32
    np.testing.assert_array_equal(
        to_host(DeviceSource(half).rows.tensor), to_host(half).astype(np.float32)
    )


def test_many_starts_run_together(where):
    """A thousand starts on a small table are one batch; those of a huge table run one by one."""
    torch = pytest.importorskip("torch")
    from fwkmeans.estimators.plan import Plan

    rows = torch.zeros((1, 20), device=where)
    for n_rows, least, most in ((10_000, 1000, 20_000), (10**9, 1, 1)):
        source = DeviceSource(rows.expand(n_rows, 20))
        recipe = SimpleNamespace(dissimilarity=None)
        plan = Plan(source, recipe, None, 10, None, None, 1000, 10, 0.0)
        assert least <= plan.n_together <= most
