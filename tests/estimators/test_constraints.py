"""Every parameter is checked by a table, with a message that helps."""

import inspect

import numpy as np
import pytest

from fwkmeans import IMWKMeans, KMeans
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.estimators.constraints import SHARED, accepts
from fwkmeans.exceptions import InvalidParameterError
from fwkmeans.weighting import WEIGHT_RULES, EntropyWeights
from laws.configurations import make_rows

# these name columns or spaces: only the table can tell whether they are right
OF_THE_TABLE = {"categorical_features", "groups", "spaces", "spherical"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_parameter_has_a_constraint(name):
    cls = ALGORITHMS[name]
    known = set(SHARED) | set(getattr(cls, "_constraints", {}))
    assert set(inspect.signature(cls).parameters) <= known | OF_THE_TABLE
    assert set(getattr(cls, "_constraints", {})) <= set(inspect.signature(cls).parameters)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_parameter_takes_just_anything(name, rng):
    X = make_rows(rng, 20, 3)
    cls = ALGORITHMS[name]
    for parameter in sorted(set(inspect.signature(cls).parameters) - OF_THE_TABLE):
        with pytest.raises(InvalidParameterError, match=f"{cls.__name__} got {parameter}=<.*>"):
            cls(**{parameter: object()}).fit(X)


@pytest.mark.parametrize("name", WEIGHT_RULES)
def test_rules_check_themselves(name, rng):
    rule = WEIGHT_RULES[name]
    for parameter in rule._constraints:
        with pytest.raises(InvalidParameterError, match=f"{rule.__name__} got {parameter}=<.*>"):
            rule(**{parameter: object()}).bind(None, 3)


def test_defaults_satisfy_their_constraints():
    for cls in ALGORITHMS.values():
        for name, parameter in inspect.signature(cls).parameters.items():
            assert accepts(cls, name, parameter.default), (cls, name)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": True}, "KMeans got max_iter=True: expected an integer >= 1."),
        ({"tol": 10**400}, "KMeans got tol=1000.*[.]{3}: expected a finite number >= 0."),
        ({"verbose": -1}, "verbose=-1: expected True, False or an integer >= 0."),
        ({"random_state": -1}, "random_state=-1: expected None, an integer from 0 to 2"),
        ({"random_state": np.random.default_rng(0)}, "expected .* or a numpy.random.RandomState"),
        ({"copy_x": "yes"}, "copy_x='yes': expected True or False."),
        ({"algorithm": "hamerly"}, "algorithm='hamerly': expected 'lloyd' or 'elkan'."),
        ({"init": 3}, "init=3: expected 'k-means.*', 'random', 'anomalous', an array of centers"),
        ({"missing": ["error"]}, r"missing=\['error'\]: expected 'error', 'ignore' or 'rescale'."),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_messages_say_what_was_got_and_what_was_expected(parameters, message, rng):
    with pytest.raises(InvalidParameterError, match=message) as caught:
        KMeans(2, **parameters).fit(make_rows(rng, 20, 3))
    assert len(str(caught.value)) < 300


def test_some_messages_say_why(rng):
    with pytest.raises(InvalidParameterError, match=r"p=0\.5: .* Below 1 a center is not the plac"):
        IMWKMeans(2, p=0.5).fit(make_rows(rng, 20, 3))


def test_both_kinds_of_errors_can_be_caught(rng):
    for kind in (ValueError, TypeError):
        with pytest.raises(kind):
            KMeans("three").fit(make_rows(rng, 20, 3))


def test_one_value_for_each_start_is_a_number_of_a_rule():
    gamma = np.array([0.5, 2.0])[:, None, None]
    assert EntropyWeights._constraints["gamma"].holds(gamma)
    assert not EntropyWeights._constraints["gamma"].holds(-gamma)
    assert not EntropyWeights._constraints["gamma"].holds(gamma[:, 0])
    assert not SHARED["tol"].holds(gamma)


def test_accepts_knows_parameters_and_values():
    assert accepts(KMeans, "missing", "ignore")
    assert not accepts(KMeans, "missing", "drop")
    assert not accepts(KMeans, "beta", 2.0)
    assert not accepts(ALGORITHMS["SYNCLUS"], "missing", "ignore")
