"""What speaks against a result of `AutoKMeans`: facts first, sentences at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._mixture import Fit, Sample, fixed_sample, pieces, used_columns
from fwkmeans._support.text import count, joined, number, percent, two_decimals
from fwkmeans.typing import BoolArray, FloatArray, IntArray

#: Units of the criterion by which another answer may be worse and still be nearly as good: the
#: evidence is then at most 20 to one.
NEARLY = 3.0
#: Share of the number of clusters by which another one must differ to be worth a word.
OTHER = 0.1
#: Agreement from which on two partitions are about the same.
SAME = 0.8
#: Share of the weight from which on a column of categories, or near copies of one, decide alone.
ALONE = 0.8
#: Rows on which gaps are looked for, in columns that so large a share of them has.
MOST_ROWS, OBSERVED = 2000, 0.9
#: Numbers of clusters, sets, and columns that a sentence names.
MOST_NAMED = 5


class Doubt(NamedTuple):
    """A fact that speaks against a result."""

    kind: str  # "one cloud", "pieces", "number", "partition", "copies" or "one column"
    figures: dict[str, Any]


def doubts_of(
    sample: Sample,
    fit: Fit,
    criteria: dict[int, float],
    weights: FloatArray,
    between: FloatArray,
    category: IntArray,
) -> list[Doubt]:
    """Return what speaks against a mixture, the most serious first.

    `weights` are those of all columns of the table in each cluster, `between` is what they tell of
    each pair of clusters, and `category` are the places of the categorical columns among them.
    """
    if fit.membership.shape[1] < 2:
        return list(_other_numbers(1, criteria))
    return [
        *_no_gaps(sample, fit, between, category),
        *_deciding_columns(sample, fit, weights, category),
        *_other_numbers(fit.membership.shape[1], criteria),
        *_other_partitions(fit),
    ]


def _no_gaps(sample: Sample, fit: Fit, between: FloatArray, category: IntArray) -> Iterator[Doubt]:
    """Yield that clusters pass into each other, unless categories tell them apart."""
    columns = np.flatnonzero(used_columns(fit.structure))
    here = fixed_sample(sample.weight, MOST_ROWS)
    if sample.rows.observed is not None:
        observed = sample.rows.observed[here][:, columns] > 0
        columns = columns[observed.mean(axis=0) >= OBSERVED]
        here = here[sample.rows.complete(columns)[here]]
    labels = fit.labels[here]
    used = np.unique(labels)
    if not columns.size or used.size < 2:
        return
    by_category = between[:, :, category].sum(axis=2)
    may_join: BoolArray = by_category < 0.5 * between.sum(axis=2)
    shapes = pieces(sample.rows.numbers[here][:, columns], labels, may_join)[used]
    sets = [used[shapes == shape].tolist() for shape in np.unique(shapes)]
    if len(sets) == 1:
        yield Doubt("one cloud", {"clusters": sets[0]})
    elif len(sets) < used.size:
        yield Doubt("pieces", {"sets": [one for one in sets if len(one) > 1], "shapes": len(sets)})


def _deciding_columns(
    sample: Sample, fit: Fit, weights: FloatArray, category: IntArray
) -> Iterator[Doubt]:
    """Yield that a column of categories, with its near copies, decides alone."""
    shares = np.bincount(fit.labels, sample.weight, fit.membership.shape[1]) @ weights
    shares /= max(shares.sum(), 1e-300)
    sets = [category[at] for at in sample.copies.sets]
    copied = np.concatenate(sets) if sets else np.empty(0, np.int64)
    for at in [*sets, *np.setdiff1d(category, copied)[:, None]]:
        share = float(shares[at].sum())
        if share >= ALONE and np.count_nonzero(sample.n_levels > 1) + sample.n_numbers > at.size:
            kind = "one column" if at.size == 1 else "copies"
            yield Doubt(kind, {"columns": at.tolist(), "share": share})


def _other_numbers(n_clusters: int, criteria: dict[int, float]) -> Iterator[Doubt]:
    """Yield the other numbers of clusters whose criterion is nearly as high."""
    best = criteria[n_clusters]
    others = {
        n: best - value for n, value in criteria.items() if abs(n - n_clusters) > OTHER * n_clusters
    }
    near = {n: float(less) for n, less in sorted(others.items()) if less < NEARLY}
    if near:
        yield Doubt("number", {"n_clusters": n_clusters, "behind": near})


def _other_partitions(fit: Fit) -> Iterator[Doubt]:
    """Yield the partition that agrees least, of those whose criterion is nearly as high."""
    near = [rival for rival in fit.rivals if rival.behind < NEARLY and rival.agreement < SAME]
    if near:
        yield Doubt("partition", min(near)._asdict())


def sentences(doubts: Sequence[Doubt], names: Sequence[str], *, first: int = 0) -> list[str]:
    """Return the doubts in words; `names` are those of all columns, `first` the first cluster."""
    return [_SENTENCES[doubt.kind](doubt.figures, names, first) for doubt in doubts]


def _one_cloud(figures: dict[str, Any], names: Sequence[str], first: int) -> str:
    both = "the two clusters" if len(figures["clusters"]) == 2 else "the clusters"
    return (
        f"No gap separates {both}: rows lie about as densely between neighbors as in them. They "
        "may be parts of one cloud of rows, perhaps a skewed or bent one."
    )


def _pieces(figures: dict[str, Any], names: Sequence[str], first: int) -> str:
    sets = [joined([str(k + first) for k in one]) for one in figures["sets"]]
    told, more = ", nor ".join(sets[:MOST_NAMED]), len(sets) - MOST_NAMED
    told += f", nor those of {count(more, 'other set')}" if more > 0 else ""
    each = "they" if len(sets) == 1 else "those of each set"
    return (
        f"No gap separates clusters {told}: {each} may be pieces of one shape, perhaps a curved "
        f"one. With gaps between them there are {figures['shapes']:,} shapes."
    )


def _number(figures: dict[str, Any], names: Sequence[str], first: int) -> str:
    behind = figures["behind"]
    nearest = sorted(behind, key=lambda n: (behind[n], n))[:MOST_NAMED]
    told = [f"{n} (by {number(behind[n], 2)})" if behind[n] > 0 else str(n) for n in nearest]
    several = "them" if len(told) > 1 else "it"
    return (
        f"Other numbers of clusters are nearly as good: {joined(told)}. The criterion is lower for "
        f"{several} by less than {number(NEARLY, 2)}, which may be chance."
    )


def _partition(figures: dict[str, Any], names: Sequence[str], first: int) -> str:
    agreement, behind = two_decimals(figures["agreement"]), number(figures["behind"], 2)
    return (
        f"Other clusters are nearly as good: as many, but with an agreement of only {agreement} "
        f"(1 would be the same, 0 is chance). The criterion is lower for them by {behind}, which "
        "may be chance."
    )


def _copies(figures: dict[str, Any], names: Sequence[str], first: int) -> str:
    return (
        f"{joined([names[v] for v in figures['columns']])} say nearly the same, and have "
        f"{percent(figures['share'])} of the weight: the clusters only repeat them."
    )


def _one_column(figures: dict[str, Any], names: Sequence[str], first: int) -> str:
    return (
        f"{names[figures['columns'][0]]} alone has {percent(figures['share'])} of the weight: the "
        "clusters only repeat its categories."
    )


_SENTENCES: dict[str, Callable[[dict[str, Any], Sequence[str], int], str]] = {
    "one cloud": _one_cloud,
    "pieces": _pieces,
    "number": _number,
    "partition": _partition,
    "copies": _copies,
    "one column": _one_column,
}
#: Every kind of doubt.
DOUBTS = tuple(_SENTENCES)
