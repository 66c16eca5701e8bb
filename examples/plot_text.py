"""
Which words make a topic?
=========================

Texts as rows of TF-IDF numbers are sparse: there are thousands of columns, and a text has few of
the words. The estimators use such matrices as they are. EW-KM was made for them: it learns in every
cluster which words count. The texts of this example are the docstrings of SciPy and pandas, and
their topics are the modules they come from, which no algorithm gets to see.
"""

import importlib
import inspect
import time

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans as ScikitLearnKMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

from fwkmeans import ConvexKMeans, EWKMeans, KMeans

MODULES = {
    "scipy.stats": "statistics",
    "scipy.signal": "signals",
    "scipy.ndimage": "images",
    "scipy.optimize": "optimization",
    "scipy.interpolate": "interpolation",
    "scipy.sparse": "sparse matrices",
    "scipy.special": "special functions",
    "pandas": "frames",
}
topic_of = {}
for name, topic in MODULES.items():
    package = name.partition(".")[0]
    for member, thing in inspect.getmembers(importlib.import_module(name)):
        text = inspect.getdoc(thing) or ""
        own = str(getattr(thing, "__module__", None)).startswith(package)
        if own and not member.startswith("_") and len(text) > 300 and not inspect.ismodule(thing):
            topic_of.setdefault(text, topic)
texts, topics = list(topic_of), list(topic_of.values())

vectorizer = TfidfVectorizer(
    stop_words="english", min_df=5, max_df=0.3, token_pattern="[A-Za-z]{3,}", sublinear_tf=True
)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} of them in a text")

# %%
# K-Means first, by scikit-learn and by this package, from ten starts each. The normalized mutual
# information (NMI) is 1 if the clusters are the topics, and 0 if they have nothing to do with them.


def try_out(model, name):
    begin = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - begin
    nmi = normalized_mutual_info_score(topics, model.labels_)
    print(f"{name:28} NMI {nmi:.2f}, {seconds:.1f} s")
    return model, nmi


k = len(MODULES)
_, peer = try_out(ScikitLearnKMeans(k, n_init=10, random_state=0), "scikit-learn's KMeans")
try_out(KMeans(k, n_init=10, random_state=0), "KMeans")

# %%
# EW-KM has a parameter: with a small gamma few words of a cluster count, with a large one all count
# the same. In spherical K-Means (CK-Means with one spherical space) only the mix of words counts.

gammas = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
found = [try_out(EWKMeans(k, gamma=g, random_state=0), f"EW-KM, gamma={g}") for g in gammas]
one_space = np.zeros(X.shape[1], dtype=int)
_, spherical = try_out(
    ConvexKMeans(k, spaces=one_space, spherical=True, grid=1, random_state=0), "spherical K-Means"
)

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.semilogx(gammas, [nmi for _, nmi in found], "o-", label="EW-KM")
ax.axhline(peer, color="C1", label="K-Means")
ax.axhline(spherical, color="C2", linestyle="--", label="spherical K-Means")
ax.set(xlabel="gamma", ylabel="NMI with the modules", ylim=(0.4, 0.8))
ax.legend(loc="lower right")
plt.show()

# %%
# Which words make a cluster? A weight alone does not say: a word that no text of the cluster has
# does not vary in it, and gets a high weight as well, because not to have it is typical. The
# heaviest words are those with a high weight that the cluster does use: weight times center.

model, _ = found[gammas.index(1.0)]
heaviness = model.feature_weights_ * model.cluster_centers_
for cluster in np.argsort(-np.bincount(model.labels_)):
    own = [topic for topic, label in zip(topics, model.labels_, strict=True) if label == cluster]
    names, counts = np.unique(own, return_counts=True)
    heaviest = ", ".join(words[np.argsort(-heaviness[cluster])[:7]])
    share = f"{counts.max() / len(own):4.0%} {names[counts.argmax()]}"
    print(f"{len(own):4} texts, {share}: {heaviest}")
