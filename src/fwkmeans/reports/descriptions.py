"""The headline, the names and the descriptions of clusters, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._support.separation import Apart
from fwkmeans._support.text import count, joined, percent, rounded, shortened
from fwkmeans.reports.weights import heavy_columns
from fwkmeans.typing import FloatArray, IntArray

#: Columns that a sentence names.
MOST_COLUMNS = 3
#: Share of rows told apart from which on a column is worth a word, and from which on it is clear.
WORTH_A_WORD, CLEAR = 0.2, 0.5
#: Share of rows by which a category must differ to be named.
LEAST_CATEGORY = 0.2
#: Share of weight that differs between clusters, above which they have weights of their own.
OWN_WEIGHTS = 0.1


def headline(
    names: Sequence[str],
    n_features: int,
    apart: FloatArray,
    shares: FloatArray,
    equal: FloatArray,
    sizes: IntArray,
    *,
    uniform: bool,
) -> list[str]:
    """Return sentences about the whole result: how many clusters, what separates, what weighs.

    `apart` is how well each column tells clusters apart, the mean over rows.
    """
    n_clusters, n_rows = int((sizes > 0).sum()), int(sizes.sum())
    sentences = [
        f"{count(n_clusters, 'cluster')} in {count(n_rows, 'row')} and "
        f"{count(n_features, 'column')}."
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
        every = ", taken over all clusters" if differ > OWN_WEIGHTS else ""
        heavy = f"No column stands out by its weight{every}."
    sentences.append(heavy)
    if differ > OWN_WEIGHTS:
        sentences.append("The weights differ from cluster to cluster.")
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


def describe_cluster(
    names: Sequence[str],
    apart: Sequence[Apart],
    profiles: dict[str, dict[str, Any]],
    k: int,
    size: int,
    repeats: tuple[str, str | float] | None,
) -> tuple[str, str, list[list[Any]]]:
    """Return a name such as ``high income, low age``, a description, and the best columns.

    `apart` compares the cluster with the other rows, in the order of `names`. The best columns are
    lists of name, share of the rows told apart, and words.
    """
    if not size:
        return "no rows", "This cluster has no rows.", []
    shares = np.array([float(one.share[k]) for one in apart])
    order = [int(v) for v in np.argsort(-shares, kind="stable")]
    worth = [v for v in order if shares[v] >= WORTH_A_WORD and _can_be_told(profiles[names[v]])]
    told = [
        (names[v], float(shares[v]), *_words(names[v], profiles[names[v]], apart[v], k))
        for v in worth[:MOST_COLUMNS]
    ]
    best: list[list[Any]] = [[name, share, long] for name, share, _, long in told]
    if all(profile["difference"] is None for profile in profiles.values()):
        return "all rows", "All rows that have values are in this cluster.", best
    if not told:
        text = "Much like the other rows in every column."
        return "like the others", text, best
    sentence = "; ".join(long for *_, long in told) + "."
    if not sentence.startswith(shortened(told[0][0])):
        sentence = sentence[0].upper() + sentence[1:]
    name = ", ".join(short for _, _, short, _ in told)
    if repeats is not None:
        column, value = repeats
        value = f"“{shortened(value, 40)}”" if isinstance(value, str) else rounded(value)
        sentence = f"Just the rows whose {shortened(column)} is {value}. {sentence}"
    return name, sentence, best


def _can_be_told(profile: dict[str, Any]) -> bool:
    """Tell whether one category says something; with very many, each is rare everywhere."""
    if "mode" not in profile:
        return True
    differences = [abs((own or 0.0) - (other or 0.0)) for _, own, other in profile["categories"]]
    return max(differences, default=0.0) >= LEAST_CATEGORY


def _words(name: str, profile: dict[str, Any], apart: Apart, k: int) -> tuple[str, str]:
    """Return what is special about a column in a cluster, without and with numbers."""
    name = shortened(name)
    somewhat = "" if apart.share[k] >= CLEAR else "somewhat "
    if "mode" in profile:
        return _words_of_category(name, profile)
    if apart.by_range[k]:
        shares = f"{percent(apart.inside[k])} of its rows, {percent(apart.inside_other[k])} of the"
        if np.isnan(apart.low[k]):
            short = f"{name} low or high"
            return short, f"{name} {somewhat}low or high, not between ({shares} others)"
        spread = apart.high[k] - apart.low[k]
        if spread == 0:
            short = f"{name} {rounded(apart.low[k])}"
        else:
            low, high = (rounded(float(end[k]), spread) for end in (apart.low, apart.high))
            short = f"{name} from {low} to {high}"
        return short, f"{short} ({shares} others)"
    level = "high" if apart.higher[k] > 0 else "low"
    scale = abs(profile["mean"] - profile["others"])
    own, others = (rounded(profile[key], scale) for key in ("mean", "others"))
    short = f"{somewhat}{level} {name}"
    return short, f"{short} (mean {own}; other rows {others})"


def _words_of_category(name: str, profile: dict[str, Any]) -> tuple[str, str]:
    category, own, others = max(
        profile["categories"], key=lambda one: abs((one[1] or 0.0) - (one[2] or 0.0))
    )
    own, others = own or 0.0, others or 0.0
    if own >= others:
        often = "always" if own == 1.0 else "mostly" if own > 0.5 else "often"
    else:
        often = "never" if not own else "rarely"
    shares = f"other rows {percent(others)}"
    if often not in ("always", "never"):
        shares = f"{percent(own)}; {shares}"
    short = f"{name} {often} “{shortened(category, 40)}”"
    return short, f"{short} ({shares})"
