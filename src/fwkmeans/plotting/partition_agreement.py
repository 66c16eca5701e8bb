"""How far partitions of the same rows agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans.plotting.axes import draw_heat_map, plain
from fwkmeans.plotting.docstrings import documented
from fwkmeans.plotting.models import check_labels, model_of
from fwkmeans.plotting.style import SEQUENTIAL
from fwkmeans.typing import FloatArray

_KINDS = ("auto", "agreement", "contingency")


@documented
class PartitionAgreementDisplay:
    """Matrix of adjusted Rand indices between partitions, or the counts shared by two of them.

    Use `from_estimator`, `from_estimators` or `from_predictions`, which compute and draw. The
    constructor only keeps its arguments; `plot` draws them.

    Parameters
    ----------
    names : sequence of str
        Names of the partitions.
    agreement : ndarray of shape (n_partitions, n_partitions)
        Adjusted Rand index of each pair: 1 for the same partition, 0 as for chance.
    counts : ndarray of shape (n_first, n_second), default=None
        If there are two partitions: number of rows in each pair of their clusters.
    clusters : pair of sequences, default=None
        Labels along the rows and columns of `counts`.

    Attributes
    ----------
    {axes}
    im_ : matplotlib AxesImage
        The matrix as it is shown.
    {heat map}

    See Also
    --------
    sklearn.metrics.adjusted_rand_score : The index of a pair.

    Notes
    -----
    Clusters of two partitions have no common numbers. The columns of the counts are put in the
    order in which the diagonal holds as many rows as possible.

    Examples
    --------
    >>> from fwkmeans import KMeans, WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.plotting import PartitionAgreementDisplay
    >>> X, y = load_uci("iris", return_X_y=True)
    >>> partitions = {
    ...     "species": y,
    ...     "K-Means": KMeans(3, random_state=0).fit_predict(X),
    ...     "WK-Means": WKMeans(3, random_state=0).fit_predict(X),
    ... }
    >>> display = PartitionAgreementDisplay.from_predictions(partitions)
    >>> display.agreement.round(2)[0].tolist()
    [1.0, 0.73, 0.74]
    """

    def __init__(
        self, names: Any, agreement: FloatArray, *, counts: Any = None, clusters: Any = None
    ) -> None:
        self.names = names
        self.agreement = agreement
        self.counts = counts
        self.clusters = clusters

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        y_name: str = "classes",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the counts that the clusters of a fitted model share with known classes.

        Parameters
        ----------
        {estimator}
        X : array-like or frame of shape (n_samples, n_features), or None
            Rows whose labels are predicted; None takes the labels of the rows of `fit`.
        y : array-like of shape (n_samples,)
            Classes of these rows, or another partition of them.
        name : str, default=None
            Name of the clusters; None takes that of the model's class.
        y_name : str, default="classes"
            Name of the classes.
        {ax}
        **style : dict
            Passed on to `plot`.

        Returns
        -------
        display : PartitionAgreementDisplay
            The display, drawn: classes are rows, clusters are columns.
        """
        model = model_of(estimator)
        labels = model.labels_ if X is None else estimator.predict(X)
        name = type(model).__name__ if name is None else name
        if name == y_name:
            raise ValueError(f"name and y_name are both {name!r}; give two different ones.")
        partitions = {y_name: check_labels(y, len(labels), "y"), name: labels}
        return cls.from_predictions(partitions, ax=ax, **style)

    @classmethod
    def from_estimators(
        cls, estimators: Any, X: Any = None, *, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the agreement of fitted models.

        Parameters
        ----------
        estimators : dict of str to estimator of fwkmeans, or Pipeline that ends with one
            The fitted models, by name.
        X : array-like or frame of shape (n_samples, n_features), default=None
            Rows whose labels are predicted; None takes the labels of the rows of `fit`.
        {drawn}
        """
        _check_mapping(estimators, "estimators", "fitted model")
        partitions = {}
        for name, estimator in estimators.items():
            model = model_of(estimator)
            partitions[name] = model.labels_ if X is None else estimator.predict(X)
        return cls.from_predictions(partitions, ax=ax, **style)

    @classmethod
    def from_predictions(cls, partitions: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the agreement of labels, wherever they come from.

        Parameters
        ----------
        partitions : dict of str to array-like of shape (n_samples,)
            Labels of the same rows, by name. Classes known beforehand may be among them.
        {drawn}
        """
        _check_mapping(partitions, "partitions", "labels")
        labels = [check_labels(one, what=f"The partition {n!r}") for n, one in partitions.items()]
        if len({one.size for one in labels}) > 1:
            sizes = ", ".join(
                f"{n!r} {one.size}" for n, one in zip(partitions, labels, strict=True)
            )
            raise ValueError(f"Partitions have different numbers of rows: {sizes}. Give the same.")
        agreement = np.ones((len(labels), len(labels)))
        for i, j in zip(*np.tril_indices(len(labels), -1), strict=True):
            agreement[i, j] = agreement[j, i] = adjusted_rand_score(labels[i], labels[j])
        counts = clusters = None
        if len(labels) == 2:
            counts, clusters = _contingency(*labels)
        return cls(list(partitions), agreement, counts=counts, clusters=clusters).plot(ax, **style)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "auto",
        include_values: bool = True,
        colorbar: bool = True,
        **style: Any,
    ) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        {ax}
        kind : {"auto", "agreement", "contingency"}, default="auto"
            Indices of all pairs, or counts of the only pair. "auto" shows counts if there are two
            partitions.
        {cells}

        {self}
        """
        if kind not in _KINDS:
            raise ValueError(f"kind={kind!r}: expected one of {', '.join(map(repr, _KINDS))}.")
        if kind == "contingency" and self.counts is None:
            raise ValueError(
                f"kind='contingency' shows two partitions; there are {len(self.names)}. Give two, "
                "or take kind='agreement'."
            )
        pair = self.counts is not None and kind != "agreement"
        matrix = np.asarray(self.counts if pair else self.agreement)
        rows, columns = self.clusters if pair else (self.names, self.names)
        titles = {}
        if pair:
            titles = {"ylabel": plain(self.names[0]), "xlabel": plain(self.names[1])}
            titles["title"] = f"adjusted Rand index {self.agreement[0, 1]:.2f}"
        texts = [[str(cell) if pair else f"{cell:.2f}" for cell in row] for row in matrix]
        draw_heat_map(
            self,
            ax,
            matrix,
            (rows, columns),
            "rows" if pair else "adjusted Rand index",
            texts if include_values else None,
            titles=titles,
            letters=5,
            colorbar=colorbar,
            style=style,
            cmap=SEQUENTIAL,
            vmin=0.0,
            **({} if pair else {"vmax": 1.0}),
        )
        return self


def _check_mapping(given: Any, what: str, of: str) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{what} is {type(given).__name__}; expected a dict with the name of each {of}."
        )
    if len(given) < 2:
        raise ValueError(f"{what} has {len(given)} entries; agreement needs at least two.")


def _contingency(first: Any, second: Any) -> tuple[Any, tuple[list[Any], list[Any]]]:
    """Return the counts of pairs of clusters, columns in the order that fills the diagonal."""
    counts = contingency_matrix(first, second)
    rows, columns = linear_sum_assignment(-counts)
    free = np.setdiff1d(np.arange(counts.shape[1]), columns)
    place = np.concatenate([rows, np.full(free.size, len(counts))])
    order = np.concatenate([columns, free])[np.argsort(place, kind="stable")]
    return counts[:, order], (np.unique(first).tolist(), np.unique(second)[order].tolist())
