"""Compare the criteria that choose a parameter without labels.

``python benchmarks/label_free_criteria.py`` runs every algorithm that has a parameter at several
values of it, on the survey's tables without and with noise features, and lets each criterion of
`LabelFreeSearch` choose. It prints the mean adjusted Rand index of the chosen partitions, beside
that of the best value (chosen by the classes) and of the default, and how far each criterion is
above the default. ``--clusters`` lets the criteria choose the number of clusters instead.

No figure is chosen by hand: the values are the same for all tables, and the start of lowest
objective is kept at each of them. Gap and stability take most of the time.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from fwkmeans import AWKMeans, EWKMeans, FGKMeans, IKPrototypes, IMWKMeans, KMeans, WKMeans
from fwkmeans.datasets import SURVEY_CONFIGURATIONS, list_uci
from fwkmeans.preprocessing import TableEncoder
from fwkmeans.selection import Gap, LabelFreeSearch, Stability, mean_ranks
from fwkmeans.survey import parse_table
from fwkmeans.survey.tables import prepare

BETAS = [1.1, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0]
GAMMAS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
ALGORITHMS = {
    "AWK": (AWKMeans(), "beta", BETAS),
    "WK-Means": (WKMeans(), "beta", BETAS),
    "WK-Means, cluster weights": (WKMeans(weights="cluster"), "beta", BETAS),
    "EW-KM, mean dispersions": (EWKMeans(dispersion="mean"), "gamma", GAMMAS),
    "IK-P": (IKPrototypes(), "beta", BETAS),
    "iMWK-Means": (IMWKMeans(), "p", [1.1, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0]),
    "FG-K-Means": (FGKMeans(), "eta", [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]),
}
RANKED = ("silhouette_manhattan", "calinski_harabasz", "davies_bouldin")
PLAIN = (
    "silhouette",
    "silhouette_manhattan",
    "calinski_harabasz",
    "davies_bouldin",
    "dunn",
    "xie_beni",
    "central",
)


def table_of(text, noise, seed):
    """Return rows with standardized numbers and plain categories, classes and their number."""
    spec = parse_table(text)
    data = prepare(spec, 0, noise, seed, True)
    return data.rows, data.classes, spec.n_clusters


def ready(estimator, rows):
    """Return the estimator, behind an encoder if it cannot take the categories of these rows."""
    native = "categorical_features" in estimator.get_params()
    return estimator if native or rows.dtype != object else make_pipeline(TableEncoder(), estimator)


def few_labels(classes, seed):
    """Return the classes of 5 % of the rows, at least 10, and -1 for the others."""
    numbers = np.unique(classes, return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    known = rng.choice(len(numbers), max(10, len(numbers) // 20), replace=False)
    y = np.full(len(numbers), -1)
    y[known] = numbers[known]
    return y


def scores_of(estimator, grid, rows, y, criteria):
    """Return the labels of all candidates, and the scores of each criterion."""
    named = {repr(one) if not isinstance(one, str) else one: one for one in criteria}
    scores = {}
    labels = None
    try:
        search = LabelFreeSearch(estimator, grid, scoring=list(criteria), refit=False).fit(rows, y)
        labels = search.candidate_labels_
        return labels, {name: search.search_results_[f"score_{name}"] for name in named}
    except ValueError:  # one of them scores nothing: ask them one by one
        for name, one in named.items():
            try:
                search = LabelFreeSearch(estimator, grid, scoring=one, refit=False).fit(rows, y)
            except ValueError:
                continue
            labels, scores[name] = search.candidate_labels_, search.search_results_["score"]
    return labels, scores


def choices_of(labels, scores, classes):
    """Return the agreement with the classes of what each criterion chooses."""
    agreement = np.array([adjusted_rand_score(classes, own) for own in labels])
    found = {name: agreement[np.nanargmax(values)] for name, values in scores.items()}
    ranks = mean_ranks([scores[name] for name in RANKED if name in scores])
    if not np.isnan(ranks).all():
        found["ranks"] = agreement[np.nanargmin(ranks)]
    return found | {"best by labels": agreement.max()}


def parameter_rows(arguments, criteria):
    """Yield, for each algorithm, whether there is noise, and each table: what was chosen."""
    for name, (model, parameter, values) in ALGORITHMS.items():
        for noise in range(arguments.noise + 1):
            for text in arguments.table:
                rows, classes, n_clusters = table_of(text, noise, arguments.seed)
                model.set_params(
                    n_clusters=n_clusters, n_init=arguments.starts, random_state=0, n_jobs=1
                )
                estimator = ready(model, rows)
                grid = {_name(estimator, parameter): values}
                y = few_labels(classes, noise)
                labels, scores = scores_of(estimator, grid, rows, y, criteria)
                usual = estimator.fit_predict(rows)
                found = {"default": adjusted_rand_score(classes, usual)}
                yield name, noise > 0, text, found | choices_of(labels, scores, classes)


def cluster_rows(arguments, criteria):
    """Yield the same for the number of clusters, and whether it is the number of classes."""
    models = {"K-Means": KMeans(), "WK-Means, beta 4": WKMeans(beta=4.0)}
    numbers = list(range(2, 11))
    for name, model in models.items():
        for noise in range(arguments.noise + 1):
            for text in arguments.table:
                rows, classes, n_clusters = table_of(text, noise, arguments.seed)
                model.set_params(n_init=arguments.starts, random_state=0, n_jobs=1)
                estimator = ready(model, rows)
                grid = {_name(estimator, "n_clusters"): numbers}
                y = few_labels(classes, noise)
                labels, scores = scores_of(estimator, grid, rows, y, (*criteria, "hartigan"))
                chosen = {what: numbers[np.nanargmax(own)] for what, own in scores.items()}
                right = {f"{what}: K": float(k == n_clusters) for what, k in chosen.items()}
                yield name, noise > 0, text, right | choices_of(labels, scores, classes)


def _name(estimator, parameter):
    last = getattr(estimator, "steps", None)
    return f"{last[-1][0]}__{parameter}" if last else parameter


def mean_lines(rows):
    """Return a table of means: criteria in rows, algorithms in columns, without / with noise."""
    names = [*dict.fromkeys(name for name, *_ in rows), "mean"]
    yield ["", *names]
    for what in dict.fromkeys(what for *_, found in rows for what in found):
        cells = []
        for name in names:
            means = []
            for noisy in sorted({noisy for _, noisy, *_ in rows}):
                own = [
                    found[what]
                    for algorithm, other, _, found in rows
                    if name in (algorithm, "mean") and other == noisy and what in found
                ]
                means.append(f"{np.mean(own):.2f}" if own else "-")
            cells.append(" / ".join(means))
        yield [what, *cells]


def difference_lines(rows, over):
    """Return how far each criterion is above another, with 95 % intervals over the tables."""
    rng = np.random.default_rng(0)
    for noisy in sorted({noisy for _, noisy, *_ in rows}):
        own = [(text, found) for _, other, text, found in rows if other == noisy]
        tables = sorted({text for text, _ in own})
        for what in own[0][1]:
            apart = [
                np.mean([f[what] - f[over] for text, f in own if text == table and what in f])
                for table in tables
            ]
            drawn = np.mean(rng.choice(apart, size=(5000, len(apart))), axis=1)
            low, high = np.quantile(drawn, [0.025, 0.975])
            noise = "with" if noisy else "without"
            yield f"{what} - {over}, {noise} noise: {np.mean(apart):+.3f} [{low:+.3f}, {high:+.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = [*list_uci(), *SURVEY_CONFIGURATIONS]
    parser.add_argument("--table", nargs="+", default=known, choices=known)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--noise", type=int, default=2, help="draws of noise features")
    parser.add_argument("--repeats", type=int, default=10, help="of gap and stability; 0: neither")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clusters", action="store_true", help="choose the number of clusters")
    arguments = parser.parse_args()
    criteria = [*PLAIN, "known_labels"]
    if arguments.repeats:
        criteria += [Gap(arguments.repeats), Stability(arguments.repeats)]
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in (cluster_rows if arguments.clusters else parameter_rows)(arguments, criteria):
            rows.append(row)
            shown = " ".join(f"{what}={value:.2f}" for what, value in row[-1].items())
            print(row[0], "with noise" if row[1] else "without noise", row[2], shown, flush=True)
    print()
    for line in mean_lines(rows):
        print(" | ".join(line))
    if not arguments.clusters:
        print()
        for line in difference_lines(rows, "default"):
            print(line)


if __name__ == "__main__":
    main()
