"""Many fits of one estimator: a search without labels, and many starts at many values."""

from fwkmeans._support.agreement import mean_agreement
from fwkmeans.selection.agreement import known_labels_score, mean_ranks
from fwkmeans.selection.criteria import (
    SCORINGS,
    Gap,
    Silhouette,
    Stability,
    gap_statistic,
    resampling_stability,
)
from fwkmeans.selection.indices import (
    dunn_index,
    hartigan_index,
    minkowski_silhouette,
    xie_beni_index,
)
from fwkmeans.selection.search import LabelFreeSearch
from fwkmeans.selection.sweep import Sweep, sweep

__all__ = [
    "SCORINGS",
    "Gap",
    "LabelFreeSearch",
    "Silhouette",
    "Stability",
    "Sweep",
    "dunn_index",
    "gap_statistic",
    "hartigan_index",
    "known_labels_score",
    "mean_agreement",
    "mean_ranks",
    "minkowski_silhouette",
    "resampling_stability",
    "sweep",
    "xie_beni_index",
]
