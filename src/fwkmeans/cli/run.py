"""Run a model; what it warns of becomes notes."""

from __future__ import annotations

import warnings
from typing import Any

from fwkmeans.cli.errors import InputError

__all__ = ["fitted"]


def fitted(pipeline: Any, features: Any) -> list[str]:
    """Fit in place; return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pipeline.fit(features)
        except ValueError as error:
            if "constant or wholly missing" in str(error):
                raise InputError(
                    "No column varies: all rows are the same. Give a table whose rows differ."
                ) from None
            raise
    return list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
