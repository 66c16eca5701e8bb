"""Slow, direct reference implementation of the feature-weighted K-Means family.

Independent of the package: it imports nothing from it and was written from the specification only.
Every formula is evaluated literally, in float64, with loops over clusters and features.

Public: ``fit`` -> ``Result``; building blocks for tests of single steps: ``power_weights``,
``entropy_weights``, ``vertex_weights``, ``fwsa_target``, ``assign``, ``cluster_centers``,
``dispersions``, ``total_scatter``.

Algorithms and parameters (defaults in brackets)

* ``"kmeans"``
* ``"awk"``   beta [2.0], smoothing [0.0]: number c (outside, D + c) | "frozen" | "refresh" |
  "inside"
* ``"wk"``    beta [2.0], weights_mode ["global"] | "cluster", smoothing ["frozen"] as above
  (ignored when global)
* ``"ewk"``   gamma ["auto"], dispersion ["sum"] | "mean"
* ``"fwsa"``  safeguard [False]
* ``"fgk"``   groups (M labels 0..T-1), lam ["auto"], eta ["auto"]

One iteration: assign, repair empty clusters, centres, (constant c), weights, objective -> history.
"""

from dataclasses import dataclass

import numpy as np

ZERO = 1e-12  # a dispersion D_v is "zero" when D_v <= ZERO * T_v
TIE = 1e-12  # relative tolerance for equal dispersions in the vertex rule
CENTER_TOL = 1e-13  # tol=0: centres stand still, relative to the feature's range
WEIGHT_TOL = 1e-12  # tol=0: weights stand still
C_FALLBACK = 0.01  # smoothing constant when the mean dispersion is 0


@dataclass
class Result:
    labels: (
        np.ndarray
    )  # (N,) final assignment of ALL rows with the returned centres and weights (no repair)
    centers: np.ndarray  # (K, M)
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
    dispersion: float = 0.0  # sum of effective weight times D after the last weight step


# ---------------------------------------------------------------- single steps


def xlogx(x):
    return 0.0 if x == 0.0 else float(x * np.log(x))


def vertex_weights(D, T):
    """All weight on the smallest dispersion; zero ones, else relative ties, share it equally."""
    D, T = np.asarray(D, float), np.asarray(T, float)
    chosen = [v for v in range(len(D)) if D[v] <= ZERO * T[v]]
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
        zero = [v for v in range(m) if D[v] <= ZERO * T[v]]
        if zero:
            w = np.zeros(m)
            for v in zero:
                w[v] = 1.0 / len(zero)
            return w
        base = D
    else:
        base = np.array([max(D[v], ZERO * T[v]) for v in range(m)])
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


def fwsa_target(a, b, T):
    """q of FWSA, or None when every b is zero (then the weights are kept)."""
    m = len(a)
    if all(b[v] <= ZERO * T[v] for v in range(m)):
        return None
    zero = [v for v in range(m) if a[v] <= ZERO * T[v]]
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


def total_scatter(X, s):
    T = np.zeros(X.shape[1])
    for v in range(X.shape[1]):
        mean = _weighted_mean(X[:, v], s)
        T[v] = np.sum(s * (X[:, v] - mean) ** 2)
    return T


def assign(X, C, E, const):
    """Labels (lowest index on ties), each row's dissimilarity to its own centre (no constant)."""
    N, K, M = X.shape[0], C.shape[0], C.shape[1]
    best = np.full(N, np.inf)
    labels = np.full(N, -1)
    own = np.zeros(N)
    for k in range(K):
        d = np.zeros(N)
        for v in range(M):
            if E[k, v] != 0:
                d += E[k, v] * (X[:, v] - C[k, v]) ** 2
        cost = d + const[k]
        for i in range(N):
            if cost[i] < best[i]:
                best[i], labels[i], own[i] = cost[i], k, d[i]
    return labels, own


