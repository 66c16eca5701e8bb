"""
Can the number of clusters be found?
====================================

An anomalous pattern is the set of rows that are closer to an outlying row than to the center of the
table. Patterns are removed one after the other until no row is left, and those with enough rows
start the clusters. This gives a number of clusters without asking for one. Is it the right one?
"""

import numpy as np
from matplotlib import pyplot as plt

from fwkmeans import IMWKMeans
from fwkmeans.datasets import load_uci, make_survey_gaussians
from fwkmeans.preprocessing import RangeStandardizer

wine = load_uci("wine", as_frame=False)
iris = load_uci("iris", as_frame=False)
gaussians, parts = make_survey_gaussians(500, 10, 3, random_state=0)
tables = {
    "wine (3 classes)": (wine.data, 3),
    "iris (3 classes)": (iris.data, 3),
    "Gaussian clusters (3 of them)": (gaussians, 3),
}
shares = np.array([0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2])

# %%
# One choice remains: how many rows a pattern must have. The curves show how many clusters
# iMWK-Means with p = 2 finds if a pattern must have a given share of the rows.

found = {}
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
figure.set_label(
    "Number of clusters found against the rows that a pattern must have, for wine, iris and "
    "Gaussian clusters, with a dotted line at 3. Numbers fall as patterns must be larger."
)
for (name, (rows, _)), color, marker in zip(
    tables.items(), ("#0072B2", "#D55E00", "#009E73"), "os^", strict=True
):
    X = RangeStandardizer().fit_transform(rows)
    models = [IMWKMeans(None, min_pattern_size=share * len(X)).fit(X) for share in shares]
    found[name] = [model.n_clusters_ for model in models]
    ax.plot(100 * shares, found[name], color=color, marker=marker, label=name)
ax.axhline(3, color="0.7", linestyle=":", zorder=0)
ax.set(
    xlabel="rows that a pattern must have (% of the table)",
    ylabel="clusters found",
    ylim=(0, None),
)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
for name, numbers in found.items():
    print(f"{name:30}", *numbers)
right = {name: np.mean(np.array(numbers) == 3) for name, numbers in found.items()}
assert right["wine (3 classes)"] > 0.5
assert right["iris (3 classes)"] < 0.5
assert found["Gaussian clusters (3 of them)"][0] > 4

# %%
# So: the patterns narrow the number down to a few candidates, and the smallest pattern that counts
# decides among them. Take the result as a suggestion.
