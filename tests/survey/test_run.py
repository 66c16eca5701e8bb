"""A small protocol from end to end; interruption, resumption, and the same figures any way."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from joblib.externals.loky import process_executor
from sklearn.metrics import adjusted_rand_score

from fwkmeans._engine import first_lowest
from fwkmeans._support.errors import InputError
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.survey import (
    COMPARED,
    Store,
    parse_contender,
    parse_table,
    run,
    run_survey,
    run_unit,
    survey_protocol,
)
from fwkmeans.survey.run import random_state_of
from fwkmeans.survey.tables import prepare

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

GRID = (1.0, 1.5, 3.0)


def tiny(**changes):
    usual = {
        "contenders": tuple(parse_contender(name, grid=GRID) for name in COMPARED),
        "tables": tuple(map(parse_table, ["iris", "tae", "500x4-2"])),
        "starts": 4,
        "data_sets": 2,
        "seed": 3,
    }
    return survey_protocol(**{**usual, **changes})


def contents(path):
    with Store(path, create=False) as store:
        return [
            (*cell[:-3], cell.ari.tobytes(), cell.objective.tobytes()) for cell in store.cells()
        ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("survey") / "whole.sqlite"
    done = run_survey(tiny(), path, n_jobs=1)
    return path, done


def test_everything_is_run_once(whole):
    path, done = whole
    units = list(tiny().units())
    assert len(units) == (2 + 2) * 2 * 6 == done.n_units == done.units
    assert done.fits == done.n_fits == sum(unit.n_fits for unit in units)
    cells = contents(path)
    with_parameter = 5 * len(GRID)
    assert len(cells) == (2 + 2) * 2 * (with_parameter + 1)
    assert len(set(cells)) == len(cells)


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("table", ["iris", "tae"])
@pytest.mark.parametrize("noise", [0, 1])
def test_a_cell_is_an_ordinary_fit_of_the_estimator(name, table, noise, whole):
    """Batched results are those of one fit at a time, with what the file says of each cell."""
    path, _ = whole
    with Store(path) as store:
        cells = [
            cell
            for cell in store.cells()
            if (cell.data_set, cell.algorithm, cell.noise) == (table, name, noise)
        ]
    assert len(cells) == (1 if name == "FWSA" else len(GRID))
    contender = parse_contender(name)
    spec = parse_table(table)
    data = prepare(spec, 0, noise, 3, contender.raw_categories)
    for cell in cells:
        model = contender.model(cell.n_clusters).set_params(random_state=cell.random_state)
        if name != "iMWK-Means":
            model.set_params(n_init=4)
        if cell.parameter is not None:
            model.set_params(**{cell.parameter: cell.value})
        model.fit(data.rows)
        best = first_lowest(cell.objective)
        assert model.objective_history_[-1] == cell.objective[best]
        assert adjusted_rand_score(data.classes, model.labels_) == cell.ari[best]
        assert cell.mean == cell.ari.mean()
        assert cell.max == cell.ari.max()
        assert cell.ari.size == (1 if name == "iMWK-Means" else 4)


@pytest.mark.long
def test_processes_do_not_matter(whole, tmp_path):
    path, _ = whole
    run_survey(tiny(), tmp_path / "two.sqlite", n_jobs=2)
    assert contents(tmp_path / "two.sqlite") == contents(path)


def test_an_interrupted_run_goes_on_and_loses_one_unit(whole, tmp_path):
    path, _ = whole
    part = tmp_path / "part.sqlite"

    class StopError(Exception):
        pass

    def stop(done):
        if done.units == 7:
            raise StopError

    with pytest.raises(StopError):
        run_survey(tiny(), part, n_jobs=1, report=stop)
    some = contents(part)
    assert 0 < len(some) < len(contents(path))
    seen = []
    done = run_survey(tiny(), part, n_jobs=1, report=seen.append)
    assert seen[0].units == 7
    assert done.units == done.n_units
    assert done.fits == sum(unit.n_fits for unit in list(tiny().units())[7:])
    assert contents(part) == contents(path)
    again = run_survey(tiny(), part, n_jobs=1)
    assert again.fits == 0
    assert again.units == again.n_units


def test_figures_depend_neither_on_the_grid_nor_on_the_company(whole, tmp_path):
    """More values, other algorithms and tables: what was there stays, and is not run again."""
    path, _ = whole
    few = tmp_path / "few.sqlite"
    only = tiny(contenders=(parse_contender("AWK", grid=(1.5,)),), tables=(parse_table("tae"),))
    run_survey(only, few, n_jobs=1)
    everything = {cell[:-1] for cell in contents(path)}
    assert {cell[:-1] for cell in contents(few)} <= everything
    wider = only._replace(contenders=(parse_contender("AWK", grid=GRID),))
    done = run_survey(wider, few, n_jobs=1)
    assert done.fits == 2 * 2 * 4  # two more values, without and with noise, four starts
    assert {cell[:-1] for cell in contents(few)} <= everything


def test_another_seed_is_another_run(whole, tmp_path):
    path, _ = whole
    other = tmp_path / "other.sqlite"
    protocol = tiny(seed=4, contenders=(parse_contender("AWK", grid=GRID),))
    run_survey(protocol, other, n_jobs=1)
    ours = [cell for cell in contents(path) if cell[5] == "AWK"]
    assert len(ours) == len(contents(other))
    assert not {cell[11] for cell in ours} & {cell[11] for cell in contents(other)}
    assert not {cell[-2:] for cell in ours} & {cell[-2:] for cell in contents(other)}


@pytest.mark.parametrize("name", ["K-Means", "SYNCLUS", "CK-Means", "FG-K-Means"])
def test_the_other_algorithms_with_groups(name, tmp_path):
    groups = {
        "iris": {
            "sepal": ["sepal_length", "sepal_width"],
            "petal": ["petal_length", "petal_width"],
        }
    }
    protocol = tiny(
        contenders=(parse_contender(name, grid=(0.5, 2.0)),),
        tables=(parse_table("iris"),),
        groups=groups,
        starts=2,
        noise=(0, 1, 2),
    )
    run_survey(protocol, tmp_path / "g.sqlite", n_jobs=1)
    with Store(tmp_path / "g.sqlite") as store:
        cells = store.cells()
    assert {cell.noise for cell in cells} == {0, 1, 2}
    assert len(cells) == 3 * (2 if name == "FG-K-Means" else 1)
    assert all(("petal" in cell.settings) == (name != "K-Means") for cell in cells)
    assert all(np.isfinite(cell.ari).all() for cell in cells)
    unit = next(protocol.units())
    model = unit.contender.model(3, [0, 0, 1, 1])
    if name != "K-Means":
        assert list(getattr(model, "spaces" if name == "CK-Means" else "groups")) == [0, 0, 1, 1]
    assert type(model) is ALGORITHMS[name]


def test_random_states_are_spread():
    units = list(tiny().units())
    states = [random_state_of(u, v) for u in units for v in u.contender.values]
    assert len(set(states)) == len(states)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "no.sqlite").write_text("this is no database at all, only text" * 30)
    with pytest.raises(ValueError, match="not a file of results"):
        Store(tmp_path / "no.sqlite")
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE something (a)")
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match="not a file of results"):
        Store(tmp_path / "other.sqlite")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        Store(tmp_path / "none.sqlite", create=False)
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        Store(tmp_path / "a" / "none.sqlite")


def test_a_damaged_file_of_results_is_said(whole, tmp_path):
    """One changed bit anywhere in the cells, or a cell that is gone."""
    path, _ = whole
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = tmp_path / "damaged.sqlite"
    said = []
    for _ in range(60):
        changed = bytearray(content)
        changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
        damaged.write_bytes(changed)
        try:
            assert contents(damaged) == contents(path)  # where nothing is stored
        except (InputError, OSError) as error:
            said.append(str(error))
    assert len(said) > 30
    assert all("damaged.sqlite" in text for text in said)
    damaged.write_bytes(content)
    with sqlite3.connect(damaged) as connection:
        connection.execute("DELETE FROM cells WHERE rowid=5")
    connection.close()
    with pytest.raises(ValueError, match=r"is damaged.*Move it away"):
        Store(damaged)


def start_survey(path):
    command = [sys.executable, "-m", "fwkmeans", "survey", "-t", "iris", "-t", "wine"]
    command += ["--starts", "10", "--seed", "3", "--jobs", "2", "--results", str(path)]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
        # a shell may have told its background jobs to ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def wait_for_workers(process):
    """Wait until the survey has started its processes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        found = [Path(f"/proc/{child}/cmdline") for child in children.read_text().split()]
        n_workers = sum(b"LokyProcess" in one.read_bytes() for one in found if one.exists())
        if n_workers == 2:
            return
        time.sleep(0.01)
    raise AssertionError("there are no workers")


