"""Greedy k-means++ on all rows of a device; only sums of blocks of rows come to the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from fwkmeans._core.device import programs
from fwkmeans._core.device.kernels import tiles_of
from fwkmeans._core.device.rows import DeviceRows
from fwkmeans.typing import FloatArray, IntArray

_BLOCK = 4096  # rows whose costs are summed on the device


def n_uniform(n_clusters: int) -> int:
    """Return how many random numbers one start uses."""
    return 1 + (n_clusters - 1) * _n_trials(n_clusters)


def _n_trials(n_clusters: int) -> int:
    return 2 + int(math.log(n_clusters))


def spread_rows(
    rows: DeviceRows, sample_weight: FloatArray | None, n_clusters: int, uniform: FloatArray
) -> IntArray:
    """Return the indices of K rows, each drawn with a chance that grows with its distance.

    Of some candidates, the one that lowers the sum of squared distances most is taken. `uniform`
    are the random numbers; see `n_uniform`.
    """
    weight = rows.on_device(sample_weight)
    ones = torch.ones(len(rows), dtype=torch.float32, device=rows.tensor.device)
    cost = ones if weight is None else weight.to(torch.float32)
    trials = _n_trials(n_clusters)
    chosen = [int(_drawn(cost, uniform[:1])[0])]
    closest = _squared(rows, chosen)[:, 0]
    for at in range(n_clusters - 1):
        cost = closest if weight is None else closest * weight
        candidates = _drawn(cost, uniform[1 + at * trials : 1 + (at + 1) * trials])
        squared = torch.minimum(closest[:, None], _squared(rows, candidates))
        total = squared if weight is None else squared * weight[:, None]
        best = int(total.sum(dim=0, dtype=torch.float64).argmin())
        chosen.append(int(candidates[best]))
        closest = squared[:, best].contiguous()
    return np.asarray(chosen)


def _drawn(cost: Any, uniform: FloatArray) -> IntArray:
    """Return rows drawn with chances in proportion to their cost."""
    n = cost.shape[0]
    whole = n // _BLOCK * _BLOCK
    sums = cost[:whole].view(-1, _BLOCK).sum(dim=1, dtype=torch.float64)
    ends = np.cumsum(np.append(sums.cpu().numpy(), float(cost[whole:].sum(dtype=torch.float64))))
    aims = uniform * ends[-1]
    found = []
    for aim in aims:
        block = min(int(np.searchsorted(ends, aim, side="right")), ends.size - 1)
        inside = cost[block * _BLOCK : (block + 1) * _BLOCK].to(torch.float64).cpu().numpy()
        if not inside.size:  # the last block has no rows
            found.append(n - 1)
            continue
        before = ends[block - 1] if block else 0.0
        at = int(np.searchsorted(np.cumsum(inside) + before, aim, side="right"))
        found.append(block * _BLOCK + min(at, inside.size - 1))
    return np.asarray(found)


def _squared(rows: DeviceRows, chosen: Any) -> Any:
    """Return the squared distances of all rows to some of them, (rows, chosen)."""
    tensor = rows.tensor
    at = torch.as_tensor(np.asarray(chosen, dtype=np.int64)).to(tensor.device)
    centers = tensor[at].to(torch.float64).contiguous()
    out = torch.empty((len(rows), len(chosen)), dtype=torch.float32, device=tensor.device)
    programs.all_distances[(-(-len(rows) // 64),)](
        tensor,
        *tensor.stride(),
        centers,
        torch.ones_like(centers[:1]),
        out,
        *rows.shape,
        len(chosen),
        SHARED=True,
        TILE=64,
        **tiles_of(rows.shape[1]),
    )
    return out.square_()
