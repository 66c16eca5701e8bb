"""The paragraphs that the docstrings of all estimators share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)

_PARAMETERS = {
    "n_clusters": """n_clusters : int or None, default=8
    Number of clusters. With None and ``init="anomalous"`` it is the number of anomalous patterns
    that have at least two rows.""",
    "init": """init : {"k-means++", "random", "anomalous"}, array or callable, default="k-means++"
    Initial centers. "k-means++" draws rows that are far from each other, by greedy k-means++; of
    large tables, among candidates drawn from all rows. "random" draws rows at random. "anomalous"
    takes the largest anomalous patterns, which are always the same (see `IMWKMeans`). An array or
    frame of shape (n_clusters, n_features) is used as it is. A callable is called as
    ``init(X, n_clusters, random_state=...)`` and returns the centers.""",
    "n_init": """n_init : int or "auto", default="auto"
    Number of starts. They run together as one batch, and the one with the lowest objective is kept.
    "auto" is 1 if `init` is an array or "anomalous". Otherwise, starts of tables of 900 rows and 90
    for each cluster race: 10 or 20 begin on a sample, and the best go on to all rows. On
    smaller tables 10 starts have all rows. A race takes little longer than one start, and its
    objective is on average that of ten; `n_iter_` and `objective_history_` are those on all
    rows.""",
    "weight_init": """weight_init : {"uniform", "random"} or array, default="uniform"
    Initial feature weights: equal, drawn at random for every start, or an array of shape
    (n_features,) or (n_clusters, n_features). They are scaled to sum to one.""",
    "max_iter": """max_iter : int, default=300
    Maximum number of iterations.""",
    "tol": """tol : float, default=1e-6
    A run ends when the objective falls by no more than `tol` times its weighted dispersion. With 0
    it continues until labels, centers and weights no longer change.""",
    "categorical_features": """categorical_features : "from_dtype", None, names, indices or mask, \
default="from_dtype"
    Columns that hold categories. "from_dtype" chooses the Categorical, Enum, String and Boolean
    columns of a pandas or polars frame, and the text and Boolean columns of an array.""",
    "category_weight": """category_weight : "balanced" or float, default="balanced"
    What the dissimilarity of categories is multiplied by. "balanced" gives every categorical column
    the influence of one column: its factor makes its scatter, the sum of dissimilarities from the
    center of the whole table, equal to the mean scatter of the numeric columns (or of the
    categorical ones, if no numeric column varies). 1 is as published.""",
    "missing": """missing : {"error", "ignore", "rescale"}, default="error"
    What to do with missing cells (NaN, None). "error" raises an error. With "ignore" a missing cell
    contributes nothing, and the dissimilarity of its row is multiplied by the number of features
    divided by the number of observed ones; this factor also weights the row in centers and
    dispersions. "rescale" divides by the observed share of the cluster's weights instead, in the
    assignment only. This is better if weights are very unequal, but the steps then have no common
    objective, and it may rise.""",
    "missing_category": """missing_category : {"same", "own"}, default="same"
    Whether a missing category is treated like a missing number ("same") or as a category of its own
    ("own"), which is named None.""",
    "handle_unknown": """handle_unknown : {"ignore", "error"}, default="ignore"
    What `predict`, `transform`, `score` and later batches of `partial_fit` do with a category that
    `fit` (the first batch) has not seen. "ignore" treats it as different from every cluster, like
    the row of zeros that `sklearn.preprocessing.OneHotEncoder` gives; "error" raises an error.""",
    "n_jobs": """n_jobs : int, default=None
    Number of threads, at most: small tables keep few busy. None means all cores that the process
    may run on, or ``OMP_NUM_THREADS`` if that is fewer, as in `sklearn.cluster.KMeans`. Results are
    the same to the bit for any number.""",
    "verbose": """verbose : int, default=0
    With 1 each batch of starts is logged, with 2 each iteration, to the logger "fwkmeans".""",
    "random_state": """random_state : int, RandomState instance or None, default=None
    Determines the random starts. Pass an int to get the same result every time.""",
    "copy_x": """copy_x : bool, default=True
    Accepted so that code for `sklearn.cluster.KMeans` runs. It has no effect, because X is never
    changed.""",
    "algorithm": """algorithm : {"lloyd", "elkan"}, default="lloyd"
    Accepted so that code for `sklearn.cluster.KMeans` runs. It has no effect: both are exact and
    give the same result, and the one implementation decides by itself what it can skip.""",
}

_MIXED = """category_frequencies_ : dict
    For each categorical column, by name (or position), the frequencies of its categories in each
    cluster, as a dict from category to an array of shape (n_clusters_,). (If a column holds both 1
    and True, which are the same key, the keys are their `repr`.)
modes_ : dict
    For each categorical column, a list with the most frequent category of each cluster."""

_ATTRIBUTES = """labels_ : ndarray of shape (n_samples,), int32
    Cluster of each row; equal to ``predict(X)``.
cluster_centers_ : ndarray of shape (n_clusters_, n_features)
    Centers, in the floating point type of X{categorical}.
n_clusters_ : int
    Number of clusters.
feature_weights_ : ndarray of shape (n_clusters_, n_features), float64
    {weights} A feature that is constant over the table has weight 0.
inertia_ : float
    The objective at the returned labels, centers and weights; equal to ``-score(X)``. It is a sum
    over rows, the entries of `objective_history_` are made of sums over clusters: after
    convergence, the last of them is the same but for rounding.
objective_history_ : ndarray of shape (n_iter_,)
    The objective after each weight step.
n_iter_ : int
    Number of iterations of the best start.
converged_ : bool
    Whether the best start converged before `max_iter`, and did not go in circles.
n_features_in_ : int
    Number of features seen during `fit`.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if all columns of X have names that are strings."""


def documented(weights: str, **replaced: str) -> Callable[[Estimator], Estimator]:
    """Fill ``{parameters}`` and ``{attributes}`` in a class docstring.

    Parameters
    ----------
    weights : str
        A sentence that says what the rows of ``feature_weights_`` are.
    **replaced : str
        Paragraphs about parameters that have another meaning in this class.

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
