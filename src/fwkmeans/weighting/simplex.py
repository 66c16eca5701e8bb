r"""Minimizers over the simplex: the closed forms behind every weight update.

Features that are constant over the table (not ``table.varying``) get weight zero. Dispersions that
could be rounding errors are exactly zero already (see `Minkowski.dispersion`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fwkmeans._core.functions import exp, log
from fwkmeans.typing import BoolArray, Description, FloatArray

FLOOR = 1e-24  # of the total scatter: a deviation of 1e-12
TIE = 1e-12  # relative


def softmax(logits: FloatArray) -> FloatArray:
    """Return exp(logits) normalized over the last axis; -inf gives zero."""
    weights = exp(logits - logits.max(axis=-1, keepdims=True))
    normalized: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
    return normalized


def share(among: BoolArray) -> FloatArray:
    """Return equal weights for the marked features."""
    shares: FloatArray = among / among.sum(axis=-1, keepdims=True)
    return shares


def vertex(dispersion: FloatArray, table: Description) -> FloatArray:
    r"""Minimize :math:`\sum_v w_v D_v`: the least dispersed features share all the weight."""
    allowed = np.where(table.varying, dispersion, np.inf)
    lowest = allowed.min(axis=-1, keepdims=True)
    return share(table.varying & (allowed <= lowest * (1.0 + TIE)))


def power(dispersion: FloatArray, beta: Any, table: Description) -> FloatArray:
    r"""Minimize :math:`\sum_v w_v^\beta D_v` over :math:`w \ge 0, \sum_v w_v = 1`.

    .. math:: w_v = \Big[\sum_u \big(D_v / D_u\big)^{1/(\beta-1)}\Big]^{-1}

    For beta > 1, features with zero dispersion share all the weight. beta = 1 gives a vertex. With
    beta = 0 the weights do not matter, and we return equal ones. For beta < 0 a feature without
    dispersion would have the weight zero, and its power would be infinite; dispersions are raised
    to at least 1e-24 of the feature's total scatter.
    """
    beta = np.asarray(beta, dtype=np.float64)
    shape = np.broadcast_shapes(dispersion.shape, beta.shape)
    weights = np.broadcast_to(share(np.broadcast_to(table.varying, shape)), shape)
    if np.any(beta > 1):
        weights = np.where(beta > 1, _power_above_one(dispersion, beta, table), weights)
    if np.any(beta == 1):
        weights = np.where(beta == 1, vertex(dispersion, table), weights)
    if np.any(beta < 0):
        floored = np.maximum(dispersion, FLOOR * table.scatter)
        weights = np.where(beta < 0, _power_formula(floored, np.minimum(beta, 0.0), table), weights)
    return weights


def entropy(dispersion: FloatArray, gamma: Any, table: Description) -> FloatArray:
    r"""Minimize :math:`\sum_v w_v D_v + \gamma \sum_v w_v \log w_v` over the simplex.

    .. math:: w_v = \exp(-D_v/\gamma) \Big/ \sum_u \exp(-D_u/\gamma)

    For gamma = 0 we return the limit, which is the vertex.
    """
    gamma = np.asarray(gamma, dtype=np.float64)
    positive = np.where(gamma > 0, gamma, 1.0)
    allowed = np.where(table.varying, dispersion, np.inf)
    with np.errstate(over="ignore"):  # for a tiny gamma exp(-inf) is 0, as it should be
        weights = softmax((allowed.min(axis=-1, keepdims=True) - allowed) / positive)
    if np.any(gamma == 0):
        weights = np.where(gamma > 0, weights, vertex(dispersion, table))
    return weights


def guard_of(guard: Any, table: Description, n_parts: int = 1) -> Any:
    r"""Return the guard as a dispersion: this multiple of the mean scatter of the features.

    .. math:: c = g \frac{1}{P M} \sum_v T_v

    where P is 1 for weights that all clusters share and K for weights of each cluster, because a
    cluster has one K-th of the rows on average.
    """
    return np.multiply(guard, table.total_scatter / (n_parts * table.n_varying))


def _power_formula(dispersion: FloatArray, beta: FloatArray, table: Description) -> FloatArray:
    tiny = np.finfo(np.float64).tiny
    logits = log(np.maximum(dispersion, tiny)) / (1.0 - beta)
    return softmax(np.where(table.varying, logits, -np.inf))


def _power_above_one(dispersion: FloatArray, beta: FloatArray, table: Description) -> FloatArray:
    weights = _power_formula(dispersion, np.where(beta > 1, beta, 2.0), table)
    zero = table.varying & (dispersion <= 0)
    if zero.any():
        concentrated = share(zero | ~zero.any(axis=-1, keepdims=True))
        weights = np.where(zero.any(axis=-1, keepdims=True), concentrated, weights)
    return weights
