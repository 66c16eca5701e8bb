"""What a fitted model says about its clusters, in Python as the command prints it."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
from sklearn.pipeline import Pipeline

from fwkmeans._support.optional import require
from fwkmeans._support.text import harmless
from fwkmeans._tabular.columns import is_frame
from fwkmeans.preprocessing import TablePreparer
from fwkmeans.reports.printed import result_lines
from fwkmeans.reports.summarize import summarize


class ClusterDescription:
    """What the clusters of a model are, to print and to look up.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    library : narwhals.Implementation
        The library of frames to use.
    labels : str, default="classes"
        What known classes are called.

    Attributes
    ----------
    summary : dict
        Everything as plain data.

    See Also
    --------
    describe : Makes one, with an example.
    """

    def __init__(self, summary: dict[str, Any], library: Any, labels: str = "classes") -> None:
        self.summary = summary
        self._library = library
        self._labels = labels

    def __str__(self) -> str:
        """Return what ``fwkmeans fit`` prints."""
        lines = result_lines(self.summary, "The table", self.summary["algorithm"], self._labels)
        return harmless("\n".join(lines))

    def __repr__(self) -> str:
        """Return the same, for notebooks and prompts."""
        return str(self)

    @property
    def feature_weights(self) -> Any:
        """The weight of each column in each cluster, as a frame; they sum to one in a row.

        Where a column was encoded as several, their weights are added.
        """
        rows = {one["name"]: one["weights"] for one in self.summary["clusters"]}
        columns = [one["name"] for one in self.summary["features"]]
        values = {name: [own[name] for own in rows.values()] for name in columns}
        if self._library.is_pandas():
            frames = require("pandas", "Frames of weights", "io")
            return frames.DataFrame(values, index=frames.Index(list(rows), name="cluster"))
        named = {"cluster": list(rows)} | values
        return nw.from_dict(named, backend=self._library).to_native()


def describe(
    model: Any,
    X: Any,
    *,
    classes: Any = None,
    sample_weight: Any = None,
    row_names: Any = None,
    draws: int = 5,
    random_state: Any = 0,
) -> ClusterDescription:
    """Describe the clusters of a fitted model as ``fwkmeans fit`` does; print what it returns.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this package, or a Pipeline whose last step is one, also behind a
        `TablePreparer`.
    X : frame or array-like of shape (n_samples, n_features)
        The table that was given to `fit` of the model.
    classes : array-like of shape (n_samples,), default=None
        Known classes of the rows, to compare the clusters with.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row, as given to `fit`.
    row_names : array-like of shape (n_samples,), default=None
        Names of the rows.
    draws : int, default=5
        How often parts of the rows are clustered again, to see how stable the clusters are; 0
        leaves this out.
    random_state : int, RandomState instance or None, default=0
        Determines these draws.

    Returns
    -------
    description : ClusterDescription
        Its text says how many clusters there are and how stable, which columns tell them apart,
        and what each of them is: in which columns it is high or low. `feature_weights` is a frame
        with names.

    See Also
    --------
    summarize : The same as plain data.
    write_report : A page with figures.

    Examples
    --------
    >>> import fwkmeans
    >>> from fwkmeans.datasets import load_uci
    >>> iris = load_uci("iris")
    >>> model = fwkmeans.WKMeans(3, random_state=0).fit(iris.data)
    >>> description = fwkmeans.describe(model, iris.data, draws=0)
    >>> print(description)  # doctest: +ELLIPSIS
    The table: 150 rows, 4 columns, 3 clusters by WK-Means
    ...
    >>> description.feature_weights.shape
    (3, 4)
    """
    if isinstance(model, Pipeline) and isinstance(model.steps[0][1], TablePreparer):
        X = model.steps[0][1].transform(X)
        model = model.steps[-1][1] if len(model.steps) == 2 else Pipeline(model.steps[1:])
    library = nw.from_native(X, eager_only=True).implementation if is_frame(X) else None
    if library is None or library.is_pyarrow():
        library = nw.Implementation.PANDAS
    summary = summarize(
        model,
        X,
        classes=classes,
        sample_weight=sample_weight,
        row_names=row_names,
        draws=draws,
        random_state=random_state,
    )
    return ClusterDescription(summary, library)
