"""Keys and codes are left out or asked about, amounts are used, and every sentence says how."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fwkmeans._support.errors import InputError
from fwkmeans._tabular.kinds import key_in
from fwkmeans._tabular.roles import Roles, choose_columns
from fwkmeans._tabular.wording import in_python, on_command_line

N = 400


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def used_as(column, values, **others):
    """Return what a column beside two others is used as, and what is asked about it."""
    noise = np.random.default_rng(1)
    n = len(values)
    table = {column: values, "x": noise.normal(size=n), "y": noise.normal(size=n)} | others
    found = choose_columns(pa.table(table), Roles(), "t")
    (use,) = (one for one in found.uses if one.column == column)
    return use.use, found.doubtful.get(column, ""), found.notes


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((one, "key") for one in ("PID", "geonameid", "movieId", "id_str", "schoolidk")),
        *((one, "key") for one in ("schoolid1", "customer_id", "userID", "case.id")),
        *((one, "code") for one in ("adcode", "Code", "zip_code", "barcode")),
        *((one, "may count") for one in ("number", "index", "Sample Number")),
        *((one, "") for one in ("humid", "paid", "casino", "grid", "kids", "turkey", "android")),
        *((one, "") for one in ("price", "age", "year", "nr_of_rooms", "monkey", "acid", "piano")),
    ],
)
def test_names_of_keys(name, kind):
    assert key_in(name) == kind


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: np.arange(N) * 3 + 7,
        lambda rng: np.sort(rng.choice(5 * N, N, replace=False)),
        lambda rng: rng.permutation(N) + 1000,
        lambda rng: rng.choice(10 * N, N, replace=False),
    ],
    ids=["steps", "rising", "dense", "never twice"],
)
def test_numbers_that_never_repeat_where_they_would_are_left_out(make, rng):
    use, doubt, notes = used_as("size", make(rng))
    assert (use, doubt) == ("left out", "")
    assert notes[0].startswith("Left out: 'size' (no number repeats")
    assert notes[0].endswith(" Use it all the same with --numeric size.")


def test_few_numbers_that_rise_are_asked_about(rng):
    values = np.sort(rng.choice(10**9, N, replace=False))
    use, doubt, _ = used_as("amount", values)
    assert use == "number"
    assert doubt == (
        "Column 'amount' may be a key or a code (none of its whole numbers repeats, and they rise "
        "from row to row): leave it out with --drop amount, or say that it holds amounts with "
        "--numeric amount."
    )
    assert used_as("amount", rng.permutation(values))[:2] == ("number", "")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", lambda rng: rng.integers(18, 90, N)),
        ("age", lambda rng: np.sort(rng.integers(18, 90, N))),
        ("year", lambda rng: rng.integers(1950, 2020, N)),
        ("year", lambda rng: np.arange(1600, 1600 + 2 * N, 2)[: N // 2]),
        ("price", lambda rng: np.round(np.exp(rng.normal(12, 1, N)))),
        ("visits", lambda rng: rng.poisson(3, N)),
        ("number", lambda rng: rng.poisson(30, N)),
        ("population", lambda rng: np.round(np.exp(rng.normal(9, 2, N)))),
    ],
)
def test_measurements_are_used_without_a_question(name, values, rng):
    assert used_as(name, values(rng))[:2] == ("number", "")


def test_keys_that_repeat_are_left_out_and_few_are_asked_about(rng):
    assert used_as("movieId", rng.integers(0, 150, N))[0] == "left out"
    use, doubt, _ = used_as("species_id", rng.integers(1, 4, N))
    assert use == "categories"
    assert "leave it out with --drop species_id" in doubt
    assert used_as("adcode", rng.integers(0, 30, N))[0] == "categories"
    assert used_as("adcode", rng.integers(0, 100, N))[0] == "left out"


def test_codes_that_repeat_without_order_are_asked_about(rng):
    code = rng.integers(0, 60, N)
    town = rng.normal(size=60)[code], rng.normal(size=60)[code]
    beside = {"tax": town[0] + rng.normal(size=N) / 50, "rate": town[1]}
    _, doubt, _ = used_as("flight", code, **beside)
    assert "rows with the same number are alike, and rows with the next one are not" in doubt
    by_order = {"tax": code + rng.normal(size=N), "rate": np.sqrt(code) + rng.normal(size=N) / 50}
    assert not used_as("flight", code, **by_order)[1]
    both = beside | {"miles": code * 1.5 + rng.normal(size=N)}  # its order means something
    assert not used_as("distance", code, **both)[1]
    assert not used_as("flight", code)[1]


def test_texts_that_repeat_thousands_of_times_over_are_named(rng):
    texts = np.array([f"N{i}" for i in range(600)], dtype=object)[np.arange(20_000) % 600]
    use, _, notes = used_as("tailnum", texts)
    assert use == "left out"
    assert notes[0] == (
        "Left out: 'tailnum' (600 different texts that repeat, too many to form groups). Use it "
        "all the same with --categorical tailnum."
    )


TABLE = {
    "temp_1": [1.0, 2.0, 3.0, 4.0] * 5,
    "temp_2": [1.0, 2.0, 4.0, 4.0] * 5,
    "PID": list(range(20)),
    "name": [f"n{i}" for i in range(20)],
    "kind": ["a", "b"] * 10,
}


@pytest.mark.parametrize(
    ("roles", "columns"),
    [
        ({"use": ["temp_*"]}, ["temp_1", "temp_2"]),
        ({"use": ["temp_1", "kind"]}, ["temp_1", "kind"]),
        ({"use": ["*"]}, ["temp_1", "temp_2", "kind"]),
        ({"use": ["temp_?", "PID", "name"]}, ["temp_1", "temp_2", "PID", "name"]),
        ({"use": ["temp_*"], "categorical": ["temp_1"]}, ["temp_1", "temp_2"]),
        ({"drop": ["temp_[2]"]}, ["temp_1", "kind"]),
        ({"use": ["*"], "drop": ["temp_*"], "numeric": ["PID"]}, ["PID", "kind"]),
    ],
)
def test_patterns_of_columns(roles, columns):
    assert choose_columns(pa.table(TABLE), Roles(**roles), "t").features.column_names == columns


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        ({"use": ["tmp_*"]}, "--use 'tmp_*': t has no column called so; it has"),
        ({"use": ["temp_3"]}, "--use temp_3: t has no such column; did you mean 'temp_2'"),
        ({"drop": ["temp_3"]}, "--drop temp_3: t has no such column; did you mean"),
        ({"use": ["kind", "temp_*"], "drop": ["kind"]}, "'kind' is named by --use and is to be"),
    ],
)
def test_patterns_that_mean_nothing(roles, sentence):
    with pytest.raises(InputError) as caught:
        choose_columns(pa.table(TABLE), Roles(**roles), "t")
    assert sentence in str(caught.value)


def test_a_name_with_a_sign_of_patterns_is_a_name():
    table = pa.table({"a*": [1.0, 2.0], "ab": [1.0, 3.0], "c": [1.0, 4.0]})
    assert choose_columns(table, Roles(drop=["a*"]), "t").features.column_names == ["ab", "c"]


def test_cells_that_are_no_numbers_are_taken_as_missing_and_counted():
    table = pa.table({"height": ["1.8", "5' 4\"", "170cm", None] * 3, "x": [1.0, 2, 3, 4] * 3})
    with pytest.raises(InputError, match="take such cells as missing with --coerce"):
        choose_columns(table, Roles(numeric=["height"]), "t")
    found = choose_columns(table, Roles(numeric=["height"], coerce=True), "t")
    assert found.features["height"].to_pylist() == [1.8, None, None, None] * 3
    assert found.n_missing == 9
    assert found.notes[0].startswith(
        "Column 'height': 6 cells of 12 are no numbers and were taken as missing ("
    )


def test_settings_are_named_as_they_are_given():
    table = pa.table(TABLE)
    notes = choose_columns(table, Roles(), "t", say=in_python).notes
    assert "Use them all the same with numeric=['PID'] or categorical=['name']." in notes[0]
    assert on_command_line("drop", "a,b", "c d") == """--drop '"a,b",c d'"""
    assert on_command_line("decimal", ",") == "--decimal ,"
    assert on_command_line("na", "-999") == "--na -999"
    assert in_python("id", "k") == "keys=['k']"
