"""Models in files that are safe to open.

A model file is a zip archive with one member ``model.json``, which says what the model is made of,
and one ``.npy`` member for each array. Nothing in it is code: classes are named, and only those of
a fixed list are built. All members are stored uncompressed, so that a file is as large as what it
unpacks to, and every array is checked before the compiled core may see it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fwkmeans import __version__
from fwkmeans._engine import Recipe
from fwkmeans._support.archive import Reader, RefusedError, Writer, write_archive
from fwkmeans._tabular.coding import Coding
from fwkmeans._tabular.layout import Layout
from fwkmeans.centers import CENTER_RULES
from fwkmeans.dissimilarities import DISSIMILARITIES
from fwkmeans.estimators import ALGORITHMS, FeatureWeightedKMeans
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.fitted import FittedView
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.typing import Description, Pass
from fwkmeans.weighting import WEIGHT_RULES

__all__ = ["load_model", "save_model"]

FORMAT = "fwkmeans-model"
VERSION = 1

_MODELS: tuple[type, ...] = (
    *ALGORITHMS.values(),
    FeatureWeightedKMeans,
    Pipeline,
    RangeStandardizer,
    TableEncoder,
)
_PARTS: tuple[type, ...] = (
    *WEIGHT_RULES.values(),
    *DISSIMILARITIES.values(),
    *CENTER_RULES.values(),
)
_RECORDS: tuple[type, ...] = (Coding, Description, Layout, Recipe)

#: Every class that may be in a file, by its name there.
_CLASSES: dict[str, type] = {cls.__name__: cls for cls in (*_MODELS, *_PARTS, *_RECORDS)}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that is safe to open.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or a pipeline of such. Parts that users wrote, such as a
        weight rule, are refused: a file cannot hold code.
    path : str or path-like
        The file; ``.fwk`` is the usual suffix. It is written as a whole or not at all.

    Raises
    ------
    TypeError
        If the model holds something that is not part of this package.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    See Also
    --------
    load_model : Read it again.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fwkmeans import WKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.persistence import load_model, save_model
    >>> X = load_uci("iris", as_frame=False).data
    >>> model = WKMeans(3, random_state=0).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "iris.fwk")
    ...     again = load_model(Path(folder) / "iris.fwk")
    >>> bool((again.predict(X) == model.labels_).all())
    True
    """
    _refuse_strangers(model)
    check_is_fitted(model)
    writer = Writer(_CLASSES)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "fwkmeans": __version__,
        "model": writer.encode(model, type(model).__name__),
    }
    write_archive(path, content, writer)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save_model` wrote.

    Nothing of the file is run: the classes it names are looked up in a fixed list, everything else
    is numbers and text, and what does not fit together is refused.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : estimator
        Equal to the one saved: it predicts, transforms and scores the same to the last bit.

    Raises
    ------
    ValueError
        If the file is not a model, is damaged, or was written in a later version of the format.
    OSError
        If it cannot be read.

    See Also
    --------
    save_model : Write a model, with an example.
    """
    path = Path(path)
    content = io.BytesIO(path.read_bytes())
    try:
        model = _read_model(content)
    except RefusedError as error:
        raise ValueError(f"{path.name} cannot be used: {error}") from None
    except Exception as error:  # whatever a damaged file does to the readers of zip, JSON and .npy
        raise ValueError(
            f"{path.name} cannot be read as a model: it is damaged or not a file of fwkmeans "
            f"({type(error).__name__}). Fit the model again and save it."
        ) from error
    return model


def _read_model(content: io.BytesIO) -> Any:
    """Return the model in an archive, checked."""
    reader = Reader(content, _CLASSES)
    found = reader.read_json()
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise RefusedError("it is not a model file of fwkmeans.")
    if found.get("version") != VERSION:
        raise RefusedError(
            f"its format has version {found.get('version')!r}, and this fwkmeans "
            f"({__version__}) reads version {VERSION}. Install a newer fwkmeans, or save the "
            "model again."
        )
    model = reader.decode(found.get("model"))
    _check_model(model)
    return model


def _refuse_strangers(model: Any) -> None:
    """Raise unless the model is one of ours, or a pipeline of such."""
    if type(model) not in _MODELS:
        kind = type(model)
        raise TypeError(
            f"The model is an object of {kind.__module__}.{kind.__qualname__}; save_model takes "
            "the estimators and transformers of fwkmeans, and pipelines of them."
        )
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step is not None and step != "passthrough":
                _refuse_strangers(step)


# ---- whether it fits together -------------------------------------------------------------------


def _check_model(model: Any) -> None:
    """Raise unless the model is complete: the compiled core trusts the shapes it is given."""
    if type(model) not in _MODELS:
        raise RefusedError(f"it holds {type(model).__name__}, expected an estimator of fwkmeans.")
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                _check_model(step)
        return
    check_is_fitted(model)
    if isinstance(model, BaseFeatureWeightedKMeans):
        _check_clusters(model)
    else:
        _check_transformer(model)


def _check_clusters(model: Any) -> None:
    n_clusters, n_features = len(model.cluster_centers_), model.n_features_in_
    view = FittedView.of(model)
    coding, layout, recipe = view.coding, view.layout, view.recipe
    if coding is not None:
        _want(isinstance(coding, Coding) and coding.n_features == n_features, "its categories")
    _want(n_clusters == model.n_clusters_ > 0, "the number of clusters")
    _want(isinstance(recipe, Recipe), "its parts")
    for part, registry in zip(recipe, (DISSIMILARITIES, CENTER_RULES, WEIGHT_RULES), strict=True):
        _want(type(part) in registry.values(), "its parts")
    _check_description(view.description, layout)
    for bound_to in view.descriptions_of_parts:
        _want(_is_same(bound_to, view.description), "its table")
    for name in ("cluster_centers_", "feature_weights_"):
        _want(getattr(model, name).shape == (n_clusters, n_features), name)
    weights = model.feature_weights_
    _want(weights.dtype == np.float64 and bool(np.all(weights >= 0)), "feature_weights_")
    _want(np.isfinite(weights).all(), "feature_weights_")
    _want(view.frequencies.shape == (n_clusters, layout.n_levels), "its categories")
    labels = model.labels_
    _want(labels.ndim == 1 and labels.dtype == np.int32, "labels_")
    _want(labels.size == 0 or 0 <= labels.min() <= labels.max() < n_clusters, "labels_")
    _check_kernel_input(view.kernel_input, n_clusters, layout)


def _check_kernel_input(assigning: Pass, n_clusters: int, layout: Layout) -> None:
    """Check all that the kernels get from the model."""
    own = assigning.weights.shape[1:2]
    n_categorical = layout.categorical.size
    expected = {
        "centers": (1, n_clusters, layout.n_numeric),
        "weights": (1, *own, layout.n_numeric),
        "offsets": (1, n_clusters),
        "shift": (layout.n_numeric,),
        "power": (1,),
        "costs": (1, n_clusters, layout.n_levels),
        "category_weights": (1, *own, n_categorical),
    }
    _want(own in ((1,), (n_clusters,)), "its weights")
    _want((assigning.costs is None) == layout.is_numeric, "its categories")
    for name, shape in expected.items():
        values = getattr(assigning, name)
        if values is not None:
            _want(values.shape == shape and values.dtype == np.float64, f"its {name}")
            _want(not np.isnan(values).any(), f"its {name}")
            _want(name == "power" or np.isfinite(values).all(), f"its {name}")


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two records hold the same numbers and arrays."""
    if isinstance(other, tuple):
        return type(one) is type(other) and all(map(_is_same, one, other))
    return one is other or bool(np.array_equal(one, other))


def _check_description(table: Any, layout: Layout) -> None:
    _want(isinstance(table, Description) and isinstance(table.layout, Layout), "its table")
    for mine, other in zip(table.layout, layout, strict=True):
        _want(mine.dtype == np.int64 and np.array_equal(mine, other), "its columns")
    places = np.sort(np.concatenate([layout.numeric, layout.categorical]))
    _want(np.array_equal(places, np.arange(layout.n_features)), "its columns")
    for name in ("mean", "scatter", "minimum", "maximum"):
        values = getattr(table, name)
        _want(values.shape == (layout.n_features,) and np.isfinite(values).all(), f"its {name}")
    _want(table.center.shape == (layout.n_numeric + layout.n_levels,), "its center")


def _check_transformer(model: Any) -> None:
    numeric = getattr(model, "numerical_features_", np.arange(model.n_features_in_))
    for name in ("mean_", "range_"):
        values = getattr(model, name)
        _want(values.shape == numeric.shape and values.dtype == np.float64, name)
        _want(np.isfinite(values).all(), name)
    if isinstance(model, RangeStandardizer):
        support = model.support_
        _want(support.shape == numeric.shape and support.dtype == np.bool_, "support_")
        return
    places = np.sort(np.concatenate([numeric, model.categorical_features_]))
    _want(np.array_equal(places, np.arange(model.n_features_in_)), "its columns")
    n_categorical = model.categorical_features_.size
    _want(len(model.categories_) == len(model.frequencies_) == n_categorical, "its categories")
    for categories, frequencies in zip(model.categories_, model.frequencies_, strict=True):
        _want(categories.shape == frequencies.shape, "its categories")


def _want(fits: Any, what: str) -> None:
    if not fits:
        raise RefusedError(f"{what} does not fit the rest of the model, so the file is damaged.")
