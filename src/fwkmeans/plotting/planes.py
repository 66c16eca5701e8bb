r"""Flat pictures of rows, and of the Minkowski balls around centers.

A plane is a linear map :math:`t = P^\top (y - o)` and the way back, :math:`y = c + D t` with
:math:`P^\top D = I`: the points that differ from c only along the map. A cluster whose distance is
:math:`\|s_k \odot (y - c_k)\|_p` then has in the picture the distance
:math:`n_k(t) = \|s_k \odot D t\|_p`, and :math:`n_k(t) = r` is the slice of its ball of radius r
through the center.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import svds

from fwkmeans.plotting.models import Metric
from fwkmeans.typing import FloatArray

#: Columns, or rows, up to which all principal axes are computed to find the first two.
_FEW = 200
_ANGLES = 720  # a multiple of eight: corners of diamonds and boxes are among the points


class Plane(NamedTuple):
    """A flat picture of rows."""

    origin: FloatArray  # (M,) o
    onto: FloatArray  # (M, 2) P
    back: FloatArray  # (M, 2) D
    shares: FloatArray | None  # (2,) part of the variance along each direction

    def project(self, rows: FloatArray) -> FloatArray:
        """Return the places of rows in the picture."""
        return np.asarray((rows - self.origin) @ self.onto)

    def distances(self, steps: FloatArray, scales: FloatArray, p: float) -> FloatArray:
        """Return the distance that a cluster sees in steps across the picture."""
        return np.asarray(np.linalg.norm((steps @ self.back.T) * scales, ord=p, axis=-1))


def plane_of_features(first: int, second: int, n_features: int) -> Plane:
    """Return the plane of two features, in their own units."""
    onto = np.zeros((n_features, 2))
    onto[[first, second], [0, 1]] = 1.0
    return Plane(np.zeros(n_features), onto, onto, None)


def plane_of_components(rows: FloatArray, scales: FloatArray) -> Plane:
    """Return the plane of the first two principal components of rows scaled like this."""
    origin = rows.mean(axis=0)
    axes, shares = principal_axes((rows - origin) * scales)
    for at in np.flatnonzero(~axes.any(axis=0)):  # nothing varies along it: any other direction
        axes[:, at] = _across(axes[:, 1 - at])
    back = np.zeros_like(axes)
    used = scales > 0
    back[used] = axes[used] / scales[used, None]
    return Plane(origin, axes * scales[:, None], back, shares)


def principal_axes(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first two principal axes (n_columns, 2) and the share of the variance along each.

    The columns of `values` have mean zero. An axis along which nothing varies is zero. The largest
    entry of an axis is positive.
    """
    axes, shares = np.zeros((values.shape[1], 2)), np.zeros(2)
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return axes, shares
    scaled = np.ldexp(values, -int(np.frexp(largest)[1]))  # so that no square overflows
    if min(scaled.shape) <= _FEW:
        triangle = np.linalg.qr(scaled, mode="r")
        _, lengths, directions = np.linalg.svd(triangle, full_matrices=False)
        total = (lengths**2).sum()
    else:
        lengths, directions = _first_two(scaled)
        total = (scaled**2).sum()
    variances = lengths**2 / total
    for at in np.flatnonzero(variances[:2] >= 1e-12):
        axis = directions[at]
        axes[:, at] = axis * np.sign(axis[np.abs(axis).argmax()])
        shares[at] = variances[at]
    return axes, shares


def _first_two(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the two largest singular values and their right singular vectors, by iteration."""
    start = np.random.RandomState(0).standard_normal(min(values.shape))
    _, lengths, directions = svds(values, k=2, v0=start, solver="arpack")
    return lengths[::-1], directions[::-1]


def _across(direction: FloatArray) -> FloatArray:
    """Return a direction at right angles to one of length 1 or 0."""
    other = np.zeros_like(direction)
    other[np.abs(direction).argmin()] = 1.0
    other -= (other @ direction) * direction
    return np.asarray(other / np.linalg.norm(other))


def mean_scales(metric: Metric, sizes: FloatArray) -> FloatArray:
    """Return scales for all rows: root of the mean square of those of the clusters, by size."""
    shares = sizes / sizes.sum()
    return np.asarray(np.sqrt(shares @ metric.scales**2))


def outline(plane: Plane, spans: FloatArray, scales: FloatArray, p: float) -> FloatArray:
    """Return the closed outline of the unit ball about the origin: (n, 2).

    Points are spread evenly by angle as seen in a picture of these spans. Where the cluster sees no
    distance at all the ball has no end, and the outline is NaN.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, _ANGLES + 1)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    circle[np.abs(circle) < 1e-12] = 0.0
    steps = circle * spans
    steps[-1] = steps[0]
    lengths = plane.distances(steps, scales, p)
    return np.asarray(steps / np.where(lengths > 0, lengths, np.nan)[:, None])
