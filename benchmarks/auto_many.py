"""AutoKMeans on the tables that pages about clustering show: many clusters, odd shapes, curves.

For each table: its number of clusters, and the ARI of K-Means (z-scores, lowest inertia of 20
starts, the number given), of the Gaussian mixture whose covariance type and number (up to 60) have
the best BIC, of a full one with the number given (shapes only), and of AutoKMeans with and without
the number; then what must hold of them all, and whether it does. The tables are those of
``tests/textbook_tables.py``. The peers are slow, so what they reach is kept in a file.

    python benchmarks/auto_many.py                  # all, some ten minutes
    python benchmarks/auto_many.py --only d31 "s[1-4]"
    python benchmarks/auto_many.py --every 4        # a quarter of them
    python benchmarks/auto_many.py --peers          # only what is missing of the peers
"""

import argparse
import hashlib
import json
import os
import re
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fwkmeans import AutoKMeans

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from textbook_tables import TABLES, made

warnings.simplefilter("ignore")
KEPT = Path(__file__).parent / "results" / "auto_many.json"
STARTS, MOST_CLUSTERS, MOST_ROWS = 20, 60, 5000
#: Columns from which on the search for a mixture ends after so many numbers in vain.
WIDE, PATIENCE = 10, 10
#: What K-Means reaches on a table whose clusters are clear.
CLEAR = 0.95


def n_parameters(kind, n, m):
    full = m * (m + 1) // 2
    return n * (m + 1) + {"full": n * full, "tied": full, "diag": n * m, "spherical": n}[kind]


def mixture_by_criterion(Z):
    """Return the labels of the Gaussian mixture of best BIC, fitted to at most `MOST_ROWS` rows."""
    rows = Z
    if len(Z) > MOST_ROWS:
        rows = Z[np.random.default_rng(0).choice(len(Z), MOST_ROWS, replace=False)]
    best = (np.inf, None)
    for kind in ("full", "tied", "diag", "spherical"):
        tried = {}

        def score(n, kind=kind, tried=tried):
            if n not in tried and 1 <= n <= min(MOST_CLUSTERS, len(rows) // 3):
                if n > 1 and n_parameters(kind, n, rows.shape[1]) > rows.size / 2:
                    return
                model = GaussianMixture(n, covariance_type=kind, reg_covar=1e-5, random_state=0)
                tried[n] = (model.fit(rows).bic(rows), model)

        for n in (*range(1, 13), *range(14, 31, 2), *range(33, 61, 3)):
            score(n)
            best_yet = min(tried, key=lambda n: tried[n][0])
            if rows.shape[1] >= WIDE and n >= best_yet + PATIENCE:
                break  # in so many columns every cluster pays alone
        for _ in range(2):  # and what lies beside the best
            n = min(tried, key=lambda n: tried[n][0])
            for beside in (n - 2, n - 1, n + 1, n + 2):
                score(beside)
        best = min(best, min(tried.values(), key=lambda one: one[0]), key=lambda one: one[0])
    return best[1].predict(Z)


def peers(table):
    """Return what the others reach on a table."""
    Z = (table.rows - table.rows.mean(axis=0)) / np.maximum(table.rows.std(axis=0), 1e-300)
    k = table.n_clusters
    if k == 1:
        return {"kmeans": np.nan}
    kmeans = KMeans(k, n_init=STARTS, random_state=0).fit(Z).labels_
    found = {"kmeans": adjusted_rand_score(table.classes, kmeans)}
    if table.kind == "many":
        labels = mixture_by_criterion(Z)
        found["mixture"] = adjusted_rand_score(table.classes, labels)
        found["mixture_k"] = len(np.unique(labels))
    if table.kind == "shapes":
        full = GaussianMixture(k, n_init=5, random_state=0, reg_covar=1e-5).fit_predict(Z)
        found["full"] = adjusted_rand_score(table.classes, full)
    return found


def known(table, kept):
    """Return what the others reach on a table, computed once."""
    digest = hashlib.sha256(table.rows.tobytes() + table.classes.tobytes()).hexdigest()[:16]
    key = f"{table.name} {digest}"  # another draw has other rows
    if key not in kept:
        kept[key] = peers(table)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept, indent=0))
    return kept[key]


def measured(table, kept):
    """Return a row of results."""
    row = {"name": table.name, "kind": table.kind, "k": table.n_clusters, **known(table, kept)}
    begin = time.perf_counter()
    given = AutoKMeans(table.n_clusters).fit(table.rows)
    row["given"] = adjusted_rand_score(table.classes, given.labels_)
    middle = time.perf_counter()
    model = AutoKMeans().fit(table.rows)
    row["found"] = adjusted_rand_score(table.classes, model.labels_)
    row["found_k"] = len(np.unique(model.labels_))
    row["doubts"] = [doubt.kind for doubt in model.doubts_]
    row["seconds"] = middle - begin, time.perf_counter() - middle
    return row


