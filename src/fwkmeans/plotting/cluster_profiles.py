"""What the rows of each cluster are like, beside the whole table."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_scalar

from fwkmeans._support.separation import against_rest, masses_of_categories, masses_of_numbers
from fwkmeans._support.text import percent, shortened
from fwkmeans._tabular.columns import (
    each_column,
    name_columns,
    read_numbers,
    resolve_categorical,
)
from fwkmeans._tabular.distinct import DistinctValues, distinct_values
from fwkmeans.plotting.axes import draw_heat_map
from fwkmeans.plotting.docstrings import documented
from fwkmeans.plotting.models import (
    categorical_of,
    check_labels,
    check_names,
    model_of,
    table_of,
)
from fwkmeans.plotting.style import DIVERGING
from fwkmeans.typing import FloatArray, IntArray


class Profile(NamedTuple):
    """One column: of all rows first, then of each cluster."""

    values: FloatArray  # (1 + K,) means, or shares of the most frequent category
    differences: FloatArray  # (1 + K,) from all rows, in standard deviations; the first is 0
    texts: list[str]  # values as they are written


@documented
class ClusterProfilesDisplay:
    r"""Heat map of the columns' means in each cluster, beside those of the whole table.

    {introduction}

    Parameters
    ----------
    values : ndarray of shape (n_features, 1 + n_clusters)
        Mean of each column in all rows, then in each cluster, in units of the table; for a
        categorical column the share of the most frequent category.
    differences : ndarray of shape (n_features, 1 + n_clusters)
        Difference of each mean from that of all rows, in standard deviations of the column.
    texts : list of lists of str
        What is written into the cells.
    feature_names : sequence of str
        Names of the columns.
    cluster_names : sequence
        Names of the clusters.
    sizes : sequence of int
        Number of rows of each cluster.
    separation : ndarray of shape (n_features, n_clusters), default=None
        How well each column alone tells each cluster from the other rows: 1 is perfectly, 0 is
        chance. `top` ranks by it; None ranks by the squares of the differences.

    Attributes
    ----------
    {axes}
    im_ : matplotlib AxesImage
        The heat map: the shown differences, "all rows" in the first column.
    features_ : ndarray of int
        Positions of the shown columns, from top to bottom.
    {heat map}

    See Also
    --------
    FeatureWeightsDisplay : Which features matter in which cluster.

    Notes
    -----
    Colors show :math:`(\bar y_{kv} - \bar y_v) / \sigma_v`, numbers the mean
    :math:`\bar y_{kv}` itself. In a categorical column the number is the share of the cluster's
    most frequent category, and the color treats membership in that category as a number: with the
    share f in all rows and :math:`f_k` in the cluster it is
    :math:`(f_k - f) / \sqrt{f (1 - f)}`. Missing cells are left out.

    Examples
    --------
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.plotting import ClusterProfilesDisplay
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> from sklearn.pipeline import make_pipeline
    >>> iris = load_uci("iris")
    >>> model = make_pipeline(RangeStandardizer(), WKMeans(3, random_state=0)).fit(iris.data)
    >>> display = ClusterProfilesDisplay.from_estimator(model, iris.data)
    >>> display.values.round(1)[3].tolist()  # petal width in cm: all rows, then the clusters
    [1.2, 1.3, 0.2, 2.1]
    """

    def __init__(
        self,
        values: FloatArray,
        differences: FloatArray,
        texts: list[list[str]],
        *,
        feature_names: Any,
        cluster_names: Any,
        sizes: Any,
        separation: FloatArray | None = None,
    ) -> None:
        self.values = values
        self.differences = differences
        self.texts = texts
        self.feature_names = feature_names
        self.cluster_names = cluster_names
        self.sizes = sizes
        self.separation = separation

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        feature_names: Any = None,
        categorical_features: Any = "from_model",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the profiles of the clusters that a fitted model finds in a table.

        Parameters
        ----------
        estimator : estimator of fwkmeans, or Pipeline that ends with one
            The fitted model. With a pipeline the profiles are those of `X` as it is given, before
            any step, so units are those of the table.
        X : array-like or frame of shape (n_samples, n_features)
            The rows. To see other columns of them, or other units, use `from_predictions`.
        feature_names : sequence of str, default=None
            Names of the columns; None takes those of the frame.
        categorical_features : "from_model", "from_dtype", array-like or None, default="from_model"
            The categorical columns of `X`: names, positions or a mask; "from_dtype" looks at their
            types. "from_model" takes those of the model, or of the `TableEncoder` before it; with
            steps that may rearrange the columns it is "from_dtype".
        {drawn}
        """
        model = model_of(estimator)
        labels = estimator.predict(table_of(X))
        if isinstance(categorical_features, str) and categorical_features == "from_model":
            categorical_features = categorical_of(estimator)
        clusters = list(range(model.n_clusters_))
        display = cls._of(X, labels, clusters, feature_names, categorical_features)
        return display.plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        labels: Any,
        *,
        feature_names: Any = None,
        categorical_features: Any = "from_dtype",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the profiles of groups of rows, wherever their labels come from.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The table, in whatever units one wants to see.
        labels : array-like of shape (n_samples,)
            Cluster of each row.
        feature_names : sequence of str, default=None
            Names of the columns; None takes those of the frame.
        categorical_features : "from_dtype", array-like or None, default="from_dtype"
            The categorical columns: names, positions or a mask; "from_dtype" looks at their types.
        {drawn}
        """
        known, numbers = np.unique(check_labels(labels), return_inverse=True)
        display = cls._of(X, numbers, known.tolist(), feature_names, categorical_features)
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
            Show only so many columns, those that tell clusters apart best, in this order (the mean
            over rows of `separation`, then the squares of the differences); None shows all, in the
            order of the table.
        {cells}

        {self}
        """
        differences, sizes = np.asarray(self.differences), np.asarray(self.sizes)
        self.features_ = np.arange(len(differences))
        if top is not None:
            check_scalar(top, "top", Integral, min_val=1)
            squares = np.nan_to_num(differences[:, 1:]) ** 2 @ sizes
            apart = squares if self.separation is None else np.asarray(self.separation) @ sizes
            self.features_ = np.lexsort((-squares, -apart.round(9)))[:top]
        shown = differences[self.features_]
        texts = [self.texts[v] for v in self.features_]
        longest = max(len(text) for row in texts for text in row)
        columns = [f"all ({sizes.sum()})"]
        columns += [f"{k} ({n})" for k, n in zip(self.cluster_names, sizes, strict=True)]
        names = [self.feature_names[v] for v in self.features_]
        label = "difference from all rows\n(standard deviations)"
        limit = float(np.nanmax(np.abs(shown), initial=0.0)) or 1.0
        left_out = len(differences) - len(shown)
        more = f"; {left_out} columns not shown" if left_out else ""
        ax = draw_heat_map(
            self,
            ax,
            shown,
            (names, columns),
            label,
            texts if include_values else None,
            titles={"xlabel": f"cluster (rows){more}"},
            letters=longest,
            colorbar=colorbar,
            style=style,
            cell=max(0.62, 0.1 * longest),
            cmap=DIVERGING,
            vmin=-limit,
            vmax=limit,
        )
        ax.axvline(0.5, color="black", linewidth=1)
        return self

    @classmethod
    def _of(
        cls,
        X: Any,
        labels: IntArray,
        clusters: list[Any],
        feature_names: Any,
        categorical_features: Any,
    ) -> Self:
        """Return the display of a table and numbered clusters."""
        table = table_of(X)
        check_labels(labels, table.shape[0])
        names = name_columns(table)
        if feature_names is not None:
            names = check_names(feature_names, table.shape[1])
        categorical = resolve_categorical(table, categorical_features)
        groups = [slice(None)] + [np.flatnonzero(labels == k) for k in range(len(clusters))]
        profiles, apart = [], []
        codes = np.asarray(labels, dtype=np.int64)
        of_categories = set(categorical.tolist())
        for v, (name, cells) in enumerate(each_column(table, range(table.shape[1]))):
            if v in of_categories:
                column = distinct_values(cells, name)
                profiles.append(_categories(column, groups))
                levels, texts = column.by_name()
                masses = masses_of_categories(levels, len(texts), codes, len(clusters))
            else:
                numbers = read_numbers(cells, name).astype(np.float64)
                profiles.append(_numbers(numbers, groups))
                masses = masses_of_numbers(numbers, codes, len(clusters))
            apart.append(against_rest(masses).share)
        return cls(
            np.stack([one.values for one in profiles]),
            np.stack([one.differences for one in profiles]),
            [one.texts for one in profiles],
            feature_names=names,
            cluster_names=clusters,
            sizes=np.bincount(labels, minlength=len(clusters)),
            separation=np.stack(apart),
        )


