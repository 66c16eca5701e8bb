"""What notebooks show of a fitted model: scikit-learn's diagram, clusters and weights below it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

from fwkmeans._support.arrays import is_dask
from fwkmeans._support.text import count
from fwkmeans.estimators.model import Model
from fwkmeans.estimators.shares import counted_weights, has_group_weights
from fwkmeans.typing import FloatArray, IntArray

#: Features, groups of them and clusters that are shown; the heaviest features come first.
MOST_FEATURES, MOST_GROUPS, MOST_CLUSTERS = 8, 6, 20
#: Features that the sentence about a cluster names, and how many standard deviations its center
#: must be away from the mean for that.
MOST_WORDS, FAR = 3, 0.5

_BLUE = "rgba(0, 114, 178, 0.35)"
# A blue that is more or less transparent can be read on light and on dark paper, with the text in
# whatever color the notebook has.
_STYLE = """<style>
.fwkmeans-summary {font-size: 0.9em; margin-top: 0.6em; overflow-x: auto; color: inherit;}
.fwkmeans-summary table {border-collapse: collapse; margin: 0.3em 0;}
.fwkmeans-summary th, .fwkmeans-summary td {padding: 0.2em 0.6em; text-align: right; color: inherit;
  border: 1px solid rgba(128, 128, 128, 0.35); font-weight: normal; background: transparent;}
.fwkmeans-summary thead th {max-width: 9em; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap;}
.fwkmeans-summary thead th[colspan] {text-align: center;}
</style>"""


def html_repr(model: Model) -> str:
    """Return scikit-learn's HTML of a model and, if it is fitted, its clusters and weights."""
    diagram: str = estimator_html_repr(model)
    fitted = all(hasattr(model, name) for name in ("feature_weights_", "labels_", "n_iter_"))
    fitted = fitted and not is_dask(model.labels_)  # the sizes of clusters are not known here
    return diagram + summary(model) if fitted else diagram


def summary(model: Model) -> str:
    """Return a table of the clusters, their sizes and the weights of the heaviest features.

    Weights of features are multiplied by those of their groups, which are shown beside them, as
    numbers and as bars. Below it a sentence says what each cluster is like.
    """
    weights, groups = counted_weights(model), _group_weights(model)
    sizes = np.bincount(model.labels_, minlength=len(weights))
    shared = len(weights) > 1 and bool((weights == weights[:1]).all())
    order = np.argsort(-weights.mean(axis=0), kind="stable")[:MOST_FEATURES]
    table = _head(model, order, list(groups)) + "<tbody>"
    shares = np.stack([*groups.values()], axis=1) if groups else np.zeros((len(weights), 0))
    for k in range(1 if shared else min(len(weights), MOST_CLUSTERS)):
        table += _row(
            f"all {len(weights)}" if shared else str(k),
            _listed(sizes) if shared else str(sizes[k]),
            _cells(weights[k, order], weights.max()) + _cells(shares[k], 1.0),
        )
    table += "</tbody>"
    return (
        f'{_STYLE}<div class="fwkmeans-summary">{_sentence(model, sizes)}'
        f"<table>{table}</table>{_rest(weights, order, shared)}{_names(model, sizes)}</div>"
    )


