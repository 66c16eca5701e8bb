"""What notebooks show of a fitted model: scikit-learn's diagram, clusters and weights below it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

from fwkmeans._typing import FloatArray, IntArray

#: Features and clusters that are shown; the heaviest features come first.
MOST_FEATURES, MOST_CLUSTERS = 8, 20

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


def html_repr(model: Any) -> str:
    """Return scikit-learn's HTML of a model and, if it is fitted, its clusters and weights."""
    diagram: str = estimator_html_repr(model)
    fitted = all(hasattr(model, name) for name in ("feature_weights_", "labels_", "n_iter_"))
    return diagram + summary(model) if fitted else diagram


def summary(model: Any) -> str:
    """Return a table of the clusters, their sizes and the weights of the heaviest features."""
    weights = np.asarray(model.feature_weights_, dtype=np.float64)
    sizes = np.bincount(model.labels_, minlength=len(weights))
    shared = len(weights) > 1 and bool((weights == weights[:1]).all())
    order = np.argsort(-weights.mean(axis=0), kind="stable")[:MOST_FEATURES]
    table = _head(model, order) + "<tbody>"
    if shared:
        table += _row(f"all {len(weights)}", _listed(sizes), weights[0, order], weights.max())
    else:
        for k in range(min(len(weights), MOST_CLUSTERS)):
            table += _row(str(k), str(sizes[k]), weights[k, order], weights.max())
    table += "</tbody>"
    return (
        f'{_STYLE}<div class="fwkmeans-summary">{_sentence(model, sizes)}'
        f"<table>{table}</table>{_rest(weights, order, shared)}</div>"
    )


def _sentence(model: Any, sizes: IntArray) -> str:
    found, rows, steps = len(sizes), int(sizes.sum()), int(model.n_iter_)
    end = "converged after" if getattr(model, "converged_", True) else "not converged in"
    return (
        f"{found} {_plural('cluster', found)} of {rows} {_plural('row', rows)}, {end} {steps} "
        f"{_plural('iteration', steps)}, objective {float(model.inertia_):.6g}"
    )


def _head(model: Any, order: IntArray) -> str:
    names = getattr(model, "feature_names_in_", None)
    cells = "".join(_name(f"x{v}" if names is None else str(names[v])) for v in order)
    return (
        '<thead><tr><th rowspan="2">cluster</th><th rowspan="2">rows</th>'
        f'<th colspan="{len(order)}">feature weights</th></tr><tr>{cells}</tr></thead>'
    )


def _name(name: str) -> str:
    return f'<th title="{escape(name)}">{escape(name)}</th>'


def _row(cluster: str, rows: str, weights: FloatArray, heaviest: float) -> str:
    shades = 0.55 * weights / (heaviest or 1.0)
    cells = "".join(
        f'<td style="background: rgba(0, 114, 178, {shade:.2f})">{weight:.3f}</td>'
        for weight, shade in zip(weights, shades, strict=True)
    )
    return f"<tr><th>{cluster}</th><td>{rows}</td>{cells}</tr>"


def _listed(sizes: IntArray) -> str:
    more = "" if len(sizes) <= MOST_CLUSTERS else ", …"
    return ", ".join(map(str, sizes[:MOST_CLUSTERS])) + more


def _rest(weights: FloatArray, order: IntArray, shared: bool) -> str:
    """Say what is not shown."""
    features, clusters = weights.shape[1] - len(order), len(weights) - MOST_CLUSTERS
    parts = []
    if features:
        lightest = weights.mean(axis=0)[order].min()
        parts.append(
            f"{features} lighter {_plural('feature', features)} (mean weight at most "
            f"{lightest:.2g})"
        )
    if clusters > 0 and not shared:
        parts.append(f"{clusters} more {_plural('cluster', clusters)}")
    return f"Not shown: {', '.join(parts)}." if parts else ""


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"
