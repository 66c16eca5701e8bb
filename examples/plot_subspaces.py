"""
Do clusters differ in which features matter?
============================================

There are three clusters of 100 rows. Each is compact in two of six columns and spread over the
whole range in the other four. No column is useful for all clusters, so one weight per column cannot
help.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from fwkmeans import AWKMeans, KMeans, WKMeans
from fwkmeans.plotting import FeatureWeightsDisplay

rng = np.random.default_rng(0)
truth = np.repeat([0, 1, 2], 100)
X = rng.random((300, 6))
for k, place in enumerate([(0.25, 0.25), (0.75, 0.25), (0.5, 0.75)]):
    X[truth == k, 2 * k : 2 * k + 2] = rng.normal(place, 0.04, (100, 2))

# %%
# On the left is the table: columns 0 and 1 against each other, then 2 and 3, then 4 and 5. Each
# pair shows only one cluster. On the right are the weights that AWK found. It has a weight for each
# feature in each cluster.

model = AWKMeans(3, beta=2, guard=0, random_state=0).fit(X)
figure = plt.figure(figsize=(11, 3.2), layout="constrained")
figure.set_label(
    "Three scatter plots of two columns each; in each of them one of three clusters is "
    "compact and the others are spread out. Right: heat map in which each cluster has weight "
    "on its two columns only."
)
left, right = figure.subfigures(1, 2, width_ratios=[3, 1.7])
colors = ("#0072B2", "#D55E00", "#009E73")
for pair, ax in enumerate(left.subplots(1, 3, sharex=True, sharey=True)):
    for k, color in enumerate(colors):
        rows = X[truth == k]
        ax.scatter(*rows[:, 2 * pair : 2 * pair + 2].T, s=8, color=color, marker="os^"[k])
    ax.set(xlabel=f"column {2 * pair}", ylabel=f"column {2 * pair + 1}")
display = FeatureWeightsDisplay.from_estimator(model, ax=right.subplots())
display.ax_.set(title="weights learned by AWK", xlabel="column")
plt.show()

# %%
# Every cluster gives nearly all of its weight to the two columns in which it was generated. With
# these weights the clusters are found:

agreement = {}
for each in (KMeans(3, random_state=0), WKMeans(3, beta=2, guard=0, random_state=0), model):
    agreement[type(each).__name__] = adjusted_rand_score(truth, each.fit_predict(X))
for name, ari in agreement.items():
    print(f"{name:9}{ari:.2f}")
assert agreement["AWKMeans"] > 0.9
assert max(agreement["KMeans"], agreement["WKMeans"]) < 0.25
assert (np.sort(model.feature_weights_, axis=1)[:, -2:].sum(axis=1) > 0.9).all()

# %%
# So: yes, they can. If you suspect this, use an algorithm with weights in each cluster, and compare
# the weights of the clusters.
