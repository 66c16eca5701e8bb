"""The survey's data: 13 tables from UCI, its Gaussian clusters, and its noise features."""

from fwkmeans.datasets.gaussians import SURVEY_CONFIGURATIONS, make_survey_gaussians
from fwkmeans.datasets.noise import add_noise_features
from fwkmeans.datasets.uci import list_uci, load_uci

__all__ = [
    "SURVEY_CONFIGURATIONS",
    "add_noise_features",
    "list_uci",
    "load_uci",
    "make_survey_gaussians",
]
