"""Looks at the rows of known clusters from a point: the kernels against plain NumPy."""

import numpy as np
import pytest

from _core.problems import LAYOUTS, relaid
from fwkmeans._core import twin
from fwkmeans._core.passes import PowersAbout, SlopesAt
from fwkmeans._core.twin import Slopes, join_slopes
from fwkmeans.sources import ChunkedSource, MemorySource
from fwkmeans.typing import Block
from row_memory import with_labels

compiled = pytest.importorskip("fwkmeans._core.compiled")

DTYPES = [np.float32, np.float64]
KERNELS = {"compiled": compiled, "twin": twin}
POWERS = np.asarray([1.0, 1.1, 1.7, 2.0, 3.0, 4.0, 4.6, 20.0, np.inf])
N_STARTS = len(POWERS)


def plain(values, s, c, p):
    """Return the fields of `Slopes` and the sum of powers, for the values of one cluster."""
    wide = np.longdouble
    here = (s > 0) & ~np.isnan(values)
    y, s, c = values[here].astype(wide), s[here].astype(wide), wide(c)
    t = c - y
    size = np.abs(t)
    apart = size > 0
    if p in (1.0, np.inf):
        slope, curvature, third = (s * np.sign(t)).sum(), wide(0), s[:0]
    else:
        slope = (s * np.sign(t) * size ** wide(p - 1)).sum()
        curvature = (s[apart] * size[apart] ** wide(p - 2)).sum()
        third = s[apart] * np.sign(t[apart]) * size[apart] ** wide(p - 3)
    beside = y if p < 2 else y[:0]  # nobody asks for the next values otherwise
    below, above = beside[beside < c].max(initial=-np.inf), beside[beside > c].min(initial=np.inf)
    slopes = Slopes(
        slope,
        curvature,
        third.sum(),
        np.abs(third).sum(),
        s[y == c].sum() if p < 2 else wide(0),
        below,
        s[y == below].sum(),
        above,
        s[y == above].sum(),
        y.min(initial=np.inf),
        y.max(initial=-np.inf),
    )
    if p == np.inf:
        return slopes, size.max(initial=0)
    return slopes, (s * (size if p == 1 else size ** wide(p))).sum()


