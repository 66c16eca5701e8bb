"""Tables of every kind give what they give from memory, and say what is wrong with them."""

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from fwkmeans import AutoKMeans, AWKMeans, EWKMeans, IKPrototypes, IMWKMeans, KMeans, WKMeans
from fwkmeans._support.errors import InputError
from fwkmeans._tabular.readers import base as readers_base
from fwkmeans.sources import BLOCK_BYTES, MEMORY, ChunkedSource, chunks, describe
from kinds_of_files import ARRAYS, KINDS, TABLES, in_small_blocks, write

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 300


def numbers(rng, dtype=np.float64):
    labels = rng.integers(0, 3, N)
    X = rng.normal(size=(N, 4)) + 4 * labels[:, None] * [1, 1, 0, 0]
    return pd.DataFrame(X.astype(dtype), columns=list("abcd"))


def mixed(rng, *, gaps=False):
    labels = rng.integers(0, 3, N)
    words = np.array(["low", "high", "middle"])[np.where(rng.random(N) < 0.8, labels, 0)]
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N) + 4 * labels,
            "word": words,
            "count": rng.integers(0, 9, N) + 2 * labels,
            "truth": rng.random(N) < 0.3 + 0.2 * labels,
        }
    )
    if gaps:
        frame.loc[rng.random(N) < 0.1, "size"] = np.nan
        frame.loc[rng.random(N) < 0.1, "word"] = None
    return frame


def assert_same(model, other, rtol=1e-9):
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_allclose(model.cluster_centers_, other.cluster_centers_, rtol=rtol)
    np.testing.assert_allclose(model.feature_weights_, other.feature_weights_, rtol=rtol)
    assert model.inertia_ == pytest.approx(other.inertia_, rel=rtol)
    assert model.n_iter_ == other.n_iter_
    assert model.cluster_centers_.dtype == other.cluster_centers_.dtype


# ---- the same as in memory ----------------------------------------------------------------------


@pytest.mark.thinned
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_of_every_kind_of_file(tmp_path, rng, kind, dtype):
    frame = numbers(rng, dtype)
    rows = write(tmp_path, kind, frame)
    exact = frame if kind != "csv" else pd.read_csv(rows)  # which has no float32
    weight = rng.integers(0, 3, N) * 0.5
    expected = EWKMeans(3, random_state=0, n_init=2).fit(
        exact.to_numpy() if kind in ARRAYS else exact, sample_weight=weight
    )
    source = in_small_blocks(rows)
    assert source.n_blocks >= 4
    assert (source.n_rows, source.n_features, source.dtype) == (N, 4, exact.to_numpy().dtype)
    for given in (rows, source):
        model = EWKMeans(3, random_state=0, n_init=2).fit(given, sample_weight=weight)
        assert_same(model, expected, 1e-9 if source.dtype == np.float64 else 1e-5)
        names = [] if kind in ARRAYS else list("abcd")
        assert list(getattr(model, "feature_names_in_", [])) == names
        np.testing.assert_array_equal(model.predict(given), model.labels_)
        distances = model.transform(given)
        assert distances.dtype == source.dtype
        np.testing.assert_array_equal(distances, model.transform(source))
        assert model.score(given, sample_weight=weight) == pytest.approx(-model.inertia_)


