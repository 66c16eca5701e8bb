"""The data of the experiment: tables, their noise features, and how they are prepared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from fwkmeans._tabular.format import Format
from fwkmeans._tabular.reading import read_table
from fwkmeans.datasets import SURVEY_CONFIGURATIONS, add_noise_features, load_uci
from fwkmeans.datasets.named import NamedTable, load_named, table_names
from fwkmeans.preprocessing import TableEncoder


class TableSpec(NamedTuple):
    """Where a table comes from, and how many clusters to look for."""

    name: str  # as in the results
    n_clusters: int
    file: str | None = None  # of somebody's own table
    target: str | None = None  # its column of known classes
    content: str = ""  # fingerprint of the file

    @property
    def is_synthetic(self) -> bool:
        """Whether data sets are drawn at random."""
        return self.file is None and self.name.partition(":")[0] in SURVEY_CONFIGURATIONS


class Prepared(NamedTuple):
    """Rows as an algorithm gets them."""

    rows: NDArray[Any]
    classes: NDArray[Any]
    origins: NDArray[np.intp]  # original column of each, noise columns that of their model


def seed_of(*what: Any) -> int:
    """Return a seed that depends on these words alone."""
    text = "|".join(map(str, what))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little") & 0x7FFFFFFF


def parse_table(text: str, target: str | None = None) -> TableSpec:
    """Return the table that a text names: ``iris``, ``500x4-2``, ``balance_scale:3``, ``own.csv``.

    Parameters
    ----------
    text : str
        Name of a bundled table or configuration, or the path of a CSV or Parquet file; a number
        behind a colon is the number of clusters to look for.
    target : str, default=None
        Column of a file that holds the known classes; None: the last one.

    Returns
    -------
    TableSpec
        The table.
    """
    name, colon, number = text.rpartition(":")
    if not (colon and number.isdigit()):
        name, number = text, ""
    if number and int(number) < 1:
        raise ValueError(f"{text!r}: expected at least one cluster.")
    if name in SURVEY_CONFIGURATIONS:
        usual = SURVEY_CONFIGURATIONS[name][2]
        return TableSpec(_label(name, number, usual), int(number or usual))
    try:
        bunch = load_uci(name, as_frame=False)
    except ValueError as error:
        path = Path(name)
        if path.suffix or path.is_file():
            return _parse_file(path, number, target)
        known = ", ".join(table_names())
        raise ValueError(
            f"There is no table or file {name!r}. Give the path of a file, or one of {known}."
        ) from error
    bundled = Path(bunch.filename).stem
    usual = bunch.n_clusters
    return TableSpec(_label(bundled, number, usual), int(number or usual))


def _label(name: str, number: str, usual: int) -> str:
    return f"{name}:{number}" if number and int(number) != usual else name


def _parse_file(path: Path, number: str, target: str | None) -> TableSpec:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}. Check the path.")
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    frame = _read_file(str(path), content)
    last = frame.columns[-1]
    target = last if target is None else target
    if target not in frame.columns:
        raise ValueError(
            f"{path.name} has no column {target!r}; its columns are {', '.join(frame.columns)}. "
            "Name the one that holds the known classes."
        )
    if len(frame.columns) < 2 or len(frame) < 2:
        raise ValueError(
            f"{path.name} has {len(frame)} row(s) and {len(frame.columns)} column(s); expected at "
            "least two rows, a feature and a column of classes."
        )
    classes = frame.get_column(target)
    if classes.null_count():
        raise ValueError(
            f"Column {target!r} of {path.name} has {classes.null_count()} rows without a class. "
            "Fill them in, or leave these rows out."
        )
    n_classes = int(classes.n_unique())
    if not number and not 2 <= n_classes < len(frame):
        raise ValueError(
            f"Column {target!r} of {path.name} has {n_classes} different values in {len(frame)} "
            "rows; expected known classes. Name the column that holds them, or say how many "
            "clusters to look for behind a colon."
        )
    name = path.name if path.stem in table_names() else path.stem
    name += "" if target == last else f"[{target}]"
    seen = hashlib.sha256(f"{content}|{target}".encode()).hexdigest()[:16]
    return TableSpec(
        _label(name, number, n_classes), int(number or n_classes), str(path.resolve()), target, seen
    )


@lru_cache(maxsize=4)
def _read_file(path: str, content: str) -> nw.DataFrame[Any]:
    return nw.from_native(read_table(path, Format()).table, eager_only=True)


@lru_cache(maxsize=4)
def load_table(spec: TableSpec, data_set: int, seed: int) -> NamedTable:
    """Return the rows; of synthetic tables, the data set of that number."""
    if spec.file is not None:
        return _table_of_file(spec)
    name = spec.name.partition(":")[0]
    return load_named(name, seed_of(seed, name, "data", data_set))


def _table_of_file(spec: TableSpec) -> NamedTable:
    frame = _read_file(str(spec.file), spec.content)
    features = frame.drop(str(spec.target))
    numeric = [dtype.is_numeric() for dtype in features.schema.values()]
    rows = np.empty(features.shape, dtype=np.float64 if all(numeric) else object)
    for v, (name, is_number) in enumerate(zip(features.columns, numeric, strict=True)):
        column = features.get_column(name)
        if is_number:
            rows[:, v] = column.cast(nw.Float64()).to_numpy()
        else:
            rows[:, v] = [None if cell is None else str(cell) for cell in column.to_list()]
    classes = np.array([str(c) for c in frame.get_column(str(spec.target)).to_list()])
    return NamedTable(rows, classes, spec.n_clusters, tuple(features.columns))


@lru_cache(maxsize=4)
def prepare(
    spec: TableSpec, data_set: int, noise: int, seed: int, raw_categories: bool
) -> Prepared:
    """Return the table with noise features (0: none; d: the d-th draw), standardized.

    Numbers are (value - mean) / range, missing ones their median; categories are binary columns
    minus their mean, or stay as they are. Columns without range are left out.
    """
    table = load_table(spec, data_set, seed)
    rows = table.rows
    if noise:
        draw = seed_of(seed, spec.name.partition(":")[0], "noise", data_set, noise)
        rows = add_noise_features(rows, random_state=draw)
    kept: Any = "keep" if raw_categories else "onehot"
    encoder = TableEncoder(impute="median", categorical=kept, category_weight=1.0)
    encoded = encoder.fit_transform(rows)
    return Prepared(encoded, table.classes, encoder.origins_ % len(table.feature_names))


def group_numbers(
    groups: Mapping[str, Any] | None, names: tuple[str, ...], origins: NDArray[np.intp], table: str
) -> list[int] | None:
    """Return the number of the group of every column, from groups of the original columns."""
    if groups is None:
        return None
    number_of = {}
    for number, (group, columns) in enumerate(groups.items()):
        for column in columns:
            if column not in names or column in number_of:
                problem = "in two groups" if column in number_of else "no column"
                raise ValueError(
                    f"Group {group!r} of {table} names {column!r}, which is {problem}; the columns "
                    f"are {', '.join(names)}."
                )
            number_of[column] = number
    missing = [name for name in names if name not in number_of]
    if missing:
        raise ValueError(f"No group of {table} has the column(s) {', '.join(missing)}.")
    return [number_of[names[v]] for v in origins]
