"""How the center of a cluster follows from its rows."""

from fwkmeans.centers.direction import DirectionCenter
from fwkmeans.centers.mean import MeanCenter

#: Every center rule of the package, by name.
CENTER_RULES = {"mean": MeanCenter, "direction": DirectionCenter}

__all__ = ["CENTER_RULES", "DirectionCenter", "MeanCenter"]
