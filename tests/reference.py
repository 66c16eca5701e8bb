"""Slow, direct reference implementation of the feature-weighted K-Means family.

Independent of the package: it imports nothing from it and was written from the specification only.
Every formula is evaluated literally, in float64, with loops over clusters and features.

Public: ``fit`` -> ``Result``; ``anomalous_patterns``; building blocks for tests of single steps:
``power_weights``, ``entropy_weights``, ``vertex_weights``, ``chebyshev_weights``, ``fwsa_target``,
``minkowski_center``, ``costs``, ``assign``, ``cluster_centers``, ``dispersions``,
``total_scatter``; the column rules ``Squared``, ``Minkowski``, ``MeanAbsolute``, ``Matching``,
``Frequencies``, ``FrequenciesSquared``.

Algorithms and parameters (defaults in brackets)

* ``"kmeans"``
* ``"awk"``   beta [2.0], smoothing [0.0]: number c (outside, D + c) | "frozen" | "refresh" |
  "inside"
* ``"wk"``    beta [2.0], weights_mode ["global"] | "cluster", smoothing ["frozen"] as above
  (ignored when global)
* ``"ewk"``   gamma ["auto"], dispersion ["sum"] | "mean"
* ``"fwsa"``  safeguard [False]
* ``"fgk"``   groups (M labels 0..T-1), lam ["auto"], eta ["auto"]
* ``"mwk"``   p [2.0] >= 1 or inf, smoothing ["refresh"] as above; the weight exponent is p
* ``"ikp"``   beta [8.0], variant ["published"] | "median" | "monotone"; global weights

awk, wk, mwk, ikp and fwsa take ``guard`` [0.0]: this multiple of the mean of T_v (of its K-th part
for weights of each cluster) is added to every D; fwsa adds it to a_v and to b_v.

awk, wk, fgk and ikp take ``categorical`` [()]: columns that hold codes 0, 1, ...  All algorithms
take ``missing`` [None] | "ignore" | "rescale": NaN is a missing cell.  A row with m of M cells
observed then counts with M/m times its sample weight everywhere; missing cells enter no sum.

One iteration: assign, repair empty clusters, centres, (constant c), weights, objective -> history.

The state of the centres is a list with one array per column: (K,) numbers, or (K, L) category
frequencies (one-hot for modes).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

NOTHING = 1e-12  # T_v - D_v is "zero" when it is at most NOTHING * T_v
FLOOR = 1e-24  # beta < 0: D_v counts as at least FLOOR * T_v
TIE = 1e-12  # relative tolerance for equal dispersions in the vertex rule
CENTER_TOL = 1e-13  # tol=0: centres stand still, relative to the feature's range
WEIGHT_TOL = 1e-12  # tol=0: weights stand still
C_FALLBACK = 0.01  # smoothing constant when the mean dispersion is 0
PATTERN_CONSTANT = 0.01  # of anomalous patterns, relative to the mean range**p
LEAST_FALL = 1e-12  # of the weighted dispersion: a smaller fall of the objective is none


@dataclass
class Result:
    labels: (
        np.ndarray
    )  # (N,) final assignment of ALL rows with the returned centres and weights (no repair)
    centers: np.ndarray  # (K, M), NaN in categorical columns
    weights: (
        np.ndarray
    )  # (K, M) feature weights (not raised to beta); global weights are repeated K times
    group_weights: np.ndarray | None  # (K, T) or None
    objective: float  # at the returned labels, centres and weights (last c for smoothing)
    history: list  # objective after every weight step
    n_iter: int
    converged: bool
    n_relocations: int
    unrepaired_empty: bool  # the repair of the LAST iteration left at least one cluster empty
    smoothing_constant: float = 0.0  # the last c that was used
    # sum of effective weight times D after the last weight step (p = inf: the objective)
    dispersion: float = 0.0
    frequencies: dict = field(default_factory=dict)  # categorical column -> (K, L)


# ---------------------------------------------------------------- single steps


def xlogx(x):
    return 0.0 if x == 0.0 else float(x * np.log(x))


def vertex_weights(D, T):
    """All weight on the smallest dispersion; zero ones, else relative ties, share it equally."""
    D, T = np.asarray(D, float), np.asarray(T, float)
    chosen = [v for v in range(len(D)) if D[v] == 0]
    if not chosen:
        low = min(D)
        chosen = [v for v in range(len(D)) if D[v] <= low * (1.0 + TIE)]
    w = np.zeros(len(D))
    for v in chosen:
        w[v] = 1.0 / len(chosen)
    return w


def power_weights(D, T, beta):
    """argmin over the simplex of sum_v w_v**beta * D_v (beta < 0 or >= 1); uniform for beta = 0."""
    D, T = np.asarray(D, float), np.asarray(T, float)
    m = len(D)
    if 0 < beta < 1:
        raise ValueError("0 < beta < 1: the stationary point is a maximum")
    if beta == 0:
        return np.full(m, 1.0 / m)
    if beta == 1:
        return vertex_weights(D, T)
    if beta > 1:
        zero = [v for v in range(m) if D[v] == 0]
        if zero:
            w = np.zeros(m)
            for v in zero:
                w[v] = 1.0 / len(zero)
            return w
        base = D
    else:
        base = np.array([max(D[v], FLOOR * T[v]) for v in range(m)])
        if np.all(base == 0):  # only when every feature is constant
            return np.full(m, 1.0 / m)
    p = np.array([(base[v] / base.min()) ** (-1.0 / (beta - 1.0)) for v in range(m)])
    return p / p.sum()


def entropy_weights(D, T, gamma):
    """argmin over the simplex of sum_v w_v D_v + gamma sum_v w_v log w_v; gamma = 0: vertex."""
    D = np.asarray(D, float)
    if gamma < 0:
        raise ValueError("gamma < 0")
    if gamma == 0:
        return vertex_weights(D, T)
    with np.errstate(over="ignore"):  # a huge quotient is exp(-inf) = 0, as it should be
        p = np.array([np.exp(-((D[v] - D.min()) / gamma)) for v in range(len(D))])
    return p / p.sum()


def chebyshev_weights(D, T, smoothed):
    """p = inf: argmin over the simplex of max_v w_v D_v; with any constant the limit is uniform."""
    D, T = np.asarray(D, float), np.asarray(T, float)
    m = len(D)
    if smoothed:
        return np.full(m, 1.0 / m)
    zero = [v for v in range(m) if D[v] == 0]
    if zero:
        w = np.zeros(m)
        for v in zero:
            w[v] = 1.0 / len(zero)
        return w
    w = np.array([D.min() / D[v] for v in range(m)])
    return w / w.sum()


def fwsa_target(a, b, T):
    """q of FWSA, or None when every b is zero (then the weights are kept)."""
    m = len(a)
    if all(b[v] <= NOTHING * T[v] for v in range(m)):
        return None
    zero = [v for v in range(m) if a[v] == 0]
    q = np.zeros(m)
    if zero:
        for v in zero:
            q[v] = 1.0 / len(zero)
        return q
    for v in range(m):
        q[v] = b[v] / a[v]
    return q / q.sum()


def _weighted_mean(y, s):
    """Weighted mean, taken about the first value so that equal values give exactly that value."""
    return y[0] + float(np.sum(s * (y - y[0]))) / float(np.sum(s))


def minkowski_center(y, s, p):
    """argmin over c of sum_i s_i |y_i - c|**p for p >= 1; p = inf: the midrange."""
    y, s = np.asarray(y, float), np.asarray(s, float)
    y, s = y[s > 0], s[s > 0]
    if not p >= 1 or len(y) == 0:
        raise ValueError("p < 1, or no row of positive weight")
    if p == 2:
        return _weighted_mean(y, s)
    points = np.unique(y)
    if len(points) == 1:
        return float(points[0])
    if p == np.inf:
        return float((points[0] + points[-1]) / 2.0)
    if p == 1:
        order = np.argsort(y, kind="stable")
        below = np.cumsum(s[order])
        half, slack = below[-1] / 2.0, TIE * below[-1]
        lower = y[order][below >= half - slack][0]
        upper = y[order][below > half + slack][0]  # the same value unless half is met
        return float((lower + upper) / 2.0)

    def slope(c):  # f'(c) times a positive number, which keeps large powers finite
        gap = c - y
        size = np.abs(gap)
        return float(np.sum(s * np.sign(gap) * (size / size.max()) ** (p - 1.0)))

    i, j = 0, len(points) - 1  # slope(points[i]) < 0 < slope(points[j])
    while j - i > 1:
        m = (i + j) // 2
        g = slope(points[m])
        if g == 0:
            return float(points[m])
        i, j = (m, j) if g < 0 else (i, m)
    low, high = points[i], points[j]
    xtol = max(1e-18 * (high - low), np.finfo(float).tiny)
    guess = brentq(slope, low, high, xtol=xtol, disp=False)
    for c in (guess - 4.0 * np.spacing(abs(guess)), guess + 4.0 * np.spacing(abs(guess))):
        if low < c < high:
            low, high = (c, high) if slope(c) < 0 else (low, c)
    while True:  # bisection, down to neighbouring numbers
        c = low + (high - low) / 2.0
        if not low < c < high:
            return float(low if -slope(low) < slope(high) else high)
        g = slope(c)
        if g == 0:
            return float(c)
        low, high = (c, high) if g < 0 else (low, c)


# ---------------------------------------------------------------- columns


class Squared:
    """(y - c)**2, mean."""

    def center(self, y, s):
        return _weighted_mean(y, s)

    def distance(self, y, c):
        return (y - c) ** 2

    def entity(self, value):
        """The centre that an entity with this value makes."""
        return value

    def spread(self, y):
        return y.max() - y.min()


class Minkowski(Squared):
    """|y - c|**p with its minimiser; p = inf: |y - c|, of which maxima are taken."""

    def __init__(self, p):
        self.p = p

    def center(self, y, s):
        return minkowski_center(y, s, self.p)

    def distance(self, y, c):
        if self.p == 2:
            return (y - c) ** 2
        return np.abs(y - c) if self.p in (1, np.inf) else np.abs(y - c) ** self.p


class MeanAbsolute(Squared):
    """|y - c|, mean."""

    def distance(self, y, c):
        return np.abs(y - c)


class Frequencies:
    """1 - f_y, frequencies."""

    def __init__(self, n_categories):
        self.L = n_categories

    def center(self, y, s):
        f = np.zeros(self.L)
        for code in range(self.L):
            f[code] = np.sum(s[y == code]) / np.sum(s)
        return f

    def distance(self, y, f):
        d = np.ones(len(y))
        for i in range(len(y)):
            if y[i] < self.L:
                d[i] = 1.0 - f[int(y[i])]
        return d

    def entity(self, value):
        f = np.zeros(self.L)
        if value not in range(self.L):
            raise ValueError("a centre must have a category that is observed")
        f[int(value)] = 1.0
        return f

    def spread(self, y):
        return 0.0 if np.all(y == y[0]) else 1.0


class FrequenciesSquared(Frequencies):
    """|e_y - f|**2 = 1 - 2 f_y + sum_l f_l**2, frequencies."""

    def distance(self, y, f):
        d = np.zeros(len(y))
        for code in range(self.L):
            d += ((y == code) - f[code]) ** 2
        return d + (y >= self.L)


class Matching(Frequencies):
    """0 if y is the mode, else 1; the mode is kept as a one-hot vector."""

    def center(self, y, s):
        mass = [np.sum(s[y == code]) for code in range(self.L)]
        return self.entity(int(np.argmax(mass)))  # the smallest code on ties

    def distance(self, y, f):
        return np.where(y == np.argmax(f), 0.0, 1.0)


def _as_state(C, columns):
    """Numeric centres (K, M) as a state with squared distances, unless it is a state already."""
    if columns is not None:
        return C, columns
    return [C[:, v] for v in range(C.shape[1])], [Squared() for _ in range(C.shape[1])]


# ---------------------------------------------------------------- steps


def column_centers(X, s, columns):
    """The centre of every whole column."""
    centers = []
    for v in range(X.shape[1]):
        rows = np.flatnonzero(~np.isnan(X[:, v]))
        if len(rows):
            centers.append(columns[v].center(X[rows, v], s[rows]))
        else:
            centers.append(columns[v].entity(0.0))
    return centers


def total_scatter(X, s, columns=None, chebyshev=False):
    """Dispersion of every whole column about its own centre."""
    N, M = X.shape
    if columns is None:
        columns = [Squared() for _ in range(M)]
    state = [np.array([center]) for center in column_centers(X, s, columns)]
    return dispersions(X, s, np.zeros(N, int), state, columns, chebyshev)[0]


def costs(X, C, E, const, columns=None, missing=None, chebyshev=False):
    """(N, K) what the assignment compares, and (N, K) the dissimilarity that the repair compares.

    E are the effective weights; chebyshev takes maxima instead of sums.
    """
    state, columns = _as_state(C, columns)
    N, K, M = X.shape[0], len(state[0]), len(columns)
    observed = ~np.isnan(X)
    m = observed.sum(axis=1)
    cost, d = np.zeros((N, K)), np.zeros((N, K))
    for k in range(K):
        whole, known = 0.0, np.zeros(N)  # weight of all columns, of the observed ones
        for v in range(M):
            o = observed[:, v]
            if E[k, v] != 0:
                term = E[k, v] * columns[v].distance(X[o, v], state[v][k])
                if chebyshev:
                    d[o, k] = np.maximum(d[o, k], term)
                    whole, known[o] = max(whole, E[k, v]), np.maximum(known[o], E[k, v])
                else:
                    d[o, k] += term
                    whole, known[o] = whole + E[k, v], known[o] + E[k, v]
        cost[:, k] = d[:, k]
        if missing == "rescale":
            for i in range(N):
                cost[i, k] = whole / known[i] * d[i, k] if known[i] > 0 else np.inf
        cost[:, k] += const[k]
    if not chebyshev:
        for i in range(N):
            d[i] *= M / m[i] if m[i] > 0 else 0.0
    return cost, d


def assign(X, C, E, const, columns=None, missing=None, chebyshev=False):
    """Labels (lowest index on ties), each row's dissimilarity to its own centre (no constant)."""
    cost, d = costs(X, C, E, const, columns, missing, chebyshev)
    N, K = cost.shape
    labels, own = np.zeros(N, int), d[:, 0].copy()
    best = cost[:, 0].copy()
    for k in range(1, K):
        for i in range(N):
            if cost[i, k] < best[i]:
                best[i], labels[i], own[i] = cost[i, k], k, d[i, k]
    return labels, own


