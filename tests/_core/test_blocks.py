"""One call of the core for several blocks gives what a call for each of them gives, to the bit."""

from dataclasses import replace

import numpy as np
import pytest

from _core.problems import (
    assert_bitwise,
    assert_same_statistics,
    make_mixed_problem,
    make_problem,
)
from fwkmeans._core import twin
from fwkmeans._core.packed import Numbers
from fwkmeans._core.passes import Accumulation
from fwkmeans._core.sparse import SparseRows
from fwkmeans.typing import KeptLabels, LastLabels

compiled = pytest.importorskip("fwkmeans._core.compiled")

KINDS = {
    "float32": {"dtype": np.float32},
    "float64": {"dtype": np.float64, "shared": True},
    "weights": {"dtype": np.float32, "sample_weight": True},
    "gaps": {"dtype": np.float64, "missing": 0.3},
    "levels": {"dtype": np.float64, "n_categorical": 2},
    "levels and gaps": {"dtype": np.float32, "n_categorical": 2, "missing": 0.2},
    "powers": {"dtype": np.float64, "powers": (1.5, 2.0)},
}
LENGTHS = [[5], [1, 1], [700, 1, 2500, 40, 9000, 3], [3000] * 8]  # one segment, and several


def problem_of(kind, lengths):
    options = {"powers": (2.0, 2.0), **KINDS[kind]}
    problem = make_mixed_problem(len(lengths), sum(lengths), 6, 4, **options)
    return problem if kind == "powers" else problem._replace(power=None)


def cut(array, lengths):
    return np.split(array, np.cumsum(lengths)[:-1])


def blocks_of(problem, lengths):
    """Return the rows of a problem as blocks."""
    whole = problem.block()
    firsts = np.cumsum([0, *lengths])
    empty = [None] * len(lengths)
    return [
        whole._replace(rows=rows, sample_weight=weight, first_row=int(first), levels=levels)
        for rows, weight, first, levels in zip(
            cut(whole.rows, lengths),
            empty if whole.sample_weight is None else cut(whole.sample_weight, lengths),
            firsts,
            empty if whole.levels is None else cut(whole.levels, lengths),
            strict=False,
        )
    ]


def statistics_of(numbers, problem):
    n_blocks = len(numbers.floats)
    return [numbers.at(b).statistics(problem.assigning, problem.reference) for b in range(n_blocks)]


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("lengths", LENGTHS, ids=len)
@pytest.mark.parametrize("kind", KINDS)
def test_several_blocks_at_once_give_what_each_gives(kind, lengths, n_threads):
    problem = problem_of(kind, lengths)
    blocks = blocks_of(problem, lengths)
    rng = np.random.default_rng(0)
    for update in (None, [False, True]):
        lasts = [[None] * len(blocks) for _ in range(3)]
        if update is not None:
            labels = [rng.integers(4, size=(2, n)).astype(np.int32) for n in lengths]
            lasts = [[LastLabels(x.copy(), np.array(update)) for x in labels] for _ in range(3)]
        given = (problem.assigning, problem.reference)
        nothing = [None] * len(blocks)
        found = compiled.accumulate_all(blocks, *given, lasts[0], nothing, n_threads)
        for at, part in enumerate(statistics_of(found, problem)):
            alone = compiled.assign_and_accumulate(blocks[at], *given, lasts[1][at])
            assert_bitwise(part[:-1], alone[:-1])
            slowly = twin.assign_and_accumulate(blocks[at], *given, lasts[2][at])
            if update is None:  # else sums are differences, and rounded as such
                assert_same_statistics(part, slowly)
            np.testing.assert_array_equal(part.rows, slowly.rows)
            if update is not None:
                np.testing.assert_array_equal(lasts[0][at].labels, lasts[1][at].labels)
                np.testing.assert_array_equal(lasts[0][at].labels, lasts[2][at].labels)


