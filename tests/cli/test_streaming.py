"""Tables that are read in blocks: the same clusters as in memory, and nothing half-written."""

import csv
import os
import signal

import numpy as np
import pytest

from fwkmeans.cli import predict_blocks, sizes, streaming
from fwkmeans.preprocessing import TableEncoder

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

N = 900


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, N)
    words = np.array(["x", "y", "z"])[np.where(rng.random(N) < 0.9, labels, rng.integers(0, 3, N))]
    frame = pd.DataFrame(
        {
            "row": np.arange(N),
            "a": (rng.normal(size=N) + 8 * labels).round(3),
            "b": rng.normal(size=N).round(3),
            "word": words,
            "count": rng.integers(0, 9, N) + 4 * labels,
            "truth": rng.random(N) < 0.2 + 0.3 * labels,
            "name": [f"number {at}, of many" for at in range(N)],
        }
    )
    frame.loc[rng.random(N) < 0.03, "a"] = np.nan
    return frame


def clusters(path):
    frame = pd.read_parquet(path) if str(path).endswith(".parquet") else pd.read_csv(path)
    return frame["cluster"].to_numpy()


def same_partition(one, other):
    return len({*zip(one.tolist(), other.tolist(), strict=True)}) == len({*one.tolist()})


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Look at few rows at a time, and at few in all."""
    for module in (streaming, predict_blocks):
        monkeypatch.setattr(module, "rows_at_a_time", lambda reader, memory: 200)
    monkeypatch.setattr(streaming, "SAMPLE_ROWS", 400)


FIT = ("-k", "3", "-a", "wk", "--starts", "3")


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_a_table_in_blocks_is_clustered_as_in_memory(run, table, kind):
    table.to_csv("table.csv", index=False)
    given = "table.csv"
    if kind == "parquet":
        given = "table.parquet"
        table.to_parquet(given)
    elif kind == "folder":
        given = "parts"
        os.mkdir(given)
        for at in range(3):
            table.iloc[300 * at : 300 * (at + 1)].to_parquet(f"{given}/{at}.parquet")
    run("fit", "table.csv", *FIT, "--out", "memory.csv")
    out = f"blocks.{'parquet' if kind == 'parquet' else 'csv'}"
    done = run("fit", given, *FIT, "--stream", "--out", out, "--model", "m.fwk")
    assert f"{given}: 900 rows, 5 columns, 3 clusters by WK-Means" in done.out
    assert "'row' (it numbers the rows)" in done.out
    assert "400 rows drawn at random" in done.out
    found = clusters(out)
    assert same_partition(found, clusters("memory.csv"))
    sizes_found = np.bincount(found)
    for k, size in enumerate(sizes_found):
        assert f"Cluster {k + 1} ({size} rows" in done.out
    predicted = run("predict", "m.fwk", given, "--stream", "--id", "row", "--out", "p.parquet")
    assert "Wrote the clusters of 900 rows" in predicted.out
    frame = pd.read_parquet("p.parquet")
    np.testing.assert_array_equal(frame["cluster"], found)
    np.testing.assert_array_equal(frame["row"].astype(int), table["row"])
    assert not [one for one in os.listdir() if one.startswith(".")]


def test_what_is_written_is_the_file_with_four_columns_more(run, table):
    table.to_csv("table.csv", index=False)
    run("fit", "table.csv", *FIT, "--stream", "--out", "out.csv")
    run("fit", "table.csv", *FIT, "--out", "memory.csv")
    with open("out.csv") as one, open("memory.csv") as other, open("table.csv") as first:
        mine, theirs, original = (list(csv.reader(file)) for file in (one, other, first))
    assert (
        mine[0]
        == theirs[0]
        == [
            *original[0],
            *("cluster", "cluster_name", "distance", "confidence"),
        ]
    )
    assert [row[:-4] for row in mine] == original
    np.testing.assert_allclose(
        [float(row[-2]) for row in mine[1:]], [float(row[-2]) for row in theirs[1:]], rtol=0.05
    )
    only = run(
        "fit", "table.csv", *FIT, "--stream", "--out", "l.csv", "--only-labels", "--id", "row"
    )
    assert "Wrote the labels to l.csv" in only.out
    with open("l.csv") as file:
        assert next(csv.reader(file)) == ["row", "cluster", "cluster_name"]


@pytest.mark.long
def test_standard_output_and_spreadsheets(run, table):
    table["name"] = "=1+2"
    table.to_csv("table.csv", index=False)
    done = run("fit", "table.csv", *FIT, "--stream", "--spreadsheet-safe", "--out", "-")
    rows = list(csv.DictReader(done.out.splitlines()))
    assert len(rows) == N
    assert rows[0]["name"] == "'=1+2"
    run("fit", "table.csv", *FIT, "--stream", "--model", "m.fwk")
    done = run("predict", "m.fwk", "table.csv", "--stream", "--distances")
    rows = list(csv.DictReader(done.out.splitlines()))
    assert list(rows[0]) == ["cluster", "cluster_name", "distance_0", "distance_1", "distance_2"]
    counted = run("predict", "m.fwk", "table.csv", "--stream", "--json", "--out", "o.csv")
    assert counted.json["n_rows"] == N
    assert sum(counted.json["sizes"]) == N


@pytest.mark.long
def test_auto_kmeans_in_blocks(run, table):
    table.to_parquet("table.parquet")
    done = run("fit", "table.parquet", "--stream", "--out", "o.parquet", "--only-labels", "--json")
    assert done.json["number"]["chosen"] == 3
    assert done.json["n_rows"] == N
    run("fit", "table.parquet", "-k", "3", "--out", "memory.parquet")
    found, expected = clusters("o.parquet"), clusters("memory.parquet")
    assert np.mean(found == expected) > 0.98 or same_partition(found, expected)


def test_large_files_are_read_in_blocks_by_themselves(run, table, monkeypatch):
    table.to_csv("table.csv", index=False)
    size = os.path.getsize("table.csv")
    default = sizes.Streaming()
    assert not sizes.is_streamed("table.csv", default)
    monkeypatch.setattr(sizes, "LARGE", size - 1)
    assert sizes.is_streamed("table.csv", default)
    assert not sizes.is_streamed("table.csv", default._replace(stream=False))
    monkeypatch.setattr(sizes, "LARGE", 2**30)
    monkeypatch.setattr(sizes, "free_memory", lambda: 8.0 * size - 8)
    assert sizes.is_streamed("table.csv", default)
    assert "was read in blocks" in run("fit", "table.csv", *FIT).out
    assert "was read in blocks" not in run("fit", "table.csv", *FIT, "--no-stream").out
    assert sizes.is_streamed("*.csv", default._replace(stream=None))
    assert not sizes.is_streamed("-", default)


def test_options_that_make_no_sense(refuse, table):
    table.to_parquet("table.parquet")
    os.mkdir("parts")
    sentence = refuse("fit", "table.parquet", *FIT, "--stream", "--out", "x.xlsx")
    assert "not written to Excel files; give .csv, .tsv or .parquet" in sentence
    assert "only read in blocks: leave out --no-stream" in refuse(
        "fit", "parts", *FIT, "--no-stream"
    )
    assert "folder without tables" in refuse("fit", "parts", *FIT)
    assert "no file is called so" in refuse("fit", "parts/*.csv", *FIT)
    assert "only once" in refuse("fit", "-", *FIT, "--stream", stdin="a,b\n1,2\n")
    for size in ("much", "1", "0MiB"):
        assert "--memory" in refuse("fit", "table.parquet", "--memory", size, code=2)


def test_damage_is_named_with_file_and_rows(refuse, run, table):
    table.to_parquet("table.parquet")
    with open("table.parquet", "r+b") as file:
        file.truncate(os.path.getsize("table.parquet") - 100)
    assert "table.parquet looks like Parquet but cannot be read" in refuse(
        "fit", "table.parquet", *FIT, "--stream"
    )
    table.to_csv("table.csv", index=False)
    run("fit", "table.csv", *FIT, "--model", "m.fwk")
    table["a"] = table["a"].astype(object)
    table.loc[850, "a"] = "broken"
    table.to_csv("table.csv", index=False)
    sentence = refuse("predict", "m.fwk", "table.csv", "--stream", "--out", "o.csv")
    assert "Column 'a' holds 'broken'" in sentence
    assert "rows 801 to 900 of table.csv" in sentence
    assert not os.path.exists("o.csv")
    assert not [one for one in os.listdir() if one.startswith(".")]


def test_a_table_without_rows_is_a_sentence(refuse, table):
    table[:0].to_parquet("none.parquet")
    assert "none.parquet has no rows." in refuse("fit", "none.parquet", "--stream")


def test_ctrl_c_leaves_nothing_half_written(run, table, monkeypatch):
    table.to_csv("table.csv", index=False)
    with open("o.csv", "w") as file:
        file.write("as it was\n")
    write = streaming.TableWriter.write

    def stopped(self, *args):
        write(self, *args)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(streaming.TableWriter, "write", stopped)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = run("fit", "table.csv", *FIT, "--stream", "--out", "o.csv", code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "Stopped" in done.err
    with open("o.csv") as file:
        assert file.read() == "as it was\n"
    assert sorted(os.listdir()) == ["o.csv", "table.csv"]


def test_progress_is_told_by_passes_and_rows(run, table, monkeypatch):
    from fwkmeans.cli import progress

    heard = []
    hearing = progress.hearing

    def listening(show):
        return hearing(lambda text: (heard.append(text), show(text)))

    monkeypatch.setattr(progress, "hearing", listening)
    table.to_csv("table.csv", index=False)
    run("fit", "table.csv", *FIT, "--stream")
    assert "pass 1: 200 of 900 rows" in heard
    assert "pass 2: 900 of 900 rows" in heard


@pytest.mark.parametrize("impute", ["median", "keep"])
@pytest.mark.parametrize("categorical", ["onehot", "keep"])
def test_an_encoder_learns_from_blocks_what_it_learns_from_the_whole(table, impute, categorical):
    table = table.drop(columns=["name"])
    table.loc[::50, "word"] = None
    options = {"impute": impute, "categorical": categorical}
    whole = TableEncoder(**options).fit(table)
    pieces = [table.iloc[at : at + 130] for at in range(0, N, 130)]
    blocks = TableEncoder(**options).fit_blocks(table, pieces)
    for name in ("mean_", "range_", "category_scale_"):
        np.testing.assert_allclose(getattr(blocks, name), getattr(whole, name), rtol=1e-12)
    for mine, theirs in zip(blocks.frequencies_, whole.frequencies_, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert [one.tolist() for one in blocks.categories_] == [
        one.tolist() for one in whole.categories_
    ]
    assert blocks.fill_values_ == whole.fill_values_
    sample = TableEncoder(**options).fit_blocks(table.iloc[::3], pieces)
    np.testing.assert_allclose(sample.range_, whole.range_, rtol=1e-12)
    with pytest.raises(ValueError, match=r"missing values in column\(s\) 'a', 'word'"):
        TableEncoder().fit_blocks(table.dropna().iloc[:50], pieces)


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_matrices_are_tables_whose_columns_are_called_by_their_place(run, tmp_path, kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3)) + 8 * rng.integers(2, size=(80, 1))
    rows[5, 1] = np.nan
    path = tmp_path / f"rows.{kind}"
    if kind == "npy":
        np.save(path, rows.astype(">f4"))
    else:
        zarr = pytest.importorskip("zarr")
        zarr.save_array(path, rows)
    model, out = tmp_path / "rows.model", tmp_path / "labels.csv"
    told = run("fit", path, "-k", 2, "-a", "ewk", "--model", model)
    assert "column 3" in told.text
    run("predict", model, path, "--out", out)
    labels = pd.read_csv(out)["cluster"].to_numpy()
    assert labels.shape == (80,)
    high = np.nan_to_num(rows[:, 0]) > 4
    assert (labels == high).all() or (labels != high).all()