def has_ended(group):
    """Tell whether no process of a group is left, after some seconds."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@linux_only
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_that_have_just_started_end_with_the_survey(number, tmp_path):
    process = start_survey(tmp_path / "survey.sqlite")
    wait_for_workers(process)
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=60)  # workers hold the other end, too
    assert has_ended(process.pid)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert "Traceback" not in errors
    assert "Warning" not in errors


def test_stopped_while_units_are_handed_over_nothing_fails(monkeypatch):
    """Joblib's thread fails over a unit it has not yet taken when it is told to stop."""
    thread = process_executor._ExecutorManagerThread
    take = thread.add_call_item_to_queue

    def take_later(self):
        time.sleep(0.2)
        monkeypatch.setattr(thread, "add_call_item_to_queue", take)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    failures = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    monkeypatch.setattr(thread, "add_call_item_to_queue", take_later)
    monkeypatch.setattr(run, "run_unit", abs)
    monkeypatch.setattr(run, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(run._run_units(range(8), 2))
    assert not failures


@pytest.mark.long
def test_an_interrupted_process_leaves_a_file_to_go_on_with(tmp_path):
    """Ctrl-C in the middle of a run with several processes: exit code 130, whole units only."""
    path = tmp_path / "survey.sqlite"
    process = start_survey(path)
    deadline = time.monotonic() + 120
    n_cells = 0
    while not n_cells and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        if path.exists():
            try:
                with sqlite3.connect(path) as connection:
                    n_cells = connection.execute("SELECT count(*) FROM cells").fetchone()[0]
            except sqlite3.OperationalError:
                continue
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "goes on" in errors
    assert "Traceback" not in errors
    assert "Warning" not in errors
    assert has_ended(process.pid)
    with Store(path) as store:
        cells = store.cells()
    by_unit = {}
    for cell in cells:
        by_unit.setdefault((cell.data_set, cell.noise, cell.algorithm), []).append(cell)
    full = {"EW-KM": 51, "FWSA": 1}
    assert all(len(some) == full.get(key[2], 41) for key, some in by_unit.items())
    key, some = next(iter(by_unit.items()))
    unit = next(
        unit
        for unit in survey_protocol(
            tables=(parse_table(key[0]),), starts=10, seed=3, noise=(key[1],)
        ).units()
        if unit.contender.label == key[2]
    )
    again = run_unit(unit)
    for stored, fresh in zip(sorted(some, key=lambda c: c.value or 0), again, strict=True):
        np.testing.assert_array_equal(stored.ari, fresh.ari)
