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
from sklearn.base import clone
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
# It depends on the random starts, so we take the mean of five values of ``random_state``.


def try_out(model, name):
    """Return the mean NMI over five values of random_state."""
    begin = time.perf_counter()
    labels = [clone(model).set_params(random_state=seed).fit_predict(X) for seed in range(5)]
    seconds = (time.perf_counter() - begin) / len(labels)
    found = [normalized_mutual_info_score(topics, each) for each in labels]
    spread = f"{min(found):.2f} to {max(found):.2f}"
    print(f"{name:22} NMI {np.mean(found):.2f} ({spread}), {seconds:.1f} s")
    return np.mean(found)


k = len(MODULES)
try_out(ScikitLearnKMeans(k, n_init=10), "scikit-learn's KMeans")
plain = try_out(KMeans(k, n_init=10), "KMeans")

# %%
# EW-KM has a parameter: the smaller gamma is, the more the weights of words differ, and with a
# large one all words count the same. Here its dispersions are sums over the rows of a cluster, as
# published. In spherical K-Means (CK-Means with one spherical space) only the mix of words counts.

gammas = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
weighted = EWKMeans(k, dispersion="sum")
scores = [try_out(clone(weighted).set_params(gamma=g), f"EW-KM, gamma={g}") for g in gammas]
one_space = np.zeros(X.shape[1], dtype=int)
sphere = ConvexKMeans(k, spaces=one_space, spherical=True, grid=1)
spherical = try_out(sphere, "spherical K-Means")

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
figure.set_label(
    "Agreement with the modules against gamma. The curve of EW-KM goes up and down, mostly a "
    "little above K-Means, highest at gamma = 1; spherical K-Means is above all of it."
)
ax.semilogx(gammas, scores, "o-", label="EW-KM")
ax.axhline(plain, color="C1", label="K-Means")
ax.axhline(spherical, color="C2", linestyle="--", label="spherical K-Means")
ax.set(xlabel="gamma", ylabel="NMI with the modules", ylim=(0.4, 0.8))
ax.legend(loc="lower right")
plt.show()

# %%
# Which words make a cluster? A weight alone does not say: a word that no text of the cluster has
# does not vary in it, and gets a high weight as well, because not to have it is typical. The
# heaviest words are those with a high weight that the cluster does use: weight times center.

model = clone(weighted).set_params(gamma=1.0, random_state=0).fit(X)
heaviness = model.feature_weights_ * model.cluster_centers_
shares = []
for cluster in np.argsort(-np.bincount(model.labels_)):
    own = [topic for topic, label in zip(topics, model.labels_, strict=True) if label == cluster]
    names, counts = np.unique(own, return_counts=True)
    shares.append(counts.max() / len(own))
    heaviest = ", ".join(words[np.argsort(-heaviness[cluster])[:7]])
    print(f"{len(own):4} texts, {shares[-1]:4.0%} {names[counts.argmax()]}: {heaviest}")
assert spherical > plain
assert np.median(shares) > 0.7

# %%
# So: the words that a cluster uses and that have a high weight there. They name most of the
# clusters well; in the mixed ones they are general words. The weights made the clusters
# themselves only a little better, at a gamma that one would have to know, and the random start
# matters at least as much. If only the clusters count, begin with spherical K-Means, which has no
# gamma.
