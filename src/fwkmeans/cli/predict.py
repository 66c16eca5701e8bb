"""``fwkmeans predict``: assign new rows to the clusters of a model."""

from __future__ import annotations

import contextlib
import math
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click
import numpy as np

from fwkmeans._support.archive import TooMuchJsonError
from fwkmeans._support.errors import InputError
from fwkmeans._support.text import count, number
from fwkmeans._tabular.format import Format, Style
from fwkmeans._tabular.reading import read_table
from fwkmeans.cli.columns import check_keys, match_columns
from fwkmeans.cli.errors import with_option
from fwkmeans.cli.options import (
    SectionedCommand,
    file_option,
    format_options,
    json_option,
    keys_option,
    max_json_option,
    safe_option,
    stream_options,
)
from fwkmeans.cli.output import check_apart, check_out, echo_json, note, table_name, write_columns
from fwkmeans.cli.rows import named
from fwkmeans.cli.sizes import Streaming, is_streamed

#: Categories that a model has not seen which are remembered of a block.
MOST_STRANGE = 100


class ModelColumns(NamedTuple):
    """The columns of a model by what they hold."""

    names: list[str]
    text: list[str]
    numbers: list[str]
    truths: list[str]


@click.command(
    cls=SectionedCommand,
    epilog="Example: fwkmeans predict wine.fwk new.csv --id bottle --out clusters.csv",
)
@click.argument("model", type=click.Path())
@click.argument("table", type=click.Path())
@file_option(
    "-o",
    "--out",
    default="-",
    text="Write to a .csv, .tsv, .parquet or .xlsx file (default: - for stdout).",
)
@click.option("--distances", is_flag=True, help="Also the distance to the center of each cluster.")
@keys_option
@safe_option
@json_option
@max_json_option
@stream_options
@format_options
def predict(
    model: str,
    table: str,
    out: str,
    distances: bool,
    keys: list[str],
    spreadsheet_safe: bool,
    as_json: bool,
    max_json: float,
    streaming: Streaming,
    how: Format,
) -> None:
    """Assign each row of TABLE to a cluster of MODEL.

    MODEL is a file that fwkmeans fit --model wrote; it holds no code and is safe to open. Columns
    are found by name, in any order; further columns are ignored. TABLE may be - for stdin; a large
    file, a folder or a pattern such as 'folder/*.parquet' is read and written in blocks.
    """
    check_apart({"the model": model, "the table": table}, {"--out": out})
    check_out(out)
    pipeline = load(model, max_json)
    n_clusters = len(pipeline[-1].cluster_centers_)
    apart_names = [f"distance_{k}" for k in range(n_clusters)] if distances else []
    check_keys(keys, [*named(pipeline[-1], np.empty(0, np.int32)), *apart_names])
    if is_streamed(table, streaming):
        from fwkmeans.cli.predict_blocks import predict_blocks

        sizes, told = predict_blocks(
            pipeline, table, out, how, keys, apart_names, streaming, spreadsheet_safe, model
        )
        for text in told:
            note(text)
        n_rows = int(sizes.sum())
        if as_json:
            echo_json({"n_rows": n_rows, "sizes": sizes.tolist()})
        elif out != "-":
            click.echo(f"Wrote the clusters of {count(n_rows, 'row')} to {out}")
        return
    frame, features, remarks, style = read_for(pipeline, table, how, keys)
    for key in keys:
        if key not in frame.column_names:
            raise InputError(f"--id {key}: the table has no such column.")
    with warnings.catch_warnings(), using(model):
        warnings.simplefilter("ignore")
        found = pipeline.predict(features)
        labels = found.tolist()
        columns: dict[str, Any] = {key: frame[key].to_pylist() for key in keys}
        columns |= named(pipeline[-1], found)
        if distances:
            apart = pipeline.transform(features)
            columns |= {name: apart[:, k].tolist() for k, name in enumerate(apart_names)}
    for text in [*remarks, *_unseen(pipeline, features)]:
        note(text)
    if as_json:
        sizes = [labels.count(k) for k in range(n_clusters)]
        echo_json({"n_rows": len(labels), "sizes": sizes, "columns": columns})
        if out == "-":
            return
    for text in write_columns(columns, out, style=style, spreadsheet_safe=spreadsheet_safe):
        note(text)
    if out != "-" and not as_json:
        click.echo(f"Wrote the clusters of {count(len(labels), 'row')} to {out}")