def passes(problem, n_starts, rng):
    """Return passes of a loop whose centers move: plain, by bounds, of some starts only, again."""
    some = np.array([n_starts - 1])
    span, kept = np.ptp(problem.rows, axis=0).astype(np.float64), np.arange(n_starts)
    counting, last = [], None
    for number in range(7):
        centers = problem.centers + 0.02 * rng.normal(size=problem.centers.shape)
        assigning = problem.assigning._replace(centers=centers)
        update = rng.random(n_starts) < (0.7 if number else 0.0)
        one = Accumulation(assigning, problem.reference, KeptLabels(kept, update), span)
        if number == 4:
            starts = problem.of_starts(some)
            labels = KeptLabels(kept, np.zeros(1, dtype=np.bool_), some)
            one = Accumulation(starts.assigning, starts.reference, labels, span)
        elif number:
            one, last = one.by_bounds(last), assigning
        counting.append(one)
    return counting


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", ["float32", "float64", "weights", "gaps"])
@pytest.mark.parametrize("n_starts", [1, 3])
def test_bounds_of_several_blocks_are_those_of_each(kind, n_threads, in_place, n_starts):
    lengths = [700, 1, 2500, 40, 9000, 3]
    options = {"powers": (2.0,) * n_starts, **KINDS[kind]}
    problem = make_mixed_problem(1, sum(lengths), 6, 4, **options)._replace(power=None)
    blocks, rng = blocks_of(problem, lengths), np.random.default_rng(1)
    apart, together = [{} for _ in blocks], [{} for _ in blocks]
    for number, one in enumerate(passes(problem, n_starts, rng)):
        counting = replace(one, in_place=in_place)
        numbers, together = counting.on_blocks(blocks, together, n_threads)
        assert numbers.gaps == (kind == "gaps")
        for at, block in enumerate(blocks):
            part, apart[at] = one.on_block(block, apart[at])
            assert_bitwise(counting.statistics_of(numbers.at(at))[:-1], part[:-1])
            assert apart[at].keys() == together[at].keys()
            assert ("upper" in together[at]) == (number > 0)
            for name, array in apart[at].items():
                np.testing.assert_array_equal(together[at][name], array)
            starts = slice(None) if one.labels.starts is None else one.labels.starts
            plain = Accumulation(one.assigning, one.reference, KeptLabels.new(len(part.mass)))
            expected = plain.on_block(block, {})[1]["labels"]
            np.testing.assert_array_equal(together[at]["labels"][starts], expected)


@pytest.mark.parametrize("without", [0, 1])
def test_a_block_without_bounds_may_stand_beside_others(without):
    problem = make_problem(0, 4000, 6, 4, 1, dtype=np.float32)
    blocks = blocks_of(problem, [2000, 2000])
    memories = [{}, {}]
    first, second, third, *_ = passes(problem, 1, np.random.default_rng(0))
    for one in (first, second):
        _, memories = one.on_blocks(blocks, memories, 1)
    far = third.assigning.centers + 1.0  # so that bounds of the last pass do not hold
    third = replace(third, assigning=third.assigning._replace(centers=far))
    memories[without] = {"labels": memories[without]["labels"]}
    numbers, left = third.on_blocks(blocks, memories, 1)
    for at, block in enumerate(blocks):
        part, expected = third.on_block(block, memories[at])
        assert_bitwise(third.statistics_of(numbers.at(at))[:-1], part[:-1])
        np.testing.assert_array_equal(left[at]["labels"], expected["labels"])
        plain = replace(third, bounded=False, last=None)
        np.testing.assert_array_equal(
            left[at]["labels"], plain.on_block(block, memories[at])[1]["labels"]
        )


def test_blocks_of_other_kinds_are_taken_one_by_one():
    problem = make_problem(0, 60, 3, 2)
    counting = Accumulation(problem.assigning, problem.reference, None)
    block = problem.block()
    single = block._replace(rows=block.rows.astype(np.float32))
    assert counting.on_blocks([block, single], [{}, {}], 1) is None
    assert counting.on_blocks([block, block._replace(gaps=True)], [{}, {}], 1) is None
    half = block._replace(rows=block.rows.astype(np.float16))  # which the twin takes
    assert counting.on_blocks([half], [{}], 1) is None
    begins = np.arange(0, 181, 3)
    rows = SparseRows(
        block.rows.ravel().copy(), np.tile(np.arange(3, dtype=np.int32), 60), begins, 3
    )
    assert counting.on_blocks([block._replace(rows=rows)], [{}], 1) is None
    assert counting.on_blocks([block], [{}], 1) is not None


def test_numbers_are_those_of_statistics():
    problem = problem_of("levels and gaps", [50, 70])
    numbers = compiled.accumulate_all(
        blocks_of(problem, [50, 70]),
        problem.assigning,
        problem.reference,
        [None, None],
        [None, None],
        1,
    )
    before, after = statistics_of(numbers, problem)
    joined = numbers.at(0).plus(numbers.at(1)).statistics(problem.assigning, problem.reference)
    assert_bitwise(joined[:-1], before.plus(after)[:-1])
    again = Numbers.stack([numbers.at(0), numbers.at(1)])
    assert_bitwise(again[:2], numbers[:2])
    assert again.gaps
