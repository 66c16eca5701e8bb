"""How far a row is from a center."""

from fwkmeans.dissimilarities.euclidean import SquaredEuclidean

#: Every dissimilarity of the package, by name.
DISSIMILARITIES = {"squared-euclidean": SquaredEuclidean}

__all__ = ["DISSIMILARITIES", "SquaredEuclidean"]