@contextlib.contextmanager
def using(path: str) -> Iterator[None]:
    """Say that a model is damaged if using it fails in ways that no table can cause."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"{path} is damaged: what it holds does not fit together ({type(error).__name__}). "
            "Fit the model again."
        ) from error


def load(path: str, max_json: float) -> Any:
    """Return a model of a file, as a pipeline; its JSON may have so many MiB."""
    from pathlib import Path

    from sklearn.pipeline import Pipeline

    from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
    from fwkmeans.exceptions import ModelFileError
    from fwkmeans.persistence import load_model

    if not Path(path).is_file():
        raise InputError(
            f"There is no model {path}: fwkmeans fit TABLE -k 3 --model {path} makes it."
        )
    try:
        model = load_model(path, max_json=int(max_json * 2**20))
    except ModelFileError as error:
        if not zipfile.is_zipfile(path):
            raise InputError(f"{error} Give the model first, then the table.") from None
        if not isinstance(error.__cause__, TooMuchJsonError):
            raise
        size = error.__cause__.size / 2**20
        raise InputError(
            f"The names and categories of {path} have {size:.1f} MiB, more than the limit of "
            f"{max_json:g} MiB, and may take 25 times as much memory: if you trust the file, raise "
            "the limit.",
            setting="max-json",
            value=str(math.ceil(size)),
        ) from None
    pipeline = model if isinstance(model, Pipeline) else Pipeline([("cluster", model)])
    if not isinstance(pipeline.steps[-1][1], BaseFeatureWeightedKMeans):
        raise InputError(f"{path} holds no clusters, only a preparation of tables: give a model.")
    return pipeline


def read_for(
    pipeline: Any, table: str, how: Format, keys: Sequence[str]
) -> tuple[Any, Any, list[str], Style]:
    """Return a table, the columns of the model in it, what was guessed of them, and its style."""
    with using("The model"):
        known = columns_of(pipeline)
    frame, remarks = read_table(table, how, known.text, keys=keys)
    features = features_of(pipeline, frame, known, table_name(table))
    used = known.numbers if known.names else frame.column_names
    told = [with_option(*remark) for remark in remarks.found(used)]
    return frame, features, told, remarks.style


def features_of(pipeline: Any, frame: Any, known: ModelColumns, name: str) -> Any:
    """Return the columns of the model in a table."""
    if known.names:
        return match_columns(frame, *known, name)
    if frame.num_columns != pipeline.n_features_in_:
        raise InputError(
            f"{name} has {count(frame.num_columns, 'column')}, the model was fitted to "
            f"{pipeline.n_features_in_} without names: give the same columns in the same order."
        )
    columns = frame.column_names
    return match_columns(frame, columns, [], columns, [], name)


def columns_of(pipeline: Any) -> ModelColumns:
    """Return the columns of a model: those it compares as text, and those that are numbers."""
    first = pipeline.steps[0][1]
    if not hasattr(first, "feature_names_in_"):
        return ModelColumns([], [], [], [])
    names = [str(name) for name in first.feature_names_in_]
    places, categories = _categories(first)
    text = [
        names[v]
        for v, values in zip(places, categories, strict=True)
        if any(isinstance(value, str) for value in values)
    ]
    truths = [
        names[v]
        for v, values in zip(places, categories, strict=True)
        if len(values) and all(isinstance(value, bool | np.bool_) for value in values)
    ]
    categorical = {names[v] for v in places}
    return ModelColumns(names, text, [name for name in names if name not in categorical], truths)


def _categories(step: Any) -> tuple[Any, Any]:
    from fwkmeans.fitted import FittedView

    if hasattr(step, "categorical_features_"):
        return step.categorical_features_, step.categories_
    coding = FittedView.of(step).coding
    return ((), ()) if coding is None else (coding.categorical, coding.categories)


def _unseen(pipeline: Any, features: Any) -> list[str]:
    """Return a sentence on categories that the model has never seen."""
    strange = Strange()
    strange.add(pipeline, features)
    return strange.sentences()


class Strange:
    """Categories that a model has never seen, and numbers beyond those it has, by column."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = {}
        self._beyond: dict[str, _Beyond] = {}

    def add(self, pipeline: Any, features: Any) -> None:
        """Look at some rows."""
        places, categories = _categories(pipeline.steps[0][1])
        columns = [str(name) for name in getattr(pipeline.steps[0][1], "feature_names_in_", ())]
        for v, values in zip(places, categories, strict=True):
            if isinstance(features, np.ndarray):
                cells = set(features[:, v])
            else:
                cells = set(features[int(v)].unique().to_pylist())
            new = {one for one in cells - set(values) if one is not None and one == one}
            if new:
                known = self._found.setdefault(columns[v], set())
                known |= set(sorted(map(str, new))[:MOST_STRANGE])
        if columns:
            self._add_numbers(pipeline, features, columns)

    def _add_numbers(self, pipeline: Any, features: Any, columns: Sequence[str]) -> None:
        """Count numbers that are smaller or larger than all that `fit` has seen."""
        for v, (low, high) in _ranges(pipeline).items():
            cells = features[:, v] if isinstance(features, np.ndarray) else features[v]
            numbers = np.asarray(cells, dtype=np.float64)
            present = numbers[~np.isnan(numbers)]
            slack = 1e-9 * max(high - low, abs(low), abs(high))  # they were computed back
            beyond = present[(present < low - slack) | (present > high + slack)]
            before = self._beyond.get(columns[v], _Beyond(low, high))
            is_first = beyond.size and before.example is None
            self._beyond[columns[v]] = before._replace(
                n_beyond=before.n_beyond + beyond.size,
                n_rows=before.n_rows + present.size,
                example=float(beyond[0]) if is_first else before.example,
            )

    def sentences(self) -> list[str]:
        """Return a sentence for each column."""
        return [
            *(
                f"Column {column!r} holds categories that the model has not seen "
                f"({', '.join(map(repr, sorted(new)[:3]))}{', ...' if len(new) > 3 else ''}); they "
                "differ equally from every cluster."
                for column, new in self._found.items()
            ),
            *(found.said(column) for column, found in self._beyond.items() if found.n_beyond),
        ]


