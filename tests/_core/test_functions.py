"""Several steps of NumPy in one call of the core: the bits are those of the steps."""

import numpy as np
import pytest

from fwkmeans._core import array_kernels, compiled, functions
from fwkmeans._core.twin import Moments, Summary
from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import Block, Description


def largest_share_in_numpy(values):
    total = values.sum(axis=1)
    return float((values.max(axis=1)[total > 0] / total[total > 0]).max(initial=0.0))


def summarize_in_numpy(moments, reference, *, anyway):
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        drift = moments.sums / moments.observed
        scatter = np.maximum(moments.squares - moments.sums * drift, 0.0)
        mean = reference + drift
        if not anyway and (moments.squares > 100.0 * scatter).any():
            return mean
    known = moments.observed > 0  # a column may be missing in all of these rows
    minimum, maximum = np.where(known, moments.minimum, 0.0), np.where(known, moments.maximum, 0.0)
    constant = maximum <= minimum
    mean, scatter = np.where(constant, minimum, mean), np.where(constant, 0.0, scatter)
    varying, span = maximum > minimum, maximum - minimum
    varying = varying if varying.any() else np.ones_like(varying)
    n_varying = int(np.count_nonzero(varying))
    magnitude = np.maximum(np.abs(minimum), np.abs(maximum))
    arrays = (mean, scatter, minimum, maximum, span, magnitude, varying / float(n_varying), varying)
    for array in arrays:
        array.flags.writeable = False
    return Summary(
        *arrays,
        n_varying,
        (float(span.min()), float(span.max())),
        (float(scatter.min()), float(scatter.max())),
        float(np.add.reduce(scatter)),
    )


def assert_same_bits(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    signs = (np.signbit(numbers) & (numbers == numbers) for numbers in (found, expected))
    np.testing.assert_array_equal(*signs)


def weights(shape, seed):
    """Return weights of very different sizes, some of them zero."""
    rng = np.random.default_rng(seed)
    values = rng.random(shape) ** rng.integers(1, 60, shape)
    return np.where(rng.random(shape) < 0.2, 0.0, values)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1, 3, 4), (2, 3, 7), (3, 1, 8), (2, 5, 200), (1, 2, 777)]
)
def test_entropies_and_units(shape):
    for values in (
        weights(shape, 0),
        np.zeros(shape),
        weights(shape, 1)[:, :1],
        1e300 * weights(shape, 2),
    ):
        with np.errstate(over="ignore"):
            terms = np.where(values > 0, values * np.log(np.where(values > 0, values, 1.0)), 0.0)
            found, expected = functions.sum_x_log_x(values), terms.sum(axis=-1)
            rounding = 1e-13 * np.abs(terms).sum(axis=-1)
        assert ((np.abs(found - expected) <= rounding) | (found == expected)).all()
        scaled, unit = functions.to_unit(values)
        np.testing.assert_array_equal(scaled, values * unit[:, None, None])
        assert (np.frexp(unit)[0] == 0.5).all()  # powers of two
        largest = scaled.max(axis=(1, 2))
        assert ((largest == 0) | ((largest >= 0.5) & (largest < 1))).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (50, 200)])
def test_largest_shares(shape):
    spread = np.full(shape, 0.25)
    spread[0, 0] = 1e-300 if shape[1] == 1 else 0.75 * (shape[1] - 1)  # three quarters of its row
    assert functions.largest_share(spread) == pytest.approx(1.0 if shape[1] == 1 else 0.75)
    single = weights(shape, 5).astype(np.float32)
    for values in (weights(shape, 4), np.zeros(shape), single, np.asfortranarray(single)):
        found = functions.largest_share(values)
        expected = largest_share_in_numpy(values.astype(np.float64))
        assert found == pytest.approx(expected, rel=1e-13)
        assert 0 <= found <= 1


