"""Rows on a GPU as a block has them: a tensor, and buffers that its kernels use again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fwkmeans.typing import FloatArray

_PASSES = 4  # recorded passes of different sizes
_SAMPLE = 1 << 16  # rows from which the scales of columns are taken, about


class DeviceRows:
    """A float32 or float64 matrix of PyTorch on a device, used in place.

    Parameters
    ----------
    tensor : torch.Tensor of shape (n, M)
        The rows.
    """

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.n_doubtful = 0  # rows of the last pass that products left open
        self._staging: Any = None
        self._buffers: dict[str, Any] = {}
        self._outgrown: list[Any] = []  # buffers that a recorded pass may still use
        self._passes: dict[Any, tuple[Any, Any]] = {}
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._scales: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return int(self.tensor.shape[0]), int(self.tensor.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells."""
        return np.dtype(np.float32 if self.tensor.element_size() == 4 else np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def kernels(self) -> ModuleType:
        """The kernels for such rows."""
        from fwkmeans._core.device import kernels

        return kernels

    def on_device(self, array: NDArray[Any] | None) -> Any:
        """Return the copy of an array of the host on the device; it is kept while both live."""
        if array is None:
            return None
        import torch

        known = self._copies.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        tensor = torch.as_tensor(np.ascontiguousarray(array)).to(self.tensor.device)
        self._copies = {id(array): (weakref.ref(array), tensor)}
        return tensor

    def scales(self) -> Any:
        """Return a power of two for each column, about the inverse of its standard deviation.

        Any number would do for labels: with these ones, few rows leave the range of float16.
        """
        import torch

        if self._scales is None:
            some = self.tensor[:: max(1, len(self) // _SAMPLE)].to(torch.float64)
            spread = some.std(dim=0, correction=0).cpu().numpy()
            usual = (spread > 0) & np.isfinite(spread)
            exponents = np.rint(-np.log2(np.where(usual, spread, 1.0))).clip(-100, 100)
            scales = np.ldexp(np.float32(1.0), exponents.astype(np.int32))
            self._scales = torch.as_tensor(scales).to(self.tensor.device)
        return self._scales

    def buffer(self, name: str, n: int, dtype: Any) -> Any:
        """Return n cells of memory on the device, whose contents are left from the last use."""
        import torch

        kept = self._buffers.get(name)
        if kept is None or kept.numel() < n or kept.dtype != dtype:
            self._outgrown.append(kept)
            kept = torch.empty(n, dtype=dtype, device=self.tensor.device)
            self._buffers[name] = kept
        return kept[:n]

    def send(self, numbers: FloatArray, target: Any) -> None:
        """Copy numbers to float64 memory on the device.

        What was sent before must have arrived: every kernel ends by waiting for its result.
        """
        import torch

        n = numbers.size
        if self._staging is None or self._staging.numel() < n:
            pinned = self.tensor.device.type == "cuda"
            self._staging = torch.empty(n, dtype=torch.float64, pin_memory=pinned)
        self._staging[:n].numpy()[...] = numbers
        target.copy_(self._staging[:n], non_blocking=True)

    def kept(self, key: Any, weight: Any, make: Callable[[], Any]) -> Any:
        """Return what was made under a key; the last few are kept, with the weights they use."""
        if key not in self._passes:
            while len(self._passes) >= _PASSES:
                del self._passes[next(iter(self._passes))]
            self._passes[key] = (make(), weight)
        return self._passes[key][0]