def line(row):
    def cell(name):
        return f"{row[name]:6.2f}" if name in row else "     -"

    clear = "*" if row["kmeans"] >= CLEAR else " "
    return (
        f"{row['name']:42s}{row['k']:4d} {cell('kmeans')}{clear}{cell('full')}{cell('mixture')}"
        f" ({row.get('mixture_k', '-'):>2}) {cell('given')}{cell('found')} ({row['found_k']:>2})"
        f"  {row['seconds'][0]:5.1f} {row['seconds'][1]:5.1f}  {', '.join(row['doubts'])}"
    )


def is_right(row):
    """Tell whether the number is found: exactly below ten clusters, within a tenth from there."""
    return abs(row["found_k"] - row["k"]) <= (0.1 * row["k"] if row["k"] >= 10 else 0)


def has_gaps(row):
    """Tell whether a doubt says that there are no gaps between clusters."""
    return not {"one cloud", "pieces"}.isdisjoint(row["doubts"])


def verdicts(rows):
    """Yield what must hold, whether it does, and the tables that fail."""
    many = [row for row in rows if row["kind"] == "many"]
    shapes = [row for row in rows if row["kind"] == "shapes"]
    clear = [row for row in many if row["kmeans"] >= CLEAR]

    def mean(some, what):
        return float(np.mean([row[what] for row in some])) if some else np.nan

    def each(text, bad, of):
        return f"{text}: {len(of) - len(bad)} of {len(of)}", not bad, bad

    worse = [row for row in many if row["given"] < row["kmeans"] - 0.02]
    yield each("K given, at least K-Means less .02", worse, many)
    wrong = [row for row in clear if not is_right(row)]
    yield each("K found on clear tables", wrong, clear)
    nothing = [row for row in clear if row["found_k"] == 1]
    yield each("clear clusters are not called nothing", nothing, clear)
    if many:
        found, bic = mean(many, "found"), mean(many, "mixture")
        less = [row for row in many if row["found"] < row["mixture"] - 0.05]
        yield f"K found, {found:.3f} in the mean; mixture by BIC {bic:.3f}", found >= bic, less
    if shapes:
        given, full = mean(shapes, "given"), mean(shapes, "full")
        less = [row for row in shapes if row["given"] < row["full"] - 0.05]
        text = f"shapes, K given, {given:.3f} in the mean; full mixture {full:.3f}"
        yield f"{text}; AutoKMeans() {mean(shapes, 'found'):.3f}", given >= full, less
    curved = [row for row in rows if row["kind"] == "curved" and row["found_k"] > 1]
    yield each("curves that are cut say so", [row for row in curved if not has_gaps(row)], curved)
    clouds = [row for row in rows if row["kind"] == "none"]
    silent = [row for row in clouds if row["found_k"] > 1 and not has_gaps(row)]
    divided = sum(row["found_k"] > 1 for row in clouds)
    text = f"clouds: {divided} of {len(clouds)} divided, {len(silent)} without a doubt"
    yield text, len(silent) <= 0.1 * len(clouds), silent
    doubted = [row for row in clear if has_gaps(row)]
    text = f"clear tables with a doubt of gaps: {len(doubted)} of {len(clear)}"
    yield text, len(doubted) <= 0.1 * len(clear), doubted
    others = [row for row in clear if row["doubts"] and not has_gaps(row)]
    text = f"clear tables with another doubt: {len(others)} of {len(clear)}"
    yield text, len(others) <= 0.1 * len(clear), others
    for name, most in (("d31", 4), ("5000 x 2, 50 clusters", 15)):
        slow = [row for row in many if row["name"] == name and max(row["seconds"]) > most]
        here = [row for row in many if row["name"] == name]
        if here:
            yield each(f"{name} in {most} s", slow, here)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[".*"], help="names, as regular expressions")
    parser.add_argument("--kinds", nargs="+", default=["many", "shapes", "curved", "none"])
    parser.add_argument("--every", type=int, default=1, help="take every so manieth table")
    parser.add_argument("--draws", type=int, default=1, help="tables of each recipe")
    parser.add_argument("--peers", action="store_true", help="what is missing of the peers, only")
    options = parser.parse_args()
    os.nice(10)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    chosen = [
        name
        for name, (kind, _) in TABLES.items()
        if kind in options.kinds and any(re.fullmatch(one, name) for one in options.only)
    ][:: options.every]
    rows = []
    if not options.peers:
        print(f"{'table':42s}   K K-Means  full mixture (K)  given found (K)  seconds", flush=True)
    for name, draw in product(chosen, range(options.draws)):
        table = made(name, draw)
        if options.peers:
            print(name, known(table, kept), flush=True)
            continue
        rows.append(measured(table, kept))
        print(line(rows[-1]), flush=True)
    print()
    for text, holds, bad in verdicts(rows):
        print("holds" if holds else "FAILS", text)
        for row in bad:
            print("   ", line(row))


if __name__ == "__main__":
    main()
