r"""Minimize :math:`z^\top A z - 2 b^\top z` over :math:`z \ge 0`, for one A and many b."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from fwkmeans.typing import FloatArray

_SINGULAR = 1e-8  # smallest squared pivot of a matrix with a diagonal of ones
_NEAR = 1e-5  # a proximal step adds this to the diagonal
_STEPS = 30
_STILL = 1e-9  # rounding moves copies against each other by 1e-16 / _NEAR a step


class NonnegativeQuadratic:
    r"""A quadratic form, scaled to a diagonal of ones and factorized.

    With :math:`A = L L^\top` the problem is the non-negative least squares
    :math:`\min_z \|L^\top z - L^{-1} b\|` (Lawson and Hanson). If A is singular, for example
    because features are copies of one another, there are many minimizers. We then take steps to
    :math:`\min_z z^\top A z - 2 b^\top z + \epsilon \|z - z_0\|^2`, where :math:`z_0` is the
    previous step, and 0 at first. They lead (nearly) to the shortest minimizer, in which copies
    share equally, whatever their order. Entries of A may have any sign.
    """

    def __init__(self, gram: FloatArray) -> None:
        self._size = np.sqrt(np.diagonal(gram))
        scaled = gram / np.outer(self._size, self._size)
        factor = _cholesky(scaled)
        self._steps = _STEPS if factor is None else 1
        if factor is None:
            factor = np.linalg.cholesky(scaled + _NEAR * np.eye(len(scaled)))
        self._factor: FloatArray = factor

    def minimize(self, slope: FloatArray) -> FloatArray:
        """Return the minimizer for ``b = slope``, zero if no entry is positive."""
        slope = slope / self._size
        largest = slope.max(initial=0.0)
        z = np.zeros_like(slope)
        if largest <= 0:
            return z
        slope = slope / largest
        for _ in range(self._steps):
            before = z
            target = slope if self._steps == 1 else slope + _NEAR * before
            aim = solve_triangular(self._factor, target, lower=True)
            z = nnls(self._factor.T, aim, maxiter=30 * slope.size)[0]
            if np.abs(z - before).max() <= _STILL * z.max():
                break
        unscaled: FloatArray = largest * z / self._size
        return unscaled


def _cholesky(gram: FloatArray) -> FloatArray | None:
    """Return the factor, or None if the matrix is singular to working precision."""
    try:
        factor = np.asarray(np.linalg.cholesky(gram), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return factor if np.square(np.diagonal(factor)).min(initial=1.0) > _SINGULAR else None