@pytest.mark.thinned
@pytest.mark.parametrize("kind", [*TABLES, "csv"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
def test_categories_and_gaps_of_every_kind_of_file(tmp_path, rng, kind, gaps):
    frame = mixed(rng, gaps=gaps)
    rows = write(tmp_path, kind, frame)
    if kind == "csv":
        frame = pd.read_csv(rows)
    options = {"random_state": 0, "missing": "ignore", "n_init": 1}
    for make in (lambda: WKMeans(3, **options), lambda: IKPrototypes(3, **options)):
        expected = make().fit(frame)
        source = in_small_blocks(rows)
        model = make().fit(source)
        assert_same(model, expected)
        assert list(model.feature_names_in_) == list(frame)
        assert model.modes_ == expected.modes_
        assert list(model.category_frequencies_) == ["word", "truth"]
        assert list(model.category_frequencies_["word"]) == ["high", "low", "middle"]
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        np.testing.assert_allclose(model.transform(source), expected.transform(frame), rtol=1e-9)


@pytest.mark.thinned
@pytest.mark.parametrize("kind", ["parquet in groups", "csv", "frames"])
@pytest.mark.parametrize("init", ["k-means++", "random", "anomalous"])
def test_starts_are_drawn_from_all_blocks(tmp_path, rng, kind, init):
    frame = numbers(rng)
    rows = in_small_blocks(write(tmp_path, kind, frame))
    for make in (KMeans, IMWKMeans):
        expected = make(5, init=init, n_init=1, random_state=3).fit(frame)
        assert_same(make(5, init=init, n_init=1, random_state=3).fit(rows), expected)


def test_empty_clusters_are_moved_to_rows_of_other_blocks(tmp_path, rng):
    frame = numbers(rng)
    frame.iloc[-1] = 500.0
    centers = np.vstack([frame.iloc[0], frame.iloc[1], np.full(4, 1e4), np.full(4, 1e4)])
    expected = KMeans(4, init=centers).fit(frame)
    assert len(set(expected.labels_.tolist())) == 4
    assert_same(
        KMeans(4, init=centers).fit(in_small_blocks(write(tmp_path, "csv", frame))), expected
    )


def test_a_column_gives_the_weights(tmp_path, rng):
    frame = mixed(rng)
    weight = rng.integers(0, 3, N) * 0.5
    expected = AWKMeans(3, random_state=0).fit(frame, sample_weight=weight)
    rows = write(tmp_path, "parquet", frame.assign(mass=weight))
    for given in (rows, in_small_blocks(rows)):
        model = AWKMeans(3, random_state=0).fit(given, sample_weight="mass")
        assert_same(model, expected)
        assert list(model.feature_names_in_) == list(frame)
        assert model.score(given, sample_weight="mass") == pytest.approx(-model.inertia_)
        np.testing.assert_array_equal(model.predict(given), model.labels_)  # further columns
    of_source = AWKMeans(3, random_state=0).fit(ChunkedSource(rows, "mass"))
    assert_same(of_source, expected)
    chosen = ChunkedSource(rows, "mass", columns=["size", "count"])
    assert chosen.names == ["size", "count"]
    with pytest.raises(ValueError, match=r"sample_weight='nothing' names a column that X does not"):
        AWKMeans(3).fit(rows, sample_weight="nothing")
    bad = write(tmp_path, "parquet", frame.assign(mass=-weight))
    with pytest.raises(ValueError, match="Negative values in sample_weight"):
        AWKMeans(3).fit(bad, sample_weight="mass")


def test_columns_are_selected_by_name_or_position(tmp_path, rng):
    frame = numbers(rng)
    for kind in KINDS:
        rows = write(tmp_path, kind, frame)
        places = [2, 0] if kind in ARRAYS else ["c", "a"]
        source = in_small_blocks(rows, columns=places)
        found = np.vstack([block.rows for block in source.blocks()])
        np.testing.assert_allclose(found, frame[["c", "a"]], rtol=1e-15)
    with pytest.raises(ValueError, match=r"columns names columns that X does not have: 'e'"):
        ChunkedSource(write(tmp_path, "parquet", frame), columns=["e"])


def test_columns_of_a_model_are_found_by_name(tmp_path, rng):
    frame = numbers(rng)
    model = KMeans(3, random_state=0).fit(write(tmp_path, "parquet", frame))
    other = write(tmp_path, "csv", frame[["d", "c", "b", "a"]].assign(more="x"))
    np.testing.assert_array_equal(model.predict(other), model.labels_)
    lacking = write(tmp_path, "parquet", frame[["a", "b"]])
    with pytest.raises(ValueError, match=r"lacks the columns 'c', 'd' that KMeans was fitted to"):
        model.predict(lacking)


def test_dictionaries_decimals_and_whole_categories(tmp_path, rng):
    frame = mixed(rng)
    table = pa.table(
        {
            "size": pa.array(frame["size"].round(3)).cast(pa.decimal128(10, 3), safe=False),
            "word": pa.array(frame["word"]).dictionary_encode(),
            "code": pa.array(frame["count"]).dictionary_encode(),
            "half": pa.array(frame["size"].astype(np.float16)),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    same = pd.DataFrame(
        {
            "size": frame["size"].round(3),
            "word": frame["word"].astype("category"),
            "code": frame["count"].astype("category"),
            "half": frame["size"].astype(np.float16).astype(float),
        }
    )
    expected = AWKMeans(3, random_state=0).fit(same)
    model = AWKMeans(3, random_state=0).fit(in_small_blocks(tmp_path / "x.parquet"))
    assert_same(model, expected)
    assert model.modes_ == expected.modes_


def test_categories_that_only_later_blocks_have(tmp_path, rng):
    frame = mixed(rng).sort_values("word", kind="stable")
    expected = WKMeans(3, random_state=0).fit(frame)
    for kind in ("folder", "csv", "frames"):
        assert_same(
            WKMeans(3, random_state=0).fit(in_small_blocks(write(tmp_path, kind, frame))), expected
        )


def test_the_index_of_a_pandas_frame_is_no_feature(tmp_path, rng):
    frame = numbers(rng).iloc[::-1]
    frame.to_parquet(tmp_path / "x.parquet")
    assert ChunkedSource(tmp_path / "x.parquet").names == list("abcd")


def test_folders_that_name_a_column(tmp_path, rng):
    frame = numbers(rng).assign(year=np.repeat([2019, 2020, 2021], N // 3))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_to_dataset(table, tmp_path / "data", partition_cols=["year"])
    source = ChunkedSource(tmp_path / "data")
    assert source.names == [*"abcd", "year"]
    found = np.vstack([block.rows for block in source.blocks()])
    np.testing.assert_array_equal(found, frame.to_numpy())
    one = ChunkedSource(str(tmp_path / "data" / "*2020" / "*.parquet"))
    assert one.names == [*"abcd", "year"]
    assert one.n_rows == N // 3


def test_patterns_and_lists_of_files(tmp_path, rng):
    frame = numbers(rng)
    folder = write(tmp_path, "folder", frame)
    files = sorted(folder.iterdir())
    (folder / "_SUCCESS").write_text("")
    for rows in (folder, str(folder / "part-*.parquet"), files, [str(one) for one in files]):
        found = np.vstack([block.rows for block in ChunkedSource(rows).blocks()])
        np.testing.assert_array_equal(found, frame.to_numpy())
    with pytest.raises(FileNotFoundError, match="no file is called so"):
        ChunkedSource(str(folder / "none-*.parquet"))
    empty = tmp_path / "nothing"
    empty.mkdir()
    with pytest.raises(ValueError, match="a folder without tables"):
        ChunkedSource(empty)
    (folder / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="files of several kinds"):
        ChunkedSource(folder)


def test_files_whose_types_differ_a_little(tmp_path, rng):
    frame = mixed(rng)
    parts = [frame.iloc[:100], frame.iloc[100:200].copy(), frame.iloc[200:].copy()]
    parts[1]["count"] = parts[1]["count"].astype(np.int16)
    parts[1]["word"] = parts[1]["word"].astype("category")
    parts[2]["size"] = parts[2]["size"].astype(np.float32)
    (tmp_path / "parts").mkdir()
    for at, one in enumerate(parts):
        one[list(one)[:: -1 if at else 1]].to_parquet(tmp_path / "parts" / f"{at}.parquet")
    expected = WKMeans(3, random_state=0).fit(pd.concat(parts))
    assert_same(WKMeans(3, random_state=0).fit(tmp_path / "parts"), expected, 1e-6)
    parts[2].assign(size="text").to_parquet(tmp_path / "parts" / "2.parquet")
    with pytest.raises(ValueError, match=r"Column 'size' is .*string.* in .*2\.parquet and double"):
        WKMeans(3).fit(tmp_path / "parts")
    parts[2].drop(columns="size").to_parquet(tmp_path / "parts" / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet lacks 'size', unlike"):
        WKMeans(3).fit(tmp_path / "parts")


def test_auto_kmeans_takes_files(tmp_path, rng):
    frame = mixed(rng).iloc[:100]
    expected = AutoKMeans(3).fit(frame)
    rows = write(tmp_path, "parquet", frame)
    for given in (rows, in_small_blocks(rows)):
        model = AutoKMeans(3).fit(given)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(given), expected.labels_)
        np.testing.assert_allclose(model.predict_proba(given), expected.predict_proba(frame))


def test_auto_kmeans_fits_some_rows_of_a_large_file_and_labels_all(tmp_path, rng, monkeypatch):
    from fwkmeans.estimators import auto_rows

    frame = mixed(rng)
    rows = in_small_blocks(write(tmp_path, "parquet", frame))
    monkeypatch.setattr(auto_rows, "MOST_BYTES", 150 * 8 * 4)
    numbers_of_rows = auto_rows.draw_numbers(N, 150)
    assert len(set(numbers_of_rows.tolist())) == 150
    model, again = (AutoKMeans(3).fit(rows) for _ in range(2))
    on_these = AutoKMeans(3).fit(frame.iloc[numbers_of_rows])
    np.testing.assert_array_equal(model.labels_, on_these.predict(frame))
    np.testing.assert_array_equal(model.labels_, again.labels_)
    np.testing.assert_array_equal(model.labels_, model.predict(rows))
    assert model.inertia_ == pytest.approx(-on_these.score(frame), rel=1e-12)
    for k in range(3):
        own = frame[model.labels_ == k]
        np.testing.assert_allclose(model.cluster_centers_[k, 0], own["size"].mean())
        share = model.category_frequencies_["word"]["low"][k]
        assert share == pytest.approx((own["word"] == "low").mean())


# ---- functions that give blocks -----------------------------------------------------------------


def test_an_iterator_is_refused_because_it_ends():
    for once in ((np.ones((3, 2)) for _ in range(3)), iter([np.ones((3, 2))])):
        with pytest.raises(TypeError, match=r"gives its blocks only once.*fit\(read_blocks\)"):
            KMeans(2).fit(once)


def test_a_function_must_give_the_same_blocks_each_time():
    once = iter([np.random.default_rng(0).random((30, 2))])
    with pytest.raises(ValueError, match=r"gave 30 rows at first and 0 another time.*new iterator"):
        KMeans(2).fit(lambda: once)
    sizes = iter([30, 20, 20, 20])
    with pytest.raises(ValueError, match=r"gave 30 rows at first and 20 another time"):
        KMeans(2).fit(lambda: iter([np.ones((next(sizes), 2))]))


@pytest.mark.parametrize(
    ("blocks", "error", "sentence"),
    [
        ([], ValueError, "gave no block"),
        (np.ones((3, 2)), TypeError, "returned ndarray; expected an iterator"),
        (7, TypeError, "returned int; expected an iterator"),
        ([np.ones(3)], TypeError, r"a block that is ndarray of shape \(3,\)"),
        ([[1, 2]], TypeError, "a block that is list"),
        ([np.ones((3, 2)), np.ones((3, 1))], ValueError, r"block 2 of .* \(from row 4 on\) are 1"),
        (
            [pd.DataFrame({"a": [1.0], "b": [2]}), pd.DataFrame({"a": [1.0], "c": [2]})],
            ValueError,
            "are 'a', 'c', those of the first block 'a', 'b'",
        ),
        (
            [pd.DataFrame({"a": [1.0], "b": [2]}), pd.DataFrame({"a": ["x"], "b": [2]})],
            ValueError,
            r"Column 'a' holds text in block 2 .*from row 2 on.* and numbers in the first",
        ),
    ],
)
def test_what_a_function_may_not_give(blocks, error, sentence):
    with pytest.raises(error, match=sentence):
        WKMeans(2).fit(lambda: blocks)


def test_blocks_of_a_function_may_be_record_batches(rng):
    arrow = pytest.importorskip("pyarrow")
    frame = numbers(rng)
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    model = KMeans(3, n_init=1, random_state=0).fit(lambda: table.to_batches(max_chunksize=50))
    assert_same(model, KMeans(3, n_init=1, random_state=0).fit(frame))


def test_blocks_of_a_function_may_be_large_small_or_empty(rng):
    X = rng.normal(size=(100, 3))
    pieces = [X[:0], X[:70], X[70:70], X[70:71], X[71:]]
    source = ChunkedSource(lambda: pieces, block_bytes=24 * 30)
    assert [len(block.rows) for block in source.blocks()] == [30, 30, 10, 1, 29]
    np.testing.assert_array_equal(np.vstack([block.rows for block in source.blocks()]), X)
    assert_same(KMeans(3, random_state=0).fit(source), KMeans(3, random_state=0).fit(X))


# ---- files that are damaged, or change ----------------------------------------------------------


def fitted(rows, **options):
    return AWKMeans(3, random_state=0, missing="ignore").fit(in_small_blocks(rows, **options))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrow stream", "npy"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.97])
def test_a_file_that_is_cut_off(tmp_path, rng, kind, share):
    path = write(tmp_path, kind, numbers(rng))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=rf"{path.name}.*(cut|not a \.npy file)"):
        AWKMeans(3).fit(path)


@pytest.mark.parametrize("kind", ["parquet", "parquet in groups", "arrow stream"])
def test_a_file_with_wrong_bytes_in_its_middle(tmp_path, rng, kind):
    path = write(tmp_path, kind, mixed(rng))
    content = bytearray(path.read_bytes())
    for seed in range(25):
        damaged, places = content.copy(), np.random.default_rng(seed).integers(4, len(content), 40)
        for at in places:
            damaged[at] ^= 0x55
        path.write_bytes(damaged)
        try:
            model = AWKMeans(2, random_state=0, max_iter=2).fit(path)
        except (ValueError, TypeError):
            continue
        assert model.labels_.shape == (N,)  # numbers may have changed to others


@pytest.mark.parametrize("kind", ["parquet", "csv", "npy", "arrow"])
@pytest.mark.parametrize("change", ["longer", "touched", "gone"])
def test_a_file_that_changes_between_two_passes(tmp_path, rng, kind, change):
    path = write(tmp_path, kind, numbers(rng))
    source = in_small_blocks(path)
    describe(source)
    if change == "longer":
        path.write_bytes(path.read_bytes() + b"1,2,3,4\n")
        what = r"changed from [\d,]+ to [\d,]+ bytes while it was in use"
    elif change == "touched":
        os.utime(path, ns=(1, 1))
        what = "was written to while it was in use"
    else:
        path.unlink()
        what = "is gone while it was in use"
    with pytest.raises(ValueError, match=what):
        describe(source)


def test_a_file_that_is_cut_off_during_a_pass(tmp_path, rng):
    path = write(tmp_path, "npy", numbers(rng))
    blocks = iter(in_small_blocks(path).blocks())
    next(blocks)
    with path.open("r+b") as file:
        file.truncate(500)
    with pytest.raises(ValueError, match=r"changed from [\d,]+ to 500 bytes"):
        list(blocks)


def test_text_in_a_column_of_numbers_is_named_with_its_row(tmp_path, rng, monkeypatch):
    from fwkmeans._tabular import coding

    frame = numbers(rng).astype(object)
    frame.iloc[250, 1] = "broken"
    path = write(tmp_path, "csv", frame)
    monkeypatch.setattr("fwkmeans._tabular.readers.text._BLOCK", 2000)
    monkeypatch.setattr(coding, "MOST_CATEGORIES", 100)
    with pytest.raises(ValueError, match=r"Column 'b' .*'broken' in row 251 of .*\.csv"):
        AWKMeans(3).fit(in_small_blocks(path))
    with pytest.raises(ValueError, match=r"Not numeric: column 'b'"):
        KMeans(3).fit(path)


def test_too_many_categories_of_a_file_are_a_sentence(tmp_path, monkeypatch):
    from fwkmeans._tabular import coding

    monkeypatch.setattr(coding, "MOST_CATEGORIES", 100)
    frame = pd.DataFrame({"x": np.arange(300.0), "name": [f"n{at}" for at in range(300)]})
    path = write(tmp_path, "parquet", frame)
    with pytest.raises(ValueError, match=r"Column 'name' .*more than .* categories.*columns="):
        AWKMeans(3).fit(path)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pd.date_range("2020", periods=9), "Column 'odd' holds dates or times"),
        ([[1, 2]] * 9, r"Column 'odd'.*|Not numeric"),
    ],
)
def test_columns_that_are_neither_numbers_nor_categories(tmp_path, column, sentence):
    frame = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) % 4, "odd": column})
    frame.to_parquet(tmp_path / "x.parquet")
    with pytest.raises((ValueError, TypeError), match=sentence):
        AWKMeans(2).fit(tmp_path / "x.parquet")
    with pytest.raises((ValueError, TypeError), match="odd"):
        KMeans(2).fit(tmp_path / "x.parquet")
    AWKMeans(2, random_state=0).fit(ChunkedSource(tmp_path / "x.parquet", columns=["x", "y"]))


