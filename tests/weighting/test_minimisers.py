"""Each weight update is the minimizer it claims to be."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fwkmeans._tabular.layout import numeric_layout
from fwkmeans.typing import Description, WeightContext, Weights
from fwkmeans.weighting import (
    ClusterPowerWeights,
    EntropyWeights,
    FixedWeights,
    GroupEntropyWeights,
    RadiusWeights,
    SelfAdjustingWeights,
    SharedPowerWeights,
    StressWeights,
)
from fwkmeans.weighting.simplex import entropy, power, vertex
from laws.configurations import RULE_LIST, RULES, name_of

M = 4
MASS = np.array([10.0, 25.0, 5.0])

# SciPy before 1.12 says so whenever its search meets a bound
pytestmark = pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")


def table_of(scatter):
    scatter = np.asarray(scatter, dtype=np.float64)
    size = scatter.size
    varying = scatter > 0
    return Description(
        n_rows=40,
        mass=40.0,
        mean=np.zeros(size),
        scatter=scatter,
        minimum=np.zeros(size),
        maximum=np.where(varying, 1.0, 0.0),
        layout=numeric_layout(size),
        center=np.zeros(size),
    )


def x_log_x(w):
    return np.where(w > 0, w * np.log(np.where(w > 0, w, 1.0)), 0.0)


def on_simplex(function, start):
    return minimize(
        function,
        start,
        bounds=[(1e-9, 1.0)] * len(start),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )


@pytest.mark.parametrize("beta", [-3.0, -0.5, 1.0, 1.2, 2.0, 6.0])
def test_power_weights_minimize(beta, rng):
    for _ in range(10):
        n_features = int(rng.integers(2, 6))
        D = rng.gamma(1.0, 2.0, n_features) + 0.01
        w = power(D, beta, table_of(3 * D))

        def criterion(w, D=D):
            return np.sum(w**beta * D, axis=-1)

        assert w.sum() == pytest.approx(1.0, abs=1e-14)
        assert np.all(w >= 0)
        others = rng.dirichlet(np.ones(n_features), 2000)
        best = np.sum(np.where(w > 0, np.where(w > 0, w, 1.0) ** beta, 0.0) * D)
        assert best <= criterion(others).min() * (1 + 1e-12)
        if beta == 1:
            assert best == pytest.approx(D.min(), rel=1e-14)
            continue
        # the profile identities
        assert best == pytest.approx(np.sum(D ** (1 / (1 - beta))) ** (1 - beta), rel=1e-11)
        assert best <= n_features**-beta * D.sum() * (1 + 1e-12)
        ratio = (D[0] / D) ** (1 / (beta - 1))
        np.testing.assert_allclose(w / w[0], ratio, rtol=1e-9)
        if beta > 1:
            assert best <= D.min() * (1 + 1e-12)
        found = on_simplex(criterion, np.full(n_features, 1 / n_features))
        assert best <= found.fun * (1 + 1e-9)
        if 1.5 < beta < 3:
            np.testing.assert_allclose(w, found.x, atol=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 1e-300, 0.05, 1.0, 30.0, 1e12])
def test_entropy_weights_minimize(gamma, rng):
    for _ in range(10):
        n_features = int(rng.integers(2, 6))
        D = rng.gamma(1.0, 2.0, n_features) + 0.01
        with np.errstate(over="ignore"):
            w = entropy(D, gamma, table_of(3 * D))

        def criterion(w, D=D):
            return np.sum(w * D + gamma * x_log_x(w), axis=-1)

        assert w.sum() == pytest.approx(1.0, abs=1e-14)
        others = rng.dirichlet(np.ones(n_features), 2000)
        assert criterion(w) <= criterion(others).min() + 1e-12 * (1 + gamma)
        if 0.05 <= gamma <= 30:
            low = D.min()
            minimum = low - gamma * np.log(np.exp(-(D - low) / gamma).sum())
            assert criterion(w) == pytest.approx(minimum, rel=1e-11, abs=1e-11)
            found = on_simplex(criterion, np.full(n_features, 1 / n_features))
            assert criterion(w) <= found.fun + 1e-8
            if gamma >= 1:
                np.testing.assert_allclose(w, found.x, atol=1e-4)


def test_a_tiny_gamma_does_not_overflow_aloud(rng):
    """Quotients beyond the largest number are exp(-inf) = 0, without a warning."""
    w = entropy(np.array([1.0, 2.0, 3.0]), 1e-310, table_of([9.0, 9.0, 9.0]))
    np.testing.assert_array_equal(w, [1.0, 0.0, 0.0])


def test_zero_dispersions_and_ties_share():
    T = table_of([1.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(power(np.array([0.0, 1, 0, 2]), 2.0, T), [0.5, 0, 0.5, 0])
    np.testing.assert_array_equal(power(np.array([3.0, 1, 1, 2]), 1.0, T), [0, 0.5, 0.5, 0])
    np.testing.assert_array_equal(power(np.array([3.0, 1e-13, 1, 0]), 1.0, T), [0, 0, 0, 1])
    np.testing.assert_array_equal(power(np.array([3.0, 1, 1, 2]), 0.0, T), [0.25] * 4)
    np.testing.assert_array_equal(entropy(np.array([1.0, 1, 2, 3]), 0.0, T), [0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(vertex(np.zeros(4), T), [0.25] * 4)
    w = power(np.array([0.0, 1, 1, 1]), -2.0, T)
    assert w[0] == pytest.approx(1e-8 * w[1])
    assert w.sum() == pytest.approx(1.0)


def test_constant_features_get_nothing():
    T, D = table_of([1.0, 0.0, 1.0]), np.array([0.4, 0.0, 0.8])
    for beta in (-2.0, 0.0, 1.0, 1.5, 4.0):
        w = power(D, beta, T)
        assert w[1] == 0
        assert w.sum() == pytest.approx(1.0)
    for gamma in (0.0, 0.1, 100.0):
        assert entropy(D, gamma, T)[1] == 0


def test_extreme_exponents_and_strengths_stay_finite():
    D = np.array([1e-200, 1.0, 1e200])
    T = table_of([1.0, 2.0, 3e200])
    for beta in (-1e6, -1e-6, 1 + 1e-12, 1e6):
        w = power(D, beta, T)
        assert np.all(np.isfinite(w))
        assert w.sum() == pytest.approx(1.0)


def context_of(rule, table, n_clusters, previous=None):
    previous = rule.initial(1, n_clusters, table) if previous is None else previous
    return WeightContext(MASS[None, :n_clusters], previous, table)


def objective_of(rule, D, weights, context):
    """Return the rule's objective for given dispersions, from its own methods."""
    values, scale = rule.effective(weights)
    if isinstance(rule, RadiusWeights):  # of a largest distance, which is all it is for
        return (scale * (values * D).max(axis=-1).sum(axis=-1))[0]
    part = scale * (values * D).sum(axis=(-2, -1))
    part = part + (rule.offsets(weights) * context.mass).sum(axis=-1)
    return rule.objective(part, weights, context)[0]


