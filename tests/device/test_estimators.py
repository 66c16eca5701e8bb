"""Fits on a device equal those on the host."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fwkmeans as fw
from fwkmeans.persistence import load_model, save_model
from fwkmeans.sources import DeviceSource, MemorySource, StreamedSource

pytestmark = pytest.mark.long
GROUPS = [[0, 1], [2, 3]]
MODELS = [
    fw.KMeans(3),
    fw.EWKMeans(3),
    fw.WKMeans(3),
    fw.WKMeans(3, weights="cluster"),
    fw.AWKMeans(3),
    fw.IMWKMeans(3, p=2),
    fw.FGKMeans(3, groups=GROUPS),
    fw.SYNCLUS(3, groups=GROUPS),
    fw.ConvexKMeans(3, spaces=GROUPS),
]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 4)) + at for at in (0, 4, 8)])
    X[:, 3] = rng.normal(size=60)
    return X


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_fits_equal_those_on_the_host(model, rows, where):
    known = {"random_state": 0, "n_init": 1, "max_iter": 5}
    model.set_params(**{k: v for k, v in known.items() if k in model.get_params()})
    weight = np.random.default_rng(1).random(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        host = model.fit(rows, sample_weight=weight)
        want = host.labels_, host.cluster_centers_, host.feature_weights_, host.inertia_
        device = model.fit(rows, sample_weight=weight, device=where)
    assert isinstance(device.labels_, np.ndarray)  # as X
    np.testing.assert_array_equal(device.labels_, want[0])
    np.testing.assert_allclose(device.cluster_centers_, want[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(device.feature_weights_, want[2], rtol=1e-9, atol=1e-12)
    assert device.inertia_ == pytest.approx(want[3], rel=1e-9)


def test_a_source_on_a_device_and_one_that_streams(rows, where, tmp_path):
    torch = pytest.importorskip("torch")
    model = fw.EWKMeans(3, random_state=0, n_init=1, max_iter=4, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = fw.EWKMeans(**model.get_params()).fit(DeviceSource(torch.as_tensor(rows).to(where)))
        blocks = StreamedSource(MemorySource(rows), where, block_bytes=32 * 25)
        assert blocks.n_blocks == 3
        model.fit(blocks)
    np.testing.assert_array_equal(model.labels_, np.asarray(torch.as_tensor(whole.labels_).cpu()))
    assert model.inertia_ == pytest.approx(whole.inertia_, rel=1e-9)
    assert -model.score(blocks) == pytest.approx(model.inertia_, rel=1e-12)
    distances = model.transform(rows, device=where)
    np.testing.assert_allclose(distances, model.transform(rows), rtol=1e-9)
    save_model(whole, tmp_path / "model.fwk")
    again = load_model(tmp_path / "model.fwk")
    np.testing.assert_array_equal(again.predict(rows), model.labels_)


def test_what_a_device_cannot_do_is_said(rows, where):
    with pytest.raises(TypeError, match="AutoKMeans cannot use rows on a device"):
        fw.AutoKMeans(3).fit(rows, device=where)
    with pytest.raises(TypeError, match=r"needs .* of the rows, which DeviceSource cannot give"):
        fw.IMWKMeans(3, p=1.5).fit(rows, device=where)
    missing = rows.copy()
    missing[0, 0] = np.nan
    with pytest.raises(ValueError, match="Rows on a device need every cell"):
        fw.EWKMeans(2, missing="ignore").fit(missing, device=where)
    with pytest.raises(TypeError, match="meta"):
        fw.KMeans(2).fit(rows, device="meta")


def test_k_means_plus_plus_takes_rows_far_apart(where):
    torch = pytest.importorskip("torch")
    from fwkmeans._core.device.rows import DeviceRows
    from fwkmeans._core.device.seeding import n_uniform, spread_rows

    X = np.repeat(np.arange(4.0)[:, None] * 100, 50, axis=0) + np.arange(200)[:, None] / 1000
    rows = DeviceRows(torch.as_tensor(X).to(where))
    for seed in range(3):
        uniform = np.random.default_rng(seed).random(n_uniform(4))
        chosen = spread_rows(rows, None, 4, uniform)
        assert sorted(chosen // 50) == [0, 1, 2, 3]
    weight = np.zeros(200)
    weight[[0, 60, 120, 180]] = 1
    assert set(spread_rows(rows, weight, 4, uniform)) == {0, 60, 120, 180}
