"""Errors and warnings that you may want to catch or silence by name."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "DominantColumnWarning",
    "FewerClustersWarning",
    "IncomparableScoresWarning",
    "InvalidParameterError",
    "ModelFileError",
    "NoVaryingColumnError",
    "NotConvergedWarning",
    "UnequalSpreadWarning",
]


class InvalidParameterError(ValueError, TypeError):
    """A parameter has an invalid value.

    It is both a ValueError and a TypeError, like scikit-learn's, so that callers need not guess
    whether ``beta="2"`` is a wrong value or a wrong type.
    """


class ModelFileError(ValueError):
    """A model file is damaged, is not a model, or is of a later version."""


class UnequalSpreadWarning(UserWarning):
    """Some columns spread more than 100 times as widely as others, and so decide the clusters.

    To silence it if the units are right::

        warnings.simplefilter("ignore", fwkmeans.exceptions.UnequalSpreadWarning)
    """


class IncomparableScoresWarning(UserWarning):
    """A search compares candidates by the objective, whose size depends on the parameter."""


class DominantColumnWarning(UserWarning):
    """One column has more than 90 % of the weight of a cluster.

    It decides alone which rows belong there, unless it varies so much less than the other columns
    that the weight only makes up for its units; the warning says which.

    To silence it if that is what you want::

        warnings.simplefilter("ignore", fwkmeans.exceptions.DominantColumnWarning)
    """


class NoVaryingColumnError(ValueError):
    """Every column of a table is constant, or missing in all rows."""


class NotConvergedWarning(ConvergenceWarning):
    """A fit reached `max_iter` before it converged, or went in circles."""


class FewerClustersWarning(ConvergenceWarning):
    """A fit found fewer clusters than `n_clusters`, or than the table may have."""
