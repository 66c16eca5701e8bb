"""
What does the Minkowski exponent do to the shape of clusters?
=============================================================

iMWK-Means measures distance by the p-th powers of differences, multiplied by the p-th powers of
weights. Points at the same distance from a center form a diamond for p = 1, an ellipse for p = 2,
and nearly a box for a large p.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from fwkmeans import IMWKMeans
from fwkmeans.plotting import ClusterMapDisplay
from fwkmeans.preprocessing import RangeStandardizer

cube = np.repeat([0, 1], 150)


def draw_cubes(n_features, shift, draw):
    """Return the rows of two uniform cubes, the second moved by `shift` along every column."""
    rows = np.random.default_rng(draw).uniform(-1, 1, (300, n_features))
    return RangeStandardizer().fit_transform(rows + shift * cube[:, np.newaxis])


# %%
# The picture shows two squares, and the shapes of the clusters for three values of p. Half of the
# rows of a cluster are inside its shape.

squares = draw_cubes(2, 1.6, draw=0)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
figure.set_label(
    "The same two overlapping squares of points three times, with the outline of each "
    "cluster: nearly diamonds for p = 1.1, ellipses for p = 2, nearly boxes for p = 8."
)
for p, ax in zip((1.1, 2, 8), axes, strict=True):
    model = IMWKMeans(2, p=p, smoothing="frozen").fit(squares)
    ClusterMapDisplay.from_estimator(model, squares, features=(0, 1), ax=ax, legend=False)
    ax.set(title=f"p = {p:g}", xlabel="column 0", ylabel="column 1" if p < 2 else "")
plt.show()

# %%
# Which p suits cubes? Here are two cubes in four columns that overlap in a corner. The numbers are
# adjusted Rand indices of clusters and cubes, averaged over three draws.

agreement = {
    p: np.mean(
        [
            adjusted_rand_score(cube, IMWKMeans(2, p=p).fit_predict(draw_cubes(4, 1.0, draw)))
            for draw in range(3)
        ]
    )
    for p in (1.5, 2, 4)
}
for p, ari in agreement.items():
    print(f"p = {p:3}: {ari:.2f}")
assert agreement[1.5] < agreement[2] < agreement[4]

# %%
# So: p determines the shape of the clusters. Box-shaped clusters need a large p.
