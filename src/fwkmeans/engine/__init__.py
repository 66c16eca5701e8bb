"""One loop for every algorithm."""

from fwkmeans.engine.loop import Outcome, Run, alternate, first_lowest
from fwkmeans.engine.recipe import Recipe, bind_parts, check_recipe
from fwkmeans.engine.state import assignment_of
from fwkmeans.engine.tally import keeps_labels

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
