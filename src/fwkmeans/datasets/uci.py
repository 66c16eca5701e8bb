"""The 13 real-world tables of the survey, from the UCI Machine Learning Repository."""

from __future__ import annotations

import csv
import json
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from fwkmeans._support.checks import BOOLEAN, one_of

DATA = files("fwkmeans.datasets").joinpath("data")

ALIASES = {
    "australian_credit": "australian",
    "australian_credit_approval": "australian",
    "balance": "balance_scale",
    "breast_cancer": "breast_cancer_wisconsin",
    "breast_cancer_wisconsin_original": "breast_cancer_wisconsin",
    "car_evaluation": "car",
    "glass_identification": "glass",
    "heart_statlog": "heart",
    "soybean": "soybean_small",
    "statlog_australian_credit_approval": "australian",
    "statlog_heart": "heart",
    "teaching_assistant": "tae",
    "teaching_assistant_evaluation": "tae",
    "tic_tac_toe_endgame": "tic_tac_toe",
    "tictactoe": "tic_tac_toe",
}


def list_uci() -> list[str]:
    """Return the names of the tables that `load_uci` knows, in alphabetical order.

    Returns
    -------
    names : list of str
        The names.

    Examples
    --------
    >>> from fwkmeans.datasets import list_uci
    >>> list_uci()[:3]
    ['australian', 'balance_scale', 'breast_cancer_wisconsin']
    """
    return sorted(_read_manifest()["tables"])


def load_uci(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: Literal["auto", "pandas", "polars"] | bool = "auto",
) -> Any:
    """Load one of the 13 real-world tables of the survey.

    The tables come with the package: nothing is downloaded. They are UCI's [2]_, under the
    licence CC BY 4.0; `DESCR` names their creators.

    Parameters
    ----------
    name : str
        Name of the table, see `list_uci`. Upper case, spaces and hyphens are read as lower case
        and underscores, and UCI's and the survey's names are understood too.
    return_X_y : bool, default=False
        Whether to return only ``(data, target)``.
    as_frame : bool, "auto", "pandas" or "polars", default="auto"
        What the table is returned as, as in scikit-learn: True is a pandas frame, False are numpy
        arrays (float64 if all features are numerical, else objects: floats and str). "auto" takes
        pandas if it is installed, else polars, else arrays; a library may also be named.

    Returns
    -------
    table : sklearn.utils.Bunch
        With the attributes

        data : dataframe or ndarray of shape (n_samples, n_features)
            The features. Numerical columns are float64, missing values NaN;
            categorical columns are Categorical (pandas; ordered if the values are ordinal) or
            Enum (polars).
        frame : dataframe or None
            Data and target in one frame, the target last; None for arrays.
        target : series or ndarray of shape (n_samples,)
            The class of each row as it is named in the file: int64 if all names are integers,
            else text. These are the names (as in `sklearn.datasets.fetch_openml`), not positions
            in `target_names`.
        feature_names : list of str
            Names of the features.
        target_names : ndarray
            The different classes.
        categorical_features : list of str
            Names of the categorical features.
        n_clusters : int
            Number of clusters that the survey uses. It is the number of classes but for the
            balance scale, where the survey's table says 2 and the data have 3 classes.
        DESCR : str
            Description, attribution and caveats.
        filename : str
            Path of the CSV file.
    data, target : tuple
        If ``return_X_y=True``.

    Raises
    ------
    ValueError
        If there is no table of that name.
    ImportError
        If the library for `as_frame` is not installed.

    References
    ----------
    .. [1] R. C. de Amorim, "A survey on feature weighting based K-Means algorithms", Journal of
       Classification 33 (2016), 210-242. :doi:`10.1007/s00357-016-9208-4`
    .. [2] UCI Machine Learning Repository, https://archive.ics.uci.edu

    Examples
    --------
    >>> from fwkmeans.datasets import load_uci
    >>> wine = load_uci("wine")
    >>> wine.data.shape
    (178, 13)
    >>> X, y = load_uci("Heart (Statlog)", return_X_y=True, as_frame=False)
    >>> X[0, :3]
    array([70.0, '1', '4'], dtype=object)
    """
    name = _resolve_name(name)
    library = _resolve_library(as_frame)
    table = _read_manifest()["tables"][name]
    columns = _read_columns(table)
    labels = columns.pop(table["target"])
    target = np.array(labels, dtype=np.int64 if _all_integers(labels) else np.str_)
    data, y, frame = _BUILDERS[library](columns, target, table)
    if return_X_y:
        return data, y
    return Bunch(
        data=data,
        target=y,
        frame=frame,
        feature_names=list(columns),
        target_names=np.unique(target),
        categorical_features=list(table["categorical"]),
        n_clusters=table["survey_n_clusters"],
        DESCR=_describe(name, table),
        filename=str(DATA.joinpath(table["file"])),
    )


