"""How many clusters: what criteria say about several numbers, and what follows from it."""

from __future__ import annotations

import shlex
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import count, joined
from fwkmeans.cli.models import AUTO, Choice, FitOptions, build

#: Numbers that are tried if nobody says which.
NUMBERS = (2, 8)
#: Rows on which numbers of clusters are compared.
MOST_ROWS = 1000
#: Tables without clusters, and draws of rows, behind gap and stability.
N_REFERENCES, N_DRAWS = 5, 5
#: A number of clusters is as stable as the most stable one if it is within this.
AS_STABLE = 0.05
#: Gaps that differ by less are about the same: so is the scatter, to 5 %.
FLAT = 0.05

#: Criteria as they are called in sentences.
TITLES = {
    "criterion": "AutoKMeans' criterion",
    "silhouette": "silhouette",
    "gap": "gap",
    "stability": "stability",
}


class Decision(NamedTuple):
    """A number of clusters, why, and what else was close."""

    n_clusters: int
    lines: list[str]
    scores: dict[str, dict[int, float]]  # by criterion and number of clusters


def numbers_of(options: FitOptions, n_rows: int) -> list[int]:
    """Return the numbers of clusters to try."""
    low, high = options.clusters if isinstance(options.clusters, tuple) else NUMBERS
    return list(range(low, max(low, min(high, n_rows - 1)) + 1))


def some_rows(features: Any, seed: int, most: int = MOST_ROWS) -> Any:
    """Return some rows of a table, its missing cells filled."""
    compute = require("pyarrow.compute", "Tables", "io")
    if features.num_rows > most:
        rows = np.random.default_rng(seed).choice(features.num_rows, most, replace=False)
        features = features.take(np.sort(rows))
    for at, column in enumerate(features.columns):
        kind = str(column.type)
        if kind in ("double", "float"):
            column = compute.if_else(compute.is_nan(column), None, column)
        present = column.drop_null()
        if column.null_count and len(present):
            if kind in ("string", "bool"):
                counts = present.value_counts().to_pylist()
                fill = max(counts, key=lambda one: one["counts"])["values"]
            else:
                fill, column = float(np.median(present.to_numpy())), column.cast("double")
            column = column.fill_null(fill)
        features = features.set_column(at, features.column_names[at], column)
    return features


