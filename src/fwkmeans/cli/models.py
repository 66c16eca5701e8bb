"""From options to a pipeline: prepare the table, cluster it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans._support.text import count

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

#: What is used if nobody says what: weights in every cluster, no cluster lost to a column of few
#: values, and the best of the weighted algorithms on the bundled tables with noise columns (mean
#: adjusted Rand index of 13 tables and 3 draws: 0.34; the others 0.20 to 0.30).
DEFAULT = ("EW-KM", {"dispersion": "mean"})

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

    clusters: int | str
    missing: str = "median"
    standardize: bool = True
    starts: int | None = None
    seed: int = 0
    jobs: int | None = None


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
    from fwkmeans.estimators import ALGORITHMS
    from fwkmeans.estimators.names import find_algorithm

    if name is None:
        title, preset = DEFAULT
    else:
        title, preset = find_algorithm(name), {}
    cls = ALGORITHMS[title]
    return Choice(title, cls, preset | dict(_parameter(one, title, cls) for one in parameters))


def every_choice() -> list[Choice]:
    """Return every algorithm with its defaults, and what `choose` takes by default."""
    choices = []
    for name in NAMES:
        choices.append(choose(name))
        if name == DEFAULT[0]:
            choices.append(choose(None))
    return choices


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
        raise InputError(f"{title} has no parameter {name!r}. {hint}It has {', '.join(allowed)}.")
    return name, parse_value(value.strip())


def build(choice: Choice, options: FitOptions, features: Any, n_missing: int) -> Any:
    """Return the pipeline, not fitted, or raise what keeps the algorithm from this table."""
    from sklearn.pipeline import Pipeline

    from fwkmeans.estimators.constraints import accepts
    from fwkmeans.preprocessing import TableEncoder

    _check_sizes(choice, options, features)
    known = inspect.signature(choice.cls).parameters
    impute: Any = {"median": "median", "error": None}.get(options.missing, "keep")
    parameters: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    if options.missing == "error" and n_missing:
        raise InputError(
            f"The table has {count(n_missing, 'missing cell')}: fill them, or use --missing median "
            "or ignore."
        )
    if impute == "keep" and accepts(choice.cls, "missing", options.missing):
        parameters["missing"] = options.missing
    elif impute == "keep" and n_missing:
        raise InputError(f"{choice.name} needs every cell: use --missing median.")
    if options.starts is not None:
        parameters["n_init"] = options.starts
    n_clusters = None if options.clusters == "auto" else options.clusters
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


def _check_sizes(choice: Choice, options: FitOptions, features: Any) -> None:
    n_rows = features.num_rows
    if isinstance(options.clusters, int) and options.clusters > n_rows:
        raise InputError(
            f"-k {options.clusters}: there cannot be more clusters than rows, and the table has "
            f"{count(n_rows, 'row')}. Ask for fewer."
        )
    default = inspect.signature(choice.cls).parameters["init"].default
    init = choice.parameters.get("init", default)
    if options.clusters == "auto" and init not in ("anomalous", "auto"):
        raise InputError(
            "-k auto: the number of clusters is found by iMWK-Means (-a iMWK-Means), or by other "
            "algorithms with -p init=anomalous; else give a number."
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
