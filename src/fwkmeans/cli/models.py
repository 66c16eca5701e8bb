"""From options to a pipeline: prepare the table, cluster it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count

#: The algorithm that is used if nobody says which: it needs no parameter.
AUTO = "AutoKMeans"

#: The survey's names; those of ``fwkmeans.estimators.ALGORITHMS``, without importing it.
NAMES = (
    "K-Means",
    "SYNCLUS",
    "CK-Means",
    "AWK",
    "WK-Means",
    "EW-KM",
    "IK-P",
    "iMWK-Means",
    "FWSA",
    "FG-K-Means",
)

#: Parameters that cannot be given with -p, and what to do instead.
_OPTIONS = {
    "n_clusters": "use the option -k instead",
    "n_init": "use the option --starts instead",
    "random_state": "use the option --seed instead",
    "n_jobs": "use the option --jobs instead",
    "missing": "use the option --missing instead",
    "categorical_features": "use the option --categorical instead",
    "verbose": "the command line shows progress itself; leave it out",
}

#: Parameters that gather columns, by name on the command line.
_GROUPS = ("groups", "spaces")


class FitOptions(NamedTuple):
    """Options that every algorithm has."""

    clusters: int | str | tuple[int, int] = "auto"
    missing: str | None = None  # "median", but AutoKMeans ignores missing cells
    standardize: bool = True
    starts: int | None = None
    seed: int = 0
    jobs: int | None = None
    draws: int | None = None  # parts of the rows that are clustered again; None: as is affordable


class Choice(NamedTuple):
    """An algorithm with parameters."""

    name: str
    cls: Any
    parameters: dict[str, Any]

    @property
    def title(self) -> str:
        """The name with the parameters that were set."""
        given = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name} ({given})" if given else self.name


def choose(name: str | None, parameters: Sequence[str] = ()) -> Choice:
    """Return an algorithm by any spelling of its name, with parameters like ``beta=3``."""
    from fwkmeans.estimators import ALGORITHMS, AutoKMeans
    from fwkmeans.estimators.names import find_algorithm

    title = AUTO if name is None else find_algorithm(name, (AUTO,))
    cls: Any = AutoKMeans if title == AUTO else ALGORITHMS[title]
    return Choice(title, cls, dict(_parameter(one, title, cls) for one in parameters))


def every_choice() -> list[Choice]:
    """Return every algorithm with its defaults."""
    return [choose(name) for name in (AUTO, *NAMES)]


def _parameter(text: str, title: str, cls: Any) -> tuple[str, Any]:
    """Read ``name=value``."""
    from fwkmeans.estimators.names import parse_value

    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise InputError(f"-p {text}: write a parameter as name=value, such as -p beta=3.")
    if name in _OPTIONS:
        raise InputError(f"-p {name}: {_OPTIONS[name]}.")
    allowed = [one for one in inspect.signature(cls).parameters if one not in _OPTIONS]
    if name not in allowed:
        near = difflib.get_close_matches(name, allowed, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        having = _that_have(name) if title == AUTO else []
        if having:
            hint = f"Name an algorithm that has it (-a): {', '.join(having)}. "
        raise InputError(f"{title} has no parameter {name!r}. {hint}It has {', '.join(allowed)}.")
    return name, parse_value(value.strip())


#: Parameters that say how an algorithm runs rather than what it looks for.
_TECHNICAL = ("init", "max_iter", "tol", "copy_x", "algorithm", "weight_init", *_GROUPS)


def offered_parameters(choice: Choice) -> dict[str, str]:
    """Return the parameters that a person may want to change, and their defaults as text."""
    known = inspect.signature(choice.cls).parameters
    return {
        name: str(one.default)
        for name, one in known.items()
        if name not in _OPTIONS and name not in _TECHNICAL
    }


def _that_have(parameter: str) -> list[str]:
    """Return the algorithms that have a parameter."""
    from fwkmeans.estimators import ALGORITHMS

    return [
        title for title, cls in ALGORITHMS.items() if parameter in inspect.signature(cls).parameters
    ]


def build(choice: Choice, options: FitOptions, features: Any, n_missing: int) -> Any:
    """Return the pipeline, not fitted, or raise what keeps the algorithm from this table."""
    from sklearn.pipeline import Pipeline

    from fwkmeans.estimators.constraints import accepts
    from fwkmeans.preprocessing import TableEncoder

    check_sizes(options, features)
    known = inspect.signature(choice.cls).parameters
    missing = treatment(choice, options, features)
    impute: Any = {"median": "median", "error": None}.get(missing, "keep")
    parameters: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    parameters = {name: value for name, value in parameters.items() if name in known}
    if missing == "error" and n_missing:
        raise InputError(
            f"The table has {count(n_missing, 'missing cell')}: fill them, or use --missing median "
            "or ignore."
        )
    if choice.name == AUTO and missing == "rescale":
        raise InputError("AutoKMeans ignores missing cells, or they are filled: --missing median.")
    if impute == "keep" and choice.name != AUTO:
        if accepts(choice.cls, "missing", missing):
            parameters["missing"] = missing
        elif n_missing:
            raise InputError(f"{choice.name} needs every cell: use --missing median.")
    if options.starts is not None:
        if "n_init" not in known:
            raise InputError(f"{choice.name} draws nothing at random, so --starts says nothing.")
        parameters["n_init"] = options.starts
    searched = choice.name == AUTO and isinstance(options.clusters, tuple)
    given = searched or isinstance(options.clusters, int)
    n_clusters = options.clusters if given else None
    encoder = TableEncoder(
        categorical="keep" if "categorical_features" in known else "onehot",
        impute=impute,
        standardize=options.standardize,
    )
    grouped = {
        name: _positions(value, name, encoder, features) if name in _GROUPS else value
        for name, value in choice.parameters.items()
    }
    cluster = choice.cls(n_clusters, **(parameters | grouped))
    return Pipeline([("prepare", encoder), ("cluster", cluster)])


def treatment(choice: Choice, options: FitOptions, features: Any) -> str:
    """Return what is done about missing cells: as asked for, or as the algorithm does best.

    `AutoKMeans` ignores them, unless a row has nothing else in the columns that vary.
    """
    if options.missing is not None:
        return options.missing
    if choice.name != AUTO:
        return "median"
    compute = require("pyarrow.compute", "Tables", "io")
    empty: Any = None
    for column in features.columns:
        missing = compute.is_null(column, nan_is_null=True)
        if len(column.filter(compute.invert(missing)).unique()) < 2:
            continue
        empty = missing if empty is None else compute.and_(empty, missing)
        if not compute.any(empty).as_py():
            return "ignore"
    return "ignore" if empty is None else "median"


def check_sizes(options: FitOptions, features: Any) -> None:
    """Raise if there cannot be so many clusters."""
    n_rows = features.num_rows
    clusters = options.clusters
    most = clusters[1] if isinstance(clusters, tuple) else clusters
    if isinstance(most, int) and most > n_rows:
        given = ":".join(map(str, clusters)) if isinstance(clusters, tuple) else clusters
        raise InputError(
            f"-k {given}: there cannot be more clusters than rows, and the table has "
            f"{count(n_rows, 'row')}. Ask for fewer."
        )


def _positions(value: Any, what: str, encoder: Any, features: Any) -> Any:
    """Return groups of columns, given by name, as positions of what the encoder makes of them.

    A category may become several columns and a constant none, so names of the table and positions
    of the algorithm differ.
    """
    groups = value if isinstance(value, dict) else dict(enumerate(value or ()))
    if not groups or not all(isinstance(columns, list | tuple) for columns in groups.values()):
        return value
    names = features.column_names
    unknown = [one for columns in groups.values() for one in columns if one not in names]
    if unknown:
        raise InputError(
            f"-p {what}: there is no column {unknown[0]!r}; it takes names of columns, such as "
            f'-p \'{what}={{"a": ["{names[0]}"], "b": ["{names[-1]}"]}}\'.'
        )
    origins = encoder.fit(features).origins_.tolist()
    return {
        name: [at for at, v in enumerate(origins) if names[v] in columns]
        for name, columns in groups.items()
    }
