"""The mixture against slow loops and densities of SciPy."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, special, stats
from sklearn.metrics import adjusted_rand_score

from fwkmeans._mixture import (
    COUNTING,
    FAMILIES,
    ColumnCuts,
    Sample,
    correlated_groups,
    factor_null,
    fit_family,
    fitting,
    leads,
    log_joint,
    m_step,
    plan_of,
    polish,
)
from fwkmeans._mixture import structure as structure_module
from fwkmeans._mixture.blocks import block_null, fit_block, free_parameters
from fwkmeans._mixture.factors import factors
from fwkmeans._mixture.fitting import TOLERANCE
from fwkmeans._mixture.sample import EXPONENTS, NARROW, noise_fit
from fwkmeans._mixture.singles import expected_variance, moments, scores, variances
from fwkmeans._mixture.splits import upper_half, used_cells
from fwkmeans._mixture.structure import NOISE, SPEC, TIED, VOL, Group, Structure
from mixture_samples import sample_of

TYPES = [TIED, VOL, SPEC]
SINGLES, FACTORS = FAMILIES[-2:]


def blobs(rng, n_rows=120, gap=4.0):
    labels = np.arange(n_rows) % 3
    numbers = rng.normal(size=(n_rows, 5)) @ np.triu(np.ones((5, 5)))
    numbers[:, :3] += gap * labels[:, None] * [1, 2, -1]
    return numbers, labels


def memberships(rng, n_rows, n_clusters=3):
    return rng.dirichlet(np.ones(n_clusters), size=n_rows)


def test_encoded_numbers_are_in_units_of_their_range(rng):
    X = rng.normal(size=(40, 3)) * [1, 1e12, 1e-9] + [0, 5e12, 3]
    rows = sample_of(X).rows
    assert_allclose(np.ptp(rows.numbers, axis=0), 1, rtol=1e-6)
    assert_allclose(rows.numbers.mean(axis=0), 0, atol=1e-6)


def test_columns_of_two_values_are_categories_and_constants_take_no_part(rng):
    X = np.column_stack([rng.normal(size=30), np.arange(30) % 2 * 7.0, np.full(30, 4.0)])
    sample = sample_of(X)
    assert sample.encoding.numbers.tolist() == [0]
    assert sample.encoding.pairs.tolist() == [1]
    assert sample.rows.levels.toarray()[:4].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    # a third value of such a column says nothing
    other = sample.encoding.encode(np.array([[0.0, 3.0, 4.0]]), None)
    assert other.levels.nnz == 0


def test_compression_bends_heavy_tails_only_and_keeps_the_order(rng):
    X = np.column_stack([rng.normal(size=500), rng.standard_t(1.5, size=500)])
    encoding = sample_of(X, compress=True).encoding
    assert encoding.width[0] == 0 < encoding.width[1]
    rows = encoding.encode(X, None).numbers
    assert (np.argsort(rows[:, 1]) == np.argsort(X[:, 1])).all()


def test_noise_follows_the_generalized_normal_that_fits_best(rng):
    X = np.column_stack([rng.uniform(size=300), rng.normal(size=300), rng.laplace(size=300)])
    sample = sample_of(X)
    nodes, shares = np.polynomial.hermite_e.hermegauss(3)
    for v in range(3):
        points = sample.rows.numbers[:, v, None] + nodes * np.sqrt(sample.kernel[v])

        def score(p, center, scale, points=points):
            logs = stats.gennorm.logpdf(points, p, center, scale)
            return float((logs * shares / shares.sum()).sum())

        best = -np.inf
        for p in EXPONENTS:
            found = optimize.minimize(
                lambda at, p=p: -score(p, at[0], np.exp(at[1])), [0.0, -1.0], method="Nelder-Mead"
            )
            best = max(best, -found.fun)
        assert best - 1 < sample.null[v] < best + 1e-3


@pytest.mark.parametrize("tail", [3.0, np.inf])
@pytest.mark.parametrize("kind", TYPES)
def test_densities_of_groups_are_those_of_scipy(rng, kind, tail):
    sample = sample_of(blobs(rng)[0])
    weighted = memberships(rng, 120)
    columns = np.array([0, 2, 3])
    numbers = sample.rows.numbers[:, columns]
    block, _ = fit_block(sample, columns, kind, tail, numbers, weighted, None)
    ours = block._replace(blur=0 * block.blur)  # SciPy knows no kernel
    found = ours.log_densities(ours.squared_distances(numbers))
    for k in range(3):
        root = np.linalg.inv(block.whitening[k if kind == SPEC else 0])
        shape = root @ root.T * block.volume[k]
        law = (
            stats.multivariate_normal(block.means[k], shape)
            if np.isinf(tail)
            else stats.multivariate_t(block.means[k], shape, df=tail)
        )
        assert_allclose(found[:, k], law.logpdf(numbers), rtol=1e-9)
        assert_allclose(block.variance[k], np.diag(shape), rtol=1e-9)


@pytest.mark.parametrize("kind", TYPES)
def test_no_other_shape_scores_better(rng, kind):
    """The step is exact for tied and own shapes: every small change lowers the criterion."""
    numbers, labels = blobs(rng)
    sample = sample_of(numbers)
    weighted = np.eye(3)[labels]
    columns = np.array([0, 1, 2])
    own = sample.rows.numbers[:, columns]
    block, prior = fit_block(sample, columns, kind, np.inf, own, weighted, None)
    best = (weighted * block.log_densities(block.squared_distances(own))).sum() + prior
    for _ in range(20):
        means = block.means + rng.normal(scale=1e-2, size=block.means.shape)
        moved = block._replace(means=means)
        score = (weighted * moved.log_densities(moved.squared_distances(own))).sum() + prior
        assert score < best


@pytest.mark.parametrize("kind", TYPES)
def test_the_prior_of_a_shape_counts_like_three_rows(rng, kind):
    """It is that of three rows a shape that are spread as expected, and 0 at its own center."""
    sample = sample_of(blobs(rng)[0])
    columns = np.array([0, 2, 3])
    numbers, weighted = sample.rows.numbers[:, columns], memberships(rng, 120)
    block, prior = fit_block(sample, columns, kind, np.inf, numbers, weighted, None)
    expected = np.diag(sample.variance[columns] * 3 ** (-2 / 5) + sample.kernel[columns])
    total = 0.0
    for k in range(1 if kind == TIED else 3):
        root = np.linalg.inv(block.whitening[k if kind == SPEC else 0])
        shape = root @ root.T * block.volume[k]
        ratio = np.linalg.solve(shape, expected)
        total += -1.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 3)
    assert prior == pytest.approx(total)
    assert prior < 0


def test_a_large_group_may_have_volumes_of_its_own(rng):
    """A tight and a wide cluster around one center, in twenty columns that depend on each other."""
    labels = np.arange(300) % 2
    mixing = np.eye(20) + 0.3 * rng.normal(size=(20, 20))
    numbers = rng.normal(size=(300, 20)) @ mixing * np.where(labels, 4.0, 1.0)[:, None]
    fit = fit_family(sample_of(numbers), [labels], 2, FAMILIES[0])
    assert [group.type for group in fit.structure.groups] == [VOL]
    assert (fit.labels == labels).mean() > 0.98


def test_the_kernel_of_a_coarse_sample_is_a_tenth_of_the_range(rng):
    X = np.column_stack([rng.normal(size=200), np.r_[100.0, rng.normal(size=199)]])
    fine, coarse = sample_of(X), sample_of(X, coarse=True)
    assert_allclose(coarse.kernel, np.maximum(fine.kernel, 0.01))
    assert fine.kernel[1] < 0.01  # one far value makes the others small in units of the range
    assert_array_equal(fine.rows.numbers, coarse.rows.numbers)


def test_the_kernel_covers_the_steps_of_a_rounded_column():
    kernel = sample_of(np.arange(400.0)[:, None] % 3).kernel
    assert_allclose(kernel, 0.5**2 / 12)  # a uniform distribution as wide as a step


@pytest.mark.parametrize("weighted", [False, True])
def test_the_local_variance_compares_gaps_with_those_of_a_normal_column(rng, weighted):
    x = np.concatenate([rng.normal(size=40), 30 + rng.normal(size=41)])
    weight = rng.uniform(0.5, 2, size=81) if weighted else np.ones(81)
    sample = sample_of(x[:, None], weight=weight)
    x, weight = np.sort(sample.rows.numbers[:, 0]), weight[np.argsort(x)]
    place = [(weight[:i].sum() + weight[i] / 2) / weight.sum() for i in range(81)]
    logs = []
    for i in range(81):  # half the root of 81 rows is about 4
        low, high = max(i - 4, 0), min(i + 4, 80)
        normal = stats.norm.ppf(place[high]) - stats.norm.ppf(place[low])
        logs.append(np.log((x[high] - x[low]) / normal))
    expected = np.exp(2 * np.average(logs, weights=weight))
    assert_allclose(sample.local, expected)
    assert_allclose(sample.kernel, expected * 81**-0.4)


def test_the_kernel_hardly_grows_with_the_distance_of_clusters(rng):
    x = rng.normal(size=(300, 1))
    assert_allclose(sample_of(x).local, sample_of(x).variance, rtol=0.15)
    widths = []
    for far in (10, 1000):
        sample = sample_of(x + far * (np.arange(300) % 2)[:, None])
        widths.append(np.sqrt(sample.local[0]) * sample.encoding.range[0] * (far + np.ptp(x)))
    assert 1 < widths[1] / widths[0] < 3  # the table's deviation is a hundred times as large


def test_equal_values_do_not_make_the_kernel_vanish(rng):
    atoms = np.r_[np.zeros(150), rng.normal(size=50)]
    jitter = np.repeat([0.0, 1.0], 100) + 1e-12 * rng.normal(size=200)
    sample = sample_of(np.column_stack([atoms, jitter]))
    assert 0.1 < sample.local[0] / sample.variance[0] <= 1
    assert_allclose(sample.local[1], 1e-4 * sample.variance[1])


def test_clusters_are_counted_with_a_narrow_kernel_and_skewed_noise(rng):
    X = np.column_stack([rng.normal(size=200), rng.exponential(size=200), -rng.gamma(2, size=200)])
    sample, counting = sample_of(X), sample_of(X, counting=True)
    assert_allclose(counting.kernel, NARROW * sample.kernel)
    finer = noise_fit(counting.rows.numbers, counting.weight, np.sqrt(counting.kernel), np.inf)
    assert_array_equal(counting.null > finer + 10, [False, True, True])


def test_skewed_noise_has_the_likeliest_spreads(rng):
    """Against a search over center, exponent and both spreads; the center is on a grid here."""
    x = rng.exponential(size=400) + 0.2 * rng.normal(size=400)

    def minus(parameters):
        center, p, *spreads = np.r_[parameters[0], np.exp(parameters[1:])]
        spread = np.where(x < center, *spreads)
        sides = sum(spreads) * p ** (1 / p - 1) * special.gamma(1 / p)
        return (np.abs((x - center) / spread) ** p / p).sum() + 400 * np.log(sides)

    best = -min(
        optimize.minimize(
            minus, [c, 0.2, -1, 0], method="Nelder-Mead", options={"maxiter": 4000}
        ).fun
        for c in np.quantile(x, [0.05, 0.1, 0.2])
    )
    found = noise_fit(x[:, None], np.ones(400), np.array([1e-6]), 2.5)[0] + 2.5
    assert best - 6 < found < best + 1e-3
    # mirrored, and in other units
    assert_allclose(
        noise_fit(-3 * x[:, None], np.ones(400), np.array([3e-6]), 2.5)[0] + 2.5,
        found - 400 * np.log(3),
    )


def test_factors_are_the_likeliest(rng):
    shape = np.cov(
        rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(60, 6)), rowvar=False
    )

    def fit(loadings, own):
        covariance = loadings @ loadings.T + np.diag(own)
        return np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, shape))

    loadings, own = factors(shape, 2)
    start = np.r_[loadings.ravel(), np.log(own)]
    best = optimize.minimize(lambda x: fit(x[:12].reshape(6, 2), np.exp(x[12:])), start)
    assert fit(loadings, own) - best.fun < 0.02
    scores = loadings.T @ np.linalg.solve(loadings @ loadings.T + np.diag(own), loadings)
    assert_allclose(scores, np.diag(np.diag(scores)), atol=1e-9)


@pytest.mark.parametrize("n_rows", [30, 300])
def test_one_cluster_with_a_factor_is_a_normal_density_less_its_price(rng, n_rows):
    X = rng.normal(size=(n_rows, 8)) + 2 * rng.normal(size=(n_rows, 1))
    sample = sample_of(X, counting=True)
    numbers, prior = sample.rows.numbers, expected_variance(sample, 1)
    scatter = numbers.T @ numbers + np.diag(n_rows * sample.kernel + 3 * prior)
    loadings, own = factors(scatter / (n_rows + 3), 1)
    covariance = loadings @ loadings.T + np.diag(own)
    inverse = np.linalg.inv(covariance)
    score = stats.multivariate_normal(np.zeros(8), covariance).logpdf(numbers).sum()
    score -= 0.5 * n_rows * np.diag(inverse) @ sample.kernel
    score -= 1.5 * (np.linalg.slogdet(covariance / np.sqrt(np.outer(prior, prior)))[1])
    score -= 1.5 * (np.diag(inverse) @ prior - 8) + 0.5 * 24 * np.log(n_rows)
    assert_allclose(factor_null(sample), score, rtol=1e-9)
    # cheaper than to describe all correlations
    assert factor_null(sample) > block_null(sample, np.arange(8), (np.inf,))[0]


def test_a_factor_need_not_be_normal(rng):
    X = 0.5 * rng.normal(size=(400, 6)) + 3 * rng.uniform(-1, 1, size=(400, 1))
    normal, uniform = np.full(2, -np.inf), factor_null(sample_of(X, counting=True))
    starts = np.argsort(X.sum(axis=1)).argsort() * 3 // 400
    for k in (2, 3):
        sample = sample_of(X, counting=True)
        labels = np.minimum(starts, k - 1)
        normal[k - 2] = fit_family(sample, [labels], k, COUNTING).criterion
    assert uniform > normal.max()


def test_columns_with_gaps_and_categories_have_no_factors(rng):
    X = rng.normal(size=(90, 4)) + 2 * rng.normal(size=(90, 1))
    beside = rng.normal(size=(90, 1))
    beside[::5] = np.nan
    codes = rng.integers(0, 3, size=(90, 1))
    both = sample_of(np.hstack([X, beside]), codes, counting=True)
    alone = sample_of(X, counting=True)
    expected = factor_null(alone) + both.null[4] - 1.5 * np.log(90)
    # the prior of the variances depends on the number of columns for several clusters only
    assert_allclose(factor_null(both), expected + both.level_null[0] - np.log(90))


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_columns_are_cut_where_the_squared_error_is_least(rng, n_clusters):
    x = np.round(rng.normal(size=14), 1) + 3 * (np.arange(14) % n_clusters)
    labels = ColumnCuts(sample_of(x[:, None]), 5).best(n_clusters)
    values = np.unique(x)
    errors = []
    for cuts in itertools.combinations(values[1:], n_clusters - 1):
        at = np.searchsorted(cuts, x, side="right")
        errors.append(sum(((x[at == k] - x[at == k].mean()) ** 2).sum() for k in range(n_clusters)))
    assert_allclose(
        sum(((x[labels == k] - x[labels == k].mean()) ** 2).sum() for k in range(n_clusters)),
        min(errors),
    )


def test_the_column_is_cut_that_gains_most_over_noise(rng):
    labels = np.repeat([0, 1, 2], 30)
    X = np.column_stack(
        [rng.uniform(size=90), 10 * labels + rng.normal(size=90), rng.normal(size=90)]
    )
    assert_array_equal(ColumnCuts(sample_of(X, counting=True), 5).best(3), labels)


def test_of_many_columns_those_are_cut_whose_values_lie_close_together(rng, monkeypatch):
    monkeypatch.setattr("fwkmeans._mixture.columns.MOST_CUT", 1)
    told = np.repeat([0.0, 8.0], 30) + rng.normal(size=60)
    numbers = np.column_stack([rng.normal(size=(60, 3)), told, rng.uniform(size=(60, 2))])
    labels = ColumnCuts(sample_of(numbers), 2).best(2)
    assert_array_equal(labels, np.repeat([0, 1], 30))


def test_a_column_of_few_values_is_not_cut_into_more(rng):
    sample = sample_of(np.arange(60.0)[:, None] % 3)
    assert_array_equal(np.unique(ColumnCuts(sample, 12).best(3)), [0, 1, 2])
    assert ColumnCuts(sample, 12).best(4) is None
    gaps = np.where(rng.random(60) < 0.2, np.nan, np.repeat([0, 5], 30) + rng.normal(size=60))
    labels = ColumnCuts(sample_of(gaps[:, None]), 12).best(2)
    assert_array_equal(labels[np.isfinite(gaps)], np.repeat([0, 1], 30)[np.isfinite(gaps)])


def test_one_cluster_may_be_all_noise(rng):
    sample = sample_of(rng.uniform(size=(300, 2)), counting=True)
    fit = fit_family(sample, [np.zeros(300, dtype=int)], 1, COUNTING)
    assert fit.structure.singles == (NOISE, NOISE)
    assert_allclose(fit.criterion, sample.null.sum() - 3 * sample.log_n)


def test_no_other_variance_of_a_column_scores_better(rng):
    """Common and own variances of single columns, by a search for the highest criterion."""
    sample = sample_of(blobs(rng, 60)[0])
    weighted = memberships(rng, 60)
    mass, means, scatter = moments(sample.alone, weighted)
    expected = expected_variance(sample, 3)
    common, own = variances(sample.kernel, expected, (mass, means, scatter))
    common_score, own_score = scores(expected, (mass, means, scatter), common, own)
    for v in range(5):

        def score(log_variance, k, v=v):
            n, spread = mass[k, v].sum(), scatter[k, v].sum() + mass[k, v].sum() * sample.kernel[v]
            value = np.exp(log_variance)
            prior = -1.5 * (log_variance - np.log(expected[v]) + expected[v] / value - 1)
            return -0.5 * (n * (log_variance + np.log(2 * np.pi)) + spread / value) + prior

        found = [
            optimize.minimize_scalar(
                lambda at, k=k: -score(at, k), bounds=(-9, 1), method="bounded"
            )
            for k in ([0, 1, 2], [0], [1], [2])
        ]
        assert_allclose(common[v], np.exp(found[0].x), rtol=1e-4)
        assert_allclose(common_score[v], -found[0].fun, rtol=1e-6)
        assert_allclose(own[:, v], [np.exp(one.x) for one in found[1:]], rtol=1e-4)
        assert_allclose(own_score[v], -sum(one.fun for one in found[1:]), rtol=1e-6)


def test_a_category_leads_noise_by_its_likelihood_less_its_price(rng):
    codes = np.arange(90)[:, None] % 3
    labels = np.where(rng.random(90) < 0.7, codes[:, 0], rng.integers(0, 3, 90))
    (lead,) = leads(sample_of(np.zeros((90, 0)), codes), np.eye(3)[labels])[1]
    counts = np.array(
        [[((labels == k) & (codes[:, 0] == c)).sum() for c in range(3)] for k in range(3)]
    )
    raised = counts + 1 / 3  # one more row of each cluster
    likelihood = (raised * np.log(raised / raised.sum(axis=1, keepdims=True))).sum()
    assert_allclose(lead, likelihood - 90 * np.log(1 / 3) - 0.5 * 2 * 2 * np.log(90))


def test_a_weak_link_between_two_groups_does_not_pay_for_all_their_correlations(rng):
    hidden = np.linalg.qr(rng.normal(size=(400, 10)))[0] * 20
    hidden[:, 1] = 0.3 * hidden[:, 0] + np.sqrt(1 - 0.3**2) * hidden[:, 1]
    numbers = np.repeat(hidden[:, :2], 4, axis=1) + 0.3 * hidden[:, 2:]
    found = correlated_groups(sample_of(numbers), np.ones((400, 1)))
    assert sorted(group.tolist() for group in found) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_parameters_are_counted():
    assert free_parameters(3, TIED, 4) == 4 * 3 + 6
    assert free_parameters(3, VOL, 4) == 4 * 3 + 6 + 3
    assert free_parameters(3, SPEC, 4) == 4 * 3 + 4 * 6


def test_the_criterion_is_the_sum_of_its_parts(rng):
    """Shares, single columns, a group, a category and noise, computed row by row."""
    numbers, _ = blobs(rng, 60)
    codes = rng.integers(0, 3, size=(60, 2))
    weight = rng.uniform(0.5, 2, size=60)
    sample = sample_of(numbers, codes, weight)
    structure = Structure((TIED, SPEC, NOISE, "", ""), (Group((3, 4), VOL, np.inf),), (SPEC, NOISE))
    membership = memberships(rng, 60)
    plan = plan_of(sample, structure, 3)
    parameters, _ = m_step(sample, membership, plan, [None])
    joint, _ = log_joint(sample.rows, parameters)
    kernel = sample.kernel
    for i in (0, 17, 59):
        for k in range(3):
            total = parameters.log_shares[k]
            for j, v in enumerate(parameters.singles):
                law = stats.norm(parameters.means[k, j], np.sqrt(parameters.variance[k, j]))
                total += law.logpdf(sample.rows.numbers[i, v])
                total -= 0.5 * kernel[v] / parameters.variance[k, j]
            (block,) = parameters.blocks
            root = np.linalg.inv(block.whitening[0])
            shape = root @ root.T * block.volume[k]
            law = stats.multivariate_normal(block.means[k], shape)
            total += law.logpdf(sample.rows.numbers[i, [3, 4]])
            total -= 0.5 * np.trace(np.linalg.solve(shape, np.diag(kernel[[3, 4]])))
            weighted = membership[:, k] * sample.weight
            same = codes[:, 0] == codes[i, 0]
            share = np.average(same, weights=sample.weight)
            total += np.log((weighted[same].sum() + share) / (weighted.sum() + 1))
            assert_allclose(joint[i, k], total, rtol=1e-9)
    # shares 2; tied 3 + 1; own 6; noise 3; the group 6 + 3 + 2; categories 3 x 2 and 2
    assert plan.n_free == 2 + 4 + 6 + 3 + 11 + 6 + 2


def test_rows_with_gaps_count_by_what_they_have(rng):
    numbers, _ = blobs(rng, 60)
    numbers[3, 4] = np.nan
    numbers[7, [0, 3]] = np.nan
    sample = sample_of(numbers)
    structure = Structure((TIED, SPEC, SPEC, "", ""), (Group((3, 4), TIED, np.inf),), ())
    parameters, _ = m_step(sample, memberships(rng, 60), plan_of(sample, structure, 3), [None])
    joint, _ = log_joint(sample.rows, parameters)
    (block,) = parameters.blocks
    for i, seen, group in ((3, [0, 1, 2], 0), (7, [1, 2], 1)):
        total = parameters.log_shares.copy()
        for v in seen:
            total += (
                stats.norm.logpdf(
                    sample.rows.numbers[i, v],
                    parameters.means[:, v],
                    np.sqrt(parameters.variance[:, v]),
                )
                - 0.5 * sample.kernel[v] / parameters.variance[:, v]
            )
        own = block.variance[:, group]
        v = block.columns[group]
        total += stats.norm.logpdf(sample.rows.numbers[i, v], block.means[:, group], np.sqrt(own))
        total -= 0.5 * sample.kernel[v] / own
        assert_allclose(joint[i], total, rtol=1e-9)


def groups_by_all_determinants(sample, weighted):
    """Join groups as the mixture does, with the determinants of all columns of every pair."""
    numbers, observed = sample.rows.numbers, sample.rows.observed
    present = np.ones_like(numbers) if observed is None else observed
    n = sample.n_rows
    centers = (weighted.T @ numbers) / (weighted.T @ present)
    scatter = np.zeros((numbers.shape[1],) * 2)
    for row, here, share in zip(numbers, present, weighted, strict=True):
        for k, center in enumerate(centers):
            away = (row - center) * here
            scatter += share[k] * np.outer(away, away)
    scatter *= n / (present.T @ (present * sample.weight[:, None]))
    scatter += np.diag(n * sample.kernel)
    correlation = scatter / np.sqrt(np.outer(np.diag(scatter), np.diag(scatter)))
    groups = [[v] for v in range(numbers.shape[1])]

    def gain(a, b):
        both = a + b
        shared = present[:, both].all(axis=1)
        if shared.mean() < structure_module.COMPLETE:
            return -np.inf
        logs = [np.linalg.slogdet(correlation[np.ix_(c, c)])[1] for c in (both, a, b)]
        found = -0.5 * sample.weight[shared].sum() * (logs[0] - logs[1] - logs[2])
        return found - 0.5 * len(a) * len(b) * sample.log_n

    linked = {(u, v) for (u,), (v,) in itertools.permutations(groups, 2) if gain([u], [v]) > 0}
    while True:
        pairs = [
            (gain(a, b), a, b)
            for a, b in itertools.combinations(groups, 2)
            if linked & set(itertools.product(a, b))
        ]
        best = max(pairs, default=(0.0,), key=lambda pair: pair[0])
        if not best[0] > 0:
            return sorted(sorted(group) for group in groups)
        groups = [group for group in groups if group not in best[1:]] + [best[1] + best[2]]


@pytest.mark.parametrize("gaps", [0.0, 0.02])
def test_groups_are_those_of_all_determinants(gaps):
    sizes = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        mixed = rng.normal(size=(9, 9)) * (rng.random(size=(9, 9)) < 0.25) + np.eye(9)
        numbers = rng.normal(size=(150, 9)) @ mixed
        numbers[rng.random(size=numbers.shape) < gaps] = np.nan
        weight = rng.uniform(0.5, 2, size=150)
        sample = sample_of(numbers, weight=weight)
        weighted = sample.weighted(memberships(rng, 150, 2))
        found = sorted(group.tolist() for group in correlated_groups(sample, weighted))
        assert found == groups_by_all_determinants(sample, weighted)
        sizes |= {len(group) for group in found}
    assert {1, 3} <= sizes


def test_groups_are_the_sources_even_if_interleaved(rng):
    hidden = rng.normal(size=(400, 3))
    numbers = np.repeat(hidden, 4, axis=1)[:, np.arange(12).reshape(3, 4).T.ravel()]
    numbers = numbers + 0.5 * rng.normal(size=numbers.shape)
    sample = sample_of(np.column_stack([numbers, rng.normal(size=400)]))
    found = sorted(group.tolist() for group in correlated_groups(sample, np.ones((400, 1))))
    assert found == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11], [12]]


def test_a_group_of_noise_is_described_together_or_one_by_one(rng):
    together = rng.normal(size=(200, 1)) + 0.1 * rng.normal(size=(200, 2))
    assert block_null(sample_of(together), np.array([0, 1]), (np.inf,))[1] == np.inf
    apart = rng.uniform(size=(200, 2))
    assert block_null(sample_of(apart), np.array([0, 1]), (np.inf,))[1] == 0.0


@pytest.mark.parametrize("gaps", [0.0, 0.05])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_criterion_rises(rng, family, gaps):
    """Within a structure it never falls on complete rows; with gaps it ends above its start."""
    numbers, labels = blobs(rng, gap=2.0)
    numbers = np.column_stack([numbers, rng.uniform(size=(120, 2)), rng.standard_t(2, size=120)])
    numbers[rng.random(numbers.shape) < gaps] = np.nan
    codes = (labels[:, None] + (rng.random((120, 2)) < 0.3)) % 3
    weight = rng.uniform(0.5, 2, 120)
    sample = sample_of(numbers, codes, weight, compress=family.compress, coarse=family.coarse)
    fit = fit_family(sample, [rng.permutation(labels)], 3, family)
    steps = np.diff(fit.history)
    if gaps:
        assert fit.history[-1] > fit.history[0]
    else:
        assert steps.min(initial=0) > -1e-6 * abs(fit.criterion)
    assert_allclose(fit.membership.sum(axis=1), 1)


def test_a_run_that_is_cut_short_has_not_converged(rng):
    numbers, labels = blobs(rng, gap=1.0)
    sample = sample_of(numbers)
    fit = fit_family(sample, [rng.permutation(labels)], 3, SINGLES)
    assert fit.converged
    assert fit.history[-1] - fit.history[-2] < TOLERANCE
    far = fit._replace(
        parameters=fit.parameters._replace(means=rng.normal(size=fit.parameters.means.shape))
    )
    assert not polish(sample, far, max_iter=2).converged


def test_uniform_noise_is_recognized(rng):
    numbers, labels = blobs(rng, 200, gap=5.0)
    sample = sample_of(np.column_stack([numbers, rng.uniform(size=(200, 4))]))
    fit = fit_family(sample, [labels], 3, SINGLES)
    assert fit.structure.singles[5:] == (NOISE,) * 4
    assert NOISE not in fit.structure.singles[:3]


def test_not_everything_is_noise(rng):
    sample = sample_of(rng.uniform(size=(60, 3)))
    fit = fit_family(sample, [np.arange(60) % 2], 2, SINGLES)
    assert set(fit.structure.singles) - {NOISE}


def test_rivals_are_what_other_starts_reach(rng):
    """Four corners of a square, cut from left to right, or from top to bottom."""
    corner = np.arange(200) % 4
    numbers = 6 * np.column_stack([corner // 2, corner % 2]) + rng.normal(size=(200, 2))
    fit = fit_family(sample_of(numbers), [corner // 2, corner % 2], 2, SINGLES)
    assert_allclose(sorted(rival.agreement for rival in fit.rivals), [0, 1], atol=0.05)
    assert min(rival.behind for rival in fit.rivals) < 1e-3


def test_a_start_that_keeps_its_clusters_is_preferred(rng, monkeypatch):
    """A mixture of higher criterion whose clusters died out does not win."""
    numbers, labels = blobs(rng)
    sample = sample_of(numbers)
    fit = fit_family(sample, [labels], 3, SINGLES)
    dead = fit._replace(membership=np.eye(3)[0 * labels], criterion=fit.criterion + 1)
    monkeypatch.setattr(fitting, "_settled", lambda sample, fit, family: fit)
    monkeypatch.setattr(fitting, "polish", lambda sample, fit, max_iter: fit)
    for order in ([dead, fit], [fit, dead]):
        firsts = iter(order)
        monkeypatch.setattr(fitting, "_restructured", lambda *_, firsts=firsts: next(firsts))
        found = fit_family(sample, [labels, labels], 3, SINGLES)
        assert found.membership is fit.membership


def test_the_second_start_goes_on_if_the_first_loses_its_clusters(rng, monkeypatch):
    numbers, labels = blobs(rng)
    sample = sample_of(numbers)
    fit = fit_family(sample, [labels], 3, SINGLES)
    better = fit._replace(criterion=fit.criterion + 1)
    dead = fit._replace(membership=np.eye(3)[0 * labels], criterion=fit.criterion + 2)
    firsts = iter([better, fit])
    monkeypatch.setattr(fitting, "_settled", lambda sample, fit, family: fit)
    monkeypatch.setattr(fitting, "polish", lambda _, one, max_iter: dead if one is better else one)
    monkeypatch.setattr(fitting, "_restructured", lambda *_: next(firsts))
    found = fit_family(sample, [labels, labels], 3, SINGLES)
    assert found.membership is fit.membership


def test_more_starts_never_lower_the_criterion_of_an_easy_table(rng):
    """Of a good and a bad start the good one is followed, in either order."""
    numbers, labels = blobs(rng, gap=6.0)
    sample, bad = sample_of(numbers), rng.permutation(labels)
    best = fit_family(sample, [labels], 3, FAMILIES[0])
    for starts in ([labels, bad], [bad, labels]):
        assert fit_family(sample, starts, 3, FAMILIES[0]).criterion == best.criterion


def test_in_a_wide_table_only_leading_columns_are_grouped(rng, monkeypatch):
    labels = np.arange(200) % 2
    hidden = rng.normal(size=(200, 2))
    told = hidden[:, [0]] + 0.3 * rng.normal(size=(200, 3)) + 4.0 * labels[:, None]
    rest = hidden[:, [1]] + 0.3 * rng.normal(size=(200, 3))
    sample, membership = sample_of(np.hstack([rest, told])), np.eye(2)[labels]
    options = {"types": (TIED,), "tails": (np.inf,), "grouping": True}
    whole = structure_module.structure(sample, membership, **options)
    assert [group.columns for group in whole.groups] == [(0, 1, 2), (3, 4, 5)]
    monkeypatch.setattr(structure_module, "MOST_GROUPED", 3)
    some = structure_module.structure(sample, membership, **options)
    assert [group.columns for group in some.groups] == [(3, 4, 5)]
    assert "" not in some.singles[:3]
    assert correlated_groups(sample, membership, np.array([5, 3]))[0].tolist() == [3, 5]


def test_what_noise_scores_may_be_known(rng):
    numbers, _ = blobs(rng)
    sample = sample_of(numbers)
    twice = sample.encoding.encode(np.concatenate([numbers, numbers]), None)
    weight, null, local = np.ones(2 * len(numbers)), 2 * sample.null, sample.local / 2
    again = Sample(twice, sample.encoding, weight, local=local, null=null)
    assert_array_equal(again.null, null)
    fresh = Sample(twice, sample.encoding, weight)
    assert (again.kernel < fresh.kernel).all()


@pytest.mark.parametrize("n_clusters", [1, 2, 9])
def test_memberships_are_shares_of_the_densities(rng, n_clusters):
    joint = 40 * rng.normal(size=(50, n_clusters)) - 800
    total, membership = fitting._posterior(joint)
    wanted = special.logsumexp(joint, axis=1)
    assert_allclose(total, wanted, rtol=1e-14)
    assert_allclose(membership, np.exp(joint - wanted[:, None]), atol=1e-13)


def factored_score(sample, weighted, n_clusters, shape):
    """Return the expected criterion of clusters with one covariance, but for constants."""
    total = 0.0
    expected = np.diag(expected_variance(sample, n_clusters))
    kernel, numbers = np.diag(sample.kernel), sample.rows.numbers
    inverse, log_det = np.linalg.inv(shape), np.linalg.slogdet(shape)[1]
    for counts in weighted.T:
        rest = numbers - np.average(numbers, axis=0, weights=counts)
        far = np.einsum("ia,ab,ib->i", rest, inverse, rest) + np.trace(inverse @ kernel)
        total -= 0.5 * float(counts @ (far + log_det))
    ratio = inverse @ expected
    return total - 1.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(shape))


@pytest.mark.parametrize("kind", [TIED, SPEC])
@pytest.mark.parametrize("n_rows", [60, pytest.param(240, marks=pytest.mark.long)])
def test_factors_are_the_likeliest_that_are_worth_their_price(rng, kind, n_rows):
    """No number of factors, no loadings and no rest that an optimizer finds score higher."""
    labels = np.arange(n_rows) % 3
    axes = np.linalg.qr(rng.normal(size=(3, 5, 2)))[0][labels * (kind == SPEC)]
    numbers = labels[:, None] + 0.3 * rng.normal(size=(n_rows, 5))
    numbers += np.einsum("iq,ivq->iv", 4 * rng.normal(size=(n_rows, 2)), axes)
    sample = sample_of(numbers, weight=rng.uniform(0.5, 2, n_rows))
    membership = 0.999 * np.eye(3)[labels] + 0.001 * memberships(rng, n_rows)
    columns, weighted = np.arange(5), sample.weighted(membership)
    unit = np.sqrt(expected_variance(sample, 3))
    block, prior = fit_block(
        sample, columns, kind, np.inf, sample.rows.numbers, weighted, None, factored=True
    )
    total = 0.0
    for k, root in enumerate(np.linalg.inv(block.whitening)):
        those = weighted if kind == TIED else weighted[:, [k]]
        found = root @ root.T
        values = np.linalg.eigvalsh(found / unit / unit[:, None])
        n_found = 5 - np.isclose(values, values[0], rtol=1e-8).sum()
        each = []
        for q in range(5):

            def shape_of(theta, q=q):
                loadings = theta[1:].reshape(5, q)
                return (loadings @ loadings.T + np.exp(theta[0]) * np.eye(5)) * np.outer(unit, unit)

            def loss(theta, those=those, shape_of=shape_of):
                return -factored_score(sample, those, 3, shape_of(theta))

            start = np.r_[-1.0, rng.normal(size=5 * q)]
            best = -optimize.minimize(loss, start, method="BFGS", options={"maxiter": 200}).fun
            each.append(best - 0.5 * np.log(n_rows) * sum(range(5, 5 - q, -1)))
        price = 0.5 * np.log(n_rows) * sum(range(5, 5 - n_found, -1))
        score = factored_score(sample, those, 3, found) - price
        assert n_found == np.argmax(each) == 2
        assert score == pytest.approx(max(each), abs=0.01)
        assert score > max(each) - 1e-6
        total += score
    densities = block.log_densities(block.squared_distances(sample.rows.numbers))
    constant = 2.5 * np.log(2 * np.pi) * weighted.sum()
    assert float((weighted * densities).sum()) + prior == pytest.approx(total - constant)
    assert free_parameters(5, kind, 3, factored=True) == 15 + len(block.whitening)


def test_rows_that_count_for_nothing_do_not_shape_a_cluster(rng):
    numbers, labels = blobs(rng)
    sample, columns = sample_of(numbers), np.arange(5)
    membership = np.eye(3)[labels]
    options = (sample.rows.numbers, membership, None)
    hard, _ = fit_block(sample, columns, SPEC, np.inf, *options, factored=True)
    options = (sample.rows.numbers, np.maximum(membership, 1e-17), None)
    soft, _ = fit_block(sample, columns, SPEC, np.inf, *options, factored=True)
    assert_allclose(soft.whitening, hard.whitening, rtol=1e-12, atol=1e-12)


def crossing(rng, n_rows):
    """Return three clusters whose ten columns vary along different axes, two in each."""
    labels = np.arange(n_rows) % 3
    axes = np.linalg.qr(rng.normal(size=(10, 6)))[0].T.reshape(3, 2, 10)[labels]
    numbers = np.einsum("iq,iqv->iv", 6 * rng.normal(size=(n_rows, 2)), axes)
    return numbers + 0.5 * rng.normal(size=(n_rows, 10)), labels


def test_clusters_may_have_factors_of_their_own(rng):
    """A common shape does not find them."""
    numbers, labels = crossing(rng, 150)
    numbers += 2.5 * labels[:, None]
    near = np.where(rng.random(150) < 0.3, rng.integers(0, 3, 150), labels)
    fit = fit_family(sample_of(numbers), [near], 3, FACTORS)
    assert [(group.type, group.factored) for group in fit.structure.groups] == [(SPEC, True)]
    assert adjusted_rand_score(labels, fit.labels) > 0.9
    common = fit_family(sample_of(numbers), [near], 3, FACTORS._replace(types=(TIED,)))
    assert adjusted_rand_score(labels, common.labels) < 0.7


@pytest.mark.parametrize(("n_rows", "kind"), [(162, SPEC), (165, TIED)])
def test_factors_are_own_where_all_correlations_would_be_more_than_rows(rng, n_rows, kind):
    """Ten columns have 55 variances and covariances."""
    numbers, labels = crossing(rng, n_rows)
    numbers += 9.0 * labels[:, None]  # no column is noise
    options = {"types": (TIED, SPEC), "tails": (np.inf,), "grouping": False, "factored": True}
    found = structure_module.structure(sample_of(numbers), np.eye(3)[labels], **options)
    assert [(len(one.columns), one.type) for one in found.groups] == [(10, kind)]


def test_all_but_noise_share_factors(rng):
    """Columns with many gaps stay alone, as do columns of noise."""
    labels = np.arange(300) % 3
    common = rng.normal(size=(300, 1)) @ rng.normal(size=(1, 6))
    told = 4.0 * np.eye(3)[labels] @ rng.normal(size=(3, 6)) + common + rng.normal(size=(300, 6))
    numbers = np.column_stack([rng.uniform(size=300), told, rng.uniform(size=300)])
    numbers[:150, 3] = np.nan
    numbers[:30, 5] = np.nan
    fit = fit_family(sample_of(numbers), [labels], 3, FACTORS)
    (group,) = fit.structure.groups
    assert group.columns == (1, 2, 4, 5, 6)
    assert (group.type, group.tail) == (TIED, np.inf)
    assert fit.structure.singles == (NOISE, "", "", TIED, "", "", "", NOISE)
    assert (fit.labels == labels).mean() > 0.95


def test_factors_of_a_wide_table_are_those_of_leading_columns(rng, monkeypatch):
    labels = np.arange(90) % 3
    numbers = rng.normal(size=(90, 6)) + labels[:, None] * np.arange(6.0)
    monkeypatch.setattr(structure_module, "MOST_GROUPED", 3)
    options = {"types": (TIED,), "tails": (np.inf,), "grouping": False, "factored": True}
    found = structure_module.structure(sample_of(numbers), np.eye(3)[labels], **options)
    assert [group.columns for group in found.groups] == [(3, 4, 5)]
    assert found.singles[1:] == (TIED, TIED, "", "", "")


def test_factors_find_clusters_along_a_short_axis(rng):
    """A strong common factor hides them from K-Means and from single columns."""
    labels = np.arange(240) % 3
    axis, across = np.ones(8), np.tile([1.0, -1.0], 4)
    numbers = 1.5 * rng.normal(size=(240, 1)) * axis + 0.5 * rng.normal(size=(240, 8))
    numbers += labels[:, None] * across
    near = np.where(rng.random(240) < 0.3, rng.integers(0, 3, 240), labels)
    fit = fit_family(sample_of(numbers), [near], 3, FACTORS)
    assert fit.structure.groups[0].factored
    assert adjusted_rand_score(labels, fit.labels) > 0.95
    alone = fit_family(sample_of(numbers), [near], 3, SINGLES)
    assert adjusted_rand_score(labels, alone.labels) < 0.8


def squares(rng, n_rows=240):
    """Return four clusters, and a start that has two of them as one and another in two halves."""
    labels = np.arange(n_rows) % 4
    corners = np.array([[0, 0], [0, 9], [20, 16], [20, -9]])
    numbers = corners[labels] + rng.normal(size=(n_rows, 2))
    start = np.where(labels < 2, 0, labels - 1)
    start[(labels == 3) & (numbers[:, 0] > 20)] = 3
    return numbers, labels, start


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_move_leaves_a_start_that_steps_alone_do_not(rng, monkeypatch, family):
    numbers, labels, start = squares(rng)
    sample = sample_of(numbers, coarse=family.coarse)
    fit = fit_family(sample, [start], 4, family)
    assert adjusted_rand_score(labels, fit.labels) == 1
    monkeypatch.setattr(fitting, "MOST_MOVES", 0)
    stuck = fit_family(sample, [start], 4, family)
    assert adjusted_rand_score(labels, stuck.labels) < 0.8
    assert stuck.criterion < fit.criterion
    assert fit.history[: len(stuck.history)] == stuck.history


def test_two_clusters_and_counted_ones_do_not_move(rng, monkeypatch):
    numbers, labels, start = squares(rng)
    sample, moves = sample_of(numbers), []
    monkeypatch.setattr(fitting, "_moves", lambda *_: moves.append(1) or [])
    fit_family(sample, [labels % 2], 2, FAMILIES[0])
    fit_family(sample, [start], 4, COUNTING)
    assert not moves
    fit_family(sample, [labels % 3], 3, FAMILIES[0])
    assert moves


def test_moves_are_tried_in_the_order_of_what_they_promise(rng):
    """The first one joins what was torn apart and splits what was one."""
    numbers, labels, start = squares(rng)
    sample = sample_of(numbers)
    one = FAMILIES[0]._replace(grouping=False)
    stuck = fitting._restructured(sample, np.eye(4)[start], one, None)
    first = fitting._moves(sample, stuck)[0]
    assert_allclose(first.sum(axis=1), 1)
    assert adjusted_rand_score(labels, first.argmax(axis=1)) == 1


def test_a_move_that_loses_a_cluster_when_it_rests_is_not_made(rng, monkeypatch):
    numbers, labels, start = squares(rng)
    sample = sample_of(numbers)
    monkeypatch.setattr(fitting, "MOST_MOVES", 0)
    stuck = fit_family(sample, [start], 4, FAMILIES[0])
    monkeypatch.setattr(fitting, "MOST_MOVES", 10)
    assert fitting._moved(sample, stuck, FAMILIES[0]).criterion > stuck.criterion
    dead = stuck._replace(membership=np.eye(4)[0 * labels])
    monkeypatch.setattr(fitting, "polish", lambda *_, max_iter: dead)
    assert fitting._moved(sample, stuck, FAMILIES[0]) is stuck


def test_moves_that_cost_too_much_are_not_tried(rng, monkeypatch):
    numbers, labels, _ = squares(rng)
    sample = sample_of(numbers)
    fit = fit_family(sample, [labels], 4, FAMILIES[0])
    assert not fitting._moves(sample, fit)
    monkeypatch.setattr(fitting, "MOST_LOST", np.inf)
    assert len(fitting._moves(sample, fit)) == fitting.TRIED_MOVES


def test_a_cluster_is_cut_across_its_longest_axis(rng):
    side = np.arange(80) % 5 == 0
    cells = rng.normal(size=(80, 3)) + np.outer(side, [8.0, -8.0, 0.0])
    weight = rng.uniform(0.5, 2, 80)
    upper = upper_half(cells, weight)
    assert_array_equal(upper == upper[0], side)
    vectors = np.linalg.svd((cells - np.average(cells, axis=0, weights=weight)) * weight[:, None])
    assert abs(np.corrcoef(upper, cells @ vectors[2][0])[0, 1]) > 0.9


@pytest.mark.parametrize("cells", [np.zeros((0, 2)), np.ones((1, 2)), np.ones((5, 2))])
def test_equal_rows_are_not_cut(cells):
    assert not upper_half(cells, np.ones(len(cells))).any()


def test_noise_has_no_part_in_a_cut(rng):
    codes = np.column_stack([np.arange(90) % 3, np.arange(90) % 2])
    sample = sample_of(rng.normal(size=(90, 4)), codes)
    groups = (Group((1, 2), TIED, np.inf),)
    cells = used_cells(sample, Structure((NOISE, "", "", SPEC), groups, (SPEC, NOISE)))
    assert cells.shape == (90, 3 + 3)
    assert_allclose(cells[:, :3].std(axis=0), 1)
    assert_allclose(cells[:, 3:].var(axis=0).sum(), 1)
