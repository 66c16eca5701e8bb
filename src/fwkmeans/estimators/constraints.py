"""The valid values of parameters: one table for those that all estimators share.

An estimator lists its own parameters in ``_constraints``; those of a weight rule come from the
rule. Parameters that name columns (`groups`, `spaces`, `categorical_features`, ...) are not here:
they depend on the table, and are checked when it is read.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from fwkmeans._init import INITIALIZATIONS
from fwkmeans._support.checks import (
    BOOLEAN,
    CALLABLE,
    CATEGORY_WEIGHT,
    JOBS,
    NONE,
    RANDOM_STATE,
    Constraint,
    integer,
    number,
    one_of,
    several,
)
from fwkmeans._support.checks import check_parameters as check_against
from fwkmeans.estimators.model import Model

__all__ = ["SHARED", "accepts", "check_parameters"]

#: Parameters that mean the same in every estimator that has them.
SHARED: Mapping[str, Constraint] = {
    "n_clusters": integer(1) | NONE,
    "init": one_of(*INITIALIZATIONS, "anomalous") | several("an array of centers") | CALLABLE,
    "n_init": one_of("auto") | integer(1),
    "weight_init": one_of("uniform", "random") | several("an array of weights"),
    "max_iter": integer(1),
    "tol": number("a finite number >= 0", lambda tol: tol >= 0),
    "missing": one_of("error", "ignore", "rescale"),
    "category_weight": CATEGORY_WEIGHT,
    "missing_category": one_of("same", "own"),
    "handle_unknown": one_of("ignore", "error").but("'ignore' is what 'mismatch' was."),
    "n_jobs": JOBS,
    "verbose": BOOLEAN | integer(0),
    "random_state": RANDOM_STATE,
}


def check_parameters(estimator: Model) -> None:
    """Raise an error that says which parameter is wrong, what is expected and what to do."""
    kind: Any = type(estimator)
    check_against(estimator, _known(kind))
    _check_number_of_clusters(estimator)


def accepts(estimator: type, name: str, value: Any) -> bool:
    """Tell whether an estimator has a parameter, and this value is allowed for it."""
    known = _known(estimator)
    has_it = name in inspect.signature(estimator).parameters
    return has_it and (name not in known or known[name].holds(value))


def _check_number_of_clusters(estimator: Model) -> None:
    """Raise if the number of clusters is neither given nor found."""
    if "init" not in vars(estimator):  # it looks for the number by itself
        return
    finds = isinstance(estimator.init, str) and estimator.init in ("anomalous", "auto")
    if estimator.n_clusters is None and not finds:
        raise ValueError(
            "n_clusters=None: the number of clusters is found by init='anomalous' only. Give a "
            "number, or set init='anomalous'."
        )


@functools.cache
def _known(estimator: Model) -> Mapping[str, Constraint]:
    return {**SHARED, **getattr(estimator, "_constraints", {})}