def test_gaps_are_refused_by_the_name_of_their_column(tmp_path, rng):
    path = write(tmp_path, "parquet", mixed(rng, gaps=True))
    with pytest.raises(ValueError, match=r"missing values in columns 'size', 'word'"):
        AWKMeans(3).fit(path)


def test_a_file_that_is_not_what_its_name_says(tmp_path):
    (tmp_path / "x.parquet").write_text("a,b\n1,2\n3,9\n")  # text, as in memory
    assert KMeans(2).fit(tmp_path / "x.parquet").n_features_in_ == 2
    (tmp_path / "x.parquet").write_bytes(b"\x00\x01\x02")
    with pytest.raises(ValueError, match="called like a file of Parquet"):
        KMeans(2).fit(tmp_path / "x.parquet")
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04....")
    with pytest.raises(ValueError, match="Excel file"):
        KMeans(2).fit(tmp_path / "x.xlsx")
    with pytest.raises(FileNotFoundError, match=r"Did you mean .*x\.xlsx"):
        KMeans(2).fit(tmp_path / "x.xls")


# ---- memory and threads -------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "by_another"), [(40, False), (9000, True)])
def test_blocks_are_read_ahead_where_there_is_much_to_read(n_rows, by_another):
    readers = []

    def pieces():
        for part in np.array_split(np.ones((n_rows, 2)), 4):
            readers.append(threading.current_thread())
            yield part

    source = ChunkedSource(pieces)
    readers.clear()
    assert [len(block.rows) for block in source.blocks()] == [n_rows // 4] * 4
    assert {one is not threading.current_thread() for one in readers} == {by_another}


def test_blocks_take_a_quarter_of_the_memory():
    source = ChunkedSource(np.ones((10, 2)), memory=1000)
    assert source.block_bytes == 250
    assert BLOCK_BYTES == MEMORY // 4
    assert ChunkedSource(np.ones((10, 2))).block_bytes == BLOCK_BYTES
    with pytest.raises(ValueError, match=r"memory=0: expected a positive number of bytes"):
        ChunkedSource(np.ones((10, 2)), memory=0)


def test_large_results_are_mapped_and_equal(tmp_path, rng):
    frame = numbers(rng)
    source = in_small_blocks(write(tmp_path, "npy", frame), 20)
    expected = KMeans(5, random_state=0).fit(frame.to_numpy())
    model = KMeans(5, random_state=0).fit(source)
    assert model.labels_.nbytes > source.block_bytes
    distances = model.transform(source)
    assert isinstance(distances.base, np.memmap)
    assert type(distances) is np.ndarray
    np.testing.assert_allclose(distances, expected.transform(frame.to_numpy()), rtol=1e-9)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, expected.labels_)


