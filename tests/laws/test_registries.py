"""Whatever is registered is tested."""

import fwkmeans
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.weighting import WEIGHT_RULES, WeightRule
from laws.configurations import CONFIGURATIONS, FEW, RULES


def test_every_algorithm_has_a_configuration():
    assert {c.algorithm for c in CONFIGURATIONS} == set(ALGORITHMS)
    assert {c.algorithm for c in FEW} == set(ALGORITHMS)


def test_every_weight_rule_has_a_configuration():
    assert set(RULES) == set(WEIGHT_RULES)
    for name, rules in RULES.items():
        assert rules
        assert all(type(rule) is WEIGHT_RULES[name] for rule in rules)


def test_configurations_have_different_names():
    assert len({c.name for c in CONFIGURATIONS}) == len(CONFIGURATIONS)
    assert len(FEW) == 28


def test_registries_hold_what_the_package_exports():
    exported = {name for name in fwkmeans.__all__ if name[0] != "_"}
    others = {"FeatureWeightedKMeans", "AutoKMeans", "group_features", "describe", "prepare_table"}
    assert exported == {e.__name__ for e in ALGORITHMS.values()} | others
    rules = {
        name
        for name in fwkmeans.weighting.__all__
        if isinstance(getattr(fwkmeans.weighting, name), type)
    }
    assert rules == {rule.__name__ for rule in WEIGHT_RULES.values()} | {WeightRule.__name__}
