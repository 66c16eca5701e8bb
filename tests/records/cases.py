"""The fits whose bits are recorded: a name and a function for each.

A case gives a dictionary of everything public that the fit left behind. Rows come from generators
of NumPy by sums, products and comparisons alone, so that they are the same on every machine.
"""

import functools
import io
import itertools
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from fwkmeans import (
    SYNCLUS,
    AutoKMeans,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FGKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.selection import LabelFreeSearch, sweep
from fwkmeans.selection.tendency import cluster_tendency
from fwkmeans.sources import ChunkedSource
from fwkmeans.weighting import ClusterPowerWeights, WeightRule

Values = dict[str, Any]


class Case(NamedTuple):
    """A fit, or many, whose result is recorded."""

    name: str
    make: Callable[[int], Values]  # gets the number of threads
    threads: tuple[int, ...] = (1,)  # the result must be the same for each of these
    close: bool = False  # numbers need only be close: they went through BLAS


class OwnRule(WeightRule):
    """A user's rule, which the core does not know."""

    def update(self, dispersion, context):
        spread = 1.0 / (1.0 + dispersion / np.maximum(context.table.scatter, 1e-300))
        return spread / spread.sum(axis=-1, keepdims=True)


#: Every algorithm, in the variants that run different code.
KINDS: dict[str, Callable[..., Any]] = {
    "K-Means": KMeans,
    "WK-Means": WKMeans,
    "WK-Means cluster": functools.partial(WKMeans, weights="cluster"),
    "AWK": AWKMeans,
    "EW-KM": EWKMeans,
    "EW-KM sum": functools.partial(EWKMeans, gamma=0.7, dispersion="sum"),
    "FWSA": FWSAKMeans,
    "FWSA safeguard": functools.partial(FWSAKMeans, safeguard=True),
    "FG-K-Means": FGKMeans,
    "IK-P": IKPrototypes,
    "iMWK 2": IMWKMeans,
    "iMWK 1.5": functools.partial(IMWKMeans, p=1.5),
    "SYNCLUS": SYNCLUS,
    "CK-Means": functools.partial(ConvexKMeans, grid=2),
    "own rule": functools.partial(FeatureWeightedKMeans, weighting=OwnRule()),
    "own parts": functools.partial(
        FeatureWeightedKMeans, weighting=ClusterPowerWeights(beta=3.0, smoothing="refresh")
    ),
}
#: Those that run in the core, one of each weight rule.
CORE = ["K-Means", "WK-Means", "WK-Means cluster", "AWK", "EW-KM", "FWSA", "FG-K-Means", "iMWK 2"]
SPARSE = [*CORE, "CK-Means"]
MIXED = ["WK-Means", "WK-Means cluster", "AWK", "FG-K-Means", "IK-P", "own rule"]
BLAS = ("SYNCLUS", "CK-Means")
#: The parameter that takes groups of columns.
GROUPS_OF = {"FG-K-Means": "groups", "SYNCLUS": "groups", "CK-Means": "spaces"}


def make_kind(kind: str, n_clusters: int, n_features: int, **parameters: Any) -> Any:
    """Return an estimator; algorithms with groups of columns get three."""
    if kind in GROUPS_OF:
        parameters[GROUPS_OF[kind]] = np.arange(n_features) % min(3, n_features)
    return KINDS[kind](n_clusters, **({"random_state": 7} | parameters))


# ---- rows ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def numbers(n_rows: int, n_features: int, n_groups: int = 6) -> np.ndarray:
    """Return rows around some places; every third column is noise, and one has another scale.

    Places are closer in larger tables, so that fits take many iterations.
    """
    rng = np.random.default_rng([n_rows, n_features, n_groups])
    apart = 3.0 if n_rows < 5000 else 1.0
    places = apart * rng.standard_normal((n_groups, n_features))
    places[:, ::3] = 0.0
    rows = places[rng.integers(0, n_groups, n_rows)] + rng.standard_normal((n_rows, n_features))
    rows[:, -1] = rows[:, -1] * 4.0 + 50.0
    rows.flags.writeable = False
    return rows


def laid(rows: np.ndarray, layout: str) -> Any:
    """Return the rows in this layout."""
    if layout == "F":
        return np.asfortranarray(rows)
    if layout == "strided":
        wide = np.zeros((2 * len(rows), 2 * rows.shape[1]), rows.dtype)
        wide[::2, ::2] = rows
        return wide[::2, ::2]
    if layout == "frame":
        return pd.DataFrame(rows, columns=[f"v{at}" for at in range(rows.shape[1])])
    return np.ascontiguousarray(rows)


def with_gaps(rows: np.ndarray) -> np.ndarray:
    """Return a copy of the rows with a tenth of the cells missing."""
    rows = rows.copy()
    rows[np.random.default_rng(5).random(rows.shape) < 0.1] = np.nan
    return rows


def with_categories(rows: np.ndarray, gaps: bool = False) -> Any:
    """Return a frame with two columns of categories, which follow the numbers in part."""
    rng = np.random.default_rng(11)
    frame = laid(with_gaps(rows) if gaps else rows, "frame")
    color = np.where(rows[:, 1] > rng.standard_normal(len(rows)), "red", "blue").astype(object)
    place = np.array(["north", "south", "west"], dtype=object)[rng.integers(0, 3, len(rows))]
    if gaps:
        color[::13] = None
    return frame.assign(color=pd.Categorical(color), place=pd.Categorical(place))


def weights(n_rows: int) -> np.ndarray:
    """Return sample weights, some of which are zero."""
    return np.random.default_rng(3).integers(0, 4, n_rows).astype(np.float64) * 0.5


def in_blocks(rows: np.ndarray, n_blocks: int = 5) -> ChunkedSource:
    """Return the rows as blocks that a function gives."""
    return ChunkedSource(lambda: iter(np.array_split(rows, n_blocks)))


# ---- what is recorded ---------------------------------------------------------------------------


def published(model: Any) -> Values:
    """Return every public fitted attribute."""
    names = [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]
    return {name: getattr(model, name) for name in sorted(names)}


def fitted(
    make: Callable[[], Any], X: Any, *, others: Any = None, sample_weight: Any = None
) -> Values:
    """Fit and return the attributes, what is said of rows, and what was warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = make()
        model.fit(X) if sample_weight is None else model.fit(X, sample_weight=sample_weight)
        found = published(model)
        rows = X if others is None else others
        for method in ("predict", "transform", "score"):
            if hasattr(model, method):
                found[method] = getattr(model, method)(rows)
    found["warnings"] = sorted(f"{each.category.__name__}: {each.message}" for each in said)
    return found


def case(
    name: str,
    kind: str,
    n_clusters: int,
    rows: Callable[[], Any],
    *,
    n_features: int,
    threads: tuple[int, ...] = (1,),
    weigh: Callable[[], Any] = lambda: None,
    centers: Callable[[], Any] | None = None,
    **parameters: Any,
) -> Case:
    """Return the case of one fit."""

    def make(n_jobs: int) -> Values:
        init = {} if centers is None else {"init": centers()}

        def estimator() -> Any:
            words = {"n_jobs": n_jobs} | init | parameters
            return make_kind(kind, n_clusters, n_features, **words)

        return fitted(estimator, rows(), sample_weight=weigh())

    return Case(f"{kind}, {name}", make, threads, kind in BLAS)


# ---- the cases ----------------------------------------------------------------------------------


def small_cases() -> Iterator[Case]:
    """Yield small tables in every layout and type, from centers and from starts."""
    layouts = [
        ("C", np.float64, 300, 4, 3),
        ("F", np.float32, 60, 7, 4),
        ("strided", np.float64, 500, 13, 6),
        ("frame", np.float32, 300, 5, 3),
        ("C", np.float32, 1500, 24, 9),
        ("F", np.float64, 200, 70, 4),
    ]
    for kind, (layout, dtype, n, m, k) in itertools.product(KINDS, layouts):
        if kind in (*BLAS, "iMWK 1.5", "IK-P") and n * m > 3000:
            continue  # these take seconds
        rows = functools.partial(lambda *a: laid(numbers(*a[:2]).astype(a[2]), a[3]), n, m, dtype)
        name = f"{n} x {m} {np.dtype(dtype).name} {layout}"
        yield case(
            f"given centers, {name}",
            kind,
            k,
            functools.partial(rows, layout),
            n_features=m,
            centers=functools.partial(lambda n, m, k: numbers(n, m)[:k].copy(), n, m, k),
        )
    for kind in KINDS:
        rows = functools.partial(numbers, 300, 4)
        yield case("default, 300 x 4", kind, 3, rows, n_features=4)
        rows = functools.partial(lambda: numbers(240, 9).astype(np.float32))
        yield case("10 starts, 240 x 9 float32", kind, 5, rows, n_features=9, n_init=10)
        rows = functools.partial(numbers, 200, 6)
        yield case("random, 200 x 6", kind, 4, rows, n_features=6, init="random", n_init=4)
        yield case("anomalous, 200 x 6", kind, 4, rows, n_features=6, init="anomalous")
    for kind in CORE:
        rows = functools.partial(numbers, 300, 4)
        yield case("verbose, 300 x 4", kind, 3, rows, n_features=4, verbose=1, n_init=3)
        rows = functools.partial(numbers, 3000, 8)
        yield case("two iterations, 3000 x 8", kind, 6, rows, n_features=8, max_iter=2, n_init=4)
        if kind != "K-Means":
            rows = functools.partial(numbers, 200, 6)
            yield case("random weights, 200 x 6", kind, 4, rows, n_features=6, weight_init="random")


def uncommon_cases() -> Iterator[Case]:
    """Yield sample weights, missing cells, blocks, sparse rows, categories and odd tables."""
    for kind in KINDS:
        rows = functools.partial(numbers, 400, 6)
        weigh = functools.partial(weights, 400)
        yield case("weighted, 400 x 6", kind, 4, rows, n_features=6, weigh=weigh, n_init=3)
    for kind, missing in itertools.product(KINDS, ("ignore", "rescale")):
        rows = functools.partial(lambda: with_gaps(numbers(400, 6)))
        words = {"missing": missing, "n_init": 2}
        if kind in BLAS or (kind in ("IK-P", "iMWK 1.5") and missing == "rescale"):
            continue
        yield case(f"gaps {missing}, 400 x 6", kind, 4, rows, n_features=6, **words)
    for kind in [*CORE, "iMWK 1.5", "IK-P", "own rule"]:
        yield case(
            "blocks, 3000 x 6",
            kind,
            4,
            functools.partial(lambda: in_blocks(numbers(3000, 6))),
            n_features=6,
            threads=(1, 2),
            n_init=3,
        )
    for kind in CORE:
        rows = functools.partial(lambda: in_blocks(numbers(20_000, 6).astype(np.float32), 7))
        centers = functools.partial(lambda: numbers(20_000, 6)[:5].copy())
        yield case("blocks, 20000 x 6 float32", kind, 5, rows, n_features=6, centers=centers)
    for kind, (n, m) in itertools.product(SPARSE, [(500, 30), (6000, 60)]):
        if kind == "CK-Means" and n > 500:
            continue
        rows = functools.partial(
            lambda n, m: sparse.csr_matrix(np.where(numbers(n, m) > 2.0, numbers(n, m), 0.0)), n, m
        )
        words = {"n_init": 3, "threads": (1, 2)}
        yield case(f"sparse, {n} x {m}", kind, 5, rows, n_features=m, **words)
    for kind, gaps in itertools.product(MIXED, (False, True)):
        rows = functools.partial(lambda gaps: with_categories(numbers(400, 5), gaps), gaps)
        words = {"missing": "ignore" if gaps else "error", "n_init": 3}
        name = "categories and gaps, 400 x 7" if gaps else "categories, 400 x 7"
        yield case(name, kind, 4, rows, n_features=7, **words)
    for kind in MIXED[:4]:
        rows = functools.partial(lambda: with_categories(numbers(6000, 5)))
        yield case("categories, 6000 x 7", kind, 4, rows, n_features=7, n_init=10, threads=(1, 2))
    for kind in [*CORE, "own rule"]:
        rows = functools.partial(lambda: np.repeat(numbers(12, 3), 9, axis=0))
        yield case("duplicates, 108 x 3", kind, 14, rows, n_features=3, n_init=2)
        rows = functools.partial(lambda: numbers(200, 5) * np.array([1, 0, 1e6, 1e-6, 1]))
        yield case("constant and huge columns, 200 x 5", kind, 3, rows, n_features=5)


def large_cases() -> Iterator[Case]:
    """Yield tables where batches, bounds, updates and races in single precision are reached."""
    for kind, dtype in itertools.product(CORE, (np.float64, np.float32)):
        name = np.dtype(dtype).name
        rows = functools.partial(lambda dtype: numbers(6000, 12).astype(dtype), dtype)
        words = {"threads": (1, 2, 4), "n_init": 10}
        yield case(f"10 starts, 6000 x 12 {name}", kind, 8, rows, n_features=12, **words)
        rows = functools.partial(lambda dtype: numbers(20_000, 40, 20).astype(dtype), dtype)
        yield case(
            f"given centers, 20000 x 40 {name}",
            kind,
            24,
            rows,
            n_features=40,
            threads=(1, 4),
            max_iter=25,
            centers=functools.partial(lambda: numbers(20_000, 40, 20)[:24].copy()),
        )
    for kind in CORE:
        rows = functools.partial(numbers, 60_000, 10)
        yield case(
            "10 starts, 60000 x 10",
            kind,
            8,
            rows,
            n_features=10,
            threads=(2,),
            n_init=10,
            max_iter=20,
        )
    for kind in ("own rule", "own parts", "iMWK 1.5", "IK-P"):
        rows = functools.partial(numbers, 5000, 6)
        words = {"threads": (1, 2), "max_iter": 12, "n_init": 3}
        yield case("3 starts, 5000 x 6", kind, 5, rows, n_features=6, **words)
    weigh = functools.partial(weights, 20_000)
    for kind in ("K-Means", "EW-KM", "AWK"):
        rows = functools.partial(lambda: laid(numbers(20_000, 8), "F"))
        words = {"threads": (1, 2), "weigh": weigh}
        yield case("weighted F, 20000 x 8", kind, 7, rows, n_features=8, n_init=4, **words)
        rows = functools.partial(lambda: laid(numbers(20_000, 8).astype(np.float32), "strided"))
        yield case("strided float32, 20000 x 8", kind, 7, rows, n_features=8, threads=(1, 2))


def batch_cases() -> Iterator[Case]:
    """Yield what runs many fits: streams, sweeps, searches, tendency, and AutoKMeans."""

    def streamed(kind: str) -> Values:
        model = make_kind(kind, 4, 6)
        for part in np.array_split(numbers(1200, 6), 4):
            model.partial_fit(part, batch_size=150, decay=0.9)
        return published(model) | {"predict": model.predict(numbers(1200, 6))}

    for kind in ("K-Means", "WK-Means", "AWK", "EW-KM", "FWSA", "FG-K-Means"):
        yield Case(f"{kind}, partial_fit", lambda _, kind=kind: streamed(kind))

    def swept(kind: str, parameter: str, values: list[Any], n: int) -> Values:
        found = sweep(make_kind(kind, 4, 6), numbers(n, 6), parameter, values, n_starts=5)
        return {name: getattr(found, name) for name in found._fields}

    parameters = {
        "AWK": ("beta", [1.5, 2.0, 8.0]),
        "WK-Means": ("beta", [1.5, 2.0, 8.0]),
        "EW-KM": ("gamma", [0.5, 1.0, 5.0]),
        "iMWK 1.5": ("p", [1.2, 2.0, 3.0]),
        "FG-K-Means": ("lam", [0.5, 1.0, 5.0]),
        "K-Means": ("n_clusters", [2, 3, 5]),
    }
    for (kind, words), n in itertools.product(parameters.items(), (150, 2500)):
        yield Case(
            f"{kind}, sweep of {words[0]}, {n} x 6",
            lambda _, a=(kind, *words, n): swept(*a),
        )

    def searched(kind: str, grid: Values, **options: Any) -> Values:
        search = LabelFreeSearch(make_kind(kind, 4, 6, n_init=5), grid, **options)
        found = fitted(lambda: search, numbers(300, 6))
        model, results = found.pop("best_estimator_"), found["search_results_"]
        found["search_results_"] = {at: each for at, each in results.items() if "time" not in at}
        return published(model) | found

    yield Case("EW-KM, search", lambda _: searched("EW-KM", {"gamma": [0.5, 2.0]}), (1,), True)
    yield Case(
        "K-Means, search", lambda _: searched("K-Means", {"n_clusters": [2, 3, 4]}), (1,), True
    )
    yield Case(
        "tendency",
        lambda _: {"tendency": list(cluster_tendency(numbers(300, 6), random_state=0))},
        (1,),
        True,
    )

    def auto(rows: Any, *arguments: Any) -> Values:
        return fitted(lambda: AutoKMeans(*arguments, n_jobs=1), rows)

    yield Case("AutoKMeans, 240 x 5", lambda _: auto(numbers(240, 5, 3)), (1,), True)
    yield Case("AutoKMeans 3, 400 x 8", lambda _: auto(numbers(400, 8, 3), 3), (1,), True)
    mixed = functools.partial(lambda: with_categories(numbers(240, 4, 3)))
    yield Case("AutoKMeans, categories, 240 x 6", lambda _: auto(mixed()), (1,), True)

    def logged(level: int) -> Values:
        logger, handler = logging.getLogger("fwkmeans"), logging.StreamHandler(io.StringIO())
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(level)
        try:
            return fitted(lambda: EWKMeans(3, random_state=7), numbers(300, 4))
        finally:
            logger.setLevel(before)
            logger.removeHandler(handler)

    yield Case("EW-KM, logged at INFO", lambda _: logged(logging.INFO))
    yield Case("EW-KM, logged at DEBUG", lambda _: logged(logging.DEBUG))


def all_cases() -> list[Case]:
    """Return every case; no two have the same name."""
    kinds = (small_cases, uncommon_cases, large_cases, batch_cases)
    cases = [each for kind in kinds for each in kind()]
    names = [each.name for each in cases]
    assert len(set(names)) == len(names), "two cases have the same name"
    return cases
