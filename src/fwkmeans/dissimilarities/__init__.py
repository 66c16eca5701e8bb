"""Dissimilarities: how far a row is from a center."""

from typing import TYPE_CHECKING

from fwkmeans._support.lazy import names_of
from fwkmeans.dissimilarities.minkowski import Minkowski, SquaredEuclidean

if TYPE_CHECKING:
    from fwkmeans.dissimilarities.directions import UnitSquaredEuclidean

    #: Every dissimilarity of the package, by name.
    DISSIMILARITIES: dict[str, type]

__all__ = ["DISSIMILARITIES", "Minkowski", "SquaredEuclidean", "UnitSquaredEuclidean"]

__getattr__, __dir__ = names_of(
    __name__,
    {"UnitSquaredEuclidean": "directions"},
    {
        "DISSIMILARITIES": {
            "squared-euclidean": "SquaredEuclidean",
            "minkowski": "Minkowski",
            "unit-squared-euclidean": "UnitSquaredEuclidean",
        }
    },
)
