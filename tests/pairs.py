"""SYNCLUS by brute force: every sum runs over all pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np


class Pairs:
    """All distances of a small table; `s` are the weights of the rows."""

    def __init__(self, X: Any, labels: Any, groups: Any, omega: Any, s: Any = None) -> None:
        n_rows = len(X)
        self.s = np.ones(n_rows) if s is None else np.asarray(s, dtype=float)
        self.weight = np.outer(self.s, self.s)
        self.groups = np.asarray(groups)
        self.omega = np.asarray(omega, dtype=float) / np.sum(omega)
        self.squares = (X[:, None] - X[None]) ** 2
        self.a = np.zeros((n_rows, n_rows))
        for k in np.unique(np.asarray(labels)[self.s > 0]):
            inside = np.asarray(labels) == k
            self.a[np.ix_(inside, inside)] = 1 / self.s[inside].sum()

    def gram(self) -> Any:
        return np.einsum("ij,iju,ijv->uv", self.weight, self.squares, self.squares)

    def distances(self, w: Any) -> list[Any]:
        return [
            (self.squares * np.where(self.groups == t, w, 0.0)).sum(axis=-1)
            for t in range(len(self.omega))
        ]

    def mean_distance(self, w: Any) -> Any:
        return sum(o * d for o, d in zip(self.omega, self.distances(w), strict=True))

    def line(self, w: Any) -> Any:
        """Return alpha and beta of the weighted regression of all distances."""
        used = self.weight.ravel() > 0
        root = np.sqrt(self.weight.ravel()[used])
        return np.polyfit(self.a.ravel()[used], self.mean_distance(w).ravel()[used], 1, w=root)

    def centre(self, values: Any) -> Any:
        return values - (self.weight * values).sum() / self.weight.sum()

    def stress(self, w: Any, alpha: float, beta: float, centred: bool = False) -> float:
        delta = alpha * self.a + beta
        distances = self.distances(w)
        if centred:
            delta, distances = self.centre(delta), [self.centre(d) for d in distances]
        residuals = (
            o * (self.weight * (delta - d) ** 2).sum()
            for o, d in zip(self.omega, distances, strict=True)
        )
        return float(sum(residuals) / (self.weight * delta**2).sum())
