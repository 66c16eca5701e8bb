"""The headline: which groups there are, and which columns matter for each, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwkmeans._support.text import count, joined, number, percent, shortened
from fwkmeans.reports.weights import heavy_columns
from fwkmeans.typing import FloatArray, IntArray

#: Columns that a sentence about a cluster names.
MOST_COLUMNS = 3
#: Differences, in standard deviations times relative weight, that are worth a word.
LEAST_DIFFERENCE = 0.25
#: Difference in standard deviations from which on a mean is high or low.
CLEAR = 0.6
#: Share of weight that differs between clusters, above which they have weights of their own.
OWN_WEIGHTS = 0.1


def headline(
    algorithm: str,
    names: Sequence[str],
    n_features: int,
    shares: FloatArray,
    equal: FloatArray,
    sizes: IntArray,
    *,
    uniform: bool,
) -> list[str]:
    """Return two or three sentences about the whole result."""
    n_clusters, n_rows = int((sizes > 0).sum()), int(sizes.sum())
    first = (
        f"{algorithm} found {count(n_clusters, 'cluster')} in {count(n_rows, 'row')} and "
        f"{count(n_features, 'column')}."
    )
    used = shares[sizes > 0]
    if uniform:
        return [first, _about_uniform(equal)]
    sentences = [first, _about_heavy(names, shares.T @ (sizes / max(1, n_rows)), equal)]
    apart = np.abs(used[:, None] - used[None]).sum(axis=-1).max(initial=0.0) / 2
    if apart > OWN_WEIGHTS:
        sentences.append("Which columns matter differs from cluster to cluster.")
    return sentences


def _about_uniform(equal: FloatArray) -> str:
    present = equal[equal > 0]
    if present.size and np.ptp(present) > 1e-9:
        return (
            "This algorithm does not weight columns; a column of categories counts once for each "
            "category."
        )
    return "All columns count the same: this algorithm does not weight them."


def _about_heavy(names: Sequence[str], overall: FloatArray, equal: FloatArray) -> str:
    """Return which columns have clearly more weight than equal weights would give them."""
    heavy = heavy_columns(overall, equal)[:3]
    if (equal > 0).sum() == 1:
        heavy = [int(np.argmax(overall))]
    if not heavy:
        return "No column stands out: the weights are spread evenly."
    shares = [percent(float(overall[v]), fine=True) for v in heavy]
    told = [f"{shortened(names[v])} ({share})" for v, share in zip(heavy, shares, strict=True)]
    told[0] = f"{shortened(names[heavy[0]])} ({shares[0]} of the weight)"
    if len(heavy) == 1:
        return f"The column that matters most is {told[0]}."
    return f"The columns that matter most are {joined(told)}."


def describe_cluster(
    names: Sequence[str], times: FloatArray, profiles: dict[str, dict[str, Any]], size: int
) -> str:
    """Return what sets a cluster apart, such as ``high income (mean 5.1; all rows 3.2)``.

    `times` are the weights as multiples of what equal weights would be.
    """
    if not size:
        return "This cluster has no rows."
    relative = times / max(float(times.max(initial=0.0)), 1e-300)
    strengths = [
        max(_size_of(profiles[name]), _narrowness(profiles[name])) * float(w)
        for name, w in zip(names, relative, strict=True)
    ]
    order = sorted(range(len(names)), key=lambda v: -strengths[v])[:MOST_COLUMNS]
    told = [_words(names[v], profiles[names[v]]) for v in order if strengths[v] > LEAST_DIFFERENCE]
    if not told:
        return "Close to the average of the whole table in all columns that matter."
    sentence = "; ".join(told) + "."
    return (
        sentence
        if sentence.startswith(shortened(names[order[0]]))
        else sentence[0].upper() + sentence[1:]
    )


def _size_of(profile: dict[str, Any]) -> float:
    """Return how far a column is from the whole table, in standard deviations or their like."""
    difference = profile["difference"] or 0.0
    return 2.0 * difference if "mode" in profile else abs(difference)


def _narrowness(profile: dict[str, Any]) -> float:
    """Return up to 1 for numbers that are spread much less than in the whole table."""
    if "mode" in profile or profile["mean"] is None:
        return 0.0
    own, whole = (one["q75"] - one["q25"] for one in (profile, profile["whole"]))
    return 1.0 - own / whole if whole > 2 * own else 0.0


def _words(name: str, profile: dict[str, Any]) -> str:
    if "mode" in profile:
        return _words_of_category(name, profile)
    whole = profile["whole"]
    if abs(profile["difference"]) < CLEAR and _narrowness(profile) > 0:
        return (
            f"{shortened(name)} in a narrow range ({number(profile['q25'])} to "
            f"{number(profile['q75'])}; all rows {number(whole['q25'])} to {number(whole['q75'])})"
        )
    level = "high" if profile["difference"] > 0 else "low"
    level = level if abs(profile["difference"]) >= CLEAR else f"somewhat {level}"
    means = f"mean {number(profile['mean'])}; all rows {number(whole['mean'])}"
    return f"{level} {shortened(name)} ({means})"


def _words_of_category(name: str, profile: dict[str, Any]) -> str:
    category, own, whole = max(profile["categories"], key=lambda one: abs((one[1] or 0) - one[2]))
    if (own or 0.0) >= whole:
        often = "always" if own == 1.0 else "mostly" if own > 0.5 else "often"
    else:
        often = "never" if not own else "rarely"
    shares = f"all rows {percent(whole)}"
    if often not in ("always", "never"):
        shares = f"{percent(own)}; {shares}"
    return f"{shortened(name)} {often} “{shortened(category, 40)}” ({shares})"
