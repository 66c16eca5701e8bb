"""Every closed form of SYNCLUS against sums over all pairs of rows."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fwkmeans.sources import MemorySource, describe
from fwkmeans.typing import WeightContext, Weights
from fwkmeans.weighting import StressWeights
from laws.configurations import make_rows
from pairs import Pairs

N, M, K = 40, 5, 3
GROUPS = np.array([0, 1, 0, 1, 1])
OMEGA = np.array([0.7, 0.3])


class Problem:
    """A table with some labels, the rule that has seen it, and the same by brute force."""

    def __init__(self, rng, *, weighted=False, n_clusters=K, omega=OMEGA, centred=False, X=None):
        self.X = make_rows(rng, N, M) * [1, 2, 0.1, 1, 5] if X is None else X
        self.s = rng.integers(0, 4, N).astype(float) if weighted else None
        mass = np.ones(N) if self.s is None else self.s
        self.labels = rng.integers(0, n_clusters, N)
        self.labels[np.flatnonzero(mass)[:n_clusters]] = np.arange(n_clusters)
        source = MemorySource(self.X, self.s)
        self.table, _ = describe(source)
        rule = StressWeights(GROUPS, omega, centred)
        self.rule = rule.observe(source, self.table).bind(self.table, n_clusters)
        self.w = rng.dirichlet(np.ones(M))
        self.pairs = Pairs(self.X, self.labels, GROUPS, omega, self.s)
        self.D = np.zeros((1, n_clusters, M))
        self.mass = np.zeros((1, n_clusters))
        for k in range(n_clusters):
            rows, s = self.X[self.labels == k], mass[self.labels == k]
            self.mass[0, k] = s.sum()
            center = np.average(rows, axis=0, weights=s)
            self.D[0, k] = (s[:, None] * (rows - center) ** 2).sum(axis=0)

    def context(self, w):
        return WeightContext(self.mass, self.weights(w), self.table)

    def weights(self, w):
        return Weights(np.tile(w, (1, self.D.shape[1], 1)))

    def within(self, w):
        return (self.rule.effective(self.weights(w)).values[0, 0] * self.D[0].sum(axis=0)).sum()

    def line(self, w):
        return self.rule.lines(np.array([self.within(w)]), self.weights(w), self.context(w))[0]

    def stress(self, w):
        return self.rule.objective(np.array([self.within(w)]), self.weights(w), self.context(w))[0]

    def updated(self, w):
        return self.rule.update(self.D, self.context(w))[0, 0]


@pytest.mark.parametrize("weighted", [False, True])
class TestLine:
    def test_alpha_and_beta_are_the_regression_times_kappa(self, rng, weighted):
        problem = Problem(rng, weighted=weighted)
        line = problem.line(problem.w)
        alpha, beta = problem.pairs.line(problem.w)
        kappa = 1 / (1 - line.stress)
        assert line.alpha == pytest.approx(kappa * alpha, rel=1e-9)
        assert line.beta == pytest.approx(kappa * beta, rel=1e-9)
        assert line.alpha <= 0
        # the stress of the regression itself is kappa - 1
        assert problem.pairs.stress(problem.w, alpha, beta) == pytest.approx(kappa - 1, rel=1e-10)

    def test_stress_is_that_of_all_pairs(self, rng, weighted):
        problem = Problem(rng, weighted=weighted)
        line = problem.line(problem.w)
        expected = problem.pairs.stress(problem.w, line.alpha, line.beta)
        assert problem.stress(problem.w) == pytest.approx(expected, rel=1e-11)
        assert 0 <= expected < 1

    def test_no_other_line_has_less_stress(self, rng, weighted):
        problem = Problem(rng, weighted=weighted)
        line = problem.line(problem.w)
        for step in 10.0 ** rng.uniform(-5, 0, 200):
            alpha = line.alpha * (1 + step * rng.standard_normal())
            beta = line.beta * (1 + step * rng.standard_normal())
            assert problem.pairs.stress(problem.w, alpha, beta) >= line.stress - 1e-13

    def test_centred_line(self, rng, weighted):
        problem = Problem(rng, weighted=weighted, centred=True)
        line = problem.line(problem.w)
        stress = problem.pairs.stress(problem.w, line.alpha, line.beta, centred=True)
        assert line.stress == pytest.approx(stress, rel=1e-11)
        for step in 10.0 ** rng.uniform(-5, 0, 100):
            other = line.alpha * (1 + step * rng.standard_normal())
            assert problem.pairs.stress(problem.w, other, 0.0, centred=True) >= stress - 1e-13
        weight, a = problem.pairs.weight, problem.pairs.a
        mean = (weight * (line.alpha * a + line.beta)).sum() / weight.sum()
        distance = problem.pairs.mean_distance(problem.w)
        assert mean == pytest.approx((weight * distance).sum() / weight.sum(), rel=1e-10)

    @pytest.mark.parametrize("centred", [False, True])
    def test_the_update_is_the_best_for_the_line(self, rng, weighted, centred):
        problem = Problem(rng, weighted=weighted, centred=centred)
        alpha, beta = problem.pairs.line(problem.w)
        found = minimize(
            lambda w: problem.pairs.stress(w, alpha, beta, centred),
            problem.w,
            bounds=[(0, None)] * M,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000, "maxfun": 100_000},
        )
        updated = problem.updated(problem.w)
        assert updated.sum() == pytest.approx(1.0, rel=1e-12)
        np.testing.assert_allclose(updated, found.x / found.x.sum(), atol=2e-4)
        # scaling the weights and the line together changes nothing: compare at the best scale
        best = min(
            problem.pairs.stress(scale * updated, alpha, beta, centred)
            for scale in found.x.sum() * np.linspace(0.99, 1.01, 2001)
        )
        assert best <= found.fun * (1 + 1e-6) + 1e-12

    def test_the_tolerance_scale_is_the_slope_times_the_dispersion(self, rng, weighted):
        problem = Problem(rng, weighted=weighted)
        weights, context = problem.weights(problem.w), problem.context(problem.w)
        within = problem.within(problem.w)
        rule, step = problem.rule, 1e-5
        high, low = (
            rule.objective(np.array([within * (1 + sign * step)]), weights, context)[0]
            for sign in (1, -1)
        )
        tolerance_scale = rule.tolerance_scale(np.array([within]), weights, context)[0]
        assert tolerance_scale == pytest.approx((high - low) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("centred", [False, True])
def test_steps_never_raise_the_stress(rng, centred):
    for _ in range(10):
        problem = Problem(rng, centred=centred, n_clusters=int(rng.integers(2, 7)))
        w = problem.w
        for _ in range(15):
            updated = problem.updated(w)
            assert problem.stress(updated) <= problem.stress(w) + 1e-13
            w = updated


def test_one_group_needs_no_group_weight(rng):
    problem = Problem(rng)
    source = MemorySource(problem.X)
    updates = []
    for omega in (None, [5.0]):
        rule = StressWeights(None, omega).observe(source, problem.table)
        updates.append(rule.update(problem.D, problem.context(problem.w)))
    np.testing.assert_array_equal(*updates)


def test_centred_stress_of_one_group_is_that_of_the_correlation(rng):
    problem = Problem(rng)
    rule = StressWeights(None, None, True).observe(MemorySource(problem.X), problem.table)
    within = np.array([(problem.w * problem.D[0].sum(axis=0)).sum()])
    weights = problem.weights(problem.w)
    stress = rule.objective(within, weights, problem.context(problem.w))[0]
    distance = (problem.pairs.squares * problem.w).sum(axis=-1)
    correlation = np.corrcoef(distance.ravel(), problem.pairs.a.ravel())[0, 1]
    assert stress == pytest.approx(1 - correlation**2, rel=1e-10)


def test_a_group_of_weight_zero_gets_its_own_solution(rng):
    problem = Problem(rng, omega=np.array([1.0, 0.0]))
    updated = problem.updated(problem.w)
    other = problem.w.copy()
    other[GROUPS == 1] = rng.random(3)
    np.testing.assert_allclose(problem.updated(other), updated, rtol=1e-10)
    assert updated[GROUPS == 1].sum() > 0
    assert problem.rule.effective(problem.weights(updated)).values[0, 0, GROUPS == 1].max() == 0


def test_one_cluster_leaves_weights_alone(rng):
    problem = Problem(rng, n_clusters=1)
    np.testing.assert_array_equal(problem.updated(problem.w), problem.w)
    line = problem.line(problem.w)
    assert line.alpha == 0
    expected = problem.pairs.stress(problem.w, 0.0, line.beta)
    assert line.stress == pytest.approx(expected, rel=1e-11)


def test_empty_clusters_do_not_count(rng):
    problem = Problem(rng)
    D = np.concatenate([problem.D, np.zeros((1, 2, M))], axis=1)
    mass = np.concatenate([problem.mass, np.zeros((1, 2))], axis=1)
    weights = Weights(np.tile(problem.w, (1, K + 2, 1)))
    context = WeightContext(mass, weights, problem.table)
    updated = problem.rule.update(D, context)[0, 0]
    np.testing.assert_allclose(updated, problem.updated(problem.w), rtol=1e-12)
    stress = problem.rule.objective(np.array([problem.within(problem.w)]), weights, context)[0]
    assert stress == pytest.approx(problem.stress(problem.w), rel=1e-14)


def test_a_constant_group_counts_as_unexplained(rng):
    X = make_rows(rng, N, M)
    X[:, GROUPS == 1] = 3.0
    problem = Problem(rng, X=X)
    w = problem.rule.normalize(problem.w, problem.table)
    line = problem.line(w)
    assert line.stress == pytest.approx(problem.pairs.stress(w, line.alpha, line.beta), rel=1e-11)
    assert line.stress >= OMEGA[1]
    updated = problem.updated(w)
    assert np.all(updated[GROUPS == 1] == 0)
    assert updated.sum() == pytest.approx(1.0)


def test_labels_without_any_separation_leave_centred_weights_alone(rng):
    X = np.repeat(make_rows(rng, N // 2, M), 2, axis=0)
    problem = Problem(rng, X=X, centred=True, n_clusters=2)
    problem.labels = np.arange(N) % 2
    table = problem.table
    D = np.stack([table.scatter / 2] * 2)[None]
    context = WeightContext(np.full((1, 2), N / 2), problem.weights(problem.w), table)
    updated = problem.rule.update(D, context)[0, 0]
    np.testing.assert_array_equal(updated, problem.w)
    stress = problem.rule.objective(
        np.array([problem.rule.effective(problem.weights(problem.w)).values[0, 0] @ table.scatter]),
        problem.weights(problem.w),
        context,
    )
    assert stress[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"groups": np.array([0, 1])}, r"groups has shape \(2,\).*each of the 5 features"),
        ({"groups": GROUPS, "group_weights": [1.0]}, r"shape \(1,\).*each of the 2 groups"),
        ({"groups": GROUPS, "group_weights": ["a", "b"]}, "one number for each of the 2"),
        ({"groups": GROUPS, "group_weights": [1.0, -1.0]}, r"\[1\.0, -1\.0\]: expected finite"),
        ({"groups": GROUPS, "group_weights": [0.0, 0.0]}, "not all of them 0"),
        ({"groups": GROUPS, "group_weights": [np.nan, 1.0]}, "expected finite numbers >= 0"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(rng, parameters, message):
    source = MemorySource(make_rows(rng, N, M))
    table, _ = describe(source)
    with pytest.raises(ValueError, match=message):
        StressWeights(**parameters).observe(source, table)


def test_weight_on_constant_groups_only_is_refused(rng):
    X = make_rows(rng, N, M)
    X[:, GROUPS == 1] = 3.0
    source = MemorySource(X)
    table, _ = describe(source)
    with pytest.raises(ValueError, match=r"group_weights=\[0\.0, 1\.0\].*a feature that varies"):
        StressWeights(GROUPS, [0.0, 1.0]).observe(source, table)


def test_a_rule_that_has_not_seen_the_rows_says_so(rng):
    problem = Problem(rng)
    with pytest.raises(ValueError, match=r"has not seen the rows; call observe\(source, table\)"):
        StressWeights(GROUPS).update(problem.D, problem.context(problem.w))
