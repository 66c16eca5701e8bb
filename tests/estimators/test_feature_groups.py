"""Groups of features that are found from the table."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from fwkmeans import SYNCLUS, ConvexKMeans, FGKMeans, group_features
from fwkmeans.datasets import load_uci
from fwkmeans.persistence import load_model, save_model
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.sources import ChunkedSource


def interleaved(rng, n_rows=300):
    """Three sources of four features each, side by side, and two features of their own."""
    hidden = np.tile(rng.normal(size=(n_rows, 3)), 4)
    own = rng.normal(size=(n_rows, 2))
    return np.column_stack([hidden + 0.5 * rng.normal(size=hidden.shape), own])


SOURCES = [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11], [12], [13]]


def test_interleaved_sources_are_recovered_in_any_units(rng):
    X = interleaved(rng) * 10.0 ** rng.integers(-6, 6, size=14) + 1e3
    assert [group.tolist() for group in group_features(X)] == SOURCES


def test_the_two_channels_of_ionosphere():
    groups = group_features(load_uci("ionosphere", as_frame=False).data)
    assert [group.tolist() for group in groups] == [
        [0],
        list(range(1, 33, 2)),
        list(range(2, 33, 2)),
    ]


def test_cells_may_be_missing_and_columns_constant(rng):
    X = interleaved(rng)
    X[rng.random(X.shape) < 0.05] = np.nan
    X = np.column_stack([X, np.full(len(X), 2.0)])
    assert [group.tolist() for group in group_features(X)] == [*SOURCES, [14]]


def test_gaps_do_not_make_groups_of_independent_columns():
    found = {0.0: 0, 0.2: 0}
    for share in found:
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(100, 6))
            X[rng.random(X.shape) < share] = np.nan
            found[share] += len(group_features(X)) < 6
    assert found[0.2] <= found[0.0]  # a pair that fewer rows have together proves less


def test_what_cannot_be_grouped_is_refused(rng):
    X = rng.normal(size=(20, 3))
    X[4, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity in column 1.*group_features needs finite"):
        group_features(X)
    with pytest.raises(TypeError, match="X is sparse; group_features needs dense rows"):
        group_features(csr_matrix(np.eye(3)))
    with pytest.raises(ValueError, match="required by group_features"):
        group_features(np.empty((0, 3)))


def test_rows_without_weight_do_not_count(rng):
    X = interleaved(rng)
    both = np.vstack([X, rng.normal(size=(400, 14)) * 50])
    weight = np.r_[np.ones(len(X)), np.zeros(400)]
    assert [group.tolist() for group in group_features(both, sample_weight=weight)] == SOURCES


def test_within_clusters_only_what_varies_there_counts(rng):
    labels = np.arange(300) % 3
    X = 10 * labels[:, None] + rng.normal(size=(300, 4))
    X[:, 1] += 2 * (X[:, 0] - 10 * labels)
    assert [group.tolist() for group in group_features(X)] == [[0, 1, 2, 3]]
    assert [group.tolist() for group in group_features(X, labels)] == [[0, 1], [2], [3]]
    with pytest.raises(ValueError, match="labels has 2 entries for 300 rows"):
        group_features(X, [0, 1])


def test_categories_are_grouped_by_what_they_tell_of_each_other(rng):
    a, b = rng.integers(0, 3, size=(2, 400))
    noisy = np.where(rng.random(400) < 0.2, rng.integers(0, 3, size=400), a)
    frame = pd.DataFrame({"a": a, "b": b, "like a": noisy}).astype("category")
    frame["number"] = rng.normal(size=400)
    assert [group.tolist() for group in group_features(frame)] == [[0, 2], [1], [3]]


@pytest.mark.parametrize(
    ("estimator", "parameter", "attribute"),
    [
        (FGKMeans, "groups", "groups_"),
        (SYNCLUS, "groups", "groups_"),
        (ConvexKMeans, "spaces", "spaces_"),
    ],
)
def test_estimators_find_groups_by_themselves(estimator, parameter, attribute, rng, tmp_path):
    X = RangeStandardizer().fit_transform(interleaved(rng, 120))
    auto = estimator(3, **{parameter: "auto"}, random_state=0, n_init=2).fit(X)
    given = estimator(3, **{parameter: group_features(X)}, random_state=0, n_init=2).fit(X)
    found = getattr(auto, attribute)
    assert [columns.tolist() for columns in found.values()] == [
        columns.tolist() for columns in group_features(X)
    ]
    np.testing.assert_array_equal(auto.labels_, given.labels_)
    np.testing.assert_array_equal(auto.feature_weights_, given.feature_weights_)
    save_model(auto, tmp_path / "model.fwk")
    np.testing.assert_array_equal(load_model(tmp_path / "model.fwk").predict(X), auto.labels_)


def test_groups_of_files_must_be_given(rng, tmp_path):
    np.save(tmp_path / "rows.npy", interleaved(rng, 60))
    with pytest.raises(ValueError, match="groups='auto' needs dense rows in memory"):
        FGKMeans(2, groups="auto").fit(tmp_path / "rows.npy")
    with pytest.raises(TypeError, match="ChunkedSource; group_features needs a table in memory"):
        group_features(ChunkedSource(tmp_path / "rows.npy"))
