"""Random fits of every algorithm on random tables, and what must hold for each of them.

A fit ends with finite results or with an error of ours. Its labels are those of `predict`, its
history does not rise, its weights sum to one and follow their formula, its inertia is the
objective computed again from differences, it gives no warnings but our own, and integer sample
weights count like repeated rows.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from fwkmeans.exceptions import DominantColumnWarning, UnequalSpreadWarning
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    FixedWeights,
    GroupEntropyWeights,
    RadiusWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    UniformWeights,
)
from laws.configurations import CONFIGURATIONS, Configuration

_MIXED = ("AWK", "WK-Means", "FG-K-Means", "IK-P")  # take categories


class Table(NamedTuple):
    """A random table."""

    X: Any  # array, or frame with categories
    weight: Any  # None or array
    plain: bool  # distinct rows of ordinary size: no ties and no lost digits
    gaps: bool

    @property
    def n_rows(self) -> int:
        return len(self.X)


def one_case(rng: np.random.Generator, folder: Path) -> None:
    """Fit one algorithm to one table."""
    configuration = CONFIGURATIONS[rng.integers(len(CONFIGURATIONS))]
    table = random_table(rng, configuration)
    n_features = table.X.shape[1]
    n_clusters = int(rng.integers(1, min(6, table.n_rows + 1)))
    common: dict[str, Any] = {"random_state": int(rng.integers(1000)), "max_iter": 40, "n_init": 2}
    if rng.random() < 0.3:
        common["init"] = ("random", "anomalous")[rng.integers(2)]
        common["n_init"] = "auto"
    if rng.random() < 0.3:
        common["tol"] = 1e-4
    if table.gaps:
        common["missing"] = ("ignore", "rescale")[rng.integers(2)]
    what = f"{configuration.name} {n_clusters} {common} on {describe(table)}"
    try:
        check(configuration, table, n_clusters, n_features, common)
    except AssertionError as error:
        raise AssertionError(f"{' '.join(str(error).split())} | {what}") from None
    except Exception as error:
        error.add_note(what)
        raise


def check(
    configuration: Configuration, table: Table, n_clusters: int, n_features: int, common: Any
) -> None:
    """Fit, and check everything."""
    X, weight = table.X, table.weight
    before = np.array(X, copy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UnequalSpreadWarning)
        warnings.simplefilter("ignore", DominantColumnWarning)
        model = configuration.estimator(n_clusters, n_features, **common)
        try:
            model.fit(X, sample_weight=weight)
        except ValueError as error:
            if not is_ours(error):
                raise
            return
        labels = model.predict(X)
        try:
            distances = np.asarray(model.transform(X), dtype=np.float64)
        except ValueError as error:
            if "Distances are too large" not in str(error):
                raise
            distances = np.zeros(1)
    assert pd.DataFrame(before).equals(pd.DataFrame(np.asarray(X))), "X was changed"
    for name in ("feature_weights_", "objective_history_", "inertia_"):
        assert np.isfinite(getattr(model, name)).all(), f"{name} is not finite"
    numeric = np.asarray(model.cluster_centers_, dtype=np.float64)
    assert np.isfinite(numeric[:, ~np.isnan(numeric).all(axis=0)]).all(), "centers are not finite"
    assert not np.isnan(distances).any(), "a distance is NaN"
    np.testing.assert_array_equal(labels, model.labels_, err_msg="labels are not those of predict")
    check_weights(model)
    monotone = model._parts.monotone and configuration.monotone
    check_history(model, monotone, exact=np.asarray(before).dtype == np.float64)
    if isinstance(X, np.ndarray) and not table.gaps:
        check_objective(model, np.asarray(X, dtype=np.float64), weight)
    if table.plain and not table.gaps and weight is not None and n_clusters > 1:
        check_repeats(configuration, table, n_clusters, n_features, common)


def is_ours(error: BaseException) -> bool:
    """Tell whether an error was raised in this package, and says something."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return "fwkmeans" in trace.tb_frame.f_code.co_filename and len(str(error)) > 30


