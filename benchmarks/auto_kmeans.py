"""AutoKMeans beside K-Means and its relatives, without labels: ARI on the survey's tables.

Every procedure has one setting for all tables and is told the number of clusters; starts are chosen
by the objective. ``--found`` also lets AutoKMeans find the number of clusters; ``--families`` shows
what each of its families of mixtures reaches alone. The tables are the 13 of the survey and its
Gaussian clusters, each without and with noise, and two of scikit-learn.

    python benchmarks/auto_kmeans.py --draws 4 --found
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fwkmeans import AutoKMeans, EWKMeans, KMeans, WKMeans
from fwkmeans._mixture import FAMILIES
from fwkmeans.datasets import add_noise_features, list_uci, load_uci, make_survey_gaussians
from fwkmeans.datasets.gaussians import SURVEY_CONFIGURATIONS
from fwkmeans.estimators import auto
from fwkmeans.preprocessing import TableEncoder

warnings.simplefilter("ignore")
STARTS = 20


def encoded(X, *, by_variance):
    # binary columns count in full, as in the survey
    encoder = TableEncoder(impute="median", category_weight=1.0)
    rows = np.asarray(encoder.fit_transform(X), dtype=float)
    return rows / np.maximum(rows.std(axis=0), 1e-12) if by_variance else rows


def kmeans(X, n_clusters, *, by_variance):
    rows = encoded(X, by_variance=by_variance)
    return KMeans(n_clusters, n_init=STARTS, random_state=0).fit(rows).labels_


def entropy(X, n_clusters):
    model = EWKMeans(n_clusters, dispersion="mean", n_init=STARTS, random_state=0)
    return model.fit(encoded(X, by_variance=False)).labels_


def power(X, n_clusters):
    model = WKMeans(n_clusters, beta=4, zero="huang", n_init=STARTS, random_state=0)
    return model.fit(encoded(X, by_variance=False)).labels_


def gaussians(X, n_clusters):
    rows = encoded(X, by_variance=True)
    model = GaussianMixture(
        n_clusters, covariance_type="diag", n_init=5, reg_covar=1e-2, random_state=0
    )
    return model.fit(rows).predict(rows)


def one_family(X, n_clusters, *, family):
    auto.FAMILIES = (family,)
    try:
        return AutoKMeans(n_clusters).fit(X).labels_
    finally:
        auto.FAMILIES = FAMILIES


PROCEDURES = {
    "K-Means, by range": lambda X, k: kmeans(X, k, by_variance=False),
    "K-Means, z-scores": lambda X, k: kmeans(X, k, by_variance=True),
    "EW-KM, mean": entropy,
    "WK-Means, beta 4, huang": power,
    "Gaussian mixture, diagonal": gaussians,
    "AutoKMeans": lambda X, k: AutoKMeans(k).fit(X).labels_,
}


def tables(draws):
    """Yield group, name, table, classes and number of clusters."""
    for name in list_uci():
        table = load_uci(name)
        yield "real", name, table.data, table.target, table.n_clusters
        for draw in range(draws):
            noisy = add_noise_features(table.data, random_state=draw)
            yield "real + noise", f"{name} {draw}", noisy, table.target, table.n_clusters
    for name, size in SURVEY_CONFIGURATIONS.items():
        for draw in range(draws):
            X, y = make_survey_gaussians(*size, random_state=draw)
            yield "synthetic", f"{name} {draw}", X, y, size[2]
            noisy = add_noise_features(X, random_state=draw)
            yield "synthetic + noise", f"{name} {draw}", noisy, y, size[2]
    for name, load in (("breast_cancer", load_breast_cancer), ("digits", load_digits)):
        table = load(as_frame=True)
        yield "scikit-learn", name, table.data, table.target, len(np.unique(table.target))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2, help="of noise and of Gaussians")
    parser.add_argument("--found", action="store_true", help="look for the number, too")
    parser.add_argument("--families", action="store_true", help="each family of mixtures alone")
    options = parser.parse_args()
    if options.families:
        for family in FAMILIES:
            PROCEDURES[f"  {family.name}"] = partial(one_family, family=family)
    scores, seconds, found = {}, [], []
    for group, name, X, y, n_clusters in tables(options.draws):
        row = {}
        for procedure, labels_of in PROCEDURES.items():
            begin = time.perf_counter()
            row[procedure] = adjusted_rand_score(y, labels_of(X, n_clusters))
            if procedure == "AutoKMeans" and group == "real":
                seconds.append(time.perf_counter() - begin)
        scores.setdefault(group, []).append((name, row))
        line = f"{group:18s} {name:28s}" + "".join(f"{value:7.2f}" for value in row.values())
        if options.found:
            model = AutoKMeans().fit(X)
            found.append((group, n_clusters, model.n_clusters_))
            line += f"   K {n_clusters} found {model.n_clusters_}"
        print(line, flush=True)
    print()
    random = np.random.default_rng(0)
    for group, rows in scores.items():
        print(f"{group} ({len(rows)}): mean ARI, and AutoKMeans less this one with a 95 % interval")
        ours = np.array([row["AutoKMeans"] for _, row in rows])
        for procedure in PROCEDURES:
            theirs = np.array([row[procedure] for _, row in rows])
            lead = ours - theirs
            means = lead[random.integers(0, lead.size, (2000, lead.size))].mean(axis=1)
            low, high = np.quantile(means, [0.025, 0.975])
            print(
                f"  {procedure:28s} {theirs.mean():.3f}   {lead.mean():+.3f} "
                f"({low:+.3f} to {high:+.3f}), better on {(lead > 0.005).sum()}, worse on "
                f"{(lead < -0.005).sum()}"
            )
    for group in dict.fromkeys(row[0] for row in found):
        right = [n == k for where, n, k in found if where == group]
        print(f"number of clusters right, {group}: {sum(right)} of {len(right)}")
    print(f"median of AutoKMeans on the survey's tables: {np.median(seconds):.2f} s")


if __name__ == "__main__":
    main()
