"""A few cases of each fuzzer, always the same ones; ``make fuzz`` tries others for minutes."""

import numpy as np
import pytest

from fuzz import fits, run
from fwkmeans import EWKMeans, FGKMeans


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", run.FUZZERS)
def test_a_few_cases_of_every_fuzzer(name, seed, tmp_path):
    run.fuzzer(name)(np.random.default_rng(seed), tmp_path)


GROUPS = np.array([0, 1, 0, 1])


def row_by_row(model, X, s):
    """Return the criterion with mean dispersions: every row pays for distance and entropies."""
    total = 0.0
    for y, own, k in zip(X, s, model.labels_, strict=True):
        w, center = model.feature_weights_[k], model.cluster_centers_[k]
        omega = np.ones(1)
        if isinstance(model, FGKMeans):
            omega = model._memory["group_weights"][0][k]
        each = omega[GROUPS] if omega.size > 1 else 1.0
        paid = (each * w * (y - center) ** 2).sum()
        if omega.size > 1:
            paid += model.lam_ * (omega[omega > 0] * np.log(omega[omega > 0])).sum()
        strength = model.eta_ if omega.size > 1 else model.gamma_
        total += own * (paid + strength * (w[w > 0] * np.log(w[w > 0])).sum())
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("algorithm", [EWKMeans, FGKMeans])
def test_objectives_of_mean_dispersions_are_sums_over_rows(algorithm, weighted, rng):
    X = rng.normal(size=(40, 4)) * [1.0, 2.0, 0.5, 3.0] + 3.0 * rng.integers(0, 3, (40, 1))
    s = rng.uniform(0.5, 3, 40) if weighted else np.ones(40)
    given = {"groups": GROUPS} if algorithm is FGKMeans else {}
    model = algorithm(3, dispersion="mean", random_state=0, **given).fit(X, sample_weight=s)
    expected = row_by_row(model, X, s)
    assert model.inertia_ == pytest.approx(expected, rel=1e-9)
    D = np.stack([(s[own] * (X[own] - c).T ** 2).sum(axis=1) for own, c in parts_of(model)])
    mass = np.bincount(model.labels_, s, 3)
    assert float(fits.objective_of(model, D, mass)[0]) == pytest.approx(expected, rel=1e-9)


def parts_of(model):
    return [(model.labels_ == k, center) for k, center in enumerate(model.cluster_centers_)]
