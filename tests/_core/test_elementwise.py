"""exp and log of the core: within one unit in the last place, and the same bits everywhere."""

import hashlib

import numpy as np
import pytest

from _core.problems import python
from fwkmeans._core.functions import exp, log

_kernels = pytest.importorskip("fwkmeans._core._kernels")

CODE = """
from _core.test_elementwise import fingerprint
print(fingerprint())
"""


def numbers():
    """Return arguments of exp and of log: usual ones, and those close to where things change."""
    rng = np.random.default_rng(0)
    usual = np.concatenate([-30 * rng.random(20_000), rng.uniform(-745, 709, 20_000)])
    close = np.log(2.0) * (np.arange(-1074, 1024) + 0.5) * (1 + 1e-15 * rng.normal(size=2098))
    sizes = np.ldexp(rng.uniform(1, 2, 20_000), rng.integers(-1074, 1023, 20_000))
    near = 1 + rng.normal(size=20_000) * 10.0 ** rng.uniform(-16, -1, 20_000)
    return np.concatenate([usual, close]), np.concatenate([sizes, near, rng.random(20_000)])


def fingerprint():
    x, y = numbers()
    return hashlib.sha256(exp(x).tobytes() + log(y).tobytes()).hexdigest()


def ulps(found, exact):
    return np.abs((found.astype(np.longdouble) - exact) / np.spacing(np.abs(found)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs more digits to compare with")
def test_within_one_unit_in_the_last_place():
    x, y = numbers()
    with np.errstate(over="ignore", under="ignore"):
        # the wider type has smaller numbers, which double rounds to its subnormal ones
        assert ulps(exp(x), np.exp(x.astype(np.longdouble))).max() < 1
        assert ulps(log(y), np.log(y.astype(np.longdouble))).max() < 1


def test_values_that_have_a_name():
    inf, nan = np.inf, np.nan
    np.testing.assert_array_equal(
        exp([0.0, -inf, inf, nan, -800.0, 800.0]), [1, 0, inf, nan, 0, inf]
    )
    np.testing.assert_array_equal(
        log([1.0, 0.0, -0.0, inf, nan, -1.0]), [0, -inf, -inf, inf, nan, nan]
    )


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 33])
def test_a_number_does_not_depend_on_its_neighbors(size):
    x, y = (values[:size] for values in numbers())
    np.testing.assert_array_equal(exp(x), [exp([number])[0] for number in x])
    np.testing.assert_array_equal(log(y), [log([number])[0] for number in y])


@pytest.mark.parametrize("name", ["baseline", "x86_64_v3", "x86_64_v4"])
def test_every_instruction_set_gives_the_same_bits(name):
    assert python(CODE, FWKMEANS_ISA=name).split()[-1] == fingerprint()
