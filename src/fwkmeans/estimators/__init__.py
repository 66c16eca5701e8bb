"""The algorithms of the survey behind the scikit-learn interface."""

from typing import TYPE_CHECKING, Any

from fwkmeans._support.lazy import names_of

if TYPE_CHECKING:
    from fwkmeans.estimators.auto import AutoKMeans
    from fwkmeans.estimators.awk import AWKMeans
    from fwkmeans.estimators.convex import ConvexKMeans
    from fwkmeans.estimators.ewk import EWKMeans
    from fwkmeans.estimators.feature_groups import group_features
    from fwkmeans.estimators.fgk import FGKMeans
    from fwkmeans.estimators.fwsa import FWSAKMeans
    from fwkmeans.estimators.general import FeatureWeightedKMeans
    from fwkmeans.estimators.ikp import IKPrototypes
    from fwkmeans.estimators.imwk import IMWKMeans
    from fwkmeans.estimators.kmeans import KMeans
    from fwkmeans.estimators.synclus import SYNCLUS
    from fwkmeans.estimators.wk import WKMeans

    #: Every named algorithm of the package, by the survey's name.
    ALGORITHMS: dict[str, Any]

__all__ = [
    "ALGORITHMS",
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
    "group_features",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "SYNCLUS": "synclus",
        "AWKMeans": "awk",
        "AutoKMeans": "auto",
        "ConvexKMeans": "convex",
        "EWKMeans": "ewk",
        "FGKMeans": "fgk",
        "FWSAKMeans": "fwsa",
        "FeatureWeightedKMeans": "general",
        "IKPrototypes": "ikp",
        "IMWKMeans": "imwk",
        "KMeans": "kmeans",
        "WKMeans": "wk",
        "group_features": "feature_groups",
    },
    {
        "ALGORITHMS": {
            "K-Means": "KMeans",
            "SYNCLUS": "SYNCLUS",
            "CK-Means": "ConvexKMeans",
            "AWK": "AWKMeans",
            "WK-Means": "WKMeans",
            "EW-KM": "EWKMeans",
            "IK-P": "IKPrototypes",
            "iMWK-Means": "IMWKMeans",
            "FWSA": "FWSAKMeans",
            "FG-K-Means": "FGKMeans",
        }
    },
)
