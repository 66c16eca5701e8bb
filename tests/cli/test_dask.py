"""Parquet files that the workers of a cluster read: the same clusters as in blocks."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture
def pattern(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    frame = pd.DataFrame(
        {
            "row": np.arange(300),
            "a": rng.normal(size=300) + 8 * labels,
            "count": rng.integers(0, 9, 300) + 4 * labels,
            "word": np.array(["x", "y", "z"])[labels],
        }
    )
    frame.loc[::17, "a"] = np.nan
    (tmp_path / "table").mkdir()
    for at, (first, last) in enumerate([(0, 0), (0, 40), (40, 300)]):
        frame[first:last].to_parquet(tmp_path / "table" / f"part{at}.parquet")
    return str(tmp_path / "table" / "*.parquet")


def test_other_files_than_parquet_are_refused(run):
    result = run("fit", "table.csv", "-k", "2", "--dask", "tcp://nowhere:1", code=1)
    assert "--dask reads Parquet files" in result.err


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask with a new pandas
@pytest.mark.parametrize("algorithm", ["ew-km", "awk"])
def test_a_cluster_gives_the_clusters_of_blocks(run, pattern, tmp_path, algorithm):
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    try:
        how = ("-a", algorithm, "-k", "3", "--starts", "2", "--json")
        out, model = str(tmp_path / "out.parquet"), str(tmp_path / "model.fwk")
        address = ("--dask", local.scheduler_address)
        there = run("fit", pattern, *how, *address, "--out", out, "--model", model).json
    finally:
        distributed.default_client().close()
        local.close()
    here = run("fit", pattern, *how, "--stream").json
    assert there["n_rows"] == here["n_rows"] == 300
    for one, other in zip(there["clusters"], here["clusters"], strict=True):
        assert one["size"] == other["size"]
    assert there["objective"] == pytest.approx(here["objective"], rel=1e-9)
    assert any("by the workers (--dask)" in note for note in there["notes"])
    written = pd.read_parquet(out)
    assert written["row"].tolist() == list(range(300))
    run("predict", model, pattern, "--out", str(tmp_path / "again.parquet"))
    again = pd.read_parquet(tmp_path / "again.parquet")
    assert again["cluster"].tolist() == written["cluster"].tolist()
