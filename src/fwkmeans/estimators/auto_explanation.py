"""What a mixture says about the features: weights, groups, noise, and what separates clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._mixture import NOISE, Fit, Sample, leads
from fwkmeans._support.text import count, joined, number
from fwkmeans._tabular.layout import Layout
from fwkmeans.estimators.auto_doubts import sentences
from fwkmeans.typing import BoolArray, FloatArray, IntArray

#: Columns that are named for a pair of clusters.
MOST_COLUMNS = 3
#: Groups, and noise columns of one kind, that have a sentence of their own; the lists have all.
MOST_SENTENCES = 20

_TYPES = {
    "tied": "clusters differ in where they are, not in how wide they are",
    "vol": "clusters differ in where they are and how wide they are, not in their shape",
    "spec": "clusters differ in where they are, how wide they are and in their shape",
}
_ALONE = {
    "tied": "clusters differ in where they are, not in how wide they are",
    "spec": "clusters differ in where they are and how wide they are",
}
_CATEGORIES = "clusters have their own shares of the categories"


class FeatureGroup(NamedTuple):
    """Features that depend on one another within clusters, or one feature alone."""

    columns: IntArray  # positions in the table
    type: str  # "tied", "vol", "spec" or "noise"
    tail: float  # degrees of freedom of Student's t; infinite for a normal distribution


class Marginals(NamedTuple):
    """Each feature's distribution in each cluster, compared."""

    divergence: FloatArray  # (K, F) from the whole table
    between: FloatArray  # (K, K, F) between two clusters, the same both ways
    lead: FloatArray  # (F,) of the criterion above noise, for the feature alone; NaN if constant
    groups: list[FeatureGroup]


class Explanation(NamedTuple):
    """Why the clusters of an `AutoKMeans` are what they are. ``print`` it to read it."""

    groups: list[dict[str, Any]]  # columns, type, categorical, heavy_tails, weight
    noise: list[dict[str, Any]]  # column, reason, lead
    pairs: list[dict[str, Any]]  # clusters, columns, strength
    number: list[dict[str, Any]]  # n_clusters, criterion, of those that were tried
    doubts: list[dict[str, Any]]  # kind and figures, and a sentence, of what speaks against it
    text: str

    def __str__(self) -> str:
        """Return all of it in sentences."""
        return self.text


def marginals_of(sample: Sample, fit: Fit, layout: Layout) -> Marginals:
    """Compare the distributions of every feature between clusters, and with the table."""
    encoding, parameters = sample.encoding, fit.parameters
    n_clusters, n_features = fit.membership.shape[1], layout.n_features
    divergence = np.zeros((n_clusters, n_features))
    between = np.zeros((n_clusters, n_clusters, n_features))
    lead = np.full(n_features, np.nan)
    numeric = layout.numeric[encoding.numbers] if encoding.numbers.size else np.empty(0, np.int64)
    category = categorical_places(sample, layout)
    numeric_lead, category_lead = leads(sample, fit.membership)
    lead[numeric], lead[category] = numeric_lead, category_lead
    varies = np.bincount(sample.level_column, minlength=category.size) > 1
    lead[category[~varies]] = np.nan
    lead[np.delete(layout.categorical, encoding.categories)] = -np.inf  # nothing was computed
    shares = np.exp(parameters.log_shares)
    parts = [(parameters.singles, parameters.means, parameters.variance)]
    parts += [(block.columns, block.means, block.variance) for block in parameters.blocks]
    for columns, means, variance in parts:
        at = numeric[columns]
        middle = shares @ means
        whole = shares @ (variance + (means - middle) ** 2)
        divergence[:, at] = 0.5 * (
            (variance + (means - middle) ** 2) / whole - 1 - np.log(variance / whole)
        )
        apart = (means[:, None] - means[None]) ** 2
        ratio = variance[:, None] / variance[None]
        one = 1 / variance[:, None] + 1 / variance[None]
        between[:, :, at] = 0.5 * (ratio + 1 / ratio + apart * one) - 1
    logs = parameters.log_levels
    for column, feature in enumerate(category):
        own = sample.level_column == column
        if fit.structure.categories[column] == NOISE:
            continue
        vote = sample.vote[column]
        log = logs[:, own] / vote
        here = np.exp(log)
        table = shares @ here
        divergence[:, feature] = vote * (here * (log - np.log(table))).sum(axis=1)
        pair = (here[:, None] - here[None]) * (log[:, None] - log[None])
        between[:, :, feature] = vote * pair.sum(axis=2)
    groups = _groups(fit, numeric, category, varies, n_features)
    return Marginals(np.maximum(divergence, 0.0), between, lead, groups)


