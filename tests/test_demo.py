"""The demonstration shows what it says."""

from __future__ import annotations

import re

import pytest

from fwkmeans.datasets import list_uci
from fwkmeans.demo import VARIANTS, main
from fwkmeans.estimators import ALGORITHMS

ROW = re.compile(r"^(?P<name>\S.*?)\s{2,}(?P<cells>-?\d\.\d\d .*%)$")


def run(capsys, *arguments: str) -> str:
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def rows_of(text: str) -> dict[str, list[tuple[float, float, float]]]:
    """Return ARI, ARI with noise, and the noise's share of weight, for each table in a row."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for line in text.splitlines():
        match = ROW.match(line)
        if match:
            numbers = [float(cell.rstrip("%")) for cell in match["cells"].split()]
            triples = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
            rows.setdefault(match["name"], []).extend(triples)
    return rows


@pytest.fixture(scope="module")
def text() -> str:
    """Return what is printed by default, from one run for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("builtins.print", lambda *words, **_: printed.append(" ".join(words)))
        assert main([]) == 0
    return "\n".join(printed)


def test_every_algorithm_has_a_row(text):
    rows = rows_of(text)
    assert set(ALGORITHMS) <= set(rows)
    variants = [f"{n} {p}={v}" for n, some in VARIANTS.items() for p, v in some.items()]
    assert set(variants) == set(rows) - set(ALGORITHMS)
    assert all(len(cells) == 4 for cells in rows.values())  # three tables and their mean


def test_kmeans_gives_noise_its_equal_share_and_others_less(text):
    rows = rows_of(text)
    assert all(share == 50 for _, _, share in rows["K-Means"])
    for name in ("AWK", "WK-Means", "EW-KM"):
        assert all(share < 50 for _, _, share in rows[name])


def test_weights_help_against_noise(text):
    rows = rows_of(text)
    (plain, noisy, _), *_ = rows["K-Means"]
    assert noisy < plain
    assert rows["WK-Means"][0][1] > noisy + 0.1
    assert max(cells[-1][1] for cells in rows.values()) > rows["K-Means"][-1][1]


def test_mean_is_the_mean(text):
    for *tables, mean in rows_of(text).values():
        for at in range(2):
            assert mean[at] == pytest.approx(sum(t[at] for t in tables) / 3, abs=0.0101)


def test_weights_are_listed_with_noise_last(text):
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("petal_"))
    listed = lines[first : first + 8]
    assert all(line.startswith("noise ") for line in listed[4:])
    totals = [0.0, 0.0, 0.0]
    for line in listed:
        weights = [float(number) for number in re.findall(r"\d\.\d\d", line)]
        totals = [total + weight for total, weight in zip(totals, weights, strict=True)]
    assert totals == pytest.approx([1.0, 1.0, 1.0], abs=0.05)
    share = re.search(r"4 of the 8 columns and got (\d+)% of the weight", text)
    assert share is not None
    assert int(share[1]) < 50


def test_no_line_is_too_long(text):
    assert max(map(len, text.splitlines())) <= 100


def test_tables_can_be_chosen(capsys):
    text = run(capsys, "--table", "heart", "500x4-2", "--draws", "1")
    assert all(len(cells) == 3 for cells in rows_of(text).values())
    assert "one draw" in text
    assert max(map(len, text.splitlines())) <= 100


def test_one_table_has_no_mean(capsys):
    text = run(capsys, "--table", "iris", "--draws", "1")
    assert all(len(cells) == 1 for cells in rows_of(text).values())


def test_output_repeats(capsys):
    arguments = ("--table", "iris", "--draws", "1")
    assert run(capsys, *arguments) == run(capsys, *arguments)


def test_help_lists_the_tables(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    help_text = " ".join(capsys.readouterr().out.split())
    assert all(name in help_text for name in list_uci())


@pytest.mark.parametrize("arguments", [["--table", "nothing"], ["--draws", "0"]])
def test_wrong_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert arguments[1] in capsys.readouterr().err
