"""Dask collections on clusters: any number of workers gives the same bits, lost ones cost time."""

import contextlib
import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

from fwkmeans import AWKMeans, EWKMeans, IKPrototypes, IMWKMeans, KMeans
from fwkmeans._core.passes import Accumulation
from fwkmeans._engine import statistics

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")

ONE = {"n_init": 1, "random_state": 0, "max_iter": 8}


@contextlib.contextmanager
def cluster(n_workers, **options):
    """Start a cluster and a client."""
    quiet = {"dashboard_address": ":0", "silence_logs": 50}  # any port, no lines
    given = {"n_workers": n_workers, "threads_per_worker": 1, "processes": False} | options
    with (
        distributed.LocalCluster(**given, **quiet) as local,
        distributed.Client(local, set_as_default=True) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster(2) as client:
        yield client


def rows_of(n_rows=400, n_features=4):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n_rows, n_features)) + 3.0 * rng.integers(3, size=(n_rows, 1))


def bits(model):
    """Return all numbers of a fit as bytes."""
    numbers = (model.cluster_centers_, model.feature_weights_, model.objective_history_)
    labels = np.asarray(model.labels_)
    return [np.asarray(one).tobytes() for one in (*numbers, model.inertia_, labels)]


def without_cluster(fit):
    with dask.config.set(scheduler="synchronous"):
        return fit()


@pytest.mark.parametrize("estimator", [EWKMeans, IMWKMeans], ids=lambda cls: cls.__name__)
def test_a_cluster_gives_the_bits_of_one_thread(client, estimator):
    X = rows_of()
    X[::11, 1] = np.nan
    weight = np.arange(400) % 3.0

    def fit():
        rows = da.from_array(X, chunks=(70, 4))
        model = estimator(3, missing="ignore", **ONE | {"max_iter": 2})
        return bits(model.fit(rows, sample_weight=da.from_array(weight, chunks=50)))

    assert fit() == without_cluster(fit)


def test_frames_with_categories_on_a_cluster(client):
    frame = pd.DataFrame(rows_of(120, 2), columns=["a", "b"])
    frame["c"] = np.repeat(["x", "y", "z"], 40)

    def fit():
        rows = dd.from_pandas(frame, npartitions=3)
        model = AWKMeans(3, **ONE).fit(rows)
        assert rows.npartitions == len(model.labels_.chunks[0])
        predicted = model.predict(rows)
        np.testing.assert_array_equal(predicted.compute(), model.labels_.compute())
        return bits(model)

    assert fit() == without_cluster(fit)


def test_workers_keep_the_rows_until_the_fit_is_over(client, tmp_path):
    """Rows that are not persisted are read once; nothing is kept but labels."""
    log = str(tmp_path / "reads")

    def read(block):
        with open(log, "a") as file:
            file.write("x")
        return block.copy()

    rows = da.from_array(rows_of(), chunks=(80, 4)).map_blocks(read, meta=np.empty((0, 4)))
    model = EWKMeans(3, **ONE).fit(rows)
    assert model.n_iter_ > 1
    assert (tmp_path / "reads").read_text() == "xxxxx"
    assert 0 < kept(client, 5) <= 5  # labels, those of the chunks of a task together
    assert model.labels_.compute().shape == (400,)
    del model
    assert kept(client, 0) == 0


def kept(client, most):
    """Return the number of results that workers keep, which soon should be at most this."""
    for _ in range(100):
        gc.collect()
        tasks = list(client.cluster.scheduler.tasks.values())
        n = sum(1 for task in tasks if task.who_has)
        if n <= most:
            break
        time.sleep(0.02)
    return n


def test_persisted_rows_stay_in_place_and_are_not_copied(client):
    rows = da.from_array(rows_of(), chunks=(80, 4)).persist()
    distributed.wait(rows)
    model = KMeans(3, **ONE).fit(rows)
    assert 5 < kept(client, 10) <= 10  # rows and labels, those of the chunks of a task together
    assert model.labels_.npartitions == 5


def test_nothing_gathers_the_rows(client, monkeypatch):
    """What comes back to this process is small, whatever the number of rows; labels stay."""
    from fwkmeans.sources import dask as source

    sizes = []

    def watch(name):
        original = getattr(source.Pieces, name)

        def fetch(self):
            values = original(self)
            sizes.append(distributed.protocol.pickle.dumps(values))
            return values

        monkeypatch.setattr(source.Pieces, name, fetch)

    watch("fetched")
    watch("awaited")
    X = rows_of(6000, 8)
    for estimator in (EWKMeans, IKPrototypes):
        options = ONE | {"init": "random", "max_iter": 2}
        estimator(3, **options).fit(da.from_array(X, chunks=(2000, 8)))
    assert max(map(len, sizes)) < 6000  # a byte for each row would be more


def test_an_error_in_a_task_is_that_of_the_fit(client):
    X = rows_of()
    X[7, 2] = np.inf
    with pytest.raises(ValueError, match="contains infinity in column 2"):
        EWKMeans(3).fit(da.from_array(X, chunks=(50, 4)))
    table = pd.DataFrame({"a": [1.0, 2.0] * 5, "b": [[1]] * 10})
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises((TypeError, ValueError), match="'b'"),
    ):
        AWKMeans(2).fit(dd.from_pandas(table, npartitions=2))


