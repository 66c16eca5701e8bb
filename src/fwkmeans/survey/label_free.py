"""The survey's question without labels: procedures with one setting for all tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import fwkmeans
from fwkmeans._support.agreement import adjusted_rand, mean_agreement
from fwkmeans.datasets import add_noise_features
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.estimators.auto import AutoKMeans
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.selection import LabelFreeSearch
from fwkmeans.survey.contenders import Contender
from fwkmeans.survey.protocol import Unit
from fwkmeans.survey.store import Cell
from fwkmeans.survey.tables import load_table, seed_of
from fwkmeans.typing import FloatArray, LabelArray

#: What all others are compared with.
BASELINE = "K-Means, by range"
MEDOID = "medoid of the partitions"
EXPONENTS = (1.1, 1.3, 1.5, 1.8, 2.0, 2.5, 3.0, 4.0, 5.0)
_FAILED = "failed: "


class Rows(NamedTuple):
    """A table in the codings that procedures take."""

    plain: Any  # as it is, for algorithms that read categories and gaps themselves
    mixed: Any  # standardized by range, categories as they are
    by_range: FloatArray  # balanced binary columns for categories
    z_scores: FloatArray
    n_clusters: int
    starts: int
    seed: int


Procedure = Callable[[Rows], LabelArray]


def _k_means(rows: Rows, X: FloatArray) -> LabelArray:
    model = ALGORITHMS["K-Means"](
        rows.n_clusters, n_init=rows.starts, random_state=rows.seed, n_jobs=1
    )
    return np.asarray(model.fit_predict(X))


def _mixture(covariance: str) -> Procedure:
    def labels(rows: Rows) -> LabelArray:
        model = GaussianMixture(
            rows.n_clusters,
            covariance_type=covariance,
            n_init=max(1, rows.starts // 4),
            reg_covar=1e-2,
            random_state=rows.seed,
        )
        return np.asarray(model.fit_predict(rows.z_scores))

    return labels


def _default(name: str, **parameters: Any) -> Procedure:
    def labels(rows: Rows) -> LabelArray:
        model = ALGORITHMS[name](rows.n_clusters, n_jobs=1, random_state=rows.seed, **parameters)
        if name != "CK-Means":  # which runs many candidates from each start
            model.set_params(n_init=rows.starts)
        mixed = hasattr(model, "categorical_features")
        return np.asarray(model.fit_predict(rows.mixed if mixed else rows.by_range))

    return labels


def _searched(rows: Rows) -> LabelArray:
    model = ALGORITHMS["iMWK-Means"].as_in_survey(rows.n_clusters, few_patterns="fill", n_jobs=1)
    search = LabelFreeSearch(model, {"p": list(EXPONENTS)}, scoring="silhouette_manhattan")
    return np.asarray(search.fit(rows.by_range).labels_)


#: The members of the medoid; without groups FG-K-Means is EW-KM.
MEMBERS: dict[str, Procedure] = {
    BASELINE: lambda rows: _k_means(rows, rows.by_range),
    "K-Means, z-scores": lambda rows: _k_means(rows, rows.z_scores),
    "Ward, by range": lambda rows: np.asarray(
        AgglomerativeClustering(rows.n_clusters).fit_predict(rows.by_range)
    ),
    "Gaussian mixture, diagonal": _mixture("diag"),
    "Gaussian mixture, tied": _mixture("tied"),
    "Gaussian mixture, full": _mixture("full"),
    "WK-Means": _default("WK-Means"),
    "WK-Means, cluster weights": _default("WK-Means", weights="cluster"),
    "AWK": _default("AWK"),
    "EW-KM": _default("EW-KM"),
    "IK-P": _default("IK-P"),
    "iMWK-Means": _default("iMWK-Means"),
    "FWSA": _default("FWSA"),
    "SYNCLUS": _default("SYNCLUS"),
    "CK-Means": _default("CK-Means"),
}
OTHERS: dict[str, Procedure] = {
    "iMWK-Means as published, p by silhouette": _searched,
    "AutoKMeans": lambda rows: np.asarray(AutoKMeans(rows.n_clusters).fit_predict(rows.plain)),
}
PROCEDURES = (*MEMBERS, *OTHERS, MEDOID)


class LabelFree(Contender):
    """All procedures at once, as a contender of the protocol."""

    __slots__ = ()

    def check(self) -> None:
        """Accept: there is nothing that a user could have set."""


#: The last label to be written stands for all of them.
LABEL_FREE = LabelFree(MEDOID, "label-free", (("label_free", True),), None, (math.nan,))
#: Usual sizes of a run, and those of a quick one.
SIZES = {"starts": 20, "data_sets": 4, "noise_draws": 2}
QUICK_SIZES = {"starts": 5, "data_sets": 1, "noise_draws": 1}


def run_procedures(unit: Unit) -> list[Cell]:
    """Return the results of all procedures on one data set; one that fails says why."""
    table = load_table(unit.table, unit.data_set, unit.seed)
    rows = table.rows
    if unit.noise:
        name = unit.table.name.partition(":")[0]
        draw = seed_of(unit.seed, name, "noise", unit.data_set, unit.noise)
        rows = add_noise_features(rows, random_state=draw)
    coded = _coded(rows, unit)
    partitions: dict[str, LabelArray] = {}
    cells = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, procedure in (MEMBERS | OTHERS).items():
            try:
                partitions[name] = procedure(coded)
            except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
                cells.append(_cell(unit, name, None, table.classes, str(error)))
            else:
                cells.append(_cell(unit, name, partitions[name], table.classes))
    members = [labels for name, labels in partitions.items() if name in MEMBERS]
    central = members[int(np.argmax(np.nan_to_num(mean_agreement(members))))]
    return [*cells, _cell(unit, MEDOID, central, table.classes)]


def failure_of(cell: Cell) -> str | None:
    """Return why a procedure failed, or None."""
    text = cell.parameter or ""
    return text.removeprefix(_FAILED) if text.startswith(_FAILED) else None


def _coded(rows: Any, unit: Unit) -> Rows:
    plain = TableEncoder(impute="median", category_weight=1.0).fit_transform(rows)
    return Rows(
        rows,
        TableEncoder(impute="median", categorical="keep").fit_transform(rows),
        TableEncoder(impute="median").fit_transform(rows),
        StandardScaler().fit_transform(plain),
        unit.table.n_clusters,
        unit.starts,
        seed_of(unit.seed, unit.table.name, unit.data_set, unit.noise, "label-free"),
    )


def _cell(unit: Unit, name: str, labels: LabelArray | None, classes: Any, error: str = "") -> Cell:
    ari = np.empty(0) if labels is None else adjusted_rand(labels[None], classes)
    n_found = 0 if labels is None else np.unique(labels).size
    value = float(ari[0]) if ari.size else 0.0
    return Cell(
        unit.table.name,
        unit.table.content,
        unit.data_set,
        unit.noise,
        unit.table.n_clusters,
        name,
        '{"label_free": true}',
        None if labels is not None else _FAILED + error.split("\n")[0],
        None,
        unit.seed,
        unit.starts,
        seed_of(unit.seed, unit.table.name, unit.data_set, unit.noise, "label-free"),
        value,
        0.0,
        value,
        int(labels is not None),
        int(n_found < unit.table.n_clusters),
        ari,
        np.empty(0),
        fwkmeans.__version__,
    )
