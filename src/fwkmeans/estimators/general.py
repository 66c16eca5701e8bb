"""The estimator for your own parts."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from fwkmeans._engine import Recipe
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans
from fwkmeans.estimators.docstrings import documented
from fwkmeans.sources import SparseSource
from fwkmeans.typing import Description, Source
from fwkmeans.weighting import UniformWeights


@documented("What the weight rule returned for the best start.")
class FeatureWeightedKMeans(BaseFeatureWeightedKMeans):
    """K-Means with a dissimilarity, a center rule and a weight rule of your choice.

    The named algorithms are fixed choices of these parts. You can set the parameters of a part by
    names such as ``weighting__gamma``.

    Parameters
    ----------
    {n_clusters}
    weighting : WeightRule, default=None
        How feature weights follow from dispersions; None is `UniformWeights`. See
        `fwkmeans.weighting` for the available rules, and `WeightRule` for how to write one.
    dissimilarity : Dissimilarity, default=None
        How far a row is from a center; None is `SquaredEuclidean`, with balanced categories.
    center : CenterRule, default=None
        How centers follow from rows; None is `MeanCenter`.
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    EWKMeans : The same as ``weighting=EntropyWeights()``.

    Notes
    -----
    The weight rule determines the objective, and whether it can rise. An iteration costs O(N K M)
    plus the cost of the rule.

    Examples
    --------
    >>> from fwkmeans import FeatureWeightedKMeans
    >>> from fwkmeans.datasets import load_uci
    >>> from fwkmeans.weighting import EntropyWeights
    >>> X = load_uci("iris").data
    >>> model = FeatureWeightedKMeans(3, weighting=EntropyWeights(), random_state=0)
    >>> model.set_params(weighting__gamma=10.0).fit(X).feature_weights_.shape
    (3, 4)
    """

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        weighting: Any = None,
        dissimilarity: Any = None,
        center: Any = None,
        init: Any = "k-means++",
        n_init: Any = "auto",
        weight_init: Any = "uniform",
        max_iter: int = 300,
        tol: float = 1e-6,
        categorical_features: Any = "from_dtype",
        missing: str = "error",
        missing_category: str = "same",
        handle_unknown: str = "ignore",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weighting = weighting
        self.dissimilarity = dissimilarity
        self.center = center
        self.init = init
        self.n_init = n_init
        self.weight_init = weight_init
        self.max_iter = max_iter
        self.tol = tol
        self.categorical_features = categorical_features
        self.missing = missing
        self.missing_category = missing_category
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _why_no_stream(self) -> str | None:
        parts = (self.dissimilarity, self.center, self.weighting)
        if any(getattr(part, "operations", ()) for part in parts):
            return "its parts read the rows several times"
        return None if getattr(self.center, "is_mean", True) else "its centers are not means"

    def _why_not_sparse(self) -> str | None:
        for part in (self.dissimilarity, self.center, self.weighting):
            lacking = set(getattr(part, "operations", ())) - SparseSource.operations
            if lacking:
                return f"{part!r} computes {', '.join(sorted(lacking))} from every cell"
        return None

    def _recipe(self, source: Source, table: Description) -> Recipe:
        # clones: a fitted model must not change when somebody changes the part that was passed
        return Recipe(
            SquaredEuclidean(category_weight="balanced")
            if self.dissimilarity is None
            else _own(self.dissimilarity),
            MeanCenter() if self.center is None else _own(self.center),
            UniformWeights() if self.weighting is None else _own(self.weighting),
        )


def _own(part: Any) -> Any:
    return part if isinstance(part, type) else clone(part, safe=False)
