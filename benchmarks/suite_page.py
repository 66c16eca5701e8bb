"""The pages of the benchmark suite: Markdown, HTML with plots, docs/performance.rst and README."""

from __future__ import annotations

import html
import io
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from common import geometric_mean

mpl.use("agg")
mpl.rcParams["svg.hashsalt"] = "fwkmeans"  # the same plot gives the same file

import matplotlib.pyplot as plt  # noqa: E402

Row = dict[str, Any]

DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- benchmarks/suite_page.py writes what follows -->"
END = "<!-- until here -->"
PEERS = {
    "lloyd": "scikit-learn, lloyd",
    "elkan": "scikit-learn, elkan",
    "intelex": "scikit-learn-intelex",
    "faiss": "faiss",
    "faiss centers": "faiss, without labels",
}
FITS = ("lloyd", "elkan", "intelex", "faiss")  # peers that give what we give
BEHIND = "Where a fit takes more than 10 % longer than the peer's (ratios):"
LEAST = 1 / 1.1  # the ratio of a fit that takes 10 % longer than its peer's
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#999999")  # can be told apart by everyone

INTRODUCTION = (
    "Contestants get the same rows and take turns in one process, in "
    "random order and up to a hundred times; the shortest time counts. Default calls draw their "
    "starts. Elsewhere all begin at the same centers, and peers run as many "
    "iterations as our algorithm did, of "
    "K-Means without weights: rows for KMeans compare the same algorithm, those for EWKMeans one "
    "that also learns weights. A cell is one algorithm on one table, with one number of clusters "
    "and one type of numbers. A ratio is the peer's time divided by ours: above 1 fwkmeans is "
    "faster. Tables are Gaussian clusters in half of the columns, and noise as wide in the others; "
    "fits of large tables are cut short after some iterations, for everyone alike. All cores are "
    "used. faiss has single precision only, into which it converts the rows, and its training "
    "gives centers alone; a fit has labels, too, so it is also asked for those. Without labels it "
    "has a row of its own."
)
TEXTS = {
    "Default calls": "What people call: nothing is given but the number of clusters, beside the "
    "same of a peer. Every contestant draws its own starts from three seeds, of which the mean "
    "counts. A fit of ours tries ten starts; one of scikit-learn has one "
    "start. `IMWKMeans` has a fixed seed. Only columns of a ratio compare.",
    "Small tables": "Fits from one start, ten and a thousand, with the default `init`, beside as "
    "many starts of scikit-learn's KMeans.",
    "Whole fits": "Columns of peers are ratios.",
    "Beside the loop": "What one fit of iris takes for checks, description, labels and attributes: "
    "a fit of one iteration, less the time in the core's loop.",
    "Shortest fits": "500 rows, 3 clusters, single precision, in milliseconds; peers run as many "
    "iterations as K-Means did. `validation` is an estimator that does nothing but call "
    "scikit-learn's `validate_data`.",
    "Missing cells": 'Eight iterations on 50 000 x 20, 10 clusters, with `missing="ignore"`.',
    "Minkowski distances": "One iteration of iMWK-Means beside the same in NumPy, as sharp as we "
    "could write it, on one thread (200 000 x 20, 8 clusters).",
    "Mixed columns": "20 000 rows, 5 numeric and 5 categorical columns, 5 clusters; columns of "
    "peers are ratios. FasterKModes gets codes, the others text.",
    "Memory": "The peak of five iterations beside the input.",
    "Growth": "Eight iterations along one axis. The exponent is fitted over all sizes; small sizes "
    "have a constant part, so the last column has it between the last two.",
    "Roofline": "Assigning rows with weights of each cluster's own, which takes two multiply-adds "
    "for each row, feature and cluster. `peak` is what the processor was measured to do on data in "
    "registers (in 1e9 a second).",
    "New processes": "",
}


def write(results: dict[str, Any], path: Path, *, docs: bool) -> None:
    """Write the pages beside the data, and the page of the documentation."""
    plots = {name: _svg(draw, results) for name, draw in PLOTS.items() if _has(results, name)}
    path.with_suffix(".md").write_text(_markdown(results))
    path.with_suffix(".html").write_text(_html(results, plots))
    if docs:
        for name, svg in plots.items():
            (DOCS / "figures" / f"performance_{_file(name)}.svg").write_text(svg)
        (DOCS / "performance.rst").write_text(_rst(results, list(plots)))
        readme = DOCS.parent / "README.md"
        before, rest = readme.read_text().split(BEGIN)
        after = rest[rest.index(END) :]
        readme.write_text(f"{before}{BEGIN}\n{_readme(results)}\n{after}")
        print(f"README.md, docs/performance.rst and {len(plots)} figures are written")
    show(results)


