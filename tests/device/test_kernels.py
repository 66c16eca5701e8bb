"""The kernels of a device against the twin, which says what they must compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fwkmeans._core import twin
from fwkmeans._core.device.rows import DeviceRows
from fwkmeans.typing import Block, LastLabels, Pass

pytestmark = pytest.mark.long

#: rows, features, clusters, starts, whether weights are shared and rows weighted
SHAPES = [
    (1100, 5, 3, 1, False, False),
    (300, 20, 7, 2, True, True),
    (130, 70, 20, 1, False, True),
    (150, 3, 70, 1, False, False),
    (40, 1, 1, 1, True, False),
]


class Problem:
    """Random rows, centers and weights, on the host and on a device."""

    def __init__(self, shape: Any, dtype: Any, where: str, *, offset: float = 5.0) -> None:
        torch = pytest.importorskip("torch")
        n, m, k, n_starts, shared, weighted = shape
        rng = np.random.default_rng(n)
        self.X = (rng.normal(size=(n, m)) * 3 + offset).astype(dtype)
        centers = self.X[rng.integers(0, n, (n_starts, k))].astype(np.float64)
        weights = rng.random((n_starts, 1 if shared else k, m))
        offsets = 0.1 * rng.random((n_starts, k))
        self.pass_ = Pass(centers, weights / (2 * weights.max()), offsets, self.X.mean(axis=0))
        self.weight = rng.random(n) * (rng.random(n) > 0.2) if weighted else None
        self.host = Block(self.X, self.weight)
        self.device = Block(DeviceRows(torch.as_tensor(self.X).to(where)), self.weight)
        self.reference = centers + 0.1 * rng.normal(size=centers.shape)
        self.before = rng.integers(0, k, (n_starts, n)).astype(np.int32)
        self.update = np.arange(n_starts) % 2 == 0
        self.eligible = rng.random((n_starts, k)) > 0.3
        self.exact = 1e-5 if dtype == np.float32 else 1e-11


@pytest.fixture(params=SHAPES, ids=lambda shape: "x".join(map(str, shape[:4])))
def shape(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_and_labels_equal_the_twin(shape, dtype, keeps, where):
    from fwkmeans._core.device import kernels

    problem = Problem(shape, dtype, where)
    lasts = [LastLabels(problem.before.copy(), problem.update) if keeps else None for _ in "ab"]
    args = problem.pass_, problem.reference
    want = twin.assign_and_accumulate(problem.host, *args, lasts[0])
    got = kernels.assign_and_accumulate(problem.device, *args, lasts[1])
    again = [LastLabels(problem.before.copy(), problem.update) if keeps else None][0]
    same = kernels.assign_and_accumulate(problem.device, *args, again)
    np.testing.assert_array_equal(got.reference, problem.reference.astype(dtype))
    got, same = got.about(problem.reference), same.about(problem.reference)
    for name in ("mass", "rows", "fingerprint", "changed"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-12)
    for name in ("sums", "squares"):
        scale = np.abs(getattr(want, name)).max()
        difference = np.abs(getattr(got, name) - getattr(want, name)).max()
        assert difference <= problem.exact * scale
        np.testing.assert_array_equal(getattr(same, name), getattr(got, name))
    if keeps:
        np.testing.assert_array_equal(lasts[1].labels, lasts[0].labels)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_assignments_equal_the_twin(shape, dtype, where):
    from fwkmeans._core.device import kernels

    problem = Problem(shape, dtype, where)
    one = problem.pass_._replace(
        centers=problem.pass_.centers[:1],
        weights=problem.pass_.weights[:1],
        offsets=problem.pass_.offsets[:1],
    )
    labels, objective = twin.assign(problem.host, one)
    found, same = kernels.assign(problem.device, one)
    np.testing.assert_array_equal(found.cpu().numpy(), labels)
    assert same == pytest.approx(objective, rel=1e-12)
    distances = kernels.distances(problem.device, one).cpu().numpy()
    np.testing.assert_allclose(distances, twin.distances(problem.host, one), rtol=problem.exact)
    far, row = kernels.find_farthest(problem.device, problem.pass_, problem.eligible)
    want, at = twin.find_farthest(problem.host, problem.pass_, problem.eligible)
    np.testing.assert_allclose(far, want, rtol=1e-12)
    np.testing.assert_array_equal(row, at)
    moments = kernels.describe(problem.device, problem.X[0].astype(np.float64))
    for ours, theirs in zip(moments, twin.describe(problem.host, problem.X[0]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_rows_in_doubt_are_decided_exactly(where):
    """Rows on bisectors, equal centers and values far from the origin: products cannot decide."""
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device import kernels

    rng = np.random.default_rng(0)
    centers = rng.integers(-3, 4, (6, 4)).astype(np.float64)
    centers[5] = centers[0]  # the first of equal centers wins
    middle = (centers[:, None] + centers).reshape(-1, 4) / 2
    for offset in (0.0, 2.0**20):
        X = (np.concatenate([middle, centers]) + offset).astype(np.float32)
        one = Pass((centers + offset)[None], np.full((1, 6, 4), 0.5), np.zeros((1, 6)), X.mean(0))
        labels, _ = kernels.assign(Block(DeviceRows(torch.as_tensor(X).to(where)), None), one)
        np.testing.assert_array_equal(labels.cpu().numpy(), twin.assign(Block(X, None), one)[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, in the interpreter
def test_rows_without_weight_may_hold_anything(where):
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device import kernels

    X = np.array([[0.0, 1], [1, 0], [np.nan, 3], [1e30, np.inf], [9, 9]], dtype=np.float32)
    weight = np.array([1.0, 1, 0, 0, 2])
    args = Pass(X[[0, 4]][None].astype(float), np.full((1, 1, 2), 0.5), np.zeros((1, 2)), X[0])
    got = kernels.assign_and_accumulate(
        Block(DeviceRows(torch.as_tensor(X).to(where)), weight), args, args.centers, None
    )
    np.testing.assert_array_equal(got.mass, [[2.0, 2.0]])
    np.testing.assert_array_equal(got.rows, [[2, 1]])
    np.testing.assert_allclose(got.sums[0], [[1.0, -1.0], [0.0, 0.0]])
