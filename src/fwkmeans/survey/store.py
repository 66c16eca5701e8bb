"""The file of results: SQLite, one row for every value of a parameter on every data set."""

from __future__ import annotations

import functools
import json
import operator
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from fwkmeans._support.errors import InputError
from fwkmeans.survey.protocol import Unit
from fwkmeans.typing import FloatArray

_FORMAT = "fwkmeans survey 1"

# A unit has as many cells as its parameter has values; value is NULL if there is no parameter.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS cells (
    data_set TEXT NOT NULL,      -- name of the table
    content TEXT NOT NULL,       -- fingerprint of a file that is not bundled
    number INTEGER NOT NULL,     -- of the data set, for synthetic tables
    noise INTEGER NOT NULL,      -- 0: without noise features; d: with their d-th draw
    n_clusters INTEGER NOT NULL,
    algorithm TEXT NOT NULL,     -- with settings that are not the survey's
    settings TEXT NOT NULL,      -- of the estimator, and the groups of columns, as JSON
    parameter TEXT,
    value REAL,
    seed INTEGER NOT NULL,       -- of the whole run
    starts INTEGER NOT NULL,
    random_state INTEGER NOT NULL,  -- that repeats this cell: n_init=starts, init as in settings
    mean REAL NOT NULL,          -- of the adjusted Rand index over the starts
    std REAL NOT NULL,
    max REAL NOT NULL,
    converged INTEGER NOT NULL,  -- number of starts
    short INTEGER NOT NULL,      -- number of starts that found fewer clusters
    ari BLOB NOT NULL,           -- of each start, float64, little endian
    objective BLOB NOT NULL,
    version TEXT NOT NULL        -- of the package
);
CREATE UNIQUE INDEX IF NOT EXISTS one_cell ON cells
    (data_set, content, number, noise, algorithm, settings, starts, seed, ifnull(value, 'none'));
