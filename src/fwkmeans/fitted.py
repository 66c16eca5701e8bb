"""One view of a fitted estimator, which plots, reports and model files share.

Nothing else above `fwkmeans.estimators` reads private attributes of estimators.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from fwkmeans._engine import Recipe
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.layout import Layout, numeric_layout
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.shares import counted_weights, has_group_weights
from fwkmeans.estimators.starts import draws_nothing
from fwkmeans.typing import Description, FloatArray, IntArray, Pass
from fwkmeans.weighting import UniformWeights


class Naming(NamedTuple):
    """What people call the clusters of a model, and which of them they take for one."""

    names: tuple[str, ...]  # of the clusters, or of the groups
    groups: IntArray  # (n_clusters,) the group of each cluster; each is its own if none are merged
    objective: float  # of the fit that they are about

    @property
    def is_merged(self) -> bool:
        """Whether a group has several clusters."""
        return len(self.names) < len(self.groups)


class FittedView:
    """The parts, the table and the state of a fitted estimator.

    Values are looked up when they are needed, so a damaged model can have a view too.

    Parameters
    ----------
    estimator : estimator of fwkmeans
        The estimator, fitted.
    """

    def __init__(self, estimator: BaseFeatureWeightedKMeans) -> None:
        self._estimator = estimator

    @classmethod
    def of(cls, estimator: BaseFeatureWeightedKMeans) -> Self:
        """Return the view of an estimator."""
        return cls(estimator)

    # ---- the table ------------------------------------------------------------------------------

    @property
    def coding(self) -> Coding | None:
        """The categorical columns and their categories; None if there are none."""
        coding: Coding | None = getattr(self._estimator, "_coding", None)
        return coding

    @property
    def layout(self) -> Layout:
        """Which features are numeric and which are categorical."""
        coding = self.coding
        return numeric_layout(self._estimator.n_features_in_) if coding is None else coding.layout

    @property
    def description(self) -> Description:
        """The description of the table of `fit`."""
        return self._estimator._table

    @property
    def spherical(self) -> list[IntArray]:
        """The columns of each spherical space."""
        return getattr(self._estimator, "_unit_spaces", None) or []

    # ---- the algorithm --------------------------------------------------------------------------

    @property
    def recipe(self) -> Recipe:
        """Dissimilarity, center rule and weight rule, bound to the table."""
        return self._estimator._parts

    @property
    def descriptions_of_parts(self) -> list[Any]:
        """The descriptions in dissimilarity and center rule, which equal `description`."""
        parts: tuple[Any, ...] = self.recipe[:2]
        return [part.table for part in parts]

    @property
    def power(self) -> float | None:
        """The exponent p of a Minkowski dissimilarity, 2 for squares; None for any other."""
        p = getattr(self.recipe.dissimilarity, "p", None)
        return None if p is None else float(p)

    @property
    def has_uniform_weights(self) -> bool:
        """Whether all features have the same weight by design."""
        return isinstance(self.recipe.weighting, UniformWeights)

    @property
    def has_group_weights(self) -> bool:
        """Whether weights of features are multiplied by weights of several groups."""
        return has_group_weights(self._estimator)

    @property
    def is_deterministic(self) -> bool:
        """Whether every run gives the same result, because nothing is drawn at random."""
        model: Any = self._estimator
        candidates_drawn = isinstance(getattr(model, "grid", None), str)  # of CK-Means
        candidates_drawn = candidates_drawn and len(model.space_weights_) > 4
        how = getattr(model, "weight_init", "uniform")
        weights_drawn = isinstance(how, str) and how == "random"
        return draws_nothing(model) and not (weights_drawn or candidates_drawn)

    @property
    def naming(self) -> Naming | None:
        """What its clusters were called; None if they have no names, or if it was fitted again."""
        found: Naming | None = getattr(self._estimator, "_naming", None)
        if found is None or found.objective != float(self._estimator.inertia_):
            return None
        return found if len(found.groups) == len(self._estimator.feature_weights_) else None

    def name_clusters(self, names: tuple[str, ...], groups: IntArray) -> None:
        """Keep names with the model."""
        model: Any = self._estimator
        model._naming = Naming(names, groups, float(model.inertia_))

    def forget_names(self) -> None:
        """Give the clusters no names, and merge none."""
        if hasattr(self._estimator, "_naming"):
            del self._estimator._naming

    # ---- the state ------------------------------------------------------------------------------

    @property
    def points(self) -> FloatArray:
        """Centers in the numeric columns, of shape (n_clusters, n_numeric)."""
        centers = np.asarray(self._estimator.cluster_centers_, dtype=np.float64)
        return np.asarray(self.layout.numbers_of(centers))

    @property
    def frequencies(self) -> FloatArray:
        """Centers in the categorical columns, of shape (n_clusters, n_levels)."""
        return self._estimator._frequencies

    @property
    def comparable_weights(self) -> FloatArray:
        """Weights that can be compared between features, of shape (n_clusters, n_features).

        These are the feature weights, multiplied by the group weights if there are any.
        """
        return counted_weights(self._estimator)

    @property
    def effective_weights(self) -> FloatArray:
        """The weights as they multiply the dissimilarity, up to the factor `scale`."""
        return self._effective()[0]

    @property
    def scale(self) -> float:
        """The common factor of `effective_weights`."""
        return self._effective()[1]

    def _effective(self) -> tuple[FloatArray, float]:
        model = self._estimator
        values, scale = self.recipe.weighting.effective(model._weights())
        return np.broadcast_to(values[0], model.feature_weights_.shape), float(scale[0])

    @property
    def kernel_input(self) -> Pass:
        """What the kernels need to assign rows."""
        model: Any = self._estimator
        made: Pass = model._parts.dissimilarity._pass(model._assignment())
        return made