@cache
def _read_manifest() -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(DATA.joinpath("manifest.json").read_text("utf-8"))
    return manifest


def _resolve_name(name: str) -> str:
    words = str(name).lower().replace("(", " ").replace(")", " ").replace("-", " ")
    key = "_".join(words.replace("_", " ").split())
    key = ALIASES.get(key, key)
    if key not in _read_manifest()["tables"]:
        raise ValueError(f"There is no table {name!r}. Choose one of {', '.join(list_uci())}.")
    return key


def _resolve_library(as_frame: Any) -> str | None:
    (BOOLEAN | one_of("auto", "pandas", "polars")).check("as_frame", as_frame)
    if not isinstance(as_frame, str):
        as_frame = "pandas" if as_frame else None
    if as_frame == "auto":
        return next((one for one in ("pandas", "polars") if find_spec(one)), None)
    if as_frame is not None and not find_spec(as_frame):
        raise ImportError(
            f"A frame of {as_frame} was asked for, but {as_frame} is not installed. Install it, or "
            "use as_frame=False."
        )
    library: str | None = as_frame
    return library


def _read_columns(table: dict[str, Any]) -> dict[str, Any]:
    """Read the CSV: float64 arrays for numerical columns, lists of text for the others."""
    lines = DATA.joinpath(table["file"]).read_text("utf-8").splitlines()
    header, *rows = csv.reader(lines)
    columns: dict[str, Any] = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    for name in table["numerical"]:
        columns[name] = np.array([float(cell) if cell else np.nan for cell in columns[name]])
    return columns


def _all_integers(labels: list[str]) -> bool:
    return all(label.isdigit() for label in labels)


def _categories(name: str, values: list[str], table: dict[str, Any]) -> list[str]:
    """Return the declared order of ordinal values, else ascending (numbers as numbers)."""
    ordered: dict[str, list[str]] = table["ordered_categories"]
    observed = set(values)
    return ordered.get(name) or sorted(observed, key=int if _all_integers(values) else None)


def _build_arrays(
    columns: dict[str, Any], target: NDArray[Any], table: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[Any], None]:
    dtype = object if table["categorical"] else np.float64
    data = np.empty((target.size, len(columns)), dtype=dtype)
    for v, values in enumerate(columns.values()):
        data[:, v] = values
    return data, target, None


def _build_pandas(
    columns: dict[str, Any], target: NDArray[Any], table: dict[str, Any]
) -> tuple[Any, Any, Any]:
    import pandas as pd

    for name in table["categorical"]:
        categories = _categories(name, columns[name], table)
        ordered = name in table["ordered_categories"]
        columns[name] = pd.Categorical(columns[name], categories=categories, ordered=ordered)
    frame = pd.DataFrame({**columns, table["target"]: target})
    return frame[list(columns)].copy(), frame[table["target"]].copy(), frame


def _build_polars(
    columns: dict[str, Any], target: NDArray[Any], table: dict[str, Any]
) -> tuple[Any, Any, Any]:
    import polars as pl

    for name in table["categorical"]:
        categories = pl.Enum(_categories(name, columns[name], table))
        columns[name] = pl.Series(name, columns[name], dtype=categories)
    frame = pl.DataFrame({**columns, table["target"]: target})
    return frame.select(list(columns)), frame.get_column(table["target"]), frame


_BUILDERS = {None: _build_arrays, "pandas": _build_pandas, "polars": _build_polars}


def _describe(name: str, table: dict[str, Any]) -> str:
    """Return the attribution text of a table."""
    manifest = _read_manifest()
    classes = ", ".join(f"{label} ({count})" for label, count in table["class_counts"].items())
    notes = [*table["caveats"], *([table["survey_note"]] if table["survey_note"] else [])]
    lines = [
        f"{table['title']} ({name})",
        "",
        f"{table['n_rows']} rows, {len(table['numerical'])} numerical and "
        f"{len(table['categorical'])} categorical features, {table['n_missing']} missing values.",
        f"Classes: {classes}.",
        f"Clusters in the survey: {table['survey_n_clusters']}.",
        "",
        f"Source: {table['uci_name']}, {manifest['repository']}, {table['url']}",
        *([f"DOI: https://doi.org/{table['doi']}"] if table["doi"] else []),
        *([f"Creators: {', '.join(table['creators'])}"] if table["creators"] else []),
        *([f"Donors: {', '.join(table['donors'])}"] if table["donors"] else []),
        f"Licence: {manifest['license']}, {manifest['license_url']}",
        f"Changes: {' '.join(table['changes'])}",
        *([f"Notes: {' '.join(notes)}"] if notes else []),
    ]
    return "\n".join(lines)
