"""The errors and warnings that have a name of their own."""

from __future__ import annotations

__all__ = ["InvalidParameterError", "UnequalSpreadWarning"]


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
