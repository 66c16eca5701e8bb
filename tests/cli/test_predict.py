"""Models find their columns in new tables, and give rows to the clusters Python gives them to."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fwkmeans import WKMeans
from fwkmeans.datasets import load_uci
from fwkmeans.persistence import load_model, save_model
from fwkmeans.preprocessing import RangeStandardizer

from .conftest import columns_of


@pytest.fixture
def model(run, mixed, tmp_path):
    run("fit", mixed, "-k", 3, "--id", "key", "--labels", "group", "-a", "AWK", "--model", "m.fwk")
    return load_model(tmp_path / "m.fwk")


def parsed(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_training_rows_get_their_labels(run, model, mixed):
    columns = parsed(run("predict", "m.fwk", mixed).out)
    names = model[-1]._naming.names
    assert len(set(names)) == 3
    assert columns["cluster"] == [str(label) for label in model[-1].labels_]
    assert columns["cluster_name"] == [names[label] for label in model[-1].labels_]
    assert len(columns) == 2


def test_columns_are_found_by_name(run, model, mixed, write):
    columns = columns_of(mixed)
    names = ["yes", "more", "color", "count", "key", "size"]
    columns["more"] = ["1"] * 60
    lines = [";".join(names), *(";".join(row) for row in zip(*(columns[n] for n in names)))]  # noqa: B905
    path = write("new.csv", "\n".join(lines))
    done = run("predict", "m.fwk", path, "--id", "key", "--distances", "--out", "out.csv")
    assert "Wrote the clusters of 60 rows to out.csv" in done.out
    found = columns_of("out.csv", ";")  # separated as the table
    assert list(found) == [
        *("key", "cluster", "cluster_name"),
        *(f"distance_{k}" for k in range(3)),
    ]
    assert found["key"] == columns["key"]
    assert found["cluster"] == [str(label) for label in model[-1].labels_]
    nearest = np.argmin([np.array(found[f"distance_{k}"], float) for k in range(3)], axis=0)
    np.testing.assert_array_equal(nearest, model[-1].labels_)


def test_stdin_and_parquet(run, model, mixed, tmp_path):
    run("predict", "m.fwk", "-", "--out", "out.parquet", stdin=mixed.read_text())
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table["cluster"].to_pylist() == model[-1].labels_.tolist()


def test_json(run, model, mixed):
    found = run("predict", "m.fwk", mixed, "--json", "--id", "key").json
    assert found["n_rows"] == 60
    assert found["sizes"] == np.bincount(model[-1].labels_, minlength=3).tolist()
    assert found["columns"]["cluster"] == model[-1].labels_.tolist()


def test_text_stays_text(run, write, tmp_path):
    rows = [f"{zip_},{n},{m}" for zip_, n, m in zip(["01", "1", "10"] * 6, range(18), [5, 3] * 9)]  # noqa: B905
    path = write("t.csv", "zip,n,m\n" + "\n".join(rows))
    run("fit", path, "-k", 2, "-a", "AWK", "--categorical", "zip", "--numeric", "n", "-m", "m.fwk")
    model = load_model(tmp_path / "m.fwk")
    assert model[0].categories_[0].tolist() == ["01", "1", "10"]
    done = run("predict", "m.fwk", path)
    assert parsed(done.out)["cluster"] == [str(label) for label in model[-1].labels_]
    assert done.err == ""


def test_new_categories_are_said(run, model, write):
    path = write("new.csv", "size,count,color,yes\n0.5,3,pink,true\n1.5,2,red,false\n")
    done = run("predict", "m.fwk", path)
    assert "'color' holds categories that the model has not seen ('pink')" in done.err
    assert len(parsed(done.out)["cluster"]) == 2


def test_models_of_python_without_names(run, write, tmp_path):
    X = load_uci("iris", as_frame=False).data
    fitted = WKMeans(3, random_state=0).fit(X)
    save_model(fitted, tmp_path / "m.fwk")
    lines = ["a,b,c,d", *(",".join(map(repr, row)) for row in X.tolist())]
    done = run("predict", "m.fwk", write("t.csv", "\n".join(lines)))
    assert parsed(done.out)["cluster"] == [str(label) for label in fitted.labels_]


def test_bad_input_gets_a_sentence(run, refuse, model, mixed, write, tmp_path):
    assert "There is no model none.fwk" in refuse("predict", "none.fwk", mixed)
    sentence = refuse("predict", mixed, mixed)
    assert "not a model file of fwkmeans" in sentence
    assert sentence.endswith("Give the model first, then the table.")
    sentence = refuse("predict", "m.fwk", write("t.csv", "size,count\n1,2\n"))
    assert "t.csv lacks the columns 'color', 'yes' of the model" in sentence
    sentence = refuse("predict", "m.fwk", write("t.csv", "size,count,color,yes\nbig,2,red,true\n"))
    assert "Column 'size' holds 'big' (row 1), not a number" in sentence
    assert "no such column" in refuse("predict", "m.fwk", mixed, "--id", "nothing")
    assert "name ends in" in refuse("predict", "m.fwk", mixed, "--out", "x.doc")
    save_model(RangeStandardizer().fit([[1.0], [2.0]]), tmp_path / "s.fwk")
    assert "holds no clusters" in refuse("predict", "s.fwk", mixed)
    save_model(WKMeans(2).fit(np.eye(3)), tmp_path / "w.fwk")
    sentence = refuse("predict", "w.fwk", mixed)
    assert "has 6 columns, the model was fitted to 3 without names" in sentence


def test_report_of_a_model(run, refuse, model, mixed, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    done = run("report", "m.fwk", mixed, "--labels", "group", "--title", "My & table")
    assert done.out == "Wrote the report to m.html\n"
    page = (tmp_path / "m.html").read_text("utf-8")
    assert "My &amp; table" in page
    run("report", "m.fwk", mixed, "--out", "other.html", "--draws", 0)
    assert (tmp_path / "other.html").exists()
    found = run("report", "m.fwk", mixed, "--labels", "group", "--json", "--draws", 0).json
    assert found["algorithm"] == "AWK"
    assert [cluster["size"] for cluster in found["clusters"]] == np.bincount(
        model[-1].labels_
    ).tolist()
    assert "no such column" in refuse("report", "m.fwk", mixed, "--labels", "grupo")
    assert "There is no folder" in refuse("report", "m.fwk", mixed, "--out", "no/x.html")


def test_parquet_tables(run, model, mixed, tmp_path):
    columns = columns_of(mixed)
    table = pa.table(
        {
            "count": pa.array(list(map(float, columns["count"])), pa.float32()),
            "color": pa.array([c or None for c in columns["color"]]).dictionary_encode(),
            "size": pa.array([float(s) if s else None for s in columns["size"]]),
            "yes": pa.array([y == "true" for y in columns["yes"]]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    found = parsed(run("predict", "m.fwk", "t.parquet").out)
    assert found["cluster"] == [str(label) for label in model[-1].labels_]


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_values_outside_of_what_the_model_has_seen_are_told(stream, run, write):
    def table(unit, n=30):
        rows = [f"{unit * (3 + i % 7)},{i % 5},{'ab'[i % 2]}" for i in range(n)]
        return "mass,count,kind\n" + "\n".join(rows) + "\n"

    grams, kilograms = write("g.csv", table(1000)), write("kg.csv", table(1))
    run("fit", grams, "-k", 2, "--model", "m.fwk")
    assert "outside" not in run("predict", "m.fwk", grams, "--out", "o.csv", *stream).err
    told = run("predict", "m.fwk", kilograms, "--out", "o.csv", *stream).err
    assert "Column 'mass': 30 of 30 cells, such as 3, lie outside what the model has seen (" in told
    assert "Is the column in another unit?" in told
    assert "'count'" not in told
    one = write("one.csv", table(1000) + "999999,1,a\n,1,a\n")
    told = run("predict", "m.fwk", one, "--out", "o.csv", *stream).err
    assert "Column 'mass': 1 of 31 cells, such as 999,999, lies outside" in told
    assert "another unit" not in told
