"""Dissimilarities: how far a row is from a center."""

from fwkmeans.dissimilarities.directions import UnitSquaredEuclidean
from fwkmeans.dissimilarities.minkowski import Minkowski, SquaredEuclidean

#: Every dissimilarity of the package, by name.
DISSIMILARITIES = {
    "squared-euclidean": SquaredEuclidean,
    "minkowski": Minkowski,
    "unit-squared-euclidean": UnitSquaredEuclidean,
}

__all__ = ["DISSIMILARITIES", "Minkowski", "SquaredEuclidean", "UnitSquaredEuclidean"]
