"""Fit a model; what it warns of becomes notes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans.cli.columns import Chosen
from fwkmeans.cli.models import Choice, FitOptions, build, check_sizes
from fwkmeans.cli.numbers import decide, decide_auto, doubts_about, is_auto, tendency_lines
from fwkmeans.cli.progress import working


class Warned(NamedTuple):
    """What a fit warned of."""

    text: str
    is_in_summary: bool  # which says it in better words


def fit_in_memory(pipeline: Any, features: Any) -> Any:
    """Fit in place; return the rows as the last step saw them."""
    rows = pipeline[:-1].fit_transform(features)
    pipeline[-1].fit(rows)
    return rows


def fit_and_collect(
    pipeline: Any, features: Any, fit: Callable[[Any, Any], Any] = fit_in_memory
) -> tuple[Any, list[Warned]]:
    """Fit in place; return the rows as the last step saw them, and the warnings."""
    from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning, NoVaryingColumnError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = fit(pipeline, features)
        except NoVaryingColumnError:
            raise InputError(_nothing_varies(features)) from None
    known = FewerClustersWarning, NotConvergedWarning
    found = [
        Warned(" ".join(str(one.message).split()), issubclass(one.category, known))
        for one in caught
    ]
    return rows, list(dict.fromkeys(found))


def _nothing_varies(features: Any) -> str:
    if getattr(features, "num_rows", None) == 1:
        return "The table has 1 row, and there is nothing to cluster. Give a table of several rows."
    return "No column varies: all rows are the same. Give a table whose rows differ."


class Fitted(NamedTuple):
    """A fitted model, and what is to be said before its result."""

    pipeline: Any
    rows: Any
    warned: list[Warned]
    doubts: list[str]  # lines on whether there are clusters; none if there surely are
    reasons: list[str]  # lines on the number of clusters, if it was looked for
    chosen: int | None  # the number of clusters, if it was looked for
    tendency: dict[str, Any] | None
    scores: dict[str, dict[int, float]]  # by criterion and number of clusters


def fit_choice(
    choice: Choice,
    options: FitOptions,
    chosen: Chosen,
    fit: Callable[[Any, Any], Any] = fit_in_memory,
    n_rows: int | None = None,
) -> Fitted:
    """Fit an algorithm, with the number of clusters that was asked for or has to be found.

    If the columns are those of some rows only, `fit` fits all `n_rows`.
    """
    features = chosen.features
    n_rows = features.num_rows if n_rows is None else n_rows
    check_sizes(options, features)
    task = f"{choice.name} clusters {n_rows} rows"
    if options.clusters == 1:  # there is nothing to doubt
        pipeline = build(choice, options, features, chosen.n_missing)
        with working(task):
            rows, warned = fit_and_collect(pipeline, features, fit)
        return Fitted(pipeline, rows, warned, [], [], None, None, {})
    from fwkmeans.selection.tendency import cluster_tendency

    with working("Looking whether there are clusters"):
        tendency = cluster_tendency(features, random_state=options.seed)
    told = tendency._asdict() | {"verdict": tendency.verdict}
    if isinstance(options.clusters, int):
        pipeline = build(choice, options, features, chosen.n_missing)
        with working(task):
            rows, warned = fit_and_collect(pipeline, features, fit)
        doubts = doubts_about(tendency, options.clusters, n_rows)
        return Fitted(pipeline, rows, warned, doubts, [], None, told, {})
    if is_auto(choice):
        pipeline = build(choice, options, features, chosen.n_missing)
        with working(task):
            rows, warned = fit_and_collect(pipeline, features, fit)
        decision = decide_auto(pipeline[-1].criteria_)
        found = None if isinstance(options.clusters, tuple) else decision.n_clusters
    else:
        found = None
        with working(f"{choice.name} tries numbers of clusters"):
            decision = decide(choice, options, features)
        again = options._replace(clusters=decision.n_clusters)
        pipeline = build(choice, again, features, chosen.n_missing)
        with working(task):
            rows, warned = fit_and_collect(pipeline, features, fit)
    return Fitted(
        pipeline,
        rows,
        warned,
        doubts=tendency_lines(tendency, found, n_rows),
        reasons=decision.lines,
        chosen=decision.n_clusters,
        tendency=told,
        scores=decision.scores,
    )
