"""Fit a model; what it warns of becomes notes."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError


class Warned(NamedTuple):
    """What a fit warned of."""

    text: str
    is_in_summary: bool  # which says it in better words


def fit_and_collect(pipeline: Any, features: Any) -> tuple[Any, list[Warned]]:
    """Fit in place; return the rows as the last step saw them, and the warnings."""
    from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning, NoVaryingColumnError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = pipeline[:-1].fit_transform(features)
        except NoVaryingColumnError:
            raise InputError(
                "No column varies: all rows are the same. Give a table whose rows differ."
            ) from None
        pipeline[-1].fit(rows)
    known = FewerClustersWarning, NotConvergedWarning
    found = [
        Warned(" ".join(str(one.message).split()), issubclass(one.category, known))
        for one in caught
    ]
    return rows, list(dict.fromkeys(found))