def cluster_centers(X, s, labels, old):
    C = old.copy()
    for k in range(old.shape[0]):
        rows = np.flatnonzero(labels == k)
        if len(rows) == 0:
            continue  # an empty cluster keeps its centre
        for v in range(X.shape[1]):
            C[k, v] = _weighted_mean(X[rows, v], s[rows])
    return C


def dispersions(X, s, labels, C):
    D = np.zeros_like(C)
    for k in range(C.shape[0]):
        rows = np.flatnonzero(labels == k)
        for v in range(C.shape[1]):
            D[k, v] = np.sum(s[rows] * (X[rows, v] - C[k, v]) ** 2)
    return D


# ---------------------------------------------------------------- one problem


class _Problem:
    def __init__(self, X, s, K, algorithm, params):
        self.X, self.s, self.K, self.M = X, s, K, X.shape[1]
        self.algorithm = algorithm
        self.total = float(np.sum(s))
        self.range = X.max(axis=0) - X.min(axis=0)
        self.T = total_scatter(X, s)
        self.T[self.range == 0] = 0.0
        self.mean = np.array([_weighted_mean(X[:, v], s) for v in range(self.M)])
        self.all_constant = bool(np.all(self.range == 0))
        self.active = [v for v in range(self.M) if self.all_constant or self.range[v] > 0]
        self.Ta = self.T[self.active]
        self.c = 0.0
        self.inside = False
        self.smoothing = 0.0
        p = dict(params)
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
        elif algorithm == "ewk":
            self.is_global = False
            self.dispersion = p.pop("dispersion", "sum")
            if self.dispersion not in ("sum", "mean"):
                raise ValueError("dispersion")
            gamma = p.pop("gamma", "auto")
            if isinstance(gamma, str):
                per = self.K if self.dispersion == "sum" else self.total
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
        if p:
            raise TypeError(f"unknown parameters {sorted(p)} for {algorithm}")

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
            or (self.algorithm in ("awk", "wk") and self.beta == 0)
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
        """The factor of (y - c)**2 in the objective."""
        E = np.zeros((self.K, self.M))
        if self.algorithm == "kmeans":
            return np.ones((self.K, self.M))
        for k in range(self.K):
            for v in self.active:
                if self.algorithm in ("awk", "wk"):
                    if self.beta == 0:
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
        for k in range(self.K):
            if self.algorithm in ("awk", "wk") and not self.inside and self.c > 0:
                total += self.c * self.effective(W, G)[k, self.active].sum()
            elif self.algorithm == "ewk" and self.dispersion == "sum":
                total += self.gamma * sum(xlogx(W[k, v]) for v in self.active)
            elif self.algorithm == "fgk":
                total += self.lam * sum(xlogx(G[k, t]) for t in range(self.n_groups))
                total += self.eta * sum(xlogx(W[k, v]) for v in self.active)
        return total

    def objective(self, labels, C, W, G):
        if self.algorithm == "fwsa":
            D = dispersions(self.X, self.s, labels, C)
            below = sum(W[0, v] * self.T[v] for v in self.active)
            above = sum(W[0, v] * D[k, v] for k in range(self.K) for v in self.active)
            return 0.0 if below == 0 else float(above / below)
        E, const = self.effective(W, G), self.constant(W, G)
        total = 0.0
        for k in range(self.K):
            rows = np.flatnonzero(labels == k)
            for v in range(self.M):
                if E[k, v] != 0:
                    total += float(
                        np.sum(self.s[rows] * E[k, v] * (self.X[rows, v] - C[k, v]) ** 2)
                    )
            total += float(np.sum(self.s[rows])) * const[k]
        return float(total + self.penalty(W, G))

    def update_c(self, D, first):
        if self.smoothing == "refresh" or (self.smoothing == "frozen" and first):
            mean = float(np.mean([D[k, v] for k in range(self.K) for v in self.active]))
            self.c = mean if mean > 0 else C_FALLBACK

    def weight_step(self, D, n, C, W, G):
        W, A = W.copy(), self.active
        if self.algorithm == "kmeans" or self.all_constant:
            return np.array([self.uniform_row() for _ in range(self.K)]), (
                None if G is None else np.array([self.uniform_group_row() for _ in range(self.K)])
            )
        if self.algorithm == "fwsa":
            return self.fwsa_step(D, n, C, W), None
        if self.is_global:  # wk
            w = power_weights(D[:, A].sum(axis=0), self.Ta, self.beta)
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
            elif self.algorithm in ("awk", "wk"):
                c = n[k] * self.c if self.inside else self.c
                W[k, A] = power_weights(D[k, A] + c, self.Ta, self.beta)
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

    def fwsa_step(self, D, n, C, W):
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
        b = np.zeros(self.M)
        for k in range(self.K):
            for v in A:
                b[v] += n[k] * (C[k, v] - self.mean[v]) ** 2
        a = D.sum(axis=0)
        q = fwsa_target(a[A], b[A], self.Ta)
        if q is None:
            return W
        w = W[0, A]
        if self.safeguard and np.dot(q, self.Ta) * np.dot(w, a[A]) < np.dot(w, self.Ta) * np.dot(
            q, a[A]
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
    X, s = X_all[rows], s_all[rows]
    K = len(C)
    P = _Problem(X, s, K, algorithm, params)
    W = P.start_weights(weights)
    G = np.array([P.uniform_group_row() for _ in range(K)]) if algorithm == "fgk" else None

    history, previous, converged, n_relocations = [], None, False, 0
    for it in range(1, max_iter + 1):
        labels, own = assign(X, C, P.effective(W, G), P.constant(W, G))

        for _ in range(K):
            count = [int(np.sum(labels == k)) for k in range(K)]
            empty = [k for k in range(K) if count[k] == 0]
            if not empty:
                break
            far = -1
            for i in range(len(X)):
                if count[labels[i]] >= 2 and (far < 0 or own[i] > own[far]):
                    far = i
            if far < 0 or own[far] <= 0:
                break
            C = C.copy()
            C[empty[0]] = X[far]
            if not P.is_global:
                W = W.copy()
                W[empty[0]] = P.uniform_row()
                if G is not None:
                    G = G.copy()
                    G[empty[0]] = P.uniform_group_row()
            n_relocations += 1
            labels, own = assign(X, C, P.effective(W, G), P.constant(W, G))
        unrepaired = any(np.sum(labels == k) == 0 for k in range(K))

        C = cluster_centers(X, s, labels, C)
        D = dispersions(X, s, labels, C)
        n = [float(np.sum(s[labels == k])) for k in range(K)]
        P.update_c(D, it == 1)
        W, G = P.weight_step(D, n, C, W, G)
        history.append(P.objective(labels, C, W, G))
        E = P.effective(W, G)
        part = float(sum(E[k, v] * D[k, v] for k in range(K) for v in range(P.M) if E[k, v] != 0))

        if previous is not None:
            old_labels, old_C, old_W, old_G = previous
            same = np.array_equal(labels, old_labels)
            dw = float(np.max(np.abs(W - old_W)))
            if G is not None:
                dw = max(dw, float(np.max(np.abs(G - old_G))))
            still = all(
                np.max(np.abs(C[:, v] - old_C[:, v])) <= CENTER_TOL * P.range[v]
                for v in range(P.M)
                if P.range[v] > 0
            )
            converged = same and still and dw <= WEIGHT_TOL
            if tol > 0:
                if algorithm == "fwsa" or P.smoothing == "refresh":
                    converged = converged or (same and dw <= tol)
                else:
                    converged = converged or history[-2] - history[-1] <= tol * part
            if converged:
                break
        previous = labels, C, W, G

    final_all, _ = assign(X_all, C, P.effective(W, G), P.constant(W, G))
    return Result(
        labels=final_all,
        centers=C,
        weights=W,
        group_weights=G,
        objective=P.objective(final_all[rows], C, W, G),
        history=history,
        n_iter=it,
        converged=bool(converged),
        n_relocations=n_relocations,
        unrepaired_empty=bool(unrepaired),
        smoothing_constant=float(P.c),
        dispersion=part,
    )
