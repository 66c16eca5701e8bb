"""The indices once more, as loops over rows, clusters and pairs."""

import itertools
import math


def distance(a, b, p=2.0):
    apart = [abs(float(x) - float(y)) for x, y in zip(a, b, strict=True)]
    return max(apart) if math.isinf(p) else sum(one**p for one in apart) ** (1 / p)


def clusters(X, labels):
    """Return the rows of each cluster that has any."""
    found = {}
    for row, label in zip(X, labels, strict=True):
        found.setdefault(int(label), []).append([float(x) for x in row])
    return [found[label] for label in sorted(found)]


def mean(rows):
    middle = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    equal = [len(set(column)) == 1 for column in zip(*rows, strict=True)]
    return [rows[0][v] if equal[v] else middle[v] for v in range(len(middle))]


def within(X, labels):
    total = 0.0
    for rows in clusters(X, labels):
        center = mean(rows)
        for row in rows:
            total += sum((x - c) ** 2 for x, c in zip(row, center, strict=True))
    return total


def silhouette(X, labels, p=2.0):
    values = []
    for i, row in enumerate(X):
        own = [j for j in range(len(X)) if labels[j] == labels[i] and j != i]
        if not own:
            values.append(0.0)
            continue
        a = sum(distance(row, X[j], p) for j in own) / len(own)
        means = []
        for other in set(labels) - {labels[i]}:
            members = [j for j in range(len(X)) if labels[j] == other]
            means.append(sum(distance(row, X[j], p) for j in members) / len(members))
        b = min(means)
        values.append(0.0 if max(a, b) == 0 else (b - a) / max(a, b))
    return sum(values) / len(values)


def dunn(X, labels):
    apart, widest = math.inf, 0.0
    for i, j in itertools.combinations(range(len(X)), 2):
        between = distance(X[i], X[j])
        if labels[i] == labels[j]:
            widest = max(widest, between)
        else:
            apart = min(apart, between)
    if widest == 0:
        return math.inf if apart > 0 else math.nan
    return apart / widest


def xie_beni(X, labels):
    centers = [mean(rows) for rows in clusters(X, labels)]
    nearest = min(distance(a, b) ** 2 for a, b in itertools.combinations(centers, 2))
    if nearest == 0:
        return math.inf if within(X, labels) > 0 else math.nan
    return within(X, labels) / (len(X) * nearest)


def calinski_harabasz(X, labels):
    groups, middle = clusters(X, labels), mean([[float(x) for x in row] for row in X])
    between = sum(len(rows) * distance(mean(rows), middle) ** 2 for rows in groups)
    n, k = len(X), len(groups)
    return between / within(X, labels) * (n - k) / (k - 1)


def davies_bouldin(X, labels):
    groups = clusters(X, labels)
    centers = [mean(rows) for rows in groups]
    spread = [
        sum(distance(row, center) for row in rows) / len(rows)
        for rows, center in zip(groups, centers, strict=True)
    ]
    worst = []
    for k in range(len(groups)):
        others = [j for j in range(len(groups)) if j != k]
        worst.append(
            max((spread[k] + spread[j]) / distance(centers[k], centers[j]) for j in others)
        )
    return sum(worst) / len(worst)


def hartigan(X, labels, finer):
    coarse, fine = within(X, labels), within(X, finer)
    left = len(X) - len(set(labels)) - 1
    if fine == 0:
        return 0.0 if coarse == 0 else math.inf
    return (coarse / fine - 1) * left


def adjusted_rand(a, b):
    pairs = list(itertools.combinations(range(len(a)), 2))
    both = sum(a[i] == a[j] and b[i] == b[j] for i, j in pairs)
    in_a, in_b = sum(a[i] == a[j] for i, j in pairs), sum(b[i] == b[j] for i, j in pairs)
    expected, most = in_a * in_b / len(pairs), (in_a + in_b) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)
