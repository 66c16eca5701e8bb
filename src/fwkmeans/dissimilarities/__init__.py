"""How far a row is from a center."""

from fwkmeans.dissimilarities.directions import UnitSquaredEuclidean
from fwkmeans.dissimilarities.euclidean import SquaredEuclidean

#: Every dissimilarity of the package, by name.
DISSIMILARITIES = {
    "squared-euclidean": SquaredEuclidean,
    "unit-squared-euclidean": UnitSquaredEuclidean,
}

__all__ = ["DISSIMILARITIES", "SquaredEuclidean", "UnitSquaredEuclidean"]