# those that look at dispersions only, and do something with them
MINIMIZERS = [rule for rule in RULE_LIST if not isinstance(rule, FixedWeights | StressWeights)]


@pytest.mark.parametrize("rule", MINIMIZERS, ids=name_of)
def test_updates_sum_to_one_and_beat_random_points_on_the_rules_own_objective(rule, rng):
    for _ in range(3):
        D = rng.gamma(1.0, 2.0, (1, 3, M)) + 0.05
        table = table_of(2 * D[0].sum(axis=0))
        rule = rule.bind(table, 3)
        context = context_of(rule, table, 3)
        updated = rule.update(D, context)
        if not isinstance(updated, Weights):
            updated = Weights(updated, context.previous.memory)
        np.testing.assert_allclose(rule.normalize(updated.values, table), updated.values)
        if isinstance(rule, SelfAdjustingWeights):
            continue  # not a minimizer
        if isinstance(rule, RadiusWeights) and rule.smoothing:
            np.testing.assert_array_equal(updated.values, 1 / M)
            continue  # the limit of minimizers, equal weights
        best = objective_of(rule, D, updated, context)
        for _ in range(300):
            shape = (1, 1 if rule.shared else 3, M)
            other = rng.standard_exponential(shape)
            step = 10.0 ** rng.uniform(-4, 0)
            other = rule.normalize(np.broadcast_to(other, D.shape), table)
            if isinstance(rule, GroupEntropyWeights):
                # features were updated for the previous group weights, groups after them
                before = Weights(updated.values, context.previous.memory)
                moved = Weights((1 - step) * updated.values + step * other, before.memory)
                assert objective_of(rule, D, before, context) <= (
                    objective_of(rule, D, moved, context) + 1e-9
                )
                omega = updated.memory["group_weights"]
                random = rng.dirichlet(np.ones(omega.shape[-1]), (1, 3))
                memory = {"group_weights": (1 - step) * omega + step * random}
                moved = Weights(updated.values, memory)
            else:
                moved = Weights((1 - step) * updated.values + step * other, updated.memory)
            assert best <= objective_of(rule, D, moved, context) * (1 + 1e-12) + 1e-9


