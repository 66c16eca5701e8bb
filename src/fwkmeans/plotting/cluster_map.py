"""The rows on a plane, and around each center the shape of its cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fwkmeans._support.checks import check_power
from fwkmeans._support.text import percent
from fwkmeans._tabular.columns import name_columns, read_numeric, resolve_columns
from fwkmeans.fitted import FittedView
from fwkmeans.plotting.axes import open_axes, plain, scatter_style
from fwkmeans.plotting.docstrings import documented
from fwkmeans.plotting.models import (
    Metric,
    check_labels,
    check_names,
    metric_of,
    model_of,
    names_of,
    rows_of,
    table_of,
)
from fwkmeans.plotting.planes import (
    Plane,
    mean_scales,
    outline,
    plane_of_components,
    plane_of_features,
)
from fwkmeans.plotting.style import color_of, marker_of
from fwkmeans.sources.directions import unit_rows
from fwkmeans.typing import FloatArray, IntArray


@documented
class ClusterMapDisplay:
    r"""Rows on a plane, colored by cluster, with the Minkowski shape of each cluster.

    {introduction}

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Places of the rows.
    labels : ndarray of shape (n_samples,)
        Number of the cluster of each row.
    centers : ndarray of shape (n_clusters, 2)
        Places of the centers.
    outlines : list of ndarray of shape (n, 2), default=None
        Outline of the shape of each cluster. NaN interrupts a line.
    radii : ndarray of shape (n_clusters,), default=None
        Distance of the outlines from the centers, as the clusters measure it.
    axis_names : pair of str, default=("", "")
        What is along the axes.
    cluster_names : sequence, default=None
        Names of the clusters; None takes their numbers.
    equal : bool, default=False
        Whether both axes have the same unit.

    Attributes
    ----------
    {axes}
    scatters_ : list of matplotlib PathCollection
        The rows of each cluster.
    outlines_ : list of matplotlib Line2D
        The shapes.
    centers_ : list of matplotlib Text
        The numbers of the clusters, written at their centers.
    legend_ : matplotlib Legend or None
        Names and sizes of the clusters.

    See Also
    --------
    FeatureWeightsDisplay : The weights that stretch the shapes.

    Notes
    -----
    A cluster measures distance by its own weights,
    :math:`d_k(y) = (\sum_v \omega_{kv} |y_v - c_{kv}|^p)^{1/p}` with the weights as they enter the
    objective (:math:`w^\beta`, :math:`w^p`, ...), as `transform` does. Its shape is the set of
    points at one such distance from the center, in the plane through the center on which all other
    coordinates equal the center's: an ellipse for p = 2, a diamond for p = 1, a
    box for p = infinity, long where weights are small. With two features this is the slice along
    them. With principal components it is the slice along these, so it need not be symmetric to the
    axes; and since a flat picture leaves out part of every distance, a row may lie inside a shape
    and yet be far away.

    The radius is the median of the distances that the cluster sees between its rows and its center
    within the picture: half of the rows of a cluster are inside its shape. Along a feature without
    weight the shape has no end, it is a strip; without weight on both there is none.

    Weighted principal components are those of the rows times the roots
    :math:`\omega_{kv}^{1/p}`, averaged over the clusters (root of the mean square, by size); the
    axes say how much of their variance each has. Missing cells are drawn at the center of the row's
    cluster, where they add nothing to the distance. Categorical columns are not shown. Spaces of
    `ConvexKMeans` that are spherical are shown as the directions it sees, for which there is no
    such shape.

    Examples
    --------
    >>> from fwkmeans import IMWKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.plotting import ClusterMapDisplay
    >>> from fwkmeans.preprocessing import RangeStandardizer
    >>> X = RangeStandardizer().fit_transform(load_uci("iris", as_frame=False).data)
    >>> model = IMWKMeans(3, p=1.5).fit(X)
    >>> display = ClusterMapDisplay.from_estimator(model, X, features=(2, 3))
    >>> point = model.cluster_centers_[0].copy()  # somewhere on the outline of cluster 0
    >>> point[[2, 3]] = display.outlines[0][17]
    >>> bool(abs(model.transform([point])[0, 0] - display.radii[0]) < 1e-9)
    True
    """

    def __init__(
        self,
        points: FloatArray,
        labels: IntArray,
        centers: FloatArray,
        *,
        outlines: list[FloatArray] | None = None,
        radii: FloatArray | None = None,
        axis_names: tuple[str, str] = ("", ""),
        cluster_names: Any = None,
        equal: bool = False,
    ) -> None:
        self.points = points
        self.labels = labels
        self.centers = centers
        self.outlines = outlines
        self.radii = radii
        self.axis_names = axis_names
        self.cluster_names = cluster_names
        self.equal = equal

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        features: Any = None,
        feature_names: Any = None,
        shapes: bool = True,
        radius: Any = "median",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw rows by the clusters of a fitted model, and the shapes of these.

        Parameters
        ----------
        estimator : estimator of fwkmeans, or Pipeline that ends with one
            The fitted model. Rows are shown as it sees them: after the other steps.
        {X}
        features : pair of str or int, default=None
            Names or positions of the two features to show; None takes the first two weighted
            principal components.
        {feature_names}
        shapes : bool, default=True
            Whether to draw the shapes of the clusters.
        radius : "median", float or array-like of shape (n_clusters,), default="median"
            Distance of the outlines from the centers as `transform` measures it, or the median of
            what clusters measure in the picture.
        {drawn}
        """
        model = model_of(estimator)
        names = names_of(estimator, feature_names)
        table = rows_of(estimator, X)
        labels = model.predict(table)
        metric = metric_of(model, shapes=shapes)
        numeric = metric.numeric
        rows = read_numeric(table_of(table), numeric).astype(np.float64)
        spherical = FittedView.of(model).spherical
        chosen = _chosen(features, names, numeric)
        if spherical:
            rows = np.asarray(unit_rows(rows, spherical))
            if shapes:
                _refuse_spherical(chosen, spherical)
        display = cls._of(rows, labels, metric, chosen, [names[v] for v in numeric], shapes, radius)
        return display.plot(ax, **style)

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        labels: Any,
        *,
        centers: Any = None,
        weights: Any = None,
        p: float = 2.0,
        features: Any = None,
        feature_names: Any = None,
        shapes: bool = True,
        radius: Any = "median",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw rows by any labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows: numbers only.
        labels : array-like of shape (n_samples,)
            Cluster of each row.
        centers : array-like of shape (n_clusters, n_features), default=None
            Centers, in the order of the sorted labels; None takes means.
        weights : array-like of shape (n_clusters, n_features) or (n_features,), default=None
            What multiplies ``|y - c|^p`` in the distance; None is 1.
        p : float, default=2.0
            Exponent of the distance, from 1 to infinity.
        features : pair of str or int, default=None
            Names or positions of the two features to show; None takes the first two weighted
            principal components.
        feature_names : sequence of str, default=None
            Names of the features; None takes those of the frame.
        shapes : bool, default=True
            Whether to draw the shapes of the clusters.
        radius : "median", float or array-like of shape (n_clusters,), default="median"
            Distance of the outlines from the centers, or the median of what clusters measure in
            the picture.
        {drawn}
        """
        check_power(p)
        table = table_of(X)
        rows = read_numeric(table, np.arange(table.shape[1])).astype(np.float64)
        names = name_columns(table)
        if feature_names is not None:
            names = check_names(feature_names, rows.shape[1])
        known, numbers = np.unique(check_labels(labels, len(rows)), return_inverse=True)
        shape = (len(known), rows.shape[1])
        if centers is None:
            centers = np.stack([_means(rows[numbers == k]) for k in range(len(known))])
        points = _matrix(centers, shape, "centers", "one center for each label")
        effective = _matrix(
            1.0 if weights is None else weights, shape, "weights", "one weight for each feature"
        )
        metric = Metric(points, effective, float(p), np.arange(rows.shape[1]))
        chosen = _chosen(features, list(names), metric.numeric)
        display = cls._of(rows, numbers, metric, chosen, list(names), shapes, radius)
        display.cluster_names = known.tolist()
        return display.plot(ax, **style)

    def plot(self, ax: Any = None, *, legend: bool = True, **style: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        {ax}
        legend : bool, default=True
            Whether to name the clusters; more than 30 are only numbered at their centers.
        **style : dict
            Passed on to matplotlib's ``scatter``, for the rows.

        {self}
        """
        own_figure = ax is None
        ax = open_axes(ax, (6.4, 4.6))
        self.ax_, self.figure_ = ax, ax.figure
        others = _limits_with_data(ax)
        self.scatters_, self.outlines_, self.centers_ = [], [], []
        names = range(len(self.centers)) if self.cluster_names is None else self.cluster_names
        size = float(np.clip(4000.0 / len(self.points), 5.0, 24.0))
        for k, name in enumerate(names):
            own = self.points[self.labels == k]
            look = {"color": color_of(k), "marker": marker_of(k), "s": size, "alpha": 0.7}
            look |= {"linewidth": 0, "label": f"{plain(name)} ({len(own)})"}
            look |= {"rasterized": len(self.points) > 5000}
            self.scatters_.append(ax.scatter(*own.T, **scatter_style(style, **look)))
            if self.outlines is not None:
                line = ax.plot(*self.outlines[k].T, color=color_of(k), lw=1.5, zorder=3)
                self.outlines_ += line
            self.centers_.append(_number(ax, self.centers[k], plain(name, 12), color_of(k)))
        self._set_limits(others)
        ax.set(xlabel=plain(self.axis_names[0], 60), ylabel=plain(self.axis_names[1], 60))
        self.legend_ = None
        if legend and len(names) <= 30:
            place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if own_figure else {}
            look = {"frameon": not own_figure, "fontsize": "small"}
            self.legend_ = ax.legend(
                title="cluster (rows)", ncols=1 + (len(names) - 1) // 16, **look, **place
            )
            for handle in self.legend_.legend_handles:
                handle.set_sizes([30.0])
        return self

    @classmethod
    def _of(
        cls,
        rows: FloatArray,
        labels: IntArray,
        metric: Metric,
        chosen: IntArray | None,
        names: list[Any],
        shapes: bool,
        radius: Any,
    ) -> Self:
        """Return the display: the plane, the places on it, the outlines."""
        sizes = np.bincount(labels, minlength=len(metric.centers)).astype(np.float64)
        filled = np.where(np.isnan(rows), metric.centers[labels], rows)
        if chosen is not None:
            plane = plane_of_features(int(chosen[0]), int(chosen[1]), rows.shape[1])
            titles = (str(names[chosen[0]]), str(names[chosen[1]]))
        else:
            plane = plane_of_components(filled, mean_scales(metric, sizes))
            assert plane.shares is not None
            first, second = map(percent, plane.shares)
            titles = (f"weighted component 1 ({first})", f"weighted component 2 ({second})")
        points, centers = plane.project(filled), plane.project(metric.centers)
        outlines = radii = None
        if shapes:
            radii = _radii(radius, plane, points, labels, centers, metric)
            spans = np.ptp(points, axis=0)
            spans = np.where(spans > 0, spans, 1.0)
            outlines = [
                centers[k] + radii[k] * outline(plane, spans, metric.scales[k], metric.p)
                for k in range(len(centers))
            ]
        return cls(
            points,
            labels,
            centers,
            outlines=outlines,
            radii=radii,
            axis_names=titles,
            equal=chosen is None,
        )

    def _set_limits(self, others: FloatArray) -> None:
        """Show all rows and centers, and of very long shapes only the part near the rows.

        What the axes, or axes that share their limits, had to show before stays in the picture.
        """
        every = np.concatenate([self.points, self.centers])
        every = every[np.isfinite(every).all(axis=1)]
        low, high = every.min(axis=0), every.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        for line in self.outlines or []:
            inside = np.clip(
                line[np.isfinite(line).all(axis=1)], low - 0.3 * span, high + 0.3 * span
            )
            every = np.concatenate([every, inside])
        low, high = every.min(axis=0) - 0.04 * span, every.max(axis=0) + 0.04 * span
        low, high = np.fmin(low, others[0]), np.fmax(high, others[1])
        if self.equal:
            # limits that are shared both ways cannot give way, so the box must
            box = all(len(_sharing(self.ax_, which)) > 1 for which in "xy")
            self.ax_.set_aspect("equal", adjustable="box" if box else "datalim")
        # not fixed: matplotlib widens one of them to give both axes the same unit
        self.ax_.set_xlim(low[0], high[0], auto=self.equal)
        self.ax_.set_ylim(low[1], high[1], auto=self.equal)