def cluster_centers(X, s, labels, old, columns=None):
    if columns is None:
        state = cluster_centers(X, s, labels, *_as_state(old, None))
        return np.column_stack(state)
    state = [a.copy() for a in old]
    observed = ~np.isnan(X)
    for k in range(len(old[0])):
        for v in range(len(columns)):
            rows = np.flatnonzero((labels == k) & observed[:, v])
            if len(rows):  # without a value the centre stays
                state[v][k] = columns[v].center(X[rows, v], s[rows])
    return state


def dispersions(X, s, labels, C, columns=None, chebyshev=False):
    state, columns = _as_state(C, columns)
    K, M = len(state[0]), len(columns)
    D = np.zeros((K, M))
    observed = ~np.isnan(X)
    for k in range(K):
        for v in range(M):
            rows = np.flatnonzero((labels == k) & observed[:, v])
            d = columns[v].distance(X[rows, v], state[v][k])
            if chebyshev:
                D[k, v] = d.max() if len(rows) else 0.0
            else:
                D[k, v] = np.sum(s[rows] * d)
    return D


# ---------------------------------------------------------------- one problem


class _Problem:
    """One data set and recipe; X and s hold the rows of positive weight only."""

    def __init__(self, X, s, K, algorithm, params):
        p = dict(params)
        self.algorithm, self.K, self.M = algorithm, K, X.shape[1]
        self.missing = p.pop("missing", None)
        if self.missing not in (None, "ignore", "rescale"):
            raise ValueError("missing")
        self.categorical = [int(v) for v in p.pop("categorical", None) or []]
        if self.categorical and algorithm not in ("awk", "wk", "fgk", "ikp"):
            raise ValueError(f"no categorical columns in {algorithm}")
        observed = ~np.isnan(X)
        self.incomplete = not observed.all()
        if self.incomplete and self.missing is None:
            raise ValueError("missing cells")
        if self.missing is not None:
            if np.any(observed.sum(axis=1) == 0):
                raise ValueError("a row of positive weight without any value")
            s = s * (self.M / observed.sum(axis=1))
        self.X, self.s = X, s
        self.total = float(np.sum(s))
        self.set_columns(p)
        self.column_state = column_centers(X, s, self.columns)
        self.range = np.zeros(self.M)  # of a categorical column: 1, unless it is constant
        for v in range(self.M):
            if observed[:, v].any():
                self.range[v] = self.columns[v].spread(X[observed[:, v], v])
        self.T = total_scatter(X, s, self.columns, self.chebyshev)
        self.T[self.range == 0] = 0.0
        self.all_constant = bool(np.all(self.range == 0))
        self.active = [v for v in range(self.M) if self.all_constant or self.range[v] > 0]
        self.Ta = self.T[self.active]
        self.c = 0.0
        self.inside = False
        self.smoothing = 0.0
        if algorithm in ("awk", "wk"):
            self.beta = float(p.pop("beta", 2.0))
            if 0 < self.beta < 1:
                raise ValueError("0 < beta < 1")
            self.is_global = False
            if algorithm == "wk":
                mode = p.pop("weights_mode", "global")
                if mode not in ("global", "cluster"):
                    raise ValueError("weights_mode")
                self.is_global = mode == "global"
            smoothing = p.pop("smoothing", 0.0 if algorithm == "awk" else "frozen")
            if not self.is_global:
                self._set_smoothing(smoothing)
        elif algorithm == "mwk":
            self.is_global = False
            self.beta = self.p
            self._set_smoothing(p.pop("smoothing", "refresh"))
            self.smoothed = not (not isinstance(self.smoothing, str) and self.smoothing == 0)
            if self.chebyshev:  # nothing but uniform weights is left of the constant
                self.c, self.inside = 0.0, False
        elif algorithm == "ikp":
            self.is_global = True
            self.beta = float(p.pop("beta", 8.0))
            if 0 < self.beta < 1:
                raise ValueError("0 < beta < 1")
        elif algorithm == "ewk":
            self.is_global = False
            self.dispersion = p.pop("dispersion", "sum")
            if self.dispersion not in ("sum", "mean"):
                raise ValueError("dispersion")
            gamma = p.pop("gamma", "auto")
            if isinstance(gamma, str):
                per = self.K if self.dispersion == "sum" else 2 * self.total
                gamma = self.T.sum() / (per * len(self.active))
            self.gamma = float(gamma)
            if self.gamma < 0:
                raise ValueError("gamma < 0")
        elif algorithm == "fwsa":
            self.is_global = True
            self.safeguard = bool(p.pop("safeguard", False))
        elif algorithm == "fgk":
            self.is_global = False
            self.groups = np.asarray(p.pop("groups"), int)
            if self.groups.shape != (self.M,) or sorted(set(self.groups.tolist())) != list(
                range(self.groups.max() + 1)
            ):
                raise ValueError("groups must give every feature a label 0..T-1, all used")
            self.n_groups = int(self.groups.max()) + 1
            self.members = [
                [v for v in self.active if self.groups[v] == t] for t in range(self.n_groups)
            ]
            self.active_groups = [t for t in range(self.n_groups) if self.members[t]]
            lam, eta = p.pop("lam", "auto"), p.pop("eta", "auto")
            if isinstance(lam, str):
                lam = self.T.sum() / (self.K * len(self.active_groups))
            if isinstance(eta, str):
                eta = self.T.sum() / (self.K * len(self.active))
            self.lam, self.eta = float(lam), float(eta)
            if self.lam < 0 or self.eta < 0:
                raise ValueError("lam, eta < 0")
        elif algorithm == "kmeans":
            self.is_global = True
        else:
            raise ValueError(algorithm)
        self.guard = 0.0
        if algorithm in ("awk", "wk", "mwk", "ikp", "fwsa"):
            share = self.T.sum() / len(self.active) / (1 if self.is_global else self.K)
            self.guard = float(p.pop("guard", 0.0)) * share
            if self.chebyshev and self.guard > 0:
                self.smoothed, self.guard = True, 0.0
            if algorithm != "fwsa" and self.beta == 0:  # weights do not matter: K-Means
                self.guard = 0.0
        if p:
            raise TypeError(f"unknown parameters {sorted(p)} for {algorithm}")

    def set_columns(self, p):
        """The rule of every column; takes the parameters that decide it out of p."""
        self.chebyshev = False
        number, category = Squared(), Matching
        if self.algorithm == "mwk":
            self.p = float(p.pop("p", 2.0))
            if not self.p >= 1:
                raise ValueError("p < 1")
            self.chebyshev = self.p == np.inf
            number = Minkowski(self.p)
        elif self.algorithm == "ikp":
            self.variant = p.pop("variant", "published")
            if self.variant not in ("published", "median", "monotone"):
                raise ValueError("variant")
            number = MeanAbsolute() if self.variant == "published" else Minkowski(1.0)
            category = FrequenciesSquared if self.variant == "monotone" else Frequencies
        self.columns = [number for _ in range(self.M)]
        for v in self.categorical:
            codes = self.X[~np.isnan(self.X[:, v]), v]
            if np.any(codes < 0) or np.any(codes != np.round(codes)):
                raise ValueError("categories must be codes 0, 1, ...")
            self.columns[v] = category(int(codes.max()) + 1 if len(codes) else 1)

    # ---- what kind of run this is

    def may_rise(self):
        """Whether a step can raise the objective."""
        return (
            self.algorithm == "fwsa"
            or self.smoothing == "refresh"
            or (self.algorithm == "ikp" and self.variant != "monotone")
            or self.missing == "rescale"  # the assignment minimizes something else
        )

    def stops_when_level(self):
        """Whether the run ends as soon as the objective does not fall: it could wander on."""
        ambiguous = (
            (self.algorithm == "mwk" and self.p == 1)
            or (self.algorithm in ("awk", "wk", "fgk") and len(self.categorical) > 0)
            or self.algorithm == "ikp"
        )
        return ambiguous and not self.may_rise()

    def watches_cycles(self):
        """Whether the run can cycle, and equal labels mean equal states."""
        return (self.may_rise() or self.chebyshev) and self.algorithm not in ("fwsa", "fgk")

    # ---- states

    def entity(self, v, value):
        """The centre that one value makes; a missing value takes the centre of the column."""
        return self.column_state[v] if np.isnan(value) else self.columns[v].entity(value)

    def state(self, centers, frequencies=None):
        """A state from (K, M) numbers and codes, or from numbers and frequencies as in Result."""
        state = []
        for v in range(self.M):
            if frequencies is not None and v in frequencies:
                state.append(np.array(frequencies[v], float))
            else:
                state.append(np.array([self.entity(v, centers[k, v]) for k in range(self.K)]))
        return state

    def centers(self, state):
        """(K, M) numbers, NaN in categorical columns."""
        C = np.full((self.K, self.M), np.nan)
        for v in range(self.M):
            if v not in self.categorical:
                C[:, v] = state[v]
        return C

    def costs(self, X, state, W, G):
        E, const = self.effective(W, G), self.constant(W, G)
        return costs(X, state, E, const, self.columns, self.missing, self.chebyshev)

    def assign(self, X, state, W, G):
        E, const = self.effective(W, G), self.constant(W, G)
        return assign(X, state, E, const, self.columns, self.missing, self.chebyshev)

    def dispersions(self, labels, state):
        return dispersions(self.X, self.s, labels, state, self.columns, self.chebyshev)

    def _set_smoothing(self, smoothing):
        self.smoothing = smoothing
        if smoothing == "inside":
            self.inside = True
            self.c = float(np.mean([self.T[v] / self.total for v in self.active]))
            if self.c == 0:
                self.c = C_FALLBACK
        elif isinstance(smoothing, str):
            if smoothing not in ("frozen", "refresh"):
                raise ValueError("smoothing")
        else:
            self.c = float(smoothing)
            if self.c < 0:
                raise ValueError("smoothing < 0")

    # ---- weights

    def uniform_row(self):
        w = np.zeros(self.M)
        if self.algorithm == "fgk":
            for t in self.active_groups:
                for v in self.members[t]:
                    w[v] = 1.0 / len(self.members[t])
        else:
            for v in self.active:
                w[v] = 1.0 / len(self.active)
        return w

    def uniform_group_row(self):
        g = np.zeros(self.n_groups)
        for t in self.active_groups:
            g[t] = 1.0 / len(self.active_groups)
        return g

    def start_weights(self, weights):
        if (
            weights is None
            or self.algorithm == "kmeans"
            or (self.algorithm in ("awk", "wk", "ikp") and self.beta == 0)
        ):
            return np.array([self.uniform_row() for _ in range(self.K)])
        W = np.array(weights, float)
        if W.ndim == 1:
            W = np.array([W for _ in range(self.K)])
        if W.shape != (self.K, self.M) or np.any(W < 0):
            raise ValueError("weights")
        if self.is_global and not np.all(W[0] == W):
            raise ValueError("global weights must be the same for every cluster")
        blocks = self.members if self.algorithm == "fgk" else [self.active]
        out = np.zeros_like(W)
        for k in range(self.K):
            for block in blocks:
                if block:
                    total = sum(W[k, v] for v in block)
                    if total <= 0:
                        raise ValueError("initial weights sum to 0 over the non-constant features")
                    for v in block:
                        out[k, v] = W[k, v] / total
        return out

    def effective(self, W, G):
        """The factor of the distance in the objective."""
        E = np.zeros((self.K, self.M))
        if self.algorithm == "kmeans":
            return np.ones((self.K, self.M))
        for k in range(self.K):
            for v in self.active:
                if self.algorithm in ("awk", "wk", "mwk", "ikp"):
                    if self.chebyshev:
                        E[k, v] = W[k, v]
                    elif self.beta == 0:
                        E[k, v] = 1.0
                    else:
                        if self.beta < 0 and W[k, v] == 0:
                            raise ValueError("zero weight on a non-constant feature with beta < 0")
                        E[k, v] = W[k, v] ** self.beta
                elif self.algorithm == "fgk":
                    E[k, v] = G[k, self.groups[v]] * W[k, v]
                else:
                    E[k, v] = W[k, v]
        return E

    def constant(self, W, G):
        """What the objective adds per unit of sample weight to a row of cluster k, besides d."""
        const = np.zeros(self.K)
        for k in range(self.K):
            if self.inside:
                const[k] = self.c * self.effective(W, G)[k, self.active].sum()
            elif self.algorithm == "ewk" and self.dispersion == "mean":
                const[k] = self.gamma * sum(xlogx(W[k, v]) for v in self.active)
        return const

    def penalty(self, W, G):
        """What the objective adds per cluster, whether it has rows or not."""
        total = 0.0
        if self.guard > 0:
            for k in range(1 if self.is_global else self.K):
                total += self.guard * self.effective(W, G)[k, self.active].sum()
        for k in range(self.K):
            if self.algorithm in ("awk", "wk", "mwk") and not self.inside and self.c > 0:
                total += self.c * self.effective(W, G)[k, self.active].sum()
            elif self.algorithm == "ewk" and self.dispersion == "sum":
                total += self.gamma * sum(xlogx(W[k, v]) for v in self.active)
            elif self.algorithm == "fgk":
                total += self.lam * sum(xlogx(G[k, t]) for t in range(self.n_groups))
                total += self.eta * sum(xlogx(W[k, v]) for v in self.active)
        return total

    def objective(self, labels, state, W, G):
        if self.algorithm == "fwsa":
            D = self.dispersions(labels, state)
            below = sum(W[0, v] * self.T[v] for v in self.active)
            above = sum(W[0, v] * D[k, v] for k in range(self.K) for v in self.active)
            below, above = below + 2 * self.guard, above + self.guard
            return 0.0 if below == 0 else float(above / below)
        E, const = self.effective(W, G), self.constant(W, G)
        total = 0.0
        for k in range(self.K):
            for v in range(self.M):
                rows = np.flatnonzero((labels == k) & ~np.isnan(self.X[:, v]))
                if E[k, v] != 0:
                    d = self.columns[v].distance(self.X[rows, v], state[v][k])
                    if self.chebyshev:
                        total = max(total, E[k, v] * d.max() if len(rows) else 0.0)
                    else:
                        total += float(np.sum(self.s[rows] * E[k, v] * d))
            total += float(np.sum(self.s[labels == k])) * const[k]
        return float(total + self.penalty(W, G))

    def update_c(self, D, first):
        if self.chebyshev:
            return
        if self.smoothing == "refresh" or (self.smoothing == "frozen" and first):
            mean = float(np.mean([D[k, v] for k in range(self.K) for v in self.active]))
            self.c = mean if mean > 0 else C_FALLBACK

    def weight_step(self, D, n, state, W, G):
        W, A = W.copy(), self.active
        if self.algorithm == "kmeans" or self.all_constant:
            return np.array([self.uniform_row() for _ in range(self.K)]), (
                None if G is None else np.array([self.uniform_group_row() for _ in range(self.K)])
            )
        if self.algorithm == "fwsa":
            return self.fwsa_step(D, n, state, W), None
        if self.is_global:  # wk, ikp
            w = power_weights(D[:, A].sum(axis=0) + self.guard, self.Ta, self.beta)
            for k in range(self.K):
                W[k, A] = w
            return W, None
        if G is not None:
            G = G.copy()
        for k in range(self.K):
            if n[k] == 0:
                W[k] = self.uniform_row()
                if G is not None:
                    G[k] = self.uniform_group_row()
            elif self.chebyshev:
                W[k, A] = chebyshev_weights(D[k, A], self.Ta, self.smoothed)
            elif self.algorithm in ("awk", "wk", "mwk"):
                c = n[k] * self.c if self.inside else self.c
                W[k, A] = power_weights(D[k, A] + c + self.guard, self.Ta, self.beta)
            elif self.algorithm == "ewk":
                if self.dispersion == "mean" and self.gamma > 0:
                    W[k, A] = entropy_weights(D[k, A] / n[k], self.Ta, self.gamma)
                else:
                    W[k, A] = entropy_weights(D[k, A], self.Ta, self.gamma)
            else:  # fgk: w with the old omega, then omega with the new w
                for t in self.active_groups:
                    mem = self.members[t]
                    if (
                        G[k, t] == 0
                    ):  # E = 0: every w costs the same (eta = 0) or entropy alone counts
                        W[k, mem] = 1.0 / len(mem)
                    elif self.eta == 0:
                        W[k, mem] = vertex_weights(D[k, mem], self.T[mem])
                    else:
                        W[k, mem] = entropy_weights(G[k, t] * D[k, mem], None, self.eta)
                DG = [sum(W[k, v] * D[k, v] for v in self.members[t]) for t in self.active_groups]
                TG = [sum(W[k, v] * self.T[v] for v in self.members[t]) for t in self.active_groups]
                G[k, self.active_groups] = entropy_weights(DG, TG, self.lam)
        return W, G

    def fwsa_step(self, D, n, state, W):
        """w <- (w + q)/2; with the safeguard only when J(q) >= J(w), J(x) = sum x T / sum x a - 1.

        Reading of the safeguard.  Write A(x) = sum_v x_v a_v >= 0 and B(x) = sum_v x_v T_v > 0.
        The step goes to w' = (w+q)/2, so 1 + J(w') = (B(w)+B(q)) / (A(w)+A(q)) is the mediant of
        1+J(w) = B(w)/A(w) and 1+J(q) = B(q)/A(q), and therefore lies between them:
            B(w') A(w) - B(w) A(w') = (B(q) A(w) - B(w) A(q)) / 2.
        Hence J(w') >= J(w)  <=>  B(q) A(w) >= B(w) A(q)  <=>  J(q) >= J(w).  Testing J(q) and
        testing J of the halved step are the SAME rule; the cross-multiplied form below also
        covers A = 0 (J = inf) correctly.
        Monotone: assignment, repair and centre steps can only lower A(w) at fixed w while B(w)
        does not depend on the partition, so J does not fall; an accepted weight step does not
        lower J by the line above; a rejected one leaves J alone.  (Stepping all the way to q
        would be monotone under the same test.)
        Finite: the returned w' keeps w'_v >= w_v/2 > 0 when the start is positive, so A(w') = 0
        only if every a_v of a non-constant feature is 0, in which case the reported objective A/B
        is exactly 0.
        What does NOT follow is finite termination: J may rise for ever by smaller and smaller
        amounts, since w only approaches q.  Once the labels stand still |w-q| halves each time,
        so the tolerance 1e-12 is met after at most 40 further iterations (or at once after a
        rejection, since nothing moves any more).
        """
        A = self.active
        a = D.sum(axis=0)
        b = np.zeros(self.M)
        for v in A:
            if self.incomplete:  # the masses differ between columns: Huygens instead
                b[v] = max(self.T[v] - a[v], 0.0)
                continue
            for k in range(self.K):
                b[v] += n[k] * (state[v][k] - self.column_state[v]) ** 2
        q = fwsa_target(a[A], b[A], self.Ta)
        if q is None:
            return W
        guarded, total = a[A] + self.guard, self.Ta + 2 * self.guard
        if self.guard > 0:
            ratio = (b[A] + self.guard) / guarded
            q = ratio / ratio.sum()
        w = W[0, A]
        if self.safeguard and np.dot(q, total) * np.dot(w, guarded) < np.dot(w, total) * np.dot(
            q, guarded
        ):
            return W
        for k in range(self.K):
            W[k, A] = (w + q) / 2.0
        return W


