"""Pictures of models, as matplotlib displays.

A display has `from_estimator` for a fitted model and `from_predictions` for numbers from anywhere;
both draw. ``ax=`` draws into axes you already have, and the display keeps the numbers.
matplotlib is imported when something is drawn: ``pip install "fwkmeans[plot]"``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fwkmeans.plotting.cluster_map import ClusterMapDisplay
    from fwkmeans.plotting.cluster_profiles import ClusterProfilesDisplay
    from fwkmeans.plotting.feature_weights import FeatureWeightsDisplay
    from fwkmeans.plotting.objective_history import ObjectiveHistoryDisplay
    from fwkmeans.plotting.parameter_curve import ParameterCurveDisplay
    from fwkmeans.plotting.partition_agreement import PartitionAgreementDisplay

__all__ = [
    "ClusterMapDisplay",
    "ClusterProfilesDisplay",
    "FeatureWeightsDisplay",
    "ObjectiveHistoryDisplay",
    "ParameterCurveDisplay",
    "PartitionAgreementDisplay",
]

#: The module of each display. It is imported when the display is first used: a report needs none.
_MODULES = {
    "ClusterMapDisplay": "cluster_map",
    "ClusterProfilesDisplay": "cluster_profiles",
    "FeatureWeightsDisplay": "feature_weights",
    "ObjectiveHistoryDisplay": "objective_history",
    "ParameterCurveDisplay": "parameter_curve",
    "PartitionAgreementDisplay": "partition_agreement",
}


def __getattr__(name: str) -> Any:
    """Import a display."""
    if name in _MODULES:
        return getattr(import_module(f"fwkmeans.plotting.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'fwkmeans.plotting' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is there, imported or not."""
    return sorted({*globals(), *__all__})