def show(results: dict[str, Any]) -> None:
    """Print the page as Markdown."""
    print(_markdown(results))


def _file(name: str) -> str:
    return name.lower().replace(" ", "_")


def _has(results: dict[str, Any], section: str) -> bool:
    return bool(results["sections"].get(section))


def origin(results: dict[str, Any]) -> str:
    """Return where and with what the figures were measured."""
    about = dict(results["about"])
    about.pop("small", None)
    processor, _, kernels = (about.pop(key) for key in ("processor", "cores", "kernels"))
    versions = ", ".join(f"{name} {number}" for name, number in about.items())
    sentences = [
        f"Measured on {results['date']}: {processor}, {_cores(results)}, kernels {kernels}; "
        f"{versions}."
    ]
    if results["cells left out"]:
        sentences.append(f"{results['cells left out']} cells were left out for lack of time.")
    if results["load"] > 1.5 * int(results["about"]["cores"]):
        busy = f"a load of {results['load']:g}"
        sentences.append(
            f"The machine had other work to do ({busy}), so that single figures are off."
        )
    return " ".join(sentences)


def _cores(results: dict[str, Any]) -> str:
    cores = results["about"]["cores"]
    return f"{cores} core" if cores == "1" else f"{cores} cores"


# ---- in short ------------------------------------------------------------------------------------


def default_calls(sections: dict[str, list[Row]]) -> list[Row]:
    """Return the geometric mean of the ratios of each default call, over its tables."""
    rows = sections.get("Default calls", [])
    found = []
    for call, peer in dict.fromkeys((row["call"], row["peer"]) for row in rows):
        ratios = [row["ratio"] for row in rows if (row["call"], row["peer"]) == (call, peer)]
        found.append(
            {
                "call": f"`{call}`",
                "beside": peer,
                "tables": len(ratios),
                "mean ratio": geometric_mean(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
                "slower on": sum(ratio < 1 for ratio in ratios),
            }
        )
    return found


def in_short(results: dict[str, Any]) -> list[list[Row]]:
    """Return the tables that sum up the default calls, and the fits from given centers."""
    tables = (default_calls(results["sections"]), means(results["sections"]))
    return [table for table in tables if table]


def means(sections: dict[str, list[Row]]) -> list[Row]:
    """Return the geometric mean of the ratios to each peer, and how often we are behind."""
    rows = []
    for name in ("KMeans", "EWKMeans"):
        for peer, words in PEERS.items():
            own = [r for r in sections.get("Whole fits", ()) if r["algorithm"] == name]
            ratios = [row[peer] for row in own if peer in row]
            if ratios:
                rows.append(
                    {
                        "algorithm": name,
                        "peer": words,
                        "cells": len(ratios),
                        "mean ratio": geometric_mean(ratios),
                        "lowest": min(ratios),
                        "highest": max(ratios),
                        "slower in": sum(ratio < 1 for ratio in ratios),
                        "by more than 10 %": sum(ratio < LEAST for ratio in ratios),
                    }
                )
    return rows


def losses(sections: dict[str, list[Row]], peers: Iterable[str] = PEERS) -> list[str]:
    """Return a line about every cell in which we take more than 10 % longer than a peer."""
    lines = []
    for row in sections.get("Whole fits", ()):
        behind = [f"{PEERS[p]} {row[p]:.2f}" for p in peers if row.get(p, 1.0) < LEAST]
        if behind:
            n = f"{row['rows']:,}".replace(",", " ")
            size = f"{n} x {row['features']}, {row['clusters']} clusters"
            lines.append(f"{row['algorithm']}, {row['dtype']}, {size}: {', '.join(behind)}")
    for row in sections.get("Default calls", ()):
        if row["ratio"] < LEAST:
            lines.append(f"{row['call']} on {row['table']}: {row['peer']} {row['ratio']:.2f}")
    for row in sections.get("Small tables", ()):
        if row["ratio"] < LEAST:
            starts = f"{row['starts']} start{'s' if row['starts'] > 1 else ''}"
            what = f"{row['algorithm']} on {row['table']}, {starts}"
            lines.append(f"{what}: scikit-learn {row['ratio']:.2f}")
    return lines


# ---- tables --------------------------------------------------------------------------------------


def _columns(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def _grid(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    names = _columns(rows)
    return names, [[_cell(row.get(name, "")) for name in names] for row in rows]


def _markdown_table(rows: list[Row]) -> str:
    names, cells = _grid(rows)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(line) + " |" for line in cells])


def _html_table(rows: list[Row]) -> str:
    names, cells = _grid(rows)

    def line(kind: str, values: list[str]) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(v)}</{kind}>" for v in values) + "</tr>"

    body = "\n".join(line("td", values) for values in cells)
    return f"<table>\n{line('th', names)}\n{body}\n</table>"


