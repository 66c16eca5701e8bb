"""What the estimators declare of themselves is true, and is what the survey's table says."""

import inspect

import numpy as np
import pandas as pd
import pytest

from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.estimators.traits import MEANING, Traits
from fwkmeans.preprocessing import RangeStandardizer
from fwkmeans.survey.published import PUBLISHED_TRAITS

ROWS = RangeStandardizer().fit_transform(load_uci("wine", as_frame=False).data)


@pytest.mark.parametrize("name", PUBLISHED_TRAITS)
def test_declarations_are_those_of_the_survey(name):
    assert tuple(ALGORITHMS[name].traits) == PUBLISHED_TRAITS[name]


def test_every_trait_has_a_meaning():
    assert tuple(MEANING) == Traits._fields


@pytest.mark.parametrize("name", ALGORITHMS)
def test_categories_are_taken_by_those_who_say_so(name):
    table = pd.DataFrame({"a": [0.0, 0.1, 0.9, 1.0], "b": ["x", "x", "y", "y"]})
    model = ALGORITHMS[name](2, random_state=0)
    assert ("categorical_features" in inspect.signature(ALGORITHMS[name]).parameters) == (
        ALGORITHMS[name].traits.categorical
    )
    if ALGORITHMS[name].traits.categorical:
        assert len(set(model.fit_predict(table))) == 2
    else:
        with pytest.raises(ValueError, match="b"):
            model.fit(table)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_deterministic_ones_need_no_seed(name):
    """With one start on a table of many minima, seeds matter unless nothing is drawn."""
    X = np.random.default_rng(0).normal(size=(200, 6))
    labels = {
        tuple(
            ALGORITHMS[name]
            .as_in_survey(8, random_state=seed, max_iter=5)
            .set_params(n_init="auto")
            .fit(X)
            .labels_
        )
        if ALGORITHMS[name].traits.deterministic
        else tuple(ALGORITHMS[name](8, random_state=seed, n_init=1, max_iter=5).fit(X).labels_)
        for seed in range(4)
    }
    assert (len(labels) == 1) == ALGORITHMS[name].traits.deterministic


@pytest.mark.parametrize("name", ALGORITHMS)
def test_several_weights_are_weights_in_clusters_or_groups(name):
    traits = ALGORITHMS[name].traits
    cls = ALGORITHMS[name]
    settings = {"weights": "cluster"} if name == "WK-Means" else {}
    model = cls(3, random_state=0, **settings).fit(ROWS)
    differ = not np.allclose(model.feature_weights_, model.feature_weights_[0])
    assert traits.several_weights == (differ or hasattr(model, "group_weights_"))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_groups_are_weighed_by_those_who_say_so(name):
    """Learned group weights are attributes that differ from what was given."""
    cls = ALGORITHMS[name]
    if "groups" not in inspect.signature(cls).parameters:
        assert not cls.traits.weighs_groups
        return
    groups = np.arange(ROWS.shape[1]) % 3
    model = cls(3, groups=groups, random_state=0).fit(ROWS)
    learned = not np.allclose(model.group_weights_, 1 / 3)
    assert cls.traits.weighs_groups == learned
