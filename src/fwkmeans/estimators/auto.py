"""Clusters without a parameter: the number of clusters, the groups of features and their types."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fwkmeans._engine import Recipe
from fwkmeans._mixture import (
    COUNTING,
    COUNTING_SHAPES,
    FAMILIES,
    ColumnCuts,
    Copies,
    Cuts,
    Family,
    Fit,
    Sample,
    Table,
    encoded_sample,
    factor_null,
    fit_family,
    fixed_sample,
    polish,
)
from fwkmeans._support.agreement import mean_agreement
from fwkmeans._support.arrays import is_dask
from fwkmeans._support.checks import NONE, SOME_NUMBERS, integer
from fwkmeans._support.progress import show_progress
from fwkmeans._support.threads import one_blas_thread
from fwkmeans._support.warn import warn_user
from fwkmeans.centers import MeanCenter
from fwkmeans.dissimilarities import SquaredEuclidean
from fwkmeans.estimators.auto_doubts import doubts_of
from fwkmeans.estimators.auto_explanation import (
    Explanation,
    categorical_places,
    explanation_of,
    marginals_of,
)
from fwkmeans.estimators.auto_rows import Densities, Sums, table_of
from fwkmeans.estimators.auto_starts import Starts
from fwkmeans.estimators.base import BaseFeatureWeightedKMeans, logger
from fwkmeans.estimators.categories import describe_categories
from fwkmeans.estimators.docstrings import documented
from fwkmeans.estimators.inputs import source_of_gaps
from fwkmeans.estimators.plan import bound_parts
from fwkmeans.estimators.traits import Traits
from fwkmeans.exceptions import FewerClustersWarning, NotConvergedWarning
from fwkmeans.sources import count_faults
from fwkmeans.typing import (
    Description,
    FloatArray,
    LabelArray,
    Source,
    Weights,
)
from fwkmeans.weighting import ClusterPowerWeights

#: Rows on which partitions, structures and the number of clusters are looked for.
SAMPLE_ROWS = 2000
#: Clusters of a mixture at most when their number is looked for, and those that are always tried.
MOST_CLUSTERS, LEAST_TRIED = 100, 6
#: Intervals that a single column is cut into at most.
MOST_INTERVALS = 12
#: Numbers beside the best on either side that are tried.
PATIENCE = 2
#: Steps in which a mixture of a sample is fitted to all rows.
STEPS_ON_ALL_ROWS = 100
#: Mean agreements that differ by less are equal, and the first family is taken.
CLOSE = 0.02


@documented(
    "How much the feature's distribution in the cluster differs from that in the whole table, as a "
    "share of the cluster's total; 0 for noise.",
    n_clusters="""n_clusters : int, tuple or None, default=None
    Number of clusters; None looks for it, and (lowest, highest) for the best of these numbers, all
    of which are tried.""",
    handle_unknown="""handle_unknown : {"ignore", "error"}, default="ignore"
    What `predict`, `transform` and `score` do with a category that `fit` has not seen: count it as
    a missing cell, or raise an error.""",
    verbose="""verbose : int, default=0
    With 1 the numbers of clusters and mixtures that are tried are logged to "fwkmeans".""",
)
class AutoKMeans(BaseFeatureWeightedKMeans):
    r"""Clusters of a table as it is: nothing to choose, not even the number of clusters.

    A mixture model with groups of features is fitted, and every row goes to its likeliest cluster.
    Features may be numbers in any unit, categories, and have missing cells. Features that say
    nothing about the clusters are found and count as noise; features that vary together within
    clusters are found and form a group with a shape of its own.

    Nothing is left to chance: the same table gives the same result to the bit.

    Parameters
    ----------
    {n_clusters}
    {parameters}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row; equal to ``predict(X)``.
    n_clusters_ : int
        Number of clusters.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        Means of the rows of each cluster, in the units of X; NaN for categories.
    feature_weights_ : ndarray of shape (n_clusters_, n_features), float64
        How much the distribution of the feature in the cluster differs from that in the whole
        table (its Kullback-Leibler divergence), as a share of the cluster's total. 0 for noise; all
        equal if there is but one cluster.
    groups_ : dict
        The features of each group, by the number of the group; a feature that is alone is a group,
        too.
    group_types_ : list of str
        What clusters share in each group. "noise": everything; "tied": the spread; "vol": the
        shape; "spec": nothing.
    group_weights_ : ndarray of shape (n_clusters_, n_groups)
        Sums of the weights of the features of each group.
    noise_ : ndarray of shape (n_features,), bool
        Features that say nothing about the clusters, constant ones included.
    criterion_ : float
        The criterion of the chosen mixture on the rows it was looked for with; higher is better.
    criteria_ : dict
        The criterion for every number of clusters that was tried: those that were asked for, or the
        first six, those that partitions of a tree promise, and some beside the best.
    stopped_ : bool
        Whether larger numbers of clusters might suit the table, but were left out for their cost.
    candidates_ : dict
        For each family of mixtures: its ``criterion`` and its ``agreement``, the mean adjusted Rand
        index with the others and with two partitions of K-Means; 0 if half of its clusters have no
        rows. The one with the highest agreement was chosen, or the first at most 0.02 behind.
    chosen_ : str
        Its name.
    inertia_ : float
        Minus the log-likelihood of the rows; equal to ``-score(X)``.
    objective_history_ : ndarray of shape (n_iter_,)
        Minus the criterion in every iteration of the chosen mixture. It falls, but where the
        structure changes, where a cluster is dissolved and another one split, and where the chosen
        mixture is taken from a sample to all rows.
    n_iter_ : int
        Number of these iterations.
    converged_ : bool
        Whether the last iteration raised the criterion by less than 0.002, or a millionth of the
        number of rows if that is more.
    doubts_ : list of Doubt
        What speaks against the result, each with its ``kind`` and ``figures``; `explain` has the
        sentences. "one cloud": no gap separates the clusters, so one skewed or bent cloud explains
        the table as well; "pieces": there are gaps, but not between some of the clusters, which
        may be pieces of curved shapes; "number", "partition": other numbers of clusters, or other
        clusters, whose criterion is less than 3 lower; "copies", "one column": a column of
        categories, with those that say nearly the same, has more than 80 % of the weight.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if all columns of X have names that are strings.
    category_frequencies_ : dict
        For each categorical column, by name (or position), the frequencies of its categories in
        each cluster, as a dict from category to an array of shape (n_clusters_,).
    modes_ : dict
        For each categorical column, a list with the most frequent category of each cluster.

    See Also
    --------
    KMeans : All features count the same.
    EWKMeans : Learned weights in each cluster, for a given number of clusters.

    Notes
    -----
    The criterion is the log-likelihood of a mixture with a weak prior, less half the number of its
    parameters times the logarithm of the number of rows (BIC). Given the structure, memberships
    and parameters are found in turn (EM), and each step raises the criterion; rows that lack some
    columns of a group are the exception, as they do not take part in estimating its shape. Given
    the memberships, groups are joined greedily while the criterion gains.

    No one mixture is right for all tables, and their criteria do not tell which: a rich one may
    spend a cluster on a few odd rows and score best. So six families are fitted (normal groups on
    plain and on compressed columns, both again with differences below a tenth of a column's range
    blurred, blurred single features, and columns that share a few factors), each from several
    partitions (Ward's in two scalings, and what K-Means and EW-KM reach from them). As long as the
    criterion rises, a cluster is dissolved and another one split. Then the family is taken that
    agrees most with the others and with K-Means in two scalings; of some that agree about equally
    the first in this order. This choice, and that of starts without tiny clusters, maximize no
    common criterion. The number of clusters is that of the highest criterion of a seventh family,
    whose groups have common spreads and may be heavy-tailed; one cluster may also have columns that
    share a few factors.

    `transform` returns distances to the centers, with every feature in units of its standard
    deviation and its square multiplied by its weight. The likeliest cluster of a row need not be
    the nearest one, because clusters differ in size and shape.

    Sample weights are relative: they are scaled to a mean of one over the rows that have weight. So
    doubling all of them changes nothing, although a table with every row twice would count as more
    evidence for small differences.

    A table of more than 2000 rows is studied on a fixed sample of as many; then the chosen mixture
    is fitted to all rows. Of a table outside of memory it is fitted to 64 MiB of rows, always the
    same ones; labels and centers are those of all rows.

    Examples
    --------
    >>> from fwkmeans import AutoKMeans
    >>> from fwkmeans.datasets import add_noise_features, load_uci
    >>> X = add_noise_features(load_uci("wine").data, random_state=0)
    >>> model = AutoKMeans().fit(X)
    >>> model.n_clusters_
    3
    >>> int(model.noise_[:13].sum()), int(model.noise_[13:].sum())
    (0, 13)
    """

    traits = Traits(
        no_parameter=True,
        deterministic=True,
        distance_bias=True,
        several_weights=True,
        finds_groups=True,
        learns_all_weights=True,
        categorical=True,
        weighs_groups=True,
    )

    missing = "ignore"  # a missing cell says nothing; not a parameter

    n_clusters: Any  # a number, the lowest and highest of some, or None
    _constraints: ClassVar = {"n_clusters": integer(1) | SOME_NUMBERS | NONE}

    def __init__(
        self,
        n_clusters: int | tuple[int, int] | None = None,
        *,
        categorical_features: Any = "from_dtype",
        missing_category: str = "same",
        handle_unknown: str = "ignore",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.categorical_features = categorical_features
        self.missing_category = missing_category
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.verbose = verbose

    def predict(self, X: Any, *, device: Any = None) -> LabelArray:
        """Return the likeliest cluster of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.
        device : str, default=None
            AutoKMeans runs on the CPU only; anything but None is refused.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the cluster of each row; the lowest on ties.
        """
        if is_dask(X):
            check_is_fitted(self)
            later: LabelArray = self._compute_later("predict", X)
            return later
        labels: LabelArray = self._seen_by_mixture(X, None, "labels", device)[1].gather("labels")
        return labels

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each cluster for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_clusters_)
            They sum to one in each row.
        """
        if is_dask(X):
            check_is_fitted(self)
            later: FloatArray = self._compute_later("predict_proba", X, self.n_clusters_)
            return later
        _, source = self._seen_by_mixture(X, None, "probabilities")
        probabilities: FloatArray = source.gather("probabilities")
        return probabilities

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, device: Any = None
    ) -> float:
        """Return the log-likelihood of rows, in the features that are not noise.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weight of each row.
        device : str, default=None
            AutoKMeans runs on the CPU only; anything but None is refused.

        Returns
        -------
        score : float
            On the rows of `fit` this is ``-inertia_``.
        """
        return self._seen_by_mixture(X, sample_weight, device=device)[0].likelihood

    def explain(self) -> Explanation:
        """Return which features form groups, which are noise, and what separates the clusters.

        Returns
        -------
        explanation : Explanation
            ``print`` shows sentences; the attributes ``groups``, ``noise``, ``pairs``, ``number``
            and ``doubts`` hold the same as lists of dicts.
        """
        check_is_fitted(self)
        names = self._names
        if names is None:
            names = [f"column {v}" for v in range(self.n_features_in_)]
        return explanation_of(self, [str(name) for name in names])

    _runs_on_device = False

    # ---- the fit --------------------------------------------------------------------------------

    def _why_no_stream(self) -> str | None:
        return "it fits a mixture model to all rows"

    def _why_not_sparse(self) -> str | None:
        return "it fits densities to every column"

    def _recipe(self, source: Source, table: Description) -> Recipe:
        # for distances only: the weights of each cluster, as they are
        return Recipe(SquaredEuclidean(), MeanCenter(), ClusterPowerWeights(beta=1.0))

    def _fit(self, X: Any, sample_weight: Any, device: Any = None) -> None:
        self._check_parameters()
        given = self._opened(X, sample_weight, reset=True, device=device)
        source, description = self._described(given, reset=True)
        asked = self.n_clusters
        least = asked[0] if isinstance(asked, tuple) else asked
        if least is not None and description.n_rows < least:
            raise ValueError(
                f"n_samples={description.n_rows} (rows with weight) should be >= "
                f"n_clusters={asked}. Ask for fewer clusters."
            )
        table = table_of(given.source)
        with show_progress(self.verbose), one_blas_thread(), np.errstate(under="ignore"):
            # one thread: sums are then the same to the bit on any number of cores
            search = _Search(table, self.n_jobs)
            if search.needs_copies(asked):
                search = _Search(table, self.n_jobs, search.copies.apart())
            self.criteria_ = search.criteria(asked)
            self.stopped_ = asked is None and search.promised > MOST_CLUSTERS
            if isinstance(asked, int | np.integer):
                n_clusters = int(asked)
            else:
                n_clusters = max(self.criteria_, key=lambda n: (self.criteria_[n], -n))
            self.chosen_, self.candidates_ = search.chosen(n_clusters)
            sample, fit = search.on_all_rows(self.chosen_, n_clusters)
            self._set_mixture(sample, fit, table)
            found = self._set_public(given.source, source, description)
        if self.stopped_:
            warn_user(
                f"AutoKMeans stopped at {MOST_CLUSTERS} clusters, because more take long; a quick "
                f"look says that {search.promised} may suit the table better. If you expect so "
                f"many, give their number, such as n_clusters={search.promised}.",
                FewerClustersWarning,
            )
        if found < n_clusters:
            warn_user(
                f"Number of distinct clusters ({found}) found smaller than "
                f"n_clusters ({n_clusters}): no row is likeliest to be in the others. Ask "
                "for fewer clusters.",
                FewerClustersWarning,
            )
        if not self.converged_:
            warn_user(
                f"AutoKMeans did not converge in {self.n_iter_} iterations: its criterion still "
                "rises. Rows between two clusters may have the wrong label; see predict_proba.",
                NotConvergedWarning,
            )

    def _set_mixture(self, sample: Sample, fit: Fit, table: Table) -> None:
        self._encoding, self._mixture = sample.encoding, fit.parameters
        self._marginals = marginals = marginals_of(sample, fit, table.layout)
        self.n_clusters_ = fit.membership.shape[1]
        self.criterion_ = fit.criterion
        self.objective_history_ = -np.array(fit.history)
        self.n_iter_ = len(fit.history)
        self.converged_ = fit.converged
        if not self.criteria_:
            self.criteria_ = {self.n_clusters_: fit.criterion}
        total = marginals.divergence.sum(axis=1, keepdims=True)
        self.feature_weights_ = np.divide(
            marginals.divergence,
            total,
            out=np.full_like(marginals.divergence, 1.0 / table.layout.n_features),
            where=total > 0,
        )
        self.groups_ = {g: group.columns for g, group in enumerate(marginals.groups)}
        self.group_types_ = [group.type for group in marginals.groups]
        sums = [self.feature_weights_[:, at].sum(axis=1) for at in self.groups_.values()]
        self.group_weights_ = np.stack(sums, axis=1)
        self.noise_ = np.ones(table.layout.n_features, dtype=bool)
        for group in marginals.groups:
            self.noise_[group.columns] = group.type == "noise"
        self.doubts_ = doubts_of(
            sample,
            fit,
            self.criteria_,
            self.feature_weights_,
            marginals.between,
            categorical_places(sample, table.layout),
        )

    def _set_public(self, given: Source, source: Source, description: Description) -> int:
        """Set the attributes that depend on all rows; return how many clusters have any."""
        sums, labeled = given.run(self._densities(given, "labels"))
        self.labels_ = labeled.gather("labels")
        self.inertia_ = -sums.likelihood
        layout, recipe = given.layout, self._recipe(source, description)
        self._parts, self._table = bound_parts(self, recipe, source, description)
        self._memory = {}
        centers = np.full((self.n_clusters_, layout.n_features), np.nan)
        centers[:, layout.numeric] = sums.means(layout.numbers_of(description.mean))
        self.cluster_centers_ = centers.astype(source.dtype)
        self._frequencies = sums.frequencies(layout)
        scatter = self._table.scatter / sums.mass
        self._metric = np.divide(
            self.feature_weights_,
            scatter,
            out=np.zeros_like(self.feature_weights_),
            where=scatter > 0,
        )
        self.category_frequencies_, self.modes_ = describe_categories(self, source, sums.levels)
        return int(np.count_nonzero(sums.n_rows))

    def _weights(self) -> Weights:
        return Weights(self._metric[None], self._memory)

    # ---- rows -----------------------------------------------------------------------------------

    def _densities(self, source: Source, keep: str = "") -> Densities:
        n_levels = source.layout.n_levels
        return Densities(self._encoding, self._mixture, self.n_clusters_, n_levels, keep)

    def _seen_by_mixture(
        self, X: Any, sample_weight: Any, keep: str = "", device: Any = None
    ) -> tuple[Sums, Source]:
        """Return what the mixture says of new rows, and a source that keeps it for each of them."""
        check_is_fitted(self)
        source = self._opened(X, sample_weight, reset=False, device=device).source
        source_of_gaps(self, source, self._view, count_faults(source), reset=False)  # checks it
        with np.errstate(under="ignore"):
            return source.run(self._densities(source, keep))


