"""The data of the experiment follow the survey to the letter."""

import itertools

import numpy as np
import pytest

from fwkmeans.datasets import SURVEY_CONFIGURATIONS, list_uci, load_uci
from fwkmeans.survey.tables import _read_file, group_numbers, load_table, parse_table, prepare

# "Real-world data sets used in our comparison experiments": entities, clusters, numerical,
# categorical
SURVEY_TABLE = {
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


def test_the_tables_are_those_of_the_survey():
    assert sorted(SURVEY_TABLE) == list_uci()


@pytest.mark.parametrize("name", SURVEY_TABLE)
def test_sizes_are_those_of_the_survey(name):
    n_rows, n_clusters, numerical, categorical = SURVEY_TABLE[name]
    spec = parse_table(name)
    table = load_table(spec, 0, 0)
    assert table.rows.shape[0] == n_rows
    assert spec.n_clusters == n_clusters
    found = load_uci(name, as_frame=False)
    assert len(found.categorical_features) == categorical
    columns = load_uci(name, as_frame=False).data
    if name == "ionosphere":  # the survey left out the column without range
        numbers = columns.astype(float)
        assert (np.ptp(numbers, axis=0) > 0).sum() == numerical
    else:
        assert columns.shape[1] == numerical + categorical


def test_balance_scale_is_made_from_its_definition():
    """Every combination of four values from 1 to 5; which side goes down is the larger torque."""
    expected = [
        ("LBR"[1 + np.sign(rw * rd - lw * ld)], lw, ld, rw, rd)
        for lw, ld, rw, rd in itertools.product(range(1, 6), repeat=4)
    ]
    table = load_uci("balance_scale", as_frame=False)
    names = [str(c) for c in table.target_names]
    assert sorted(names) == ["B", "L", "R"]
    found = [
        (str(label), *map(int, row)) for label, row in zip(table.target, table.data, strict=True)
    ]
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == 625


def test_tic_tac_toe_is_made_from_its_definition():
    """Every board on which a game can end, x first; positive if x has won."""
    lines = [
        *(range(3 * r, 3 * r + 3) for r in range(3)),
        *(range(c, 9, 3) for c in range(3)),
        (0, 4, 8),
        (2, 4, 6),
    ]

    def won(board, player):
        return any(all(board[at] == player for at in line) for line in lines)

    ends = {}

    def play(board, player):
        for at in range(9):
            if board[at] != "b":
                continue
            after = (*board[:at], player, *board[at + 1 :])
            if won(after, player) or "b" not in after:
                ends[after] = won(after, "x")
            elif after not in seen:
                seen.add(after)
                play(after, "o" if player == "x" else "x")

    seen = set()
    play(("b",) * 9, "x")
    assert len(ends) == 958
    table = load_uci("tic_tac_toe", as_frame=False)
    found = {
        tuple(map(str, row)): str(label) == "positive"
        for row, label in zip(table.data, table.target, strict=True)
    }
    assert found == ends


@pytest.mark.parametrize("name", ["australian", "car", "wine", "500x4-2"])
def test_noise_features_have_the_domain_of_their_model(name):
    """One for each feature: numbers within its range, categories among its own, uniform."""
    from fwkmeans.datasets import add_noise_features

    spec = parse_table(name)
    table = load_table(spec, 0, 7)
    n_features = table.rows.shape[1]
    noisy = add_noise_features(table.rows, random_state=3)
    assert noisy.shape[1] == 2 * n_features
    for v in range(n_features):
        original, noise = noisy[:, v], noisy[:, n_features + v]
        if isinstance(original[0], str):
            assert set(noise) <= set(original)
            shares = [np.mean(noise == category) for category in set(original)]
            assert max(shares) - min(shares) < 0.2
        else:
            numbers = original.astype(float)
            assert noise.astype(float).min() >= numbers.min()
            assert noise.astype(float).max() <= numbers.max()
            position = (noise.astype(float) - numbers.min()) / np.ptp(numbers)
            assert abs(position.mean() - 0.5) < 0.1
            assert abs(position.std() - np.sqrt(1 / 12)) < 0.05


def test_preparation_is_the_survey_s_standardisation():
    """A plain loop over the cells of a mixed table gives the same."""
    spec = parse_table("heart")
    table = load_table(spec, 0, 0)
    columns = []
    for v in range(table.rows.shape[1]):
        column = table.rows[:, v]
        if isinstance(column[0], str):
            for category in sorted(set(column), key=int):
                binary = np.array([float(cell == category) for cell in column])
                columns.append(binary - binary.mean())
        else:
            numbers = column.astype(float)
            columns.append((numbers - numbers.mean()) / (numbers.max() - numbers.min()))
    np.testing.assert_allclose(
        prepare(spec, 0, 0, 0, False).rows, np.column_stack(columns), rtol=0, atol=1e-14
    )
    raw = prepare(spec, 0, 0, 0, True).rows
    assert raw.shape == table.rows.shape
    assert [isinstance(cell, str) for cell in raw[0]] == [isinstance(c, str) for c in table.rows[0]]


def test_synthetic_data_sets_differ_and_repeat():
    spec = parse_table("500x4-2")
    first, second = (load_table(spec, number, 0).rows for number in (0, 1))
    assert not np.array_equal(first, second)
    load_table.cache_clear()
    np.testing.assert_array_equal(load_table(spec, 0, 0).rows, first)
    assert not np.array_equal(load_table(spec, 0, 1).rows, first)
    assert first.shape == SURVEY_CONFIGURATIONS["500x4-2"][:2]


def test_noise_is_the_same_for_both_kinds_of_preparation():
    spec = parse_table("iris")
    np.testing.assert_array_equal(
        prepare(spec, 0, 2, 5, False).rows, prepare(spec, 0, 2, 5, True).rows
    )
    assert not np.array_equal(
        prepare(spec, 0, 1, 5, False).rows, prepare(spec, 0, 2, 5, False).rows
    )


def test_names_of_tables():
    assert parse_table("Balance scale") == parse_table("balance_scale")
    assert parse_table("balance_scale:3")[:2] == ("balance_scale:3", 3)
    assert parse_table("iris:3")[:2] == ("iris", 3)
    assert parse_table("500x10-3:4")[:2] == ("500x10-3:4", 4)
    assert parse_table("500x10-3:4").is_synthetic


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("irsi", "There is no table or file 'irsi'"),
        ("nothing.csv", "There is no file"),
        ("iris:0", "at least one cluster"),
    ],
)
def test_unknown_tables_are_named(text, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        parse_table(text)


def test_own_files(tmp_path):
    path = tmp_path / "own.csv"
    lines = ["size,color,kind", *(f"{i}.5,{'rb'[i % 2]},{'xyz'[i % 3]}" for i in range(12))]
    path.write_text("\n".join(lines))
    spec = parse_table(str(path))
    assert (spec.name, spec.n_clusters, spec.target) == ("own", 3, "kind")
    table = load_table(spec, 0, 0)
    assert table.feature_names == ("size", "color")
    assert table.rows[1].tolist() == [1.5, "b"]
    assert prepare(spec, 0, 0, 0, False).rows.shape == (12, 3)
    assert parse_table(str(path), "color").n_clusters == 2
    assert parse_table(f"{path}:5", "color").n_clusters == 5
    with pytest.raises(ValueError, match="no column 'class'"):
        parse_table(str(path), "class")
    with pytest.raises(ValueError, match="12 different values"):
        parse_table(str(path), "size")
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("a,b,kind\n1,?,x\n,5,y\n3,6,x\n4,7,\n")
    with pytest.raises(ValueError, match="1 rows without a class"):
        parse_table(str(gaps))
    gaps.write_text("a,b,kind\n1,?,x\n,5,y\n3,6,x\n4,7,y\n")
    assert load_table(parse_table(str(gaps)), 0, 0).rows.dtype == np.float64
    assert prepare(parse_table(str(gaps)), 0, 0, 0, False).rows.shape == (4, 2)
    other = tmp_path / "iris.csv"
    other.write_text(path.read_text())
    assert parse_table(str(other)).name == "iris.csv"  # not the bundled one
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="1 row"):
        parse_table(str(path))


def test_files_are_found_from_another_folder(tmp_path, monkeypatch):
    """Processes that run the units may have been started elsewhere."""
    (tmp_path / "own.csv").write_text("a,kind\n1,x\n2,y\n3,x\n")
    monkeypatch.chdir(tmp_path)
    spec = parse_table("own.csv")
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    load_table.cache_clear()
    _read_file.cache_clear()
    assert load_table(spec, 0, 0).rows.shape == (3, 1)


def test_groups_follow_their_columns():
    names = ("a", "b", "c")
    groups = {"one": ["a", "c"], "two": ["b"]}
    origins = np.array([0, 1, 1, 2, 0, 2])
    assert group_numbers(groups, names, origins, "t") == [0, 1, 1, 0, 0, 0]
    assert group_numbers(None, names, origins, "t") is None
    with pytest.raises(ValueError, match="No group of t has the column"):
        group_numbers({"one": ["a"]}, names, origins, "t")
    with pytest.raises(ValueError, match="no column"):
        group_numbers({"one": ["z"]}, names, origins, "t")
    with pytest.raises(ValueError, match="in two groups"):
        group_numbers({"one": ["a"], "two": ["a"]}, names, origins, "t")
