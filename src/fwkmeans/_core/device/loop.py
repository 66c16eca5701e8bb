"""The whole alternating loop on the device; the host waits once a pass, for a few numbers.

Starts go on independently of each other, and those that have ended are skipped. A pass of a start
may have to be repeated, about other references or after an empty cluster was moved; the device
tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fwkmeans._core.device import kernels, steps
from fwkmeans._core.device.kernels import DevicePass, Recorded, power_of_two, tiles_of
from fwkmeans.typing import (
    Block,
    BoolArray,
    CoreOutcome,
    CoreRule,
    Description,
    FloatArray,
    IntArray,
    Pass,
)

_MOST_LABELS = 1 << 28  # rows times starts that are clustered together
_OLD = 32  # passes over changes after which all rows are summed again
_WEIGHT_REST = 1e-12
_KNOWN = (0, 1, 2, 3)  # kinds of rules, see `fwkmeans.typing.CoreRule`
_POWERS = (2, 3)  # those whose weights are raised to a power


def alternate(
    block: Block,
    rule: CoreRule,
    table: Description,
    centers: FloatArray,
    weights: FloatArray,
    constants: FloatArray,
    group_weights: FloatArray,
    guards: FloatArray,
    initial: FloatArray,
    initial_groups: FloatArray,
    *,
    max_iter: int,
    tol: float,
    updates: bool,
    label: bool = False,
) -> CoreOutcome:
    """See `fwkmeans._core.compiled.alternate`; rows are not labeled here.

    Rules whose weights are not known here are given up, and those that may go in circles: to notice
    it, labels of all passes must be compared.
    """
    n_starts = len(centers)
    ended = CoreOutcome(
        np.full(n_starts, np.inf),
        np.full((n_starts, 0), np.nan),
        np.zeros(n_starts, dtype=np.int64),
        np.zeros(n_starts, dtype=np.bool_),
        np.zeros(n_starts, dtype=np.bool_),
        np.ones(n_starts, dtype=np.bool_),
    )
    if rule.kind not in _KNOWN or (rule.memoryless and not rule.monotone):
        return ended
    parameter, guards = (
        np.broadcast_to(np.ravel(values).astype(np.float64), n_starts)
        for values in (rule.parameter, guards)
    )
    together = max(1, _MOST_LABELS // max(1, len(block.rows)))
    histories: list[list[float]] = [[] for _ in range(n_starts)]
    for first in range(0, n_starts, together):
        starts = np.arange(first, min(first + together, n_starts))
        loop = _Loop(block, rule, table, initial, updates=updates)
        loop.begin(starts, centers, weights, constants, parameter, guards)
        loop.run(ended, histories, centers, weights, constants, max_iter=max_iter, tol=tol)
    width = max(map(len, histories))
    history = np.full((n_starts, width), np.nan)
    for at, values in enumerate(histories):
        history[at, : len(values)] = values
    return ended._replace(history=history)


class _Loop:
    """A batch of starts on the device."""

    def __init__(
        self,
        block: Block,
        rule: CoreRule,
        table: Description,
        initial: FloatArray,
        *,
        updates: bool,
    ) -> None:
        self.block, self.rule, self.table, self.updates = block, rule, table, updates
        self.initial = initial
        device = kernels.rows_of(block).tensor.device
        self._features = {
            name: torch.as_tensor(np.array(values, order="C")).to(device)  # they may be read-only
            for name, values in (
                ("magnitude", table.magnitude),
                ("span", table.span),
                ("varying", table.varying.astype(np.int32)),
                ("scatter", np.asarray(table.scatter, dtype=np.float64)),
                ("initial", np.asarray(initial, dtype=np.float64)),
            )
        }

    def begin(
        self,
        starts: IntArray,
        centers: FloatArray,
        weights: FloatArray,
        constants: FloatArray,
        parameter: FloatArray,
        guards: FloatArray,
    ) -> None:
        """Take some starts to the device."""
        self.starts = starts  # of all that are to be run
        self._make(starts.size, centers.shape[1])
        work = self.work
        values = weights[starts][:, :1] if self.rule.shared else weights[starts]
        self._put(work.centers, centers[starts])
        self._put(self.values, values)
        self._put(self.constants, constants[starts])
        self._put(self.parameter, parameter[starts])
        self._put(self.guards, guards[starts])
        self._put(self.top, self._largest(values, parameter[starts]))
        self.labels.fill_(-1)
        for zero in (self.mode, self.age, self.stirred, self.hopeless):
            zero.zero_()
        for zero in (self.mass, self.rows, self.peak_mass, self.sums, self.squares, self.peaks):
            zero.zero_()
        self.moved.zero_()

    def _make(self, n_starts: int, n_clusters: int) -> None:
        """Take memory on the device."""
        self.work = work = DevicePass(
            self.block, n_starts, n_clusters, shared=self.rule.shared or n_clusters == 1
        )
        n_features, double = work.n_features, torch.float64
        cells, clusters = (n_starts, n_clusters, n_features), (n_starts, n_clusters)
        shift = self.table.mean.astype(work.rows.dtype).astype(np.float64)
        self._put(work.shift, shift)
        self.labels = work.empty((n_starts, len(work.rows)), torch.int32)
        self.values = work.empty(work.weights.shape, double)
        self.moved, self.dispersion, self.sums, self.squares, self.peaks = (
            work.empty(cells, double) for _ in range(5)
        )
        self.mass, self.rows, self.peak_mass, self.total = (
            work.empty(clusters, double) for _ in range(4)
        )
        self.report = work.empty((*clusters, 4), double)
        self.flags = work.empty(clusters, torch.int32)
        self.parameter, self.constants, self.guards, self.top = (
            work.empty(n_starts, double) for _ in range(4)
        )
        self.mode, self.age, self.hopeless = (work.empty(n_starts, torch.int32) for _ in range(3))
        self.stirred = work.empty(n_starts, torch.int64)
        self.out = work.empty((n_starts, 5), double)
        self._recorded = Recorded(work.where)

    def _put(self, target: Any, array: Any) -> None:
        target.copy_(torch.as_tensor(np.ascontiguousarray(array)))

    def _largest(self, values: FloatArray, parameter: FloatArray) -> FloatArray:
        """Return the largest weight of each start, or the logarithm of its power."""
        if self.rule.kind not in _POWERS:
            return np.asarray(values.max(axis=(-2, -1)))
        logs = np.log(np.where(values > 0, values, 1.0)) * parameter[:, None, None]
        return np.asarray(np.where(values > 0, logs, -np.inf).max(axis=(-2, -1)))

    def _launch(self) -> None:
        work, rule, given = self.work, self.rule, self._features
        n_starts, n_clusters, n_features = work.n_starts, work.n_clusters, work.n_features
        kind: dict[str, Any] = {
            "KIND": rule.kind,
            "POWER": rule.kind in _POWERS,
            "OPTION": rule.option,
            "SMOOTHING": rule.smoothing,
            "SHARED": work.shared,
        }
        width, height = power_of_two(n_features), power_of_two(n_clusters)
        warps = min(8, max(1, width // 64))
        steps.effect[(n_clusters, n_starts)](
            self.values,
            work.centers,
            self.moved,
            self.parameter,
            self.constants,
            self.top,
            self.mode,
            work.going,
            work.weights,
            work.offsets,
            work.reference,
            work.update,
            n_features,
            n_clusters,
            **kind,
            FEATURES=width,
            num_warps=warps,
        )
        work.find_labels(self.labels)
        work.list_members(self.labels, prints=False)
        work.sum_members()
        steps.disperse[(n_clusters, n_starts)](
            *work.parts,
            self.mass,
            self.rows,
            self.sums,
            self.squares,
            self.peak_mass,
            self.peaks,
            work.reference,
            work.centers,
            self.moved,
            self.dispersion,
            self.total,
            self.flags,
            self.mode,
            work.going,
            given["magnitude"],
            given["span"],
            given["varying"],
            work.n_parts,
            n_features,
            n_clusters,
            BATCH=kernels.BATCH,
            **tiles_of(n_features, 128),
            num_warps=4,
        )
        n_varying = self.table.n_varying
        of_starts = (self.flags, self.hopeless, self.parameter, self.constants, self.guards)
        limit = _WEIGHT_REST if rule.monotone else max(self._tol, _WEIGHT_REST)
        steps.weigh[(n_clusters, n_starts)](
            self.values,
            work.centers,
            self.moved,
            self.dispersion,
            self.mass,
            self.rows,
            self.total,
            *of_starts,
            work.going,
            self.report,
            given["varying"],
            given["scatter"],
            given["initial"],
            limit,
            n_varying,
            n_features,
            n_clusters,
            **kind,
            CLUSTERS=height,
            TILE=max(1, 2048 // width),
            FEATURES=width,
            num_warps=max(warps, 4) if work.shared else warps,
        )
        steps.conclude[(n_starts,)](
            self.report,
            self.mass,
            self.total,
            *of_starts,
            self.top,
            self.mode,
            self.age,
            self.stirred,
            work.going,
            work.changed,
            self.out,
            n_varying,
            len(work.rows),
            work.n_pieces,
            n_clusters,
            **kind,
            UPDATES=self.updates,
            OLD=_OLD,
            CLUSTERS=height,
            num_warps=4,
        )

    def run(
        self,
        ended: CoreOutcome,
        histories: list[list[float]],
        centers: FloatArray,
        weights: FloatArray,
        constants: FloatArray,
        *,
        max_iter: int,
        tol: float,
    ) -> None:
        """Repeat passes until all starts have ended; put the results where they belong."""
        self._tol = float(tol)
        n = self.starts.size
        going, hopeless = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        n_iter = np.zeros(n, dtype=np.int64)
        last = np.full(n, np.nan)
        while going.any():
            self._recorded.run(self._launch)
            host: FloatArray = self.out.cpu().numpy()
            objective, part, status, rests, stirred = host.T
            done = going & (status == steps.DONE.value)
            failed = going & (status == steps.FAILED.value)
            n_iter[done] += 1
            for at in np.flatnonzero(done):
                histories[self.starts[at]].append(float(objective[at]))
            same = (stirred == 0) & (n_iter > 1)
            converged = done & same & (rests > 0)
            if self.rule.monotone and tol > 0:
                fall = np.abs(last - objective)  # not a number in the first iteration
                converged |= done & (fall <= tol * part) & ((part > 0) | same)
            last[done] = objective[done]
            ending = converged | (done & (n_iter >= max_iter))
            if (ending | failed).any():
                at = self.starts[ending]
                ended.objective[at], ended.n_iter[at] = objective[ending], n_iter[ending]
                ended.converged[at], ended.has_empty[at] = converged[ending], hopeless[ending]
                ended.given_up[at] = False
                self._collect(ending, centers, weights, constants)
                going &= ~(ending | failed)
                self._put(self.work.going, going.astype(np.int32))
            if (done & hopeless).any():
                hopeless &= ~done
                self._put(self.hopeless, hopeless.astype(np.int32))
            stuck = np.flatnonzero(going & (status == steps.STUCK.value))
            if stuck.size:
                hopeless[stuck] = ~self._relocate(stuck)
                self._put(self.hopeless, hopeless.astype(np.int32))
            if 0 < 2 * going.sum() <= going.size:
                self._keep(going)
                n_iter, last, hopeless = n_iter[going], last[going], hopeless[going]
                going = going[going]

    def _collect(
        self, ending: BoolArray, centers: FloatArray, weights: FloatArray, constants: FloatArray
    ) -> None:
        """Copy the centers and weights of some starts to the host."""
        which = torch.as_tensor(np.flatnonzero(ending)).to(self.work.where)
        at = self.starts[ending]
        centers[at] = self.work.centers[which].cpu().numpy()
        weights[at] = self.values[which].cpu().numpy()  # shared ones for all clusters
        if self.rule.kind == 3:
            constants[at] = self.constants[which].cpu().numpy()

    def _keep(self, going: BoolArray) -> None:
        """Go on with half of the starts or fewer, in less memory."""
        names = (
            ["labels", "values", "moved", "dispersion", "sums", "squares", "peaks", "mass", "rows"]
            + ["peak_mass", "total", "parameter", "constants", "guards", "top", "mode", "age"]
            + ["stirred", "hopeless"]
        )
        which = torch.as_tensor(np.flatnonzero(going)).to(self.work.where)
        kept = {name: getattr(self, name)[which] for name in names}
        before = self.work
        self._make(int(going.sum()), before.n_clusters)
        self.work.centers.copy_(before.centers[which])
        self.work.reference.copy_(before.reference[which])
        for name, values in kept.items():
            getattr(self, name).copy_(values)
        self.starts = self.starts[going]

    def _relocate(self, stuck: IntArray) -> BoolArray:
        """Move the first empty cluster of some starts to the farthest row; tell where this helps.

        See `fwkmeans._engine.empty`.
        """
        work, table = self.work, self.table
        which = torch.as_tensor(stuck).to(work.where)
        centers, effective, offsets, values, rows, mass, parameter = (
            tensor[which].cpu().numpy()
            for tensor in (
                work.centers,
                work.weights,
                work.offsets,
                self.values,
                self.rows,
                self.mass,
                self.parameter,
            )
        )
        several = (rows > 1) | (mass > 1.0)
        assigning = Pass(centers, effective, offsets, table.mean)
        distance, row = kernels.find_farthest(self.block, assigning, several)
        places = np.maximum(row - self.block.first_row, 0)
        numbers = kernels.take_rows(self.block, places).numbers
        ulps = 1e-13 * table.span + 1e-15 * table.magnitude
        apart = np.abs(numbers[:, None] - centers)
        costs = (effective * apart**2).sum(axis=-1) + offsets
        levels = np.broadcast_to((effective * ulps**2).sum(axis=-1), costs.shape)
        own = costs.argmin(axis=-1)
        found = np.asarray(distance > levels[np.arange(stuck.size), own])
        clusters = (rows == 0).argmax(axis=-1)
        at = np.flatnonzero(found)
        centers[at, clusters[at]] = numbers[at]
        if not self.rule.shared:
            values[at, 0 if work.shared else clusters[at]] = self.initial
        work.centers[which] = torch.as_tensor(centers).to(work.where)
        self.values[which] = torch.as_tensor(values).to(work.where)
        top = self._largest(values, parameter)
        self.top[which] = torch.as_tensor(top).to(work.where)
        return found
