"""Center rules: how the center of a cluster follows from its rows."""

from typing import TYPE_CHECKING

from fwkmeans._support.lazy import names_of
from fwkmeans.centers.mean import MeanCenter
from fwkmeans.centers.minkowski import MinkowskiCenter

if TYPE_CHECKING:
    from fwkmeans.centers.direction import DirectionCenter

    #: Every center rule of the package, by name.
    CENTER_RULES: dict[str, type]

__all__ = ["CENTER_RULES", "DirectionCenter", "MeanCenter", "MinkowskiCenter"]

__getattr__, __dir__ = names_of(
    __name__,
    {"DirectionCenter": "direction"},
    {
        "CENTER_RULES": {
            "mean": "MeanCenter",
            "minkowski": "MinkowskiCenter",
            "direction": "DirectionCenter",
        }
    },
)
