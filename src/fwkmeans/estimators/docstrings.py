"""The paragraphs that the documentation of every estimator shares."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)

_PARAMETERS = {
    "n_clusters": """n_clusters : int or None, default=8
    Number of clusters. None, with ``init="anomalous"``, takes as many as there are anomalous
    patterns of two rows or more.""",
    "init": """init : {"k-means++", "random", "anomalous"}, array or callable, default="k-means++"
    Initial centers: rows spread by greedy k-means++ (it looks at 100 000 rows at most), rows drawn
    at random, the most populous anomalous patterns (always the same; see `IMWKMeans`), exactly
    these (array or frame of shape (n_clusters, n_features)), or those that
    ``init(X, n_clusters, random_state=...)`` returns.""",
    "n_init": """n_init : int or "auto", default="auto"
    Number of starts, run together as a batch; the one with the lowest objective is kept. "auto" is
    1 if `init` is an array or "anomalous", else 10.""",
    "weight_init": """weight_init : {"uniform", "random"} or array, default="uniform"
    Initial feature weights: equal, drawn at random for every start, or these, of shape
    (n_features,) or (n_clusters, n_features); scaled to sum to one.""",
    "max_iter": """max_iter : int, default=300
    Number of iterations at most.""",
    "tol": """tol : float, default=1e-6
    A run ends when the objective falls by no more than `tol` times its weighted dispersion.
    0 goes on until labels, centers and weights stand still.""",
    "categorical_features": """categorical_features : "from_dtype", None, names, indices or mask, \
default="from_dtype"
    Columns that hold categories. "from_dtype" takes the Categorical, Enum, String and Boolean
    columns of a frame (pandas, polars) and the text and Boolean columns of an array.""",
    "missing": """missing : {"error", "ignore", "rescale"}, default="error"
    What to do with missing cells (NaN, None). "error" raises. "ignore": a missing cell contributes
    nothing, and the row's dissimilarity is multiplied by the number of features over those
    observed; this factor weights the row in centers and dispersions too. "rescale" divides by the
    observed share of the cluster's weights instead, in the assignment only: better where weights
    are very unequal, but then no objective is common to all steps, and it may rise.""",
    "missing_category": """missing_category : {"same", "own"}, default="same"
    Whether a missing category is treated like a missing number, or as a category of its own
    (named None).""",
    "handle_unknown": """handle_unknown : {"ignore", "error"}, default="ignore"
    What `predict`, `transform` and `score` do with a category that `fit` has not seen. "ignore": it
    is none of the categories, so that it differs from every cluster (as the row of zeros of
    `sklearn.preprocessing.OneHotEncoder` does); "error" raises.""",
    "n_jobs": """n_jobs : int, default=None
    Number of threads. None is every core the process may run on (or ``OMP_NUM_THREADS`` if that is
    fewer), as in `sklearn.cluster.KMeans`. Results are the same to the bit for any number.""",
    "verbose": """verbose : int, default=0
    1 logs each batch of starts, 2 each iteration, to the logger "fwkmeans".""",
    "random_state": """random_state : int, RandomState instance or None, default=None
    Determines the starts. Pass an int for results that repeat.""",
    "copy_x": """copy_x : bool, default=True
    Accepted so that code for `sklearn.cluster.KMeans` runs. X is never changed, whatever it is.""",
    "algorithm": """algorithm : {"lloyd", "elkan"}, default="lloyd"
    Accepted so that code for `sklearn.cluster.KMeans` runs. Both are exact and give the same
    result, so there is one implementation, which chooses for itself what it need not compute.""",
}

_MIXED = """category_frequencies_ : dict
    For each categorical column, by name (or position), the frequencies of its categories in each
    cluster: a dict from category to an array of shape (n_clusters_,). (If a column holds both 1
    and True, which are one key, the keys are their `repr`.)
modes_ : dict
    For each categorical column the most frequent category of each cluster, a list."""

_ATTRIBUTES = """labels_ : ndarray of shape (n_samples,), int32
    Cluster of each row; equal to ``predict(X)``.
cluster_centers_ : ndarray of shape (n_clusters_, n_features)
    Centers, in the floating point type of X{categorical}.
n_clusters_ : int
    Number of clusters.
feature_weights_ : ndarray of shape (n_clusters_, n_features), float64
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
        mixed = "categorical_features" in names
        attributes = _ATTRIBUTES.replace("{weights}", weights)
        attributes = attributes.replace("{categorical}", "; NaN for categories" if mixed else "")
        cls.__doc__ = doc.replace(
            "{attributes}", f"{attributes}\n{_MIXED}" if mixed else attributes
        )
        return cls

    return fill
