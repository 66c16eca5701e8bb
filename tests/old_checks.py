"""Checks of older versions of scikit-learn that are wrong themselves."""

import sklearn
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

OLD = parse_version(sklearn.__version__) < parse_version("1.8")


def wrong_checks(estimator):
    """Return the checks that fail for their own reasons, with these."""
    tags = get_tags(estimator).input_tags
    if not OLD or not tags.categorical or tags.allow_nan:
        return {}
    return {
        "check_positive_only_tag_during_fit": (
            "before 1.8 the check takes a mean from integers in place, which NumPy refuses"
        )
    }