def check_weights(model: Any) -> None:
    """Weights are not negative and sum to one, in each group of FG-K-Means."""
    weights = np.asarray(model.feature_weights_)
    assert (weights >= 0).all(), "a weight is negative"
    rule = model._parts.weighting
    sums = weights.sum(axis=1)
    if isinstance(rule, GroupEntropyWeights):
        omega = model._memory["group_weights"][0]
        np.testing.assert_allclose(omega.sum(axis=1), 1.0, rtol=1e-9)
        sums = np.stack([weights[:, rule.groups == g].sum(axis=1) for g in range(omega.shape[1])])
        sums = sums[sums > 0]  # a group of constant columns has no weight
    elif hasattr(model, "space_weights_"):
        sums = np.asarray(model.space_weights_).sum()
    np.testing.assert_allclose(sums, 1.0, rtol=1e-9, err_msg="weights do not sum to one")


def check_history(model: Any, monotone: bool, *, exact: bool) -> None:
    """The objective does not rise, and the inertia is not above its last value."""
    history = np.asarray(model.objective_history_)
    if not monotone:
        return
    size = np.abs(history).max() + np.abs(model.objective_history_[-1])
    rounding = 1e-9 * size + ulps_of(model)
    assert (np.diff(history) <= rounding).all(), f"the objective rises: {history}"
    if exact and model._is_one_batch:
        above = model.inertia_ - history[-1]
        assert above <= rounding, f"the inertia is above the history by {above}"


def ulps_of(model: Any) -> float:
    """Return what rows that equal their center may add to the objective by rounding."""
    p = getattr(model._parts.dissimilarity, "p", 2.0)
    sizes = 2e-15 * np.nan_to_num(np.abs(np.asarray(model.cluster_centers_, dtype=np.float64)))
    scale = float(model._assignment().scale[0])
    return scale * float((sizes if np.isinf(p) else model._table.mass * sizes**p).sum())


def objective_of(model: Any, D: Any, mass: Any) -> tuple[Any, Any] | None:
    """Return the objective, computed from dispersions, and the size of its terms."""
    rule, w = model._parts.weighting, np.asarray(model.feature_weights_, dtype=np.longdouble)
    if isinstance(rule, UniformWeights):
        terms = [D]
    elif isinstance(rule, FixedWeights):
        terms = [w * D]
    elif isinstance(rule, SharedPowerWeights | ClusterPowerWeights):
        effective = np.where(w > 0, np.where(w > 0, w, 1.0) ** rule.beta, 0.0)
        own = effective[:1] if isinstance(rule, SharedPowerWeights) else effective
        terms = [effective * D, guard_in(model) * own]
        constant = model._memory.get("constant")
        if constant is not None:
            each = mass[:, None] if rule.smoothing == "inside" else 1.0
            terms.append(constant[0] * effective * each)
    elif isinstance(rule, RadiusWeights):
        return (w * D).max(), (w * D).max()
    elif isinstance(rule, EntropyWeights):
        each = mass[:, None] if rule.dispersion == "mean" else 1.0
        terms = [w * D, rule.gamma * each * x_log_x(w)]
    elif isinstance(rule, GroupEntropyWeights):
        omega = model._memory["group_weights"][0].astype(np.longdouble)
        each = mass[:, None] if rule.dispersion == "mean" else 1.0
        entropies = rule.lam * each * x_log_x(omega), rule.eta * each * x_log_x(w)
        terms = [omega[:, rule.groups] * w * D, *entropies]
    elif isinstance(rule, SelfAdjustingWeights):
        guard = guard_in(model)
        total = (w[0] * model._table.scatter).sum() + 2 * guard
        terms = [w * D / total, np.atleast_1d(guard / total)] if total > 0 else [0 * D]
    else:
        return None
    return sum(t.sum() for t in terms), sum(np.abs(t).sum() for t in terms)


def guard_in(model: Any) -> float:
    """Return the constant that guards weights."""
    return float(np.ravel(model._memory.get("guard", 0.0))[0])


def x_log_x(x: Any) -> Any:
    return x * np.log(np.where(x > 0, x, 1.0))