def _rst_table(rows: list[Row]) -> str:
    names, cells = _grid(rows)
    lines = [".. csv-table::", f"   :header: {', '.join(_quoted(n) for n in names)}", ""]
    return "\n".join(lines + ["   " + ", ".join(map(_quoted, line)) for line in cells])


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# ---- plots ---------------------------------------------------------------------------------------


def _svg(draw: Callable[[Any, dict[str, list[Row]]], None], results: dict[str, Any]) -> str:
    figure = plt.figure(figsize=(8, 4.2), layout="constrained")
    draw(figure, results["sections"])
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]


def plot_fits(figure: Any, sections: dict[str, list[Row]]) -> None:
    """Draw the ratios of whole fits by the number of rows, one panel for each peer."""
    rows = sections["Whole fits"]
    peers = [peer for peer in PEERS if any(peer in row for row in rows)]
    sizes = sorted({row["rows"] for row in rows})
    panels = figure.subplots(1, len(peers), sharey=True, squeeze=False)[0]
    for axes, peer in zip(panels, peers, strict=True):
        for number, name in enumerate(("KMeans", "EWKMeans")):
            points = [(sizes.index(r["rows"]), r[peer]) for r in rows if r["algorithm"] == name]
            spread = (np.arange(len(points)) % 13 / 12 - 0.5) * 0.25 + (number - 0.5) * 0.3
            places = [x + shift for (x, _), shift in zip(points, spread, strict=True)]
            values = [y for _, y in points]
            axes.plot(places, values, "o", ms=4, alpha=0.7, color=COLORS[number], label=name)
        axes.axhline(1, color="0.4", lw=1)
        axes.set_title(PEERS[peer].replace(", ", ",\n"), fontsize=9)
        axes.set(yscale="log", xlabel="rows")
        axes.set_xticks(range(len(sizes)), [f"{n:,}".replace(",", " ") for n in sizes], rotation=45)
    panels[0].set_ylabel("peer's time / ours")
    panels[0].legend(frameon=False)


def plot_small(figure: Any, sections: dict[str, list[Row]]) -> None:
    """Draw the ratios of default fits."""
    rows = sections["Small tables"]
    groups = list(dict.fromkeys((row["table"], row["starts"]) for row in rows))
    algorithms = list(dict.fromkeys(row["algorithm"] for row in rows))
    axes = figure.subplots()
    for number, name in enumerate(algorithms):
        own = {(r["table"], r["starts"]): r["ratio"] for r in rows if r["algorithm"] == name}
        places = [at + 0.8 * (number / len(algorithms) - 0.45) for at in range(len(groups))]
        color = mpl.colormaps["viridis"](number / max(1, len(algorithms) - 1))
        axes.plot(places, [own.get(g, np.nan) for g in groups], "o", ms=5, color=color, label=name)
    axes.axhline(1, color="0.4", lw=1)
    axes.set(yscale="log", ylabel="scikit-learn's time / ours")
    labels = [f"{table}\n{starts} start{'s' if starts > 1 else ''}" for table, starts in groups]
    axes.set_xticks(range(len(groups)), labels, fontsize=7)
    axes.legend(frameon=False, fontsize=7, ncols=2)


def plot_growth(figure: Any, sections: dict[str, list[Row]]) -> None:
    """Draw times against sizes, one panel for each axis."""
    rows = sections["Growth"]
    kinds = list(dict.fromkeys(row["axis"] for row in rows))
    for axes, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        for number, row in enumerate(row for row in rows if row["axis"] == kind):
            label = "scikit-learn" if row["contestant"] == "lloyd" else row["contestant"]
            axes.loglog(row["sizes"], row["seconds"], "o-", ms=4, color=COLORS[number], label=label)
        axes.set(xlabel=kind, ylabel="seconds" if kind == kinds[0] else "")
        if kind == "threads":
            sizes = rows[-1]["sizes"]
            axes.set_xticks(sizes, [str(n) for n in sizes], minor=False)
            axes.set_xticks([], minor=True)
    figure.axes[0].legend(frameon=False, fontsize=7)


