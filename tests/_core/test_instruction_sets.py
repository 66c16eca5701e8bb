"""Every instruction set of the one binary gives the same labels, and sums up to rounding."""

import functools
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from _core.problems import (
    assert_labels_exact,
    assert_same_statistics,
    make_mixed_problem,
    make_problem,
    python,
)
from fwkmeans._core import twin

_kernels = pytest.importorskip("fwkmeans._core._kernels")

NAMES = ["baseline", "x86_64_v3", "x86_64_v4"]

CODE = """
import sys, numpy as np
from _core.test_instruction_sets import known_powers, problems
from fwkmeans._core import compiled
found = {}
for at, problem in enumerate(problems()):
    labels, objective = problem.assign(compiled, 2)
    found_sums = problem.accumulate(compiled, 2)[:-1]
    results = [sums for sums in found_sums if sums is not None]
    results += [*problem.farthest(compiled)]
    results += [labels, objective, problem.distances(compiled), *problem.describe(compiled)]
    results += known_powers(problem, compiled)
    found.update({f"{at}-{i}": result for i, result in enumerate(results)})
np.savez(sys.argv[1], **found)
print(compiled.instruction_set())
"""


def problems():
    seed = 0
    for dtype in (np.float32, np.float64):
        for shared in (False, True):
            for n, m, k in [(1, 1, 1), (70, 2, 3), (1500, 13, 11), (2500, 40, 6), (600, 70, 23)]:
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

    for dtype in (np.float32, np.float64):
        for n, m, k, n_categorical, missing in [
            (70, 2, 3, 0, 0.0),
            (1500, 13, 11, 3, 0.0),
            (900, 7, 6, 0, 0.3),
            (900, 9, 4, 5, 0.3),
        ]:
            seed += 1
            yield make_mixed_problem(
                seed,
                n,
                m,
                k,
                [1.7, 1.0, 2.0, 4.6],
                dtype=dtype,
                n_categorical=n_categorical,
                missing=missing,
                rescale=seed % 2 == 1,
                sample_weight=seed % 2 == 0,
            )


def known_powers(problem, kernels):
    """Return sums of powers and their slopes under some labels, where the problem has a power."""
    if problem.power is None:
        return []
    shape = (len(problem.centers), len(problem.rows))
    n_clusters = problem.centers.shape[1]
    labels = np.random.default_rng(0).integers(0, n_clusters, shape).astype(np.int32)
    return [problem.powers(kernels, labels), *problem.slopes(kernels, labels)]


@functools.cache
def expected():
    """Return each problem with what the twin says of it; its labels are exact."""
    found = [
        (
            p,
            p.accumulate(twin),
            p.farthest(twin),
            p.assign(twin),
            p.distances(twin),
            p.describe(twin),
            known_powers(p, twin),
        )
        for p in problems()
    ]
    for problem, _, _, (labels, _), *_ in found:
        assert_labels_exact(labels, problem)
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.long
def test_every_instruction_set_equals_the_twin(name, tmp_path):
    used = python(CODE, tmp_path / "found.npz", FWKMEANS_ISA=name).strip()
    assert used in NAMES
    if used != name:
        pytest.skip(f"this machine offers no more than {used}")
    with np.load(tmp_path / "found.npz") as stored:
        found = dict(stored)
    for at, (problem, statistics, farthest, assigned, *others) in enumerate(expected()):
        distances, moments, powers = others
        part = iter([result for key, result in found.items() if key.startswith(f"{at}-")])
        take = functools.partial(itertools.islice, part)
        stored = [None if sums is None else next(part) for sums in statistics[:-1]]
        assert_same_statistics(statistics._make([*stored, statistics.reference]), statistics)
        distance, row, labels, objective, roots = take(5)
        np.testing.assert_allclose(distance, farthest[0], rtol=1e-12)
        np.testing.assert_array_equal(row, farthest[1])
        np.testing.assert_array_equal(labels, assigned[0])
        np.testing.assert_allclose(objective, assigned[1], rtol=1e-11)
        rtol = 1e-6 if problem.rows.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(roots, distances, rtol=rtol)
        for got, wanted in zip(take(len(moments)), moments, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)
        for got, wanted in zip(take(len(powers[:1])), powers[:1], strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-11)
        for got, wanted in zip(part, powers[1:], strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


# bits of cpuid and of the saved registers that x86-64-v3 implies, and those that v4 adds
V3 = {
    "leaf1_ecx": {
        "sse3": 0,
        "ssse3": 9,
        "fma": 12,
        "cx16": 13,
        "sse4_1": 19,
        "sse4_2": 20,
        "movbe": 22,
        "popcnt": 23,
        "osxsave": 27,
        "avx": 28,
        "f16c": 29,
    },
    "leaf7_ebx": {"bmi1": 3, "avx2": 5, "bmi2": 8},
    "extended1_ecx": {"lahf_lm": 0, "abm": 5},
    "saved_registers": {"xmm": 1, "ymm": 2},
}
V4 = {
    "leaf7_ebx": {"avx512f": 16, "avx512dq": 17, "avx512cd": 28, "avx512bw": 30, "avx512vl": 31},
    "saved_registers": {"masks": 5, "upper halves": 6, "upper registers": 7},
}


def level_without(*missing, of):
    """Return the level of a processor that has these features but the missing ones."""
    words = dict.fromkeys(V3, 0)
    for features in of:
        for word, bits in features.items():
            words[word] |= sum(1 << bit for name, bit in bits.items() if name not in missing)
    return _kernels.x86_level(*words.values())


def test_a_level_needs_every_feature_the_compiler_may_use():
    assert level_without(of=[V3, V4]) == 2
    assert level_without(of=[V3]) == 1
    assert level_without(of=[]) == level_without(of=[V4]) == 0
    for name in itertools.chain.from_iterable(V3.values()):
        assert level_without(name, of=[V3, V4]) == 0, name
    for name in itertools.chain.from_iterable(V4.values()):
        assert level_without(name, of=[V3, V4]) == 1, name


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="says what the processor has")
def test_the_machine_has_what_is_chosen():
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if flags is None:
        pytest.skip("not an x86 processor")
    names = {"sse3": "pni"}
    code = "from fwkmeans._core import compiled; print(compiled.instruction_set())"
    used = NAMES.index(python(code, FWKMEANS_ISA="").strip())
    for features in [V3, V4][:used]:
        wanted = {names.get(name, name) for word in features.values() for name in word}
        for saved in (V3, V4):  # the kernel does not list them
            wanted -= {"osxsave", *saved["saved_registers"]}
        assert wanted <= set(flags[1].split())
