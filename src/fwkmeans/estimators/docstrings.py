"""The paragraphs that the documentation of every estimator shares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)

_PARAMETERS = {
    "n_clusters": """n_clusters : int, default=8
    Number of clusters.""",
    "init": """init : {"k-means++", "random"}, array or callable, default="k-means++"
    Initial centers: rows spread by greedy k-means++ (it looks at 100 000 rows at most), rows drawn
    at random, exactly these (array or frame of shape (n_clusters, n_features)), or those that
    ``init(X, n_clusters, random_state=...)`` returns.""",
    "n_init": """n_init : int or "auto", default="auto"
    Number of starts, run together as a batch; the one with the lowest objective is kept. "auto" is
    1 if `init` is an array, else 10.""",
    "weight_init": """weight_init : {"uniform", "random"} or array, default="uniform"
    Initial feature weights: equal, drawn at random for every start, or these, of shape
    (n_features,) or (n_clusters, n_features); scaled to sum to one.""",
    "max_iter": """max_iter : int, default=300
    Number of iterations at most.""",
    "tol": """tol : float, default=1e-6
    A run ends when the objective falls by no more than `tol` times its weighted dispersion.
    0 goes on until labels, centers and weights stand still.""",
    "n_jobs": """n_jobs : int, default=None
    Number of threads. None is every core the process may run on (or ``OMP_NUM_THREADS`` if that is
    fewer). Results are the same to the bit for any number.""",
    "verbose": """verbose : int, default=0
    1 logs each batch of starts, 2 each iteration, to the logger "fwkmeans".""",
    "random_state": """random_state : int, RandomState instance or None, default=None
    Determines the starts. Pass an int for results that repeat.""",
}

_ATTRIBUTES = """labels_ : ndarray of shape (n_samples,), int32
    Cluster of each row; equal to ``predict(X)``.
cluster_centers_ : ndarray of shape (n_clusters, n_features)
    Centers, in the floating point type of X.
feature_weights_ : ndarray of shape (n_clusters, n_features), float64
    {weights} A feature that is constant over the table has weight 0.
inertia_ : float
    The objective at the labels, centers and weights returned; ``-score(X)``.
objective_history_ : ndarray of shape (n_iter_,)
    The objective after each weight step.
n_iter_ : int
    Number of iterations of the best start.
converged_ : bool
    Whether that start came to rest before `max_iter`.
n_features_in_ : int
    Number of features seen during `fit`.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if X has names that are all strings."""


def documented(weights: str, **replaced: str) -> Callable[[Estimator], Estimator]:
    """Fill ``{parameters}`` and ``{attributes}`` in a class docstring.

    Parameters
    ----------
    weights : str
        What the rows of ``feature_weights_`` are.
    **replaced : str
        Paragraphs for parameters that mean something else in this class.

    Returns
    -------
    callable
        The class decorator.
    """

    def fill(cls: Estimator) -> Estimator:
        known = {**_PARAMETERS, **replaced}
        names = [name for name in inspect.signature(cls).parameters if name in known]
        doc = inspect.cleandoc(cls.__doc__ or "")
        doc = doc.replace("{n_clusters}", known["n_clusters"])
        shared = "\n".join(known[name] for name in names if name != "n_clusters")
        doc = doc.replace("{parameters}", shared)
        cls.__doc__ = doc.replace("{attributes}", _ATTRIBUTES.replace("{weights}", weights))
        return cls

    return fill
