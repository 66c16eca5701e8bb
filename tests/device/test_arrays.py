"""Arrays of other libraries go in and come out as what they were."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn import config_context

from fwkmeans import KMeans
from fwkmeans._support.arrays import is_on_device, like, to_host


def test_arrays_of_numpy_stay():
    X = np.eye(3)
    assert not is_on_device(X)
    assert like(X, [1]) is X
    assert to_host(X) is X


@pytest.mark.skipif(os.environ.get("SCIPY_ARRAY_API") != "1", reason="SciPy wants it set")
def test_tensors_of_the_host_follow_the_array_api_setting():
    torch = pytest.importorskip("torch")
    X = torch.arange(12.0).reshape(6, 2)
    assert isinstance(KMeans(2, random_state=0).fit(X).labels_, np.ndarray)
    with config_context(array_api_dispatch=True):
        model = KMeans(2, random_state=0).fit(X)
        assert isinstance(model.labels_, torch.Tensor)
        assert isinstance(model.cluster_centers_, torch.Tensor)
        assert isinstance(model.predict(X), torch.Tensor)
    assert (to_host(model.labels_) == model.predict(X.numpy())).all()
