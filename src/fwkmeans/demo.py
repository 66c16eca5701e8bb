"""What feature weights are good for, on data that come with the package.

``python -m fwkmeans.demo`` clusters tables without and with noise features and prints how well each
algorithm finds the known classes, and the weights one of them gave to the features.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fwkmeans.datasets import (
    SURVEY_CONFIGURATIONS,
    add_noise_features,
    list_uci,
    load_uci,
    make_survey_gaussians,
)
from fwkmeans.estimators import ALGORITHMS, AWKMeans
from fwkmeans.preprocessing import TableEncoder

SEED = 0  # of the starts of every algorithm
WIDTH = 100
NAME_WIDTH = 27
BLOCKS_A_LINE = 4
MOST_FEATURES = 20  # in the table of weights

#: Readings of an algorithm that are worth a row of their own, beside its defaults.
VARIANTS: dict[str, dict[str, Any]] = {
    "WK-Means": {"weights": "cluster"},
    "EW-KM": {"dispersion": "mean"},
}

INTRODUCTION = """\
Feature-weighted K-Means on bundled data, without and with noise features

ARI    adjusted Rand index with the known classes: 1 is the same partition, 0 is chance
noise  the same after one uniform noise column was added for each column ({draws})
on it  share of the feature weights that the noise columns got, {equal} would be the equal share

