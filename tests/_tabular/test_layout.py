"""Where numbers and categories are kept: every rearrangement against loops over the columns."""

import numpy as np
import pytest

from fwkmeans._tabular.layout import Layout, numeric_layout

# positions of the categorical columns among the features, and their numbers of levels
CASES = {
    "numbers only": (4, {}),
    "categories only": (3, {0: 2, 1: 5, 2: 1}),
    "numbers first": (4, {2: 3, 3: 2}),
    "categories first": (4, {0: 3, 1: 2}),
    "mixed": (6, {1: 4, 2: 2, 4: 3}),
    "one of each": (2, {0: 2}),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def layout(request):
    n_features, levels = request.param
    numeric = [v for v in range(n_features) if v not in levels]
    return Layout(
        np.asarray(numeric, dtype=np.int64),
        np.asarray(sorted(levels), dtype=np.int64),
        np.cumsum([0, *(levels[v] for v in sorted(levels))]),
    )


@pytest.fixture(params=[(), (2,), (3, 2)], ids=str)
def leading(request):
    return request.param


def slices(layout):
    return [slice(a, b) for a, b in zip(layout.offsets[:-1], layout.offsets[1:], strict=True)]


def test_counts(layout):
    assert layout.n_features == layout.numeric.size + layout.categorical.size
    assert layout.n_numeric == layout.numeric.size
    assert layout.n_levels == layout.offsets[-1]
    assert layout.is_numeric == (layout.categorical.size == 0)


def test_features_are_put_together_and_taken_apart(layout, leading, rng):
    features = rng.random((*leading, layout.n_features))
    numbers, categories = layout.numbers_of(features), layout.categories_of(features)
    assert numbers.shape == (*leading, layout.n_numeric)
    assert categories.shape == (*leading, layout.categorical.size)
    for at, v in enumerate(layout.numeric):
        np.testing.assert_array_equal(numbers[..., at], features[..., v])
    for at, v in enumerate(layout.categorical):
        np.testing.assert_array_equal(categories[..., at], features[..., v])
    np.testing.assert_array_equal(layout.features(numbers, categories), features)


def test_facts_about_features_stay_facts(layout):
    facts = np.arange(layout.n_features) % 2 == 0
    assert layout.numbers_of(facts).dtype == bool
    assert layout.categories_of(facts).dtype == bool


def test_centers_are_put_together_and_taken_apart(layout, leading, rng):
    centers = rng.random((*leading, layout.n_numeric + layout.n_levels))
    points, frequencies = layout.points(centers), layout.frequencies(centers)
    np.testing.assert_array_equal(points, centers[..., : layout.n_numeric])
    np.testing.assert_array_equal(frequencies, centers[..., layout.n_numeric :])
    assert points.flags.c_contiguous
    np.testing.assert_array_equal(layout.centers(points, frequencies), centers)


def test_every_level_has_what_its_column_has(layout, leading, rng):
    features = rng.random((*leading, layout.n_features))
    entries = layout.of_centers(features)
    assert entries.shape == (*leading, layout.n_numeric + layout.n_levels)
    np.testing.assert_array_equal(layout.points(entries), layout.numbers_of(features))
    levels = layout.levels(layout.categories_of(features))
    np.testing.assert_array_equal(layout.frequencies(entries), levels)
    for at, own in enumerate(slices(layout)):
        expected = layout.categories_of(features)[..., at, None]
        np.testing.assert_array_equal(
            levels[..., own], np.repeat(expected, own.stop - own.start, -1)
        )


def test_sums_over_the_levels_of_a_column(layout, leading, rng):
    levels = rng.normal(size=(*leading, layout.n_levels))
    sums = layout.sums(levels)
    assert sums.shape == (*leading, layout.categorical.size)
    for at, own in enumerate(slices(layout)):
        np.testing.assert_allclose(sums[..., at], levels[..., own].sum(axis=-1), rtol=1e-14)


def test_frequencies_sum_to_one_over_each_column(layout, rng):
    counts = rng.random((3, layout.n_levels))
    shares = counts / layout.levels(layout.sums(counts))
    np.testing.assert_allclose(layout.sums(shares), 1.0, rtol=1e-14)


def test_tables_of_numbers_are_passed_through(rng):
    layout = numeric_layout(5)
    assert layout.is_numeric
    assert (layout.n_features, layout.n_numeric, layout.n_levels) == (5, 5, 0)
    values = rng.random((2, 5))
    none = np.empty((2, 0))
    for same in (
        layout.numbers_of(values),
        layout.features(values, none),
        layout.points(values),
        layout.centers(values, none),
        layout.of_centers(values),
    ):
        assert same is values


def test_a_table_without_columns():
    layout = numeric_layout(0)
    assert (layout.n_features, layout.n_numeric, layout.n_levels) == (0, 0, 0)
    assert layout.features(np.empty((2, 0)), np.empty((2, 0))).shape == (2, 0)