class _Search:
    """Mixtures of a table, on a sample of its rows."""

    def __init__(self, table: Table, n_jobs: int | None, copies: Copies | None = None) -> None:
        self._table = table
        here = fixed_sample(table.weight, SAMPLE_ROWS)
        self.n_rows = here.size
        self._here = here
        plain = encoded_sample(table, here, compress=False, copies=copies)
        self.copies = plain.copies
        compressed = encoded_sample(table, here, compress=True, copies=self.copies)
        self._plain = {False: plain, True: compressed}
        self._samples: dict[tuple[bool, bool, bool, int], Sample] = {}
        self._cuts = Cuts(self._sample(compressed, counting=True, widest=0.0))
        self._starts = Starts(plain, self._cuts, n_jobs)
        self._tried: dict[tuple[Family, int], Fit] = {}
        self._columns: ColumnCuts | None = None
        self._counted: dict[int, LabelArray] = {}

    def needs_copies(self, n_clusters: int | tuple[int, int] | None) -> bool:
        """Tell whether there are no clusters unless many near copies of a column count each.

        Three columns or more that say nearly the same may all tell of the clusters. They count as
        one only if the table has clusters all the same.
        """
        if n_clusters == 1 or (self.copies.apart().near == self.copies.near).all():
            return False
        if isinstance(n_clusters, int | np.integer):
            return self._criterion(int(n_clusters)) <= self._criterion(1)
        return max(self.criteria(n_clusters).values()) <= self._criterion(1)

    @property
    def promised(self) -> int:
        """The number of clusters that cuts of a tree promise, however many these are."""
        return self._cuts.best_numbers()[0]

    def criteria(self, asked: int | tuple[int, int] | None) -> dict[int, float]:
        """Return the criterion of the counting family for numbers of clusters.

        If no number is asked for, these are the first ones and those that cuts of a tree promise;
        then those beside the best. If only one is, there is nothing to compare.
        """
        found: dict[int, float] = {}
        if isinstance(asked, tuple):
            least, most = asked
            return {n: self._criterion(n) for n in range(least, min(most, self.n_rows) + 1)}
        if asked is not None:
            return found
        most = min(MOST_CLUSTERS, self.n_rows)
        numbers = [n for n in (*range(1, LEAST_TRIED + 1), *self._cuts.best_numbers()) if n <= most]
        while numbers:
            for n_clusters in dict.fromkeys(numbers):
                found[n_clusters] = self._criterion(n_clusters)
                logger.info("%d clusters: criterion %.6g", n_clusters, found[n_clusters])
            best = max(found, key=lambda n: (found[n], -n))
            near = range(max(1, best - PATIENCE), min(most, best + PATIENCE) + 1)
            numbers = [n for n in near if n not in found]
        return dict(sorted(found.items()))

    def _criterion(self, n_clusters: int) -> float:
        has_shapes = self._cuts.best(self.promised).has_shapes
        family = COUNTING_SHAPES if has_shapes else COUNTING
        found = self._best(family, n_clusters).criterion
        if n_clusters > 1:
            return found
        return max(found, factor_null(self._sample_for(family, 1)))

    def chosen(self, n_clusters: int) -> tuple[str, dict[str, dict[str, float]]]:
        """Return the family whose mixture agrees most with the others, and what is known of all.

        Partitions of K-Means vote, too, but are not chosen; or the cut of the tree instead, if
        clusters of their own shape score best there. Mixtures that lost half of the clusters
        neither vote nor are chosen, unless all have.
        """
        fits = {family.name: self._best(family, n_clusters) for family in FAMILIES}
        whole = np.array([2 * np.unique(fit.labels).size > n_clusters for fit in fits.values()])
        whole |= not whole.any()
        voters = [
            fit.labels for fit, may_vote in zip(fits.values(), whole, strict=True) if may_vote
        ]
        cut = self._cuts.best(n_clusters)
        voters += [cut.labels] * 2 if cut.has_shapes else self._starts.by_kmeans(n_clusters)
        agreement = np.zeros(len(fits))
        agreement[whole] = mean_agreement(voters)[: whole.sum()]
        about = {
            name: {"criterion": fit.criterion, "agreement": float(value)}
            for (name, fit), value in zip(fits.items(), agreement, strict=True)
        }
        near = np.flatnonzero(whole & ~(agreement < agreement[whole].max() - CLOSE))[0]
        best = list(fits)[int(near)]
        logger.info("the family %r agrees most with the others (%.2f)", best, agreement[near])
        return best, about

    def on_all_rows(self, name: str, n_clusters: int) -> tuple[Sample, Fit]:
        """Return the mixture of a family, fitted to all rows."""
        family = next(family for family in FAMILIES if family.name == name)
        sample, fit = self._sample_for(family, n_clusters), self._best(family, n_clusters)
        everything = self._table.take(np.flatnonzero(self._table.weight > 0))
        if len(everything.weight) == self.n_rows:
            return sample, fit
        rows = sample.encoding.encode(everything.numbers, everything.levels)
        full = Sample(
            rows,
            sample.encoding,
            everything.weight,
            coarse=family.coarse,
            widest=sample.widest,
            local=sample.local,
            null=sample.null * (len(everything.weight) / self.n_rows),
            copies=sample.copies,
        )
        return full, polish(full, fit, max_iter=STEPS_ON_ALL_ROWS)

    def _sample_for(self, family: Family, n_clusters: int) -> Sample:
        """Return the rows with a kernel that hides no cluster; counted ones all have the same."""
        n = self.promised if family.counting else n_clusters
        key = (family.compress, family.coarse, family.counting, n)
        if key not in self._samples:
            plain = self._plain[family.compress]
            widest = self._cuts.widest(n, plain)
            self._samples[key] = self._sample(
                plain, coarse=family.coarse, counting=family.counting, widest=widest
            )
        return self._samples[key]

    def _sample(self, plain: Sample, **about: Any) -> Sample:
        return Sample(
            plain.rows,
            plain.encoding,
            plain.weight,
            local=plain.local,
            copies=plain.copies,
            **about,
        )

    def _best(self, family: Family, n_clusters: int) -> Fit:
        """Return the best mixture of a family over all starts.

        When clusters are counted, each numeric column is cut, too, so that columns of noise do not
        hide it; where this was done, the partition that was found is a start for the others.
        """
        sample = self._sample_for(family, n_clusters)
        fine = self._sample_for(family._replace(coarse=False), n_clusters)
        as_it_is = family._replace(
            name="",
            compress=bool(sample.encoding.width.any()),
            coarse=not np.array_equal(sample.kernel, fine.kernel),
        )
        key = (as_it_is, n_clusters)  # without heavy tails, or if kernels are equal, two are one
        if key not in self._tried:
            starts = [*self._starts.partitions(n_clusters), *self._more_starts(family, n_clusters)]
            self._tried[key] = fit_family(sample, starts, n_clusters, family)
            if family.counting:
                self._counted[n_clusters] = self._tried[key].labels
        return self._tried[key]

    def _more_starts(self, family: Family, n_clusters: int) -> list[LabelArray]:
        if not family.counting:
            return [self._counted[n_clusters]] if n_clusters in self._counted else []
        if self._columns is None:
            self._columns = ColumnCuts(self._sample_for(family, n_clusters), MOST_INTERVALS)
        cut = self._columns.best(n_clusters)
        return [] if cut is None else [cut]
