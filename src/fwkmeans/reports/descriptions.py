"""The headline, the names and the descriptions of clusters, in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._support.separation import Apart
from fwkmeans._support.text import count, distinct_names, joined, percent, rounded, shortened
from fwkmeans.reports.weights import heavy_columns
from fwkmeans.typing import FloatArray, IntArray

#: Columns that a sentence names, and claims about a cluster.
MOST_COLUMNS, MOST_CLAIMS = 3, 5
#: Share of rows told apart from which on a column is worth a word, and from which on it is clear.
WORTH_A_WORD, CLEAR = 0.2, 0.5
#: Share of rows by which categories must differ to be named.
LEAST_CATEGORY = 0.2
#: Share of a cluster's rows that two categories must have together to be named both.
MOST_ROWS = 0.8
#: Share of weight that differs between clusters, above which they have weights of their own.
OWN_WEIGHTS = 0.1
#: Characters that a name may have; more columns are left to the description.
LONGEST_NAME = 56
#: Names of columns that say themselves what true means: adjectives, participles and verbs.
_SAYS_ITSELF = re.compile(r"(?i)((is|was|are|can|does|did)[ _].*|.*(ed|ing|able|ive|ous|al))$")


def headline(
    names: Sequence[str],
    n_features: int,
    apart: FloatArray,
    shares: FloatArray,
    equal: FloatArray,
    sizes: IntArray,
    *,
    uniform: bool,
    unit: str = "cluster",
) -> list[str]:
    """Return sentences about the whole result: how many clusters, what separates, what weighs.

    `apart` is how well each column tells clusters apart, the mean over rows.
    """
    n_clusters, n_rows = int((sizes > 0).sum()), int(sizes.sum())
    sentences = [
        f"{count(n_clusters, unit)} in {count(n_rows, 'row')} and {count(n_features, 'column')}."
    ]
    if n_clusters < 2:
        return [*sentences, "All rows are together, so there is nothing to tell apart."]
    sentences.append(_about_apart(names, apart))
    if uniform:
        return [*sentences, _about_uniform(equal)]
    used = shares[sizes > 0]
    differ = np.abs(used[:, None] - used[None]).sum(axis=-1).max(initial=0.0) / 2
    heavy = _about_heavy(names, shares.T @ (sizes / max(1, n_rows)), equal)
    if heavy is None:
        every = f", taken over all {unit}s" if differ > OWN_WEIGHTS else ""
        heavy = f"No column stands out by its weight{every}."
    sentences.append(heavy)
    if differ > OWN_WEIGHTS:
        sentences.append(f"The weights differ from {unit} to {unit}.")
    return sentences


def _about_apart(names: Sequence[str], apart: FloatArray) -> str:
    order = np.argsort(-apart, kind="stable")[:MOST_COLUMNS]
    best = [shortened(names[v]) for v in order if apart[v] >= WORTH_A_WORD]
    if not best:
        return "No single column tells them apart."
    return f"What tells them apart best is {joined(best)}."


def _about_uniform(equal: FloatArray) -> str:
    present = equal[equal > 0]
    if present.size and np.ptp(present) > 1e-9:
        return (
            "This algorithm does not weight columns; a column of categories counts once for each "
            "category."
        )
    return "All columns count the same: this algorithm does not weight them."


def _about_heavy(names: Sequence[str], overall: FloatArray, equal: FloatArray) -> str | None:
    """Return which columns have clearly more weight than equal weights would give them, if any."""
    heavy = heavy_columns(overall, equal)[:MOST_COLUMNS]
    if (equal > 0).sum() == 1:
        heavy = [int(np.argmax(overall))]
    if not heavy:
        return None
    told = [f"{shortened(names[v])} ({percent(float(overall[v]), fine=True)})" for v in heavy]
    return f"When rows were compared, most weight was on {joined(told)}."


# ---- clusters -----------------------------------------------------------------------------------


def describe_cluster(
    names: Sequence[str],
    apart: Sequence[Apart],
    profiles: dict[str, dict[str, Any]],
    k: int,
    size: int,
    repeats: tuple[str, str | float] | None,
) -> tuple[str, str, list[dict[str, Any]]]:
    """Return a name such as ``high income (81,000)``, a description, and what it rests on.

    `apart` compares the cluster with the other rows, in the order of `names`. Each claim has the
    column, the share of the rows that it tells apart, what kind of claim it is, the figures of the
    cluster and of the other rows, and words.
    """
    if not size:
        return "no rows", "This cluster has no rows.", []
    claims: list[dict[str, Any]] = []
    shares = np.array([float(one.share[k]) for one in apart])
    for v in np.argsort(-shares, kind="stable").tolist():
        if shares[v] < WORTH_A_WORD or len(claims) == MOST_CLAIMS:
            break
        claim = _claim(names[v], profiles[names[v]], apart[v], k)
        if claim is not None:
            claims.append(claim)
    if all(profile["difference"] is None for profile in profiles.values()):
        return "all rows", "All rows that have values are in this cluster.", claims
    if not claims:
        return "like the others", "Much like the other rows in every column.", claims
    best = claims[:MOST_COLUMNS]
    sentence = "; ".join(f"{shortened(one['column'])} {one['text']}" for one in best) + "."
    if repeats is not None:
        sentence = f"{describe_repeats(*repeats)} {sentence}"
    return _joined_name(_shorts(claims), 1), sentence, claims


def _shorts(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Return what a name is made of: what most rows have in common comes first."""
    return [one["short"] for one in sorted(claims[:MOST_COLUMNS], key=_is_of_few)]


def _is_of_few(claim: dict[str, Any]) -> bool:
    return bool(claim["kind"] != "mean" and claim["value"] < 0.5)


