"""The survey's Gaussian clusters."""

from collections import Counter

import numpy as np
import pytest

from fwkmeans.datasets import SURVEY_CONFIGURATIONS, make_survey_gaussians
from fwkmeans.datasets.gaussians import _draw_sizes


@pytest.mark.parametrize("name", SURVEY_CONFIGURATIONS)
def test_configuration_says_its_name(name):
    n_samples, n_features, n_clusters = SURVEY_CONFIGURATIONS[name]
    assert name == f"{n_samples}x{n_features}-{n_clusters}"
    X, y, centers = make_survey_gaussians(
        n_samples, n_features, n_clusters, random_state=3, return_centers=True
    )
    assert X.shape == (n_samples, n_features)
    assert centers.shape == (n_clusters, n_features)
    assert X.dtype == np.float64
    counts = np.bincount(y)
    assert counts.size == n_clusters
    assert counts.min() >= 20


def test_configurations_cannot_be_changed():
    with pytest.raises(TypeError):
        SURVEY_CONFIGURATIONS["500x4-2"] = (1, 1, 1)


@pytest.mark.parametrize(("n_samples", "n_clusters", "minimum"), [(7, 3, 1), (6, 2, 0), (9, 3, 3)])
def test_every_composition_is_equally_likely(n_samples, n_clusters, minimum):
    grid = np.indices((n_samples + 1,) * n_clusters).reshape(n_clusters, -1).T
    allowed = [tuple(row) for row in grid if row.sum() == n_samples and row.min() >= minimum]
    rng = np.random.RandomState(0)
    n_draws = 400 * len(allowed)
    counts = Counter(
        tuple(_draw_sizes(n_samples, n_clusters, minimum, rng).tolist()) for _ in range(n_draws)
    )
    assert set(counts) == set(allowed)
    chi_square = sum((count - 400) ** 2 / 400 for count in counts.values())
    freedom = len(allowed) - 1
    assert chi_square <= freedom + 5 * np.sqrt(2 * freedom)


def test_rows_have_the_stated_moments():
    variances, centers = [], []
    for seed in range(200):
        X, y, means = make_survey_gaussians(600, 6, 2, random_state=seed, return_centers=True)
        centers.append(means)
        variances += [np.var(X[y == k] - means[k]) for k in range(2) if (y == k).sum() > 150]
    variances = np.array(variances)
    assert 0.4 < variances.min() < 0.6
    assert 1.4 < variances.max() < 1.7
    assert abs(variances.mean() - 1.0) < 0.06  # variances, not deviations, are uniform
    assert abs(np.var(variances) - 1 / 12) < 0.02
    assert abs(np.mean(centers)) < 0.08
    assert abs(np.var(centers) - 1.0) < 0.1


def test_clusters_are_spherical():
    X, y, centers = make_survey_gaussians(20000, 3, 2, random_state=1, return_centers=True)
    for k in range(2):
        covariance = np.cov((X[y == k] - centers[k]).T)
        scale = np.trace(covariance) / 3
        np.testing.assert_allclose(covariance, scale * np.eye(3), atol=0.1)


def test_seed_decides_the_result():
    first, again = (make_survey_gaussians(random_state=5) for _ in range(2))
    other = make_survey_gaussians(random_state=6)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


def test_unshuffled_rows_come_cluster_by_cluster():
    _, y = make_survey_gaussians(100, 2, 3, shuffle=False, random_state=0)
    assert (np.diff(y) >= 0).all()
    _, y = make_survey_gaussians(100, 2, 3, random_state=0)
    assert (np.diff(y) < 0).any()


def test_one_cluster_and_tight_minimum():
    _, y = make_survey_gaussians(30, 1, 1, random_state=0)
    assert (y == 0).all()
    _, y = make_survey_gaussians(60, 1, 3, random_state=0)
    assert np.bincount(y).tolist() == [20, 20, 20]


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="expected n_samples >= 60"):
        make_survey_gaussians(59, 2, 3)


@pytest.mark.parametrize("wrong", [{"n_features": 0}, {"n_clusters": 0}, {"min_cluster_size": -1}])
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_survey_gaussians(**wrong)
