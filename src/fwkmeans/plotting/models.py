"""What displays must know of a fitted model: its names, its rows, how it measures distance."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fwkmeans._tabular.columns import as_table, default_names
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.fitted import FittedView
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.typing import FloatArray, IntArray


class Metric(NamedTuple):
    """How far rows are from centers: root of ``sum_v w |y - c|^p`` over the numeric columns."""

    centers: FloatArray  # (K, Mn)
    weights: FloatArray  # (K, Mn) as they enter the objective
    p: float
    numeric: IntArray  # (Mn,) positions among the features

    @property
    def scales(self) -> FloatArray:
        """What differences are multiplied by in each cluster: the p-norm is then the distance."""
        return self.weights if np.isinf(self.p) else np.power(self.weights, 1.0 / self.p)


def model_of(estimator: Any) -> Any:
    """Return the fitted model: the estimator, or the last step of a pipeline."""
    model = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(model, BaseFeatureWeightedKMeans):
        inside = "A pipeline that ends with " if isinstance(estimator, Pipeline) else ""
        raise TypeError(
            f"{inside}{_kind(model)} cannot be shown; expected an estimator of fwkmeans, or a "
            "pipeline that ends with one. For other models use from_predictions."
        )
    check_is_fitted(model, "cluster_centers_")
    return model


def table_of(X: Any) -> Any:
    """Return a frame, or an array of two dimensions; raise if the rows are not in memory."""
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X is the path {str(X)!r}; displays and reports show rows that are in memory. Give "
            "the rows, or some of them: numpy.load(path, mmap_mode='r')[::100]."
        )
    if hasattr(X, "collect") and not hasattr(X, "__array__"):
        raise TypeError(f"X is a lazy {type(X).__name__}; give X.collect().")
    return as_table(X, input_name="X")


def categorical_of(estimator: Any) -> Any:
    """Return which columns of the table before all steps are categorical, as far as one can tell.

    They are those of the model, or those of a `TableEncoder` before it, if all other steps keep the
    columns where they are; else "from_dtype".
    """
    for step in [step for _, step in estimator.steps[:-1]] if _is_pipeline(estimator) else []:
        if isinstance(step, TableEncoder):
            return step.categorical_features_
        if not (isinstance(step, OneToOneFeatureMixin) or step in (None, "passthrough")):
            return "from_dtype"
    known = FittedView.of(model_of(estimator)).layout.categorical
    return known if known.size or not _is_pipeline(estimator) else "from_dtype"


def rows_of(estimator: Any, X: Any) -> Any:
    """Return the rows as the model sees them: through the steps before it, in a pipeline."""
    if isinstance(X, str | PathLike):
        table_of(X)
    if _is_pipeline(estimator) and len(estimator.steps) > 1:
        return estimator[:-1].transform(X)
    return X


def names_of(estimator: Any, feature_names: Any = None) -> list[Any]:
    """Return names of the model's features: as given, as seen in fit, or x0, x1, ..."""
    model = model_of(estimator)
    n_features = model.n_features_in_
    if feature_names is not None:
        return check_names(feature_names, n_features)
    if hasattr(model, "feature_names_in_"):
        return list(model.feature_names_in_)
    if _is_pipeline(estimator) and len(estimator.steps) > 1:
        try:
            return list(estimator[:-1].get_feature_names_out())
        except (AttributeError, ValueError):  # a step that does not tell
            pass
    return default_names(n_features)


def check_names(names: Any, n_features: int) -> list[Any]:
    """Return the names as a list; raise unless there is one for each feature."""
    if isinstance(names, str):
        raise TypeError(f"feature_names={names!r} is one string; expected a list of names.")
    listed: list[Any] = list(names)
    if len(listed) != n_features:
        raise ValueError(
            f"feature_names has {len(listed)} names for {n_features} features. Give one for each."
        )
    return listed


def check_labels(labels: Any, n_rows: int | None = None, what: str = "labels") -> Any:
    """Return labels as an array of one dimension; raise unless there is one for each row."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or not labels.size:
        raise ValueError(
            f"{what} has shape {labels.shape}; expected one label for each row: (n_samples,)."
        )
    if n_rows is not None and labels.size != n_rows:
        raise ValueError(f"{what} has {labels.size} labels for {n_rows} rows. Give one for each.")
    if labels.dtype == object:
        kinds = {"text" if isinstance(one, str) else _kind_of_label(one) for one in labels}
        if len(kinds) > 1:
            raise ValueError(
                f"{what} has {' and '.join(sorted(kinds))}, which have no common order. Use one "
                "kind of label; name the rows without one, such as 'none'."
            )
    return labels


def sizes_of(model: Any) -> IntArray:
    """Return the number of rows of each cluster in `fit`."""
    return np.bincount(model.labels_, minlength=model.n_clusters_)


def metric_of(model: Any, *, shapes: bool = True) -> Metric:
    """Return how a fitted model measures distance; squares stand for what has no exponent."""
    view = FittedView.of(model)
    if view.power is None and shapes:
        raise ValueError(
            f"{view.recipe.dissimilarity!r} is not a Minkowski dissimilarity, so clusters have no "
            "shape that could be drawn. Set shapes=False."
        )
    weights = view.layout.numbers_of(view.effective_weights * view.scale)
    return Metric(view.points, weights, view.power or 2.0, view.layout.numeric)


def _kind_of_label(label: Any) -> str:
    if label is None:
        return "None"
    return "numbers" if isinstance(label, Real) else f"values of type {type(label).__name__}"


def _is_pipeline(estimator: Any) -> bool:
    return isinstance(estimator, Pipeline)


def _kind(thing: Any) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else type(thing).__name__
