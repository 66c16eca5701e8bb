"""scikit-learn's own checks of the two transformers."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from fwkmeans.preprocessing import RangeStandardizer, TableEncoder
from old_checks import wrong_checks

TRANSFORMERS = [
    RangeStandardizer(),
    RangeStandardizer(drop_constant=False),
    TableEncoder(),
    TableEncoder(categorical_features=None),
    TableEncoder(categorical_features=None, impute="median"),
    TableEncoder(categorical_features=[0], impute="median"),
]


@parametrize_with_checks(TRANSFORMERS, expected_failed_checks=wrong_checks)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


def test_the_checks_really_run():
    checks = list(parametrize_with_checks(TRANSFORMERS).args[1])
    assert len(checks) > 40 * len(TRANSFORMERS)


def test_tags_follow_the_parameters():
    tags = TableEncoder().__sklearn_tags__()
    assert tags.input_tags.categorical
    assert not tags.input_tags.allow_nan
    tags = TableEncoder(categorical_features=None, impute="median").__sklearn_tags__()
    assert not tags.input_tags.categorical
    assert tags.input_tags.allow_nan
    assert np.dtype(tags.transformer_tags.preserves_dtype[1]) == np.float32
