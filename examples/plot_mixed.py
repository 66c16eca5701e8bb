"""
How do I cluster numbers and categories together?
=================================================

Patients of a heart clinic: six numbers and seven categories, and a few cells that we delete. No
encoding by hand: ``TableEncoder`` scales the numbers and leaves categories and gaps as they are,
and IK-P takes both.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from fwkmeans import IKPrototypes
from fwkmeans.datasets import load_uci
from fwkmeans.plotting import ClusterProfilesDisplay
from fwkmeans.preprocessing import TableEncoder

heart = load_uci("heart")
table = heart.data.mask(np.random.default_rng(0).random(heart.data.shape) < 0.03)
print(table.iloc[:3, :5])

# %%
# The columns of type "category" are found by themselves. ``zero="huang"`` keeps a column of two
# values, along which any table can be cut cleanly, from taking all the weight.

model = make_pipeline(
    TableEncoder(categorical="keep", impute="keep"),
    IKPrototypes(2, zero="huang", missing="ignore", random_state=0),
)
labels = model.fit_predict(table)
print(f"{table.isna().sum().sum()} cells missing, clusters of {np.bincount(labels).tolist()} rows")

# %%
# What the clusters are like, in the units of the table. Numbers are means, categories the most
# frequent one and its share; colors compare with all rows.

figure, ax = plt.subplots(figsize=(8, 5.6), layout="constrained")
ClusterProfilesDisplay.from_estimator(model, table, ax=ax)
plt.show()

# %%
# The clusters agree with the diagnosis, which the model has not seen, far better than chance but
# far from perfectly:

ari = adjusted_rand_score(heart.target, labels)
print(f"adjusted Rand index with the diagnosis: {ari:.2f}")
frequencies = model[-1].category_frequencies_["exercise_induced_angina"]["1"]
print("share with angina after exercise:", frequencies.round(2))
assert 0.15 < ari < 0.5
assert np.ptp(frequencies) > 0.2

# %%
# So: hand the table over as it is, to an algorithm that takes categories.
