"""Categorical columns that say the same, against mutual information and entropies of others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from fwkmeans._mixture.copies import COMPLETE, NEAR, Copies, _candidates, find_copies


def one_hot(codes):
    """Return the levels of columns of codes (-1: missing) and the column of each level."""
    parts, column = [], []
    for v, code in enumerate(np.asarray(codes).T):
        seen = np.unique(code[code >= 0])
        parts.append((code[:, None] == seen).astype(float))
        column += [v] * seen.size
    return csr_matrix(np.hstack(parts)), np.array(column)


def copies_of(*columns):
    codes = np.column_stack(columns)
    return find_copies(*one_hot(codes), codes.shape[1])


def redrawn(rng, code, share):
    """Return a column with some of its cells drawn again."""
    at = rng.uniform(size=code.size) < share
    return np.where(at, rng.permutation(code), code)


def names_of(sets):
    """Return sets of columns, whatever their numbers."""
    return {tuple(np.flatnonzero(sets == one)) for one in np.unique(sets)}


@pytest.mark.parametrize("n_levels", [2, 3, 25])
def test_copies_recoded_columns_and_near_copies_are_found(rng, n_levels):
    code, other = rng.integers(0, n_levels, (2, 400))
    recoded = rng.permutation(n_levels)[code]
    found = copies_of(code, other, recoded, redrawn(rng, code, 0.1))
    assert names_of(found.same) == {(0, 2), (1,), (3,)}
    assert names_of(found.near) == {(0, 2, 3), (1,)}
    assert_array_equal(np.concatenate(found.sets), [0, 2, 3])


def test_many_levels_in_few_rows_are_not_copies_by_chance(rng):
    """Their mutual information is large all the same, so they are candidates."""
    codes = rng.integers(0, 60, (100, 2))
    assert _candidates(*one_hot(codes)) == [(0, 1)]
    assert names_of(copies_of(*codes.T).near) == {(0,), (1,)}


def test_a_coarser_column_is_no_copy(rng):
    """It says less than the other; what both have in common is all that it says."""
    code = rng.integers(0, 6, 300)
    assert names_of(copies_of(code, code // 3).near) == {(0,), (1,)}


def test_candidates_are_pairs_of_much_mutual_information(rng):
    columns = [rng.integers(0, k, 150) for k in (2, 3, 4)]
    columns += [redrawn(rng, columns[v % 3], share) for v, share in enumerate((0.05, 0.3, 0.6) * 2)]
    columns.append(np.where(rng.uniform(size=150) < 0.2, -1, columns[1]))
    columns.append(np.where(rng.uniform(size=150) < 0.7, -1, columns[1]))  # too few cells
    columns.append(np.full(150, -1))
    codes = np.column_stack(columns)
    slow = []
    for a in range(codes.shape[1]):
        for b in range(a + 1, codes.shape[1]):
            here = (codes[:, [a, b]] >= 0).all(axis=1)
            own = [entropy(np.unique(codes[here, v], return_counts=True)[1]) for v in (a, b)]
            if here.mean() >= COMPLETE and max(own) > 0:
                shared = mutual_info_score(codes[here, a], codes[here, b])
                slow += [(a, b)] if shared >= NEAR * max(own) else []
    assert _candidates(*one_hot(codes)) == slow
    assert (1, 9) in slow


def test_copies_share_one_vote(rng):
    code, other = rng.integers(0, 3, (2, 300))
    assert_allclose(copies_of(code, other, 2 - code, code).votes, [1 / 3, 1, 1 / 3, 1 / 3])


def test_near_copies_have_the_votes_of_what_they_say_together(rng):
    code = rng.integers(0, 3, 300)
    near, other = redrawn(rng, code, 0.1), rng.integers(0, 4, 300)
    votes = copies_of(code, other, near).votes
    counts = [np.unique(one, return_counts=True)[1] for one in (code, near, 3 * code + near)]
    own, of_near, joint = (entropy(one) for one in counts)
    assert_allclose(votes, [joint / (own + of_near), 1, joint / (own + of_near)])
    assert 1 < votes[0] + votes[2] < 1.6
    # one more copy of the column changes nothing but its own share
    assert_allclose(copies_of(code, near, code).votes, [votes[0] / 2, votes[0], votes[0] / 2])


def test_three_near_copies_are_taken_apart_but_not_two_or_copies(rng):
    code, other = rng.integers(0, 3, (2, 300))
    three = [redrawn(rng, code, 0.05) for _ in range(3)]
    found = copies_of(*three, three[0], other, redrawn(rng, other, 0.05))
    assert names_of(found.near) == {(0, 1, 2, 3), (4, 5)}
    assert names_of(found.apart().near) == {(0, 3), (1,), (2,), (4, 5)}
    assert_array_equal(found.apart().same, found.same)


def test_no_categories_have_no_votes():
    none = find_copies(csr_matrix((5, 0)), np.empty(0, dtype=int), 0)
    assert isinstance(none, Copies)
    assert none.votes.shape == (0,)
    assert none.apart().sets == []