"""


class Cell(NamedTuple):
    """All starts at one value of a parameter, on one data set."""

    data_set: str
    content: str
    number: int
    noise: int
    n_clusters: int
    algorithm: str
    settings: str
    parameter: str | None
    value: float | None
    seed: int
    starts: int
    random_state: int
    mean: float
    std: float
    max: float
    converged: int
    short: int
    ari: FloatArray
    objective: FloatArray
    version: str


class Store:
    """Results in a file; a unit is written in one transaction.

    Parameters
    ----------
    path : str or Path
        The file; it is made if there is none.
    create : bool, default=True
        Whether to make it.
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise FileNotFoundError(
                f"There is no file {str(path)!r} of results. Run the survey first, or name another."
            )
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"There is no folder {str(self.path.parent)!r}. Make it first.")
        self._connection = sqlite3.connect(self.path, timeout=30.0)
        try:
            self._check_format()
        except BaseException:
            self._connection.close()
            raise

    def _check_format(self) -> None:
        with self._in_sentences():
            names = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
            if not names:
                note = f"INSERT OR IGNORE INTO about VALUES ('format', '{_FORMAT}');"
                self._connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} {note} COMMIT;")
            found = self._connection.execute("SELECT text FROM about WHERE name='format'")
            text = (found.fetchone() or ("nothing",))[0]
        if text != _FORMAT:
            raise InputError(
                f"{self.path.name} has the format {text!r}, this version reads {_FORMAT!r}. Name "
                "another file.",
                setting="results",
            )
        with self._in_sentences():
            (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            stored = self.notes().get("fingerprint")
            if stored is not None and stored != str(self._fingerprint()):
                raise sqlite3.DatabaseError("its results are not those that were written")

    @contextmanager
    def _in_sentences(self) -> Iterator[None]:
        """Say what is wrong with the file."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if isinstance(error, sqlite3.OperationalError) and "no such table" in text:
                why = f"{self.path.name} is not a file of results ({text}). Name another."
            elif isinstance(error, sqlite3.OperationalError) and "decode" not in text:
                raise OSError(
                    f"{self.path.name} cannot be used now ({text}). Is another run writing to it, "
                    "and is there room on the disk?"
                ) from error
            elif "not a database" in text:
                why = f"{self.path.name} is not a file of results ({text}). Name another."
            else:
                why = (
                    f"{self.path.name} is damaged ({text}). Move it away and run the survey again."
                )
            raise InputError(why, setting="results") from error

    def _fingerprint(self) -> int:
        """Return a number that changes with every cell, whatever their order."""
        rows = self._connection.execute("SELECT * FROM cells")
        return functools.reduce(operator.xor, map(_crc, rows), 0)

    def missing_values(self, unit: Unit) -> tuple[float, ...]:
        """Return the values of the unit's parameter that are not in the file yet."""
        found = self._connection.execute(
            "SELECT value FROM cells WHERE data_set=? AND content=? AND number=? AND noise=? AND "
            "algorithm=? AND settings=? AND starts=? AND seed=?",
            (
                unit.table.name,
                unit.table.content,
                unit.data_set,
                unit.noise,
                unit.contender.label,
                settings_of(unit),
                unit.starts,
                unit.seed,
            ),
        ).fetchall()
        present = {None if value is None else round(value, 10) for (value,) in found}
        if unit.contender.parameter is None:
            return () if None in present else unit.contender.values
        return tuple(v for v in unit.contender.values if round(v, 10) not in present)

    def add(self, cells: Iterable[Cell], seconds: float = 0.0) -> None:
        """Write cells, all or none, and how long they took."""
        rows = [
            cell._replace(ari=_blob(cell.ari), objective=_blob(cell.objective))  # type: ignore[arg-type]
            for cell in cells
        ]
        places = ", ".join("?" * len(Cell._fields))
        with self._in_sentences(), self._connection:
            added = 0
            for row in rows:
                done = self._connection.execute(
                    f"INSERT OR IGNORE INTO cells VALUES ({places})", row
                )
                if done.rowcount == 1:
                    added ^= _crc(
                        self._connection.execute(
                            "SELECT * FROM cells WHERE rowid=?", (done.lastrowid,)
                        ).fetchone()
                    )
            self._connection.execute(
                "INSERT INTO about VALUES ('seconds', ?) ON CONFLICT (name) DO "
                "UPDATE SET text = CAST(CAST(text AS REAL) + ? AS TEXT)",
                (str(seconds), seconds),
            )
            before = self.notes().get("fingerprint")
            fingerprint = self._fingerprint() if before is None else int(before) ^ added
            self._connection.execute(
                "INSERT OR REPLACE INTO about VALUES ('fingerprint', ?)", (str(fingerprint),)
            )

    def cells(self) -> list[Cell]:
        """Return everything, in the order of tables, noise, algorithms and values."""
        with self._in_sentences():
            rows = self._connection.execute(
                f"SELECT {', '.join(Cell._fields)} FROM cells "
                "ORDER BY data_set, number, noise, algorithm, value"
            ).fetchall()
        return [
            Cell._make(row)._replace(
                ari=np.frombuffer(row[-3], "<f8"), objective=np.frombuffer(row[-2], "<f8")
            )
            for row in rows
        ]

    def notes(self) -> dict[str, str]:
        """Return what is known about the run."""
        return dict(self._connection.execute("SELECT name, text FROM about"))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()


def settings_of(unit: Unit) -> str:
    """Return the settings of the estimator, and the groups, as text that compares."""
    settings: dict[str, Any] = dict(unit.contender.settings)
    if unit.groups is not None and unit.contender.takes_groups:
        settings["groups"] = [list(group) for group in unit.groups]
    return json.dumps(settings, sort_keys=True)


def _crc(row: tuple[Any, ...]) -> int:
    return zlib.crc32(repr(row).encode())


def _blob(values: Sequence[float] | FloatArray) -> bytes:
    return np.asarray(values, dtype="<f8").tobytes()
