"""What speaks against a result of AutoKMeans is said, and nothing where nothing does."""

import numpy as np
import pandas as pd
import pytest

from fwkmeans import AutoKMeans
from fwkmeans._mixture.fitting import Rival
from fwkmeans.datasets import load_uci
from fwkmeans.estimators.auto_doubts import (
    DOUBTS,
    NEARLY,
    Doubt,
    _other_numbers,
    _other_partitions,
    sentences,
)
from fwkmeans.persistence import load_model, save_model
from fwkmeans.reports import summarize
from textbook_tables import made

GAPS = {"one cloud", "pieces"}


def kinds(model):
    return {doubt.kind for doubt in model.doubts_}


@pytest.mark.parametrize("cloud", ["lognormal, 300 x 3", "t, 300 x 3", "curve, 300 x 3"])
def test_a_cloud_that_is_divided_has_a_doubt(cloud):
    silent = []
    for draw in range(3):
        model = AutoKMeans().fit(made(cloud, draw).rows)
        silent.append(model.n_clusters_ > 1 and not kinds(model) & GAPS)
    model = AutoKMeans(3).fit(made(cloud).rows)
    assert kinds(model) & GAPS  # also if the number is given
    assert not any(silent)


@pytest.mark.parametrize(
    "name", ["r15", "2 in 5, 600 rows, 10 apart, tied", "5 in 3, 125 rows, 10 apart, equal"]
)
def test_clear_clusters_have_no_doubt(name):
    table = made(name)
    assert AutoKMeans(table.n_clusters).fit(table.rows).doubts_ == []


def test_curves_are_said_to_be_cut_into_pieces():
    model = AutoKMeans(12).fit(made("smile").rows)
    doubt = next(doubt for doubt in model.doubts_ if doubt.kind == "pieces")
    assert doubt.figures["shapes"] < 12
    assert all(len(one) > 1 for one in doubt.figures["sets"])
    assert "perhaps a curved one" in str(model.explain())


def test_clusters_that_categories_tell_apart_need_no_gap(rng):
    """The number alone is one cloud, and is cut by a category."""
    size = rng.normal(size=300)
    told = {f"c{v}": np.where(size + 0.1 * rng.normal(size=300) > 0, "a", "b") for v in range(4)}
    model = AutoKMeans(2).fit(pd.DataFrame({"size": size, **told}))
    assert not kinds(model) & GAPS


def test_missing_cells_make_no_gaps(rng):
    rows = rng.normal(size=(400, 3)) ** 2
    rows[rng.uniform(size=rows.shape) < 0.05] = np.nan
    assert kinds(AutoKMeans(3).fit(rows)) & GAPS


def test_rows_beyond_the_sample_take_part():
    table = made("curve, 1000 x 2")
    rows = np.vstack([table.rows + 0.001 * i for i in range(5)])
    assert kinds(AutoKMeans(3).fit(rows)) & GAPS


def test_numbers_whose_criterion_is_nearly_as_high_are_named():
    criteria = {1: -50.0, 2: -11.0, 3: -10.0, 4: -10.0 - NEARLY, 5: -12.5}
    (doubt,) = _other_numbers(3, criteria)
    assert doubt == Doubt("number", {"n_clusters": 3, "behind": {2: 1.0, 5: 2.5}})
    assert "2 (by 1) and 5 (by 2.5)" in sentences([doubt], [])[0]
    assert not list(_other_numbers(3, {3: -10.0}))
    assert not list(_other_numbers(20, {20: -10.0, 22: -11.0}))  # a tenth more


def test_partitions_whose_criterion_is_nearly_as_high_are_named(rng):
    fit = type("Fit", (), {})()
    fit.rivals = (Rival(1.0, 0.0), Rival(0.6, 2.5), Rival(0.5, 2.0), Rival(0.1, 30.0))
    (doubt,) = _other_partitions(fit)
    assert doubt.figures == {"agreement": 0.5, "behind": 2.0}
    fit.rivals = fit.rivals[::3]
    assert not list(_other_partitions(fit))


def test_two_columns_that_say_the_same_and_decide_alone_are_told(rng):
    code = rng.integers(0, 3, 300)
    near = np.where(rng.uniform(size=300) < 0.1, rng.permutation(code), code)
    table = pd.DataFrame({"one": code, "noise": rng.integers(0, 4, 300), "two": near})
    model = AutoKMeans(3).fit(table.astype(str).astype("category"))
    doubt = next(doubt for doubt in model.doubts_ if doubt.kind == "copies")
    assert doubt.figures["columns"] == [0, 2]
    assert "one and two say nearly the same" in str(model.explain())


def test_a_category_that_decides_alone_is_told():
    table = load_uci("tic_tac_toe")
    model = AutoKMeans(2).fit(table.data)
    (doubt,) = model.doubts_
    assert doubt.kind == "one column"
    assert f"{table.data.columns[doubt.figures['columns'][0]]} alone has" in str(model.explain())


def test_every_kind_has_a_sentence():
    figures = {
        "clusters": [0, 1],
        "sets": [[0, 1], [2, 3]],
        "shapes": 2,
        "n_clusters": 3,
        "behind": {2: 1.0},
        "agreement": 0.2,
        "columns": [0, 1],
        "share": 0.9,
    }
    for kind in DOUBTS:
        more = {"behind": 1.0} if kind == "partition" else {}
        (sentence,) = sentences([Doubt(kind, figures | more)], ["a", "b"])
        assert sentence.endswith(".")
        assert "{" not in sentence


def test_people_count_clusters_from_one():
    doubt = Doubt("pieces", {"sets": [[0, 2], [1, 3, 4]], "shapes": 2})
    for first, told in ((0, "0 and 2, nor 1, 3 and 4:"), (1, "1 and 3, nor 2, 4 and 5:")):
        assert f"clusters {told}" in sentences([doubt], [], first=first)[0]


def test_explanation_report_and_file_have_the_same_doubts(tmp_path):
    rows = made("curve, 300 x 3").rows
    model = AutoKMeans(3).fit(rows)
    told = model.explain().doubts
    assert [one["kind"] for one in told] == [doubt.kind for doubt in model.doubts_]
    assert told[0]["sentence"] in str(model.explain())
    summary = summarize(model, rows)
    assert ("doubts", told[0]["sentence"]) in zip(
        summary["warning_topics"], summary["warnings"], strict=True
    )
    save_model(model, tmp_path / "model.fwk")
    assert load_model(tmp_path / "model.fwk").doubts_ == model.doubts_
