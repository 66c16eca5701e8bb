"""What feature weights are good for, on data that come with the package.

``fwkmeans demo`` clusters a bundled table with noise features by every algorithm, prints how well
each finds the known classes and which columns it looks at, and writes a report about one of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans._support.text import bar, joined
from fwkmeans.datasets import add_noise_features
from fwkmeans.datasets.named import NamedTable, load_named
from fwkmeans.estimators import ALGORITHMS, AutoKMeans
from fwkmeans.preprocessing import TableEncoder

SEED = 0  # of the starts of every algorithm
TABLE = "iris"
WIDTH = 100
NAME_WIDTH = 27
BLOCKS_A_LINE = 4
MOST_FEATURES = 10  # in the table of weights

#: Readings of an algorithm that are worth a row of their own, beside its defaults.
VARIANTS: dict[str, dict[str, Any]] = {
    "WK-Means": {"weights": "cluster"},
    "EW-KM": {"dispersion": "sum"},
}

INTRODUCTION = """\
{title}, without and with noise columns

ARI    adjusted Rand index with the known classes: 1 is the same partition, 0 is chance
noise  the same after one uniform noise column was added for each column ({draws})
on it  share of the feature weights that the noise columns got; 50% would be the equal share
"""

REMARK = """\
No fit has seen the classes. Parameters are the defaults or what the row says; the best of ten
starts is chosen by the objective. AutoKMeans has no parameters and is what fwkmeans fit takes
unless told otherwise. No algorithm wins everywhere: on wine others than on iris resist the noise,
and on heart plain K-Means does best (fwkmeans demo --table wine --table heart)."""

FAREWELL = """\
Your own table: fwkmeans fit table.csv -k 3 --report report.html
"""


class Noisy(NamedTuple):
    """A table with noise columns, and the model that clusters it as it is."""

    rows: NDArray[Any]
    names: list[str]
    classes: NDArray[Any]
    model: AutoKMeans


class Prepared(NamedTuple):
    """Standardized rows with noise columns."""

    rows: NDArray[np.float64]
    is_noise: NDArray[np.bool_]


class Outcome(NamedTuple):
    """How an algorithm did on one table, averaged over the draws."""

    ari: float
    ari_with_noise: float
    noise_share: float


def run(
    tables: Sequence[str],
    draws: int,
    report: str | None,
    echo: Callable[[str], object],
) -> None:
    """Run the demonstration.

    Weights and report are about the first of the tables; `draws` of the noise are averaged. A
    report is written unless `report` is None. `echo` prints a line.
    """
    draw = "one draw" if draws == 1 else f"mean of {draws} draws"
    title = joined(tables)
    echo(INTRODUCTION.format(draws=draw, title=title[:1].upper() + title[1:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few starts creep; scores stay valid
        for line in _score_lines(tables, draws):
            echo(line)
        echo(f"\n{REMARK}\n")
        noisy = _noisy(tables[0])
        for line in _weight_lines(tables[0], noisy):
            echo(line)
        echo("")
        if report is not None:
            echo(_write_report(tables[0], noisy, report))
    echo(FAREWELL.rstrip())


# ---- data and models ----------------------------------------------------------------------------


def _prepare(table: NamedTable, n_noise: int | None, draw: int) -> Prepared:
    """Add noise columns (None: one per column) and standardize."""
    noisy = add_noise_features(table.rows, n_noise=n_noise, random_state=draw)
    encoder = TableEncoder(impute="median")
    rows = encoder.fit_transform(noisy)
    return Prepared(rows, encoder.origins_ >= table.rows.shape[1])


def _models(n_clusters: int) -> Iterator[tuple[str, Any]]:
    """Yield every algorithm with its defaults, and the variants."""
    for name, algorithm in ALGORITHMS.items():
        yield name, algorithm(n_clusters, random_state=SEED)
        for parameter, value in VARIANTS.get(name, {}).items():
            model = algorithm(n_clusters, random_state=SEED, **{parameter: value})
            yield f"{name} {parameter}={value}", model
    yield "AutoKMeans", AutoKMeans(n_clusters)


def _evaluate(name: str, draws: int) -> dict[str, Outcome]:
    """Return how each algorithm did on one table."""
    results: dict[str, list[Outcome]] = {}
    for draw in range(draws):
        table = load_named(name, draw)
        plain, noisy = _prepare(table, 0, draw), _prepare(table, None, draw)
        for label, model in _models(table.n_clusters):
            ari = adjusted_rand_score(table.classes, model.fit_predict(plain.rows))
            with_noise = adjusted_rand_score(table.classes, model.fit_predict(noisy.rows))
            weights = model.feature_weights_
            share = float(weights[:, noisy.is_noise].sum() / weights.sum())
            results.setdefault(label, []).append(Outcome(ari, with_noise, share))
    return {label: Outcome(*np.mean(some, axis=0)) for label, some in results.items()}


def _noisy(name: str) -> Noisy:
    """Return a table with the first draw of noise, and its clusters."""
    table = load_named(name, 0)
    rows = add_noise_features(table.rows, random_state=0)
    names = [*table.feature_names, *(f"noise {one}" for one in table.feature_names)]
    names = names[: rows.shape[1]]
    model = AutoKMeans(table.n_clusters).fit(_frame(rows, names))
    return Noisy(rows, names, table.classes, model)


def _frame(rows: NDArray[Any], names: Sequence[str]) -> Any:
    """Return rows with names, in whichever library for that is there; else without."""
    for library in ("pyarrow", "polars", "pandas"):
        if find_spec(library) is not None:
            columns = {name: list(column) for name, column in zip(names, rows.T, strict=True)}
            return nw.from_dict(columns, backend=library).to_native()
    return rows


def _write_report(name: str, noisy: Noisy, path: str) -> str:
    """Write the report about the model; return a line that says where it is."""
    if find_spec("jinja2") is None or find_spec("matplotlib") is None:
        return "No report: it needs matplotlib and jinja2 (pip install 'fwkmeans[report]')."
    from fwkmeans.reports import summarize, write_report

    summary = summarize(
        noisy.model,
        _frame(noisy.rows, noisy.names),
        classes=noisy.classes,
        title=f"{name} with noise columns, clustered by AutoKMeans",
        random_state=SEED,
    )
    write_report(summary, path)
    return f"The report about these clusters is in {Path(path).resolve()}"


# ---- text ---------------------------------------------------------------------------------------


def _score_lines(names: Sequence[str], draws: int) -> Iterator[str]:
    """Yield the scores: a block of three columns for each table, and their mean."""
    blocks = {_title(name): _evaluate(name, draws) for name in names}
    if len(blocks) > 1:
        blocks["mean"] = _mean(list(blocks.values()))
    titles = list(blocks)
    for first in range(0, len(titles), BLOCKS_A_LINE):
        some = titles[first : first + BLOCKS_A_LINE]
        if first:
            yield ""
        yield (" " * NAME_WIDTH + "".join(f"  {title:^16}" for title in some)).rstrip()
        yield f"{'algorithm':<{NAME_WIDTH}}" + f"  {'ARI':>4}{'noise':>6}{'on it':>6}" * len(some)
        yield "-" * NAME_WIDTH + ("  " + "-" * 16) * len(some)
        for label in blocks[titles[0]]:
            cells = "".join(_cells(blocks[title][label]) for title in some)
            yield f"{label:<{NAME_WIDTH}}{cells}"


def _title(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:15]}."


def _mean(outcomes: Sequence[dict[str, Outcome]]) -> dict[str, Outcome]:
    labels = outcomes[0]
    return {label: Outcome(*np.mean([one[label] for one in outcomes], axis=0)) for label in labels}


def _cells(outcome: Outcome) -> str:
    ari, with_noise = round(outcome.ari, 2) + 0.0, round(outcome.ari_with_noise, 2) + 0.0
    return f"  {ari:4.2f}{with_noise:6.2f}{outcome.noise_share:6.0%}"


def _weight_lines(name: str, noisy: Noisy) -> Iterator[str]:
    """Yield the weights of the columns in each cluster, the largest first."""
    weights = noisy.model.feature_weights_
    sizes = np.bincount(noisy.model.labels_, minlength=len(weights))
    yield (
        f"Weights of the columns in each cluster: AutoKMeans on {name} with noise columns "
        "(first draw)"
    )
    yield ""
    width = (WIDTH - NAME_WIDTH) // len(weights)
    yield f"{'column':<{NAME_WIDTH}}" + "".join(f"{f'{n} rows':<{width}}" for n in sizes).rstrip()
    yield f"{'-' * (NAME_WIDTH - 2)}" + ("  " + "-" * (width - 2)) * len(weights)
    order = np.argsort(-weights.mean(axis=0), kind="stable")
    for v in order[:MOST_FEATURES]:
        bars = "".join(_bar(weight, weights.max(), width) for weight in weights[:, v])
        yield f"{noisy.names[v][: NAME_WIDTH - 2]:<{NAME_WIDTH}}{bars}".rstrip()
    if len(order) > MOST_FEATURES:
        yield f"... and {len(order) - MOST_FEATURES} columns with less weight"
    is_noise = np.array([one.startswith("noise ") for one in noisy.names])
    share = weights[:, is_noise].sum() / weights.sum()
    yield ""
    yield (
        f"Noise columns are {is_noise.sum()} of the {is_noise.size} columns and got {share:.0%} of "
        "the weight."
    )


def _bar(weight: float, largest: float, width: int) -> str:
    """Return a number and a bar of that length."""
    room = max(1, width - 7)
    return f"{f'{weight:.2f} ' + bar(weight / largest, room):<{width}}"
