"""Many fits of one estimator: many starts at many values of a parameter."""

from fwkmeans.selection.sweep import Sweep, sweep

__all__ = ["Sweep", "sweep"]