def test_small_blocks_of_a_worker_share_a_task(client, monkeypatch):
    """Where the blocks are is asked again, and parts that are large are not kept side by side."""
    from fwkmeans.sources import dask as module

    groups = []
    original = module.DaskSource._groups

    def watched(self, size, n_blocks):
        groups.append(original(self, size, n_blocks))
        return groups[-1]

    monkeypatch.setattr(module.DaskSource, "_groups", watched)
    X = rows_of()

    def fit():
        groups.clear()
        return bits(EWKMeans(3, **ONE).fit(da.from_array(X, chunks=(10, 4)).persist()))

    expected = without_cluster(fit)
    assert len(groups[-1]) == 40
    together = fit()
    assert len(groups[-1]) <= 6  # two for each of two threads, and what does not go into these
    assert sorted(at for group in groups[-1] for at in group) == list(range(40))
    monkeypatch.setattr(module, "_TASK_BYTES", 3 * 10 * 4 * 8)
    limited = fit()
    assert max(map(len, groups[-1])) == 3
    monkeypatch.setattr(module, "_LIST_BYTES", 1000)
    alone = fit()
    assert len(groups[-1]) == 40
    assert together == limited == alone == expected


@pytest.fixture
def _small_tables_keep_bounds(monkeypatch):
    monkeypatch.setattr(statistics, "_WORTHWHILE", 1)


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_passes_by_bounds_give_the_bits_of_one_thread(client, monkeypatch):
    """Row memory lies with the workers in groups of blocks, which may change."""
    from fwkmeans.sources import dask as module

    X, by_bounds = rows_of(3000), []
    original = Accumulation.by_bounds

    def watched(self, last):
        by_bounds.append(last is not None)
        return original(self, last)

    monkeypatch.setattr(Accumulation, "by_bounds", watched)

    def fit():
        by_bounds.clear()
        rows = da.from_array(X, chunks=((0, 900, 100, 1000, 400, 600), 4)).persist()
        model = KMeans(6, init="random", tol=0, **ONE | {"n_init": 3, "max_iter": 20}).fit(rows)
        assert any(by_bounds)
        assert model.labels_.chunks[0] == (0, 900, 100, 1000, 400, 600)
        return bits(model)

    expected = without_cluster(fit)
    assert fit() == expected
    # a task that finds nothing left makes row memory anew, as on another worker
    monkeypatch.setattr(module, "_LEFT", Forgetful())
    assert fit() == expected
    changing = iter([[[0, 2], [1], [3, 4]], [[0], [1, 2, 3], [4]], [[4, 0, 1], [2, 3]]] * 100)
    monkeypatch.setattr(module.DaskSource, "_groups", lambda self, size, n: next(changing)[:n])
    assert fit() == expected


class Forgetful(dict):
    def __setitem__(self, key, value):
        pass


@pytest.mark.long
@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_one_to_four_workers_give_the_same_bits():
    X = rows_of(4000)

    def fit():
        rows = da.from_array(X, chunks=(190, 4))
        return [
            bits(EWKMeans(3, **ONE).fit(rows)),
            bits(KMeans(6, init="random", tol=0, **ONE | {"max_iter": 12}).fit(rows)),
            bits(IMWKMeans(3, p=1.5, **ONE | {"init": "k-means++"}).fit(rows)),
        ]

    expected = without_cluster(fit)
    with cluster(1, processes=True) as client:
        for n_workers in (1, 2, 3, 4):
            client.cluster.scale(n_workers)
            client.wait_for_workers(n_workers, timeout=120)
            assert fit() == expected


@pytest.mark.long
@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_a_worker_that_is_killed_costs_nothing_but_time(monkeypatch):
    from fwkmeans.sources.dask import DaskSource

    X = rows_of(4000)
    passes, doomed, when = [], [], 3

    def kill_in_mid_pass(process):
        time.sleep(0.02)
        os.kill(process, signal.SIGKILL)

    def watch(name):
        original = getattr(DaskSource, name)

        def watched(self, reduction):
            passes.append(type(reduction).__name__)
            if passes.count("Accumulation") == when and doomed:
                threading.Thread(target=kill_in_mid_pass, args=[doomed.pop()]).start()
            return original(self, reduction)

        monkeypatch.setattr(DaskSource, name, watched)

    watch("run")  # of iMWK-Means, whose labels are kept by the workers
    watch("reduce")
    rows = da.from_array(X, chunks=(200, 4))
    by_labels = IMWKMeans(3, p=1.5, init="random", **ONE)
    late = KMeans(6, init="random", tol=0, **ONE | {"max_iter": 30})
    with cluster(3, processes=True) as client:
        for estimator, given, when in (  # noqa: B007
            (EWKMeans(3, **ONE), rows.persist(), 3),
            (by_labels, rows, 3),
            (late, rows.persist(), 15),  # bounds of many passes are made again
        ):
            expected = without_cluster(lambda: bits(estimator.fit(rows)))  # noqa: B023
            passes.clear()
            doomed.append(next(iter(client.run(os.getpid).values())))
            assert bits(estimator.fit(given)) == expected
            assert not doomed