def test_smoothing_is_part_of_what_is_minimized(rng):
    D = rng.gamma(1.0, 2.0, (1, 3, M)) + 0.05
    table = table_of(2 * D[0].sum(axis=0))
    for smoothing, added in (
        (0.7, 0.7),
        ("frozen", D.mean()),
        ("refresh", D.mean()),
        ("inside", MASS[:, None] * (table.scatter / table.mass).mean()),
    ):
        rule = ClusterPowerWeights(2.0, smoothing).bind(table, 3)
        values = rule.update(D, context_of(rule, table, 3)).values[0]
        total = D[0] + added
        np.testing.assert_allclose(values, (1 / total) / (1 / total).sum(axis=1, keepdims=True))


def test_shared_power_uses_the_sum_over_clusters(rng):
    D = rng.gamma(1.0, 2.0, (2, 3, M))
    table = table_of(5 * D.max(axis=0).sum(axis=0))
    rule = SharedPowerWeights(3.0)
    previous = rule.initial(2, 3, table)
    values = rule.update(D, WeightContext(np.ones((2, 3)), previous, table))
    for start in range(2):
        expected = power(D[start].sum(axis=0), 3.0, table)
        np.testing.assert_array_equal(values[start], np.tile(expected, (3, 1)))


def test_mean_dispersion_divides_by_the_mass(rng):
    D = rng.gamma(1.0, 2.0, (1, 3, M))
    table = table_of(5 * D.sum(axis=(0, 1)))
    rule = EntropyWeights(0.3, "mean")
    values = rule.update(D, context_of(rule, table, 3))[0]
    for k in range(3):
        np.testing.assert_allclose(values[k], entropy(D[0, k] / MASS[k], 0.3, table))


def separation(w, a, T):
    return np.sum(w * a, axis=-1) / np.sum(w * T, axis=-1)


def test_self_adjusting_weights(rng):
    """Half-way to the shares; the safeguard refuses exactly the steps that raise the objective."""
    rises = 0
    for _ in range(500):
        a = rng.gamma(0.5, 1.0, M) + 1e-3
        b = rng.gamma(0.5, 1.0, M)
        T = a + b
        w = rng.dirichlet(np.ones(M))
        D = np.stack([0.25 * a, 0.75 * a])[None]
        table = table_of(T)
        previous = Weights(np.tile(w, (1, 2, 1)))
        context = WeightContext(np.ones((1, 2)), previous, table)
        q = (b / a) / np.sum(b / a)
        free = SelfAdjustingWeights().update(D, context)[0]
        np.testing.assert_allclose(free, np.tile((w + q) / 2, (2, 1)), atol=1e-12)
        rises += separation(free[0], a, T) > separation(w, a, T) * (1 + 1e-9)
        safe = SelfAdjustingWeights(safeguard=True).update(D, context)[0]
        assert separation(safe[0], a, T) <= separation(w, a, T) * (1 + 1e-12)
        assert np.allclose(safe, free) or np.allclose(safe, w)
    assert rises > 0