def check_objective(model: Any, X: Any, weight: Any) -> None:
    """The inertia is the objective, computed from differences in more digits."""
    p = getattr(model._parts.dissimilarity, "p", 2.0)
    if not model._is_one_batch:  # CK-Means: its inertia is that of the chosen weights
        return
    centers = np.asarray(model.cluster_centers_, dtype=np.longdouble)
    s = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    there = s > 0
    t = np.abs(X[there].astype(np.longdouble) - centers[model.labels_[there]])
    D = np.zeros(centers.shape, dtype=np.longdouble)
    mass = np.bincount(model.labels_[there], s[there], len(centers))
    for k in range(len(centers)):
        own = model.labels_[there] == k
        if np.isinf(p):
            D[k] = t[own].max(axis=0, initial=0.0)
        else:
            D[k] = (s[there][own, None] * t[own] ** p).sum(axis=0)
    found = objective_of(model, D, mass)
    if found is None:
        return
    expected, size = found
    error = abs(model.inertia_ - expected)
    assert error <= 1e-9 * size + 1e-300, f"inertia {model.inertia_}, objective {expected}"
    check_formula(model, D, mass, p)


def check_formula(model: Any, D: Any, mass: Any, p: float) -> None:
    """At rest, power weights are inversely proportional to a power of the dispersion."""
    rule, varying = model._parts.weighting, model._table.varying
    power = isinstance(rule, SharedPowerWeights | ClusterPowerWeights)
    if not power or not rule.beta > 1 or model.tol > 0 or not model.converged_:
        return
    if model.cluster_centers_.dtype != np.float64:
        return  # the public centers are rounded
    if isinstance(rule, SharedPowerWeights):
        D = np.broadcast_to(D.sum(axis=0) + guard_in(model), D.shape)
    elif model._memory["constant"][0] > 0:
        each = mass[:, None] if rule.smoothing == "inside" else 1.0
        D = D + model._memory["constant"][0] * each
    if isinstance(rule, ClusterPowerWeights):
        D = D + guard_in(model)
    lost = rounding_of(D, np.abs(model.cluster_centers_), mass.sum(), p)
    doubtful = lost >= 1e-8 * (rule.beta - 1.0) * D
    for k in np.flatnonzero(mass > 0):
        if doubtful[k, varying].any():
            continue
        w = (D[k, varying] / D[k, varying].min()) ** (-1.0 / (rule.beta - 1.0))
        found = np.asarray(model.feature_weights_)[k, varying]
        np.testing.assert_allclose(
            found, (w / w.sum()).astype(np.float64), atol=1e-7, err_msg="not the formula of weights"
        )


def rounding_of(D: Any, centers: Any, mass: float, p: float) -> Any:
    """Return how far dispersions may be off because the public centers are rounded.

    Squares are lowest at the mean, so that a step hardly changes them; other powers it does.
    """
    step = 4e-16 * centers
    if np.isinf(p):
        return step
    slope = 0.0 if p == 2 else p * mass ** (1.0 / p) * D ** (1.0 - 1.0 / p)
    return mass * step**p + step * slope