def _ranges(pipeline: Any) -> dict[int, tuple[float, float]]:
    """Return the smallest and largest number that `fit` has seen, by the position of the column."""
    from fwkmeans.fitted import FittedView

    encoder = pipeline.steps[0][1]
    if len(pipeline.steps) != 2 or not hasattr(encoder, "numerical_features_"):
        return {}
    table = FittedView.of(pipeline[-1]).description
    ranges = {}
    learned = zip(encoder.numerical_features_, encoder.mean_, encoder.range_, strict=True)
    for v, mean, extent in learned:
        places = np.flatnonzero(encoder.origins_ == v)
        ends = np.zeros(2)  # a constant column is left out
        if places.size:
            ends = np.array([table.minimum[places[0]], table.maximum[places[0]]])
        if not places.size or encoder.standardize:
            ends = ends * extent + mean
        ranges[int(v)] = (float(ends[0]), float(ends[1]))
    return ranges


class _Beyond(NamedTuple):
    """How many numbers of a column are beyond those of `fit`, which are from low to high."""

    low: float
    high: float
    n_beyond: int = 0
    n_rows: int = 0
    example: float | None = None

    def said(self, column: str) -> str:
        """Return a sentence."""
        cells = f"{self.n_beyond:,} of {count(self.n_rows, 'cell')}"
        seen = f"{number(self.low)} to {number(self.high)}"
        unit = " Is the column in another unit?" if 2 * self.n_beyond > self.n_rows else ""
        return (
            f"Column {column!r}: {cells}, such as {number(self.example)}, "
            f"{'lies' if self.n_beyond == 1 else 'lie'} outside what the model has seen "
            f"({seen if self.low < self.high else number(self.low)}).{unit}"
        )
