"""From cells to figures, against plain loops."""

import math

import numpy as np
import pytest

from fwkmeans.survey.compare import (
    Place,
    compare,
    published_winners,
    summarize_cells,
    winners,
)
from fwkmeans.survey.published import Published, published, published_tables
from fwkmeans.survey.store import Cell


def cell(table, algorithm, value, ari, *, noise=0, number=0, starts=None, seed=0, **more):
    ari = np.asarray(ari, dtype=np.float64)
    std = ari.std(ddof=1) if ari.size > 1 else 0.0
    settings, content = more.get("settings", "{}"), more.get("content", "")
    return Cell(
        table,
        content,
        number,
        noise,
        3,
        algorithm,
        '{"init": "anomalous"}' if algorithm == "iMWK-Means" else settings,
        None if value is None else "beta",
        value,
        seed,
        ari.size if starts is None else starts,
        1,
        float(ari.mean()),
        float(std),
        float(ari.max()),
        ari.size,
        0,
        ari,
        ari,
        "0",
    )


def test_published_figures_are_those_of_the_paper():
    """Spot checks of every table of the survey; 204 cells of 6 algorithms on 17 tables, twice."""
    assert len(published()) == 17 * 2 * 6
    assert published()["iris", False, "AWK"] == Published(0.80, 0.16, 0.89, None, 1.6, None)
    assert published()["wine", False, "iMWK-Means"] == Published(None, None, 0.82, None, 1.6, None)
    assert published()["ecoli", True, "IK-P"] == Published(*[None] * 6)
    assert published()["heart", True, "FWSA"] == Published(0.10, 0.10, 0.35, None, None, None)
    assert published()["500x20-4", True, "EW-KM"] == Published(0.81, 0.14, 0.95, 0.06, 0.34, 0.10)
    assert published()["500x50-5", False, "iMWK-Means"][2:] == (1.00, 0.01, 1.73, 0.94)
    assert published_tables()[:2] == ["australian", "balance_scale"]


