"""The base class of all weight rules; a new rule needs only `update`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from fwkmeans._support.checks import Constraint, check_parameters, is_number
from fwkmeans._support.copies import of_starts
from fwkmeans.typing import (
    BoolArray,
    Description,
    Effective,
    FloatArray,
    IntArray,
    Source,
    WeightContext,
    Weights,
)


class WeightRule(BaseEstimator, ABC):
    """Base of all weight rules: equal initial weights, used as they are, without memory.

    All arrays have a leading axis of starts, so the same rule works for one start and for
    thousands. The parameters of a rule may be numbers, or arrays of shape (n_starts, 1, 1) with one
    value per start.

    Attributes
    ----------
    shared : bool
        Whether all clusters have the same weights; the rows of the values are then equal.
    monotone : bool
        Whether `update` never raises the objective. If so, a run ends when the objective hardly
        falls any more; otherwise it ends when labels stay the same and weights hardly move.
    memoryless : bool
        Whether the weights depend on the dispersions alone. A run with such a rule that returns to
        earlier labels goes in circles, and is stopped.
    uses_scatter : bool
        Whether the rule looks at the scatter of the table after `bind` and `initial`. If not,
        starts whose dissimilarities have different exponents, and so different scatters, may run
        in one batch.
    weighs_groups : bool
        Whether `groups` of features have weights, by which those of the features are multiplied.
    operations : tuple of str
        Operations that `observe` needs from the kernels of the rows, beside the usual ones.

    Examples
    --------
    Your own rule needs one method:

    >>> import numpy as np
    >>> from fwkmeans import FeatureWeightedKMeans
    >>> from fwkmeans.weighting import WeightRule
    >>> class InverseDispersion(WeightRule):
    ...     def update(self, dispersion, context):
    ...         weights = context.table.varying / (dispersion + 1e-9)
    ...         return weights / weights.sum(axis=-1, keepdims=True)
    >>> X = np.random.default_rng(0).random((50, 3))
    >>> model = FeatureWeightedKMeans(2, weighting=InverseDispersion(), random_state=0).fit(X)
    >>> model.feature_weights_.shape
    (2, 3)
    """

    shared: bool = False
    monotone: bool = False
    memoryless: bool = False
    uses_scatter: bool = True
    weighs_groups: bool = False
    operations: tuple[str, ...] = ()

    _constraints: ClassVar[Mapping[str, Constraint]] = {}  # what each parameter may be

    @abstractmethod
    def update(self, dispersion: FloatArray, context: WeightContext) -> FloatArray | Weights:
        """Return the weights for fixed labels and centers.

        Parameters
        ----------
        dispersion : ndarray of shape (n_starts, n_clusters, n_features)
            ``D_kv``, the dispersion of feature v in cluster k about its center.
        context : WeightContext
            The mass of the clusters, the previous weights and the description of the table.

        Returns
        -------
        ndarray of the same shape, or Weights
            The new weights; `Weights` if the rule remembers something.
        """

    def observe(self, source: Source, table: Description) -> Self:
        """Return the rule with what it must know about the rows besides their description."""
        return self

    def bind(self, table: Description, n_clusters: int) -> Self:
        """Check the parameters; return the rule with every "auto" replaced by a number."""
        check_parameters(self, self._constraints)
        return self.adapted(table, n_clusters)

    def adapted(self, table: Description, n_clusters: int) -> Self:
        """Return the rule with every "auto" replaced by a number; its parameters are valid."""
        return self

    @property
    def one_per_start(self) -> tuple[str, ...]:
        """Parameters that may differ among the starts of a batch: all that are numbers."""
        parameters = self.get_params(deep=False)
        return tuple(name for name, value in parameters.items() if is_number(value))

    def take(self, starts: IntArray | BoolArray) -> Self:
        """Return the rule for only these starts of the batch."""
        return of_starts(self, starts)

    def normalize(self, values: FloatArray, table: Description) -> FloatArray:
        """Scale non-negative values to sum to one the way the rule's weights do."""
        if table.n_varying < table.varying.size:
            values = np.where(table.varying, values, 0.0)
        total = values.sum(axis=-1, keepdims=True)
        if np.count_nonzero(total) < total.size:
            total = np.where(total > 0, total, 1.0)
        normalized: FloatArray = values / total
        return normalized

    def initial(self, n_starts: int, n_clusters: int, table: Description) -> Weights:
        """Return equal weights on all features that are not constant."""
        values = np.empty((n_starts, n_clusters, table.maximum.size))
        if type(self).normalize is WeightRule.normalize:
            values[...] = table.equal_weights
        else:
            values[...] = self.normalize(np.ones((1, 1, table.maximum.size)), table)
        return Weights(values)

    def effective(self, weights: Weights) -> Effective:
        """Return the weights as they multiply the dissimilarity in the objective."""
        values = weights.values[:, :1] if self.shared else weights.values
        return Effective(values, np.ones(values.shape[0]))

    def offsets(self, weights: Weights) -> FloatArray:
        """Return what the objective adds for every row of a cluster."""
        return np.zeros(weights.values.shape[:2])

    def objective(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Return the objective from the sum over rows of weighted dissimilarity plus offset."""
        return weighted_dispersion

    def tolerance_scale(
        self, weighted_dispersion: FloatArray, weights: Weights, context: WeightContext
    ) -> FloatArray:
        """Return the unit of `tol`: a run ends when the objective falls by at most tol units."""
        return weighted_dispersion
