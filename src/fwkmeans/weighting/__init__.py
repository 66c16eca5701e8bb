"""How feature weights follow from dispersions: one rule per file."""

from fwkmeans.weighting.base import WeightRule
from fwkmeans.weighting.entropy import EntropyWeights
from fwkmeans.weighting.fixed import FixedWeights
from fwkmeans.weighting.group_entropy import GroupEntropyWeights
from fwkmeans.weighting.power import ClusterPowerWeights, SharedPowerWeights
from fwkmeans.weighting.radius import RadiusWeights
from fwkmeans.weighting.self_adjusting import SelfAdjustingWeights
from fwkmeans.weighting.synclus import StressWeights
from fwkmeans.weighting.uniform import UniformWeights

#: Every weight rule of the package, by name.
WEIGHT_RULES: dict[str, type[WeightRule]] = {
    "uniform": UniformWeights,
    "fixed": FixedWeights,
    "stress": StressWeights,
    "shared-power": SharedPowerWeights,
    "cluster-power": ClusterPowerWeights,
    "radius": RadiusWeights,
    "entropy": EntropyWeights,
    "self-adjusting": SelfAdjustingWeights,
    "group-entropy": GroupEntropyWeights,
}

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
