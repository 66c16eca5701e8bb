"""
Does it help to know which columns belong together?
===================================================

There are three sources with ten columns each. Each of three clusters of thirty rows is a little
more compact in one source. A single column says little about the clusters, but a whole source says
a lot.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from fwkmeans import EWKMeans, FGKMeans, KMeans
from fwkmeans.plotting import FeatureWeightsDisplay

truth = np.repeat([0, 1, 2], 30)
sources = {"blood": range(10), "image": range(10, 20), "survey": range(20, 30)}
dealt = {name: range(first, 30, 3) for first, name in enumerate(("1st", "2nd", "3rd"))}


def draw(seed):
    """Return a table of 90 rows and 30 columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((90, 30))
    for k, columns in enumerate(sources.values()):
        X[np.ix_(truth == k, columns)] = rng.normal(0.3 + 0.2 * k, 0.2, (30, 10))
    return X


# %%
# We run four algorithms on twelve such tables: K-Means; EW-KM, which weights single columns;
# FG-K-Means with meaningless groups, for which columns are dealt out in turn; and FG-K-Means with
# the sources as groups. ``gamma`` and ``lam`` are 1, which suits these tables. With its automatic
# ``lam``, FG-K-Means is no better than K-Means, as the numbers below show. Agreement is the
# adjusted Rand index (ARI).

models = {
    "K-Means": KMeans(3, random_state=0),
    "EW-KM,\nsingle columns": EWKMeans(3, gamma=1.0, dispersion="sum", random_state=0),
    "FG-K-Means,\ngroups dealt out": FGKMeans(
        3, groups=dealt, lam=1.0, dispersion="sum", random_state=0
    ),
    "FG-K-Means,\ngroups = sources": FGKMeans(
        3, groups=sources, lam=1.0, dispersion="sum", random_state=0
    ),
}
agreement = {
    name: [adjusted_rand_score(truth, model.fit_predict(draw(seed))) for seed in range(12)]
    for name, model in models.items()
}

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=[3, 2]
)
figure.set_label(
    "Left: agreement of four algorithms on twelve tables, as points with their mean; highest "
    "for FG-K-Means with sources as groups. Right: heat map of its group weights, each "
    "cluster has one heavy group."
)
for at, scores in enumerate(agreement.values()):
    left.scatter(np.full(12, at), scores, color="#0072B2", alpha=0.6, s=24)
    left.hlines(np.mean(scores), at - 0.25, at + 0.25, color="#D55E00", linewidth=2.5)
left.set_xticks(range(4), agreement)
left.set(ylabel="agreement with the clusters (ARI)", ylim=(-0.05, 1))
left.set_title("twelve tables, and their mean")
left.spines[["top", "right"]].set_visible(False)
model = models["FG-K-Means,\ngroups = sources"].fit(draw(3))
order = [model.labels_[truth == k][0] for k in range(3)]
FeatureWeightsDisplay.from_predictions(
    model.group_weights_[order],
    feature_names=list(model.groups_),
    sizes=np.bincount(model.labels_)[order],
    weight_name="group weight",
    ax=right,
)
right.set(title="group weights on one of the tables", xlabel="source")
plt.show()

# %%
means = {name.replace("\n", " "): np.mean(scores) for name, scores in agreement.items()}
for name, mean in means.items():
    print(f"{name:29}{mean:.2f}")
automatic = FGKMeans(3, groups=sources, dispersion="sum", random_state=0)
scores = [adjusted_rand_score(truth, automatic.fit_predict(draw(seed))) for seed in range(12)]
print(f"{'the same, automatic lam':29}{np.mean(scores):.2f}")
assert abs(np.mean(scores) - means["K-Means"]) < 0.1
assert means["FG-K-Means, groups = sources"] > means["EW-KM, single columns"] + 0.15
assert means["FG-K-Means, groups dealt out"] < means["EW-KM, single columns"]

# %%
# So: yes, if the groups are real and ``lam`` suits the table. Meaningless groups are worse than no
# groups.
