"""The parts of an algorithm, and whether they fit together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fwkmeans.typing import (
    Assignment,
    BoolArray,
    CenterRule,
    Description,
    Dissimilarity,
    IntArray,
    LastLabels,
    Source,
    WeightRuleProtocol,
)

_METHODS = {
    "dissimilarity": (
        "accumulation",
        "labelling",
        "farthest",
        "distances",
        "dispersion",
        "combine",
        "rounding",
        "bind",
        "needs_labels",
        "statistics",
    ),
    "center": ("update", "bind", "minimises", "unique", "needs"),
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
        "memoryless",
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

    @property
    def monotone(self) -> bool:
        """Whether no step raises the objective."""
        descends = getattr(self.dissimilarity, "descends", True)
        return descends and self.weighting.monotone and self.center.minimises(self.dissimilarity)

    def take(self, starts: IntArray | BoolArray) -> Recipe:
        """Return the recipe for these starts of the batch only."""
        return self._replace(weighting=self.weighting.take(starts))


def bind_parts(recipe: Recipe, source: Source, table: Description) -> tuple[Recipe, Description]:
    """Return the recipe with dissimilarity and centers bound to the table, and the table they see.

    The center of the whole table and the dispersions about it depend on both parts; categories are
    counted here for the first time.
    """

    def bound(to: Description) -> Recipe:
        dissimilarity, center = recipe.dissimilarity.bind(to), recipe.center.bind(to)
        return recipe._replace(dissimilarity=dissimilarity, center=center)

    parts = bound(table)
    means = getattr(parts.center, "is_mean", False) and not parts.dissimilarity.needs_labels
    if means and table.layout.is_numeric:
        return parts, table  # which has means already, and sums of squares about them
    table = _described(parts, source, table)
    return bound(table), table


def _described(recipe: Recipe, source: Source, table: Description) -> Description:
    """Return the description with center and scatter from one cluster of all rows."""
    layout = table.layout
    one = np.ones((1, 1, layout.n_features))
    everything = Assignment(table.center[None, None], one, np.zeros((1, 1)), np.ones(1))
    last = LastLabels.of_one_start(source.n_rows)
    statistics = source.reduce(recipe.dissimilarity.accumulation(everything, last=last))
    if not layout.is_numeric:
        several = layout.sums((statistics.counts[0, 0] > 0).astype(np.float64)) > 1
        maximum = layout.features(layout.numbers_of(table.maximum), several.astype(np.float64))
        table = table._replace(maximum=maximum)
    centers = recipe.center.update(statistics, everything, source)
    scatter = recipe.dissimilarity.dispersion(statistics, everything, centers, source, table)
    return table._replace(center=centers[0, 0], scatter=scatter[0, 0])


def check_recipe(recipe: Recipe) -> None:
    """Raise a sentence that names the part and what it lacks."""
    for role, names in _METHODS.items():
        part = getattr(recipe, role)
        missing = [n for n in names if not (hasattr(type(part), n) or hasattr(part, n))]
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
