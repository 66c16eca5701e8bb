"""The shipped tables and their loader."""

import csv
import hashlib
import json
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from fwkmeans.datasets import list_uci, load_uci, uci

DATA = files("fwkmeans.datasets").joinpath("data")
MANIFEST = json.loads(DATA.joinpath("manifest.json").read_text("utf-8"))["tables"]

# The survey's table of real-world data: rows, clusters, numerical and categorical features.
SURVEY = {
    "australian": (690, 2, 6, 8),
    "balance_scale": (625, 2, 0, 4),
    "breast_cancer_wisconsin": (699, 2, 9, 0),
    "car": (1728, 4, 0, 6),
    "ecoli": (336, 8, 7, 0),
    "glass": (214, 6, 9, 0),
    "heart": (270, 2, 6, 7),
    "ionosphere": (351, 2, 33, 0),
    "iris": (150, 3, 4, 0),
    "soybean_small": (47, 4, 0, 35),
    "tae": (151, 3, 1, 4),
    "tic_tac_toe": (958, 2, 0, 9),
    "wine": (178, 3, 13, 0),
}

# Class counts as published by UCI.
CLASS_COUNTS = {
    "australian": [383, 307],
    "balance_scale": [49, 288, 288],
    "breast_cancer_wisconsin": [458, 241],
    "car": [384, 69, 1210, 65],
    "ecoli": [143, 77, 2, 2, 35, 20, 5, 52],
    "glass": [70, 76, 17, 13, 9, 29],
    "heart": [150, 120],
    "ionosphere": [126, 225],
    "iris": [50, 50, 50],
    "soybean_small": [10, 10, 10, 17],
    "tae": [49, 50, 52],
    "tic_tac_toe": [332, 626],
    "wine": [59, 71, 48],
}


def read_rows(name):
    return list(csv.reader(DATA.joinpath(f"{name}.csv").read_text("utf-8").splitlines()))


def test_manifest_files_and_survey_name_the_same_tables():
    assert list_uci() == sorted(MANIFEST) == sorted(SURVEY)
    shipped = {path.name for path in DATA.iterdir() if path.name.endswith(".csv")}
    assert shipped == {f"{name}.csv" for name in SURVEY}


@pytest.mark.parametrize("name", SURVEY)
def test_file_has_the_checksum_of_the_manifest(name):
    content = DATA.joinpath(MANIFEST[name]["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == MANIFEST[name]["sha256"]
    assert b"\r" not in content


@pytest.mark.parametrize("name", SURVEY)
def test_manifest_describes_the_file(name):
    table, (header, *rows) = MANIFEST[name], read_rows(name)
    assert set(map(len, rows)) == {len(header)}
    assert len(rows) == table["n_rows"]
    assert sorted(table["numerical"] + table["categorical"]) == sorted(header[:-1])
    assert header[-1] == table["target"]
    assert dict(Counter(row[-1] for row in rows)) == table["class_counts"]
    assert sum(cell == "" for row in rows for cell in row) == table["n_missing"]
    for column, categories in table["ordered_categories"].items():
        assert column in table["categorical"]
        assert {row[header.index(column)] for row in rows} == set(categories)


@pytest.mark.parametrize("name", SURVEY)
def test_manifest_attributes_the_table(name):
    table = MANIFEST[name]
    assert table["license"] == "CC BY 4.0"
    assert table["url"].startswith("https://archive.ics.uci.edu/dataset/")
    assert table["doi"] is None or table["doi"].startswith("10.24432/C5")
    assert table["creators"] or name == "heart"
    readme = DATA.joinpath("README.md").read_text("utf-8")
    assert table["file"] in readme
    assert table["uci_name"] in readme
    assert table["doi"] is None or table["doi"] in readme


@pytest.mark.parametrize("frame", ["pandas", "polars", False])
@pytest.mark.parametrize("name", SURVEY)
def test_table_has_the_survey_s_size(name, frame):
    if frame:
        pytest.importorskip(frame)
    rows, n_clusters, numerical, categorical = SURVEY[name]
    table = load_uci(name, as_frame=frame)
    assert table.data.shape == (rows, numerical + categorical)
    assert table.n_clusters == n_clusters
    assert len(table.categorical_features) == categorical
    assert len(table.feature_names) == numerical + categorical
    target = np.asarray(table.target)
    assert [int((target == one).sum()) for one in table.target_names] == CLASS_COUNTS[name]
    assert len(table.target_names) == (3 if name == "balance_scale" else n_clusters)


@pytest.mark.parametrize("frame", ["pandas", "polars", False])
@pytest.mark.parametrize("name", SURVEY)
def test_every_cell_is_that_of_the_file(name, frame):
    if frame:
        pytest.importorskip(frame)
    header, *rows = read_rows(name)
    X, y = load_uci(name, as_frame=frame, return_X_y=True)
    for v, column in enumerate(header[:-1]):
        values = (X[:, v] if not frame else X[column].to_numpy()).tolist()
        cells = [row[v] for row in rows]
        if column in MANIFEST[name]["numerical"]:
            expected = [float(cell) if cell else np.nan for cell in cells]
            np.testing.assert_array_equal(np.asarray(values, dtype=float), expected)
        else:
            assert values == cells
    assert [str(label) for label in np.asarray(y)] == [row[-1] for row in rows]


def test_pandas_dtypes():
    pd = pytest.importorskip("pandas")
    heart = load_uci("heart", as_frame="pandas")
    assert list(heart.data.columns) == heart.feature_names
    for column in heart.feature_names:
        if column in heart.categorical_features:
            assert isinstance(heart.data[column].dtype, pd.CategoricalDtype)
        else:
            assert heart.data[column].dtype == np.float64
    assert heart.target.name == "class"
    assert heart.target.dtype == np.int64
    car = load_uci("car", as_frame="pandas").data
    assert car["buying"].cat.ordered
    assert list(car["buying"].cat.categories) == ["low", "med", "high", "vhigh"]
    course = load_uci("tae", as_frame="pandas").data["course"]
    assert not course.cat.ordered
    assert list(course.cat.categories) == [str(i) for i in range(1, 27)]


def test_polars_dtypes():
    pl = pytest.importorskip("polars")
    heart = load_uci("heart", as_frame="polars")
    for column in heart.feature_names:
        expected = pl.Enum if column in heart.categorical_features else pl.Float64
        assert heart.data.schema[column] == expected
    assert heart.target.name == "class"
    buying = load_uci("car", as_frame="polars").data["buying"]
    assert buying.dtype == pl.Enum(["low", "med", "high", "vhigh"])


def test_arrays_without_a_frame_library():
    assert load_uci("wine", as_frame=False).data.dtype == np.float64
    mixed = load_uci("tae", as_frame=False).data
    assert mixed.dtype == object
    assert [type(cell) for cell in mixed[0]] == [str, str, str, str, float]


@pytest.mark.parametrize("frame", ["pandas", "polars", False])
def test_missing_cells_are_nan(frame):
    if frame:
        pytest.importorskip(frame)
    cancer = load_uci("breast_cancer", as_frame=frame)
    values = np.asarray(cancer.data, dtype=float)
    assert np.isnan(values).sum(axis=0).tolist() == [0, 0, 0, 0, 0, 16, 0, 0, 0]
    assert cancer.feature_names[5] == "bare_nuclei"


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("Breast cancer", "breast_cancer_wisconsin"),
        ("Breast Cancer Wisconsin (Original)", "breast_cancer_wisconsin"),
        ("Tic-Tac-Toe", "tic_tac_toe"),
        ("WINE", "wine"),
        *uci.ALIASES.items(),
        *[(table["uci_name"], name) for name, table in MANIFEST.items()],
        *[(table["survey_name"], name) for name, table in MANIFEST.items()],
    ],
)
def test_aliases_are_understood(alias, name):
    assert load_uci(alias, as_frame=False).filename.endswith(f"{name}.csv")


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"no table 'whine'.*australian.*wine"):
        load_uci("whine")


