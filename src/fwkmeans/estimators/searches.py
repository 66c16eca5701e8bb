"""A search by `score` is warned of where its scores cannot be compared."""

from __future__ import annotations

import sys
from collections.abc import Mapping
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
            if searched and _is_first(frame.f_locals):
                warn_user(
                    f"Candidates for {', '.join(searched)} are compared by score, which is minus "
                    "the objective. How large the objective is depends on the parameter itself "
                    "(with more clusters or a larger beta, for example, it is smaller anyway), so "
                    "the best score does not mean the best clusters. Use "
                    "fwkmeans.selection.LabelFreeSearch, or give the search scoring= that "
                    "compares labels.",
                    IncomparableScoresWarning,
                )
            return
        if frame.f_back is None:
            return
        frame = frame.f_back


def _is_first(arguments: Mapping[str, Any]) -> bool:
    """Tell whether this is the first of all fits, where scikit-learn counts them."""
    counted = (arguments.get(name) for name in ("candidate_progress", "split_progress"))
    return all(one is None or one[0] == 0 for one in counted)


def _changing(parameters: Any) -> list[str]:
    names = parameters if isinstance(parameters, dict) else {}
    return [name for name in names if name.rpartition("__")[2] not in _NEUTRAL]
