"""Shallow copies of parts."""

from __future__ import annotations

from typing import Any, TypeVar

from fwkmeans._support.checks import one_value_a_start

Part = TypeVar("Part")


def copied(part: Part) -> Part:
    """Return a shallow copy.

    `copy.copy` of an estimator asks for its state and takes ten times as long, which counts in
    fits of small tables.
    """
    new: Part = object.__new__(type(part))
    new.__dict__.update(part.__dict__)
    return new


def of_starts(part: Part, starts: Any) -> Part:
    """Return a part for some starts of a batch, if its parameters have one value per start."""
    # not `get_params`, which takes long
    batched = {k: v[starts] for k, v in vars(part).items() if one_value_a_start(v)}
    if not batched:
        return part
    some = copied(part)
    some.__dict__.update(batched)
    return some
