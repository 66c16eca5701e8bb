"""
Which columns are noise?
========================

The table has four measurements of flowers. Next to each we add a column of random numbers between
its smallest and largest value. Nobody tells the algorithm which columns are random.
"""

from matplotlib import pyplot as plt

from fwkmeans import WKMeans
from fwkmeans.datasets import add_noise_features, load_uci
from fwkmeans.plotting import FeatureWeightsDisplay
from fwkmeans.preprocessing import RangeStandardizer

table = add_noise_features(load_uci("iris").data, random_state=1)
X = RangeStandardizer().set_output(transform="pandas").fit_transform(table)
print(f"{X.shape[0]} rows, {X.shape[1]} columns")

# %%
# WK-Means has one weight for each column. A column in which the clusters are compact gets a large
# weight. The exponent beta controls how large: close to 1, the best column takes all the weight,
# and a large beta makes the weights equal.

betas = [1.5, 2, 4]
models = [WKMeans(3, beta=beta, guard=0, n_init=50, random_state=0).fit(X) for beta in betas]
weights = [model.feature_weights_[0] for model in models]
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
figure.set_label(
    "Heat map of eight feature weights for three values of beta. Petal length and width are "
    "heaviest, then the sepals; the four noise columns are last."
)
names = [name.replace("_", " ") for name in X.columns]
FeatureWeightsDisplay.from_predictions(weights, feature_names=names, ax=ax)
ax.set_yticks(range(3), [f"beta = {beta:g}" for beta in betas])
ax.set_ylabel("")
plt.show()

# %%
# For all three values of beta, the four heaviest columns are the measurements:

for beta, weight in zip(betas, weights, strict=True):
    print(f"beta = {beta:g}: the four noise columns share {weight[4:].sum():.0%} of the weight")
    assert sorted(weight.argsort()[-4:]) == [0, 1, 2, 3]
assert weights[1][4:].sum() < 0.1

# %%
# So: the columns with the smallest weights are the noise. The gap between them and the others is
# easiest to see with a small beta.