def _sharing(ax: Any, which: str) -> list[Any]:
    """Return all axes that have the limits of these along x or y, these among them."""
    return list(getattr(ax, f"get_shared_{which}_axes")().get_siblings(ax))


def _limits_with_data(ax: Any) -> FloatArray:
    """Return low and high limits of what is drawn already: (2, 2), NaN where there is nothing."""
    limits = np.full((2, 2), np.nan)
    for v, which in enumerate("xy"):
        if any(one.has_data() for one in _sharing(ax, which)):
            limits[:, v] = getattr(ax, f"get_{which}lim")()
    return limits


def _radii(
    radius: Any,
    plane: Plane,
    points: FloatArray,
    labels: IntArray,
    centers: FloatArray,
    metric: Metric,
) -> FloatArray:
    """Return the distance of each outline: as given, or the median of the cluster's own rows."""
    n_clusters = len(centers)
    if isinstance(radius, str) and radius == "median":
        radii = np.full(n_clusters, np.nan)
        for k in np.unique(labels):
            steps = points[labels == k] - centers[k]
            radii[k] = np.median(plane.distances(steps, metric.scales[k], metric.p))
        return radii
    try:
        radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), (n_clusters,)).copy()
    except (TypeError, ValueError):
        radii = np.full(n_clusters, -1.0)
    if not (np.isfinite(radii) & (radii > 0)).all():
        raise ValueError(
            f"radius={radius!r}: expected 'median', a number > 0, or one for each of the "
            f"{n_clusters} clusters."
        )
    return radii


