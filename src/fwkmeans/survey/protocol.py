"""The protocol: which algorithms on which tables, and the units of work it falls into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans.datasets.named import table_names
from fwkmeans.survey.contenders import COMPARED, Contender, parse_contender
from fwkmeans.survey.tables import TableSpec, group_numbers, load_table, parse_table


class Protocol(NamedTuple):
    """What to run."""

    contenders: tuple[Contender, ...]
    tables: tuple[TableSpec, ...]
    starts: int = 100  # at each value of the parameter
    data_sets: int = 20  # of each synthetic configuration
    noise: tuple[int, ...] = (0, 1)  # 0: without noise features; d: with their d-th draw
    seed: int = 0
    groups: Mapping[str, Mapping[str, Sequence[str]]] = {}  # of the columns, by table

    def check(self) -> None:
        """Raise if something cannot be run, before anything is."""
        for contender in self.contenders:
            contender.check()
        names = {table.name.partition(":")[0]: table for table in self.tables}
        for name, groups in self.groups.items():
            if name not in names:
                raise ValueError(
                    f"There are groups for the table {name!r}, which is not run; the tables are "
                    f"{', '.join(names)}."
                )
            columns = load_table(names[name], 0, self.seed).feature_names
            group_numbers(groups, columns, np.arange(len(columns)), name)

    def units(self) -> Iterator[Unit]:
        """Yield the units of work."""
        for table in self.tables:
            for data_set in range(self.data_sets if table.is_synthetic else 1):
                for noise in self.noise:
                    for contender in self.contenders:
                        yield Unit(
                            table,
                            data_set,
                            noise,
                            contender,
                            self.starts,
                            self.seed,
                            _frozen(self.groups.get(table.name.partition(":")[0])),
                        )


class Unit(NamedTuple):
    """One algorithm on one data set: all starts at all values. It is done as a whole, or not."""

    table: TableSpec
    data_set: int
    noise: int
    contender: Contender
    starts: int
    seed: int
    groups: tuple[tuple[str, tuple[str, ...]], ...] | None

    @property
    def n_fits(self) -> int:
        """Number of fits."""
        alone = dict(self.contender.settings).get("init") == "anomalous"
        return len(self.contender.values) * (1 if alone else self.starts)


def survey_protocol(**changes: Any) -> Protocol:
    """Return the survey's own protocol, with changes."""
    if "contenders" not in changes:
        changes["contenders"] = tuple(parse_contender(name) for name in COMPARED)
    if "tables" not in changes:
        changes["tables"] = tuple(parse_table(name) for name in table_names())
    return Protocol(**changes)


#: For a look at everything rather than a replication.
QUICK = {"starts": 10, "data_sets": 2, "step": 0.5}


def _frozen(
    groups: Mapping[str, Sequence[str]] | None,
) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    if groups is None:
        return None
    return tuple((str(name), tuple(columns)) for name, columns in groups.items())
