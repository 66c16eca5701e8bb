"""Tables with known clusters, as pages about clustering show them, drawn from their descriptions.

``TABLES`` has a recipe for each name, and `made` draws it; the same name gives the same table. They
come in kinds: "many" (round and oval normal clusters, few and many of them), "shapes" (elongated,
crossing, and differently turned clusters, which normal distributions still describe), "curved"
(rings and arcs, which they do not) and "none" (tables without clusters).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np


class Made(NamedTuple):
    """Rows, the cluster of each, and how many there are."""

    name: str
    kind: str
    rows: np.ndarray
    classes: np.ndarray

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.classes))


Drawn = tuple[np.ndarray, np.ndarray]


def made(name: str, draw: int = 0) -> Made:
    """Return the table of a name; other draws are other tables of the same recipe."""
    kind, recipe = TABLES[name]
    rng = np.random.default_rng([zlib.crc32(name.encode()), draw])
    rows, classes = recipe(rng)
    order = rng.permutation(len(rows))
    return Made(name, kind, rows[order], classes[order])


def names(*kinds: str) -> list[str]:
    """Return the names of the tables of some kinds."""
    return [name for name, (kind, _) in TABLES.items() if kind in kinds]


# ---- normal clusters -----------------------------------------------------------------------------


def centers_apart(rng, n_clusters, n_columns, apart, spreads):
    """Draw centers that are `apart` standard deviations from each other, in as small a cube."""
    side = apart * n_clusters ** (1 / n_columns)
    while True:
        found = np.empty((0, n_columns))
        for _ in range(200 * n_clusters):
            new = rng.uniform(0, side, n_columns)
            spread = 0.5 * (spreads[: len(found)] + spreads[len(found)])
            if (np.sqrt(((found - new) ** 2).sum(axis=1)) >= apart * spread).all():
                found = np.vstack([found, new])
                if len(found) == n_clusters:
                    return found
        side *= 1.1


def correlations(rng, n_columns):
    """Draw a matrix that turns round clusters into oval ones of the same volume."""
    axes = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]
    lengths = rng.uniform(-0.7, 0.7, n_columns)
    return axes * np.exp(lengths - lengths.mean()) @ axes.T


def normal(rng, centers, spreads, sizes, *, oval=""):
    """Draw normal clusters: round, oval in a way that all share ("tied"), or each its own."""
    n_columns = centers.shape[1]
    common = correlations(rng, n_columns) if oval == "tied" else np.eye(n_columns)
    rows = []
    for center, spread, size in zip(centers, spreads, sizes, strict=True):
        shape = correlations(rng, n_columns) if oval == "own" else np.eye(n_columns)
        rows.append(center + spread * rng.normal(size=(size, n_columns)) @ shape)
    return np.vstack(rows) @ common, np.repeat(np.arange(len(sizes)), sizes)


def gaussians(rng, n_clusters, n_columns, n_rows, apart, flavor):
    """Draw clusters `apart` standard deviations from each other.

    The flavor says what they have: "equal", "sizes", "spreads" or "both" of their own, "tied" or
    "own" correlations, "noise" in as many more columns.
    """
    shares = rng.uniform(0.25, 1.75, n_clusters) if flavor in ("sizes", "both") else 1.0
    shares = np.ones(n_clusters) * shares
    spreads = rng.uniform(0.5, 1.5, n_clusters) if flavor in ("spreads", "both") else 1.0
    spreads = np.ones(n_clusters) * spreads
    sizes = np.maximum(6, np.round(n_rows * shares / shares.sum())).astype(int)
    centers = centers_apart(rng, n_clusters, n_columns, apart, spreads)
    oval = flavor if flavor in ("tied", "own") and n_columns > 1 else ""
    rows, classes = normal(rng, centers, spreads, sizes, oval=oval)
    if flavor == "noise":
        normals = rng.normal(size=(len(rows), (n_columns + 1) // 2))
        rows = np.hstack([rows, normals, rng.uniform(size=(len(rows), (n_columns + 1) // 2))])
    return rows, classes


def a_set(rng, n_clusters):
    """20, 35 or 50 round clusters of 150 rows in a square, hardly overlapping."""
    spreads = np.ones(n_clusters)
    centers = centers_apart(rng, n_clusters, 2, 5.0, spreads)
    return normal(rng, centers, spreads, [150] * n_clusters)


def s_set(rng, overlap):
    """15 oval clusters of about 333 rows in a square, which overlap more and more."""
    centers = centers_apart(rng, 15, 2, 10.0, np.ones(15))
    spreads = (1.3, 2.1, 3.1, 3.7)[overlap - 1] * rng.uniform(0.85, 1.15, 15)
    return normal(rng, centers, spreads, [333] * 10 + [334] * 5, oval="own")


def d31(rng):
    """31 round clusters of 100 rows at random places."""
    return normal(rng, centers_apart(rng, 31, 2, 4.8, np.ones(31)), np.ones(31), [100] * 31)


def r15(rng):
    """15 clusters of 40 rows: one amid two rings of seven."""
    turns = 2 * np.pi * np.arange(7) / 7
    ring = np.column_stack([np.cos(turns), np.sin(turns)])
    centers = np.vstack([np.zeros((1, 2)), 7 * ring, 16 * ring])
    return normal(rng, centers, np.ones(15), [40] * 15)


def unbalance(rng):
    """3 dense clusters of 2000 rows beside 5 looser ones of 100, far away."""
    dense = np.array([[0.0, 0.0], [12.0, 8.0], [6.0, -14.0]])
    loose = np.array([[80.0, 0.0], [105.0, 25.0], [105.0, -25.0], [130.0, 0.0], [85.0, 45.0]])
    spreads = [2.0] * 3 + [3.5] * 5
    return normal(rng, np.vstack([dense, loose]), spreads, [2000] * 3 + [100] * 5)


def g2(rng, n_columns, spread):
    """Two round clusters of 1024 rows, 100 apart in each column."""
    centers = np.array([[500.0], [600.0]]) * np.ones(n_columns)
    return normal(rng, centers, [spread] * 2, [1024] * 2)


def on_a_line(rng, n_groups, n_rows, n_columns, apart):
    """Groups in one column; the others are noise."""
    rows = rng.normal(size=(n_rows, n_columns))
    classes = np.arange(n_rows) % n_groups
    rows[:, 0] += apart * classes
    return rows, classes


def _gaussian_tables():
    """Yield names and recipes that go through numbers, columns, rows, distances and flavors."""
    flavors = ("equal", "sizes", "spreads", "tied", "own", "noise", "both")
    rows_each, distances = (30, 100, 25, 300, 60, 1000), (10, 6, 4.5, 8)
    for i, (k, m) in enumerate(product((2, 3, 5, 8, 12, 20, 35, 60), (1, 2, 3, 5, 10))):
        for j in range(2):
            flavor = flavors[(i + 3 * j + i // 5) % 7]
            n = int(np.clip(k * rows_each[(i + j + i // 5) % 6], 60, 20_000))
            apart = distances[(i + j + i // 3) % 4] * (1.0 if m < 10 else 1.2)
            name = f"{k} in {m}, {n} rows, {apart:g} apart, {flavor}"
            yield (
                name,
                partial(gaussians, n_clusters=k, n_columns=m, n_rows=n, apart=apart, flavor=flavor),
            )


# ---- shapes --------------------------------------------------------------------------------------


def pieces(*parts: np.ndarray) -> Drawn:
    """Return clusters, one under the other, and their numbers."""
    sizes = [len(part) for part in parts]
    return np.vstack(parts), np.repeat(np.arange(len(parts)), sizes)


def stick(rng, n, middle, length, width, degrees):
    """Draw an elongated normal cluster in two columns."""
    turn = np.deg2rad(degrees)
    along = np.array([np.cos(turn), np.sin(turn)])
    across = np.array([-along[1], along[0]])
    draws = rng.normal(size=(n, 2)) * [length, width]
    return np.asarray(middle) + draws[:, :1] * along + draws[:, 1:] * across


def box(rng, n, low, high):
    """Draw rows evenly from a box."""
    return rng.uniform(low, high, size=(n, len(low)))


def disc(rng, n, middle, radius):
    """Draw rows evenly from a disc."""
    turn, far = rng.uniform(0, 2 * np.pi, n), radius * np.sqrt(rng.uniform(size=n))
    return np.asarray(middle) + far[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])


def lsun(rng):
    """Two bars at a right angle beside a disc."""
    bars = box(rng, 200, (0, 0), (4, 1)), box(rng, 100, (0, 1.4), (1, 5))
    return pieces(*bars, disc(rng, 100, (3.5, 3.6), 1.2))


def zigzag(rng, n_strokes):
    """Strokes that lean to one side and the other."""
    return pieces(
        *(stick(rng, 100, (2.2 * i, 0), 1.6, 0.15, 55 * (-1) ** i) for i in range(n_strokes))
    )


def aggregation(rng):
    """Seven clumps of very different size, two pairs of which touch."""
    discs = (280, (0, 0), 5.0), (170, (0, 12), 4.2), (100, (-11, 12), 3.4), (130, (18, 10), 3.6)
    parts = [disc(rng, n, middle, radius) for n, middle, radius in discs]
    parts += [disc(rng, 105, (24.8, 8.5), 3.4), disc(rng, 45, (-11, 1), 2.0)]
    return pieces(*parts, disc(rng, 35, (-6.7, -1), 1.8))


def cross(rng, n_arms, width=0.08):
    """Strokes through one point."""
    return pieces(*(stick(rng, 200, (0, 0), 1, width, 180 * i / n_arms) for i in range(n_arms)))


def parallel(rng, n_sticks, degrees):
    """Long strokes side by side."""
    turn = np.deg2rad(degrees + 90)
    away = np.array([np.cos(turn), np.sin(turn)])
    return pieces(*(stick(rng, 120, i * away, 4, 0.14, degrees) for i in range(n_sticks)))


def letter(rng, foot):
    """Two strokes at a right angle that meet: a T or an L."""
    down = box(rng, 200, (-0.3, -5), (0.3, -0.5))
    return pieces(box(rng, 200, (-3.5 + foot, -0.3), (3.5 + foot, 0.3)), down)


def woven(rng):
    """Nine strokes that lie and stand in turn, as in wickerwork."""
    return pieces(
        *(
            stick(rng, 60, (5 * i, 5 * j), 1.7, 0.3, 90 * ((i + j) % 2))
            for i, j in product(range(3), repeat=2)
        )
    )


def petals(rng, n_petals, lean):
    """Strokes around a point that point to it, or past it."""
    turns = 360 * np.arange(n_petals) / n_petals
    around = [(5 * np.cos(np.deg2rad(t)), 5 * np.sin(np.deg2rad(t))) for t in turns]
    return pieces(
        *(stick(rng, 100, at, 1.5, 0.35, t + lean) for at, t in zip(around, turns, strict=True))
    )


def inside(rng, n_small):
    """Small dense clusters within a wide one."""
    turns = 2 * np.pi * np.arange(n_small) / n_small
    small = [rng.normal((5 * np.cos(t), 5 * np.sin(t)), 0.25, size=(120, 2)) for t in turns]
    return pieces(rng.normal(0, 5, size=(300, 2)), *small)


def loose_and_dense(rng):
    """Neighbors of very different spread."""
    parts = [rng.normal((0, 0), 3.0, size=(200, 2)), rng.normal((9, 0), 0.5, size=(200, 2))]
    return pieces(*parts, rng.normal((9, 4), 0.5, size=(100, 2)), stick(rng, 150, (0, 11), 4, 1, 0))


def ovals(rng, n_clusters, n_columns, size, n_noise=0):
    """Oval clusters, five times as long as wide, turned at random."""
    centers = centers_apart(rng, n_clusters, n_columns, 5.0, np.ones(n_clusters))
    rows = []
    for center in centers:
        axes = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]
        lengths = np.geomspace(0.45, 2.25, n_columns)
        rows.append(center + rng.normal(size=(size, n_columns)) * lengths @ axes)
    rows, classes = pieces(*rows)
    return np.hstack([rows, rng.normal(size=(len(rows), n_noise))]), classes


def rods_and_plates(rng):
    """Two rods and two plates in three columns."""
    spreads = [(4, 0.4, 0.4), (0.4, 0.4, 4), (3, 3, 0.3), (0.3, 3, 3)]
    middles = [(0, 0, 0), (7, 2, 0), (2, 9, 4), (-6, 6, 0)]
    return pieces(
        *(m + rng.normal(size=(150, 3)) * s for m, s in zip(middles, spreads, strict=True))
    )


def crossing_plates(rng):
    """Plates through one point."""
    return pieces(*(rng.normal(size=(250, 3)) * np.roll((0.1, 2, 2), i) for i in range(3)))


def own_correlations(rng, n_columns):
    """Clusters with nearly the same center, told apart by how columns go together."""
    rows = []
    for _ in range(3):
        loadings = rng.normal(size=(n_columns, 2))
        rows.append(
            rng.normal(size=(300, 2)) @ loadings.T * 1.5 + 0.3 * rng.normal(size=(300, n_columns))
        )
        rows[-1] += rng.normal(size=n_columns)
    return pieces(*rows)


def diamonds(rng):
    """Two squares on their corners that touch."""
    turned = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    left = box(rng, 400, (-1, -1), (1, 1)) @ turned
    return pieces(left, box(rng, 400, (-1, -1), (1, 1)) @ turned + [2 * np.sqrt(2), 0])


def squares(rng):
    """Squares in rows and columns, close to each other."""
    return pieces(
        *(
            box(rng, 150, (3 * i, 3 * j), (3 * i + 2.4, 3 * j + 2.4))
            for i in range(3)
            for j in (0, 1)
        )
    )


def wedge(rng, degrees):
    """Two strokes that start at one point."""
    return pieces(
        box(rng, 200, (0, -0.2), (6, 0.2)), _turned(box(rng, 200, (0, -0.2), (6, 0.2)), degrees)
    )


def _turned(rows, degrees):
    turn = np.deg2rad(degrees)
    return rows @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])


# ---- curves --------------------------------------------------------------------------------------


def arc(rng, n, middle, radius, first, last, width):
    """Draw rows along a part of a circle."""
    turn = np.deg2rad(rng.uniform(first, last, n))
    far = radius + width * rng.normal(size=n)
    return np.asarray(middle) + far[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])


def rings(rng, radii):
    """Rings around one point."""
    return pieces(*(arc(rng, int(150 * (1 + r)), (0, 0), r, 0, 360, 0.08) for r in radii))


def target(rng):
    """A ring around a dense cluster."""
    return pieces(rng.normal(0, 0.4, size=(300, 2)), arc(rng, 400, (0, 0), 4, 0, 360, 0.15))


def moons(rng):
    """Two half-moons that reach into each other."""
    return pieces(
        arc(rng, 300, (0, 0), 1, 0, 180, 0.06), arc(rng, 300, (1, 0.4), 1, 180, 360, 0.06)
    )


def spirals(rng, n_arms):
    """Spirals around one point."""
    parts = []
    for i in range(n_arms):
        turn = np.sqrt(rng.uniform(0.05, 1, 250)) * 3 * np.pi
        at = turn + 2 * np.pi * i / n_arms
        curve = turn[:, None] * np.column_stack([np.cos(at), np.sin(at)])
        parts.append(curve + 0.25 * rng.normal(size=(250, 2)))
    return pieces(*parts)


def smile(rng):
    """Two eyes and a mouth within a face."""
    eyes = [rng.normal((x, 1.5), 0.25, size=(100, 2)) for x in (-1.5, 1.5)]
    mouth = arc(rng, 200, (0, 0), 2, 210, 330, 0.1)
    return pieces(*eyes, mouth, arc(rng, 500, (0, 0), 4.5, 0, 360, 0.1))


def chain(rng):
    """Two rings in three columns, each through the other."""
    one = np.column_stack([arc(rng, 400, (0, 0), 1, 0, 360, 0.05), 0.05 * rng.normal(size=400)])
    other = np.column_stack([arc(rng, 400, (1, 0), 1, 0, 360, 0.05), 0.05 * rng.normal(size=400)])
    return pieces(one, other[:, [0, 2, 1]])


def worms(rng):
    """Three long waves one above the other."""
    x = rng.uniform(0, 12, (3, 250))
    y = np.sin(x) + 1.3 * np.arange(3)[:, None] + 0.1 * rng.normal(size=x.shape)
    return pieces(*(np.column_stack(wave) for wave in zip(x, y, strict=True)))


# ---- no clusters ---------------------------------------------------------------------------------


def nothing(rng, cloud, n_rows, n_columns):
    """One cloud of rows: normal, with long tails to one side or both, or bent."""
    normals = rng.normal(size=(n_rows, n_columns))
    if cloud == "lognormal":  # with a common factor
        common = rng.normal(size=(n_rows, 1)) * rng.uniform(0.5, 1, n_columns)
        rows = np.exp(common + 0.5 * normals)
    elif cloud == "curve":
        bent = normals.copy()
        bent[:, 1] = normals[:, 0] ** 2 + 0.5 * normals[:, 1]
        rows = bent
    else:
        tail = np.sqrt(rng.chisquare(3, n_rows) / 3) if cloud == "t" else np.ones(n_rows)
        rows = normals / tail[:, None] @ correlations(rng, n_columns)
    return rows, np.zeros(n_rows, dtype=int)


TABLES: dict[str, tuple[str, Callable[[np.random.Generator], Drawn]]] = {
    **{f"a{i + 1}": ("many", partial(a_set, n_clusters=k)) for i, k in enumerate((20, 35, 50))},
    **{f"s{i}": ("many", partial(s_set, overlap=i)) for i in (1, 2, 3, 4)},
    "d31": ("many", d31),
    "r15": ("many", r15),
    "unbalance": ("many", unbalance),
    "5000 x 2, 50 clusters": (
        "many",
        partial(gaussians, n_clusters=50, n_columns=2, n_rows=5000, apart=7, flavor="sizes"),
    ),
    **{
        f"g2-{m}-{spread}": ("many", partial(g2, n_columns=m, spread=spread))
        for m, spread in product((1, 2, 4, 8, 16, 32, 64, 128), (20, 40, 70))
    },
    **{
        f"{k} on a line, {n} x {m}": (
            "many",
            partial(on_a_line, n_groups=k, n_rows=n, n_columns=m, apart=10),
        )
        for k, n, m in product((3, 5), (60, 300), (1, 2, 4))
    },
    **{name: ("many", recipe) for name, recipe in _gaussian_tables()},
    "lsun": ("shapes", lsun),
    "zigzag 3": ("shapes", partial(zigzag, n_strokes=3)),
    "zigzag 6": ("shapes", partial(zigzag, n_strokes=6)),
    "aggregation": ("shapes", aggregation),
    "cross": ("shapes", partial(cross, n_arms=2)),
    "star": ("shapes", partial(cross, n_arms=3, width=0.05)),
    "parallel 3": ("shapes", partial(parallel, n_sticks=3, degrees=0)),
    "parallel 5, oblique": ("shapes", partial(parallel, n_sticks=5, degrees=40)),
    "T": ("shapes", partial(letter, foot=0)),
    "L": ("shapes", partial(letter, foot=3.2)),
    "woven": ("shapes", woven),
    "petals": ("shapes", partial(petals, n_petals=6, lean=0)),
    "pinwheel": ("shapes", partial(petals, n_petals=7, lean=50)),
    "1 inside": ("shapes", partial(inside, n_small=1)),
    "4 inside": ("shapes", partial(inside, n_small=4)),
    "loose and dense": ("shapes", loose_and_dense),
    "4 ovals in 2": ("shapes", partial(ovals, n_clusters=4, n_columns=2, size=100)),
    "10 ovals in 2": ("shapes", partial(ovals, n_clusters=10, n_columns=2, size=100)),
    "5 ovals in 3": ("shapes", partial(ovals, n_clusters=5, n_columns=3, size=60)),
    "4 ovals in 6": ("shapes", partial(ovals, n_clusters=4, n_columns=6, size=150)),
    "4 ovals, noise": ("shapes", partial(ovals, n_clusters=4, n_columns=2, size=100, n_noise=2)),
    "rods and plates": ("shapes", rods_and_plates),
    "crossing plates": ("shapes", crossing_plates),
    "own correlations": ("shapes", partial(own_correlations, n_columns=5)),
    "diamonds": ("shapes", diamonds),
    "squares": ("shapes", squares),
    "wedge": ("shapes", partial(wedge, degrees=35)),
    "rings": ("curved", partial(rings, radii=(0.4, 1))),
    "3 rings": ("curved", partial(rings, radii=(0.4, 1, 2))),
    "target": ("curved", target),
    "moons": ("curved", moons),
    "2 spirals": ("curved", partial(spirals, n_arms=2)),
    "3 spirals": ("curved", partial(spirals, n_arms=3)),
    "smile": ("curved", smile),
    "chain": ("curved", chain),
    "worms": ("curved", worms),
    **{
        f"{cloud}, {n} x {m}": ("none", partial(nothing, cloud=cloud, n_rows=n, n_columns=m))
        for cloud, (n, m) in product(
            ("normal", "lognormal", "t", "curve"),
            ((100, 2), (300, 3), (1000, 2), (200, 8), (1000, 6)),
        )
    },
}
