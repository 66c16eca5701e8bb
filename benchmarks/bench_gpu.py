"""Rows on a GPU: whole iterations beside the floor of the card and beside PyTorch.

Run on a machine with a CUDA device: ``python benchmarks/bench_gpu.py`` (a few minutes). It first
checks every algorithm against the CPU (``--no-check`` leaves this out), then prints milliseconds
for a whole iteration (labels, statistics, weights, stopping test), the floor, and the peers that
are installed. ``--cpu`` needs no device: it times the end-to-end case on some of its rows in
memory, on all cores, and extrapolates to all rows.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from typing import Any

import numpy as np
import torch
import triton

import fwkmeans as fw
from fwkmeans.exceptions import NotConvergedWarning

CASES = [(10_000_000, 64, 64), (100_000_000, 16, 16), (1_000_000, 256, 256)]
END_TO_END = (100_000_000, 16, 16)
ITERATIONS = 30


def blobs(n: int, m: int, k: int, seed: int = 0, device: str = "cuda") -> torch.Tensor:
    """Return Gaussian clusters in half of the columns, and noise in the others."""
    generator = torch.Generator(device=device).manual_seed(seed)
    centers = torch.randn(k, m, generator=generator, device=device)
    centers[:, m // 2 :] = 0
    rows = torch.empty(n, m, device=device)
    for first in range(0, n, 1 << 20):
        part = rows[first : first + (1 << 20)]
        own = torch.randint(0, k, (len(part),), generator=generator, device=device)
        part[...] = torch.randn(part.shape, generator=generator, device=device) + centers[own]
    return rows


def milliseconds(work: Any, repeats: int = 3) -> float:
    """Return the shortest time of some repeats."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def rates() -> tuple[float, float, float]:
    """Return measured bytes a second, and operations a second in tf32 and in float16."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    copying = milliseconds(lambda: target.copy_(source), 10) / 1e3
    torch.backends.cuda.matmul.allow_tf32 = True
    a = torch.randn(8192, 8192, device="cuda")
    a @ a
    products = milliseconds(lambda: a @ a, 5) / 1e3
    torch.backends.cuda.matmul.allow_tf32 = False
    a = a.half()
    a @ a
    half = milliseconds(lambda: a @ a, 5) / 1e3
    return 2 * source.numel() / copying, 2 * 8192**3 / products, 2 * 8192**3 / half


def iteration(estimator: Any, rows: Any, starts: torch.Tensor) -> float:
    """Return the milliseconds of one iteration: those of many, less those of the first ten."""

    def fit(n: int) -> tuple[float, int]:
        init = starts.double().cpu().numpy()
        model = estimator(len(init), init=init, n_init=1, max_iter=n, tol=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            return milliseconds(lambda: model.fit(rows), 2), model.n_iter_

    fit(2)
    (few, n_few), (many, n_many) = fit(10), fit(10 + ITERATIONS)
    return (many - few) / max(1, n_many - n_few)


def torch_lloyd(rows: torch.Tensor, centers: torch.Tensor, n: int) -> None:
    """Run unweighted iterations as one would write them in PyTorch, in tf32."""
    step = max(1, (1 << 28) // centers.shape[0])
    for _ in range(n):
        sums, counts = torch.zeros_like(centers), torch.zeros(len(centers), device="cuda")
        norms = centers.square().sum(1)
        for first in range(0, len(rows), step):
            part = rows[first : first + step]
            labels = (norms - 2 * part @ centers.T).argmin(1)
            sums.index_add_(0, labels, part)
            counts += torch.bincount(labels, minlength=len(centers))
        centers = sums / counts.clamp(min=1)[:, None]


def flash(rows: torch.Tensor, k: int, centers: torch.Tensor) -> float | None:
    """Return the milliseconds of an iteration of Flash-KMeans, None if it is not installed."""
    try:
        from flash_kmeans import batch_kmeans_Euclid
    except ImportError:
        return None

    def fit(n: int) -> float:
        run = lambda: batch_kmeans_Euclid(  # noqa: E731
            rows[None], k, max_iters=n, tol=-1.0, init_centroids=centers[None]
        )
        return milliseconds(run, 2)

    fit(2)
    return (fit(ITERATIONS + 10) - fit(10)) / ITERATIONS


def check() -> None:
    """Fit every algorithm on the card and on the CPU; labels, centers and weights must agree."""
    rng = np.random.default_rng(0)
    groups = [[0, 1, 2], [3, 4, 5]]
    centers = rng.normal(size=(4, 6)) * 4
    centers[:, 3:] = 0
    X = centers[rng.integers(0, 4, 3000)] + rng.normal(size=(3000, 6))
    weight = rng.random(3000)
    models = [
        fw.KMeans(4),
        fw.EWKMeans(4),
        fw.WKMeans(4),
        fw.WKMeans(4, weights="cluster"),
        fw.AWKMeans(4),
        fw.FWSAKMeans(4),
        fw.IMWKMeans(4, p=2),
        fw.FGKMeans(4, groups=groups),
        fw.SYNCLUS(4, groups=groups),
        fw.ConvexKMeans(4, spaces=groups),
    ]
    for model in models:
        for name, value in (
            ("random_state", 0),
            ("n_init", 1),
        ):  # one start: no ties between starts
            if name in model.get_params():
                model.set_params(**{name: value})
        for dtype, places in ((np.float64, 1e-9), (np.float32, 1e-3)):
            rows = X.astype(dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                host = model.fit(rows, sample_weight=weight)
                want = host.labels_, host.cluster_centers_, host.feature_weights_
                card = model.fit(torch.as_tensor(rows, device="cuda"), sample_weight=weight)
            got = [
                getattr(card, n).cpu().numpy()
                for n in ("labels_", "cluster_centers_", "feature_weights_")
            ]
            differ = int((got[0] != want[0]).sum())
            off = max(float(np.abs(g - w).max()) for g, w in zip(got[1:], want[1:], strict=True))
            predicted = card.predict(torch.as_tensor(rows, device="cuda"))
            same = bool((predicted == card.labels_).all())
            verdict = "agrees" if differ == 0 and off < places and same else "DIFFERS"
            print(
                f"  {type(model).__name__:14} {np.dtype(dtype).name}: {verdict}, "
                f"{differ} labels differ, largest difference {off:.1e}",
                flush=True,
            )


def on_cpu(n: int = 1_000_000) -> None:
    """Fit some rows of the end-to-end case on all cores; print what all of them would take."""
    whole, m, k = END_TO_END
    rows = blobs(n, m, k, device="cpu").numpy()
    model = fw.EWKMeans(k, n_init=1, random_state=0, n_jobs=-1)
    begin = time.perf_counter()
    model.fit(rows)
    seconds = time.perf_counter() - begin
    print(
        f"CPU, {os.cpu_count()} cores: {n} x {m} from k-means++ to convergence in {seconds:.1f} s, "
        f"{model.n_iter_} iterations, {1e3 * seconds / model.n_iter_:.1f} ms each; {whole} rows "
        f"would take {seconds * whole / n:.0f} s for as many iterations"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--cases", type=int, default=len(CASES), help="how many of the cases")
    parser.add_argument("--cpu", action="store_true", help="only the figure of the CPU")
    arguments = parser.parse_args()
    if arguments.cpu:
        on_cpu()
        return
    print(
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton "
        f"{triton.__version__}, fwkmeans {fw.__version__}"
    )
    if not arguments.no_check:
        check()
    bandwidth, products, halves = rates()
    print(
        f"copy {bandwidth / 1e12:.2f} TB/s, products {products / 1e12:.0f} TFLOP/s in tf32, "
        f"{halves / 1e12:.0f} in float16"
    )
    for n, m, k in CASES[: arguments.cases]:
        rows = blobs(n, m, k)
        starts = rows[:: n // k][:k].clone()
        reading, forming = 1e3 * 4 * n * m / bandwidth, 1e3 * 4 * n * m * k / products
        in_half = 1e3 * 4 * n * m * k / halves
        floor = max(reading, forming)
        ours = iteration(fw.EWKMeans, rows, starts)
        plain = iteration(fw.KMeans, rows, starts)
        torch_lloyd(rows, starts, 1)
        naive = milliseconds(lambda r=rows, s=starts: torch_lloyd(r, s, 3), 2) / 3
        other = flash(rows, k, starts)
        print(
            f"{n} x {m}, {k} clusters: floor {floor:.2f} ms (reading {reading:.2f}, products "
            f"{forming:.2f} in tf32, {in_half:.2f} in float16); EWKMeans {ours:.2f} "
            f"({ours / floor:.1f} x), KMeans {plain:.2f}; unweighted: PyTorch {naive:.2f}, "
            f"Flash-KMeans {'not installed' if other is None else f'{other:.2f}'}",
            flush=True,
        )
        del rows
        torch.cuda.empty_cache()
    rows = blobs(10_000, 20, 10)
    batch = fw.EWKMeans(10, n_init=1000, random_state=0)
    single = fw.EWKMeans(10, n_init=1, random_state=0)
    batch.fit(rows)
    print(
        f"1000 starts on 10k x 20: {milliseconds(lambda: batch.fit(rows), 2):.0f} ms, one start "
        f"{milliseconds(lambda: single.fit(rows), 2):.1f} ms",
        flush=True,
    )
    rows = blobs(*END_TO_END)
    model = fw.EWKMeans(END_TO_END[2], n_init=1, random_state=0)
    model.fit(rows[: 1 << 25])  # compiles the programs
    total = milliseconds(lambda: model.fit(rows), 1)
    print(
        f"100M x 16, from k-means++ to convergence: {total / 1e3:.2f} s, {model.n_iter_} "
        f"iterations, converged: {model.converged_}",
        flush=True,
    )
    known = model.inertia_, model.cluster_centers_.cpu()
    model.fit(rows)
    same = model.inertia_ == known[0] and bool((model.cluster_centers_.cpu() == known[1]).all())
    print(f"a second run gives the same bits: {same}", flush=True)


if __name__ == "__main__":
    main()