def _names(model: Model, sizes: IntArray) -> str:
    """Return what each cluster is like: the features in which it is farthest from all rows."""
    table, centers = model._table, np.asarray(model.cluster_centers_, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        away = (centers - table.mean) / np.sqrt(table.scatter / table.mass)
    away[:, table.maximum <= table.minimum] = 0.0
    away[:, table.layout.categorical] = 0.0
    away = np.where(np.isfinite(away), away, 0.0)
    names = model._names
    categories = getattr(model, "category_frequencies_", {})
    told = []
    for k in np.flatnonzero(sizes)[:MOST_CLUSTERS]:
        found = [
            (abs(away[k, v]), f"{level} {f'x{v}' if names is None else names[v]}")
            for v, level in enumerate(np.where(away[k] > 0, "high", "low"))
        ]
        found += [_category(name, own, k, sizes) for name, own in categories.items()]
        found.sort(key=lambda one: -one[0])
        words = [text for far, text in found[:MOST_WORDS] if far >= FAR]
        told.append(f"<li>cluster {k}: {escape(', '.join(words) or 'near the mean')}</li>")
    return f"<ul>{''.join(told)}</ul>" if len(told) > 1 else ""


def _category(name: Any, shares: dict[Any, FloatArray], k: int, sizes: IntArray) -> Any:
    """Return the category that is most frequent beside its share of all rows, and how far it is.

    The share of a category is the mean of a column of 0 and 1, which has a standard deviation too.
    """
    own = np.array([share[k] for share in shares.values()])
    mean = np.array([share @ sizes for share in shares.values()]) / sizes.sum()
    away = (own - mean) / np.sqrt(np.maximum(mean * (1 - mean), 1e-12))
    best = int(np.where(mean < 1, away, 0.0).argmax())
    often = "always" if own[best] > 0.995 else "mostly" if own[best] > 0.5 else "often"
    text = f"{f'x{name}' if isinstance(name, int) else name} {often} “{[*shares][best]}”"
    return float(away[best]) if mean[best] < 1 else 0.0, text


def _sentence(model: Model, sizes: IntArray) -> str:
    end = "converged after" if getattr(model, "converged_", True) else "not converged in"
    return (
        f"{count(len(sizes), 'cluster')} of {count(int(sizes.sum()), 'row')}, {end} "
        f"{count(int(model.n_iter_), 'iteration')}, objective {float(model.inertia_):.6g}"
    )


def _group_weights(model: Model) -> dict[Any, FloatArray]:
    """Return the weights of the first groups of features in each cluster, by name."""
    if not (has_group_weights(model) and hasattr(model, "groups_")):
        return {}
    weights = np.atleast_2d(np.asarray(model.group_weights_, dtype=np.float64))
    weights = np.broadcast_to(weights, (len(model.feature_weights_), weights.shape[1]))
    return dict(zip(list(model.groups_)[:MOST_GROUPS], weights.T, strict=False))


def _head(model: Model, order: IntArray, groups: list[Any]) -> str:
    names = model._names
    cells = "".join(_name(f"x{v}" if names is None else str(names[v])) for v in order)
    cells += "".join(_name(str(name)) for name in groups)
    kind = "feature weights times group weights" if has_group_weights(model) else "feature weights"
    more = f'<th colspan="{len(groups)}">{_group_title(model)}</th>' if groups else ""
    return (
        '<thead><tr><th rowspan="2">cluster</th><th rowspan="2">rows</th>'
        f'<th colspan="{len(order)}">{kind}</th>{more}</tr><tr>{cells}</tr></thead>'
    )


def _group_title(model: Model) -> str:
    left_out = len(model.groups_) - MOST_GROUPS
    return f"group weights ({left_out} more)" if left_out > 0 else "group weights"


def _name(name: str) -> str:
    return f'<th title="{escape(name)}">{escape(name)}</th>'


def _cells(weights: FloatArray, heaviest: float) -> str:
    lengths = 100 * weights / (heaviest or 1.0)
    return "".join(
        f'<td style="background: linear-gradient(to right, {_BLUE} {long:.0f}%, transparent 0)">'
        f"{weight:.3f}</td>"
        for weight, long in zip(weights, lengths, strict=True)
    )


def _row(cluster: str, rows: str, cells: str) -> str:
    return f"<tr><th>{cluster}</th><td>{rows}</td>{cells}</tr>"


def _listed(sizes: IntArray) -> str:
    more = "" if len(sizes) <= MOST_CLUSTERS else ", …"
    return ", ".join(map(str, sizes[:MOST_CLUSTERS])) + more


def _rest(weights: FloatArray, order: IntArray, shared: bool) -> str:
    """Return a sentence about what is left out of the table."""
    features, clusters = weights.shape[1] - len(order), len(weights) - MOST_CLUSTERS
    parts = []
    if features:
        lightest = weights.mean(axis=0)[order].min()
        parts.append(f"{count(features, 'lighter feature')} (mean weight at most {lightest:.2g})")
    if clusters > 0 and not shared:
        parts.append(count(clusters, "more cluster"))
    return f"Not shown: {', '.join(parts)}." if parts else ""
