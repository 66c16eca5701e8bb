"""Where the starts begin: centers and weights."""

from fwkmeans.init.entities import random_entities, rows_with_weight, spread_entities
from fwkmeans.init.seeds import Seeds
from fwkmeans.init.weights import initial_weights

#: Ways to choose initial centers from the rows, by the name `init` takes.
INITIALISATIONS = {"k-means++": spread_entities, "random": random_entities}

__all__ = [
    "INITIALISATIONS",
    "Seeds",
    "initial_weights",
    "random_entities",
    "rows_with_weight",
    "spread_entities",
]
