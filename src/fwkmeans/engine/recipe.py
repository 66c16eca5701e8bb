"""The parts of an algorithm, and whether they fit together."""

from __future__ import annotations

from typing import NamedTuple

from fwkmeans._typing import CenterRule, Dissimilarity, WeightRuleProtocol

_METHODS = {
    "dissimilarity": (
        "accumulation",
        "labelling",
        "farthest",
        "distances",
        "dispersion",
        "statistics",
    ),
    "center": ("update", "needs"),
    "weighting": (
        "update",
        "observe",
        "bind",
        "take",
        "initial",
        "normalize",
        "effective",
        "offsets",
        "objective",
        "yardstick",
        "shared",
        "monotone",
    ),
}


_EXAMPLES = {
    "dissimilarity": "fwkmeans.dissimilarities.SquaredEuclidean()",
    "center": "fwkmeans.centers.MeanCenter()",
    "weighting": "fwkmeans.weighting.EntropyWeights()",
}


class Recipe(NamedTuple):
    """An algorithm: dissimilarity + center rule + weight rule."""

    dissimilarity: Dissimilarity
    center: CenterRule
    weighting: WeightRuleProtocol


def check_recipe(recipe: Recipe) -> None:
    """Raise a sentence that names the part and what it lacks."""
    for role, names in _METHODS.items():
        part = getattr(recipe, role)
        missing = [name for name in names if not hasattr(part, name)]
        if isinstance(part, type):
            raise TypeError(f"{role}={part.__name__} is a class; give an instance of it.")
        if isinstance(part, str):
            raise TypeError(
                f"{role}={part!r} is a string; give an instance of a part, such as "
                f"{_EXAMPLES[role]}."
            )
        if missing:
            hint = " Derive it from fwkmeans.weighting.WeightRule." if role == "weighting" else ""
            raise TypeError(
                f"{role}={part!r} cannot be used as {role}: it has no {', '.join(missing)}.{hint}"
            )
    lacking = [need for need in recipe.center.needs if need not in recipe.dissimilarity.statistics]
    if lacking:
        raise TypeError(
            f"{recipe.center!r} needs the statistics {', '.join(lacking)}, which "
            f"{recipe.dissimilarity!r} does not collect."
        )
