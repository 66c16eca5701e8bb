"""Running the protocol: units on all cores, results into the file as they come."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor
from joblib.externals.loky.backend import resource_tracker as loky_tracker

import fwkmeans
from fwkmeans._support.agreement import adjusted_rand
from fwkmeans._support.threads import effective_n_threads
from fwkmeans.selection import sweep
from fwkmeans.survey.label_free import LabelFree, run_procedures
from fwkmeans.survey.protocol import Protocol, Unit
from fwkmeans.survey.store import Cell, Store, settings_of
from fwkmeans.survey.tables import group_numbers, load_table, prepare, seed_of


class Done(NamedTuple):
    """What has been run so far."""

    units: int
    n_units: int
    fits: int  # in this run, those found in the file left out
    n_fits: int
    work: float  # share of the expected work
    seconds: float

    @property
    def rate(self) -> float:
        """Fits per second."""
        return self.fits / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float:
        """How long it will take if it goes on like this."""
        return self.seconds * (1.0 - self.work) / self.work if self.work > 0 else float("nan")


def run_survey(
    protocol: Protocol,
    path: str | Path,
    *,
    n_jobs: int | None = None,
    report: Callable[[Done], None] | None = None,
) -> Done:
    """Run what is not in the file of results yet.

    Every unit, one algorithm on one data set, is written as a whole when it is done: whoever
    interrupts a run loses the units under way, and goes on with the same call. All figures depend
    on the protocol and its seed alone.

    Parameters
    ----------
    protocol : Protocol
        What to run.
    path : str or Path
        The file of results.
    n_jobs : int, default=None
        Number of processes; None: every core the process may run on, or fewer for little work.
    report : callable, default=None
        Called with `Done` before the first unit and after every one.

    Returns
    -------
    Done
        What was run.
    """
    protocol.check()
    begin = last = time.perf_counter()
    with Store(path) as store:
        todo = []
        n_units = 0
        for unit in dict.fromkeys(protocol.units()):
            n_units += 1
            values = store.missing_values(unit)
            if values:
                todo.append(unit._replace(contender=unit.contender._replace(values=values)))
        work = [_expected_work(unit) for unit in todo]
        n_fits, total = sum(unit.n_fits for unit in todo), sum(work)
        done = Done(n_units - len(todo), n_units, 0, n_fits, 0.0 if todo else 1.0, 0.0)
        if report:
            report(done)
        n_processes = min(effective_n_threads(n_jobs), max(1, len(todo)))
        if n_jobs is None:  # to start a process takes longer than this many fits
            n_processes = min(n_processes, 1 + n_fits // 2000)
        with closing(_run_units(todo, n_processes)) as results:
            for at, cells in results:
                now = time.perf_counter()
                store.add(cells, now - last)
                last = now
                done = done._replace(
                    units=done.units + 1,
                    fits=done.fits + todo[at].n_fits,
                    work=done.work + work[at] / total,
                    seconds=time.perf_counter() - begin,
                )
                if report:
                    report(done)
    return done


def _run_units(
    units: list[Unit], n_processes: int
) -> Generator[tuple[int, list[Cell]], None, None]:
    """Yield the number and the results of each unit, in any order; no process outlives this one."""
    if n_processes == 1:
        yield from ((at, run_unit(unit)) for at, unit in enumerate(units))
        return
    share = str(max(1, effective_n_threads() // n_processes))
    _start_tracker()
    pool = ProcessPoolExecutor(
        n_processes,
        initializer=_end_with,
        initargs=(os.getpid(),),
        env={name: os.environ.get(name, share) for name in _NUMBERS_OF_THREADS},
    )
    numbers: dict[Future[list[Cell]], int] = {}
    try:
        waiting = iter(enumerate(units))
        while True:
            # no more than the processes take at once: joblib trips over others when it is stopped
            for at, unit in islice(waiting, n_processes + 1 - len(numbers)):
                with _deaf_to_interrupts():  # the processes stay so: Ctrl-C is for this one alone
                    numbers[pool.submit(run_unit, unit)] = at
            if not numbers:
                return
            for future in wait(numbers, return_when=FIRST_COMPLETED).done:
                yield numbers.pop(future), future.result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A process of the survey ended before its work was done; memory may have run out. What "
            "was done is in the file of results. Run it again, with fewer jobs."
        ) from error
    finally:
        _wait_until_taken(numbers)
        pool.shutdown(kill_workers=True)


def _wait_until_taken(futures: Collection[Future[list[Cell]]], seconds: float = 5.0) -> None:
    """Give joblib's thread time to take what was submitted last: stopped earlier, it fails."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not all(one.running() or one.done() for one in futures):
        time.sleep(0.001)


_NUMBERS_OF_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _start_tracker() -> None:
    """Start joblib's process that cleans up; if the survey is killed, it does so without a word."""
    before = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = quiet if before is None else f"{before},{quiet}"
    try:
        loky_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Keep Ctrl-C back until the end; processes that are started meanwhile never get one."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # to start it lets Ctrl-C through again, in Python 3.11
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """See to it that this process ends when the one that started it is gone, and not by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_unit(unit: Unit) -> list[Cell]:
    """Return the results of one algorithm on one data set."""
    if isinstance(unit.contender, LabelFree):
        return run_procedures(unit)
    contender, table = unit.contender, unit.table
    data = prepare(table, unit.data_set, unit.noise, unit.seed, contender.raw_categories)
    groups = None
    if unit.groups is not None and contender.takes_groups:
        names = load_table(table, unit.data_set, unit.seed).feature_names
        groups = group_numbers(dict(unit.groups), names, data.origins, table.name)
    states = [random_state_of(unit, value) for value in contender.values]
    runs = sweep(
        contender.model(table.n_clusters, groups),
        data.rows,
        contender.parameter,
        contender.values,
        n_starts=unit.starts,
        random_states=states,
    )
    cells = []
    for at, value in enumerate(contender.values):
        labels = runs.labels[at]
        ari = adjusted_rand(labels, data.classes)
        ordered = np.sort(labels, axis=1)
        n_found = (np.diff(ordered, axis=1) > 0).sum(axis=1) + 1
        cells.append(
            Cell(
                table.name,
                table.content,
                unit.data_set,
                unit.noise,
                table.n_clusters,
                contender.label,
                settings_of(unit),
                contender.parameter,
                None if contender.parameter is None else float(value),
                unit.seed,
                unit.starts,
                states[at],
                float(ari.mean()),
                float(ari.std(ddof=1)) if ari.size > 1 else 0.0,
                float(ari.max()),
                int(runs.converged[at].sum()),
                int((n_found < table.n_clusters).sum()),
                ari,
                runs.objective[at],
                fwkmeans.__version__,
            )
        )
    return cells


def random_state_of(unit: Unit, value: float) -> int:
    """Return the random state of the starts at one value; it does not depend on the others."""
    return seed_of(
        unit.seed,
        unit.table.name,
        unit.data_set,
        unit.noise,
        unit.contender.label,
        round(float(value), 10),
    )


def _expected_work(unit: Unit) -> float:
    """Return a guess of the time that a unit takes, in any measure."""
    table = load_table(unit.table, unit.data_set, unit.seed)
    n_rows, n_columns = table.rows.shape
    cells = n_rows * n_columns * (2 if unit.noise else 1) * unit.table.n_clusters
    a_fit = 6e-5 + 1e-8 * cells
    if isinstance(unit.contender, LabelFree):
        a_fit = 0.1 + 2e-6 * cells
    if unit.contender.parameter == "p":
        a_fit = 0.03 + 2e-6 * cells
    return float(unit.n_fits * a_fit)
