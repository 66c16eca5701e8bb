"""A fit on NumPy rows never falls back to the array-API twin."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from fwkmeans._core import compiled, kernels_for, twin
from laws.configurations import FEW, RULE_LIST, each_in_both_ways, make_rows, name_of, with_rule


@pytest.fixture
def no_twin(monkeypatch):
    def forbidden(*arguments, **options):
        raise AssertionError("the twin was called")

    functions = [
        name
        for name, value in vars(twin).items()
        if inspect.isfunction(value) and value.__module__ == twin.__name__
    ]
    assert {"assign_and_accumulate", "find_farthest", "assign", "distances", "describe"} <= set(
        functions
    )
    for name in functions:
        monkeypatch.setattr(twin, name, forbidden)


def use_all_of(model, rows, centers):
    """Go through every kernel, relocation included."""
    model.fit(rows)
    model.predict(rows)
    model.transform(rows)
    model.score(rows)
    model.set_params(init=centers).fit(rows)


@pytest.mark.thinned
@pytest.mark.usefixtures("no_twin")
@each_in_both_ways
def test_estimators_use_the_compiled_core(configuration, rng, dtype, source):
    X = make_rows(rng, 60, 4).astype(dtype)
    centers = np.repeat(X[:1], 4, axis=0)
    model = configuration.estimator(4, 4, n_init=1, max_iter=5)
    for rows in (X, np.asfortranarray(X[:, ::-1])):
        use_all_of(clone(model), source(rows), centers)


@pytest.mark.usefixtures("no_twin")
@pytest.mark.parametrize("rule", RULE_LIST, ids=name_of)
def test_parts_use_the_compiled_core(rule, rng, dtype):
    X = make_rows(rng, 60, 4).astype(dtype)
    use_all_of(with_rule(rule, 4, n_init=1), X, np.repeat(X[:1], 4, axis=0))


def test_the_core_was_built():
    assert compiled is not None
    assert kernels_for(np.zeros((2, 2), np.float32)) is compiled
    assert kernels_for(np.zeros((2, 2), np.float64)) is compiled


@pytest.mark.usefixtures("no_twin")
def test_integers_and_memory_maps_use_the_compiled_core(rng, tmp_path):
    X = rng.integers(0, 9, (40, 3))
    FEW[0].estimator(2, 3).fit(X).predict(X)
    np.save(tmp_path / "rows.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    FEW[0].estimator(2, 3).fit(mapped).predict(mapped)
