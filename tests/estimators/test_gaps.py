"""Missing cells where algorithms see rows in another way, and in tables of odd kinds."""

import numpy as np
import pandas as pd
import pytest

from fwkmeans import (
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FeatureWeightedKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.weighting import StressWeights


@pytest.mark.parametrize("missing", ["ignore", "rescale"])
@pytest.mark.parametrize("spherical", [None, [0]])
def test_distances_add_up_to_the_inertia(missing, spherical, rng):
    X = rng.standard_normal((40, 3))
    X[:8, 1] = np.nan
    options = {"spaces": [[0, 1], [2]], "spherical": spherical, "grid": [[1, 1]]}
    model = ConvexKMeans(2, missing=missing, random_state=0, **options).fit(X)
    assert model.score(X) == -model.inertia_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if missing == "ignore":
        own = model.transform(X)[np.arange(40), model.labels_]
        assert (own**2).sum() == pytest.approx(model.inertia_, rel=1e-12)


def test_a_gap_in_the_only_spherical_space_leaves_nothing(rng):
    X = rng.standard_normal((9, 2))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="Nothing is observed in row 4"):
        ConvexKMeans(2, spaces=[[0, 1]], spherical=True, missing="ignore").fit(X)


def test_coverage_is_the_share_of_rows_not_of_stretched_ones(rng):
    X = rng.standard_normal((60, 2)) * 0.5 + rng.integers(0, 3, (60, 1))
    X[:30, 1] = np.nan
    fits = {
        exponent: ConvexKMeans(
            3, missing="ignore", exponent=exponent, grid=[[1, 1]], guard=0.0, random_state=0
        ).fit(X)
        for exponent in ("coverage", "one")
    }
    model = fits["one"]
    mass = 2.0 / (~np.isnan(X)).sum(axis=1)
    within = np.zeros(2)
    for v in range(2):
        for k in range(3):
            rows = (model.labels_ == k) & ~np.isnan(X[:, v])
            mean = np.average(X[rows, v], weights=mass[rows])
            within[v] += (mass[rows] * (X[rows, v] - mean) ** 2).sum()
    there = ~np.isnan(X)
    total = np.array(
        [
            (mass[t] * (x[t] - np.average(x[t], weights=mass[t])) ** 2).sum()
            for x, t in zip(X.T, there.T, strict=True)
        ]
    )
    ratios = within / (total - within)
    assert model.fisher_values_[0] == pytest.approx(ratios.prod(), rel=1e-9)
    expected = ratios[0] * ratios[1] ** 0.5
    assert fits["coverage"].fisher_values_[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        KMeans(2, missing="ignore"),
        IMWKMeans(2, p=1.5, missing="ignore"),
        IMWKMeans(2, p=np.inf, missing="ignore"),
        FWSAKMeans(2, missing="ignore"),
        EWKMeans(2, missing="ignore"),
        WKMeans(2, missing="rescale"),
    ],
    ids=repr,
)
def test_rows_that_lack_a_column_have_a_score(model, rng):
    model.set_params(random_state=0).fit(rng.standard_normal((60, 2)))
    assert np.isfinite(model.score([[np.nan, 1.0], [np.nan, 2.0]]))


def test_missing_values_in_columns_of_objects():
    table = pd.DataFrame({"a": [1, pd.NA, 3, 4], "b": [1.0, 2, 3, 4]}, dtype=object)
    for model in (KMeans(2), IKPrototypes(2)):
        with pytest.raises(ValueError, match=r"missing values in column 'a' \(1 cell\)"):
            model.fit(table)
        filled = table.astype({"a": "Float64", "b": float})
        model.set_params(missing="ignore", random_state=0)
        expected = model.fit(filled).labels_
        np.testing.assert_array_equal(model.fit(table).labels_, expected)


def test_a_missing_category_never_seen_is_unknown_if_it_is_a_category():
    table = pd.DataFrame({"n": np.arange(20.0), "c": ["a", "b"] * 10})
    model = IKPrototypes(2, missing_category="own", handle_unknown="error", random_state=0)
    model.fit(table)
    other = table.copy()
    other.loc[0, "c"] = None
    with pytest.raises(ValueError, match=r"'c' holds categories.*None.*handle_unknown='ignore'"):
        model.predict(other)


def test_unknown_categories_of_initial_centers_are_named():
    table = pd.DataFrame({"n": np.arange(20.0), "c": ["a", "b"] * 10})
    with pytest.raises(ValueError, match="init has 'q' in column 'c'"):
        AWKMeans(3, init=table.iloc[:3].assign(c="q")).fit(table)


def test_columns_of_the_same_name_are_named():
    with pytest.raises(ValueError, match="several columns named 'a'"):
        KMeans(2).fit(pd.DataFrame(np.eye(3, 2), columns=["a", "a"]))


def test_sums_over_pairs_refuse_gaps_and_categories(rng):
    X = rng.standard_normal((30, 3))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing cells; sums over pairs"):
        FeatureWeightedKMeans(3, weighting=StressWeights(), missing="ignore").fit(X)
    with pytest.raises(ValueError, match="categorical columns; sums over pairs"):
        FeatureWeightedKMeans(3, weighting=StressWeights(), categorical_features=[2]).fit(
            np.round(np.abs(X[1:]))
        )


def test_a_row_without_anything_is_named_in_a_long_table(rng):
    X = rng.normal(size=(9000, 2))
    X[8500] = np.nan
    with pytest.raises(ValueError, match="Nothing is observed in row 8500 of X"):
        KMeans(2, missing="ignore").fit(X)