def categorical_places(sample: Sample, layout: Layout) -> IntArray:
    """Return the places of the categorical columns of a sample among all columns."""
    encoding = sample.encoding
    return np.concatenate([layout.categorical[encoding.categories], layout.numeric[encoding.pairs]])


def _groups(
    fit: Fit, numeric: IntArray, category: IntArray, varies: BoolArray, n_features: int
) -> list[FeatureGroup]:
    """Return all groups by their first column; columns that are constant are noise."""
    found = [
        FeatureGroup(np.sort(numeric[np.array(group.columns)]), group.type, group.tail)
        for group in fit.structure.groups
    ]
    found += [
        FeatureGroup(numeric[v : v + 1], kind, np.inf)
        for v, kind in enumerate(fit.structure.singles)
        if kind
    ]
    found += [
        FeatureGroup(category[v : v + 1], kind if varies[v] else NOISE, np.inf)
        for v, kind in enumerate(fit.structure.categories)
    ]
    seen = np.concatenate([numeric, category])
    found += [
        FeatureGroup(np.array([v]), NOISE, np.inf) for v in np.setdiff1d(range(n_features), seen)
    ]
    return sorted(found, key=lambda group: int(group.columns[0]))


def explanation_of(model: Any, names: list[str]) -> Explanation:
    """Return the explanation of a fitted `AutoKMeans`."""
    layout = model._table.layout
    categorical = np.zeros(layout.n_features, dtype=bool)
    categorical[layout.categorical] = True
    categorical[layout.numeric[model._encoding.pairs]] = True  # two values
    groups = [
        {
            "columns": [names[v] for v in group.columns],
            "type": group.type,
            "categorical": bool(categorical[group.columns[0]]),
            "heavy_tails": bool(np.isfinite(group.tail) and group.type != NOISE),
            "weight": weight,
        }
        for group, weight in zip(
            model._marginals.groups, model.group_weights_.T.tolist(), strict=True
        )
        if group.type != NOISE
    ]
    groups.sort(key=lambda group: -float(np.mean(group["weight"])))
    alone = {int(v) for columns in model.groups_.values() if len(columns) == 1 for v in columns}
    noise = [
        _noise(names[v], model._marginals.lead[v], v in alone) for v in np.flatnonzero(model.noise_)
    ]
    pairs = _pairs(model, names)
    tried = [{"n_clusters": n, "criterion": value} for n, value in sorted(model.criteria_.items())]
    told = sentences(model.doubts_, names)
    doubts = [
        {"kind": doubt.kind, **doubt.figures, "sentence": sentence}
        for doubt, sentence in zip(model.doubts_, told, strict=True)
    ]
    text = _text(model, groups, noise, pairs, tried, told)
    return Explanation(groups, noise, pairs, tried, doubts, text)


def _noise(name: str, lead: float, alone: bool) -> dict[str, Any]:
    if np.isnan(lead):
        return {"column": name, "reason": "it has the same value in all rows", "lead": None}
    if np.isinf(lead):
        return {
            "column": name,
            "reason": "it has too many categories for so few rows",
            "lead": None,
        }
    if lead < 0:
        reason = "its values are spread alike in all clusters"
    elif alone:
        reason = "its values were spread alike in all clusters when the groups were found"
    else:
        reason = "what it says is said by the other columns of its group"
    return {"column": name, "reason": reason, "lead": float(lead)}


