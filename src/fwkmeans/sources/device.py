"""Rows on a GPU, and rows of the host that pass through it block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from fwkmeans._core.device.rows import DeviceRows
from fwkmeans._support.arrays import as_tensor, to_host
from fwkmeans._support.optional import require
from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.sources.base import BlockSource
from fwkmeans.typing import Block, FloatArray, Part, Reduction, RowArray, RowMemory

#: What the kernels of rows on a device offer.
OPERATIONS = frozenset(
    {
        "assign",
        "assign_and_accumulate",
        "cross_products",
        "describe",
        "distances",
        "find_farthest",
        "take_rows",
    }
)
_WIDEST = 4096  # columns up to which the device runs the whole loop
_SHARE = 0.7  # of the free memory of a device that rows may take as a whole


class DeviceSource(BlockSource):
    """A matrix in the memory of a GPU, used in place. Labels and distances stay there, too.

    Parameters
    ----------
    rows : torch.Tensor or cupy.ndarray of shape (n_rows, n_features)
        The rows, float32 or float64; other types are converted.
    sample_weight : ndarray of shape (n_rows,), default=None
        Non-negative weights; a row with weight zero counts as absent.
    """

    resident = True
    on_device = True
    n_blocks = 1
    n_threads = 1

    def __init__(self, rows: Any, sample_weight: FloatArray | None = None) -> None:
        check_triton(tensor := _floating(as_tensor(rows)))
        self.rows = DeviceRows(tensor)
        self.sample_weight = sample_weight
        self.layout = numeric_layout(self.rows.shape[1])

    @property
    def operations(self) -> frozenset[str]:  # type: ignore[override]
        """What the kernels offer."""
        return OPERATIONS | {"alternate"} if self.rows.shape[1] <= _WIDEST else OPERATIONS

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows."""
        return self.rows.dtype

    def blocks(self) -> tuple[Block]:
        """Return the only block."""
        return (Block(self.rows, self.sample_weight),)  # type: ignore[arg-type]

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function of NumPy arrays applied to the rows."""
        tensor = self.rows.tensor
        changed = transform(to_host(tensor)).astype(self.dtype, copy=False)
        return self._with(rows=DeviceRows(as_tensor(changed, tensor.device)))


class StreamedSource(BlockSource):
    """Blocks of another source that are copied to a GPU one after another, each before it is used.

    Parameters
    ----------
    source : BlockSource
        The rows on the host: in memory or in files, numbers only.
    device : str or torch.device
        Where the passes over the rows are computed.
    block_bytes : int, default=256 MiB
        Size of a block on the device; there are two at a time. A source that has blocks of its own
        keeps them.
    """

    resident = False
    streams = True
    operations = OPERATIONS

    def __init__(self, source: BlockSource, device: Any, block_bytes: int = 256 * 2**20) -> None:
        self.source, self.device = source, device
        self.layout: Layout = source.layout
        self.n_threads = source.n_threads
        row_bytes = max(1, self.layout.n_features) * source.dtype.itemsize
        self._step = max(1, int(block_bytes) // row_bytes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        n = self.source.n_blocks
        return -(-self.n_rows // self._step) if n == 1 else n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows."""
        return self.source.dtype

    def _host_blocks(self) -> Iterator[Block]:
        for block in self.source.blocks():
            if self.source.n_blocks > 1:
                yield block
                continue
            for begin in range(0, len(block.rows), self._step):
                piece = slice(begin, begin + self._step)
                weight = block.sample_weight
                yield block._replace(
                    rows=block.rows[piece],
                    sample_weight=None if weight is None else weight[piece],
                    first_row=begin,
                )

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks on the device; the next one is copied in the meantime."""
        torch = require("torch", "Rows on a device", "gpu")
        device = torch.device(self.device)
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None

        def sent(block: Block) -> Block:
            tensor = torch.as_tensor(np.ascontiguousarray(block.rows))
            if stream is not None:
                with torch.cuda.stream(stream):
                    tensor = tensor.pin_memory().to(device, non_blocking=True)
                stream.synchronize()
            return block._replace(rows=DeviceRows(tensor))  # type: ignore[arg-type]

        with ThreadPoolExecutor(1) as ahead:
            waiting = None
            for block in self._host_blocks():
                coming = ahead.submit(sent, block)
                if waiting is not None:
                    yield waiting.result()
                waiting = coming
            if waiting is not None:
                yield waiting.result()

    def _on_all_blocks(self, reduction: Reduction[Part, Any]) -> Iterator[tuple[Part, RowMemory]]:
        for part, memory in super()._on_all_blocks(reduction):
            yield part, {name: to_host(kept) for name, kept in memory.items()}

    def mapped(self, transform: Callable[[RowArray], RowArray]) -> Self:
        """Return the source with a function applied to the numbers of each block."""
        return self._with(source=self.source.mapped(transform))


def on_device(source: BlockSource, device: Any) -> BlockSource:
    """Return the rows of a source on a device: as a whole if they fit there, or else in blocks."""
    torch = require("torch", "Rows on a device", "gpu")
    if isinstance(source, DeviceSource | StreamedSource):
        return source
    if source.sparse:
        raise TypeError("X is sparse, which cannot be used on a device. Leave device out.")
    check_triton(torch.empty(0, device=device))
    if not source.layout.is_numeric:
        raise TypeError(
            "X has categorical columns, which cannot be used on a device. Encode them, for "
            "example with fwkmeans.preprocessing.TableEncoder, or leave device out."
        )
    size = source.n_rows * source.layout.n_features * source.dtype.itemsize
    if source.n_blocks == 1 and size <= _SHARE * _free(torch, device):
        (block,) = source.blocks()
        return DeviceSource(
            as_tensor(np.ascontiguousarray(block.rows), device), block.sample_weight
        )
    return StreamedSource(source, device)


def _free(torch: Any, device: Any) -> float:
    if torch.device(device).type != "cuda":
        return float("inf")
    return float(torch.cuda.mem_get_info(device)[0])


def _floating(tensor: Any) -> Any:
    """Return a matrix of float32 or float64."""
    torch = require("torch", "Rows on a device", "gpu")
    if tensor.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {tensor.ndim}D array instead (shape {tuple(tensor.shape)}). "
            "Reshape your data: one row per entity, one column per feature."
        )
    if tensor.is_complex():
        raise ValueError("Complex data not supported: X has complex numbers.")
    if tensor.dtype in (torch.float32, torch.float64):
        return tensor
    return tensor.to(torch.float32 if tensor.is_floating_point() else torch.float64)


def check_triton(tensor: Any) -> None:
    """Raise an error if the kernels cannot run where a tensor is."""
    triton = require("triton", "Rows on a device", "gpu")
    where = tensor.device.type
    if where != "cuda" and not (where == "cpu" and triton.knobs.runtime.interpret):
        raise TypeError(
            f"The rows are on the device {tensor.device}; fwkmeans can use NVIDIA and AMD GPUs "
            "(device 'cuda'). Give the rows as an array of NumPy."
        )
