"""
Is a million rows too many?
===========================

A table that does not fit into memory can stay in its file: wherever an estimator accepts rows, it
also accepts the path of a ``.npy`` file, which it reads block by block. Alternatively you can
cluster a sample of the rows. How much do you lose with a sample?
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from fwkmeans import WKMeans

N_ROWS, N_COLUMNS, N_NOISE = 1_000_000, 6, 4
rng = np.random.default_rng(0)
cluster = rng.integers(5, size=N_ROWS)
table = np.empty((N_ROWS, N_COLUMNS + N_NOISE), dtype=np.float32)
table[:, :N_COLUMNS] = rng.normal(0, 1.2, (5, N_COLUMNS))[cluster]
table[:, :N_COLUMNS] += rng.standard_normal((N_ROWS, N_COLUMNS), dtype=np.float32)
table[:, N_COLUMNS:] = 12 * rng.random((N_ROWS, N_NOISE), dtype=np.float32) - 6
table /= np.ptp(table, axis=0)

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.npy"
np.save(path, table)
print(f"{path.name}: {path.stat().st_size / 2**20:.0f} MB")

# %%
# First we cluster the whole file, with two starts. It is read block by block in every iteration.

model = WKMeans(5, beta=4, guard=0, n_init=2, random_state=0)
whole = clone(model).fit(path)
print(f"{whole.labels_.size} rows in {whole.n_iter_} iterations")

# %%
# Then we cluster samples of it. Each model labels all rows, and we compute the adjusted Rand index
# (ARI) with the model of the whole file (on every twentieth row, to save time).

sizes = [100, 300, 1000, 3000, 10_000, 30_000]
agreement = np.empty((len(sizes), 3))
for at, size in enumerate(sizes):
    for draw in range(3):
        some = np.random.default_rng(draw).choice(N_ROWS, size, replace=False)
        labels = clone(model).fit(table[some]).predict(table[::20])
        agreement[at, draw] = adjusted_rand_score(whole.labels_[::20], labels)

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
figure.set_label(
    "Agreement with the model of the whole file against the number of rows in a sample, from 100 "
    "to 30 000. It rises from about one half to nearly 1 at ten thousand."
)
ax.plot(sizes, agreement.mean(axis=1), color="#0072B2", marker="o", label="mean of three samples")
ax.plot(np.repeat(sizes, 3), agreement.ravel(), ".", color="0.6", zorder=0, label="each sample")
ax.set(
    xscale="log",
    xlabel="rows in the sample",
    ylabel="agreement with the model\nof the whole file (ARI)",
    ylim=(0, 1.02),
)
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
folder.cleanup()
means = agreement.mean(axis=1)
for size, mean in zip(sizes, means, strict=True):
    print(f"{size:6} rows: {mean:.2f}")
found = adjusted_rand_score(cluster[::20], whole.labels_[::20])
print(f"whole file, agreement with the clusters it was made of: {found:.2f}")
assert found > 0.65
assert means[0] < 0.75
assert means[-2:].min() > 0.95

# %%
# So: no, a million rows are no problem, in memory or in a file. But you do not need them all if all
# clusters are large: a sample of about ten thousand rows gives nearly the same clusters.