def score_numbers(
    choice: Choice, options: FitOptions, rows: Any, numbers: Sequence[int], *, gap: bool = True
) -> tuple[dict[str, dict[int, float]], dict[int, Any]]:
    """Return silhouette, gap and stability of each number of clusters, and the labels."""
    from fwkmeans.selection.candidates import Partition, run_settings
    from fwkmeans.selection.criteria import Candidates, Gap, Silhouette, Stability

    model = build(choice, options._replace(clusters=numbers[0]), rows, 0)
    settings = [{"cluster__n_clusters": one} for one in numbers]
    criteria: dict[str, Any] = {
        "silhouette": Silhouette(p=1.0, max_rows=MOST_ROWS),
        "stability": Stability(n_resamples=N_DRAWS, random_state=options.seed),
    }
    if gap:
        criteria["gap"] = Gap(n_references=N_REFERENCES, random_state=options.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_settings(model, settings, rows, {})
        candidates = Candidates(model, settings, found, rows, None, {}, None)
        values = {name: one(candidates).values for name, one in criteria.items()}
    errors = [one for one in found if isinstance(one, Exception)]
    if len(errors) == len(found):
        raise InputError(" ".join(str(errors[0]).split()))
    scores = {
        name: {k: float(v) for k, v in zip(numbers, own, strict=True) if np.isfinite(v)}
        for name, own in values.items()
    }
    labels = {k: p.labels for k, p in zip(numbers, found, strict=True) if isinstance(p, Partition)}
    return scores, labels


def best_of(name: str, scores: Mapping[int, float]) -> int | None:
    """Return the number of clusters that a criterion prefers; None if it says nothing."""
    if not scores:
        return None
    best = max(scores.values())
    if name == "gap" and why_no_gap(scores):
        return None
    if name == "stability":  # few clusters are more easily stable than many
        return max(k for k, value in scores.items() if value >= best - AS_STABLE)
    return min(k for k, value in scores.items() if value == best)


def why_no_gap(scores: Mapping[int, float]) -> str:
    """Return why the gap prefers no number of clusters; nothing if it prefers one."""
    best = max(scores.values())
    if best <= 0:
        return "there is no less scatter than in tables without clusters"
    if len(scores) > 1 and scores[max(scores)] == best:  # none of these is known to be enough
        return f"it still rises at {max(scores)}"
    if len(scores) > 1 and best - min(scores.values()) < FLAT:
        return "it is about the same for all numbers"
    return ""


def vote(scores: Mapping[str, Mapping[int, float]]) -> tuple[int, dict[str, int]]:
    """Return the number that most criteria prefer, and what each prefers.

    Of numbers with as many votes, that of the criterion comes first that is named first.
    """
    preferred = {name: best_of(name, own) for name, own in scores.items()}
    votes = {name: k for name, k in preferred.items() if k is not None}
    if not votes:
        raise InputError("No number of clusters could be scored: give one with -k.")
    counts = Counter(votes.values())
    return max(votes.values(), key=lambda k: counts[k]), votes


def decide(choice: Choice, options: FitOptions, features: Any) -> Decision:
    """Return the number of clusters for a named algorithm."""
    rows = some_rows(features, options.seed)
    numbers = numbers_of(options, rows.num_rows)
    scores, _ = score_numbers(choice, options, rows, numbers)
    number, votes = vote({name: scores[name] for name in ("silhouette", "gap", "stability")})
    lines = [
        f"{count(number, 'cluster')}, chosen of {numbers[0]} to {numbers[-1]}: "
        f"{say_votes(votes, scores['gap'])}.",
        f"Silhouette: {_ranked(scores['silhouette'])}.",
        *ceiling(number, numbers),
    ]
    return Decision(number, lines, scores)


def say_votes(votes: Mapping[str, int], gap: Mapping[int, float]) -> str:
    """Return who prefers which number, most frequent first, and whether the gap prefers none."""
    by_number: dict[int, list[str]] = {}
    for name, k in votes.items():
        by_number.setdefault(k, []).append(TITLES[name])
    ordered = sorted(by_number.items(), key=lambda item: -len(item[1]))
    parts = [
        f"{joined(names)} {'prefers' if len(names) == 1 else 'prefer'} {k}" for k, names in ordered
    ]
    if gap and "gap" not in votes:
        parts.append(f"gap prefers none, as {why_no_gap(gap)}")
    return ", ".join(parts)


def _ranked(scores: Mapping[int, float], most: int = 4) -> str:
    ordered = sorted(scores, key=lambda k: -scores[k])[:most]
    return ", ".join(f"{scores[k]:.2f} for {k}" for k in ordered)


def decide_auto(criteria: Mapping[int, float]) -> Decision:
    """Return the number of clusters by the criterion that `AutoKMeans` computed for several."""
    best = max(criteria, key=lambda k: (criteria[k], -k))
    after = sorted((k for k in criteria if k != best), key=lambda k: -criteria[k])[:3]
    behind = [f"{k} ({_difference(criteria[k] - criteria[best])})" for k in after]
    comes = "comes" if len(behind) == 1 else "come"
    least, most = min(criteria), max(criteria)
    tried = f"of {least} to {most}"
    if len(criteria) <= most - least:
        tried = f"of {len(criteria)} numbers from {least} to {most}"
    lines = [
        f"The criterion (likelihood of the rows less a price for each parameter) is highest for "
        f"{count(best, 'cluster')}",
        f"{tried}; next {comes} {joined(behind)}." if behind else "(-k).",
        *ceiling(best, list(criteria)),
    ]
    return Decision(best, lines, {"criterion": dict(criteria)})


def ceiling(number: int, tried: Sequence[int]) -> list[str]:
    """Return what to say if the largest number that was tried is the best of some."""
    if len(tried) < 2 or number < max(tried):
        return []
    return [
        f"{number} is the most that was tried; more may be better: see -k {number}:{2 * number}."
    ]


def _difference(below: float) -> str:
    """Return how far a criterion is below the best, small differences to their first digit."""
    return f"{below:.0f}" if below <= -1 else f"{below:.1g}"


def is_auto(choice: Choice) -> bool:
    """Tell whether an algorithm finds the number of clusters itself."""
    return choice.name == AUTO


def doubts_about(tendency: Any, n_clusters: int, n_rows: int) -> list[str]:
    """Return what to say first about clusters whose number was asked for; nothing if all is well.

    Of a table with very few rows nothing is known.
    """
    if tendency.verdict == "clear" or not np.isfinite(tendency.score):
        return []
    if tendency.verdict == "none":
        first = "K-Means does no better on it than on tables"
        rest = f"Its {n_clusters} clusters may only divide the rows."
    else:
        first = "it differs little from tables"
        rest = f"Read about its {n_clusters} clusters with care."
    return [
        f"It is doubtful whether this table has clusters: {first}",
        f"without any (one cloud, or evenly spread). {rest}",
        *_few_rows(n_rows),
    ]


def _few_rows(n_rows: int) -> list[str]:
    return [f"With {count(n_rows, 'row')} only strong clusters show."] if n_rows < 100 else []


def tendency_lines(tendency: Any, n_found: int | None, n_rows: int) -> list[str]:
    """Return what to say first if there may be no clusters; nothing if there are.

    `n_found` is the number of clusters that `AutoKMeans` found.
    """
    verdict = tendency.verdict
    if verdict == "none" and (n_found is None or n_found == 1):
        return [
            "Nothing clusters here: K-Means does no better on this table than on tables without "
            "clusters",
            "(one cloud, or evenly spread). Clusters would divide the rows, not find groups.",
            *_few_rows(n_rows),
        ]
    if verdict == "clear" and n_found == 1:
        return [
            "AutoKMeans finds one cluster, but K-Means divides this table much better than tables "
            "without",
            "clusters. There may be some that lie in a row: compare with -a k-means.",
        ]
    if verdict != "clear":
        return [
            "It is doubtful whether this table has clusters: it differs little from tables without "
            "any",
            "(one cloud, or evenly spread). Read what follows with care.",
            *_few_rows(n_rows),
        ]
    return []


def command_of(table: str, roles: Any, options: FitOptions, algorithm: str) -> str:
    """Return the command that fits an algorithm to a table with these options."""
    parts = ["fwkmeans", "fit", table]
    clusters = options.clusters
    if clusters != "auto":
        parts += [
            "-k",
            ":".join(map(str, clusters)) if isinstance(clusters, tuple) else f"{clusters}",
        ]
    for option in ("use", "categorical", "numeric", "drop", "id"):
        names = getattr(roles, option)
        if names:
            parts += [f"--{option}", ",".join(f'"{one}"' if "," in one else one for one in names)]
    if roles.coerce:
        parts.append("--coerce")
    if roles.labels is not None:
        parts += ["--labels", roles.labels]
    if roles.dates != "drop":
        parts += ["--dates", roles.dates]
    if algorithm != AUTO:
        name, _, parameters = algorithm.partition(" (")
        parts += ["-a", name]
        for one in filter(None, parameters.rstrip(")").split(", ")):
            parts += ["-p", one]
    if options.missing is not None:
        parts += ["--missing", options.missing]
    if not options.standardize:
        parts.append("--no-standardize")
    for option in ("starts", "seed"):
        value = getattr(options, option)
        if value and not (option == "starts" and algorithm == AUTO):
            parts += [f"--{option}", str(value)]
    return shlex.join(parts)