Columns are standardised: value minus mean, divided by the range. Parameters are the defaults, or
what the row says; the best of ten starts is chosen by the objective. No fit has seen the classes.
The tables shown by default were picked to differ. On others, heart for one, K-Means does best:
choose them with --table.
"""


class Table(NamedTuple):
    """Rows, their known classes, and how many clusters to look for."""

    rows: NDArray[Any]
    classes: NDArray[Any]
    n_clusters: int
    feature_names: list[str]


class Prepared(NamedTuple):
    """Standardised rows with noise columns."""

    rows: NDArray[np.float64]
    names: list[str]
    is_noise: NDArray[np.bool_]


class Outcome(NamedTuple):
    """How an algorithm did on one table, averaged over the draws."""

    ari: float
    ari_with_noise: float
    noise_share: float


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments of the command line; None takes those of the process.

    Returns
    -------
    int
        0, the exit status.
    """
    arguments = _parser().parse_args(argv)
    print(_introduction(arguments.draws), flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few starts creep; scores stay valid
        for line in _score_lines(arguments.table, arguments.draws):
            print(line)
        print()
        for line in _weight_lines(arguments.table[0]):
            print(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fwkmeans.demo",
        description="Cluster bundled data without and with noise features, and show the weights.",
        epilog=f"tables: {', '.join([*list_uci(), *SURVEY_CONFIGURATIONS])} (the last "
        f"{len(SURVEY_CONFIGURATIONS)} are Gaussian clusters: rows x features - clusters)",
    )
    parser.add_argument(
        "--table",
        nargs="+",
        default=["iris", "wine", "500x10-3"],
        choices=[*list_uci(), *SURVEY_CONFIGURATIONS],
        metavar="NAME",
        help="tables to cluster; weights are shown for the first (default: iris wine 500x10-3)",
    )
    parser.add_argument(
        "--draws",
        type=_positive,
        default=5,
        metavar="N",
        help="draws of the noise, and of Gaussian clusters, to average over (default: 5)",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: expected at least 1")
    return number


# ---- data and models ----------------------------------------------------------------------------


def _load(name: str, draw: int) -> Table:
    """Return a table; Gaussian clusters differ from draw to draw."""
    if name in SURVEY_CONFIGURATIONS:
        size = SURVEY_CONFIGURATIONS[name]
        rows, classes = make_survey_gaussians(*size, random_state=draw)
        return Table(rows, classes, size[2], [f"feature {v + 1}" for v in range(size[1])])
    table = load_uci(name, frame=None)
    return Table(table.data, table.target, table.n_clusters, table.feature_names)


def _prepare(table: Table, n_noise: int | None, draw: int) -> Prepared:
    """Add noise columns (None: one per column) and standardise."""
    noisy = add_noise_features(table.rows, n_noise=n_noise, random_state=draw)
    names = [*table.feature_names, *(f"noise {name}" for name in table.feature_names)]
    encoder = TableEncoder(impute="median")
    rows = encoder.fit_transform(noisy)
    encoded = [str(name) for name in encoder.get_feature_names_out(names[: noisy.shape[1]])]
    return Prepared(rows, encoded, np.array([name.startswith("noise ") for name in encoded]))


def _models(n_clusters: int) -> Iterator[tuple[str, Any]]:
    """Yield every algorithm with its defaults, and the variants."""
    for name, algorithm in ALGORITHMS.items():
        yield name, algorithm(n_clusters, random_state=SEED)
        for parameter, value in VARIANTS.get(name, {}).items():
            model = algorithm(n_clusters, random_state=SEED, **{parameter: value})
            yield f"{name} {parameter}={value}", model


def _evaluate(name: str, draws: int) -> dict[str, Outcome]:
    """Return how each algorithm did on one table."""
    results: dict[str, list[Outcome]] = {}
    for draw in range(draws):
        table = _load(name, draw)
        plain, noisy = _prepare(table, 0, draw), _prepare(table, None, draw)
        for label, model in _models(table.n_clusters):
            ari = adjusted_rand_score(table.classes, model.fit_predict(plain.rows))
            with_noise = adjusted_rand_score(table.classes, model.fit_predict(noisy.rows))
            outcome = Outcome(ari, with_noise, _noise_share(model, noisy))
            results.setdefault(label, []).append(outcome)
    return {label: Outcome(*np.mean(some, axis=0)) for label, some in results.items()}


def _noise_share(model: Any, noisy: Prepared) -> float:
    weights = model.feature_weights_
    return float(weights[:, noisy.is_noise].sum() / weights.sum())


# ---- text ---------------------------------------------------------------------------------------


def _introduction(draws: int) -> str:
    mean = "one draw" if draws == 1 else f"mean of {draws} draws"
    return INTRODUCTION.format(draws=mean, equal="50%")


def _score_lines(names: Sequence[str], draws: int) -> Iterator[str]:
    """Yield the scores: a block of three columns for each table, and their mean."""
    blocks = {_title(name): _evaluate(name, draws) for name in names}
    if len(blocks) > 1:
        blocks["mean"] = _mean(list(blocks.values()))
    titles = list(blocks)
    for first in range(0, len(titles), BLOCKS_A_LINE):
        some = titles[first : first + BLOCKS_A_LINE]
        yield (" " * NAME_WIDTH + "".join(f"  {title:^16}" for title in some)).rstrip()
        yield f"{'algorithm':<{NAME_WIDTH}}" + f"  {'ARI':>4}{'noise':>6}{'on it':>6}" * len(some)
        yield "-" * NAME_WIDTH + ("  " + "-" * 16) * len(some)
        for label in blocks[titles[0]]:
            cells = "".join(_cells(blocks[title][label]) for title in some)
            yield f"{label:<{NAME_WIDTH}}{cells}"
        yield ""
    yield "FG-K-Means has one group of columns unless told otherwise; it then equals EW-KM."


def _title(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:15]}."


def _mean(outcomes: Sequence[dict[str, Outcome]]) -> dict[str, Outcome]:
    labels = outcomes[0]
    return {label: Outcome(*np.mean([one[label] for one in outcomes], axis=0)) for label in labels}


def _cells(outcome: Outcome) -> str:
    ari, with_noise = round(outcome.ari, 2) + 0.0, round(outcome.ari_with_noise, 2) + 0.0
    return f"  {ari:4.2f}{with_noise:6.2f}{outcome.noise_share:6.0%}"


def _weight_lines(name: str) -> Iterator[str]:
    """Yield the weights of the features in each cluster, the largest first."""
    table = _load(name, 0)
    noisy = _prepare(table, None, 0)
    model = AWKMeans(table.n_clusters, random_state=SEED).fit(noisy.rows)
    weights = model.feature_weights_
    sizes = np.bincount(model.labels_, minlength=table.n_clusters)
    yield f"Weights of the features in each cluster: AWK on {name} with noise columns (first draw)"
    yield ""
    width = (WIDTH - NAME_WIDTH) // len(weights)
    yield f"{'feature':<{NAME_WIDTH}}" + "".join(f"{f'{n} rows':<{width}}" for n in sizes).rstrip()
    yield f"{'-' * (NAME_WIDTH - 2)}" + ("  " + "-" * (width - 2)) * len(weights)
    order = np.argsort(-weights.mean(axis=0), kind="stable")
    for v in order[:MOST_FEATURES]:
        bars = "".join(_bar(weight, weights.max(), width) for weight in weights[:, v])
        yield f"{noisy.names[v][: NAME_WIDTH - 2]:<{NAME_WIDTH}}{bars}".rstrip()
    if len(order) > MOST_FEATURES:
        yield f"... and {len(order) - MOST_FEATURES} features with less weight"
    yield ""
    columns = f"{noisy.is_noise.sum()} of the {noisy.is_noise.size} columns"
    yield f"Noise columns are {columns} and got {_noise_share(model, noisy):.0%} of the weight."


def _bar(weight: float, largest: float, width: int) -> str:
    """Return a number and a bar of that length."""
    room = max(1, width - 7)
    return f"{f'{weight:.2f} ' + '#' * round(room * weight / largest):<{width}}"


if __name__ == "__main__":
    raise SystemExit(main())
