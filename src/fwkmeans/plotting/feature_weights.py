"""Which features matter in which cluster: a heat map of the weights."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_scalar

from fwkmeans._tabular.columns import default_names
from fwkmeans.fitted import FittedView
from fwkmeans.plotting.axes import draw_heat_map
from fwkmeans.plotting.docstrings import documented
from fwkmeans.plotting.models import check_names, model_of, names_of, sizes_of
from fwkmeans.plotting.style import SEQUENTIAL
from fwkmeans.typing import FloatArray


@documented
class FeatureWeightsDisplay:
    """Heat map of the feature weights of each cluster, the heaviest features first.

    {introduction}

    Parameters
    ----------
    weights : ndarray of shape (n_clusters, n_features) or (1, n_features)
        The weights. One row stands for weights that all clusters share.
    feature_names : sequence of str, default=None
        Names of the features; None calls them x0, x1, ...
    sizes : sequence of int, default=None
        Number of rows of each cluster, written beside its number.
    weight_name : str, default="feature weight"
        What the numbers are, written beside the scale of the colors.

    Attributes
    ----------
    {axes}
    im_ : matplotlib AxesImage
        The heat map: the shown weights, in the order in which they are shown.
    features_ : ndarray of int
        Positions of the shown features, by falling mean weight.
    {heat map}

    See Also
    --------
    ClusterProfilesDisplay : What the clusters are like.

    Notes
    -----
    In `FGKMeans` and `SYNCLUS` groups of features have weights as well. What counts in a distance
    is the product of the feature's weight and its group's, so that is what `from_estimator` shows,
    divided by its sum over the features.

    Examples
    --------
    >>> from fwkmeans import AWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.plotting import FeatureWeightsDisplay
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> iris = load_uci("iris", as_frame=False)
    >>> X = RangeStandardizer().fit_transform(iris.data)
    >>> model = AWKMeans(3, random_state=0).fit(X)
    >>> display = FeatureWeightsDisplay.from_estimator(model, feature_names=iris.feature_names)
    >>> display.im_.get_array().shape
    (3, 4)
    >>> [iris.feature_names[v] for v in display.features_[:2]]
    ['petal_length', 'petal_width']
    """

    def __init__(
        self,
        weights: FloatArray,
        *,
        feature_names: Any = None,
        sizes: Any = None,
        weight_name: str = "feature weight",
    ) -> None:
        self.weights = weights
        self.feature_names = feature_names
        self.sizes = sizes
        self.weight_name = weight_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Any = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the weights of a fitted model.

        Parameters
        ----------
        estimator : estimator of fwkmeans, or Pipeline that ends with one
            The fitted model. Weights that are the same in all clusters become one row. Weights of
            features are multiplied by those of their groups, where there are several.
        {feature_names}
        {drawn}
        """
        model = model_of(estimator)
        names = names_of(estimator, feature_names)
        view = FittedView.of(model)
        weights = view.comparable_weights
        if (weights == weights[:1]).all():
            weights = weights[:1]
        kind = "feature weight" + ("\ntimes group weight" if view.has_group_weights else "")
        display = cls(weights, feature_names=names, sizes=sizes_of(model), weight_name=kind)
        return display.plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        weights: Any,
        *,
        feature_names: Any = None,
        sizes: Any = None,
        weight_name: str = "feature weight",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw weights, wherever they come from.

        Parameters
        ----------
        weights : array-like of shape (n_clusters, n_features) or (n_features,)
            Non-negative weights, of each cluster or of all of them.
        feature_names : sequence of str, default=None
            Names of the features; None calls them x0, x1, ...
        sizes : array-like of shape (n_clusters,), default=None
            Number of rows of each cluster.
        weight_name : str, default="feature weight"
            What the numbers are.
        {drawn}
        """
        values = check_array(
            np.atleast_2d(weights), dtype=np.float64, input_name="weights", copy=True
        )
        if values.min() < 0:
            raise ValueError(
                f"weights has negative values (the smallest is {values.min():g}); expected weights "
                ">= 0."
            )
        if sizes is not None and len(values) not in (1, len(sizes)):
            raise ValueError(
                f"sizes has {len(sizes)} numbers for {len(values)} clusters. Give one for each."
            )
        if feature_names is not None:
            feature_names = check_names(feature_names, values.shape[1])
        display = cls(values, feature_names=feature_names, sizes=sizes, weight_name=weight_name)
        return display.plot(ax, **style)

    def plot(
        self,
        ax: Any = None,
        *,
        top: int | None = None,
        include_values: bool = True,
        colorbar: bool = True,
        **style: Any,
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        {ax}
        top : int, default=None
            Show only so many features, those of the highest mean weight; None shows all.
        {cells}

        {self}
        """
        if top is not None:
            check_scalar(top, "top", Integral, min_val=1)
        weights = np.asarray(self.weights)
        names = self.feature_names
        if names is None:
            names = default_names(weights.shape[1])
        self.features_ = np.argsort(-weights.mean(axis=0), kind="stable")[:top]
        weights = weights[:, self.features_]
        shown = [names[v] for v in self.features_]
        clusters = self._clusters(len(weights))
        texts = [[f"{weight:.2f}" for weight in row] for row in weights]
        left_out = len(names) - len(shown)
        more = f" ({left_out} lighter ones not shown)" if left_out else ""
        kind = "cluster" if self.sizes is None else "cluster (rows)"
        draw_heat_map(
            self,
            ax,
            weights,
            (clusters, shown),
            self.weight_name,
            texts if include_values else None,
            letters=4,
            colorbar=colorbar,
            style=style,
            titles={"ylabel": kind, "xlabel": f"feature, by mean weight{more}"},
            cmap=SEQUENTIAL,
            vmin=0.0,
        )
        return self

    def _clusters(self, n_rows: int) -> list[str]:
        if n_rows == 1 and (self.sizes is None or len(self.sizes) > 1):
            total = "" if self.sizes is None else f" ({int(np.sum(self.sizes))})"
            return [f"all{total}"]
        if self.sizes is None:
            return [str(k) for k in range(n_rows)]
        return [f"{k} ({size})" for k, size in enumerate(self.sizes)]