def plot_roofline(figure: Any, sections: dict[str, list[Row]]) -> None:
    """Draw the rates reached against multiply-adds for each byte read, below what is possible."""
    rows = sections["Roofline"]
    axes = figure.subplots()
    for number, dtype in enumerate(("float64", "float32")):
        own = [row for row in rows if row["dtype"] == dtype]
        if not own:
            continue
        peak = max(row["peak"] for row in own)
        reading = max(row["bytes a second"] for row in own)
        x = np.geomspace(0.1, 200, 200)
        axes.loglog(x, np.minimum(peak, x * reading), color=COLORS[number], lw=1)
        for row in own:
            at = (row["multiply-adds a byte"], row["giga a second"])
            axes.plot(*at, "o", color=COLORS[number], ms=5)
            shown = f" {row['features']} x {row['clusters']}"
            axes.annotate(shown, at, fontsize=6, va="center")
        axes.plot([], [], "o-", color=COLORS[number], label=f"{dtype}: peak and reached")
    axes.set(xlabel="multiply-adds for each byte of rows", ylabel="1e9 multiply-adds a second")
    axes.legend(frameon=False)


PLOTS: dict[str, Callable[[Any, dict[str, list[Row]]], None]] = {
    "Whole fits": plot_fits,
    "Small tables": plot_small,
    "Growth": plot_growth,
    "Roofline": plot_roofline,
}


# ---- pages ---------------------------------------------------------------------------------------


