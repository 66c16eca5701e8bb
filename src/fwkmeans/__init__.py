"""Feature-weighted K-Means: clustering that learns which columns matter.

Every estimator follows scikit-learn's interface and takes NumPy arrays, sparse matrices, pandas and
polars frames, Dask collections, tensors on a GPU, or the path of a file that is read in blocks.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fwkmeans.estimators import (
        SYNCLUS,
        AutoKMeans,
        AWKMeans,
        ConvexKMeans,
        EWKMeans,
        FeatureWeightedKMeans,
        FGKMeans,
        FWSAKMeans,
        IKPrototypes,
        IMWKMeans,
        KMeans,
        WKMeans,
        group_features,
    )
    from fwkmeans.preprocessing import prepare_table
    from fwkmeans.reports import describe

try:
    __version__ = version("fwkmeans")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "SYNCLUS",
    "AWKMeans",
    "AutoKMeans",
    "ConvexKMeans",
    "EWKMeans",
    "FGKMeans",
    "FWSAKMeans",
    "FeatureWeightedKMeans",
    "IKPrototypes",
    "IMWKMeans",
    "KMeans",
    "WKMeans",
    "__version__",
    "describe",
    "group_features",
    "prepare_table",
]

#: What is not in `fwkmeans.estimators`.
_ELSEWHERE = {"describe": "reports", "prepare_table": "preprocessing"}
#: Folders that can be used without an import of their own.
_FOLDERS = {
    "centers",
    "datasets",
    "dissimilarities",
    "estimators",
    "exceptions",
    "persistence",
    "plotting",
    "preprocessing",
    "reports",
    "selection",
    "sources",
    "survey",
    "typing",
    "weighting",
}


def __getattr__(name: str) -> Any:
    """Import estimators and folders when they are first used: the command line starts faster."""
    if name in __all__:
        return getattr(import_module(f"fwkmeans.{_ELSEWHERE.get(name, 'estimators')}"), name)
    if name in _FOLDERS:
        return import_module(f"fwkmeans.{name}")
    raise AttributeError(f"module 'fwkmeans' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is there, imported or not."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__, *_FOLDERS})
