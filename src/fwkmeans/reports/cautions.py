"""What a reader should keep in mind, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._support.text import count, joined, number, percent, shortened, two_decimals
from fwkmeans.estimators import AutoKMeans
from fwkmeans.estimators.auto_doubts import sentences
from fwkmeans.fitted import FittedView
from fwkmeans.reports.stability import NEAR, STABLE_FROM
from fwkmeans.reports.table import Column
from fwkmeans.reports.weights import HEAVY, distance_from, heavy_columns
from fwkmeans.typing import FloatArray, IntArray

#: Names listed in a sentence.
MOST_NAMES = 5
#: Share of a cluster's weight above which one column decides alone.
DOMINANT = 0.9
#: Share of weight that would have to move to make weights equal, below which they are.
EVEN = 0.05
#: Share of the encoded columns from which on one column of categories outnumbers the others.
OUTNUMBERS = 0.5
#: Overlap below which a cluster is not found again, and agreement above which starts are not why.
LOST, SAME_START = 0.5, 0.95
#: Ratio of the largest to the smallest spread of columns that were not standardized.
UNEQUAL_SPREADS = 10.0


class Findings(NamedTuple):
    """What the sentences are about."""

    estimator: Any
    unit: str  # "cluster", or "group" if clusters were merged
    columns: Sequence[Column]
    sizes: IntArray
    shares: FloatArray  # (K, columns)
    encoded: FloatArray  # (K, features of the algorithm)
    equal: FloatArray  # (features of the algorithm,) shares if weights were equal
    equal_by_column: FloatArray  # (columns,)
    stability: dict[str, Any] | None
    repeats: Sequence[tuple[str, str | float] | None]  # column and value that a cluster is
    repeated: Sequence[str]  # columns whose values alone give the clusters
    is_more: bool  # whether other columns tell the clusters apart as well
    objective: float
    is_same_table: bool
    is_prepared: bool
    fills_missing: bool


def cautions(found: Findings) -> list[tuple[str, str]]:
    """Return topics and sentences, the most serious first."""
    by_topic = {
        "run": _about_the_run(found),
        "repeats": _about_repeats(found),
        "doubts": _about_doubts(found),
        "sizes": _about_sizes(found),
        "weights": _about_weights(found),
        "stability": _about_stability(found),
        "missing": _about_missing(found),
        "columns": _about_columns(found),
    }
    return [(topic, text) for topic, sentences in by_topic.items() for text in sentences]


def _about_the_run(found: Findings) -> list[str]:
    sentences = []
    if not found.is_same_table:
        sentences.append(
            "The model was fitted to other rows than those of this report, or with a weight for "
            "each row. Everything below counts each row of this table once."
        )
    estimator = found.estimator
    if not estimator.converged_:
        most = getattr(estimator, "max_iter", None)  # AutoKMeans has none
        circles = most is not None and estimator.n_iter_ < most
        why = "because it went in circles" if circles else "before it converged"
        what = "Other starts may give better clusters."
        if not circles:
            what = "A larger max_iter may give better clusters."
        if most is None:
            what = "Rows between two clusters might still change sides."
        sentences.append(
            f"The algorithm was stopped after {count(int(estimator.n_iter_), 'iteration')} {why}. "
            f"{what}"
        )
    return sentences


def _about_sizes(found: Findings) -> list[str]:
    sentences, sizes = [], found.sizes
    empty = np.flatnonzero(sizes == 0)
    if empty.size:
        sentences.append(
            f"{_clusters(empty, found.unit)} {'has' if empty.size == 1 else 'have'} no rows. Fewer "
            "clusters may describe the table as well."
        )
    total = sizes.sum()
    used = sizes > 0
    tiny = np.flatnonzero(used & ((sizes <= 2) | (sizes < 0.01 * total)))
    if tiny.size and used.sum() > 1:
        rows = joined([count(int(sizes[k]), "row") for k in tiny[:MOST_NAMES]])
        more = f", and so on ({tiny.size} {found.unit}s)" if tiny.size > MOST_NAMES else ""
        sentences.append(
            f"{_clusters(tiny[:MOST_NAMES], found.unit)} {'is' if tiny.size == 1 else 'are'} very "
            f"small ({rows}{more}): perhaps outliers rather than a group. What is said about so "
            "few rows may be chance."
        )
    return sentences


def _about_weights(found: Findings) -> list[str]:
    used = np.flatnonzero(found.sizes > 0)
    n_varying = sum(column.varies for column in found.columns)
    if n_varying < 2 or used.size < 2:
        return []
    most = int(np.argmax(found.equal_by_column))
    sentences = []
    if n_varying > 2 and found.equal_by_column[most] >= OUTNUMBERS:
        sentences.append(
            f"The algorithm sees each category of {shortened(found.columns[most].name)} as a "
            f"column, so it has {percent(found.equal_by_column[most])} of all weight even if "
            "weights are equal. Leave it out, or use an algorithm that compares categories."
        )
    if FittedView.of(found.estimator).has_uniform_weights:
        return sentences
    return sentences + _about_learned_weights(found, used)


def _about_learned_weights(found: Findings, used: IntArray) -> list[str]:
    shares, equal = found.shares, found.equal_by_column
    if any(doubt.kind == "one column" for doubt in getattr(found.estimator, "doubts_", ())):
        return []  # that was said
    top, owner = shares.max(axis=1), shares.argmax(axis=1)
    alone = [int(k) for k in used if top[k] >= max(DOMINANT, HEAVY * equal[owner[k]])]
    if alone:
        names = list(dict.fromkeys(shortened(found.columns[owner[k]].name) for k in alone))
        where = "every cluster" if len(alone) == used.size else _clusters(alone, found.unit).lower()
        each = "one column has" if len(names) == 1 else "a single column has"
        return [
            f"In {where} {each} nearly all the weight ({joined(names[:MOST_NAMES])}). The other "
            "columns hardly count, and the clusters may only repeat what that column says. Compare "
            "with other parameters, or leave the column out."
        ]
    overall = shares.T @ (found.sizes / max(1, found.sizes.sum()))
    is_even = distance_from(found.equal, found.encoded)[used].max() < EVEN
    if is_even and not heavy_columns(overall, equal):
        even = "The weights are nearly equal, so they say little about which columns matter."
        if isinstance(found.estimator, AutoKMeans):  # which has no parameter to change that
            return [even]
        return [
            f"{even} The clusters are close to those of plain K-Means; another parameter may "
            "spread the weights more."
        ]
    return []


def _about_repeats(found: Findings) -> list[str]:
    """Return what is said of clusters that only repeat columns."""
    if found.repeated:
        names = joined([shortened(name) for name in found.repeated])
        several = len(found.repeated) > 1
        if found.is_more:
            return [
                f"The clusters are those that {names} gives already; other columns tell them apart "
                f"as well. Leave {names} out to see whether they are found without it."
            ]
        return [
            f"The clusters only repeat the column{'s' if several else ''} {names}: "
            f"{'their values' if several else 'its values'} alone give the same groups. Leave "
            f"{'them' if several else 'it'} out to find groups that are not known yet."
        ]
    alone: dict[str, list[int]] = {}
    for k, one in enumerate(found.repeats):
        if one is not None:
            alone.setdefault(one[0], []).append(k)
    return [
        f"{_clusters(numbers, found.unit)} {'is' if len(numbers) == 1 else 'are'} just the rows "
        f"with one value of {shortened(name)}. Without that column other groups may appear."
        for name, numbers in alone.items()
    ]


def _about_doubts(found: Findings) -> list[str]:
    """Return what speaks against the clusters of an `AutoKMeans`."""
    names = [shortened(column.name) for column in found.columns]
    doubts = getattr(found.estimator, "doubts_", [])
    if _about_repeats(found):  # that was said
        doubts = [doubt for doubt in doubts if "columns" not in doubt.figures]
    return sentences(doubts, names, first=1)  # people count from 1


def _about_stability(found: Findings) -> list[str]:
    stability = found.stability
    if stability is None:
        return []
    sentences = []
    typical, restart = stability["median"], stability["restart"]
    lost = [
        k
        for k, overlap in enumerate(stability["clusters"])
        if overlap is not None and overlap < LOST
    ]
    less = f"with only {stability['drawn']}"
    if typical < STABLE_FROM:
        told = (
            f"The clusters are not stable: {less} others are found "
            f"(agreement {two_decimals(typical)}; 1 would be the same clusters, 0 is chance). "
        )
        if restart is not None and restart < SAME_START:
            told += (
                "Another run on the same rows does not give the same clusters either "
                f"({two_decimals(restart)}): more starts may help, and so may fewer clusters."
            )
        else:
            advice = "Try fewer clusters, or leave" if (found.sizes > 0).sum() > 2 else "Leave"
            told += f"More starts will not change that. {advice} out columns that say little."
        sentences.append(told)
    elif lost:
        sentences.append(
            f"{_clusters(lost[:MOST_NAMES], found.unit)} {'is' if len(lost) == 1 else 'are'} not "
            f"found again {less}: do not build on {'it' if len(lost) == 1 else 'them'}. The others "
            "are."
        )
    lower = stability["objective"]
    comparable = found.is_same_table and not hasattr(found.estimator, "candidates_")
    if comparable and lower is not None and lower < found.objective - NEAR * abs(found.objective):
        sentences.append(
            f"Another run on the same rows reached a lower objective ({number(lower)} instead of "
            f"{number(found.objective)}): use more starts."
        )
    return sentences


def _about_missing(found: Findings) -> list[str]:
    incomplete = [column for column in found.columns if column.missing.any()]
    if not incomplete:
        return []
    rows = np.any([column.missing for column in incomplete], axis=0)
    what = "They were filled before the clustering" if found.fills_missing else "They do not count"
    return [
        f"{count(int(rows.sum()), 'row')} ({percent(rows.mean())}) have missing cells, in "
        f"{_names([shortened(column.name) for column in incomplete])}. {what}; means and shares "
        "below are those of the cells that are there."
    ]


def _about_columns(found: Findings) -> list[str]:
    sentences = []
    columns = found.columns
    constant = [shortened(column.name) for column in columns if not column.varies]
    if constant:
        sentences.append(
            f"{_names(constant)} {'has' if len(constant) == 1 else 'have'} the same value in every "
            "row, which says nothing about clusters."
        )
    counts = found.shares.max(axis=0) > 0
    identifiers = [
        shortened(c.name) for c, own in zip(columns, counts, strict=True) if own and _identifies(c)
    ]
    if identifiers:
        sentences.append(
            f"{_names(identifiers)} {'has' if len(identifiers) == 1 else 'have'} almost as many "
            "categories as rows, like a name or a number of a case. Such a column cannot form "
            "groups."
        )
    spreads = [
        float(np.nanmax(c.numbers) - np.nanmin(c.numbers))
        for c in columns
        if c.numbers is not None and c.varies
    ]
    is_prepared = found.is_prepared or isinstance(found.estimator, AutoKMeans)  # in any units
    if not is_prepared and len(spreads) > 1 and max(spreads) > UNEQUAL_SPREADS * min(spreads):
        sentences.append(
            "The columns have very different ranges and were not standardized: weights then depend "
            "on units. Standardize them first, for example with RangeStandardizer."
        )
    return sentences


def _identifies(column: Column) -> bool:
    present = int((~column.missing).sum())
    return not column.is_numeric and present >= 20 and len(column.categories) > 0.8 * present


def _clusters(numbers: Any, unit: str) -> str:
    shown = [str(int(k) + 1) for k in numbers]  # people count from 1
    return f"{unit.capitalize()}{'s' if len(shown) > 1 else ''} {joined(shown)}"


def _names(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMES:
        return joined(list(names))
    return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more columns"
