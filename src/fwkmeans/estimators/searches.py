"""A search by `score` is warned of where its scores cannot be compared."""

from __future__ import annotations

import sys
from typing import Any

from fwkmeans._support.warn import warn_user
from fwkmeans.exceptions import IncomparableScoresWarning

#: Parameters that leave the objective what it is.
_NEUTRAL = {
    *("init", "n_init", "max_iter", "tol", "random_state", "n_jobs", "verbose"),
    *("algorithm", "copy_x", "weight_init", "max_iter_start", "few_patterns", "pattern_ties"),
}
#: Frames between `score` and scikit-learn's function that fits and scores a candidate.
_MOST_FRAMES = 20


def warn_if_searched() -> None:
    """Warn if `score` was called to compare values of a parameter that changes the objective."""
    frame = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        if frame.f_code.co_name == "_fit_and_score":
            searched = _changing(frame.f_locals.get("parameters"))
            if searched:
                warn_user(
                    f"Candidates for {', '.join(searched)} are compared by score, which is minus "
                    "the objective. How large the objective is depends on the parameter itself "
                    "(with a larger beta, for example, it is always smaller), so the best score "
                    "does not mean the best clusters. Use fwkmeans.selection.LabelFreeSearch, or "
                    "give the search scoring= that compares labels.",
                    IncomparableScoresWarning,
                )
            return
        if frame.f_back is None:
            return
        frame = frame.f_back


def _changing(parameters: Any) -> list[str]:
    names = parameters if isinstance(parameters, dict) else {}
    return [name for name in names if name.rpartition("__")[2] not in _NEUTRAL]
