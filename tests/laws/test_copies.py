"""A copy of a categorical column is the same column: it does not change the clusters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from fwkmeans import AutoKMeans
from fwkmeans.datasets import list_uci, load_uci


def categories_of(table):
    return [
        name
        for name, column in table.items()
        if column.nunique() > 1
        and (not pd.api.types.is_numeric_dtype(column) or column.nunique() == 2)
    ]


#: Name and categorical column: of the tables with categories every one, but two in ``make test``.
COLUMNS = [
    pytest.param(name, column, marks=[] if name in QUICK and place == 1 else pytest.mark.long)
    for QUICK in [("heart", "australian")]
    for name in list_uci()
    for place, column in enumerate(categories_of(load_uci(name).data))
]


def with_column(table, values):
    """Return the table with one more column of categories."""
    return table.assign(copy=pd.Series(np.asarray(values), index=table.index, dtype="category"))


def redrawn(rng, values, share=0.1):
    at = rng.uniform(size=len(values)) < share
    return values.where(~at, pd.Series(rng.permutation(values.to_numpy()), index=values.index))


@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_a_copy_changes_hardly_a_row(name, column):
    table = load_uci(name)
    text = table.data[column].astype(object).map(str, na_action="ignore")
    plain = table.data.assign(**{column: text.astype("category")})
    before = AutoKMeans(table.n_clusters).fit(plain)
    recoded = text.map(
        {value: f"{i} {value}" for i, value in enumerate(sorted(set(text.dropna())))}
    )
    for copy in (text, recoded):
        after = AutoKMeans(table.n_clusters).fit(with_column(plain, copy))
        # the search may end in another of nearly equal fits: .988 with A9 of australian
        assert adjusted_rand_score(before.labels_, after.labels_) > 0.97
        weights = after.feature_weights_
        np.testing.assert_allclose(weights[:, -1], weights[:, list(plain).index(column)])


@pytest.mark.long
@pytest.mark.parametrize("n_copies", [1, 2])
def test_near_copies_hardly_change_the_agreement_with_classes(rng, n_copies):
    changes = []
    for name in list_uci():
        table = load_uci(name)
        reached = adjusted_rand_score(
            table.target, AutoKMeans(table.n_clusters).fit(table.data).labels_
        )
        of_table = []
        for column in categories_of(table.data)[::3]:
            more, copy = table.data, table.data[column].astype(object)
            for i in range(n_copies):  # a chain: each is a near copy of the one before
                copy = redrawn(rng, copy)
                more = with_column(more, copy).rename(columns={"copy": f"copy {i}"})
            labels = AutoKMeans(table.n_clusters).fit(more).labels_
            of_table.append(abs(adjusted_rand_score(table.target, labels) - reached))
        if of_table:
            changes.append(np.mean(of_table))
    assert np.mean(changes) < 0.05
    assert np.max(changes) < 0.12


def test_columns_that_all_tell_of_the_same_clusters_are_no_copies(rng):
    """Three of them say nearly the same, and nothing else is in the table."""
    classes = rng.integers(0, 3, 240)
    told = {
        f"c{v}": redrawn(rng, pd.Series(classes), 0.08).map("abc".__getitem__) for v in range(4)
    }
    noise = {f"n{v}": pd.Series(rng.integers(0, 3, 240)).map("xyz".__getitem__) for v in range(2)}
    table = pd.DataFrame(told | noise)
    for n_clusters in (None, 3):
        model = AutoKMeans(n_clusters).fit(table)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(classes, model.labels_) > 0.9