def _markdown(results: dict[str, Any]) -> str:
    sections = results["sections"]
    parts = ["# Benchmarks", origin(results), INTRODUCTION, "## In short"]
    parts += map(_markdown_table, in_short(results))
    behind = losses(sections)
    if behind:
        parts += [
            BEHIND,
            "\n".join(f"- {line}" for line in behind),
        ]
    for name, rows in sections.items():
        parts += [f"## {name}", TEXTS.get(name, ""), _markdown_table(rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0 }
th, td { padding: 2px 8px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
svg { max-width: 100%; height: auto }
"""


def _html(results: dict[str, Any], plots: dict[str, str]) -> str:
    sections = results["sections"]
    parts = ["<h1>Benchmarks</h1>"]
    parts += [f"<p>{html.escape(text)}</p>" for text in (origin(results), INTRODUCTION)]
    parts += ["<h2>In short</h2>", *map(_html_table, in_short(results))]
    behind = losses(sections)
    if behind:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in behind)
        parts.append(f"<p>{BEHIND}</p><ul>{lines}</ul>")
    for name, rows in sections.items():
        parts += [f"<h2>{name}</h2>", f"<p>{html.escape(TEXTS.get(name, ''))}</p>"]
        parts += [plots.get(name, ""), _html_table(rows)]
    head = f'<meta charset="utf-8"><title>Benchmarks of fwkmeans</title><style>{STYLE}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(parts)
        + ("\n</body></html>\n")
    )


def _rst(results: dict[str, Any], plots: list[str]) -> str:
    sections = results["sections"]
    behind = losses(sections)
    parts = [
        ".. benchmarks/suite_page.py writes this page from benchmarks/results/suite.json",
        _title("Performance", "="),
        "``make bench`` measures all of this; ``make bench-quick`` takes four minutes and prints "
        "the ratios that must not fall. The data are in ``benchmarks/results``.",
        origin(results),
        _literals(INTRODUCTION),
    ]
    parts += [_title("In short", "-"), *(_literals(_rst_table(t)) for t in in_short(results))]
    if behind:
        parts += [
            BEHIND,
            "\n".join(f"- {line}" for line in behind),
        ]
    for name, rows in sections.items():
        parts += [_title(name, "-"), _literals(TEXTS.get(name, ""))]
        if name in plots:
            figure = f".. figure:: figures/performance_{_file(name)}.svg\n   :alt: {ALTS[name]}"
            parts.append(figure)
        parts.append(_rst_table(rows if name != "Whole fits" else _by_size(rows)))
    parts.append((Path(__file__).parent / "performance_notes.rst").read_text().strip())
    return "\n\n".join(part for part in parts if part) + "\n"


def _readme(results: dict[str, Any]) -> str:
    """Return the paragraphs of README about speed."""
    sections = results["sections"]
    about = results["about"]
    usual = (
        f"What people call, beside the default call of a peer ({results['date']}, "
        f"{_cores(results)}, {about['kernels']}; a ratio is the peer's time divided by ours; "
        "arrays have 1000 to a million rows and 4 to 100 columns; our fits try ten starts, those "
        "of scikit-learn one):"
    )
    given = (
        "Whole fits from given centers, on the same rows (a cell is one table with one number of "
        "clusters and one type of numbers):"
    )
    texts = []
    for text, table in zip((usual, given), in_short(results), strict=True):
        texts += [textwrap.fill(text, 105, break_on_hyphens=False), _markdown_table(table)]
    small = [row for row in sections["Small tables"] if row["algorithm"] in ("KMeans", "EWKMeans")]
    one, many = ([r["ratio"] for r in small if r["starts"] == n] for n in (1, 1000))
    share = [r["share of the input"] for r in sections["Memory"] if r["contestant"] in OURS]
    sentences = [
        f"One start of `KMeans` or `EWKMeans` on a small table (iris, wine, 500 x 4, 10 000 x 10) "
        f"is {_range(one)} times as fast as one of scikit-learn's `KMeans`, and a thousand starts "
        f"on iris and wine {_range(many)} times.",
        f"On a million rows of 20 columns a fit needs {_range([100 * s for s in share])} % of the "
        "size of its input as additional memory.",
    ]
    powers = [row["ratio"] for row in sections.get("Minkowski distances", ())]
    if powers:
        sentences.append(
            f"An iteration of `IMWKMeans` with p = 1.7 or 3 is {_range(powers)} times as fast as "
            "the same steps in chunked NumPy."
        )
    mixed = []
    for peer in ("kmodes", "FasterKModes"):
        ratios = [row[peer] for row in sections.get("Mixed columns", ()) if peer in row]
        if ratios:
            mixed.append(f"{_range(ratios)} times as fast as the k-prototypes of {peer}")
    if mixed:
        sentences.append(f"`IKPrototypes` is {', and '.join(mixed)}.")
    n_cells = sum(len(sections[s]) for s in ("Default calls", "Whole fits", "Small tables"))
    behind, others = len(losses(sections, FITS)), len(losses(sections))
    sentences.append(
        f"A fit takes more than 10 % longer than a peer's in {behind or 'none'} of the {n_cells} "
        f"cells, and in {others or 'none'} if faiss need not give labels; "
        "[they are listed](docs/performance.rst) beside growth, memory, the roofline and how all "
        "of this is measured. `make bench` measures it on your machine."
    )
    kept = " ".join(sentences).replace("make bench", "make~bench")  # on one line
    paragraph = textwrap.fill(kept, 105, break_on_hyphens=False).replace("~", " ")
    return "\n\n".join([*texts, paragraph])


OURS = ("KMeans", "EWKMeans")


def _range(values: list[float]) -> str:
    low, high = _cell(float(f"{min(values):.2g}")), _cell(float(f"{max(values):.2g}"))
    return low if low == high else f"{low} to {high}"


ALTS = {
    "Whole fits": "Ratios of whole fits to those of the peers, by the number of rows.",
    "Small tables": "Ratios of fits of small tables to scikit-learn's.",
    "Growth": "Seconds of eight iterations against rows, features, clusters and threads.",
    "Roofline": "Multiply-adds a second against multiply-adds for each byte, below the peak.",
}


def _by_size(rows: list[Row]) -> list[Row]:
    """Return geometric means over types and clusters, for the page; all cells are in the data."""
    found = []
    sizes = dict.fromkeys((r["rows"], r["features"], r["algorithm"]) for r in rows)
    for n, m, name in sizes:
        own = [r for r in rows if (r["rows"], r["features"], r["algorithm"]) == (n, m, name)]
        ratios = {
            peer: geometric_mean([r[peer] for r in own if peer in r])
            for peer in PEERS
            if any(peer in r for r in own)
        }
        cost = geometric_mean([r["ms an iteration"] for r in own])
        found.append(
            {"rows": n, "features": m, "algorithm": name, "ms an iteration": cost, **ratios}
        )
    return found


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _literals(text: str) -> str:
    return text.replace("`", "``")