def test_reductions_that_need_no_rows_read_none(tmp_path, rng, monkeypatch):
    path = write(tmp_path, "npy", numbers(rng))
    source = in_small_blocks(path)
    read = []
    pieces = readers_base.BlockReader.pieces

    def counted(self, step):
        for piece in pieces(self, step):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr(readers_base.BlockReader, "pieces", counted)
    from fwkmeans.sources import count_present

    assert count_present(source).n_rows == N
    assert source.with_weights(np.ones(N), 1).gather("weight").shape == (N,)
    assert not read
    describe(source)
    assert sum(read) < 1.5 * N  # the first row, then all of them


def test_no_thread_is_left_if_a_pass_stops_early(tmp_path, rng):
    source = in_small_blocks(write(tmp_path, "parquet", numbers(rng)))
    blocks = source.blocks()
    next(blocks)
    blocks.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("fwkmeans-read")]


def test_the_result_is_the_same_for_any_number_of_threads(tmp_path, rng):
    rows = in_small_blocks(write(tmp_path, "folder", numbers(rng)))
    one, two = (WKMeans(3, random_state=0, n_jobs=n).fit(rows) for n in (1, 2))
    np.testing.assert_array_equal(one.feature_weights_, two.feature_weights_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)


def test_a_full_disk_is_a_sentence(tmp_path, rng, monkeypatch):
    source = in_small_blocks(write(tmp_path, "npy", numbers(rng)), 20)
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    monkeypatch.setattr(
        chunks.tempfile, "TemporaryFile", lambda buffering, prefix: full.open("r+b", buffering)
    )
    with pytest.raises(OSError, match="no space is left in the folder of temporary files"):
        KMeans(3, random_state=0).fit(source).transform(source)