def test_largest_of_a_start_is_between_a_half_and_one():
    values = weights((50, 3, 6), 3) + 1e-310  # subnormal numbers keep their digits
    scaled, unit = functions.to_unit(values)
    assert_same_bits(scaled / unit[:, None, None], values)
    assert (scaled.max(axis=(-2, -1)) >= 0.5).all()
    assert (scaled < 1).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 500, 65_536, 140_001])
def test_masses(n_rows, weighted):
    rng = np.random.default_rng(n_rows)
    labels = rng.integers(0, 7, n_rows, dtype=np.int32)
    weight = rng.random(n_rows) if weighted else None
    block = Block(np.empty((n_rows, 1)), weight)
    assert_same_bits(compiled.mass_of(block, labels, 9), array_kernels.mass_of(block, labels, 9))


def tables():
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(40, 9))
    yield usual
    yield 1e8 + usual
    yield usual * 10.0 ** rng.integers(-150, 150, 9)
    yield np.vstack([np.full(9, 1e9), usual])  # the first row is an outlier
    yield np.where(np.arange(9) % 3 == 0, 7.0, usual)  # constant columns
    yield np.full((5, 3), -2.0)
    yield np.zeros((1, 1))
    yield np.where(rng.random(usual.shape) < 0.3, np.nan, usual)
    yield np.where(np.arange(9) == 4, np.nan, usual)  # nothing is observed there
    yield np.where(rng.random(usual.shape) < 0.1, np.inf, usual)
    yield 1e200 * usual  # squares overflow


@pytest.mark.parametrize("table", list(tables()))
def test_summaries(table):
    for reference in (np.nan_to_num(table[0], posinf=0.0), np.zeros(table.shape[1])):
        with np.errstate(all="ignore"):
            moments = compiled.describe(Block(table, None), reference)
            for anyway in (False, True):
                found = functions.summarize(moments, reference, anyway=anyway)
                expected = summarize_in_numpy(moments, reference, anyway=anyway)
                assert type(found) is type(expected)
                for one, other in zip(found, expected, strict=True):
                    assert_same_bits(one, other)


def test_squares_that_cancel_are_told():
    far = Moments(
        3.0, 3, *np.array([[3e9], [3e18 + 2], [0], [1], [3]]), *np.zeros((2, 1), np.int64)
    )
    reference = np.array([-1e9])
    assert_same_bits(functions.summarize(far, reference, anyway=False), [0.0])
    assert isinstance(functions.summarize(far, reference, anyway=True), functions.Summary)


@pytest.mark.parametrize("table", list(tables())[:7])
def test_a_description_remembers_what_it_would_compute(table):
    found, _ = describe(MemorySource(table))
    anew = Description(*found)
    known = ("varying", "n_varying", "equal_weights", "span", "magnitude")
    for name in (*known, "span_range", "scatter_range"):
        assert name in vars(found)
        assert name not in vars(anew)
        assert_same_bits(getattr(found, name), getattr(anew, name))
    assert not found.span.flags.writeable


@pytest.mark.parametrize("table", [*tables(), np.empty((3, 0))])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_call_describes_as_its_steps_do(table, weighted):
    block = Block(table, np.arange(float(len(table))) if weighted and len(table) > 1 else None)
    with np.errstate(all="ignore"):
        reference, moments, summary = compiled.describe_alone(block)
        steps = compiled.describe(block, reference)
        expected = functions.summarize(steps, reference, anyway=False)
    assert type(summary) is type(expected)
    for one, other in zip((*moments, *summary), (*steps, *expected), strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_row_with_weight(dtype, order):
    rows = np.asarray([[9, 9, 9], [1, np.nan, -np.inf], [5, 6, 7]], dtype=dtype, order=order)
    for some, weight, expected in (
        (rows, None, [9, 9, 9]),
        (rows, np.asarray([0.0, 0.5, 1.0]), [1, 0, 0]),
        (rows[::-2], None, [5, 6, 7]),
    ):
        with np.errstate(invalid="ignore"):
            reference = compiled.describe_alone(Block(some, weight))[0]
        np.testing.assert_array_equal(reference, expected)
