"""Many fits of one estimator: starts and values of a parameter."""

from fwkmeans.selection.sweep import Sweep, sweep

__all__ = ["Sweep", "sweep"]
