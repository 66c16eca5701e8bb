"""Plans: what is remembered of parameters changes nothing, and a plan says what will run."""

from __future__ import annotations

import logging
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import fwkmeans
from _core.problems import python
from fwkmeans import (
    AutoKMeans,
    AWKMeans,
    EWKMeans,
    FGKMeans,
    FWSAKMeans,
    IMWKMeans,
    KMeans,
    WKMeans,
)
from fwkmeans._core import compiled
from fwkmeans._init import Seeds
from fwkmeans.estimators import batches, plan
from fwkmeans.exceptions import InvalidParameterError
from fwkmeans.sources import ChunkedSource

pytestmark = pytest.mark.skipif(compiled is None, reason="only with the compiled core")

LAZY = ["centers", "dissimilarities", "estimators", "sources", "weighting"]

MODELS: list[Any] = [
    KMeans(3),
    EWKMeans(3),
    EWKMeans(3, gamma=0.7, dispersion="sum"),
    EWKMeans(3, gamma=0.0),
    WKMeans(3),
    WKMeans(3, weights="cluster", smoothing="inside", beta=1.5),
    WKMeans(3, guard=0.0),
    AWKMeans(3),
    AWKMeans(3, smoothing="refresh", beta=-1.0),
    FWSAKMeans(3),
    FWSAKMeans(3, safeguard=True, guard=0.0),
    IMWKMeans(3, init="k-means++"),
]


