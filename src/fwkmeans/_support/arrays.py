"""Arrays of other libraries: on a GPU or not, recognized without importing anything."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwkmeans._support.optional import require


def _is_tensor(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _is_cupy(array: Any) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def is_dask(collection: Any) -> bool:
    """Tell whether this is a collection of Dask, whose cells are computed later and elsewhere."""
    base = sys.modules.get("dask.base")
    return base is not None and bool(base.is_dask_collection(collection))


def is_foreign(array: Any) -> bool:
    """Tell whether an array is one of PyTorch or CuPy, wherever it is."""
    return type(array) is not np.ndarray and (_is_tensor(array) or _is_cupy(array))


def is_on_device(array: Any) -> bool:
    """Tell whether an array of PyTorch or CuPy is in the memory of a device."""
    return is_foreign(array) and (_is_cupy(array) or array.device.type != "cpu")


def to_host(array: Any) -> NDArray[Any]:
    """Return an array of any library as one of NumPy."""
    if type(array) is np.ndarray:
        return array
    if _is_tensor(array):
        return np.asarray(array.detach().cpu().numpy())
    return np.asarray(array.get() if _is_cupy(array) else array)


def as_tensor(array: Any, device: Any = None) -> Any:
    """Return an array as a tensor of PyTorch, without a copy if it is where it should be."""
    torch = require("torch", "Rows on a device", "gpu")
    if _is_cupy(array):
        array = torch.from_dlpack(array)
    tensor = torch.as_tensor(array)
    return tensor.detach() if device is None else tensor.detach().to(device)


def like(array: Any, example: Any) -> Any:
    """Return an array of NumPy or PyTorch in the library, and on the device, of another array.

    Arrays in the memory of the host stay with NumPy, unless scikit-learn's
    ``array_api_dispatch`` is set. What is made of a Dask collection stays as it is.
    """
    if is_dask(example):
        return array
    if _is_cupy(example):
        import cupy

        if isinstance(array, np.ndarray):
            return cupy.asarray(array)
        return cupy.from_dlpack(array.contiguous())
    if is_on_device(example) or (_is_tensor(example) and _dispatches()):
        return as_tensor(array, example.device)
    return to_host(array)


def _dispatches() -> bool:
    from sklearn import get_config

    return bool(get_config()["array_api_dispatch"])
