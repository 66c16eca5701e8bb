"""One weight per feature by least squares on all distances: SYNCLUS."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from fwkmeans._support.checks import BOOLEAN, at_least_zero
from fwkmeans.typing import (
    Description,
    Effective,
    FloatArray,
    IntArray,
    Source,
    WeightContext,
    Weights,
)
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.group_entropy import check_groups
from fwkmeans.weighting.nonnegative import NonnegativeQuadratic
from fwkmeans.weighting.pairs import pair_gram, units_of


class Line(NamedTuple):
    r"""The line that fits the distances best: :math:`\delta_{ij} = \alpha a^*_{ij} + \beta`."""

    alpha: float
    beta: float
    stress: float
    slope: float  # of the stress as the weighted dispersion grows


class StressWeights(WeightRule):
    r"""Weights that make distances look like cluster membership (SYNCLUS [1]_).

    In each group :math:`G_t` of features, rows have the distances
    :math:`d_{ij}^{(t)} = \sum_{v \in G_t} w_v (y_{iv} - y_{jv})^2`. They are compared with
    :math:`\delta_{ij} = \alpha a^*_{ij} + \beta`, where :math:`a^*_{ij} = 1/n_k` for two rows of
    the same cluster and 0 otherwise, by the stress

    .. math:: F = \frac{\sum_t \omega_t \sum_i \sum_j (\delta_{ij} - d_{ij}^{(t)})^2}
                       {\sum_i \sum_j \delta_{ij}^2}

    Pairs of rows enter only through
    :math:`A_{uv} = \sum_i \sum_j (y_{iu} - y_{ju})^2 (y_{iv} - y_{jv})^2`, which takes one pass
    over the rows. With :math:`B_v = T_v - D_v`,
    :math:`\bar T = \sum_t \omega_t \sum_{v \in G_t} w_v T_v`, :math:`\bar B` defined in the same
    way, and K clusters that have rows, the best line is

    .. math:: \alpha = -\kappa \frac{2 \bar B}{K - 1}, \quad
              \beta = \kappa \frac 2N \Big(\bar T + \frac{\bar B}{K - 1}\Big), \quad
              \kappa = \frac{\sum_t \omega_t w_t^\top A_{tt} w_t}
                            {4 (\bar T^2 + \bar B^2 / (K - 1))}, \quad F = 1 - 1/\kappa

    and the best weights for it solve, in each group,

    .. math:: \min_{w_t \ge 0} w_t^\top A_{tt} w_t - 2 g_t^\top w_t, \qquad
              g_v = 4 \Big(\bar T T_v + \frac{\bar B B_v}{K - 1}\Big)

    They are then scaled to sum to one over all groups, which does not change F. Assignment by
    :math:`\sum_t \omega_t \sum_{v \in G_t} w_v (y_{iv} - c_{kv})^2` raises :math:`\bar B`, which
    also lowers F.

    Parameters
    ----------
    groups : array of shape (n_features,), default=None
        Number 0, 1, ... of each feature's group; None means one group.
    group_weights : array of shape (n_groups,), default=None
        Relative weight of each group, non-negative; None means equal weights.
    centred : bool, default=False
        Whether to compare deviations from the mean distance, so that constant distances do not
        attract weight. The terms with :math:`\bar T` then drop out, and A becomes
        :math:`A - 4 T T^\top`. With one group, the stress is 1 minus the squared correlation of
        :math:`d` and :math:`a^*`.
    guard : float, default=0.0
        The diagonal of every :math:`A_{tt}` is multiplied by 1 + g, as if the distances in every
        feature had a part of their own. This keeps the weights from resting on a few features. 0 is
        the published criterion; for large g, :math:`w_v` is proportional to
        :math:`g_v / A_{vv}`, about the inverse variance.
    gram : tuple of arrays, default=None
        A of each group, in the units of `units_of`; `observe` computes it.

    Notes
    -----
    F never rises while as many clusters have rows. It has no unit, so `tol` compares its fall with
    how far it would fall, to first order, if the weighted dispersion vanished. With sample
    weights, the sums over pairs have weights :math:`s_i s_j`, and :math:`n_k` and N are sums of
    weights.

    References
    ----------
    .. [1] DeSarbo, Carroll, Clark & Green (1984). Synthesized clustering: a method for amalgamating
       alternative clustering bases with differential weighting of variables. Psychometrika 49(1).
       doi:10.1007/BF02294206
    """

    shared = True
    weighs_groups = True
    monotone = True
    operations = ("cross_products",)

    _constraints: ClassVar = {"centred": BOOLEAN, "guard": at_least_zero()}

    def __init__(
        self,
        groups: Any = None,
        group_weights: Any = None,
        centred: bool = False,
        guard: float = 0.0,
        gram: Any = None,
    ) -> None:
        self.groups = groups
        self.group_weights = group_weights
        self.centred = centred
        self.guard = guard
        self.gram = gram

    def observe(self, source: Source, table: Description) -> Self:
        """Return the rule with its groups as numbers and the sums over pairs of these rows."""
        if source.gaps or not source.layout.is_numeric:
            what = "categorical columns" if not source.layout.is_numeric else "missing cells"
            raise ValueError(
                f"X has {what}; sums over pairs of rows need numbers in every cell. Encode or fill "
                "them, for example with fwkmeans.preprocessing.TableEncoder(impute='median')."
            )
        groups = self._groups(source.layout.n_features)
        shares = self._shares(groups)
        members = [np.flatnonzero(groups == t) for t in range(shares.size)]
        if table.scatter.any() and not any(
            share > 0 and table.scatter[v].any() for share, v in zip(shares, members, strict=True)
        ):
            raise ValueError(
                f"group_weights={np.round(shares, 6).tolist()} (scaled to sum to one) leave no "
                "group with weight that has a feature that varies. Give such a group a weight."
            )
        with np.errstate(over="ignore"):
            variances = np.append(table.scatter / table.mass, units_of(table) ** 2)
        if not np.isfinite(variances).all():
            raise ValueError(
                "The squares of X overflow. Rescale X, for example with "
                "fwkmeans.preprocessing.RangeStandardizer, and fit again."
            )
        observed: Self = clone(self).set_params(
            groups=groups, group_weights=shares, gram=pair_gram(source, table, members)
        )
        return observed

    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray:
        """Return the best weights for the line that fits the previous weights best."""
        table, previous = context.table, context.previous.values[:, 0]
        problems = self._problems(table)
        filled = (context.mass > 0).sum(axis=-1)
        values = np.empty_like(previous)
        for start, weights in enumerate(previous):
            within = dispersion[start].sum(axis=0)
            values[start] = self._step(weights, within, int(filled[start]), table, problems)
        return np.repeat(values[:, None], dispersion.shape[-2], axis=-2)

    def effective(self, weights: Weights) -> Effective:
        r"""Return :math:`\omega_t w_v`."""
        values = weights.values[:, :1]
        groups = self._groups(values.shape[-1])
        return Effective(values * self._shares(groups)[groups], np.ones(len(values)))

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Return the stress of each start."""
        lines = self.lines(weighted_dispersion, weights, context)
        return np.asarray([line.stress for line in lines], dtype=np.float64)

    def tolerance_scale(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Return the weighted dispersion times the slope of the stress."""
        lines = self.lines(weighted_dispersion, weights, context)
        return weighted_dispersion * np.asarray([line.slope for line in lines], dtype=np.float64)

    def lines(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> list[Line]:
        """Return the line of each start, and its stress."""
        filled = (context.mass > 0).sum(axis=-1)
        return [
            self._line(values, float(within), int(n), context.table)
            for values, within, n in zip(
                weights.values[:, 0], weighted_dispersion, filled, strict=True
            )
        ]

    # One start and one axis at a time, so that no start changes the bits of another.

    def _step(
        self,
        weights: FloatArray,
        within: FloatArray,
        filled: int,
        table: Description,
        problems: list[tuple[IntArray, NonnegativeQuadratic]],
    ) -> FloatArray:
        if filled < 2:  # a* is constant
            return weights
        groups = self._groups(weights.size)
        units = units_of(table) ** 2
        spread, between = table.scatter, np.maximum(table.scatter - within, 0.0)
        shared = self._shares(groups)[groups] * weights
        by_total = 0.0 if self.centred else float((shared * spread).sum())
        by_between = float((shared * between).sum()) / (filled - 1)
        largest = max(by_total, by_between)
        if largest <= 0:
            return weights
        slope = (by_total / largest * spread + by_between / largest * between) / table.mass / units
        found = np.zeros_like(weights)
        for members, problem in problems:
            found[members] = problem.minimize(slope[members]) / units[members]
        total = found.sum()
        return found / total if np.isfinite(total) and total > 0 else weights

    def _line(self, weights: FloatArray, within: float, filled: int, table: Description) -> Line:
        groups = self._groups(weights.size)
        shares = self._shares(groups)
        total = float((shares[groups] * weights * table.scatter).sum()) / table.mass
        # in a unit near the total, squares neither overflow nor underflow, and no digit is lost
        unit = float(np.ldexp(1.0, int(np.frexp(total)[1])))
        between = max(total - within / table.mass, 0.0) / unit if filled > 1 else 0.0
        total = total / unit
        squared = between**2 / max(filled - 1, 1) + (0.0 if self.centred else total**2)
        scaled = weights * units_of(table) ** 2 / unit
        size = 0.0
        for number, gram in enumerate(self._grams(table)):
            z = scaled[groups == number]
            size += float(shares[number] * ((gram * z).sum(axis=-1) * z).sum())
        if squared <= 0:  # there is nothing that a line could explain
            return Line(0.0, 2.0 * total * unit, 1.0 if size > 0 else 0.0, 0.0)
        kappa = max(size / (4.0 * squared), 1.0)
        alpha = -2.0 * kappa * between * table.mass / max(filled - 1, 1)
        # if centred, any beta is as good; with this one delta has the mean of the distances
        beta = 2.0 * total * (1.0 if self.centred else kappa) - alpha / table.mass
        slope = 2.0 * between / max(filled - 1, 1) / squared / kappa / table.mass
        return Line(unit * alpha, unit * beta, 1.0 - 1.0 / kappa, slope / unit)

    def _problems(self, table: Description) -> list[tuple[IntArray, NonnegativeQuadratic]]:
        groups = self._groups(table.scatter.size)
        problems = []
        for number, gram in enumerate(self._grams(table)):
            members = np.flatnonzero(groups == number)
            varying = table.scatter[members] > 0
            if varying.any():
                quadratic = NonnegativeQuadratic(gram[np.ix_(varying, varying)])
                problems.append((members[varying], quadratic))
        return problems

    def _grams(self, table: Description) -> list[FloatArray]:
        if self.gram is None:
            raise ValueError(
                "StressWeights has not seen the rows; call observe(source, table) first."
            )
        grams = list(self.gram)
        if self.centred:
            groups = self._groups(table.scatter.size)
            spread = table.scatter / table.mass / units_of(table) ** 2
            parts = (spread[groups == number] for number in range(len(self.gram)))
            grams = [
                gram - 4.0 * np.outer(part, part) for gram, part in zip(grams, parts, strict=True)
            ]
        if not self.guard:
            return grams
        return [gram + np.diag(self.guard * np.diag(gram)) for gram in grams]

    def _groups(self, n_features: int) -> IntArray:
        if self.groups is None:
            return np.zeros(n_features, dtype=np.int64)
        return check_groups(np.asarray(self.groups), n_features)

    def _shares(self, groups: IntArray) -> FloatArray:
        """Return the weights of the groups, scaled to sum to one."""
        n_groups = int(groups.max()) + 1
        if self.group_weights is None:
            return np.full(n_groups, 1.0 / n_groups)
        given = np.asarray(self.group_weights)
        if given.shape != (n_groups,) or given.dtype.kind not in "fiub":
            raise ValueError(
                f"group_weights has shape {given.shape} and type {given.dtype}; expected one "
                f"number for each of the {n_groups} groups."
            )
        given = given.astype(np.float64)
        if not (np.isfinite(given) & (given >= 0)).all() or not given.any():
            raise ValueError(
                f"group_weights={given.tolist()}: expected finite numbers >= 0, not all of them 0."
            )
        given = given / given.max()
        shares: FloatArray = given / given.sum()
        return shares
