"""
Do the algorithms agree?
========================

All algorithms of the package on one table, the 178 wines, with their default parameters. None has
seen the classes, which are the first row of the matrix.
"""

import numpy as np
from matplotlib import pyplot as plt

from fwkmeans.datasets import load_uci
from fwkmeans.estimators import ALGORITHMS
from fwkmeans.plotting import PartitionAgreementDisplay
from fwkmeans.preprocessing import RangeStandardizer

wine = load_uci("wine", frame=None)
X = RangeStandardizer().fit_transform(wine.data)
partitions = {"classes": wine.target}
for name, algorithm in ALGORITHMS.items():
    partitions[name] = algorithm(3, random_state=0).fit_predict(X)

# %%
# The number in a cell is the adjusted Rand index of two partitions: 1 if they are the same, 0 if
# they agree as by chance.

figure, ax = plt.subplots(figsize=(8, 6.4), layout="constrained")
display = PartitionAgreementDisplay.from_predictions(partitions, ax=ax)
plt.show()

# %%
# Most of them find about the same three clusters, and those are the classes. AWK, WK-Means and FWSA
# go their own way.

names = list(partitions)
with_classes = dict(zip(names[1:], display.agreement[0, 1:], strict=True))
for name in sorted(with_classes, key=with_classes.get, reverse=True):
    print(f"{name:11} {with_classes[name]:.2f}")
others = (display.agreement.sum(axis=1) - 1 - display.agreement[0]) / (len(names) - 2)
followers = np.corrcoef(others[1:], display.agreement[0, 1:])[0, 1]
print(f"correlation of agreement with each other and with the classes: {followers:.2f}")
assert followers > 0.8
apart = {"AWK", "WK-Means", "FWSA"}
assert all((ari < 0.7) == (name in apart) for name, ari in with_classes.items())

# %%
# So: not all of them. But here those that agree with each other are those that are right, which is
# something one can see without knowing the classes.
