"""Pictures of models, as matplotlib displays.

A display has `from_estimator` for a fitted model and `from_predictions` for numbers from anywhere;
both draw. ``ax=`` draws into axes you already have, and the display keeps the numbers.
matplotlib is imported when something is drawn: ``pip install "fwkmeans[plot]"``.
"""

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
