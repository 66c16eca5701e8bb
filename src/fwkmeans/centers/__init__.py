"""Center rules: how the center of a cluster follows from its rows."""

from fwkmeans.centers.direction import DirectionCenter
from fwkmeans.centers.mean import MeanCenter
from fwkmeans.centers.minkowski import MinkowskiCenter

#: Every center rule of the package, by name.
CENTER_RULES = {
    "mean": MeanCenter,
    "minkowski": MinkowskiCenter,
    "direction": DirectionCenter,
}

__all__ = ["CENTER_RULES", "DirectionCenter", "MeanCenter", "MinkowskiCenter"]
