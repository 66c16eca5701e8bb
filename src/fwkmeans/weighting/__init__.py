"""How feature weights follow from dispersions: one rule per file."""

from typing import TYPE_CHECKING

from fwkmeans._support.lazy import names_of
from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.entropy import EntropyWeights
from fwkmeans.weighting.fixed import FixedWeights
from fwkmeans.weighting.group_entropy import GroupEntropyWeights
from fwkmeans.weighting.power import ClusterPowerWeights, SharedPowerWeights
from fwkmeans.weighting.radius import RadiusWeights
from fwkmeans.weighting.self_adjusting import SelfAdjustingWeights
from fwkmeans.weighting.uniform import UniformWeights

if TYPE_CHECKING:
    from fwkmeans.weighting.synclus import StressWeights

    #: Every weight rule of the package, by name.
    WEIGHT_RULES: dict[str, type[WeightRule]]

__all__ = [
    "WEIGHT_RULES",
    "ClusterPowerWeights",
    "EntropyWeights",
    "FixedWeights",
    "GroupEntropyWeights",
    "RadiusWeights",
    "SelfAdjustingWeights",
    "SharedPowerWeights",
    "StressWeights",
    "UniformWeights",
    "WeightRule",
]

__getattr__, __dir__ = names_of(
    __name__,
    {"StressWeights": "synclus"},
    {
        "WEIGHT_RULES": {
            "uniform": "UniformWeights",
            "fixed": "FixedWeights",
            "stress": "StressWeights",
            "shared-power": "SharedPowerWeights",
            "cluster-power": "ClusterPowerWeights",
            "radius": "RadiusWeights",
            "entropy": "EntropyWeights",
            "self-adjusting": "SelfAdjustingWeights",
            "group-entropy": "GroupEntropyWeights",
        }
    },
)