# ---------------------------------------------------------------- the run


def fit(
    X, algorithm, centers, *, sample_weight=None, max_iter=300, tol=0.0, weights=None, **params
):
    X_all = np.array(X, float)
    C = np.array(centers, float)
    s_all = np.ones(len(X_all)) if sample_weight is None else np.array(sample_weight, float)
    if (
        C.ndim != 2
        or C.shape[1] != X_all.shape[1]
        or s_all.shape != (len(X_all),)
        or np.any(s_all < 0)
    ):
        raise ValueError("shapes")
    rows = np.flatnonzero(s_all > 0)  # a row of zero weight is absent until the final labels
    if len(rows) == 0 or max_iter < 1:
        raise ValueError("no row of positive weight, or max_iter < 1")
    K = len(C)
    P = _Problem(X_all[rows], s_all[rows], K, algorithm, params)
    if P.missing is None and np.isnan(X_all).any():
        raise ValueError("missing cells")
    X, s = P.X, P.s  # s with the factor for missing cells
    state = P.state(C)
    W = P.start_weights(weights)
    G = np.array([P.uniform_group_row() for _ in range(K)]) if algorithm == "fgk" else None

    history, previous, converged, n_relocations = [], None, False, 0
    all_labels, lowest = [], None  # lowest objective of the cycle the run is in
    for it in range(1, max_iter + 1):
        labels, own = P.assign(X, state, W, G)

        for _ in range(K):
            count = [int(np.sum(labels == k)) for k in range(K)]
            mass = [float(np.sum(P.s[labels == k])) for k in range(K)]
            empty = [k for k in range(K) if count[k] == 0]
            if not empty:
                break
            far = -1
            for i in range(len(X)):
                several = count[labels[i]] >= 2 or mass[labels[i]] > 1
                if several and (far < 0 or own[i] > own[far]):
                    far = i
            if far < 0 or own[far] <= 0:
                break
            state = [a.copy() for a in state]
            for v in range(P.M):
                state[v][empty[0]] = P.entity(v, X[far, v])
            if not P.is_global:
                W = W.copy()
                W[empty[0]] = P.uniform_row()
                if G is not None:
                    G = G.copy()
                    G[empty[0]] = P.uniform_group_row()
            n_relocations += 1
            labels, own = P.assign(X, state, W, G)
        unrepaired = any(np.sum(labels == k) == 0 for k in range(K))

        state = cluster_centers(X, s, labels, state, P.columns)
        D = P.dispersions(labels, state)
        n = [float(np.sum(s[labels == k])) for k in range(K)]
        P.update_c(D, it == 1)
        W, G = P.weight_step(D, n, state, W, G)
        history.append(P.objective(labels, state, W, G))
        all_labels.append(labels)
        E = P.effective(W, G)
        part = float(sum(E[k, v] * D[k, v] for k in range(K) for v in range(P.M) if E[k, v] != 0))
        if P.chebyshev:
            part = history[-1]

        if previous is not None:
            old_labels, old_state, old_W, old_G = previous
            same = np.array_equal(labels, old_labels)
            dw = float(np.max(np.abs(W - old_W)))
            if G is not None:
                dw = max(dw, float(np.max(np.abs(G - old_G))))
            still = all(
                np.max(np.abs(state[v] - old_state[v])) <= CENTER_TOL * P.range[v]
                for v in range(P.M)
                if P.range[v] > 0
            )
            converged = same and still and dw <= WEIGHT_TOL
            if tol > 0:
                if P.may_rise() or P.chebyshev:  # the largest term may stay while others fall
                    converged = converged or (same and dw <= tol)
                else:
                    converged = converged or history[-2] - history[-1] <= tol * part
            if P.stops_when_level():
                converged = converged or history[-2] - history[-1] <= LEAST_FALL * abs(part)
            if P.watches_cycles() and not converged:
                # the last such j; found again every iteration, because a centre without any
                # value keeps its place, so that the state may change under equal labels
                for j in range(1, it - 1):
                    if np.array_equal(labels, all_labels[j - 1]):
                        lowest = min(history[j:it])  # iterations j+1 .. it
                if lowest is not None:
                    converged = history[-1] <= lowest + LEAST_FALL * abs(lowest)
            if converged:
                break
        previous = labels, state, W, G

    final_all, _ = P.assign(X_all, state, W, G)
    return Result(
        labels=final_all,
        centers=P.centers(state),
        weights=W,
        group_weights=G,
        objective=P.objective(final_all[rows], state, W, G),
        history=history,
        n_iter=it,
        converged=bool(converged),
        n_relocations=n_relocations,
        unrepaired_empty=bool(unrepaired),
        smoothing_constant=float(P.c),
        dispersion=part,
        frequencies={v: state[v] for v in P.categorical},
    )


