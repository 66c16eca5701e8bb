"""Dask collections on clusters: any number of workers gives the same bits, lost ones cost time."""

import contextlib
import gc
import os
import pickle
import signal
import socket
import threading
import time
import types

import numpy as np
import pytest

from fwkmeans import AWKMeans, EWKMeans, IKPrototypes, IMWKMeans, KMeans
from fwkmeans._core.packed import Numbers
from fwkmeans._core.passes import Accumulation
from fwkmeans._tabular.layout import numeric_layout
from fwkmeans.sources import join_in_tree
from fwkmeans.typing import BlockReduction, KeptLabels, Pass, Statistics

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")

from fwkmeans.sources import dask as module  # noqa: E402
from fwkmeans.sources import dask_lines  # noqa: E402
from fwkmeans.sources.dask import Pieces  # noqa: E402
from fwkmeans.sources.dask_actors import Keepers, _Kept  # noqa: E402
from fwkmeans.sources.dask_tasks import Sums, join_values, joined_of_actors  # noqa: E402

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
    sizes = []

    def watch(cls, name):
        original = getattr(cls, name)

        def fetch(self, *given):
            values = original(self, *given)
            sizes.append(len(distributed.protocol.pickle.dumps(values)))
            return values

        monkeypatch.setattr(cls, name, fetch)

    watch(Pieces, "fetched")
    watch(Pieces, "awaited")
    watch(Keepers, "_ask")
    X = rows_of(6000, 8)
    for estimator in (EWKMeans, IKPrototypes):
        options = ONE | {"init": "random", "max_iter": 2}
        estimator(3, **options).fit(da.from_array(X, chunks=(2000, 8)))
    assert len(sizes) > 8
    assert max(sizes) < 6000  # a byte for each row would be more


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
    monkeypatch.setattr("fwkmeans._engine.state._WORTHWHILE", 1)


UNEVEN = (0, 900, 100, 1000, 400, 600)


def fit_by_bounds(cls=KMeans, X=None, **options):
    """Fit a table long enough for passes by bounds, and return all numbers of the fit."""
    X = rows_of(3000) if X is None else X
    rows = da.from_array(X, chunks=(UNEVEN, 4)).persist()
    options = {"init": "random", "tol": 0} | ONE | {"n_init": 3, "max_iter": 20} | options
    model = cls(6, **options).fit(rows)
    assert model.labels_.chunks[0] == UNEVEN
    return bits(model)


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_passes_by_bounds_give_the_bits_of_one_thread(client, monkeypatch):
    """By actors and by tasks, whose row memory lies in groups of blocks, which may change."""
    by_bounds = []
    original = Accumulation.by_bounds

    def watched(self, last):
        by_bounds.append(last is not None)
        return original(self, last)

    monkeypatch.setattr(Accumulation, "by_bounds", watched)
    expected = without_cluster(fit_by_bounds)
    assert any(by_bounds)
    assert fit_by_bounds() == expected
    monkeypatch.setattr(module, "_PLENTY", 10**9)  # no actors
    assert fit_by_bounds() == expected
    changing = iter([[[0, 2], [1], [3, 4]], [[0], [1, 2, 3], [4]], [[4, 0, 1], [2, 3]]] * 100)
    monkeypatch.setattr(module.DaskSource, "_groups", lambda self, size, n: next(changing)[:n])
    assert fit_by_bounds() == expected


# ---- actors --------------------------------------------------------------------------------------


def actors(client):
    """Return how many actors the workers have."""
    workers = client.cluster.scheduler.workers.values()
    return sum(len(worker.actors) for worker in workers)


def soon(fact):
    for _ in range(100):
        if fact():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def asked(client, monkeypatch):
    """Return what actors are asked, and how many there are at that time."""
    seen = []
    original = Keepers._ask

    def watched(self, method, *arguments):
        seen.append((method, actors(client), pickle.loads(arguments[-1])))
        return original(self, method, *arguments)

    monkeypatch.setattr(Keepers, "_ask", watched)
    return seen


