"""Feature-weighted K-Means: clustering that learns which columns matter.

Every estimator follows scikit-learn's interface and takes NumPy arrays, pandas and polars frames,
or the path of a ``.npy`` file that is read in blocks.
"""

from importlib.metadata import PackageNotFoundError, version

from fwkmeans.estimators import (
    SYNCLUS,
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
)

try:
    __version__ = version("fwkmeans")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "SYNCLUS",
    "AWKMeans",
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
]
