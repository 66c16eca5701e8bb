"""The alternating loop that runs every algorithm."""

from fwkmeans._engine.in_core import why_not_in_core
from fwkmeans._engine.loop import ARRAYS_A_PART, alternate, alternate_in_python
from fwkmeans._engine.recipe import Recipe, bind_parts, check_recipe
from fwkmeans._engine.state import Outcome, Run, assignment_of, first_lowest, lowest
from fwkmeans._engine.statistics import keeps_labels

__all__ = [
    "ARRAYS_A_PART",
    "Outcome",
    "Recipe",
    "Run",
    "alternate",
    "alternate_in_python",
    "assignment_of",
    "bind_parts",
    "check_recipe",
    "first_lowest",
    "keeps_labels",
    "lowest",
    "why_not_in_core",
]
