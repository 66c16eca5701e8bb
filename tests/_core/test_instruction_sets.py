"""Every instruction set of the one binary gives the same labels, and sums up to rounding."""

import functools

import numpy as np
import pytest

from _core.problems import assert_labels_exact, assert_same_statistics, make_problem, python
from fwkmeans._core import twin

pytest.importorskip("fwkmeans._core.compiled")

NAMES = ["baseline", "x86_64_v3", "x86_64_v4"]
WHAT = ["accumulate", "farthest", "assign", "distances", "describe"]

CODE = """
import sys, numpy as np
from _core.test_instruction_sets import problems
from fwkmeans._core import compiled
found = {}
for at, problem in enumerate(problems()):
    labels, objective = problem.assign(compiled, 2)
    results = [*problem.accumulate(compiled, 2), *problem.farthest(compiled), labels, objective]
    results += [problem.distances(compiled), *problem.describe(compiled)]
    found.update({f"{at}-{i}": result for i, result in enumerate(results)})
np.savez(sys.argv[1], **found)
print(compiled.instruction_set())
"""


def problems():
    seed = 0
    for dtype in (np.float32, np.float64):
        for shared in (False, True):
            for n, m, k in [(1, 1, 1), (70, 2, 3), (1500, 13, 11), (5000, 40, 6), (600, 70, 23)]:
                for layout in ("C", "all backwards"):
                    seed += 1
                    yield make_problem(
                        seed,
                        n,
                        m,
                        k,
                        2,
                        dtype=dtype,
                        shared=shared,
                        layout=layout,
                        sample_weight=seed % 2 == 1,
                        offsets=seed % 3 == 1,
                        zero_weights=seed % 4 == 1,
                        origin=[0.0, 1e3][seed % 2],
                    )


@functools.cache
def expected():
    """Return each problem with what the twin says of it."""
    return [
        (
            p,
            p.accumulate(twin),
            p.farthest(twin),
            p.assign(twin),
            p.distances(twin),
            p.describe(twin),
        )
        for p in problems()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_set_equals_the_twin(name, tmp_path):
    used = python(CODE, tmp_path / "found.npz", FWKMEANS_ISA=name).strip()
    assert used in NAMES
    if used != name:
        pytest.skip(f"this machine offers no more than {used}")
    with np.load(tmp_path / "found.npz") as stored:
        found = dict(stored)
    for at, (problem, statistics, farthest, assigned, distances, moments) in enumerate(expected()):
        part = [found[f"{at}-{i}"] for i in range(19)]
        assert_same_statistics(type(statistics)(*part[:7]), statistics)
        np.testing.assert_allclose(part[7], farthest[0], rtol=1e-12)
        np.testing.assert_array_equal(part[8], farthest[1])
        np.testing.assert_array_equal(part[9], assigned[0])
        assert_labels_exact(part[9], problem)
        np.testing.assert_allclose(part[10], assigned[1], rtol=1e-11)
        rtol = 1e-6 if problem.rows.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(part[11], distances, rtol=rtol)
        for got, wanted in zip(part[12:], moments, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)
