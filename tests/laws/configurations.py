"""What the laws are checked on: every registered algorithm and weight rule, in its variants.

An algorithm that is registered without an entry here fails `test_registries`.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

import reference
from fwkmeans import FeatureWeightedKMeans
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    FixedWeights,
    GroupEntropyWeights,
    RadiusWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    StressWeights,
    UniformWeights,
)

#: Parameters in units of a dispersion: square of the data's scale, times the rows' weight.
ABSOLUTE = ("gamma", "lam", "eta", "smoothing")

#: The papers' criteria, where a configuration does not say otherwise.
PUBLISHED = {"guard": 0.0, "category_weight": 1.0}
#: What the reference takes where a configuration says nothing.
DEFAULTS: dict[str, dict[str, Any]] = {
    "EW-KM": {"dispersion": "sum"},
    "FG-K-Means": {"dispersion": "sum"},
}


class Configuration(NamedTuple):
    """An algorithm with values for its parameters."""

    algorithm: str  # name in ALGORITHMS
    parameters: dict[str, Any]
    monotone: bool = True  # the objective never rises
    has_reference: bool = True  # the reference implementation knows it
    by_objective: bool = True  # the best of several starts has the lowest objective

    @property
    def name(self) -> str:
        values = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.algorithm}({values})"

    @property
    def power(self) -> float:
        """Exponent of the differences in the dispersion."""
        return {"iMWK-Means": self.parameters.get("p", 2.0), "IK-P": 1.0}.get(self.algorithm, 2.0)

    @property
    def takes_sparse(self) -> bool:
        """Whether it takes sparse rows."""
        return self.power == 2.0 and self.algorithm != "SYNCLUS"

    @property
    def has_weights(self) -> bool:
        return self.algorithm != "K-Means"

    def values(self, n_features: int, *, data: float = 1.0, mass: float = 1.0) -> dict[str, Any]:
        """Return the parameters for such a table, scaled along with data and sample weights."""
        values = dict(self.parameters)
        for key in ("groups", "spaces"):
            if isinstance(values.get(key), int):
                values[key] = np.arange(n_features) % min(values[key], n_features)
        for key in ABSOLUTE:
            if isinstance(values.get(key), float) and values[key] > 0:
                by_mass = 1.0 if values.get("dispersion") == "mean" else mass
                values[key] *= data**self.power * by_mass
        return values

    def estimator(
        self,
        n_clusters: int,
        n_features: int,
        *,
        data: float = 1.0,
        mass: float = 1.0,
        **common: Any,
    ) -> Any:
        """Return the estimator, by default with exact stopping and random starts."""
        common = {"tol": 0, "n_jobs": 1, "init": "k-means++"} | common
        algorithm = ALGORITHMS[self.algorithm]
        known = inspect.signature(algorithm).parameters
        values = {name: value for name, value in PUBLISHED.items() if name in known}
        values |= DEFAULTS.get(self.algorithm, {})
        values |= self.values(n_features, data=data, mass=mass)
        return algorithm(n_clusters, **(values | common))

    def reference(self, n_features: int) -> tuple[str, dict[str, Any]]:
        """Return name and parameters of the same thing in the reference implementation."""
        names = {
            "K-Means": "kmeans",
            "AWK": "awk",
            "WK-Means": "wk",
            "EW-KM": "ewk",
            "FWSA": "fwsa",
            "FG-K-Means": "fgk",
            "IK-P": "ikp",
            "iMWK-Means": "mwk",
        }
        values = self.values(n_features)
        if "weights" in values:
            values["weights_mode"] = values.pop("weights")
        if self.algorithm == "FG-K-Means":
            values.setdefault("groups", np.zeros(n_features, dtype=int))
        return names[self.algorithm], values


def _synclus(**values: Any) -> Configuration:
    return Configuration("SYNCLUS", values, has_reference=False)


def _convex(**values: Any) -> Configuration:
    return Configuration("CK-Means", values, has_reference=False, by_objective=False)


def _cluster(beta: float, smoothing: Any) -> Configuration:
    values = {"beta": beta, "weights": "cluster", "smoothing": smoothing}
    return Configuration("WK-Means", values, monotone=smoothing != "refresh")


CONFIGURATIONS = [
    Configuration("K-Means", {}),
    *(Configuration("AWK", {"beta": beta}) for beta in (2.0, 1.0, 1.3, 6.0, 0.0, -2.0)),
    Configuration("AWK", {"beta": 2.0, "smoothing": 0.7}),
    Configuration("AWK", {"beta": 1.5, "smoothing": "frozen"}),
    Configuration("AWK", {"beta": 3.0, "guard": 0.2}),
    Configuration("AWK", {"beta": -1.5, "smoothing": "inside", "guard": 0.3}),
    Configuration("WK-Means", {"beta": 2.0, "guard": 0.2}),
    Configuration("WK-Means", {"beta": -1.5, "guard": 0.2}),
    *(Configuration("WK-Means", {"beta": beta}) for beta in (2.0, 1.0, 1.3, 6.0, 0.0, -2.0, -0.5)),
    *(_cluster(2.0, smoothing) for smoothing in ("frozen", "refresh", "inside", 0.5, 0.0)),
    _cluster(1.0, "frozen"),
    _cluster(-1.5, "inside"),
    _cluster(1.3, "inside"),
    _cluster(4.0, "refresh"),
    Configuration("EW-KM", {}),
    *(Configuration("EW-KM", {"gamma": gamma}) for gamma in (0.0, 0.3, 20.0)),
    Configuration("EW-KM", {"dispersion": "mean"}),
    Configuration("FG-K-Means", {"groups": 2, "dispersion": "mean"}, has_reference=False),
    *(Configuration("EW-KM", {"gamma": g, "dispersion": "mean"}) for g in (0.0, 0.2, 3.0)),
    *(Configuration("IK-P", {"beta": beta}, monotone=False) for beta in (8.0, 1.0, 2.0, -1.5)),
    Configuration("IK-P", {"beta": 3.0, "variant": "median"}),  # numbers only: medians are exact
    Configuration("IK-P", {"beta": 3.0, "variant": "monotone"}),
    *(
        Configuration("iMWK-Means", {"p": p}, monotone=False)
        for p in (1.0, 1.1, 1.5, 2.0, 3.0, 4.6, 12.0)
    ),
    *(
        Configuration("iMWK-Means", {"p": p, "smoothing": smoothing})
        for p in (1.0, 1.4, 2.0, 4.0, 9.0)
        for smoothing in (0.0, "frozen")
    ),
    Configuration("iMWK-Means", {"p": 1.5, "smoothing": 0.5}),
    Configuration("iMWK-Means", {"p": 3.0, "smoothing": "inside"}),
    Configuration("iMWK-Means", {"p": np.inf, "smoothing": 0.0}),
    Configuration("iMWK-Means", {"p": np.inf}),
    Configuration("iMWK-Means", {"p": 1.5, "smoothing": 0.0, "guard": 0.5}),
    Configuration("iMWK-Means", {"p": 3.0, "guard": 1.0}, monotone=False),
    Configuration("iMWK-Means", {"p": np.inf, "smoothing": 0.0, "guard": 1.0}),
    Configuration("FWSA", {}, monotone=False),
    Configuration("FWSA", {"safeguard": True}),
    Configuration("FWSA", {"safeguard": True, "guard": 1.0}),
    Configuration("FWSA", {"guard": 0.5}, monotone=False),
    Configuration("IK-P", {"beta": 8.0, "variant": "monotone", "guard": 0.2}),
    Configuration("FG-K-Means", {}),
    Configuration("FG-K-Means", {"groups": 2}),
    *(
        Configuration("FG-K-Means", {"groups": 2, "lam": lam, "eta": eta})
        for lam, eta in ((5.0, 1.0), (0.3, 4.0), (0.0, 2.0), (2.0, 0.0), (0.0, 0.0))
    ),
    _synclus(),
    _synclus(weight_init="inverse-variance"),
    _synclus(groups=2, group_weights={0: 3.0, 1: 1.0}),
    _synclus(centred=True),
    _synclus(groups=2, centred=True),
    _synclus(groups=2, guard=3.0),
    _convex(),
    _convex(grid=3),
    _convex(spaces=2),
    _convex(spaces=2, exponent="dimension", grid=5),
    _convex(spaces=2, guard=1.0),
]

#: One of each kind, for laws that cost more.
FEW = [
    c
    for c in CONFIGURATIONS
    if c.name
    in {
        "K-Means()",
        "AWK(beta=2.0)",
        "AWK(beta=2.0,smoothing=0.7)",
        "AWK(beta=3.0,guard=0.2)",
        "WK-Means(beta=2.0,guard=0.2)",
        "WK-Means(beta=2.0)",
        "WK-Means(beta=-2.0)",
        "WK-Means(beta=2.0,weights=cluster,smoothing=frozen)",
        "WK-Means(beta=2.0,weights=cluster,smoothing=refresh)",
        "WK-Means(beta=1.3,weights=cluster,smoothing=inside)",
        "EW-KM()",
        "EW-KM(gamma=20.0)",
        "EW-KM(gamma=0.2,dispersion=mean)",
        "IK-P(beta=8.0)",
        "IK-P(beta=3.0,variant=monotone)",
        "iMWK-Means(p=1.0)",
        "iMWK-Means(p=1.5)",
        "iMWK-Means(p=4.0,smoothing=frozen)",
        "iMWK-Means(p=inf,smoothing=0.0)",
        "FWSA()",
        "FWSA(safeguard=True)",
        "FWSA(safeguard=True,guard=1.0)",
        "FG-K-Means(groups=2)",
        "FG-K-Means(groups=2,lam=5.0,eta=1.0)",
        "SYNCLUS(groups=2,group_weights={0: 3.0, 1: 1.0})",
        "SYNCLUS(groups=2,centred=True)",
        "CK-Means(grid=3)",
        "CK-Means(spaces=2)",
    }
]

#: One of each kind, and all that the reference does not know.
REPRESENTATIVE = FEW + [c for c in CONFIGURATIONS if not c.has_reference and c not in FEW]


def each_representative(test: Any) -> Any:
    """Parametrize a test by configuration, one of each code path."""
    return pytest.mark.parametrize("configuration", REPRESENTATIVE, ids=name_of)(test)


def each_in_both_ways(test: Any) -> Any:
    """Parametrize a test by configuration, each once in memory, in a file, and in sparse rows.

    The file has the other precision: what depends on where rows live does not depend on that.
    """
    ways = [
        pytest.param(c, dtype, source, id=f"{c.name}-{np.dtype(dtype).name}-{source}")
        for at, c in enumerate(FEW)
        for dtype, source in zip(
            (np.float64, np.float32)[:: 1 if at % 2 else -1],
            ("memory", "blocks" if at % 4 == 3 else "chunks"),
            strict=True,
        )
    ]
    ways += [
        pytest.param(c, np.float64, "sparse", id=f"{c.name}-float64-sparse")
        for c in FEW
        if c.takes_sparse
    ]
    names = ("configuration", "dtype", "source")
    return pytest.mark.parametrize(names, ways, indirect=["dtype", "source"])(test)


#: Instances of every registered weight rule, for tables of four features.
RULES = {
    "uniform": [UniformWeights()],
    "fixed": [FixedWeights()],
    "stress": [
        StressWeights(),
        StressWeights(groups=np.array([0, 1, 0, 1])),
        StressWeights(groups=np.array([0, 1, 0, 1]), centred=True),
        StressWeights(guard=3.0),
    ],
    "shared-power": [
        SharedPowerWeights(),
        SharedPowerWeights(beta=-1.5),
        SharedPowerWeights(zero="huang"),
        SharedPowerWeights(beta=3.0, guard=0.2),
    ],
    "cluster-power": [
        ClusterPowerWeights(),
        ClusterPowerWeights(beta=1.5, smoothing="frozen"),
        ClusterPowerWeights(beta=3.0, smoothing="refresh"),
        ClusterPowerWeights(smoothing="inside"),
        ClusterPowerWeights(smoothing=0.5),
        ClusterPowerWeights(beta=1.5, smoothing="frozen", guard=0.3),
    ],
    "radius": [RadiusWeights(), RadiusWeights(smoothing="refresh")],
    "entropy": [
        EntropyWeights(),
        EntropyWeights(gamma=2.0),
        EntropyWeights(gamma=0.3, dispersion="mean"),
    ],
    "self-adjusting": [
        SelfAdjustingWeights(),
        SelfAdjustingWeights(safeguard=True),
        SelfAdjustingWeights(safeguard=True, guard=0.5),
    ],
    "group-entropy": [
        GroupEntropyWeights(),
        GroupEntropyWeights(groups=np.array([0, 1, 0, 1]), lam=3.0, eta=1.0),
    ],
}

RULE_LIST = [rule for rules in RULES.values() for rule in rules]


def name_of(thing: Any) -> str:
    return thing.name if isinstance(thing, Configuration) else repr(thing).replace("\n", "")


def with_rule(rule: Any, n_clusters: int, **common: Any) -> FeatureWeightedKMeans:
    common = {"tol": 0, "n_jobs": 1} | common
    return FeatureWeightedKMeans(n_clusters, weighting=rule, **common)


def make_rows(rng: Any, n_rows: int = 60, n_features: int = 4, n_clusters: int = 3) -> Any:
    """Return clusters in the first half of the columns, noise in the rest."""
    centers = 3.0 * rng.standard_normal((n_clusters, n_features))
    centers[:, (n_features + 1) // 2 :] = 0.0
    spread = rng.uniform(0.5, 1.5, n_features)
    labels = rng.integers(0, n_clusters, n_rows)
    return centers[labels] + spread * rng.standard_normal((n_rows, n_features))


def some_rows(rng: Any, X: Any, n_clusters: int) -> Any:
    """Return different rows of X, as initial centers."""
    return X[rng.choice(len(X), n_clusters, replace=False)]


def exact_costs(configuration: Configuration, model: Any, X: Any, sample_weight: Any = None) -> Any:
    """Return dissimilarity plus offset of each row and public center, from differences in float64.

    Also their size, which rounding errors are measured by.
    """
    X = np.asarray(X, dtype=np.float64)
    if not configuration.has_reference:
        weights = _effective(model)
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)
        costs = np.einsum("kv,ikv->ik", weights, (X[:, None] - centers) ** 2)
        return costs, costs
    mass = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
    present = mass > 0
    algorithm, parameters = configuration.reference(X.shape[1])
    n_clusters = len(model.cluster_centers_)
    problem = reference._Problem(X[present], mass[present], n_clusters, algorithm, parameters)
    groups = getattr(model, "group_weights_", None)
    state = problem.state(np.asarray(model.cluster_centers_, dtype=np.float64))
    costs, _ = problem.costs(X, state, model.feature_weights_, groups)
    offsets = problem.constant(model.feature_weights_, groups)
    return costs, costs - offsets + np.abs(offsets)


def _effective(model: Any) -> Any:
    """Return the feature weights times those of their groups, if there are any."""
    weights = model.feature_weights_.copy()
    if hasattr(model, "group_weights_"):
        for omega, columns in zip(model.group_weights_, model.groups_.values(), strict=True):
            weights[:, columns] *= omega
    return weights


def untied(costs: Any, sizes: Any, tolerance: float) -> Any:
    """Return which rows have a nearest center that rounding cannot dispute."""
    if costs.shape[1] == 1:
        return np.ones(len(costs), dtype=bool)
    every, order = np.arange(len(costs)), np.argsort(costs, axis=1)
    first, second = order[:, 0], order[:, 1]
    return costs[every, second] - costs[every, first] > tolerance * sizes[every, second]


def assert_same_fit(
    a: Any, b: Any, *, rtol: float = 1e-9, clusters: Any = slice(None), features: Any = slice(None)
) -> None:
    """Compare two fits; `a` is reordered first."""
    spread = np.ptp(np.asarray(b.cluster_centers_, float), axis=0).max() + 1e-300
    centers = a.cluster_centers_[clusters][:, features]
    np.testing.assert_allclose(centers, b.cluster_centers_, rtol=rtol, atol=rtol * spread)
    weights = a.feature_weights_[clusters][:, features]
    np.testing.assert_allclose(weights, b.feature_weights_, rtol=0, atol=rtol)


def assert_identical(a: Any, b: Any) -> None:
    """Compare two fits bit by bit."""
    for name in ("labels_", "cluster_centers_", "feature_weights_", "objective_history_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.inertia_ == b.inertia_
    assert a.n_iter_ == b.n_iter_