def _pairs(model: Any, names: list[str]) -> list[dict[str, Any]]:
    pairs = []
    for a in range(model.n_clusters_):
        for b in range(a + 1, model.n_clusters_):
            apart = model._marginals.between[a, b]
            order = np.argsort(-apart, kind="stable")[:MOST_COLUMNS]
            told = [v for v in order if apart[v] > 0]
            pairs.append(
                {
                    "clusters": (a, b),
                    "columns": [names[v] for v in told],
                    "strength": [float(apart[v]) for v in told],
                }
            )
    return pairs


def _text(
    model: Any,
    groups: list[dict[str, Any]],
    noise: list[dict[str, Any]],
    pairs: list[dict[str, Any]],
    tried: list[dict[str, Any]],
    doubts: list[str],
) -> str:
    lines = [f"{count(model.n_clusters_, 'cluster')} from {count(model.n_features_in_, 'column')}."]
    if len(tried) > 1:
        best = sorted(tried, key=lambda row: -float(row["criterion"]))
        after = [
            f"{row['n_clusters']} ({number(row['criterion'] - best[0]['criterion'], 2)})"
            for row in best[1:4]
        ]
        lines.append(
            f"The criterion is highest for {count(model.n_clusters_, 'cluster')}"
            + (f"; next {'come' if after[1:] else 'comes'} {joined(after)}." if after else ".")
        )
    lines += doubts
    lines.append("")
    if model.n_clusters_ == 1:
        lines.append("One cluster: there are no others that a column could tell it from.")
        lines += [
            f"{joined(group['columns'])} vary together."
            for group in groups
            if len(group["columns"]) > 1
        ]
        lines += [f"{row['column']}: {row['reason']}." for row in noise if row["lead"] is None]
        return "\n".join(lines).strip()
    lines += [*_about_groups(groups), *_about_noise(noise)]
    lines.append("")
    empty = sorted(set(range(model.n_clusters_)) - set(model.labels_.tolist()))
    if empty:
        which = (
            f"cluster {empty[0]}"
            if len(empty) == 1
            else f"clusters {joined(list(map(str, empty)))}"
        )
        lines.append(f"No row is likeliest to be in {which}.")
    for pair in pairs:
        a, b = pair["clusters"]
        if a in empty or b in empty:
            continue
        lines.append(
            f"Clusters {a} and {b} differ most in {joined(pair['columns'])}."
            if pair["columns"]
            else f"No single column tells clusters {a} and {b} apart."
        )
    return "\n".join(lines).strip()


def _about_groups(groups: list[dict[str, Any]]) -> Iterator[str]:
    shares = [float(np.mean(group["weight"])) for group in groups]
    for group, share in zip(groups[:MOST_SENTENCES], shares, strict=False):
        several = len(group["columns"]) > 1
        how = (
            _CATEGORIES if group["categorical"] else (_TYPES if several else _ALONE)[group["type"]]
        )
        tails = ", and rows far out are expected" if group["heavy_tails"] else ""
        together = " vary together within clusters;" if several else ":"
        yield f"{joined(group['columns'])}{together} {how}{tails} ({_share(share)})."
    if groups[MOST_SENTENCES:]:
        n_columns = sum(len(group["columns"]) for group in groups[MOST_SENTENCES:])
        rest = _share(sum(shares[MOST_SENTENCES:]))
        tell = "tells" if n_columns == 1 else "tell"
        yield f"{count(n_columns, 'other column')} {tell} clusters apart, too ({rest})."


def _share(weight: float) -> str:
    percent = "less than 1%" if weight < 0.005 else f"{100 * weight:.0f}%"
    return f"{percent} of the weight"


def _about_noise(noise: list[dict[str, Any]]) -> Iterator[str]:
    for reason in dict.fromkeys(row["reason"] for row in noise):
        names = [row["column"] for row in noise if row["reason"] == reason]
        if len(names) <= MOST_SENTENCES:
            yield from (f"{name} is noise: {reason}." for name in names)
            continue
        more = f"{len(names) - MOST_SENTENCES:,} more"
        yield (
            f"{count(len(names), 'column')} are noise, each because {reason}: "
            f"{joined([*names[:MOST_SENTENCES], more])}."
        )