@pytest.mark.usefixtures("_small_tables_keep_bounds")
@pytest.mark.parametrize("error", [None, OSError, KeyboardInterrupt])
def test_actors_are_there_while_the_loop_runs(client, asked, monkeypatch, error):
    """Also if it ends by an error, be it one that looks like that of a connection."""
    original, answer = Accumulation._by_bounds, _Kept.answer

    def full(self, block, memory):
        if block.first_row:
            raise OSError("nothing works")
        return original(self, block, memory)

    def interrupted(self, future):
        if len(asked) > 3:
            raise KeyboardInterrupt
        return answer(self, future)

    if error is OSError:
        monkeypatch.setattr(Accumulation, "_by_bounds", full)
    if error is KeyboardInterrupt:
        monkeypatch.setattr(_Kept, "answer", interrupted)
    with pytest.raises(error) if error else contextlib.nullcontext():
        fit_by_bounds(n_init=1)
    assert len(asked) > 2
    assert {n for _, n, _ in asked} == {2}
    assert soon(lambda: actors(client) == 0)
    scheduler = client.cluster.scheduler
    assert soon(lambda: not any(one.processing for one in scheduler.workers.values()))


def test_an_adaptive_cluster_keeps_the_workers_that_have_actors(client):
    scheduler = client.cluster.scheduler
    assert len(scheduler.workers_to_close(n=2)) == 2
    with source_of(rows_of(3000)).in_place(1000):
        assert soon(lambda: scheduler.workers_to_close(n=2) == [])
    assert soon(lambda: len(scheduler.workers_to_close(n=2)) == 2)


@pytest.mark.parametrize("cluster_less", [False, True])
def test_row_memory_from_before_a_loop_stays(client, cluster_less):
    """Also if the first pass leaves it alone, and later ones change it."""
    here = dask.config.set(scheduler="synchronous") if cluster_less else contextlib.nullcontext()
    with here:
        _, first = source_of(rows_of(3000)).run(accumulation(0))
        before = first.gather("labels", axis=1).compute()
        with first.in_place(1000) as rows:
            _, rows = rows.run(_Addresses())
            for at in (1, 2, 3):
                _, rows = rows.run(accumulation(at, bounded=at > 1, last=at - 1 or None))
            labels = rows.reduce(_Labels())
        assert np.array_equal(first.gather("labels", axis=1).compute(), before)
        assert not np.array_equal(labels, before[0])


@pytest.mark.parametrize("cluster_less", [False, True])
def test_row_memory_is_changed_in_place(client, cluster_less):
    """That from before the loop is not, which others may use."""
    with dask.config.set(scheduler="synchronous") if cluster_less else contextlib.nullcontext():
        check_changes_in_place(source_of(rows_of(3000)))


def check_changes_in_place(source):
    counting = [accumulation(seed, bounded=seed > 1, last=seed - 1 or None) for seed in range(4)]
    _, first = source.run(counting[0])
    before = first.gather("labels", axis=1).compute()
    with first.in_place(1000) as rows:
        places = []
        for at in (1, 2, 3, 3):
            _, rows = rows.run(counting[at])
            places.append(rows.reduce(_Addresses()))
        labels = rows.reduce(_Labels())
    assert np.array_equal(first.gather("labels", axis=1).compute(), before)
    assert not np.array_equal(labels, before[0])
    names = [{name: address[name] for name in ("upper", "lower")} for address in places[1:]]
    assert names[0] == names[1] == names[2]
    assert places[0]["labels"] == places[-1]["labels"]


@pytest.mark.parametrize("cluster_less", [False, True])
def test_sources_before_a_pass_in_place_are_void(client, cluster_less):
    here = dask.config.set(scheduler="synchronous") if cluster_less else contextlib.nullcontext()
    with here, source_of(rows_of(3000)).in_place(1000) as rows:
        _, after = rows.run(accumulation(0))
        for use in (rows.run, rows.reduce):
            with pytest.raises(RuntimeError, match="A later pass has changed the row memory"):
                use(accumulation(1))
        after.reduce(accumulation(1))
        after.run(accumulation(1))
        if not cluster_less:
            for use in (after.gather, after.mapped):
                with pytest.raises(TypeError, match="Inside of in_place, actors have the blocks"):
                    use("labels")