def _numbers(column: FloatArray, groups: list[Any]) -> Profile:
    parts = [column[group] for group in groups]
    parts = [part[~np.isnan(part)] for part in parts]
    means = np.asarray([part.mean() if part.size else np.nan for part in parts])
    deviation = float(parts[0].std()) if parts[0].size else 0.0
    constant = not parts[0].size or parts[0].min() == parts[0].max()
    differences = (means - means[0]) / (1.0 if constant else deviation)
    rounding = 1e-9 * deviation  # of standardized columns, whose means are zero
    texts = [_text(0.0 if abs(mean) < rounding else mean) for mean in means]
    return Profile(means, differences, texts)


def _categories(column: DistinctValues, groups: list[Any]) -> Profile:
    codes, names = column.by_name()
    counts = np.stack([np.bincount(codes[g][codes[g] >= 0], minlength=len(names)) for g in groups])
    values, differences = np.full(len(groups), np.nan), np.full(len(groups), np.nan)
    texts = ["–"] * len(groups)
    for at, own in enumerate(counts):
        if own.any():
            mode = int(own.argmax())
            among_all = counts[0, mode] / counts[0].sum()
            values[at] = own[mode] / own.sum()
            spread = np.sqrt(among_all * (1.0 - among_all)) or 1.0
            differences[at] = (values[at] - among_all) / spread
            texts[at] = f"{shortened(names[mode], 10, keep_end=True)}: {percent(values[at])}"
    return Profile(values, differences, texts)


def _text(value: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