def test_the_best_value_is_that_of_the_highest_mean():
    cells = [
        cell("iris", "AWK", 1.0, [0.1, 0.9]),
        cell("iris", "AWK", 2.0, [0.6, 0.6]),
        cell("iris", "AWK", 3.0, [0.6, 0.6]),
    ]
    figures = summarize_cells(cells).figures[Place("iris", False), "AWK"]
    assert (figures.mean, figures.max, figures.parameter) == (0.6, 0.6, 2.0)
    assert figures.std == 0.0
    assert figures.between is None
    np.testing.assert_allclose(figures.curve.values, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(figures.curve.mean, [0.5, 0.6, 0.6])


def test_synthetic_tables_are_averaged_over_data_sets():
    rng = np.random.default_rng(0)
    ari = rng.uniform(size=(5, 3, 4))  # data sets, values, starts
    cells = [
        cell("500x4-2", "WK-Means", float(v), ari[s, v], number=s)
        for s in range(5)
        for v in range(3)
    ]
    figures = summarize_cells(cells).figures[Place("500x4-2", False), "WK-Means"]
    best = [max(range(3), key=lambda v, s=s: ari[s, v].mean()) for s in range(5)]
    chosen = [ari[s, v] for s, v in enumerate(best)]
    assert figures.mean == pytest.approx(np.mean([c.mean() for c in chosen]))
    assert figures.std == pytest.approx(np.concatenate(chosen).std(ddof=1))
    assert figures.max == pytest.approx(np.mean([c.max() for c in chosen]))
    assert figures.max_std == pytest.approx(np.std([c.max() for c in chosen], ddof=1))
    assert figures.parameter == pytest.approx(np.mean(best))
    assert figures.parameter_std == pytest.approx(np.std(best, ddof=1))
    assert figures.between == pytest.approx(np.std([c.mean() for c in chosen], ddof=1))
    assert figures.n_sets == 5


def test_the_run_with_the_most_starts_counts():
    cells = [
        cell("iris", "AWK", 1.0, [0.9, 0.9]),
        cell("iris", "AWK", 1.0, [0.1, 0.2, 0.3]),
        cell("iris", "AWK", 1.0, [0.5, 0.5, 0.5], seed=1),
    ]
    figures = summarize_cells(cells).figures[Place("iris", False), "AWK"]
    assert figures.starts == 3
    assert figures.mean == pytest.approx(0.2)


def test_differences_are_measured_in_standard_errors():
    rng = np.random.default_rng(1)
    ari = rng.normal(0.7, 0.2, size=100)
    mean = float(ari.mean())
    figures = summarize_cells([cell("iris", "AWK", 1.0, ari)]).figures[Place("iris", False), "AWK"]
    error = math.sqrt(ari.std(ddof=1) ** 2 / 100 + 0.16**2 / 100)
    near = Published(round(mean + 1.9 * error, 4), 0.16, 0.9, None, 1.0, None)
    far = Published(round(mean + 2.1 * error + 0.005, 4), 0.16, 0.9, None, 1.0, None)
    assert compare(figures, near).error == pytest.approx(error)
    assert compare(figures, near).agrees is True
    assert compare(figures, far).agrees is False
    assert compare(figures, far).difference == pytest.approx(ari.mean() - far.mean)
    assert compare(figures, Published(*[None] * 6)).agrees is None


def test_a_deterministic_algorithm_agrees_if_the_digits_do():
    def agrees(ours, theirs):
        figures = summarize_cells([cell("iris", "iMWK-Means", 1.1, [ours])])
        one = figures.figures[Place("iris", False), "iMWK-Means"]
        return compare(one, Published(None, None, theirs, None, 1.1, None)).agrees

    assert agrees(0.9038, 0.90)
    assert agrees(0.8962, 0.90)
    assert not agrees(0.9062, 0.90)
    assert not agrees(0.8938, 0.90)


def test_draws_of_the_noise_are_part_of_the_error():
    one = [cell("iris", "iMWK-Means", 1.1, [0.80], noise=1)]
    many = one + [cell("iris", "iMWK-Means", 1.1, [a], noise=d) for d, a in ((2, 0.90), (3, 0.85))]
    theirs = published()["iris", True, "iMWK-Means"]
    key = (Place("iris", True), "iMWK-Means")
    assert compare(summarize_cells(one).figures[key], theirs).error == 0.0
    figures = summarize_cells(many).figures[key]
    spread = np.std([0.80, 0.90, 0.85], ddof=1)
    assert compare(figures, theirs).error == pytest.approx(spread * math.sqrt(1 + 1 / 3))
    assert figures.n_draws == 3


def test_one_synthetic_data_set_says_nothing():
    cells = [cell("500x4-2", "AWK", 1.0, [0.0, 0.1])]
    figures = summarize_cells(cells).figures[Place("500x4-2", False), "AWK"]
    found = compare(figures, published()["500x4-2", False, "AWK"])
    assert found.agrees is None
    assert found.difference == pytest.approx(0.05 - 0.50)


def test_draws_of_synthetic_data_sets_are_not_data_sets():
    rng = np.random.default_rng(0)
    level = rng.uniform(size=20)
    cells = [
        cell("500x4-2", "AWK", 1.0, [level[s], level[s]], number=s, noise=d)
        for s in range(20)
        for d in range(1, 6)
    ]
    figures = summarize_cells(cells).figures[Place("500x4-2", True), "AWK"]
    found = compare(figures, published()["500x4-2", True, "AWK"])
    assert found.error == pytest.approx(level.std(ddof=1) * math.sqrt(2 / 20))


def test_one_start_of_a_random_algorithm_is_not_deterministic():
    figures = summarize_cells([cell("iris", "WK-Means", 2.0, [0.82])])
    one = figures.figures[Place("iris", False), "WK-Means"]
    assert not one.is_deterministic
    assert compare(one, published()["iris", False, "WK-Means"]).agrees


def test_runs_that_are_not_one_are_told_apart():
    cells = [
        cell("own", "AWK", 1.0, [0.1, 0.1], content="a"),
        cell("own", "AWK", 1.0, [0.9, 0.9], content="b"),
        cell("iris", "SYNCLUS", None, [0.2, 0.2], settings='{"groups": 1}'),
        cell("iris", "SYNCLUS", None, [0.3, 0.3], settings='{"groups": 2}'),
        cell("iris", "SYNCLUS", None, [0.4, 0.4], settings='{"groups": 2}', seed=1),
    ]
    results = summarize_cells(cells)
    means = {(place.table, name): f.mean for (place, name), f in results.figures.items()}
    assert means == pytest.approx(
        {
            ("own", "AWK"): 0.1,
            ("own #2", "AWK"): 0.9,
            ("iris", "SYNCLUS"): 0.2,
            ("iris", "SYNCLUS #2"): 0.3,
        }
    )
    assert results.n_left_out == 1
    assert results.n_fits == 8


def test_winners_share_ties_to_two_decimals():
    cells = [
        cell("iris", "AWK", 1.0, [0.801, 0.801]),
        cell("iris", "FWSA", None, [0.799, 0.799]),
        cell("iris", "IK-P", 1.0, [0.5, 0.95]),
    ]
    results = summarize_cells(cells)
    place = Place("iris", False)
    assert winners(results, place, results.algorithms, "mean") == ["AWK", "FWSA"]
    assert winners(results, place, results.algorithms, "max") == ["IK-P"]


def test_wins_of_the_survey_are_those_it_counts():
    """'In 9 data sets iMWK-Means reaches the highest ARI' and the like, from the figures alone."""
    real = [table for table in published_tables() if "x" not in table[:4]]
    assert len(real) == 13

    def count(algorithm, what, noise):
        return sum(algorithm in published_winners(Place(t, noise), what) for t in real)

    assert count("EW-KM", "max", False) == 9
    assert count("IK-P", "max", False) == 6
    assert count("FWSA", "max", False) == 4
    assert count("iMWK-Means", "mean", False) == 9
    assert count("iMWK-Means", "mean", True) == 8
    assert count("WK-Means", "max", True) == 6
    assert count("EW-KM", "max", True) == 5
    synthetic = [table for table in published_tables() if table not in real]
    for noise in (False, True):
        assert all("iMWK-Means" in published_winners(Place(t, noise), "mean") for t in synthetic)