def _chosen(features: Any, names: list[Any], numeric: IntArray) -> IntArray | None:
    """Return the positions of two features among the numeric ones, None for components."""
    if features is None:
        if numeric.size < 2:
            raise ValueError(
                f"A map needs two numeric features; there is {numeric.size or 'none'}. Use "
                "ClusterProfilesDisplay instead."
            )
        return None
    chosen = resolve_columns(features, names, len(names), "features")
    if chosen.size != 2:
        raise ValueError(
            f"features={features!r} gives {chosen.size} features; a map shows two. Give two names "
            "or positions, or None for principal components."
        )
    for v in chosen:
        if v not in numeric:
            raise ValueError(
                f"features has {names[v]!r}, a categorical column; a map shows numbers. Give two "
                "numeric columns."
            )
    return np.searchsorted(numeric, chosen)


def _refuse_spherical(chosen: IntArray | None, spaces: list[IntArray]) -> None:
    if chosen is None or np.isin(chosen, np.concatenate(spaces)).any():
        raise ValueError(
            "The model compares directions in spherical spaces, where clusters have no Minkowski "
            "shape. Set shapes=False, or give two features outside of these spaces."
        )


def _matrix(values: Any, shape: tuple[int, int], what: str, expected: str) -> FloatArray:
    values = np.asarray(values, dtype=np.float64)
    if values.shape not in ((), shape[1:], shape):
        raise ValueError(f"{what} has shape {values.shape}; expected {shape}: {expected}.")
    if not np.isfinite(values).all() or (what == "weights" and (values < 0).any()):
        raise ValueError(f"{what} has values that are not finite numbers >= 0. Check them.")
    return np.broadcast_to(values, shape)


def _means(rows: FloatArray) -> FloatArray:
    """Return the means of the cells that are there; zero in a column without any."""
    there = ~np.isnan(rows)
    return np.asarray(np.where(there, rows, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))


def _number(ax: Any, place: FloatArray, text: str, color: str) -> Any:
    """Write the name of a cluster at its center."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": color, "alpha": 0.85}
    look = {"fontsize": 8, "color": "black", "ha": "center", "va": "center", "zorder": 4}
    return ax.text(*place, text, bbox=box, clip_on=True, **look)