def test_self_adjusting_weights_at_the_limits():
    table = table_of([2.0, 2.0, 3.0, 0.0])
    w = np.array([0.2, 0.5, 0.3, 0.0])
    context = WeightContext(np.ones((1, 1)), Weights(w[None, None]), table)
    rule = SelfAdjustingWeights()
    pure = rule.update(np.array([[[0.0, 1.0, 0.0, 0.0]]]), context)[0, 0]
    np.testing.assert_allclose(pure, (w + [0.5, 0, 0.5, 0]) / 2)
    kept = rule.update(np.array([[[2.0, 2.0, 3.0, 0.0]]]), context)[0, 0]
    np.testing.assert_allclose(kept, w)


def test_group_weights_follow_the_formulas(rng):
    groups = np.array([0, 0, 1, 1])
    lam, eta = 0.8, 0.3
    D = rng.gamma(1.0, 1.0, (1, 2, M))
    table = table_of(9 * D.sum(axis=(0, 1)))
    rule = GroupEntropyWeights(groups, lam, eta).bind(table, 2)
    omega = rng.dirichlet(np.ones(2), (1, 2))
    previous = Weights(rule.initial(1, 2, table).values, {"group_weights": omega})
    values, memory = rule.update(D, WeightContext(np.ones((1, 2)), previous, table))
    for k in range(2):
        expected = np.exp(-omega[0, k, groups] * D[0, k] / eta)
        expected /= np.array([expected[groups == t].sum() for t in (0, 1)])[groups]
        np.testing.assert_allclose(values[0, k], expected)
        cost = np.array([(expected * D[0, k])[groups == t].sum() for t in (0, 1)])
        shares = np.exp(-cost / lam)
        np.testing.assert_allclose(memory["group_weights"][0, k], shares / shares.sum())


def test_auto_strengths(rng):
    D = rng.gamma(1.0, 1.0, (2, M))
    T = D.sum(axis=0)
    T[3] = 0.0
    table = table_of(T)
    assert EntropyWeights().bind(table, 5).gamma == pytest.approx(T.sum() / (5 * 3))
    mean = EntropyWeights(dispersion="mean").bind(table, 5)
    assert mean.gamma == pytest.approx(T.sum() / (2 * 40 * 3))
    rule = GroupEntropyWeights(np.array([0, 0, 1, 2])).bind(table, 5)
    assert rule.eta == pytest.approx(T.sum() / (5 * 3))
    assert rule.lam == pytest.approx(T.sum() / (5 * 2))  # the group of the constant does not count
    rule = GroupEntropyWeights(np.array([0, 0, 1, 2]), dispersion="mean").bind(table, 5)
    assert (rule.eta, rule.lam) == pytest.approx((T.sum() / (80 * 3), T.sum() / (80 * 2)))


def test_the_guard_is_a_multiple_of_the_mean_scatter(rng):
    D = rng.gamma(1.0, 2.0, (1, 3, M))
    table = table_of(2.0 * D.sum(axis=(0, 1)))
    mean = table.scatter.mean()
    shared = SharedPowerWeights(3.0, guard=0.3)
    w = power(D.sum(axis=1, keepdims=True) + 0.3 * mean, 3.0, table)
    np.testing.assert_allclose(shared.update(D, context_of(shared, table, 3))[:, :1], w)
    cluster = ClusterPowerWeights(3.0, guard=0.3)
    w = power(D + 0.3 * mean / 3, 3.0, table)
    np.testing.assert_allclose(cluster.update(D, context_of(cluster, table, 3)).values, w)
    adjusting = SelfAdjustingWeights(guard=0.3)
    a = D.sum(axis=1)[0] + 0.3 * mean
    b = table.scatter - D.sum(axis=1)[0] + 0.3 * mean
    w = (1 / M + b / a / (b / a).sum()) / 2
    np.testing.assert_allclose(adjusting.update(D, context_of(adjusting, table, 3))[0, 0], w)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_binding_leaves_the_rule_as_it_was(rules):
    table = table_of([1.0, 2.0, 3.0, 4.0])
    for rule in rules:
        before = repr(rule)
        rule.bind(table, 3)
        assert repr(rule) == before
