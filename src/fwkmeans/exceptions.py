"""The errors and warnings that have a name of their own."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "FewerClustersWarning",
    "InvalidParameterError",
    "NoVaryingColumnError",
    "NotConvergedWarning",
    "UnequalSpreadWarning",
]


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value that it may not have.

    It is both a ValueError and a TypeError, as scikit-learn's is: whether ``beta="2"`` is a wrong
    value or a wrong type is not for the caller to guess.
    """


class UnequalSpreadWarning(UserWarning):
    """Some columns spread over 100 times as widely as others, so that they decide the clusters.

    To silence it once you have decided that the units are right::

        warnings.simplefilter("ignore", fwkmeans.exceptions.UnequalSpreadWarning)
    """


class NoVaryingColumnError(ValueError):
    """Every column of a table is constant or missing in all rows."""


class NotConvergedWarning(ConvergenceWarning):
    """A fit was stopped by `max_iter`."""


class FewerClustersWarning(ConvergenceWarning):
    """A fit found fewer clusters than were asked for."""