def test_sources_of_files_can_be_pickled(tmp_path, rng):
    for kind in ("parquet", "csv", "npy", "arrow"):
        source = in_small_blocks(write(tmp_path, kind, numbers(rng)))
        again = pickle.loads(pickle.dumps(source))
        for block, other in zip(source.blocks(), again.blocks(), strict=True):
            np.testing.assert_array_equal(block.rows, other.rows)


def test_pyarrow_is_needed_only_for_its_files(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((20, 2)))
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from fwkmeans import KMeans\n"
        f"KMeans(2, random_state=0).fit({str(tmp_path / 'x.npy')!r})\n"
        "try:\n"
        f"    KMeans(2).fit({str(tmp_path / 'x.csv')!r})\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "pip install 'fwkmeans[io]'" in found.stdout, found.stderr


# ---- several files, and what differs -------------------------------------------------------------


@pytest.mark.parametrize("as_path", [str, Path], ids=["str", "Path"])
def test_a_list_of_files_is_one_table(tmp_path, as_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    paths = [tmp_path / "2.parquet", tmp_path / "1.parquet"]
    frame[:25].to_parquet(paths[0])
    frame[25:].to_parquet(paths[1])
    paths = [as_path(path) for path in paths]
    model = EWKMeans(2, random_state=0).fit(paths)
    np.testing.assert_array_equal(model.labels_, EWKMeans(2, random_state=0).fit(frame).labels_)
    np.testing.assert_array_equal(model.predict(paths), model.labels_)
    np.testing.assert_array_equal(model.predict(paths[:1]), model.labels_[:25])
    with pytest.raises(FileNotFoundError, match=r"none\.parquet: no such file"):
        model.predict([*paths, "none.parquet"])


@pytest.mark.parametrize("path", ["", "s3://bucket/rows.parquet", "https://host/rows.csv"])
def test_what_is_no_path_of_this_machine_is_refused(path):
    with pytest.raises(ValueError, match="is not the path of a file"):
        KMeans(2).fit(path)


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv"])
def test_files_may_differ_in_columns_that_are_not_used(tmp_path, kind):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "w"])
    frame["w"] = np.arange(60.0)
    one, other = frame[:30].assign(x=1), frame[30:].assign(x="text", y=2)[["y", "b", "w", "x", "a"]]
    for at, table in enumerate([one, other]):
        table = table.reset_index(drop=True)
        path = tmp_path / f"{at}.{kind}"
        table.to_csv(path, index=False) if kind == "csv" else getattr(table, f"to_{kind}")(path)
    source = ChunkedSource(tmp_path, sample_weight="w", columns=["b", "a"], block_bytes=200)
    assert source.names == ["b", "a"]
    model = EWKMeans(2, random_state=0).fit(source)
    expected = EWKMeans(2, random_state=0).fit(frame[["b", "a"]], sample_weight=frame["w"])
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_)
    with pytest.raises(InputError, match="give files with the same columns"):
        ChunkedSource(tmp_path)
    with pytest.raises(InputError, match="give files"):
        ChunkedSource([tmp_path / f"1.{kind}", tmp_path / f"0.{kind}"], columns=["a", "y"])
    with pytest.raises(ValueError, match="z"):
        ChunkedSource(tmp_path / f"0.{kind}", columns=["a", "z"])


