"""The survey's eight characteristics of an algorithm, as estimators declare them."""

from __future__ import annotations

from typing import NamedTuple


class Traits(NamedTuple):
    """The eight characteristics that the survey considers desirable."""

    no_parameter: bool
    deterministic: bool
    distance_bias: bool
    several_weights: bool
    finds_groups: bool
    learns_all_weights: bool
    categorical: bool
    weighs_groups: bool


#: The meaning of each, in the survey's order.
MEANING = {
    "no_parameter": "No extra parameter to choose",
    "deterministic": "Deterministic",
    "distance_bias": "Accepts different distance bias",
    "several_weights": "At least two weights per feature",
    "finds_groups": "Groups features automatically",
    "learns_all_weights": "Calculates all weights it uses",
    "categorical": "Supports categorical features",
    "weighs_groups": "Analyses groups of features",
}
