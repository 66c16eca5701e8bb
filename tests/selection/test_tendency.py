"""Tables with and without clusters are told apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fwkmeans.selection import tendency
from fwkmeans.selection.tendency import Tendency, cluster_tendency


def without(kind, rng, n_rows):
    mixing = rng.normal(size=(4, 4))
    cloud = rng.normal(size=(n_rows, 4)) @ mixing
    if kind == "categories":
        return pd.DataFrame({one: rng.choice(list("abc"), n_rows) for one in "pqrs"})
    if kind == "mixed":
        frame = pd.DataFrame(cloud, columns=list("wxyz"))
        frame["yes"] = rng.integers(0, 2, n_rows).astype(float)
        frame["rank"] = np.round(frame["w"])
        return frame.assign(town=rng.choice(list("abcd"), n_rows))
    return {
        "normal": cloud,
        "uniform": rng.random((n_rows, 4)),
        "skewed": np.exp(rng.normal(size=(n_rows, 4))),
        "heavy": rng.standard_t(4, size=(n_rows, 4)),
    }[kind]


@pytest.mark.parametrize("kind", ["normal", "uniform", "skewed", "heavy", "categories", "mixed"])
def test_tables_without_clusters(kind):
    for seed in range(2):
        X = without(kind, np.random.default_rng(seed), 120)
        assert cluster_tendency(X).verdict != "clear"


@pytest.mark.parametrize("n_noise", [0, 4])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_tables_with_clusters(n_clusters, n_noise):
    rng = np.random.default_rng(n_clusters)
    labels = rng.integers(0, n_clusters, 200)
    centers = 8.0 * np.eye(n_clusters, 4)
    X = np.hstack([centers[labels] + rng.normal(size=(200, 4)), rng.normal(size=(200, n_noise))])
    assert cluster_tendency(X, n_references=5).verdict == "clear"
    X[rng.random(X.shape) < 0.05] = np.nan
    assert cluster_tendency(X, n_references=5).verdict == "clear"


def test_units_do_not_matter_and_draws_repeat():
    X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([0, 9], 30)[:, None]
    first = cluster_tendency(X, n_references=3)
    assert cluster_tendency(X, n_references=3) == first
    scaled = cluster_tendency(X * [1e-200, 1.0, 1e200], n_references=3)
    np.testing.assert_allclose(scaled, first, rtol=1e-6)


@pytest.mark.parametrize("X", [np.zeros((30, 2)), np.arange(6.0).reshape(3, 2)])
def test_tables_that_say_nothing(X):
    assert cluster_tendency(X) == Tendency(-np.inf, -np.inf, -np.inf)


def test_very_many_columns_are_summed_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    assert cluster_tendency(X, n_references=3).verdict != "clear"
    X[:30, :60] += 4
    assert cluster_tendency(X, n_references=3).verdict == "clear"


def test_decompositions_run_in_one_thread(monkeypatch, rng):
    """So digits are the same on any number of cores, and threads do not wait for each other."""
    threads = []

    def scatters(rows):
        threads.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return np.zeros(1)

    monkeypatch.setattr(tendency, "_scatters", scatters)
    with threadpool_limits(2, user_api="blas"):
        cluster_tendency(rng.normal(size=(40, 60)), n_references=2)
    assert set(threads) == {1}


def test_tables_of_few_different_rows_are_looked_at_without_a_warning():
    rows = np.repeat([[0.0, 1.0], [5.0, 1.0], [0.0, 3.0]], 20, axis=0)
    assert isinstance(cluster_tendency(rows), Tendency)
