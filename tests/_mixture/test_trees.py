"""Cuts of trees, and what normal clusters score on them, against slow loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from fwkmeans._mixture import Cuts, WardTree
from fwkmeans._mixture.singles import EXPECTED, LOG_2PI, PRIOR_ROWS
from fwkmeans._mixture.trees import EVERY_NUMBER, LEAST_ROWS, NARROW, is_even
from mixture_samples import sample_of
from textbook_tables import made


def cuts_of(numbers, codes=None, weight=None):
    return Cuts(sample_of(numbers, codes, weight, counting=True, widest=0.0))


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 40])
def test_cuts_are_those_of_scipy(rng, n_clusters):
    rows = rng.normal(size=(40, 3))
    wanted = fcluster(linkage(rows, "ward"), n_clusters, "maxclust")
    assert adjusted_rand_score(wanted, WardTree(rows).cut(n_clusters)) == 1.0


def test_rows_without_columns_are_one_cluster():
    assert_array_equal(WardTree(np.empty((5, 0))).cut(3), np.zeros(5))


def densities(rest, weight, variance, kernel, expected):
    """The expected log density of rows about their mean, and the prior of a covariance."""
    size = len(expected)
    inverse, log_det = np.linalg.inv(variance), np.linalg.slogdet(variance)[1]
    far = np.einsum("ij,jk,ik->i", rest, inverse, rest) + (np.diag(inverse) * kernel).sum()
    log = -0.5 * weight @ (far + log_det + size * LOG_2PI)
    above = log_det - np.log(expected).sum() + (np.diag(inverse) * expected).sum() - size
    return log - 0.5 * PRIOR_ROWS * above


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_clusters", [1, 2, 5])
def test_scores_are_likelihoods_of_labels_and_rows_less_their_price(rng, n_clusters, weighted):
    labels = np.arange(90) % 5
    numbers = 6.0 * rng.normal(size=(5, 3))[labels] + rng.normal(size=(90, 3)) @ np.triu(
        np.ones((3, 3))
    )
    codes = (labels[:, None] + rng.integers(0, 2, (90, 1))) % 5
    weight = rng.uniform(0.2, 2.0, 90) if weighted else np.ones(90)
    cuts = cuts_of(numbers, codes, weight)
    score, sample = cuts.of_tree[n_clusters], cuts._sample
    found = cuts.partitions(n_clusters)[0]
    weight, log_n = sample.weight, np.log(90)
    unit = np.sqrt(sample.variance)
    kernel = sample.kernel / unit**2
    expected = EXPECTED * n_clusters ** (-2 / 3) + kernel
    rows = sample.rows.numbers / unit
    mass = np.array([weight[found == k].sum() for k in range(n_clusters)])
    rest = rows.copy()
    for k in range(n_clusters):
        rest[found == k] -= np.average(rows[found == k], axis=0, weights=weight[found == k])
    shares = mass @ np.log(mass / mass.sum()) - 0.5 * (n_clusters - 1) * log_n
    counts = np.array(
        [
            [weight[(found == k) & (codes[:, 0] == c)].sum() for c in range(5)]
            for k in range(n_clusters)
        ]
    )
    table = counts.sum(axis=0) / counts.sum()
    logs = (counts + table) / (counts + table).sum(axis=1, keepdims=True)
    told = ((counts + table) * np.log(logs)).sum() - 0.5 * n_clusters * 4 * log_n
    null = 90 * (table * np.log(table)).sum() - 0.5 * 4 * log_n
    same = shares + max(told, null)

    def scatter(here):
        return (rest[here] * weight[here, None]).T @ rest[here]

    def covariance(here, times=1.0):
        total = weight[here].sum()
        whole = scatter(here) + np.diag(total * kernel + PRIOR_ROWS * times * expected)
        return whole / (total + PRIOR_ROWS * times)

    everything = np.ones(90, dtype=bool)
    tied = densities(rest, weight, covariance(everything), kernel, expected)
    own = sum(
        densities(rest[found == k], weight[found == k], covariance(found == k), kernel, expected)
        for k in range(n_clusters)
    )
    assert_allclose(score.tied, same + tied - 0.5 * (n_clusters * 3 + 6) * log_n)
    assert_allclose(score.own, same + own - 0.5 * n_clusters * (3 + 6) * log_n)
    single = 0.0
    for v in range(3):
        at = np.array([v])
        common = densities(
            rest[:, at], weight, covariance(everything)[at][:, at], kernel[at], expected[at]
        )
        alone = sum(
            densities(
                rest[found == k][:, at],
                weight[found == k],
                covariance(found == k)[at][:, at],
                kernel[at],
                expected[at],
            )
            for k in range(n_clusters)
        )
        noise = sample.null[v] + 90 * np.log(unit[v]) - 1.5 * log_n
        single += max(common - 0.5 * (n_clusters + 1) * log_n, alone - n_clusters * log_n, noise)
    assert_allclose(score.single, same + single)


def test_a_cluster_of_its_own_shape_is_the_join_that_loses_least(rng):
    """The last joins, found again by trying all pairs."""
    numbers = made("cross").rows[:120]
    cuts = cuts_of(numbers)
    for n_clusters in (6, 3, 2):
        before = cuts.partitions(n_clusters + 1)[1]
        clumps = cuts._clumps(before)
        expected = cuts._expected(len(cuts._joined) + 1)
        value = cuts._worth(clumps, expected)
        best = -np.inf, None
        for a in range(n_clusters + 1):
            for b in range(a):
                both = np.where(before == a, b, before)
                together = cuts._clumps(np.unique(both, return_inverse=True)[1].ravel())
                loss = cuts._worth(together, expected).sum() - value.sum()
                best = max(best, (loss, both.tolist()), key=lambda one: one[0])
        assert adjusted_rand_score(best[1], cuts.partitions(n_clusters)[1]) == 1.0


@pytest.mark.parametrize(
    "name", ["r15", "8 in 1, 240 rows, 10 apart, own", "12 in 10, 720 rows, 12 apart, equal"]
)
def test_cuts_promise_the_number_of_clear_clusters(name):
    table = made(name)
    cuts = cuts_of(table.rows)
    assert cuts.best_numbers()[0] == table.n_clusters
    assert adjusted_rand_score(table.classes, cuts.best(table.n_clusters).labels) > 0.97


@pytest.mark.parametrize("name", ["lsun", "cross", "zigzag 3", "parallel 3", "own correlations"])
def test_shapes_grow_from_pieces(name):
    table = made(name)
    best = cuts_of(table.rows).best(table.n_clusters)
    assert best.has_shapes
    assert adjusted_rand_score(table.classes, best.labels) > 0.6


def test_every_number_is_looked_at_that_leaves_rows_enough(rng):
    cuts = cuts_of(rng.normal(size=(400, 2)))
    numbers = sorted(cuts.of_tree)
    assert numbers[:EVERY_NUMBER] == list(range(1, EVERY_NUMBER + 1))
    assert numbers[-1] == 400 // LEAST_ROWS
    assert (np.diff(numbers) <= 0.05 * np.array(numbers[1:]) + 1).all()


def test_a_kernel_hides_no_cluster(rng):
    """It is narrow where clusters are tight, and stays where there are none, or few values."""
    labels = np.arange(400) % 20
    tight = np.column_stack([labels + 0.05 * rng.normal(size=400), rng.normal(size=400)])
    sample = sample_of(tight)
    widest = cuts_of(tight).widest(20, sample)
    assert widest[0] < 0.1 * sample.kernel[0]
    one = sample_of(rng.normal(size=(400, 2)))
    assert (cuts_of(rng.normal(size=(400, 2))).widest(1, one) > one.kernel).all()
    few = np.column_stack([labels % 5, tight[:, 0]])
    narrow = sample_of(few, widest=np.zeros(2))
    assert narrow.kernel[0] == sample_of(few).kernel[0]
    assert narrow.kernel[1] == narrow.step[1] < sample_of(few).kernel[1]


def test_a_kernel_is_a_small_part_of_the_short_axis_of_a_shape(rng):
    table = made("cross")
    cuts, sample = cuts_of(table.rows), sample_of(table.rows)
    labels = cuts.best(2).labels
    left = [
        1 / np.diag(np.linalg.inv(np.cov(sample.rows.numbers[labels == k].T))) for k in range(2)
    ]
    shares = np.bincount(labels) / labels.size
    assert_allclose(cuts.widest(2, sample), NARROW * np.exp(shares @ np.log(left)), rtol=0.1)


def test_a_partition_with_a_tiny_cluster_is_uneven():
    assert is_even(np.repeat([0, 1], [10, 90]), 2)
    assert not is_even(np.repeat([0, 1], [9, 91]), 2)