@pytest.mark.usefixtures("_small_tables_keep_bounds")
@pytest.mark.parametrize("lost", ["before", "answer", "several"])
def test_actors_that_are_lost_are_made_again(client, monkeypatch, lost):
    """Their row memory is that of the last pass; a pass whose answer is lost is not done twice."""
    original, counts = _Kept.answer, {"answers": 0, "made": 0}

    def answer(self, future):
        counts["answers"] += 1
        found = original(self, future)
        some = range(20, 26) if lost == "several" else (20, 33)
        return None if counts["answers"] in some else found

    def ask(self, *given):
        counts["answers"] += 1
        return None if counts["answers"] in (20, 33) else original_ask(self, *given)

    def made(self, *given):
        counts["made"] += 1
        return original_made(self, *given)

    original_ask, original_made = _Kept.ask, Keepers._made_again
    expected = without_cluster(fit_by_bounds)
    monkeypatch.setattr(_Kept, *(("ask", ask) if lost == "before" else ("answer", answer)))
    monkeypatch.setattr(Keepers, "_made_again", made)
    assert fit_by_bounds() == expected
    assert counts["made"] >= 2
    assert soon(lambda: actors(client) == 0)


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_actors_are_asked_by_lines_where_workers_can_be_reached(monkeypatch):
    """Results are the same; an actor whose line breaks is made again."""
    calls, received = [], []
    original, receive = dask_lines.call, dask_lines.receive

    def call(number):
        calls.append(number)
        return original(number)

    def broken(line, waits=None):
        if waits is None:  # not an answer
            return receive(line)
        received.append(line)
        if len(received) in (9, 20):
            line.shutdown(socket.SHUT_RDWR)
        return receive(line, waits)

    def unreached(number):
        calls.append(number)
        raise TimeoutError

    expected = without_cluster(fit_by_bounds)
    with cluster(2, protocol="tcp") as client:
        monkeypatch.setattr(dask_lines, "call", call)
        assert fit_by_bounds() == expected
        assert len(calls) >= 2
        assert soon(lambda: actors(client) + lines() == 0)
        with monkeypatch.context() as patched:
            n_calls = len(calls)
            patched.setattr(dask_lines, "receive", broken)
            assert fit_by_bounds() == expected
            assert len(received) > 20
            assert len(calls) >= 2 * n_calls + 2
        monkeypatch.setattr(dask_lines, "call", unreached)
        monkeypatch.setattr(dask_lines, "_CALLED", 0.1)
        calls.clear()
        assert fit_by_bounds() == fit_by_bounds() == expected
        assert len(calls) == 1  # and never again
        assert soon(lambda: actors(client) + lines() == 0)


def lines():
    """Return how many lines are there, of workers in this process."""
    return sum(one.name == "line to an actor" for one in threading.enumerate())


class Answering:
    def run(self, number):
        return b"%d" % number


@pytest.fixture
def address(monkeypatch):
    """Let this process be a worker; return the record that has its address."""
    worker = types.SimpleNamespace(address="tcp://127.0.0.1:1")
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    return worker


def test_a_line_ends_with_its_actor(address):
    actor = Answering()
    with dask_lines.call(dask_lines.listen(actor)) as line:
        for at in (1, 2):
            dask_lines.send(line, pickle.dumps(("run", (at,))))
            assert dask_lines.receive(line) == b"%d" % at
        assert lines() == 1
        del actor
        gc.collect()
        dask_lines.send(line, pickle.dumps(("run", (3,))))
        with pytest.raises(OSError, match=r"gone|reset"):
            dask_lines.receive(line)
    assert soon(lambda: lines() == 0)


@pytest.mark.parametrize("told", [b"x" * 32, b""], ids=["another key", "nothing"])
def test_strangers_have_no_line(address, told):
    actor = Answering()
    number = dask_lines.listen(actor)
    with socket.create_connection(number[:2], timeout=10) as line:
        line.sendall(told)
        line.shutdown(socket.SHUT_WR)
        with pytest.raises(OSError, match=r"gone|reset"):
            dask_lines.receive(line)
    with pytest.raises(OSError, match=r"refused|gone|reset"):
        dask_lines.call(number)
    assert soon(lambda: lines() == 0)


