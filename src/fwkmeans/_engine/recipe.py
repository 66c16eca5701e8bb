"""The parts of an algorithm, and the check that they fit together."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from fwkmeans._support.warn import silent_overflow
from fwkmeans.typing import (
    Assignment,
    BoolArray,
    CenterRule,
    Description,
    Dissimilarity,
    IntArray,
    KeptLabels,
    Source,
    WeightRuleProtocol,
    get_protocol_members,
)

_ROLES: dict[str, tuple[type, str]] = {
    "dissimilarity": (Dissimilarity, "fwkmeans.dissimilarities.SquaredEuclidean()"),
    "center": (CenterRule, "fwkmeans.centers.MeanCenter()"),
    "weighting": (WeightRuleProtocol, "fwkmeans.weighting.EntropyWeights()"),
}


class Recipe(NamedTuple):
    """An algorithm: dissimilarity + center rule + weight rule."""

    dissimilarity: Dissimilarity
    center: CenterRule
    weighting: WeightRuleProtocol

    @property
    def monotone(self) -> bool:
        """Whether no step raises the objective."""
        return (
            self.dissimilarity.descends
            and self.weighting.monotone
            and self.center.minimizes(self.dissimilarity)
        )

    @property
    def operations(self) -> set[str]:
        """Operations that the kernels must offer, beside those that every algorithm needs."""
        return {name for part in self for name in part.operations}

    def take(self, starts: IntArray | BoolArray) -> Recipe:
        """Return the recipe for some starts of the batch."""
        return Recipe(
            self.dissimilarity.take(starts), self.center.take(starts), self.weighting.take(starts)
        )


def bind_parts(recipe: Recipe, source: Source, table: Description) -> tuple[Recipe, Description]:
    """Return the recipe with dissimilarity and center rule bound to the table, and its description.

    The center of the whole table and the scatter about it depend on both parts. Categories are
    counted here for the first time.
    """

    def bound(to: Description) -> Recipe:
        return Recipe(recipe.dissimilarity.bind(to), recipe.center.bind(to), recipe.weighting)

    parts = bound(table)
    means = parts.center.is_mean and not parts.dissimilarity.needs_labels
    if means and table.layout.is_numeric:
        return parts, table  # it already has the means, and the sums of squares about them
    with silent_overflow():
        table = _described(parts, source, table)
        table = _with_category_scale(table, getattr(recipe.dissimilarity, "category_weight", 1.0))
    return bound(table), table


def _described(recipe: Recipe, source: Source, table: Description) -> Description:
    """Return the description with the center and scatter of one cluster that has all rows."""
    layout = table.layout
    one = np.ones((1, 1, layout.n_features))
    everything = Assignment(table.center[None, None], one, np.zeros((1, 1)), np.ones(1))
    counting = recipe.dissimilarity.accumulation(everything, labels=KeptLabels.new(1))
    statistics, source = source.run(counting)
    statistics = statistics._replace(changed=np.zeros(1, np.int64))  # the mean is known already
    if not layout.is_numeric:
        several = layout.sums((statistics.counts[0, 0] > 0).astype(np.float64)) > 1
        maximum = layout.features(layout.numbers_of(table.maximum), several.astype(np.float64))
        table = table._replace(maximum=maximum)
    centers = recipe.center.update(statistics, everything, source)
    scatter = recipe.dissimilarity.dispersion(statistics, everything, centers, source, table)
    return table._replace(center=centers[0, 0], scatter=scatter[0, 0])


def _with_category_scale(table: Description, weight: float | str) -> Description:
    """Return the description with the factors of categories, which its scatter contains.

    "balanced" gives every categorical feature the mean scatter of the numeric ones, or that of the
    categorical ones if no numeric feature varies.
    """
    layout, varies = table.layout, (table.span > 0) & (table.scatter > 0)
    own = layout.categories_of(table.scatter)
    if layout.is_numeric or weight == 1 or not varies.any():
        return table
    if weight == "balanced":
        numbers = layout.numbers_of(table.scatter)[layout.numbers_of(varies)]
        usual = numbers if numbers.size else own[own > 0]
        scale = np.divide(usual.mean(), own, out=np.ones_like(own), where=own > 0)
    else:
        scale = np.full(own.shape, float(weight))
    scatter = layout.features(layout.numbers_of(table.scatter), scale * own)
    return table._replace(scatter=scatter, category_scale=scale)


@functools.cache
def _lacking(part: Any, contract: Any) -> tuple[str, ...]:
    """Return the names that a part must have and its class has not."""
    return tuple(name for name in sorted(get_protocol_members(contract)) if not hasattr(part, name))


def check_recipe(recipe: Recipe, source: Source) -> None:
    """Raise an error that names the part, and what the part or the source lacks."""
    for role, (contract, example) in _ROLES.items():
        part = getattr(recipe, role)
        kind: Any = type(part)
        if not _lacking(kind, contract):
            continue  # a class has another type, and lacks some of them
        if isinstance(part, type):
            raise TypeError(f"{role}={part.__name__} is a class; give an instance of it.")
        if isinstance(part, str):
            raise TypeError(
                f"{role}={part!r} is a string; give an instance of a part, such as {example}."
            )
        missing = [name for name in _lacking(kind, contract) if not hasattr(part, name)]
        if missing:
            hint = " Derive it from fwkmeans.weighting.WeightRule." if role == "weighting" else ""
            raise TypeError(
                f"{role}={part!r} cannot be used as {role}: it has no {', '.join(missing)}.{hint}"
            )
    if recipe.center.operations and not set(recipe.center.operations) <= set(
        recipe.dissimilarity.operations
    ):
        raise TypeError(
            f"{recipe.center!r} needs the labels of the rows ({', '.join(recipe.center.operations)}"
            f"), which are not kept for {recipe.dissimilarity!r}. Give both parts the same p."
        )
    for part in recipe:
        if not part.operations:
            continue
        lacking = [name for name in part.operations if name not in source.operations]
        if lacking:
            raise TypeError(
                f"{part!r} needs {', '.join(lacking)} of the rows, which {type(source).__name__} "
                "cannot give. Take another algorithm, or give the rows as a dense array."
            )