def test_columns_of_csv_files_may_stand_in_another_order(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "2.csv").write_text('"b",a\n6,5\n')
    (piece,) = ChunkedSource(tmp_path).reader.pieces(10)
    assert piece.to_pydict() == {"a": [1, 3, 5], "b": [2, 4, 6]}


def test_a_function_that_gives_other_values_is_noticed():
    calls = []

    def blocks(change):
        calls.append(0)
        rows = np.arange(60.0).reshape(30, 2) + (len(calls) > 2) * change
        rows[3, 1] = np.nan  # equal to itself here
        yield rows[:0]
        yield rows[:10]
        yield rows[10:]

    def fit(change, as_block=lambda rows: rows):
        calls.clear()
        EWKMeans(2, missing="ignore", random_state=0).fit(lambda: map(as_block, blocks(change)))

    def frame(rows):
        return pd.DataFrame(rows, columns=["a", "b"]).assign(c="x")

    fit(0.0)
    for as_block in (np.asarray, lambda rows: frame(rows)[["a", "b"]]):
        with pytest.raises(InputError, match="gave other values than at first"):
            fit(1.0, as_block)


def test_two_numbers_at_the_top_of_a_csv_file_are_a_row(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2\n" + "".join(f"{i},{i * i}\n" for i in range(20)))
    with pytest.warns(UserWarning, match=r"looks like data.*ChunkedSource\(path, header=True\)"):
        assert EWKMeans(2).fit(path).labels_.shape == (21,)
    assert EWKMeans(2).fit(ChunkedSource(path, header=True)).labels_.shape == (20,)
    assert EWKMeans(2).fit(ChunkedSource(path, header=False)).labels_.shape == (21,)
    years = tmp_path / "years.csv"
    years.write_text("1990,2000,2010\n1,2,3\n4,5,7\n")
    assert EWKMeans(2).fit(years).feature_names_in_.tolist() == ["1990", "2000", "2010"]
    assert EWKMeans(2).fit(ChunkedSource(years, header=False)).labels_.shape == (3,)


def test_a_column_of_text_weighs_nothing(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "w": ["x", "y"]}).to_parquet(path)
    with pytest.raises(ValueError, match="'w', which holds sample_weight, holds text"):
        EWKMeans(2).fit(path, sample_weight="w")