@pytest.mark.parametrize(
    "other", ["tls://127.0.0.1:1", "inproc://127.0.0.1/1/1", "tcp://192.0.2.1:1"]
)
def test_there_are_no_lines_past_encryption(address, other):
    """Nor to workers that have another address outside."""
    address.address = other
    assert dask_lines.listen(Answering()) is None


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_an_actor_does_a_pass_once(client):
    with source_of(rows_of(3000)).in_place(1000) as rows:
        _, rows = rows.run(accumulation(0))
        counting = pickle.dumps(accumulation(1))
        first = rows._turns._ask("run", 2, counting)
        again = rows._turns._ask("run", 2, counting)
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one.numbers.integers, other.numbers.integers)
        assert sum(one.numbers.integers[:, -1].sum() for one in again) > 0  # rows that have changed


def packed(several):
    """Return the numbers of statistics in the order that the core writes."""
    floats = [[one.mass, one.sums, one.squares, one.cells, one.counts] for one in several]
    integers = [[one.rows, one.fingerprint, one.changed] for one in several]
    rows = [
        [[x.ravel() for x in one if x is not None] for one in all_] for all_ in (floats, integers)
    ]
    arrays = (np.stack([np.concatenate(one) for one in some]) for some in rows)
    return Numbers(*arrays, several[0].cells is not None)


@pytest.mark.parametrize("kind", ["sums", "levels", "gaps", "other references"])
@pytest.mark.parametrize("n", [1, 2, 7, 16, 37])
def test_parts_of_actors_are_joined_in_the_same_tree(n, kind):
    """Whichever blocks the actors have, and whether parts are added as numbers or one by one."""
    rng = np.random.default_rng(n)
    shape, n_levels = (2, 3, 4), 5 if kind == "levels" else 0
    reference = rng.normal(size=shape)
    costs = rng.random((2, 3, n_levels)) if n_levels else None
    assigning = Pass(reference, np.ones((2, 1, 4)), np.zeros((2, 3)), np.zeros(4), None, costs)
    counting = Accumulation(assigning, reference, None)

    def part():
        sums, squares, seen = rng.normal(size=(3, *shape))
        known = np.abs(seen) if kind == "gaps" else None
        whole = rng.integers(-(2**62), 2**62, size=(2, 2)) * 3  # fingerprints overflow
        about = rng.normal(size=shape) if kind == "other references" else reference
        counted = rng.random((2, 3, n_levels)), *whole, about
        return Statistics(
            rng.random((2, 3)), rng.integers(9, size=(2, 3)), sums, squares, known, *counted
        )

    def answer(group):
        values = [parts[at] for at in group]
        if kind == "other references":
            return join_values(Statistics.plus, group.tolist(), values)
        return Sums.of_blocks(group.tolist(), packed(values))

    parts = [part() for _ in range(n)]
    expected = join_in_tree(parts, Statistics.plus)
    for n_actors in (1, 2, 5):
        where = rng.integers(n_actors, size=n)
        groups = [rng.permutation(np.flatnonzero(where == one)) for one in range(n_actors)]
        answers = [answer(group) for group in groups if group.size]
        found = joined_of_actors(counting, pickle.loads(pickle.dumps(answers)))
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(own, other)


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_starts_run_together_where_memory_is_plenty(client, asked, monkeypatch):
    source = source_of(rows_of(3000))  # five blocks with 32 bytes a row
    assert source.most_starts(1000) == 5  # twice as much for twelve bytes a row and start
    assert source.most_starts(2**25) == 1  # parts of more starts are no longer small
    assert source.most_starts(2**27) == 1
    assert without_cluster(lambda: source_of(rows_of(3000)).most_starts(1000)) == 1

    where = {"here": [3, 2, 0, 1], "there": [4, 6, 7, 8]}
    assert module._most_starts(where, 2**22) == 4  # parts of 0 to 3, of 4, of 6 and 7, of 8

    def fit():
        rows = da.from_array(rows_of(3000), chunks=(700, 4)).persist()
        return bits(KMeans(5, n_init=4, init="random", random_state=0).fit(rows))

    expected = without_cluster(fit)
    assert fit() == expected
    assert asked[0][2].assigning.centers.shape[0] == 4
    n_passes = len(asked)
    for limit, taken, most in (
        (9.0, 1.4, 5),
        (5.0, 1.4, 4),
        (5.0, 0.0, 5),
        (4.0, 2.3, 1),
        (3.9, 1.4, 1),
    ):
        memory = module._Memory(limit, taken, 1)
        monkeypatch.setattr(module.DaskSource, "_memory_of", lambda *_, memory=memory: [memory])
        assert source.most_starts(1000) == most
    assert fit() == expected  # one after the other, without actors
    assert len(asked) == n_passes


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_actors_hold_sample_weights_gaps_and_categories(client, asked):
    X = rows_of(3000)
    X[::7, 1] = np.nan
    weight = np.arange(3000) % 3.0
    frame = pd.DataFrame(X[:, [0, 2]], columns=["a", "b"]).assign(c=["x", "y", "y"] * 1000)

    def fit():
        rows, weights = da.from_array(X, chunks=(700, 4)), da.from_array(weight, chunks=900)
        options = ONE | {"init": "random", "missing": "rescale"}
        table = dd.from_pandas(frame, npartitions=4)
        return [
            bits(EWKMeans(3, **options).fit(rows, sample_weight=weights)),
            bits(IMWKMeans(3, p=1.5, **options).fit(rows)),
            bits(AWKMeans(3, **ONE).fit(table)),
        ]

    expected = without_cluster(fit)
    asked.clear()
    assert fit() == expected
    assert {method for method, _, _ in asked} == {"run", "reduce"}
    kinds = {type(reduction).__name__ for _, _, reduction in asked}
    assert {"Accumulation", "SlopesAt"} <= kinds


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_fits_at_the_same_time(client):
    """Also those inside of tasks, whose workers must not wait for themselves."""
    expected = without_cluster(fit_by_bounds)
    inside = [client.submit(fit_by_bounds, pure=False) for _ in range(3)]
    assert fit_by_bounds() == expected
    assert client.gather(inside) == [expected] * 3
    assert soon(lambda: actors(client) == 0)


