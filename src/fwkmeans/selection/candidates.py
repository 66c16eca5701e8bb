"""The partitions that the settings of a grid lead to."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, gen_batches

from fwkmeans._engine import first_lowest
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.courses import course_of
from fwkmeans.estimators.starts import n_starts_of
from fwkmeans.selection.sweep import COMMON, Sweep, sweep
from fwkmeans.typing import LabelArray

logger = logging.getLogger("fwkmeans")

Settings = Mapping[str, Any]

#: The number of labels that may be in memory at once, of all starts of a batch.
LABELS = 1 << 26


class Partition(NamedTuple):
    """What the best start at one setting has found."""

    labels: LabelArray
    objective: float
    n_iter: int
    converged: bool
    seconds: float


def run_settings(
    estimator: Any, settings: Sequence[Settings], X: Any, fit_params: Settings
) -> list[Partition | Exception]:
    """Return what the estimator finds at each setting, or the error that it raises.

    If a parameter of the engine varies, all starts at all its values run as one batch.
    """
    found: dict[int, Partition | Exception] = {}
    swept = _swept(estimator, settings)
    for places in _alike(settings, swept):
        if swept is not None and len(places) > 1:
            found |= _run_batch(estimator, settings, places, swept, X, fit_params)
        for at in places:
            if at not in found:
                found[at] = _run_one(estimator, settings[at], X, fit_params)
        logger.info("%d of %d candidates are fitted", len(found), len(settings))
    return [found[at] for at in range(len(settings))]


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the last step of a pipeline."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def name_in_last_step(estimator: Any, parameter: str) -> str:
    """Return the name of a parameter, with the steps of a pipeline before it."""
    if not isinstance(estimator, Pipeline):
        return parameter
    step, last = estimator.steps[-1]
    return f"{step}__{name_in_last_step(last, parameter)}"


def with_seeds(estimator: Any) -> Any:
    """Return a clone whose random states are integers, so that it repeats itself."""
    model = clone(estimator)
    states = {
        name: int(check_random_state(value).randint(2**31 - 1))
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and not isinstance(value, Integral)
    }
    return model.set_params(**states)


def _swept(estimator: Any, settings: Sequence[Settings]) -> str | None:
    """Return the parameter that varies most within a batch; None if there is no such batch."""
    if not isinstance(estimator, BaseFeatureWeightedKMeans) or not estimator._is_one_batch:
        return None
    values: dict[str, set[str]] = {}
    for one in settings:
        for name, value in one.items():
            values.setdefault(name, set()).add(joblib.hash(value))
    # each number of clusters is a batch of its own, so it comes last
    names = [name for name in values if name not in COMMON and "__" not in name]
    names.sort(key=lambda name: (name == "n_clusters", -len(values[name])))
    return names[0] if names else None


def _alike(settings: Sequence[Settings], swept: str | None) -> list[list[int]]:
    """Return which settings differ in one parameter only."""
    alike: dict[str, list[int]] = {}
    for at, one in enumerate(settings):
        others = {name: value for name, value in one.items() if name != swept}
        key = joblib.hash((others, swept in one)) if swept is not None else str(at)
        alike.setdefault(key, []).append(at)
    return list(alike.values())


def _run_batch(
    estimator: Any,
    settings: Sequence[Settings],
    places: list[int],
    swept: str,
    X: Any,
    fit_params: Settings,
) -> dict[int, Partition]:
    """Return the partitions at these settings; nothing if one fails, for it must fail alone.

    Nothing either if settings differ in their number of starts, or starts may race.
    """
    if swept not in settings[places[0]]:
        return {}
    models = [clone(estimator).set_params(**settings[at]) for at in places]
    model, found = models[0], dict[int, Partition]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            n_starts, *others = {n_starts_of(one) for one in models}
        n_rows = _n_rows(X)
        if others or any(course_of(one, n_rows) is not None for one in models):
            return {}
        for some in gen_batches(len(places), max(1, LABELS // (n_rows * n_starts))):
            begin = time.perf_counter()
            values = [settings[at][swept] for at in places[some]]
            weights = fit_params.get("sample_weight")
            runs = sweep(model, X, swept, values, n_starts=n_starts, sample_weight=weights)
            seconds = (time.perf_counter() - begin) / len(values)
            found |= _best_starts(runs, places[some], seconds)
    except Exception:
        return {}
    return found


def _n_rows(X: Any) -> int:
    """Return the number of rows; a large one if it is not known."""
    shape = getattr(X, "shape", None)
    return max(1, shape[0] if shape else len(X) if isinstance(X, list | tuple) else LABELS)


def _best_starts(runs: Sweep, places: list[int], seconds: float) -> dict[int, Partition]:
    found = {}
    for own, at in enumerate(places):
        best = first_lowest(runs.objective[own])
        if np.isfinite(runs.objective[own, best]):
            found[at] = Partition(
                runs.labels[own, best].copy(),
                float(runs.objective[own, best]),
                int(runs.n_iter[own, best]),
                bool(runs.converged[own, best]),
                seconds,
            )
    return found


def _run_one(
    estimator: Any, settings: Settings, X: Any, fit_params: Settings
) -> Partition | Exception:
    # parameters may be estimators themselves: every fit has its own
    own = {name: clone(value, safe=False) for name, value in settings.items()}
    model = clone(estimator).set_params(**own)
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the result says how it ended
            model.fit(X, **fit_params)
    except Exception as error:  # as in scikit-learn's searches, the others go on
        return error
    last = last_step(model)
    labels = last.labels_ if hasattr(last, "labels_") else model.predict(X)
    return Partition(
        np.asarray(labels),
        float(getattr(last, "inertia_", np.nan)),
        int(getattr(last, "n_iter_", 0)),
        bool(getattr(last, "converged_", True)),
        time.perf_counter() - begin,
    )
