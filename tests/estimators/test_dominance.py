"""No column takes nearly all the weight because it hardly varies, and if one does, it is said."""

import warnings

import numpy as np
import pytest

from fwkmeans import (
    SYNCLUS,
    AWKMeans,
    ConvexKMeans,
    EWKMeans,
    FGKMeans,
    FWSAKMeans,
    IKPrototypes,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.exceptions import DominantColumnWarning


@pytest.fixture
def rows():
    """Return three clusters in three columns, and a fourth that is zero but for two rows."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    X = rng.normal(0, 0.2, (180, 4)) + np.array([0.0, 1.0, 2.0])[truth, None]
    X[:, 3] = 0.0
    X[[5, 100], 3] = 1.0
    return X


@pytest.mark.parametrize(
    "model",
    [AWKMeans(3), WKMeans(3), IKPrototypes(3, beta=2), FWSAKMeans(3)],
    ids=lambda model: type(model).__name__,
)
def test_a_nearly_constant_column_takes_all_weight_only_as_published(model, rows):
    model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DominantColumnWarning)
        weights = model.fit(rows).feature_weights_
    assert weights.max() < 0.7
    if isinstance(model, FWSAKMeans):
        return  # looks at separation: two outliers separate nothing
    published = model.set_params(guard=0.0, beta=1.1)
    with pytest.warns(DominantColumnWarning, match=r"Column 3 has \d+%"):
        assert published.fit(rows).feature_weights_[:, 3].max() > 0.9


@pytest.mark.parametrize("model", [EWKMeans(3), FGKMeans(3), IMWKMeans(3)], ids=str)
def test_other_defaults_spread_the_weight_too(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DominantColumnWarning)
        assert model.set_params(random_state=0).fit(rows).feature_weights_.max() < 0.8


def test_the_warning_names_the_column_and_the_clusters():
    import pandas as pd

    X = pd.DataFrame({"a": [0.0, 1, 2, 3, 10, 11], "b": [5.0, 5, 5, 5, 5, 6]})
    with pytest.warns(DominantColumnWarning, match=r"Column 'b' has .* of the weight in"):
        AWKMeans(2, beta=1.0, guard=0.0, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DominantColumnWarning)
        KMeans(2, random_state=0).fit(X)
        AWKMeans(2, random_state=0).fit(X[["a"]])  # there is no other column


def test_weight_that_makes_up_for_units_decides_nothing_alone(rng):
    truth = np.repeat([0.0, 1.0, 2.0], 40)[:, None]
    X = truth + rng.normal(0, 0.2, (120, 3))
    X[:, 2] = 0.02 * rng.normal(size=120)
    with pytest.warns(DominantColumnWarning) as caught:
        model = SYNCLUS(3, random_state=0).fit(X)
    share = model.feature_weights_[0] * X.var(axis=0)
    share /= share.sum()
    assert share[2] < 0.5
    assert f"but it varies less than other columns and makes {share[2]:.0%} of" in str(
        next(one.message for one in caught if one.category is DominantColumnWarning)
    )
    with pytest.warns(DominantColumnWarning, match="so it alone decides"):
        AWKMeans.as_in_survey(3, random_state=0).fit(X)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_survey_s_settings_are_one_word_away(name):
    algorithm = ALGORITHMS[name]
    model = algorithm.as_in_survey(4, random_state=3)
    for key, value in algorithm.survey_settings.items():
        assert model.get_params()[key] == value
    assert (model.n_clusters, model.random_state) == (4, 3)
    if "guard" in model.get_params():
        assert model.guard == 0
    if "category_weight" in model.get_params():
        assert model.category_weight == 1


def test_columns_of_one_space_share_its_weight(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DominantColumnWarning)
        ConvexKMeans(2, spaces=[0] * 5, spherical=[0], random_state=0).fit(rng.random((60, 5)))
