"""Errors and warnings that programs may want to tell apart."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["FewerClustersWarning", "NoVaryingColumnError", "NotConvergedWarning"]


class NoVaryingColumnError(ValueError):
    """Every column of a table is constant or missing in all rows."""


class NotConvergedWarning(ConvergenceWarning):
    """A fit was stopped by `max_iter`."""


class FewerClustersWarning(ConvergenceWarning):
    """A fit found fewer clusters than were asked for."""
