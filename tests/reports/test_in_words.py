"""A description of a model in Python is what the command prints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline

import fwkmeans
from fwkmeans.cli import main
from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.preprocessing import TableEncoder, TablePreparer


@pytest.fixture(scope="module")
def frame():
    iris = load_uci("iris")
    return iris.data.assign(sample_id=np.arange(1, 151) * 7, kind=np.tile(["a", "b", "c"], 50))


def test_it_is_what_the_command_prints(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    arguments = ["fit", str(path), "-k", "3", "-a", "wk-means", "--starts", "10"]
    printed = CliRunner().invoke(main, arguments).stdout
    model = make_pipeline(
        TablePreparer(),
        TableEncoder(categorical="keep", impute="median"),
        fwkmeans.WKMeans(3, n_init=10, random_state=0),
    )
    told = str(fwkmeans.describe(model.fit(frame), frame))
    first, *lines = told.splitlines()
    assert first == "The table: 150 rows, 5 columns, 3 clusters by WK-Means"
    assert len(lines) > 10
    assert "\n".join(lines).strip() in printed
    assert any("high petal_length" in line or "low petal_length" in line for line in lines)


@pytest.mark.parametrize("name", [*ALGORITHMS, "AutoKMeans"])
def test_every_model_is_described(name, frame):
    estimator = {**ALGORITHMS, "AutoKMeans": fwkmeans.AutoKMeans}[name]
    X = frame.drop(columns=["sample_id", "kind"])
    described = fwkmeans.describe(estimator(2).fit(X), X, draws=0)
    assert f"2 clusters by {name}" in str(described)
    assert repr(described) == str(described)
    weights = described.feature_weights
    assert sorted(weights.columns) == sorted(X.columns)
    assert weights.shape == (2, 4)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_weights_are_those_of_the_model_with_names(frame):
    X = frame.drop(columns=["sample_id", "kind"])
    model = fwkmeans.EWKMeans(3, random_state=0).fit(X)
    weights = fwkmeans.describe(model, X, draws=0).feature_weights
    np.testing.assert_allclose(weights[list(X.columns)].to_numpy(), model.feature_weights_)
    assert weights.index.name == "cluster"
    polars = fwkmeans.describe(model, pl.from_pandas(X), draws=0).feature_weights
    assert polars.columns[0] == "cluster"
    np.testing.assert_allclose(polars.select(X.columns).to_numpy(), model.feature_weights_)
    table = fwkmeans.describe(model, pl.from_pandas(X).to_arrow(), draws=0).feature_weights
    assert isinstance(table, pd.DataFrame)


def test_arrays_and_known_classes(frame):
    rows = load_uci("iris", as_frame=False)
    model = fwkmeans.KMeans(3, random_state=0).fit(rows.data)
    described = fwkmeans.describe(model, rows.data, classes=rows.target, draws=0)
    assert sorted(described.feature_weights.columns) == ["x0", "x1", "x2", "x3"]
    assert "Agreement with 'classes': ARI 0." in str(described)