def _table(seed: int, n_rows: int = 60, n_features: int = 5, dtype: Any = np.float64) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[:, : n_features // 2] += 4 * rng.integers(0, 3, n_rows)[:, None]
    return np.asarray(X, dtype=dtype)


def _forget(patched: pytest.MonkeyPatch) -> None:
    """Let nothing be remembered of parameters, and everything be checked step by step."""
    patched.setattr(plan, "_key_of", lambda model: None)


def _fitted(model: Any, X: np.ndarray, monkeypatch: pytest.MonkeyPatch, *, plain: bool) -> Any:
    """Return a model that was fitted with what is remembered of its parameters, or without."""
    with monkeypatch.context() as patched:
        ways = _watched(patched)
        if not plain:
            _forget(patched)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(X)
    assert ways == ([True] if plain else [])
    return fitted


def _watched(patched: pytest.MonkeyPatch) -> list[bool]:
    """Return whether each fit to complete numbers is planned in few steps."""
    ways: list[bool] = []
    original = plan._plan_of_numbers

    def planned(*arguments: Any) -> Any:
        found = original(*arguments)
        ways.append(found is not None)
        return found

    patched.setattr(plan, "_plan_of_numbers", planned)
    return ways


def _assert_same(one: Any, other: Any, where: str = "") -> None:
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        assert one.flags.writeable == other.flags.writeable, where
        np.testing.assert_array_equal(one, other, where)
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            _assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, tuple):
        for at, (mine, its) in enumerate(zip(one, other, strict=True)):
            _assert_same(mine, its, f"{where}[{at}]")
    elif type(one).__module__.startswith("fwkmeans"):
        _assert_same(vars(one), vars(other), where)
    elif isinstance(one, float):
        assert np.array_equal(one, other, equal_nan=True), where
        assert np.signbit(one) == np.signbit(other), where
    else:
        assert one == other, where


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_every_attribute_is_that_of_the_general_way(
    model: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = _table(seed, 40 + 30 * seed, 3 + seed, (np.float64, np.float32)[seed % 2])
    X = np.asfortranarray(X) if seed == 2 else X
    starts: list[dict[str, Any]] = [
        {"init": X[:3].copy()},
        {"init": X[5:8].astype(np.float64), "n_init": 1, "max_iter": 2},
        {"n_init": 1, "random_state": seed},
        {"n_init": 4, "random_state": seed, "tol": 0.0},
        {"init": "random", "random_state": seed},
    ]
    for options in starts:
        given = clone(model).set_params(**options)
        plain = _fitted(given, X, monkeypatch, plain=True)
        general = _fitted(given, X, monkeypatch, plain=False)
        _assert_same(plain, general)
        np.testing.assert_array_equal(plain.predict(X), plain.labels_)
        assert plain.score(X) == -plain.inertia_
        again = pickle.loads(pickle.dumps(plain))
        np.testing.assert_array_equal(again.predict(X), plain.labels_)


def test_small_and_equal_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.repeat([[0.0, 1.0], [5.0, 4.0]], 3, axis=0)
    for model in (KMeans(2), EWKMeans(2), KMeans(3), EWKMeans(4), KMeans(6), AWKMeans(2)):
        given = clone(model).set_params(random_state=0)
        _assert_same(
            _fitted(given, X, monkeypatch, plain=True),
            _fitted(given, X, monkeypatch, plain=False),
        )


def test_starts_that_overflow_end_as_in_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _table(0)
    all_far = np.full((3, 5), 1e200)
    one_far = np.concatenate([all_far[:1], X[:2]])
    for model in (
        KMeans(3, init=one_far),
        KMeans(3, init=all_far),
        EWKMeans(3, init=one_far),
        EWKMeans(3, init=all_far),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            ends = []
            for plain in (True, False):
                try:
                    ends.append(vars(_fitted(model, X, monkeypatch, plain=plain)))
                except ValueError as error:
                    ends.append({"error": str(error)})
        _assert_same(*ends)


def test_a_start_that_the_core_gives_up_runs_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _table(5)
    expected = KMeans(3, init=X[:3].copy()).fit(X)
    kernel = compiled.run_starts

    def give_up(*arguments: Any, **options: Any) -> Any:
        objective, history, n_iter, flags, _, *labeled = kernel(*arguments, **options)
        arguments[3][...] = 0.0  # the centers
        flags[2] = True
        return objective, history, n_iter, flags, -1, *labeled

    monkeypatch.setattr(compiled, "run_starts", give_up)
    found = KMeans(3, init=X[:3].copy()).fit(X)
    _assert_same(vars(found), vars(expected))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (EWKMeans(3, gamma=0.0), "of the weight in"),
        (KMeans(3, max_iter=1), "did not converge in 1 iterations"),
        (KMeans(3, max_iter=20), "smaller than n_clusters"),
    ],
)
def test_what_there_is_to_say_of_a_run_is_said(
    model: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = _table(12)
    if words.startswith("smaller"):
        X = np.repeat(X[:2], 10, axis=0)
    given = clone(model).set_params(init=X[:3].copy())
    warned = []
    for prepare in (_watched, _forget):
        with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            prepare(patched)
            given.fit(X)
        warned.append([(one.category, str(one.message), one.filename) for one in said])
    assert warned[0] == warned[1]
    assert words in str(warned[0])
    assert warned[0][0][2] == __file__


def _is_plain(model: Any, X: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> bool:
    """Tell whether a fit, which may fail, is done in few steps."""
    with monkeypatch.context() as patched, warnings.catch_warnings():
        ways = _watched(patched)
        warnings.simplefilter("ignore")
        try:
            model.fit(X, **options)
        except (TypeError, ValueError):
            return False
    return ways == [True]


class _Own(KMeans):
    pass


class _Few(KMeans):
    def __init__(self, n_clusters: int = 3) -> None:
        super().__init__(n_clusters, random_state=0)


class _None(KMeans):
    def __init__(self) -> None:
        super().__init__(3, random_state=0)


class _Renamed(KMeans):
    def __init__(self, k: int = 3) -> None:
        super().__init__(k, random_state=0)


def test_classes_of_users_are_checked_and_fitted_as_ever() -> None:
    X = _table(6)
    expected = KMeans(3, random_state=0).fit(X)
    for kind in (_Few, _None, _Renamed):
        np.testing.assert_array_equal(kind().fit(X).labels_, expected.labels_)
        again = kind()
        again.max_iter = -5
        with pytest.raises(InvalidParameterError, match="max_iter=-5"):
            again.fit(X)
    old = KMeans(3, random_state=0)
    del old.copy_x  # as in a model that was saved before the parameter existed
    np.testing.assert_array_equal(old.fit(X).labels_, expected.labels_)


@pytest.mark.parametrize("dtype", [">f8", ">f4", "f4", "f8", "f2", "g", "i8"])
def test_centers_of_any_kind_of_number(dtype: str) -> None:
    X = np.round(_table(7))
    expected = KMeans(3, init=X[:3]).fit(X)
    for init in (X[:3].astype(dtype), np.asfortranarray(X[:3].astype(dtype))):
        np.testing.assert_array_equal(KMeans(3, init=init).fit(X).labels_, expected.labels_)


def test_zeros_of_either_sign_are_other_settings() -> None:
    X = _table(8)
    for gamma in (0.0, -0.0, 0.0):
        found = EWKMeans(3, gamma=gamma, init=X[:3].copy()).fit(X).gamma_
        assert np.signbit(found) == np.signbit(gamma)


def test_generators_move_on_as_in_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _table(9)
    for init in (X[:3].copy(), "k-means++"):
        states = []
        for prepare in (_watched, _forget):
            with monkeypatch.context() as patched:
                prepare(patched)
                generator = np.random.RandomState(3)
                KMeans(3, init=init, random_state=generator).fit(X)
            states.append(generator.randint(2**31, size=5).tolist())
        assert states[0] == states[1]


def test_models_share_nothing_that_can_be_changed() -> None:
    X = _table(10)
    for kind in (KMeans, EWKMeans, WKMeans, AWKMeans, FWSAKMeans):
        one, other = (kind(3, init=Y[:3].copy()).fit(Y) for Y in (X, 2 * X))
        for mine, its in zip(one._parts, other._parts, strict=True):
            assert mine is not its
        settings = plan._known.values()
        assert not any(
            part is shared for part in one._parts for s in settings for shared in s.recipe
        )


def test_numbers_that_overflow_lead_to_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _table(11)
    opposite = X[:3].copy()
    opposite[0, 0], opposite[1, 1] = np.inf, -np.inf
    for model in (
        WKMeans(3, guard=1e308, init=X[:3]),
        AWKMeans(3, guard=1e308, init=X[:3]),
        FWSAKMeans(3, guard=1e308, init=X[:3]),
        EWKMeans(3, gamma=1e308, n_init=1, random_state=0),
        KMeans(3, init=opposite),
        KMeans(0, random_state=-1),
        KMeans(3, verbose=np.zeros(2)),
    ):
        ends = []
        for prepare in (_watched, _forget):
            with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                prepare(patched)
                try:
                    end = clone(model).fit(X).inertia_
                except ValueError as error:
                    end = str(error)
            ends.append((end, [str(one.message) for one in warned]))
        assert ends[0] == ends[1]
        assert "Runtime" not in str(ends)


def test_what_is_unusual_goes_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _table(1)
    assert _is_plain(KMeans(3), X, monkeypatch)
    hole, wide, constant, huge = X.copy(), X.copy(), X.copy(), X.copy()
    hole[3, 1] = np.nan
    wide[:, 0] *= 1e4
    constant[:, 2] = 1.0
    huge *= 1e160
    odd = np.zeros((60, 5), dtype=[("a", "i1"), ("b", "f8")])["b"]
    odd += X
    for Y in (
        hole,
        wide,
        constant,
        huge,
        X[:2],
        X[::2, ::2],
        odd,
        X.astype(np.int64),
        X.astype(np.float16),
        X.tolist(),
        X[:, 0],
        np.empty((0, 5)),
        np.ma.masked_array(X),
    ):
        assert not _is_plain(KMeans(3), Y, monkeypatch)
    for model in (
        FGKMeans(3),
        _Own(3),
        KMeans(3, missing="ignore"),
        KMeans(3, init="anomalous"),
        KMeans(3, init=X[:3], n_init=2),
        KMeans(3, init=X[:3].tolist()),
        KMeans(3, init=X[:2].copy()),
        KMeans(3, init=np.full((3, 5), np.nan)),
        KMeans(3, init=lambda X, n_clusters, random_state: X[:n_clusters]),
        KMeans(np.int64(3)),
        EWKMeans(3, weight_init="random"),
        EWKMeans(3, weight_init=np.ones(5)),
        AWKMeans(3, categorical_features=[0]),
        AWKMeans(3, missing_category="own", categorical_features=[]),
        IMWKMeans(3, init="anomalous"),
        WKMeans(3, zero="huang"),
        IMWKMeans(3, p=3.0, init="k-means++"),
    ):
        assert not _is_plain(model, X, monkeypatch), model
    assert not _is_plain(KMeans(3), X, monkeypatch, sample_weight=np.ones(60))


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_what_is_printed_or_logged_changes_nothing(
    level: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    X = _table(13)
    loops = []
    original = batches.alternate

    def watched(*arguments: Any, **options: Any) -> Any:
        loops.append((len(arguments[3]), options["in_core"]))
        return original(*arguments, **options)

    monkeypatch.setattr(batches, "alternate", watched)
    silent = EWKMeans(3, random_state=0).fit(X)
    with caplog.at_level(level, logger="fwkmeans"):
        assert _is_plain(EWKMeans(3, random_state=0, verbose=2), X, monkeypatch)
        logged = EWKMeans(3, random_state=0).fit(X)
    assert loops == [(10, True)] * 3
    _assert_same(vars(logged), vars(silent))
    said = [record.getMessage() for record in caplog.records]
    assert any("starts 1 to 10 of 10 done" in line for line in said)
    iterations = [line for line in said if line.startswith("iteration 1: 10 starts")]
    assert len(iterations) == (2 if level == logging.DEBUG else 0)


def test_parameters_are_checked_again_when_their_type_or_value_changes() -> None:
    X = _table(2)
    KMeans(1, n_init=1).fit(X)
    for wrong in (True, 1.0, "1", 0, None, np.nan):
        with pytest.raises((InvalidParameterError, ValueError)):
            KMeans(wrong, n_init=1).fit(X)
    KMeans(2, max_iter=1, tol=0.0, n_init=1, init=X[:2], random_state=0).set_params(tol=1.0).fit(X)
    for wrong in ({"max_iter": True}, {"tol": -1.0}, {"init": "best"}, {"random_state": -1}):
        with pytest.raises(InvalidParameterError):
            KMeans(2, n_init=1).set_params(**wrong).fit(X)
        KMeans(2, n_init=1, random_state=0).fit(X)


def test_nothing_of_an_earlier_fit_stays() -> None:
    import pandas as pd

    X = _table(3)
    frame = pd.DataFrame(X, columns=list("abcde"))
    mixed = frame.assign(f=pd.Categorical(["x", "y"] * 30))
    for model, first in ((KMeans(3), frame), (AWKMeans(3), mixed), (EWKMeans(3), frame)):
        model.set_params(random_state=0).fit(first)
        used = model.fit(X)
        assert not hasattr(used, "feature_names_in_")
        _assert_same(vars(used), vars(clone(model).fit(X)))
    streamed = KMeans(3, random_state=0).partial_fit(X).fit(X)
    _assert_same(vars(streamed), vars(KMeans(3, random_state=0).fit(X)))


def test_settings_are_remembered_in_small_number(monkeypatch: pytest.MonkeyPatch) -> None:
    X = _table(4)
    monkeypatch.setattr(plan, "_MANY", 3)
    monkeypatch.setattr(plan, "_known", {})
    for tol in (0.1, 0.2, 0.3, 0.4, 0.5):
        assert KMeans(2, tol=tol, n_init=1, random_state=0).fit(X).n_iter_ > 0
        assert len(plan._known) <= 3


def test_a_plan_says_what_will_run_and_nothing_is_fitted() -> None:
    X = _table(14)
    gaps = X.copy()
    gaps[3, 1] = np.nan
    blocks = ChunkedSource(X, block_bytes=800)
    for model, rows, *words in (
        (KMeans(3), X, "starts: 10 from 'k-means++'", "1 of 10 starts", "in the compiled core"),
        (KMeans(3, init=X[:3]), X, "starts: 1 from given centers", "60 x 5, float64"),
        (IMWKMeans(3, p=1.5), X, "in Python, since the core does not know Minkowski(p=1.5)"),
        (KMeans(3), blocks, "in Python, since rows in ChunkedSource are read block by block"),
        (KMeans(3, missing="ignore"), gaps, "missing cells are left out", "in the compiled core"),
        (KMeans(3, missing="rescale"), gaps, "in Python, since dissimilarities of rows with"),
    ):
        said = model.explain_plan(rows)
        assert all(word in said for word in words), said
        assert not hasattr(model, "n_features_in_")
    with pytest.raises(InvalidParameterError):
        KMeans(3, max_iter=0).explain_plan(X)
    assert not hasattr(AutoKMeans(), "explain_plan")


def test_plans_of_one_model_run_in_families(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts of plans that differ in a number run together; begins replace what is drawn."""
    X = _table(15)
    model = AWKMeans(3, random_state=0, n_init=4)
    plans = [plan.make_plan(clone(model).set_params(beta=beta), X) for beta in (2.0, 3.0)]
    together = list(batches.run_plans(model, plans))
    assert [batch.of for batch in together] == [[(0, range(4)), (1, range(4))]]
    monkeypatch.setattr(plan, "BATCH_BYTES", 3 * 8 * 3 * 5 * 34)
    apart = list(batches.run_plans(model, plans))
    expected = [[(0, range(3))], [(0, range(3, 4)), (1, range(2))], [(1, range(2, 4))]]
    assert [batch.of for batch in apart] == expected
    objective = np.concatenate([batch.outcome.objective for batch in apart])
    np.testing.assert_array_equal(together[0].outcome.objective, objective)
    first = plans[0]
    begin = (
        model._initial_centers(first, first.seeds, range(4)),
        model._initial_weights(first, first.seeds, range(4)),
    )
    given = first._replace(begin=begin, seeds=Seeds(99))
    found = np.concatenate([b.outcome.objective for b in batches.run_plans(model, [given])])
    np.testing.assert_array_equal(found, objective[:4])


def _entered(model: Any, X: np.ndarray) -> tuple[set[str], int]:
    """Return the files of the package that a second fit enters, and how many calls it makes."""
    model.fit(X)
    folder = str(Path(fwkmeans.__file__).parent)
    files, calls = set(), 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "call":
            calls += 1
            if frame.f_code.co_filename.startswith(folder):
                files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        model.fit(X)
    finally:
        sys.setprofile(before)
    return files, calls


@pytest.mark.parametrize(("n_rows", "n_features", "n_init"), [(300, 4, "auto"), (30_000, 10, 10)])
def test_a_fit_can_be_followed(n_rows: int, n_features: int, n_init: Any) -> None:
    """Whoever reads what a fit does opens 15 files at most; each of its calls is one to follow."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    files, calls = _entered(EWKMeans(3, n_init=n_init), X)
    assert len(files) <= 15, sorted(files)
    assert calls <= 150


def test_a_race_takes_some_files_more_than_a_fit_without_one() -> None:
    X = np.random.default_rng(0).normal(size=(30_000, 10))
    without, _ = _entered(EWKMeans(3, n_init=10), X)
    files, _ = _entered(EWKMeans(3), X)
    assert len(files - without) <= 10, sorted(files - without)


def test_an_algorithm_imports_no_other_way_of_clustering() -> None:
    code = "import sys; from fwkmeans import EWKMeans; print(*sys.modules)"
    loaded = {name for name in python(code).split() if name.startswith("fwkmeans.")}
    assert "fwkmeans.estimators.ewk" in loaded
    others = ("auto", "_mixture", "synclus", "convex", "directions", "dask", "device", "survey")
    assert [name for name in loaded if any(word in name for word in others)] == []


@pytest.mark.parametrize(
    "name", ["fwkmeans", *(f"fwkmeans.{part}" for part in LAZY)], ids=["all", *LAZY]
)
def test_names_that_are_imported_later_are_there(name: str) -> None:
    code = (
        f"import {name} as package; before = dir(package); from {name} import *; "
        "missing = set(package.__all__) - set(before) | {n for n in package.__all__ if n not in "
        "globals()}; print(sorted(missing), hasattr(package, 'no_such_name'))"
    )
    assert python(code).strip() == "[] False"
