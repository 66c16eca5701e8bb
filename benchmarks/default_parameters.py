"""Compare settings of every algorithm over many tables, to choose its defaults.

``python benchmarks/default_parameters.py`` runs a grid of parameters for each algorithm over a
development suite: the 13 tables of the survey and its Gaussian clusters, tables of scikit-learn,
and the penguins of ``palmerpenguins`` if it is installed, each without and with noise columns.
``--tables FOLDER`` adds the CSV files of a folder, whose last column (or the one called ``class``)
holds the classes. The number of clusters is given, the start of lowest objective is kept, and no
label is used but for the adjusted Rand index of the result. It prints a table in Markdown, beside
K-Means of scikit-learn. Differences are means over the three groups of tables.

    python benchmarks/default_parameters.py --only WK-Means EW-KM --draws 2
"""

from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.cluster
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import adjusted_rand_score

from fwkmeans.datasets import (
    SURVEY_CONFIGURATIONS,
    add_noise_features,
    list_uci,
    load_uci,
    make_survey_gaussians,
)
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import TableEncoder

SURVEY = "as in the survey"

#: Settings of every algorithm; {} are the defaults.
GRIDS: dict[str, list[dict | str]] = {
    "K-Means": [{}],
    "WK-Means": [
        SURVEY,
        {},
        *({"beta": beta, "guard": guard} for beta in (2.0, 4.0, 8.0) for guard in (0.0, 0.05, 0.2)),
        {"beta": 4.0, "guard": 0.0, "zero": "huang"},
    ],
    "WK-Means, cluster weights": [
        {"weights": "cluster"},
        *(
            {"weights": "cluster", "beta": beta, "guard": guard}
            for beta in (2.0, 4.0, 8.0)
            for guard in (0.0, 0.5)
        ),
    ],
    "AWK": [
        SURVEY,
        {},
        *({"beta": beta, "guard": guard} for beta in (2.0, 4.0, 8.0) for guard in (0.0, 0.1, 0.5)),
    ],
    "EW-KM": [
        SURVEY,
        {},
        {"dispersion": "sum"},
        *({"gamma": gamma} for gamma in (0.01, 0.02, 0.04, 0.08)),
    ],
    "FG-K-Means": [SURVEY, {}, {"groups": "auto"}, {"groups": "auto", "dispersion": "sum"}],
    "IK-P": [
        SURVEY,
        {},
        *({"beta": beta, "guard": guard} for beta in (2.0, 8.0) for guard in (0.0, 0.2, 1.0)),
    ],
    "iMWK-Means": [
        SURVEY,
        {},
        *({"p": p, "guard": guard} for p in (1.5, 2.0, 3.0) for guard in (0.0, 1.0, 4.0)),
    ],
    "FWSA": [SURVEY, {}, *({"guard": guard} for guard in (0.5, 1.0, 2.0))],
    "SYNCLUS": [SURVEY, {}, {"centred": True}],
    "CK-Means": [{}, {"spaces": "auto"}],
}
GROUPS = ("real", "synthetic", "outside")


def tables(arguments):
    """Yield group, name, features and classes of every table, without noise."""
    for name in list_uci():
        table = load_uci(name)
        yield "real", name, table.data, np.asarray(table.target)
    for name, size in SURVEY_CONFIGURATIONS.items():
        for draw in range(arguments.draws):
            X, y = make_survey_gaussians(*size, random_state=draw)
            yield "synthetic", f"{name} {draw}", pd.DataFrame(X).add_prefix("x"), y
    for name, load in (("breast_cancer", load_breast_cancer), ("digits", load_digits)):
        table = load(as_frame=True)
        yield "outside", name, table.data, np.asarray(table.target)
    try:
        from palmerpenguins import load_penguins
    except ImportError:
        print("palmerpenguins is not installed, so its table is left out.", file=sys.stderr)
    else:
        frame = load_penguins()
        yield "outside", "penguins", frame.drop(columns="species"), frame["species"].to_numpy()
    files = sorted(Path(arguments.tables).glob("*.csv")) if arguments.tables else []
    for path in files:
        frame = pd.read_csv(path)
        target = "class" if "class" in frame else frame.columns[-1]
        yield "outside", path.stem, frame.drop(columns=target), frame[target].to_numpy()