def check_repeats(
    configuration: Configuration, table: Table, n_clusters: int, n_features: int, common: Any
) -> None:
    """An integer weight counts like repeated rows."""
    weight = np.asarray(table.weight)
    if not (weight == np.round(weight)).all() or (weight > 5).any():
        return
    X = np.asarray(table.X, dtype=np.float64)
    distinct = np.flatnonzero(weight > 0)
    if distinct.size < n_clusters:
        return
    common = common | {"init": X[distinct[:n_clusters]], "n_init": 1, "tol": 0}
    fits = []
    for rows, s in ((X, weight), (np.repeat(X, weight.astype(int), axis=0), None)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = configuration.estimator(n_clusters, n_features, **common)
            fits.append(model.fit(rows, sample_weight=s))
    one, other = fits
    if one.converged_ and other.converged_:
        np.testing.assert_allclose(
            one.inertia_, other.inertia_, rtol=1e-6, err_msg="repeats are not weights"
        )
        np.testing.assert_array_equal(
            np.repeat(one.labels_, weight.astype(int)), other.labels_, err_msg="repeats"
        )


# ---- tables ----------------------------------------------------------------------------------


def random_table(rng: np.random.Generator, configuration: Configuration) -> Table:
    """Return rows of some kind, with weights, gaps and categories, in some place in memory."""
    n, m = int(rng.integers(1, 41)), int(rng.integers(1, 7))
    X, plain = random_rows(rng, n, m)
    exponent = 0.0
    if rng.random() < 0.25:
        exponent = rng.uniform(-160, 160) if rng.random() < 0.5 else rng.uniform(-20, 20)
        X, plain = X * 10.0**exponent, False
    gaps = False
    if rng.random() < 0.2 and configuration.algorithm not in ("SYNCLUS", "CK-Means"):
        X[rng.random(X.shape) < 0.2] = np.nan
        gaps = bool(np.isnan(X).any())
    weight = random_weights(rng, n)
    if weight is not None and (weight == 0).any() and rng.random() < 0.2 and not gaps:
        X[weight == 0] = rng.choice([1e200, -1e300, 1e30])  # may hold anything
    if configuration.algorithm in _MIXED and rng.random() < 0.25:
        return Table(with_categories(rng, X), weight, False, gaps)
    return Table(placed(rng, X), weight, plain, gaps)


def random_rows(rng: np.random.Generator, n: int, m: int) -> tuple[Any, bool]:
    kind = rng.integers(8)
    X = rng.standard_normal((n, m)) + 4.0 * rng.standard_normal((3, m))[rng.integers(0, 3, n)]
    if kind == 0:
        return rng.integers(-2, 3, (n, m)).astype(float), False
    if kind == 1:  # few distinct rows
        return X[rng.integers(0, max(1, n // 4), n)], False
    if kind == 2:  # constant columns
        X[:, rng.random(m) < 0.5] = rng.choice([0.0, 0.1, -1e8 / 3])
        return X, False
    if kind == 3:  # one huge value: beyond, a step from it loses all digits of the others
        X[rng.integers(n), rng.integers(m)] = 10.0 ** rng.uniform(3, 14)
        return X, False
    if kind == 4:  # far from the origin
        return X + 10.0 ** rng.uniform(2, 12, m), False
    if kind == 5:  # columns of different units
        return X * 10.0 ** rng.uniform(-6, 6, m), False
    return X, True


def random_weights(rng: np.random.Generator, n: int) -> Any:
    kind = rng.integers(5)
    if kind == 0:
        return rng.integers(0, 4, n).astype(float) + (np.arange(n) == 0)
    if kind == 1:
        return rng.uniform(0, 1, n) * 10.0 ** rng.uniform(-5, 5) + 1e-9
    if kind == 2 and rng.random() < 0.5:
        return rng.uniform(0.5, 1, n) * 10.0 ** rng.uniform(-250, 100)
    return None


def with_categories(rng: np.random.Generator, X: Any) -> Any:
    frame = pd.DataFrame(X, columns=[f"x{v}" for v in range(X.shape[1])])
    for name in ("a", "b")[: rng.integers(1, 3)]:
        frame[name] = rng.choice(["red", "green", "blue", "gray"][: rng.integers(1, 5)], len(X))
    return frame


def placed(rng: np.random.Generator, X: Any) -> Any:
    """Return the rows in one of the ways an array can lie in memory."""
    if rng.random() < 0.3:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
    way = rng.integers(6)
    if way == 0:
        return np.asfortranarray(X)
    if way == 1:
        wide = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=X.dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if way == 2:
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if way == 3:  # unaligned
        buffer = np.empty(X.nbytes + 1, dtype=np.uint8)
        odd = buffer[1:].view(np.uint8)[: X.nbytes].view(X.dtype).reshape(X.shape)
        odd[...] = X
        return odd
    if way == 4:
        X = X.copy()
        X.flags.writeable = False
    return X


def describe(table: Table) -> str:
    weights = "no weights" if table.weight is None else f"weights {np.ptp(table.weight):.2g}"
    kind = type(table.X).__name__ if isinstance(table.X, pd.DataFrame) else table.X.dtype
    return f"{table.X.shape} {kind}, {weights}, gaps {table.gaps}, plain {table.plain}"
