"""How far a row is from a center."""

from fwkmeans.dissimilarities.minkowski import Minkowski, SquaredEuclidean

#: Every dissimilarity of the package, by name.
DISSIMILARITIES = {"squared-euclidean": SquaredEuclidean, "minkowski": Minkowski}

__all__ = ["DISSIMILARITIES", "Minkowski", "SquaredEuclidean"]
