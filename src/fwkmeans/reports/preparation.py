"""What happened to the table before the algorithm saw it, and which column became which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fwkmeans._support.text import printable
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.fitted import FittedView
from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from fwkmeans.reports.table import names_of
from fwkmeans.typing import IntArray

#: Steps of scikit-learn that are common enough to be told in words.
_KNOWN = {
    "ColumnTransformer": "Different columns were prepared in different ways (ColumnTransformer).",
    "MinMaxScaler": "Every number was brought to the range from 0 to 1.",
    "OneHotEncoder": "Every category became a column of zeros and ones.",
    "OrdinalEncoder": "Categories were replaced by numbers.",
    "PCA": "The columns were replaced by their principal components.",
    "RobustScaler": "From every number the median of its column was subtracted; the result was "
    "divided by the width of the middle half.",
    "SimpleImputer": "Missing cells were filled.",
    "StandardScaler": "From every number the mean of its column was subtracted; the result was "
    "divided by the standard deviation.",
}


class Prepared(NamedTuple):
    """The table as the algorithm sees it, and where its columns come from."""

    rows: Any
    names: list[str]
    origins: IntArray  # position of the original column; -1: computed from several, or unknown
    categorical: IntArray | None  # original columns that hold categories; None: see their types


def split(model: Any) -> tuple[list[Any], BaseFeatureWeightedKMeans]:
    """Return the steps before the algorithm, and it; all are fitted."""
    steps = []
    estimator = model
    if isinstance(model, Pipeline):
        every = [step for _, step in model.steps]
        steps = [step for step in every[:-1] if step is not None and step != "passthrough"]
        estimator = every[-1]
    if not isinstance(estimator, BaseFeatureWeightedKMeans):
        raise TypeError(
            f"model is {type(estimator).__name__}; expected an estimator of fwkmeans, or a "
            "scikit-learn Pipeline whose last step is one."
        )
    for step in (*steps, estimator):
        check_is_fitted(step)
    return steps, estimator


def prepare(
    steps: Sequence[Any], estimator: Any, X: Any, names: Sequence[str], prepared: Any = None
) -> Prepared:
    """Run the steps before the algorithm on the table and follow its columns.

    If it is known what the algorithm sees (`prepared`), the only step is not run again.
    """
    rows, current = X, list(names)
    origins: IntArray = np.arange(len(current))
    for step in steps:
        came_from, after = _trace(step, current)
        rows = prepared if prepared is not None and len(steps) == 1 else step.transform(rows)
        if len(after) != rows.shape[1]:  # a step that says nothing about its columns
            came_from, after = np.full(rows.shape[1], -1), names_of(rows)
        origins = np.where(came_from >= 0, origins[came_from], -1)
        current = after
    return Prepared(rows, current, origins, _categorical(steps, estimator))


def describe_steps(steps: Sequence[Any], *, has_missing: bool) -> list[str]:
    """Return what the steps before the algorithm did to the table, in sentences."""
    sentences = [sentence for step in steps for sentence in _describe(step, has_missing)]
    return sentences or ["The columns were used as they are."]


def _categorical(steps: Sequence[Any], estimator: Any) -> IntArray | None:
    if steps:
        first = steps[0]
        return first.categorical_features_ if isinstance(first, TableEncoder) else None
    coding = FittedView.of(estimator).coding
    return None if coding is None else coding.categorical


def _trace(step: Any, names: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Return for each column that a step puts out which input it comes from, and its name."""
    n_inputs = len(names)
    inputs = list(names)
    after = inputs
    if hasattr(step, "get_feature_names_out"):
        known = getattr(step, "feature_names_in_", None)
        inputs = inputs if known is None else [str(name) for name in known]
        after = [
            printable(n) for n in step.get_feature_names_out(None if known is not None else names)
        ]
    if hasattr(step, "origins_"):
        return np.asarray(step.origins_, dtype=np.int64), after
    if hasattr(step, "get_support"):
        return np.flatnonzero(step.get_support()), after
    if isinstance(step, RangeStandardizer):
        return np.flatnonzero(step.support_), after
    if isinstance(step, OneToOneFeatureMixin) or after is names:
        return np.arange(n_inputs), after
    return np.array([_by_name(name, inputs) for name in after], dtype=np.int64), after


def _by_name(name: str, inputs: Sequence[str]) -> int:
    """Return the input that an output's name speaks of (``num__size``, ``color_red``), or -1."""
    candidates = [name]
    if "__" in name:
        candidates.append(name.partition("__")[2])
    for candidate in candidates:
        if candidate in inputs:
            return inputs.index(candidate)
    starts = [
        (len(one), v)
        for v, one in enumerate(inputs)
        if any(candidate.startswith((f"{one}_", f"{one}=")) for candidate in candidates)
    ]
    return max(starts)[1] if starts else -1


def _describe(step: Any, has_missing: bool) -> list[str]:
    if isinstance(step, RangeStandardizer):
        return [_STANDARDIZED]
    if isinstance(step, TableEncoder):
        return _describe_encoder(step, has_missing)
    kind = type(step).__name__
    if kind == "SimpleImputer" and not has_missing:
        return []
    return [_KNOWN.get(kind, f"The columns went through {kind}.")]


_STANDARDIZED = (
    "From every number the mean of its column was subtracted; the result was divided by the "
    "column's range, so that all columns have the same width."
)


def _describe_encoder(encoder: TableEncoder, has_missing: bool) -> list[str]:
    sentences = []
    if encoder.numerical_features_.size and encoder.standardize:
        sentences.append(_STANDARDIZED)
    elif encoder.numerical_features_.size:
        sentences.append("Numbers were left as they are, in the units of the table.")
    if encoder.categorical_features_.size and encoder.categorical == "keep":
        sentences.append("Categories were left as they are; the algorithm compares them itself.")
    elif encoder.categorical_features_.size:
        sentences.append(
            "Every category became a column of zeros and ones, minus its mean. The weights of "
            "these columns are added up in this report, so that each column of the table has one "
            "weight."
        )
    if encoder.impute == "median" and has_missing:
        sentences.append(
            "Missing numbers were replaced by the median of their column, missing categories by "
            "the most common one."
        )
    return sentences
