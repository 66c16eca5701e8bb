"""Initial centers and weights."""

from fwkmeans._init.anomalous import Pattern, anomalous_patterns, anomalous_start
from fwkmeans._init.entities import (
    Candidates,
    candidates_of,
    chance_drawn,
    random_entities,
    spread_entities,
)
from fwkmeans._init.seeds import Seeds
from fwkmeans._init.weights import initial_weights

#: Functions that choose rows as initial centers, by the value of `init`. (`"anomalous"` is not
#: among them: it needs the parts of the algorithm, and may also give weights.)
INITIALIZATIONS = {"k-means++": spread_entities, "random": random_entities}

__all__ = [
    "INITIALIZATIONS",
    "Candidates",
    "Pattern",
    "Seeds",
    "anomalous_patterns",
    "anomalous_start",
    "candidates_of",
    "chance_drawn",
    "initial_weights",
    "random_entities",
    "spread_entities",
]