def prepared(arguments):
    """Yield group, whether there is noise, name, classes, and the table in two codings."""
    for group, name, X, y in tables(arguments):
        rng = np.random.default_rng(0)
        rows = np.sort(rng.permutation(len(y))[: arguments.rows])
        X, y = X.iloc[rows].reset_index(drop=True), y[rows]
        for draw in range(arguments.draws + 1):
            noisy = add_noise_features(X, random_state=draw) if draw else X
            if group == "synthetic" and draw > 1:
                continue  # the data sets are draws already
            coded = {
                how: TableEncoder(impute="median", categorical=how).fit_transform(noisy)
                for how in ("keep", "onehot")
            }
            yield group, draw > 0, name, y, coded


def labels_of(title, settings, coded, n_clusters, starts):
    """Return the labels of one algorithm on one table."""
    if title == "scikit-learn":
        model = sklearn.cluster.KMeans(n_clusters, n_init=starts, random_state=0)
        return model.fit(coded["onehot"]).labels_
    algorithm = ALGORITHMS[title.partition(",")[0]]
    known = inspect.signature(algorithm).parameters
    if settings == SURVEY:
        model = algorithm.as_in_survey(n_clusters)
    else:
        model = algorithm(n_clusters, **settings)
    model.set_params(n_jobs=1, random_state=0)
    if not (isinstance(model.init, str) and model.init == "anomalous"):
        model.set_params(n_init=starts)
    how = "keep" if "categorical_features" in known else "onehot"
    return model.fit(coded[how]).labels_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(GRIDS), help="these algorithms")
    parser.add_argument("--defaults", action="store_true", help="no grids, only the defaults")
    parser.add_argument("--draws", type=int, default=1, help="of noise and of Gaussian clusters")
    parser.add_argument("--rows", type=int, default=1000, help="at most, of each table")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--tables", metavar="FOLDER", help="further CSV files with classes")
    parser.add_argument("--verbose", action="store_true", help="print every table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [("scikit-learn", {})]
    for title, settings in GRIDS.items():
        if arguments.only is None or title in arguments.only:
            usual = [one for one in settings if one in ({}, SURVEY, {"weights": "cluster"})]
            chosen += [(title, one) for one in (usual if arguments.defaults else settings)]
    scores: dict[tuple, list[float]] = {}
    for group, noisy, name, y, coded in prepared(arguments):
        found = []
        for at, (title, settings) in enumerate(chosen):
            labels = labels_of(title, settings, coded, len(np.unique(y)), arguments.starts)
            found.append(adjusted_rand_score(y, labels))
            scores.setdefault((at, group, noisy), []).append(found[-1])
        if arguments.verbose:
            shown = " ".join(f"{value:.2f}" for value in found)
            print(group, name, "with noise" if noisy else "", shown, file=sys.stderr, flush=True)
    columns = [(group, noisy) for group in GROUPS for noisy in (False, True)]
    heads = [f"{group}{' + noise' if noisy else ''}" for group, noisy in columns]
    print(f"| algorithm | setting | {' | '.join(heads)} | less K-Means | with noise |")
    print("|---" * (len(heads) + 4) + "|")
    baseline = {key: np.mean(scores[0, *key]) for key in columns}
    for at, (title, settings) in enumerate(chosen):
        means = {key: np.mean(scores[at, *key]) for key in columns}
        apart = [
            np.mean([means[group, noisy] - baseline[group, noisy] for group in GROUPS])
            for noisy in (False, True)
        ]
        text = settings if isinstance(settings, str) else _text(settings)
        cells = " | ".join(f"{means[key]:.3f}" for key in columns)
        print(f"| {title} | {text} | {cells} | {apart[0]:+.3f} | {apart[1]:+.3f} |")


def _text(settings):
    own = {name: value for name, value in settings.items() if name != "weights"}
    return ", ".join(f"{name} {value}" for name, value in own.items()) or "**default**"


if __name__ == "__main__":
    main()
