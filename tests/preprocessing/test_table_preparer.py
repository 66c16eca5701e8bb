"""A frame is prepared as the command prepares a file, in any library, and again in a pipeline."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from fwkmeans import AutoKMeans, KMeans
from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format
from fwkmeans.cli.columns import Roles, read_columns
from fwkmeans.persistence import load_model, save_model
from fwkmeans.preprocessing import TableEncoder, TablePreparer, prepare_table


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 120
    group = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "Sample Number": np.arange(1, n + 1),
            "name": [f"n{i}" for i in range(n)],
            "signed": pd.date_range("2020-01-01", periods=n, freq="11D").strftime("%d.%m.%Y"),
            "size": np.where(rng.random(n) < 0.05, "-", (group * 3 + rng.random(n)).round(3)),
            "price": [
                f"{1000 + 900 * k + 100 * x:,.2f}"
                for k, x in zip(group, rng.random(n), strict=True)
            ],
            "color": np.array(["red", "green", "blue"])[group],
            "age": rng.integers(18, 80, n),
            "yes": rng.random(n) < 0.5,
        }
    )


@pytest.mark.parametrize("dates", ["drop", "age", "parts"])
def test_a_frame_is_prepared_as_its_file_is(dates, frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    chosen = read_columns(str(path), Format(), Roles(dates=dates), "t.csv")
    prepared = prepare_table(frame, dates=dates)
    assert list(prepared.table.columns) == chosen.features.column_names
    expected = chosen.features.to_pandas()
    pd.testing.assert_frame_equal(prepared.table, expected, check_dtype=False)
    uses = [(one["column"], one["use"]) for one in prepared.columns]
    assert uses == [(one.column, one.use) for one in chosen.uses]
    assert len(prepared.remarks) == len(chosen.notes)
    assert any(
        one.endswith("with numeric=['Sample Number'] or categorical=['name'].")
        for one in prepared.remarks
    )
    assert not any("--" in one for one in prepared.remarks)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_all_libraries(library, frame):
    given = {"pandas": frame, "polars": pl.from_pandas(frame)}
    given["pyarrow"] = given["polars"].to_arrow()
    found = prepare_table(given[library]).table
    assert type(found) is type(given[library])
    columns = found.column_names if library == "pyarrow" else list(found.columns)
    assert columns == ["size", "price", "color", "age", "yes"]


def test_a_pipeline_does_the_same_to_new_frames(frame, tmp_path):
    model = make_pipeline(
        TablePreparer(dates="age"), TableEncoder(impute="median"), KMeans(3, random_state=0)
    )
    labels = model.fit_predict(frame)
    assert (model.predict(frame.iloc[::-1, ::-1])[::-1] == labels).all()
    save_model(model, tmp_path / "m.fwk")
    again = load_model(tmp_path / "m.fwk")
    assert (again.predict(frame) == labels).all()
    assert again[0].remarks_ == model[0].remarks_
    prepared = model[0].transform(frame.iloc[5:9])
    assert prepared.index.tolist() == [5, 6, 7, 8]
    assert list(prepared.columns) == model[0].get_feature_names_out().tolist()
    whole = clone(model[0]).fit_transform(frame)
    pd.testing.assert_frame_equal(whole.iloc[5:9], prepared)
    with pytest.raises(InputError, match="X lacks the column 'age' of the model"):
        model.predict(frame.drop(columns="age"))


def test_the_python_way_finds_what_the_command_finds(frame):
    prepared = prepare_table(frame).table
    alone = AutoKMeans().fit(prepared)
    piped = make_pipeline(TablePreparer(), AutoKMeans()).fit(frame)
    assert (alone.labels_ == piped[-1].labels_).all()


def test_roles_are_as_told(frame):
    prepared = prepare_table(frame, keys=["name"], labels="color", use=["s*", "age"])
    assert list(prepared.table.columns) == ["size", "age"]
    assert prepared.keys["name"][:2] == ["n0", "n1"]
    assert prepared.classes.tolist() == frame["color"].tolist()
    told = prepare_table(frame.assign(size="x"), numeric=["size"], coerce=True)
    assert any("'size': 120 cells of 120 are no numbers and were" in one for one in told.remarks)
    mixed = TablePreparer(numeric=["size"], coerce=True).fit(frame)
    other = frame.assign(size=["big", *frame["size"][1:]])
    assert np.isnan(mixed.transform(other)["size"].iloc[0])


def test_what_the_frame_calls_categories_are_categories(frame):
    frame["name"] = frame["name"].astype("category")
    frame["code"] = pd.Categorical(np.arange(120) % 7)
    columns = {one["column"]: one["use"] for one in prepare_table(frame).columns}
    assert columns["name"] == columns["code"] == "categories"


def test_cells_of_several_kinds(frame):
    frame["odd"] = [1, "x", None, 2.5] * 30
    frame["list"] = [[1], [2], [3], [4]] * 30
    columns = {one["column"]: one["use"] for one in prepare_table(frame).columns}
    assert columns["odd"] == "categories"
    assert columns["list"] == "left out"


def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(TypeError, match="expected a dataframe, whose columns have names"):
        prepare_table(frame.to_numpy())
    with pytest.raises(InputError, match="several columns named 'age'"):
        prepare_table(pd.concat([frame, frame[["age"]]], axis=1))
    with pytest.raises(InputError, match="X has no rows"):
        prepare_table(frame.iloc[:0])