# ---------------------------------------------------------------- anomalous patterns


def anomalous_patterns(X, sample_weight=None, *, p=2.0, weighted=False):
    """Patterns in the order of extraction: dicts with center, weights, size (mass), members.

    weighted: the weights of iMWK, with the exponent p; otherwise every weight is 1.
    """
    X_all = np.array(X, float)
    s_all = np.ones(len(X_all)) if sample_weight is None else np.array(sample_weight, float)
    rows = np.flatnonzero(s_all > 0)
    if not p >= 1 or len(rows) == 0 or np.isnan(X_all).any():
        raise ValueError("p < 1, no row of positive weight, or missing cells")
    X, s = X_all[rows], s_all[rows]
    N, M = X.shape
    column = Minkowski(p)
    ref = np.array([column.center(X[:, v], s) for v in range(M)])
    spread = X.max(axis=0) - X.min(axis=0)
    active = [v for v in range(M) if spread[v] > 0] or list(range(M))
    T = np.array([np.sum(s * column.distance(X[:, v], ref[v])) for v in range(M)])
    c = 0.0
    if p < np.inf:
        c = PATTERN_CONSTANT * float(np.mean([spread[v] ** p for v in active]))

    def distance(i, center, w):
        terms = []
        for v in range(M):
            factor = w[v] if p == np.inf else w[v] ** p
            terms.append(factor * column.distance(X[i, v], center[v]))
        return max(terms) if p == np.inf else sum(terms)

    def uniform():
        w = np.zeros(M)
        for v in active:
            w[v] = 1.0 / len(active)
        return w if weighted else np.ones(M)

    def weights_of(members, center):
        if not weighted or p == np.inf:
            return uniform()
        D = [np.sum(s[members] * column.distance(X[members, v], center[v])) + c for v in active]
        w = np.zeros(M)
        w[active] = power_weights(D, T[active], p)
        return w

    def center_of(members):
        return np.array([column.center(X[members, v], s[members]) for v in range(M)])

    def mass(members):
        return float(np.sum(s[members]))

    patterns = []
    remaining = list(range(N))
    anomaly = [distance(i, ref, np.ones(M)) for i in range(N)]
    while remaining:
        first = remaining[0]
        for i in remaining:
            if anomaly[i] > anomaly[first]:
                first = i
        sets = []
        if anomaly[first] == 0:
            members, center = remaining, ref
            w = weights_of(members, center)
        else:
            center, w = X[first], uniform()
            for _ in range(500):
                members = [
                    i for i in remaining if distance(i, center, w) < distance(i, ref, w)
                ] or [first]
                if sets and members == sets[-1]:
                    break
                cycle = sets[sets.index(members) :] if members in sets else []
                if cycle:
                    members = max(cycle, key=mass)  # the first on ties
                center = center_of(members)
                w = weights_of(members, center)
                if cycle:
                    break
                sets.append(members)
        patterns.append(
            {"center": center, "weights": w, "size": mass(members), "members": rows[members]}
        )
        remaining = [i for i in remaining if i not in set(members)]
    return patterns