def case(seed, n, m, k, dtype, *, layout="C", discrete=False, weighted=True, missing=0.0):
    """Return block, points and labels; the last cluster is empty, some points are outside."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (n, m)) / 4.0 if discrete else rng.normal(size=(n, m))
    rows = rows.astype(dtype)
    if missing:
        rows[rng.random((n, m)) < missing] = np.nan
    s = rng.integers(0, 3, n) * rng.uniform(0.5, 1.5, n) if weighted else None
    points = rng.normal(size=(N_STARTS, k, m))
    if discrete:
        points = rng.integers(-3, 4, points.shape) / 4.0
    points[:, 0] = -50.0  # below every value
    points[:, min(1, k - 1)] = 50.0
    points[:, -1, 0] = 0.25
    if k > 3:
        picked = rows[rng.integers(0, n, (N_STARTS, m)), np.arange(m)]
        points[:, 2] = np.where(np.isnan(picked), 0.0, picked)  # on values
    labels = rng.integers(0, max(1, k - 1), (N_STARTS, n)).astype(np.int32)
    return Block(relaid(rows, layout), s, gaps=missing > 0), points, labels


def assert_exact(slopes, powers, block, points, labels):
    s = np.ones(len(block.rows)) if block.sample_weight is None else block.sample_weight
    for r, p in enumerate(POWERS):
        for k in range(points.shape[1]):
            mine = labels[r] == k
            for v in range(points.shape[2]):
                c = points[r, k, v]
                expected, power = plain(block.rows[mine, v], s[mine], c, p)
                got = Slopes(*(part[r, k, v] for part in slopes))
                for field in ("below", "above", "low", "high"):
                    assert getattr(got, field) == float(getattr(expected, field)), field
                for field in ("equal", "below_mass", "above_mass"):
                    np.testing.assert_allclose(
                        getattr(got, field), float(getattr(expected, field)), rtol=1e-13
                    )
                for field in ("curvature", "third_size"):
                    np.testing.assert_allclose(
                        getattr(got, field), float(getattr(expected, field)), rtol=1e-12
                    )
                np.testing.assert_allclose(powers[r, k, v], float(power), rtol=1e-12)
                # rounding of the slope is relative to the sum of its sizes
                y = block.rows[mine, v].astype(float)
                size = np.nansum(s[mine] * np.abs(c - y) ** (0 if p == np.inf else p - 1))
                assert abs(got.slope - float(expected.slope)) <= 1e-12 * size
                assert abs(got.third - float(expected.third)) <= 1e-12 * expected.third_size


@pytest.mark.thinned
@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("discrete", [False, True], ids=["continuous", "discrete"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_slopes_and_powers_are_the_formulas(dtype, discrete, missing, kernels):
    # the last one is looked at in two segments, which share values
    for seed, (n, m, k) in enumerate([(1, 1, 1), (9, 2, 2), (60, 13, 5), (2100, 3, 4)]):
        block, points, labels = case(
            seed, n, m, k, dtype, discrete=discrete, weighted=seed != 1, missing=missing
        )
        slopes = kernels.slopes(block, points, POWERS, labels)
        assert_exact(slopes, kernels.powers(block, points, POWERS, labels), block, points, labels)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_slopes_and_powers_in_every_layout(dtype, layout):
    for seed, (n, m) in enumerate([(40, 1), (1300, 7), (300, 21)]):
        block, points, labels = case(seed, n, m, 4, dtype, discrete=seed == 1, missing=0.1)
        other = block._replace(rows=relaid(block.rows, layout))
        for what in ("slopes", "powers"):
            np.testing.assert_array_equal(
                getattr(compiled, what)(other, points, POWERS, labels),
                getattr(compiled, what)(block, points, POWERS, labels),
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_slopes_and_powers_equal_the_twin_for_every_number_of_features(dtype):
    for m in range(36):
        block, points, labels = case(m, 70, max(1, m), 3, dtype, discrete=m % 2 == 0, missing=0.1)
        block, points = block._replace(rows=block.rows[:, :m]), points[..., :m]
        powers = compiled.powers(block, points, POWERS, labels)
        np.testing.assert_allclose(powers, twin.powers(block, points, POWERS, labels), rtol=1e-12)
        got = compiled.slopes(block, points, POWERS, labels)
        for field, a, b in zip(
            Slopes._fields, got, twin.slopes(block, points, POWERS, labels), strict=True
        ):
            signed = field in ("slope", "third")
            scale = np.abs(b[np.isfinite(b)]).max(initial=0.0) if signed else 0.0
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * scale)


@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rough_slopes_are_nearly_those_of_double_precision(dtype, missing, kernels):
    for seed, (n, m, k) in enumerate([(1, 1, 1), (9, 2, 2), (60, 13, 5), (2101, 20, 4)]):
        block, points, labels = case(
            seed, n, m, k, dtype, discrete=seed % 2 == 0, weighted=seed > 1, missing=missing
        )
        exact = kernels.slopes(block, points, POWERS, labels)
        rough = kernels.slopes(block, points, POWERS, labels, rough=True)
        # of the terms of the slope; rough or not, those of p = 1 and infinity are exact
        sizes = [
            twin.powers(block, points[[r]], POWERS[[r]] - 1, labels[[r]])[0]
            for r in range(N_STARTS - 1)
        ]
        size = np.stack([*sizes, np.zeros(points.shape[1:])])
        known = (size > 1e-30) | (size == 0)  # a power that single precision can hold
        assert known[POWERS < 10].all()
        off = np.abs(rough.slope - exact.slope)
        assert (off <= 3e-4 * size)[known].all()
        off = np.abs(rough.curvature - exact.curvature)
        assert (off <= 3e-4 * exact.curvature)[known].all()
        np.testing.assert_array_equal(rough.low, exact.low)
        np.testing.assert_array_equal(rough.high, exact.high)


def test_rough_slopes_do_not_depend_on_threads_or_layout():
    block, points, labels = case(8, 9000, 7, 4, np.float64, missing=0.1)
    once = compiled.slopes(block, points, POWERS, labels, rough=True)
    for other in (
        block._replace(n_threads=5),
        block._replace(rows=relaid(block.rows, "all backwards")),
    ):
        again = compiled.slopes(other, points, POWERS, labels, rough=True)
        np.testing.assert_array_equal(again, once)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_slope_does_not_depend_on_the_other_features(dtype):
    """Lanes run over features: what the neighbors hold must not matter but for rounding."""
    block, points, labels = case(3, 200, 9, 3, dtype)
    whole = compiled.slopes(block, points, POWERS, labels)
    powers = compiled.powers(block, points, POWERS, labels)
    for v in range(9):
        alone = block._replace(rows=block.rows[:, [v]])
        own = np.ascontiguousarray(points[..., [v]])
        got = compiled.slopes(alone, own, POWERS, labels)
        for a, b in zip(got, whole, strict=True):
            size = np.abs(b[np.isfinite(b)]).max(initial=0.0)
            np.testing.assert_allclose(a[..., 0], b[..., v], rtol=1e-13, atol=1e-14 * size)
        np.testing.assert_allclose(
            compiled.powers(alone, own, POWERS, labels)[..., 0], powers[..., v], rtol=1e-13
        )


@pytest.mark.parametrize("block_bytes", [1, 1000, 5000, 1 << 20])
def test_slopes_and_powers_are_the_same_in_blocks(block_bytes):
    block, points, labels = case(5, 700, 3, 4, np.float64, discrete=True, missing=0.1)
    memory = MemorySource(block.rows, block.sample_weight, gaps=True)
    chunks = ChunkedSource(block.rows, block.sample_weight, block_bytes=block_bytes, gaps=True)
    memory, chunks = with_labels(memory, labels), with_labels(chunks, labels)
    for reduction in (SlopesAt(points, POWERS), PowersAbout(points, POWERS)):
        whole, parts = memory.reduce(reduction), chunks.reduce(reduction)
        for a, b in zip(whole, parts, strict=True):
            finite = np.abs(a[np.isfinite(a)]).max(initial=0.0)
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13 * finite)


def test_joined_slopes_are_those_of_all_rows():
    block, points, labels = case(6, 500, 4, 4, np.float64, discrete=True)
    whole = twin.slopes(block, points, POWERS, labels)
    for cut in (1, 100, 499):
        parts = [
            twin.slopes(
                block._replace(rows=block.rows[i], sample_weight=block.sample_weight[i]),
                points,
                POWERS,
                labels[:, i],
            )
            for i in (slice(None, cut), slice(cut, None))
        ]
        for a, b in zip(join_slopes(*parts), whole, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10)


# ---- roots --------------------------------------------------------------------------------------


def sum_of_powers(values, s, c, p):
    here = (s > 0) & ~np.isnan(values)
    y, s = values[here].astype(np.longdouble), s[here].astype(np.longdouble)
    return (s * np.abs(np.longdouble(c) - y) ** np.longdouble(p)).sum()


@pytest.mark.parametrize(
    ("kernels", "dtype", "layout"),
    [("twin", np.float64, "C"), ("compiled", np.float64, "C"), ("compiled", np.float32, "C")]
    + [("compiled", DTYPES[at % 2], layout) for at, layout in enumerate(LAYOUTS) if layout != "C"],
)
@pytest.mark.parametrize(("discrete", "missing"), [(False, 0.0), (True, 0.3)])
def test_roots_are_minimizers(kernels, dtype, layout, discrete, missing):
    """No point of a fine grid, and no value, has a lower sum of powers."""
    n, m, k = (40, 2, 3) if kernels == "compiled" else (25, 2, 2)
    block, points, labels = case(
        3, n, m, k, dtype, layout=layout, discrete=discrete, missing=missing
    )
    power = np.resize([1.05, 1.5, 2.5, 6.0], N_STARTS)
    found = KERNELS[kernels].roots(block, points, power, labels)
    s = np.ones(n) if block.sample_weight is None else block.sample_weight
    for r in range(4):
        for j in range(k):
            for v in range(m):
                values = np.where(labels[r] == j, np.asarray(block.rows)[:, v], np.nan)
                there = values[(s > 0) & ~np.isnan(values)]
                if not there.size:
                    np.testing.assert_allclose(found[r, j, v], points[r, j, v])
                    continue
                best = sum_of_powers(values, s, found[r, j, v], power[r])
                others = [*np.linspace(there.min(), there.max(), 23), *there]
                lowest = min(sum_of_powers(values, s, c, power[r]) for c in others)
                assert best <= lowest * (1 + 1e-13) + 1e-300


def test_roots_do_not_depend_on_threads_or_on_other_starts():
    block, points, labels = case(5, 700, 7, 4, np.float64)
    power = np.resize([1.05, 1.5, 2.5, 6.0], N_STARTS)
    together = compiled.roots(block, points, power, labels)
    for n_threads in (1, 2, 5):
        again = compiled.roots(block._replace(n_threads=n_threads), points, power, labels)
        np.testing.assert_array_equal(again, together)
    for r in range(N_STARTS):
        alone = compiled.roots(block, points[[r]], power[[r]], labels[[r]])
        np.testing.assert_array_equal(alone[0], together[r])
