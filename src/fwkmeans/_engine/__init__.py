"""The alternating loop that runs every algorithm."""

from fwkmeans._engine.loop import Outcome, Run, alternate, first_lowest
from fwkmeans._engine.recipe import Recipe, bind_parts, check_recipe
from fwkmeans._engine.state import assignment_of
from fwkmeans._engine.statistics import keeps_labels

__all__ = [
    "Outcome",
    "Recipe",
    "Run",
    "alternate",
    "assignment_of",
    "bind_parts",
    "check_recipe",
    "first_lowest",
    "keeps_labels",
]
