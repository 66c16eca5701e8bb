"""The fingerprint stands for the labels of all rows with weight."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from _core.problems import make_problem
from fwkmeans._core import twin

compiled = pytest.importorskip("fwkmeans._core.compiled")


def fingerprint_of(labels, n_clusters, kernels, sample_weight=None, first_row=0):
    """Row i is the number of its cluster, and so is center k."""
    problem = make_problem(0, len(labels), 1, n_clusters)
    problem = problem._replace(
        rows=np.asarray(labels, dtype=np.float64)[:, None],
        centers=np.arange(n_clusters, dtype=np.float64)[None, :, None],
        weights=np.ones((1, n_clusters, 1)),
        sample_weight=sample_weight,
        first_row=first_row,
    )
    fingerprint = problem.accumulate(kernels).fingerprint
    assert fingerprint.dtype == np.int64
    return int(fingerprint[0])


labellings = st.lists(st.integers(0, 11), min_size=1, max_size=200)


@settings(max_examples=150, deadline=None)
@given(labels=labellings, data=st.data(), first_row=st.integers(0, 2**50))
def test_fingerprint_differs_when_any_single_label_differs(labels, data, first_row):
    row = data.draw(st.integers(0, len(labels) - 1))
    other = data.draw(st.integers(0, 11))
    assume(other != labels[row])
    changed = list(labels)
    changed[row] = other
    before = fingerprint_of(labels, 12, compiled, first_row=first_row)
    assert before == fingerprint_of(labels, 12, twin, first_row=first_row)
    assert before != fingerprint_of(changed, 12, compiled, first_row=first_row)


@settings(max_examples=50, deadline=None)
@given(labels=labellings, data=st.data())
def test_fingerprint_differs_when_two_rows_swap_labels(labels, data):
    i, j = (data.draw(st.integers(0, len(labels) - 1)) for _ in range(2))
    assume(labels[i] != labels[j])
    swapped = list(labels)
    swapped[i], swapped[j] = labels[j], labels[i]
    assert fingerprint_of(labels, 12, compiled) != fingerprint_of(swapped, 12, compiled)


@settings(max_examples=50, deadline=None)
@given(labels=labellings, data=st.data())
def test_fingerprint_ignores_rows_without_weight(labels, data):
    row = data.draw(st.integers(0, len(labels) - 1))
    weight = np.full(len(labels), 2.5)
    weight[row] = 0.0
    changed = list(labels)
    changed[row] = data.draw(st.integers(0, 11))
    for kernels in (compiled, twin):
        expected = fingerprint_of(labels, 12, compiled, weight)
        assert fingerprint_of(changed, 12, kernels, weight) == expected
        # the size of a positive weight does not matter either
        assert fingerprint_of(labels, 12, kernels, weight * 3) == expected


@settings(max_examples=50, deadline=None)
@given(labels=labellings, data=st.data())
def test_fingerprints_of_blocks_add_up(labels, data):
    cut = data.draw(st.integers(1, len(labels)))
    parts = np.asarray(fingerprint_of(labels[:cut], 12, compiled))
    if cut < len(labels):
        parts = parts + np.asarray(fingerprint_of(labels[cut:], 12, compiled, first_row=cut))
    assert int(parts) == fingerprint_of(labels, 12, compiled)
