"""Run readings of the survey's experiment that no setting of an estimator covers.

``python benchmarks/replication.py`` prints, for the bundled tables without noise features:

* EW-KM stopped like the R package wskm (the run ends as soon as the objective is negative) and with
  its lower bound on the weights, next to EW-KM run to convergence with summed and with mean
  dispersions, and the figure that the survey published;
* iMWK-Means with ties that go to the last cluster instead of the first.

Random starts need no second rule for ties: their centers come in random order, so either rule gives
the same distribution of results.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fwkmeans import IMWKMeans
from fwkmeans._support.agreement import adjusted_rand
from fwkmeans.datasets import list_uci
from fwkmeans.survey import parse_contender, parse_table, run_unit, survey_protocol
from fwkmeans.survey.published import published
from fwkmeans.survey.tables import prepare


def ewkm_in_r(rows, n_clusters, gamma, n_starts, rng, max_iter=100, delta=1e-5):
    """Return the labels of every start, in plain NumPy; ties go to the last cluster."""
    labels = np.empty((n_starts, len(rows)), dtype=np.int64)
    for start in range(n_starts):
        for _ in range(10):  # an empty cluster: new centers
            found = _one_run(rows, n_clusters, gamma, rng, max_iter, delta)
            if found is not None:
                break
        labels[start] = 0 if found is None else found
    return labels


def _one_run(rows, n_clusters, gamma, rng, max_iter, delta):
    n_rows, n_features = rows.shape
    centers = rows[rng.choice(n_rows, n_clusters, replace=False)]
    weights = np.full((n_clusters, n_features), 1.0 / n_features)
    before = np.inf
    labels = None
    for _ in range(max_iter):
        squares = (rows[:, None, :] - centers) ** 2
        distances = (squares * weights).sum(axis=2)
        labels = n_clusters - 1 - distances[:, ::-1].argmin(axis=1)
        counts = np.bincount(labels, minlength=n_clusters)
        if (counts == 0).any():
            return None
        indicator = np.eye(n_clusters)[labels]
        centers = indicator.T @ rows / counts[:, None]
        spread = indicator.T @ rows**2 - counts[:, None] * centers**2
        spread = np.maximum(spread, 0.0)
        logs = -spread / gamma
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        weights = np.maximum(weights, 1e-4 / n_features)
        weights /= weights.sum(axis=1, keepdims=True)
        objective = (weights * spread).sum() + gamma * (weights * np.log(weights)).sum()
        if abs(before - objective) / objective < delta:  # negative if the objective is
            break
        before = objective
    return labels


def ewkm_lines(names, n_starts):
    yield "EW-KM: mean ARI at the best gamma (and that gamma), no noise features"
    header = ["table", "published", "as in R", "to convergence, summed", "mean dispersions"]
    yield "".join(f"{word:<26}" for word in header)
    gammas = [round(0.1 * step, 1) for step in range(1, 51)]  # the R package divides by gamma
    for name in names:
        spec = parse_table(name)
        data = prepare(spec, 0, 0, 0, False)
        rng = np.random.default_rng(0)
        in_r = [
            adjusted_rand(
                ewkm_in_r(data.rows, spec.n_clusters, gamma, n_starts, rng), data.classes
            ).mean()
            for gamma in gammas
        ]
        cells = [f"{max(in_r):.2f} ({gammas[int(np.argmax(in_r))]})"]
        for label in ("EW-KM[dispersion=sum]", "EW-KM"):
            protocol = survey_protocol(
                tables=(spec,),
                contenders=(parse_contender(label),),
                starts=n_starts,
                noise=(0,),
            )
            best = max(run_unit(next(protocol.units())), key=lambda cell: cell.mean)
            cells.append(f"{best.mean:.2f} ({best.value:g})")
        theirs = published()[name, False, "EW-KM"]
        row = [name, f"{theirs.mean:.2f} ({theirs.parameter:g})", *cells]
        yield "".join(f"{cell:<26}" for cell in row)


def tie_lines(names):
    yield "iMWK-Means: ARI at the best p, ties to the first and to the last cluster"
    yield "".join(f"{word:<26}" for word in ["table", "published", "first", "last"])
    contender = parse_contender("iMWK-Means")
    values = contender.values
    for name in names:
        spec = parse_table(name)
        data = prepare(spec, 0, 0, 0, False)
        first, last = [], []
        for p in values:
            begin = contender.model(spec.n_clusters).set_params(p=p, max_iter=1).fit(data.rows)
            one = contender.model(spec.n_clusters).set_params(p=p).fit(data.rows)
            first.append(adjusted_rand(one.labels_[None], data.classes)[0])
            turned = IMWKMeans(
                begin.n_clusters_,
                p=p,
                init=begin.cluster_centers_[::-1],
                weight_init=begin.feature_weights_[::-1],
            ).fit(data.rows)
            last.append(adjusted_rand(turned.labels_[None], data.classes)[0])
        theirs = published()[name, False, "iMWK-Means"]
        cells = [f"{theirs.max:.2f} ({theirs.parameter:g})"]
        cells += [f"{max(s):.2f} ({values[int(np.argmax(s))]})" for s in (first, last)]
        yield "".join(f"{cell:<26}" for cell in [name, *cells])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", nargs="+", default=list_uci(), choices=list_uci())
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--only", choices=["ewkm", "ties"])
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if arguments.only != "ties":
            for line in ewkm_lines(arguments.table, arguments.starts):
                print(line, flush=True)
        if arguments.only != "ewkm":
            for line in tie_lines(arguments.table):
                print(line, flush=True)


if __name__ == "__main__":
    main()