@pytest.mark.usefixtures("_small_tables_keep_bounds")
def test_an_actor_uses_the_threads_of_its_worker():
    expected = without_cluster(fit_by_bounds)
    with cluster(1, threads_per_worker=3):
        assert fit_by_bounds() == expected


class _Addresses(BlockReduction):
    """Return where the arrays of row memory are."""

    def on_block(self, block, memory):
        return {name: [array.ctypes.data] for name, array in memory.items()}, memory

    def join(self, before, after):
        return {name: before[name] + after[name] for name in before}


class _Labels(BlockReduction):
    def on_block(self, block, memory):
        return memory["labels"][0], memory

    def join(self, before, after):
        return np.concatenate([before, after])


def source_of(X):
    rows = da.from_array(X, chunks=(700, 4)).persist()
    if module.cluster_client() is not None:
        distributed.wait(rows)
    pieces = Pieces.of(rows.to_delayed().ravel().tolist()).held()
    return module.DaskSource(pieces, None, rows.chunks[0], numeric_layout(4), X.dtype)


def accumulation(seed, *, bounded=False, last=None):
    """Return a pass with random centers, and bounds of the pass of another seed."""

    def assigning(seed):
        centers = np.random.default_rng(seed).normal(size=(1, 5, 4)) * 3.0
        return Pass(centers, np.ones((1, 1, 4)), np.zeros((1, 5)), np.zeros(4))

    span = np.full(4, 10.0)
    counting = Accumulation(assigning(seed), assigning(seed).centers, KeptLabels.new(1), span)
    return counting.by_bounds(None if last is None else assigning(last)) if bounded else counting


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
    X = rows_of(4000)
    passes, doomed, when = [], [], 3

    def kill_in_mid_pass(process):
        time.sleep(0.02)
        os.kill(process, signal.SIGKILL)

    def watch(name):
        original = getattr(module.DaskSource, name)

        def watched(self, reduction):
            passes.append(type(reduction).__name__)
            if passes.count("Accumulation") == when and doomed:
                threading.Thread(target=kill_in_mid_pass, args=[doomed.pop()]).start()
            return original(self, reduction)

        monkeypatch.setattr(module.DaskSource, name, watched)

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