def test_unknown_frame_is_refused():
    with pytest.raises(ValueError, match="as_frame='arrow': expected True, False, 'auto'"):
        load_uci("wine", as_frame="arrow")


def test_frame_library_is_chosen_by_what_is_installed(monkeypatch):
    monkeypatch.setattr(uci, "find_spec", lambda name: None)
    assert isinstance(load_uci("wine").data, np.ndarray)
    with pytest.raises(ImportError, match=r"polars is not installed.*as_frame=False"):
        load_uci("wine", as_frame="polars")
    monkeypatch.setattr(uci, "find_spec", lambda name: name == "polars")
    pl = pytest.importorskip("polars")
    assert isinstance(load_uci("wine").data, pl.DataFrame)


def test_frames_are_asked_for_as_in_scikit_learn():
    pd = pytest.importorskip("pandas")
    theirs, ours = load_wine(as_frame=True), load_uci("wine", as_frame=True)
    assert set(theirs) - {"data_module"} <= set(ours) | {"filename"}
    for one in (theirs, ours):
        assert isinstance(one.data, pd.DataFrame)
        assert isinstance(one.target, pd.Series)
        assert list(one.frame.columns) == [*one.feature_names, one.target.name]
        pd.testing.assert_frame_equal(one.frame[one.feature_names], one.data)
        pd.testing.assert_series_equal(one.frame[one.target.name], one.target)
    arrays = load_uci("wine", as_frame=False)
    assert type(arrays.data) is type(load_wine().data)
    assert arrays.frame is None
    assert load_wine().frame is None


def test_polars_frames_hold_data_and_target():
    pl = pytest.importorskip("polars")
    heart = load_uci("heart", as_frame="polars")
    assert isinstance(heart.frame, pl.DataFrame)
    assert heart.frame.equals(heart.data.with_columns(heart.target))


def test_description_attributes_and_warns():
    text = load_uci("balance_scale", as_frame=False).DESCR
    assert "R. S. Siegler" in text
    assert "CC BY 4.0" in text
    assert "10.24432/C5488X" in text
    assert "3 classes" in text


def test_loading_twice_gives_independent_tables():
    first = load_uci("iris", as_frame=False)
    first.data[:] = 0
    first.feature_names.clear()
    second = load_uci("iris", as_frame=False)
    assert second.data.sum() > 0
    assert len(second.feature_names) == 4


def test_wine_is_scikit_learn_s_wine():
    X, y = load_uci("wine", as_frame=False, return_X_y=True)
    expected = load_wine()
    np.testing.assert_array_equal(X, expected.data)
    np.testing.assert_array_equal(y - 1, expected.target)


def test_iris_differs_from_fisher_s_in_three_cells():
    X, y = load_uci("iris", as_frame=False, return_X_y=True)
    expected = load_iris()
    assert np.argwhere(expected.data != X).tolist() == [[34, 3], [37, 1], [37, 2]]
    assert adjusted_rand_score(y, expected.target) == 1.0


def test_constant_columns_of_soybean():
    X, _ = load_uci("soybean", as_frame=False, return_X_y=True)
    assert sum(len(set(column)) == 1 for column in X.T) == 14