def describe_repeats(column: str, value: str | float) -> str:
    """Return that a cluster is nothing but the rows with one value."""
    told = f"“{shortened(value, 40)}”" if isinstance(value, str) else rounded(value)
    return f"Just the rows whose {shortened(column)} is {told}."


def name_apart(clusters: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of clusters, all different: longer ones where the short ones are equal."""
    names = [one["name"] for one in clusters]
    for at_least in range(2, MOST_COLUMNS + 1):
        names = [
            _joined_name(_shorts(one["separates"]), at_least)
            if names.count(name) > 1 and len(one["separates"]) >= at_least
            else name
            for one, name in zip(clusters, names, strict=True)
        ]
    return distinct_names(names)


def _joined_name(parts: Sequence[str], at_least: int) -> str:
    name = ", ".join(parts[:at_least])
    for part in parts[at_least:]:
        if len(name) + len(part) + 2 > LONGEST_NAME:
            break
        name += f", {part}"
    return name


def _claim(name: str, profile: dict[str, Any], apart: Apart, k: int) -> dict[str, Any] | None:
    """Return what is special about a column in a cluster; None if no category says something."""
    claim: dict[str, Any] = {"column": name, "share": float(apart.share[k])}
    if "mode" in profile:
        chosen = _chosen_categories(profile)
        return None if chosen is None else claim | _claim_of_categories(name, *chosen)
    name = shortened(name, 40)
    somewhat = "" if apart.share[k] >= CLEAR else "somewhat "
    two = profile["whole"]["two_values"]
    if two is not None and profile["others"] is not None:
        own, others = (_share_of_second(profile[key], *two) for key in ("mean", "others"))
        if own < others:
            two, own, others = two[::-1], 1.0 - own, 1.0 - others
        return claim | _claim_of_categories(claim["column"], [two[1]], own, others)
    if apart.by_range[k]:
        inside, other = float(apart.inside[k]), float(apart.inside_other[k])
        shares = f"{percent(inside)}, others {percent(other)}"
        claim |= {"kind": "outside", "value": inside, "others": other}
        if np.isnan(apart.low[k]):
            short = f"{name} low or high"
            return claim | {"short": short, "text": f"{somewhat}low or high: {shares}"}
        low, high = float(apart.low[k]), float(apart.high[k])
        ends = " to ".join(dict.fromkeys(rounded(end, high - low) for end in (low, high)))
        claim |= {"kind": "range", "low": low, "high": high}
        return claim | {"short": f"{name} {ends}", "text": f"{ends}: {shares}"}
    own, others = profile["mean"], profile["others"]
    told, told_others = (rounded(one, abs(own - others)) for one in (own, others))
    level = somewhat + ("high" if apart.higher[k] > 0 else "low")
    return claim | {
        "kind": "mean",
        "value": own,
        "others": others,
        "short": f"{level} {name} ({told})",
        "text": f"{told}, others {told_others}",
    }


def _share_of_second(mean: float, first: float, second: float) -> float:
    """Return how many of the numbers are the second, if each is one of two."""
    return min(1.0, max(0.0, (mean - first) / (second - first)))


def _chosen_categories(profile: dict[str, Any]) -> tuple[list[Any], float, float] | None:
    """Return the category that is more frequent here, or two, and their shares here and elsewhere.

    None if no category says something: with very many, each is rare everywhere.
    """
    more = [
        (own - (others or 0.0), own, others or 0.0, category)
        for category, own, others in profile["categories"]
        if own is not None
    ]
    more = sorted(more, key=lambda one: -one[0])[:2]
    if not more:
        return None
    chosen = more[:1]
    several = profile["whole"]["n_categories"] > 2  # of two, both together say nothing
    if several and more[-1][0] > 0 and more[0][1] < MOST_ROWS <= sum(one[1] for one in more):
        chosen = sorted(more, key=lambda one: -one[1])
    own, others = (min(1.0, sum(one[at] for one in chosen)) for at in (1, 2))
    if own - others < LEAST_CATEGORY:
        return None
    return [one[3] for one in chosen], own, others


def _claim_of_categories(
    name: str, categories: list[Any], own: float, others: float
) -> dict[str, Any]:
    """Return what is said of a column that has some categories more often than elsewhere."""
    told = " or ".join(
        shortened(one, 30) if isinstance(one, str) else rounded(one) for one in categories
    )
    share = "" if own == 1.0 else percent(own)
    if share and own < 0.5:
        share += f", others {percent(others)}"
    if share:  # in brackets where two numbers would meet
        share = f" ({share})" if told[-1:].isdigit() else f" {share}"
    says = _truth(shortened(name, 40), categories)
    return {
        "kind": "categories",
        "categories": categories,
        "value": own,
        "others": others,
        "short": f"{says}{share}" if says else f"{shortened(name, 40)}: {told}{share}",
        "text": f"{told}: {percent(own)}, others {percent(others)}",
    }


def _truth(name: str, categories: Sequence[Any]) -> str | None:
    """Return how one says that a column is true, or false; None if it is neither.

    Examples
    --------
    >>> _truth("hair", ["True"]), _truth("fins", ["False"]), _truth("survived", ["False"])
    ('has hair', 'has no fins', 'not survived')
    >>> _truth("has_tail", ["True"]), _truth("is_active", ["False"]), _truth("sex", ["male"])
    ('has tail', 'not is_active', None)
    """
    if len(categories) != 1 or str(categories[0]).lower() not in ("true", "false"):
        return None
    is_true = str(categories[0]).lower() == "true"
    if _SAYS_ITSELF.match(name):
        return name if is_true else f"not {name}"
    noun = re.sub(r"(?i)^(has|have|had|with)[ _]+", "", name)
    return f"has {noun}" if is_true else f"has no {noun}"
