"""Small faults that the tests must notice; `plant.py` plants them one at a time.

A fault replaces a piece of text that occurs exactly once in its file. Where code moves, change the
old text to what stands there now; a fault whose code is gone goes with it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Fault(NamedTuple):
    """One change that breaks something."""

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: str = ""  # where to look first, if not in the tests of its folder

    def pattern(self) -> re.Pattern[str]:
        """Return what finds the old text; in C++ however its lines are broken."""
        if self.file.endswith((".hpp", ".cpp")):
            return re.compile(r"\s*".join(re.escape(sign) for sign in "".join(self.old.split())))
        return re.compile(re.escape(self.old))


FAULTS: list[Fault] = []


def among(file: str, *faults: tuple[str, ...]) -> None:
    """Add faults of one file: (name, kind, old text, new text, tests that should see it)."""
    for name, kind, *rest in faults:
        FAULTS.append(Fault(name, kind, f"src/fwkmeans/{file}", *rest))


# ---- weighting ----------------------------------------------------------------------------------

among(
    "weighting/simplex.py",
    (
        "softmax-over-clusters",
        "axis",
        "normalized: FloatArray = weights / weights.sum(axis=-1, keepdims=True)",
        "normalized: FloatArray = weights / weights.sum(axis=-2, keepdims=True)",
    ),
    ("power-exponent", "sign", "/ (1.0 - beta)", "/ (beta - 1.0)"),
    (
        "vertex-first-of-ties",
        "wrong tie",
        "share(table.varying & (allowed <= lowest * (1.0 + TIE)))",
        "share(np.arange(allowed.shape[-1]) == allowed.argmin(axis=-1)[..., None])",
    ),
    (
        "power-zero-beside-others",
        "forgotten case",
        "weights = np.where(zero.any(axis=-1, keepdims=True), concentrated, weights)",
        "weights = np.where(zero, concentrated, weights)",
    ),
    (
        "power-floor",
        "forgotten case",
        "floored = np.maximum(dispersion, FLOOR * table.scatter)",
        "floored = dispersion",
    ),
    (
        "power-constant-feature",
        "forgotten case",
        "return softmax(np.where(table.varying, logits, -np.inf))",
        "return softmax(logits)",
    ),
    (
        "entropy-logits",
        "sign",
        "softmax((allowed.min(axis=-1, keepdims=True) - allowed) / positive)",
        "softmax((allowed - allowed.min(axis=-1, keepdims=True)) / positive)",
    ),
)
among(
    "_core/functions.py",
    (
        "entropy-sum",
        "sign",
        "(values * log(np.where(values > 0, values, 1.0))).sum(axis=-1)",
        "-(values * log(np.where(values > 0, values, 1.0))).sum(axis=-1)",
        "tests/_core/test_functions.py",
    ),
)
among(
    "weighting/base.py",
    (
        "normalize-over-clusters",
        "axis",
        "total = values.sum(axis=-1, keepdims=True)",
        "total = values.sum(axis=-2, keepdims=True)",
    ),
)
among(
    "_support/copies.py",
    (
        "take-keeps-all-starts",
        "stale batch",
        "{k: v[starts] for k, v",
        "{k: v[: len(v[starts])] for k, v",
        "tests/selection/test_exponents.py",
    ),
)
among(
    "weighting/entropy.py",
    (
        "entropy-auto-counts-constant-features",
        "off by one",
        "(parts * table.n_varying)",
        "(parts * table.varying.size)",
    ),
    (
        "entropy-mean-without-mass",
        "forgotten weight",
        'context.mass[..., None] if self.dispersion == "mean" else 1.0',
        "1.0",
    ),
    (
        "entropy-term-twice",
        "forgotten case",
        'if self.dispersion == "mean":\n            return weighted_dispersion',
        'if self.dispersion == "none":\n            return weighted_dispersion',
    ),
    (
        "entropy-strength-of-first-start",
        "axis",
        "(gamma[..., 0] if gamma.ndim else gamma)",
        "(gamma[0] if gamma.ndim else gamma)",
        "tests/laws/test_batches.py",
    ),
)
among(
    "weighting/power.py",
    (
        "shared-power-first-cluster",
        "dropped join",
        "table, total = context.table, dispersion.sum(axis=-2, keepdims=True)",
        "table, total = context.table, dispersion[..., :1, :]",
    ),
    (
        "huang-zero-counts",
        "forgotten case",
        "power(np.where(zero, np.inf, total), np.maximum(self.beta, 1.0), table)",
        "power(total, np.maximum(self.beta, 1.0), table)",
        "tests/laws/test_mixed.py::"
        "test_a_category_along_which_clusters_part_has_no_weight_by_the_published_rule",
    ),
    (
        "effective-power",
        "off by one",
        "np.where(positive, values, 1.0)) * beta,",
        "np.where(positive, values, 1.0)) * (beta - 1),",
    ),
    (
        "refresh-keeps-the-constant",
        "stale constant",
        'if "constant" not in memory or self._is("refresh"):',
        'if "constant" not in memory:',
    ),
    (
        "inside-without-mass",
        "forgotten weight",
        'constant * context.mass[..., None] if self._is("inside") else constant',
        "constant",
    ),
    (
        "inside-without-offset",
        "forgotten weight",
        'if not self._is("inside"):\n            return super()',
        'if not self._is("outside"):\n            return super()',
    ),
    (
        "frozen-mean-of-all-features",
        "off by one",
        "total / (dispersion.shape[-2] * table.n_varying)",
        "total / (dispersion.shape[-2] * table.varying.size)",
    ),
)
among(
    "weighting/radius.py",
    (
        "radius-zero-gets-nothing",
        "forgotten case",
        "weights = np.where(some, share(zero | ~some), weights)",
        "weights = np.where(some & ~zero.any(), share(zero | ~some), weights)",
    ),
    ("radius-over-clusters", "axis", "inverse.sum(axis=-1,", "inverse.sum(axis=-2,"),
)
among(
    "weighting/self_adjusting.py",
    (
        "fwsa-forgets-previous",
        "stale weights",
        "np.repeat((previous + target) / 2.0,",
        "np.repeat(target,",
    ),
    (
        "fwsa-separation",
        "sign",
        "between = np.maximum(table.scatter - within, 0.0)",
        "between = np.maximum(within - table.scatter, 0.0)",
    ),
    (
        "fwsa-safeguard",
        "sign",
        ">= _separation(previous, within, between)",
        "<= _separation(previous, within, between)",
    ),
)
among(
    "weighting/group_entropy.py",
    (
        "groups-without-their-weight",
        "forgotten weight",
        "partition.entropy(partition.spread(omega) * dispersion, eta",
        "partition.entropy(dispersion, eta",
    ),
    (
        "groups-lam-is-eta",
        "swapped",
        '{"lam": scatter / n_groups, "eta": scatter / table.n_varying}',
        '{"eta": scatter / n_groups, "lam": scatter / table.n_varying}',
    ),
    (
        "groups-of-previous-weights",
        "stale weights",
        "            partition.sum(values * dispersion),\n",
        "            partition.sum(context.previous.values * dispersion),\n",
    ),
    (
        "groups-effective",
        "forgotten weight",
        "np.take(omega, groups, axis=-1) * weights.values",
        "1.0 * weights.values",
    ),
)
among(
    "weighting/pairs.py",
    ("pairs-cross-term", "forgotten weight", "+ 4.0 * second**2", "+ 2.0 * second**2"),
    (
        "pairs-blocks-not-added",
        "dropped join",
        "return tuple(map(CrossProducts.plus, before, after))",
        "return before",
    ),
)
among(
    "weighting/synclus.py",
    (
        "synclus-degrees-of-freedom",
        "off by one",
        "float((shared * between).sum()) / (filled - 1)",
        "float((shared * between).sum()) / filled",
    ),
    (
        "synclus-last-group-only",
        "dropped join",
        "size += float(shares[number]",
        "size = float(shares[number]",
    ),
    (
        "synclus-centred-gram",
        "forgotten weight",
        "gram - 4.0 * np.outer(part, part)",
        "gram - 2.0 * np.outer(part, part)",
    ),
)
among(
    "weighting/nonnegative.py",
    (
        "nonnegative-unscaled",
        "forgotten weight",
        "slope = slope / self._size\n",
        "slope = slope / 1.0\n",
    ),
)

# ---- centers ------------------------------------------------------------------------------------

among(
    "centers/mean.py",
    (
        "mean-about-the-last-center",
        "stale reference",
        "mean = statistics.reference + statistics.sums",
        "mean = before + statistics.sums",
        "tests/_engine/test_statistics.py tests/_core/test_updates.py",
    ),
    (
        "mean-minimises-everything",
        "forgotten case",
        'if not np.all(self.p == getattr(dissimilarity, "p", None)):\n            return False',
        'if not np.all(self.p == getattr(dissimilarity, "p", None)):\n            return True',
    ),
)
among(
    "centers/categories.py",
    (
        "mode-last-of-ties",
        "wrong tie",
        "mode = counts[..., first:last].argmax(axis=-1)",
        "mode = last - first - 1 - counts[..., first:last][..., ::-1].argmax(axis=-1)",
        "tests/laws/test_mixed.py",
    ),
    (
        "frequencies-over-all-features",
        "axis",
        "counts / np.where(known, layout.levels(totals), 1.0)",
        "counts / np.where(known, counts.sum(axis=-1, keepdims=True), 1.0)",
        "tests/laws/test_mixed.py",
    ),
    (
        "categories-unobserved-move",
        "forgotten case",
        "return np.where(known, centers, before)",
        "return centers",
        "tests/laws/test_mixed.py tests/laws/test_missing.py",
    ),
)
among(
    "centers/direction.py",
    (
        "direction-without-reference",
        "forgotten weight",
        "totals = statistics.sums + mass * statistics.reference",
        "totals = statistics.sums + statistics.reference",
    ),
    (
        "direction-over-clusters",
        "axis",
        "(total * total).sum(axis=-1, keepdims=True)",
        "(total * total).sum(axis=-2, keepdims=True)",
    ),
    (
        "direction-last-space",
        "off by one",
        "np.unique(spaces[spaces >= 0])",
        "np.unique(spaces[spaces >= 0])[:1]",
    ),
)
among(
    "centers/minkowski.py",
    (
        "median-of-an-even-number",
        "wrong tie",
        "self._finish(points / 2 + s.above / 2, np.abs(s.slope + s.equal) <= even)",
        "self._finish(points, np.abs(s.slope + s.equal) <= even)",
    ),
    (
        "midrange-is-the-minimum",
        "sign",
        "    return low / 2 + high / 2\n",
        "    return low / 2 + low / 2\n",
    ),
    (
        "minkowski-first-guess-only",
        "forgotten case",
        "centers[going[done]] = search.found[done]",
        "centers[going[done]] = search.points[done]",
    ),
    (
        "minkowski-labels-of-other-starts",
        "stale label",
        "SlopesAt(points, power[going], starts[going])",
        "SlopesAt(points, power[going], np.arange(len(points)))",
    ),
    (
        "minkowski-exponents-of-other-starts",
        "stale batch",
        "SlopesAt(points, power[going], starts[going])",
        "SlopesAt(points, power[: len(points)], starts[going])",
        "tests/selection/test_exponents.py",
    ),
    (
        "minkowski-one-model-for-all-exponents",
        "stale batch",
        "_beside_rows(points[here], part, float(own))",
        "_beside_rows(points[here], part, float(p[0]))",
        "tests/selection/test_exponents.py",
    ),
    (
        "minkowski-step-bent-the-wrong-way",
        "sign",
        "third = np.where(right, slopes.third, -slopes.third) - known_back + known_ahead",
        "third = np.where(right, -slopes.third, slopes.third) - known_back + known_ahead",
    ),
    (
        "minkowski-error-forgotten",
        "forgotten case",
        "return guess, np.where(close, error, np.inf)",
        "return guess, np.where(close, 0.0, np.inf)",
    ),
    (
        "minkowski-large-exponents-always-done",
        "forgotten case",
        "return step, np.where((p >= 4) & halley & (size <= 0.01 * spread), error, np.inf)",
        "return step, np.where((p >= 4) & halley, 0.0, np.inf)",
    ),
    (
        "minkowski-starts-wait-for-each-other",
        "stale batch",
        "np.mean(going, axis=(-2, -1), keepdims=True) > 0.1",
        "np.mean(going) > 0.1",
    ),
    (
        "minkowski-steering-leaves-the-values",
        "forgotten case",
        "new = np.where((new > low) & (new < high), new, low / 2 + high / 2)",
        "new = np.where(np.isfinite(new), new, low / 2 + high / 2)",
    ),
    (
        "minkowski-brackets-of-other-starts",
        "stale batch",
        "setattr(kept, name, getattr(self, name)[starts])",
        "setattr(kept, name, getattr(self, name)[: starts.sum()])",
    ),
)

# ---- dissimilarities ----------------------------------------------------------------------------

among(
    "dissimilarities/minkowski.py",
    (
        "zero-by-the-whole-table",
        "wrong scale",
        "numbers[(numbers <= known)",
        "numbers[(numbers <= 1e-12 * layout.numbers_of(table.scatter))",
        "tests/laws/test_extremes.py",
    ),
    (
        "rounded-center-far-away",
        "forgotten case",
        "dispersion[beyond] -= residue[beyond]",
        "dispersion[beyond] -= 0.0",
        "tests/laws/test_extremes.py",
    ),
    (
        "combine-first-cluster",
        "dropped join",
        "dispersion = dispersion.sum(axis=-2, keepdims=True)",
        "dispersion = dispersion[:, :1]",
    ),
    (
        "combine-largest",
        "dropped join",
        "(weights * dispersion).max(axis=(-2, -1))",
        "(weights * dispersion)[:, 0].max(axis=-1)",
    ),
    (
        "distances-without-scale",
        "forgotten weight",
        "weights = assignment.weights * assignment.scale[:, None, None]",
        "weights = assignment.weights",
        "tests/laws/test_exact_labels.py",
    ),
    (
        "category-cost",
        "sign",
        "1.0 - 2.0 * frequencies + squares",
        "1.0 - 2.0 * frequencies - squares",
        "tests/laws/test_mixed.py",
    ),
    (
        "category-never-seen",
        "off by one",
        "costs[..., layout.offsets[1:] - 1] = 1.0",
        "costs[..., layout.offsets[:-1]] = 1.0",
        "tests/laws/test_mixed.py",
    ),
    (
        "dispersion-counts-missing-cells",
        "forgotten weight",
        "moved *= statistics.observed",
        "moved *= statistics.mass[..., None]",
        "tests/laws/test_missing.py",
    ),
    (
        "dispersion-about-the-center",
        "sign",
        "dispersion = statistics.squares - moved\n",
        "dispersion = statistics.squares + moved\n",
    ),
    (
        "lost-digits-stay-lost",
        "forgotten case",
        "lost = (cancels > 1e5 * dispersion) & (1e-14 * cancels > known)",
        "lost = (cancels > 1e5 * dispersion) & (1e-14 * cancels < known)",
    ),
    (
        "rounding-of-another-cluster",
        "axis",
        "own = (costs + offsets).argmin(axis=-1)",
        "own = (costs + offsets).argmax(axis=-1)",
    ),
)
among(
    "dissimilarities/directions.py",
    (
        "directions-cross-term",
        "forgotten weight",
        "along, moved = 2.0 * step * statistics.sums,",
        "along, moved = step * statistics.sums,",
        "tests/centers/test_direction.py tests/estimators/test_convex.py",
    ),
)

# ---- the engine ---------------------------------------------------------------------------------

among(
    "_engine/state.py",
    (
        "offsets-without-scale",
        "forgotten weight",
        "offsets = rule.offsets(weights) / scale[:, None]",
        "offsets = rule.offsets(weights)",
    ),
)
among(
    "_engine/loop.py",
    (
        "empty-clusters-keep-odd-weights",
        "stale weights",
        "updated = without_rows(updated, statistics, recipe, table)\n",
        "without_rows(updated, statistics, recipe, table)\n",
    ),
    (
        "objective-of-old-weights",
        "stale weights",
        "moved = assignment_of(recipe.weighting, centers, updated)",
        "moved = assignment_of(recipe.weighting, centers, weights)",
    ),
    (
        "labels-never-the-same",
        "sign",
        "else statistics.fingerprint == fingerprint",
        "else statistics.fingerprint != fingerprint",
    ),
    (
        "parameters-of-other-starts",
        "stale batch",
        "recipe, table = recipe.take(going), table.take(going)",
        "recipe, table = recipe.take(np.arange(going.sum())), table.take(going)",
        "tests/selection/test_exponents.py",
    ),
    (
        "circle-without-its-first-labels",
        "off by one",
        "for earlier in range(len(prints) - 2, -1, -1):",
        "for earlier in range(len(prints) - 2, 0, -1):",
    ),
    (
        "circle-ends-anywhere",
        "forgotten case",
        "lowest = np.minimum(lowest, history[earlier][active])",
        "lowest = lowest + 0.0",
    ),
    (
        "offsets-without-mass",
        "forgotten weight",
        "(assignment.offsets * context.mass).sum(axis=-1)",
        "assignment.offsets.sum(axis=-1)",
    ),
    (
        "rest-without-weights",
        "forgotten case",
        "still &= _all(np.abs(weights_after.values - weights_before.values) <= limit)",
        "still &= _all(np.abs(weights_after.values - weights_before.values) >= 0)",
    ),
)
among(
    "_engine/statistics.py",
    (
        "updates-forget-squares",
        "dropped join",
        "fingerprint=changes.fingerprint, changed=changes.changed)",
        "fingerprint=changes.fingerprint, changed=changes.changed, squares=changes.squares)",
    ),
    (
        "updates-about-new-centers",
        "stale reference",
        "reference = np.where(update[:, None, None], total.reference, reference)",
        "reference = reference + 0.0",
    ),
    (
        "updates-add-fingerprints",
        "stale label",
        "sums = sums._replace(fingerprint=changes.fingerprint, changed=changes.changed)",
        "sums = sums._replace(changed=changes.changed)",
    ),
    (
        "updates-of-far-centers",
        "forgotten case",
        "return few & near & (self._age < _OLD)",
        "return few & (self._age < _OLD)",
    ),
    (
        "updates-lose-digits",
        "forgotten case",
        "return lost & update\n",
        "return lost & ~update\n",
    ),
    (
        "updates-leave-mass-behind",
        "forgotten case",
        "mass=np.where(full, sums.mass, 0.0),",
        "mass=np.where(full, sums.mass, 1e-9),",
    ),
    (
        "labels-kept-of-other-starts",
        "stale label",
        "self._kept = self._kept[going]",
        "self._kept = self._kept[: going.sum()]",
    ),
    (
        "labels-kept-not-numbered-again",
        "stale label",
        "        self._kept = np.arange(self._kept.size)\n",
        "",
    ),
    (
        "updates-lose-observed-cells",
        "forgotten case",
        "return statistics.mass[..., None], statistics.squares, statistics.observed\n",
        "return statistics.mass[..., None], statistics.squares, statistics.mass[..., None]\n",
    ),
    (
        "peaks-of-other-starts",
        "stale batch",
        "self._peaks = [peak[going] for peak in self._peaks]",
        "self._peaks = [0.0 * peak[going] for peak in self._peaks]",
    ),
)
among(
    "_engine/statistics.py",
    (
        "recount-by-other-exponents",
        "stale batch",
        "part = part if starts is None else part.take(starts)",
        "part = part if starts is None else part.take(np.arange(starts.size))",
        "tests/selection/test_exponents.py",
    ),
)
among(
    "selection/standardized.py",
    (
        "missing-numbers-are-zero",
        "forgotten case",
        "np.where(np.isnan(numbers), self.usual_numbers, numbers)",
        "np.where(np.isnan(numbers), 0.0, numbers)",
    ),
    (
        "missing-categories-are-the-first",
        "forgotten case",
        "np.where(codes < 0, self.usual_codes, codes)",
        "np.where(codes < 0, 0, codes)",
    ),
)
among(
    "estimators/batches.py",
    (
        "scatter-of-other-exponents",
        "forgotten case",
        'if any(getattr(rule, "uses_scatter", True) for rule in rules):',
        "if not rules:",
    ),
    (
        "numbers-that-all-starts-share",
        "stale batch",
        "if name not in own}",
        "if name not in own and isinstance(value, str)}",
    ),
)
among(
    "_engine/empty.py",
    (
        "empty-counts-rows-only",
        "forgotten weight",
        " | (statistics.mass[starts] > 1.0)",
        "",
    ),
    (
        "empty-filled-for-other-exponents",
        "stale batch",
        "centers_of(rows, table.take(starts))",
        "centers_of(rows, table.take(np.arange(len(starts))))",
        "tests/selection/test_exponents.py",
    ),
    (
        "empty-far-by-other-exponents",
        "stale batch",
        "dissimilarity = recipe.dissimilarity.take(starts)",
        "dissimilarity = recipe.dissimilarity.take(np.arange(len(starts)))",
        "tests/selection/test_exponents.py",
    ),
    (
        "empty-last-cluster-first",
        "wrong tie",
        "clusters = empty[moved].argmax(axis=-1)",
        "clusters = empty.shape[-1] - 1 - empty[moved][:, ::-1].argmax(axis=-1)",
    ),
    (
        "empty-takes-an-only-row",
        "off by one",
        "statistics.rows[starts] > 1",
        "statistics.rows[starts] > 0",
    ),
    (
        "empty-keeps-weights",
        "stale weights",
        "        weights = _with_initial(weights, moved, clusters, recipe, table)\n",
        "",
    ),
)
among(
    "_engine/recipe.py",
    (
        "one-category-varies",
        "off by one",
        ".astype(np.float64)) > 1\n",
        ".astype(np.float64)) > 0\n",
        "tests/laws/test_mixed.py",
    ),
)

# ---- starts -------------------------------------------------------------------------------------

among(
    "_init/entities.py",
    ("floyd-short", "off by one", "last = below - n + step", "last = below - n"),
    (
        "candidates-weigh-as-if-sampled-alone",
        "lost weight",
        "np.log1p(-share) - expected",
        "np.log1p(-share) - 0.0 * expected",
    ),
    (
        "one-round-of-candidates",
        "early stop",
        "if far.potential <= MISSED * potential:",
        "if True:",
    ),
    (
        "nearest-rows-by-openmp",
        "hang after a fork",
        "    return nearest_rows(rows, centers)",
        "    from sklearn.metrics import pairwise_distances_argmin_min\n\n"
        "    labels, away = pairwise_distances_argmin_min(rows, centers)\n"
        "    return labels, away**2",
        "tests/test_forks.py",
    ),
)
among(
    "_init/far_rows.py",
    (
        "far-rows-numbered-by-place",
        "lost weight",
        "own = begin + np.cumsum(there) - 1",
        "own = begin + np.arange(there.size)",
    ),
    ("far-rows-without-weights", "lost weight", "chance *= weight[piece]", "pass"),
    ("far-rows-begin-again", "off by one", "begin += int(there.sum())", "begin += 0"),
    (
        "nearest-rows-without-root",
        "unit",
        "return labels, np.square(unit * own.astype(np.float64))",
        "return labels, np.square(unit) * own.astype(np.float64)",
    ),
)
among(
    "_init/seeds.py",
    (
        "seeds-overlap",
        "off by one",
        ".advance(int(starts.start) * int(n))",
        ".advance(int(starts.start))",
    ),
)
among(
    "_init/weights.py",
    (
        "random-weights-of-one-cluster",
        "axis",
        "n_own = 1 if rule.shared else n_clusters",
        "n_own = 1",
    ),
)
among(
    "_init/pattern_passes.py",
    (
        "farthest-by-rounding",
        "wrong tie",
        "return order[np.lexsort((-order if last_of_ties else order, level))]",
        "return order",
    ),
    (
        "farthest-last-of-equals",
        "wrong tie",
        "-order if last_of_ties else order, level",
        "order if last_of_ties else -order, level",
    ),
    (
        "farthest-first-of-many-equals",
        "wrong tie",
        "tied[-self.n :] if self.last_of_ties else tied[: self.n]",
        "tied[: self.n]",
    ),
    (
        "far-rows-of-one-block",
        "dropped join",
        "both = [*before, *after]",
        "both = [*before]",
    ),
    (
        "far-rows-counted-from-the-block",
        "off by one",
        "(near + block.first_row).tolist()",
        "near.tolist()",
        "tests/_init tests/laws/test_hostile_source.py",
    ),
    (
        "largest-distances-of-one-block",
        "dropped join",
        "self._largest(np.concatenate([before, after]))",
        "self._largest(before)",
        "tests/_init tests/laws/test_hostile_source.py",
    ),
    (
        "near-rows-of-other-blocks-only",
        "forgotten case",
        "near[here, own[here]] = False",
        "near[here] = False",
    ),
    (
        "mark-the-first-row",
        "off by one",
        "labels[0, self.index - block.first_row] = 1",
        "labels[0, 0] = 1",
    ),
    (
        "taken-rows-keep-their-weight",
        "stale weights",
        "left[self.index - block.first_row] = False",
        "left[self.index - block.first_row] = True",
    ),
    (
        "weights-taken-in-place",
        "changed in place",
        "            left = left.copy()\n",
        "",
        "tests/_init tests/laws/test_hostile_source.py",
    ),
    (
        "distances-taken-with-the-pattern",
        "stale rows",
        'np.asarray(memory["distance"][_weight_of(block) > 0]), memory',
        'np.asarray(memory["distance"][: (_weight_of(block) > 0).sum()]), memory',
    ),
    (
        "pattern-without-sample-weight",
        "forgotten weight",
        'return None, {**_given(memory), "left": marked & memory["left"]}',
        'return None, {"left": marked & memory["left"]}',
    ),
    (
        "anomalous-nearest-first",
        "sign",
        'np.argsort(-distance, kind="stable")',
        'np.argsort(distance, kind="stable")',
    ),
)
among(
    "_init/anomalous.py",
    (
        "copied-rows-without-weight",
        "forgotten weight",
        "            weight,\n            levels=None if layout",
        "            np.ones_like(weight),\n            levels=None if layout",
    ),
    (
        "smallest-of-a-circle",
        "sign",
        "return max(circle,",
        "return min(circle,",
    ),
    (
        "filled-beside-the-last-center",
        "off by one",
        "table, centers[:at])",
        "table, centers[: max(1, at - 1)])",
    ),
    (
        "patterns-in-order-of-finding",
        "forgotten case",
        "sorted(patterns, key=lambda pattern: -pattern.mass)[:n_clusters]",
        "patterns[:n_clusters]",
    ),
)

# ---- sources ------------------------------------------------------------------------------------

among(
    "sources/chunks.py",
    (
        "block-begins-at-zero",
        "off by one",
        "Block(rows, own, begin, self.n_threads",
        "Block(rows, own, 0, self.n_threads",
    ),
    (
        "block-with-the-first-weights",
        "stale weights",
        "weight[begin : begin + len(rows)]",
        "weight[: len(rows)]",
    ),
    (
        "reweighted-forgets-the-view",
        "stale rows",
        "self._with(sample_weight=sample_weight, n_threads=n_threads)",
        "self._with(sample_weight=sample_weight, n_threads=n_threads, seen=None)",
    ),
    (
        "second-view-forgets-the-first",
        "stale rows",
        "transform if first is None else _Composed(first, transform)",
        "transform",
    ),
    (
        "spill-forgets-a-block",
        "dropped join",
        "                done += self._file.write(cells[done:].data)\n",
        "                done += self._file.write((cells[done:] * 0 if begin else cells).data)\n",
    ),
    (
        "spill-over-the-last-block",
        "off by one",
        "begin = self._file.seek(0, os.SEEK_END)",
        "begin = max(0, self._file.seek(0, os.SEEK_END) - array.itemsize)",
    ),
)
among(
    "sources/dask.py",
    (
        "all-blocks-begin-at-zero",
        "off by one",
        "[before[at] for at in self._places]",
        "[0 for at in self._places]",
    ),
    (
        "row-memory-of-dask-forgotten",
        "lost update",
        "if self._kept is None:\n            return cells",
        "if self._kept is not self:\n            return cells",
    ),
    (
        "row-memory-of-another-block",
        "wrong index",
        "for place, block in enumerate(group)",
        "for place, block in enumerate(sorted(group))",
    ),
    (
        "weights-of-dask-forgotten",
        "lost weight",
        "[None if self._weight is None else self._weight.keys[at] for at in group]",
        "[None for at in group]",
    ),
)
among(
    "sources/dask_tasks.py",
    (
        "parts-of-workers-unordered",
        "order of sums",
        "Parts(join_neighbors(ordered, _join_of(by)))",
        "Parts(join_neighbors(ordered[::-1], _join_of(by)))",
    ),
    (
        "row-memory-of-tasks-is-changed",
        "changed argument",
        "    view.flags.writeable = False\n    return view",
        "    return view",
    ),
)
among(
    "sources/dask_lines.py",
    (
        "strangers-have-lines",
        "dropped check",
        "if not hmac.compare_digest(told, key):",
        "if len(told) != len(key):",
    ),
    (
        "lines-keep-actors-alive",
        "leak",
        "given = Number(host, door.getsockname()[1], key), (door, key, weakref.ref(actor))",
        "given = Number(host, door.getsockname()[1], key), (door, key, lambda: actor)",
    ),
)
among(
    "sources/dask_actors.py",
    (
        "weights-in-row-memory-of-actors-forgotten",
        "lost weight",
        "blocks = list(map(as_weighted, self._blocks, self._memories))",
        "blocks = self._blocks",
    ),
    (
        "workers-out-of-reach-are-called-again",
        "lost update",
        "_UNREACHED.add(self._client)",
        "pass",
    ),
    (
        "a-pass-is-done-twice",
        "repeated update",
        "if number > self._number:",
        "if number >= self._number:",
    ),
    (
        "lost-row-memory-is-not-made-again",
        "lost update",
        "for reduction in again:",
        "for reduction in again[:0]:",
    ),
    (
        "void-sources-are-used",
        "dropped check",
        "if number != self.number:",
        "if number > self.number:",
    ),
)
among(
    "sources/describe.py",
    (
        "second-look-elsewhere",
        "sign",
        "moments = source.reduce(_MomentsAbout(_finite(mean)))",
        "moments = source.reduce(_MomentsAbout(_finite(-mean)))",
    ),
    (
        "moments-of-the-last-block",
        "dropped join",
        "return before.plus(after)",
        "return after",
    ),
)
among(
    "sources/directions.py",
    (
        "unit-length-by-sum",
        "axis",
        "np.sqrt((part[known] ** 2).sum(axis=1))[:, None]",
        "np.abs(part[known]).sum(axis=1)[:, None]",
        "tests/centers/test_direction.py tests/estimators/test_convex.py",
    ),
)
among(
    "sources/base.py",
    (
        "tree-joins-the-wrong-way-round",
        "wrong order",
        "joined = join(pending.pop()[2], joined)",
        "joined = join(joined, pending.pop()[2])",
    ),
    (
        "tree-joins-the-rest-the-wrong-way-round",
        "wrong order",
        "whole = join(part, whole)",
        "whole = join(whole, part)",
    ),
    (
        "tree-is-a-list",
        "wrong order",
        "== (first - size, size) and first % (2 * size) == size:",
        "== (first - size, size):",
    ),
    (
        "tree-forgets-the-rest",
        "dropped join",
        "in reversed(before):",
        "in reversed(before[1:]):",
    ),
    (
        "weights-in-memory-ignored",
        "stale weights",
        'if "weight" in memory:',
        'if "weights" in memory:',
        "tests/sources tests/_init tests/estimators/test_gaps.py",
    ),
    (
        "memory-of-the-first-run",
        "stale rows",
        "return whole, self._with(_memory=tuple(memories))",
        "return whole, self._with(_memory=self._memory or tuple(memories))",
        "tests/sources tests/_init tests/_engine",
    ),
    (
        "memory-gathered-backwards",
        "wrong order",
        "for memory in self._memory or () if memory]",
        "for memory in reversed(self._memory or ()) if memory]",
    ),
    (
        "forget-all-the-others",
        "sign",
        "if k != name}",
        "if k == name}",
        "tests/sources tests/estimators",
    ),
    (
        "gaps-never-stretch",
        "stale flag",
        "return self._with(gaps=True, stretch=stretch)",
        "return self._with(gaps=True)",
        "tests/sources tests/estimators/test_gaps.py tests/laws/test_missing.py",
    ),
)
among(
    "sources/gaps.py",
    (
        "gaps-without-sample-weight",
        "forgotten weight",
        "weight = weight * block.sample_weight",
        "weight = weight * 1.0",
        "tests/laws/test_missing.py",
    ),
    (
        "gaps-without-categories",
        "off by one",
        "weight = in_column.size / np.maximum",
        "weight = self.numeric.size / np.maximum",
        "tests/laws/test_missing.py tests/laws/test_mixed.py",
    ),
    (
        "observed-in-the-first-rows",
        "off by one",
        "int(row) + block.first_row for row",
        "int(row) for row",
        "tests/sources/test_describe.py",
    ),
    (
        "observed-in-the-first-block",
        "dropped join",
        "before.in_column + after.in_column,",
        "before.in_column,",
        "tests/sources/test_describe.py",
    ),
    (
        "missing-in-the-first-block",
        "dropped join",
        "before.missing + after.missing,",
        "before.missing,",
        "tests/sources/test_describe.py",
    ),
    (
        "hollow-rows-of-the-first-block",
        "dropped join",
        "before.n_empty + after.n_empty,",
        "before.n_empty,",
        "tests/sources/test_describe.py",
    ),
    (
        "hollow-rows-out-of-order",
        "wrong order",
        "(before.empty + after.empty)[:_SHOWN]",
        "(after.empty + before.empty)[:_SHOWN]",
        "tests/sources/test_describe.py",
    ),
)
among(
    "sources/entities.py",
    (
        "rows-drawn-among-all",
        "forgotten weight",
        "return places if there is None else there[places]",
        "return places if there is None else there[:0].size + places",
    ),
    (
        "rows-without-the-last-of-a-block",
        "off by one",
        "[begin, begin + n_there])",
        "[begin, begin + n_there - 1])",
    ),
    (
        "rows-before-counted-with-the-block",
        "off by one",
        "Present(whole[:, 0], ends - whole[:, 1], int(ends[-1]))",
        "Present(whole[:, 0], ends, int(ends[-1]))",
    ),
    (
        "rows-joined-backwards",
        "wrong order",
        "before.entities.plus(after.entities)",
        "after.entities.plus(before.entities)",
    ),
    (
        "weights-joined-backwards",
        "wrong order",
        "np.concatenate([before.sample_weight, after.sample_weight])",
        "np.concatenate([after.sample_weight, before.sample_weight])",
    ),
    (
        "rows-with-the-first-weights",
        "stale weights",
        "None if weight is None else weight[places]), memory",
        "None if weight is None else weight[: places.size]), memory",
    ),
    (
        "rows-in-order-of-the-file",
        "wrong order",
        "return Drawn(drawn.entities.take(inverse), weight)",
        "return Drawn(drawn.entities.take(np.sort(inverse)), weight)",
    ),
    (
        "missing-number-is-zero",
        "forgotten case",
        "np.where(np.isnan(points), layout.points(table.center), points)",
        "np.where(np.isnan(points), 0.0, points)",
        "tests/laws/test_missing.py",
    ),
    (
        "missing-category-is-none",
        "forgotten case",
        "found[absent, own] = otherwise[absent, own]",
        "found[absent, own] = 0.0",
    ),
)

# ---- passes over the rows -----------------------------------------------------------------------

among(
    "typing.py",
    (
        "join-forgets-counts",
        "dropped join",
        "return Statistics._make([*sums, here.reference])",
        "return Statistics._make([*sums, here.reference])._replace(counts=self.counts)",
        "tests/sources tests/laws/test_hostile_source.py",
    ),
    (
        "join-forgets-cells",
        "dropped join",
        "sums: list[Any] = [None if a is None else a + b for a, b in pairs]",
        "sums: list[Any] = [None if a is None else a + b for a, b in pairs]\n"
        "        sums[4] = self.cells",
        "tests/sources tests/laws/test_hostile_source.py",
    ),
    (
        "scaled-forgets-squares",
        "forgotten weight",
        "            squares=factor * self.squares,\n",
        "",
        "tests/test_typing.py",
    ),
    (
        "about-without-half-of-the-product",
        "forgotten weight",
        "(2.0 * self.sums + self.observed * step) * step",
        "(self.sums + self.observed * step) * step",
        "tests/test_typing.py",
    ),
    (
        "about-the-other-way",
        "sign",
        "step = self.reference - reference",
        "step = reference - self.reference",
        "tests/test_typing.py",
    ),
    (
        "put-changes-the-whole-in-place",
        "changed in place",
        "[None if whole is None else whole.copy() for whole in self]",
        "list(self)",
        "tests/test_typing.py",
    ),
    (
        "take-the-first-levels",
        "stale rows",
        "return Entities(self.numbers[which], self.levels[which])",
        "return Entities(self.numbers[which], self.levels[: len(which)])",
        "tests/sources",
    ),
    (
        "weights-remember-other-starts",
        "stale batch",
        "{key: m[starts] for key, m in self.memory.items()}",
        "{key: m[: len(m[starts])] for key, m in self.memory.items()}",
        "tests/laws/test_batches.py",
    ),
)
among(
    "_core/passes.py",
    (
        "labels-of-other-starts",
        "stale label",
        "known[self.labels.kept]  # a copy",
        "known[: self.labels.kept.size].copy()",
        "tests/_engine/test_statistics.py tests/laws/test_batches.py tests/centers",
    ),
    (
        "labels-changed-in-place",
        "changed in place",
        "known[self.labels.kept]  # a copy",
        "known",
        "tests/_engine/test_statistics.py tests/laws/test_hostile_source.py",
    ),
    (
        "labels-not-replaced",
        "stale label",
        'left["labels"] = all_labels',
        'left.setdefault("labels", all_labels)',
        "tests/_engine/test_statistics.py tests/laws/test_hostile_source.py",
    ),
    (
        "recount-keeps-labels",
        "stale label",
        '            given.left["labels"][self.labels.starts] = given.last.labels\n',
        "            pass\n",
        "tests/_engine tests/laws/test_reference_agreement.py",
    ),
    (
        "labels-of-the-first-starts",
        "stale label",
        "return labels if starts is None else labels[starts]",
        "return labels if starts is None else labels[: starts.size]",
        "tests/centers tests/laws/test_batches.py",
    ),
    (
        "farthest-last-block-of-ties",
        "wrong tie",
        "farther = (after.distance > before.distance)[:, None]",
        "farther = (after.distance >= before.distance)[:, None]",
        "tests/_engine/test_empty.py tests/sources",
    ),
    (
        "farthest-of-the-last-block",
        "dropped join",
        "distance = np.maximum(before.distance, after.distance)",
        "distance = after.distance",
        "tests/sources",
    ),
    (
        "farthest-levels-of-the-first-block",
        "dropped join",
        "levels = np.where(farther, after.row.levels, before.row.levels)",
        "levels = before.row.levels",
        "tests/sources tests/_engine tests/laws/test_mixed.py tests/laws/test_hostile_source.py",
    ),
    (
        "labeling-adds-largest",
        "dropped join",
        "max(before[0], after[0]) if largest else before[0] + after[0]",
        "before[0] + after[0]",
        "tests/sources tests/laws/test_sources.py",
    ),
    (
        "labeling-mass-of-one-block",
        "dropped join",
        "return objective, before[1] + after[1]",
        "return objective, before[1]",
        "tests/sources tests/laws/test_hostile_source.py",
    ),
    (
        "powers-add-largest",
        "dropped join",
        "np.where(largest, np.maximum(before, after), before + after)",
        "before + after",
        "tests/_core/test_slopes.py",
    ),
)
among(
    "_core/packed.py",
    (
        "integers-of-actors-lost",
        "dropped join",
        "self.integers + other.integers, self.gaps)",
        "self.integers, self.gaps)",
        "tests/sources/test_dask_cluster.py",
    ),
    (
        "cells-of-actors-lost",
        "forgotten case",
        "np.stack(integers), gaps[0])",
        "np.stack(integers))",
        "tests/sources/test_dask_cluster.py",
    ),
)
among(
    "_core/compiled.py",
    (
        "bounds-as-the-first-block-has-them",
        "stale",
        "known = next((one for one in knowns if one and one.last), knowns[0])",
        "known = knowns[0]",
        "tests/_core/test_blocks.py",
    ),
    (
        "labeling-mass-without-weight",
        "forgotten weight",
        "_kernels.add_masses(labels, block.sample_weight, mass)",
        "_kernels.add_masses(labels, None, mass)",
        "tests/sources tests/laws/test_invariance.py tests/laws/test_objective.py",
    ),
)
among(
    "_core/array_kernels.py",
    (
        "pairs-without-sample-weight",
        "forgotten weight",
        "twice = squares if weight is None else weight[:, None] * squares",
        "twice = squares",
        "tests/weighting/test_pairs.py",
    ),
    (
        "pairs-pieces-not-added",
        "dropped join",
        "total = parts if total is None else tuple(map(CrossProducts.plus, total, parts))",
        "total = parts",
        "tests/weighting/test_pairs.py",
    ),
    (
        "observed-without-weight",
        "forgotten weight",
        "weighs = block.sample_weight[piece] > 0",
        "weighs = block.sample_weight[piece] >= 0",
        "tests/laws/test_missing.py::"
        "test_a_column_observed_only_where_there_is_no_weight_raises_by_name",
    ),
    (
        "observed-categories-of-the-last-piece",
        "dropped join",
        "in_category = in_category + xp.count_nonzero(known & weighs[:, None], axis=0)",
        "in_category = xp.count_nonzero(known & weighs[:, None], axis=0)",
        "tests/_core/test_twin.py tests/estimators/test_gaps.py",
    ),
    (
        "observed-numbers-only",
        "forgotten case",
        "counts = counts + xp.count_nonzero(known, axis=1)",
        "counts = counts + 0",
        "tests/laws/test_missing.py tests/laws/test_mixed.py",
    ),
)
among(
    "_core/compiled.py",
    (
        "core-begins-at-row-zero",
        "off by one",
        "        block.first_row,\n",
        "        0,\n",
    ),
)

# ---- the twin -----------------------------------------------------------------------------------

among(
    "_core/twin.py",
    (
        "twin-without-offsets",
        "forgotten weight",
        "labels = xp.argmin(cost + assigning.offsets[start, :], axis=-1)",
        "labels = xp.argmin(cost, axis=-1)",
    ),
    (
        "twin-neighbors-not-joined",
        "dropped join",
        "return there + xp.where(other == nearest, other_mass, zero)",
        "return there",
        "tests/_core/test_slopes.py",
    ),
    (
        "twin-curvature-of-one-part",
        "dropped join",
        "a.curvature + b.curvature,",
        "a.curvature,",
        "tests/_core/test_slopes.py",
    ),
    (
        "twin-lowest-of-one-part",
        "dropped join",
        "xp.minimum(a.low, b.low),",
        "a.low,",
        "tests/_core/test_slopes.py",
    ),
    (
        "moments-without-squares",
        "dropped join",
        "            minimum=xp.minimum(self.minimum, other.minimum),\n",
        "            squares=self.squares,\n"
        "            minimum=xp.minimum(self.minimum, other.minimum),\n",
        "tests/sources",
    ),
    (
        "moments-minimum",
        "sign",
        "xp.minimum(self.minimum, other.minimum)",
        "xp.maximum(self.minimum, other.minimum)",
        "tests/sources",
    ),
    (
        "twin-squares-without-weight",
        "forgotten weight",
        "member @ (weight[:, None] * t * t),",
        "member @ (t * t),",
    ),
    (
        "twin-objective-without-weight",
        "forgotten weight",
        "xp.where(chunk.weight > 0, chunk.weight * own, xp.zeros_like(own))",
        "xp.where(chunk.weight > 0, own, xp.zeros_like(own))",
    ),
    (
        "twin-stretch",
        "off by one",
        "n_features / xp.astype(n_features - _missing(chunk), xp.float64)",
        "n_features / xp.astype(n_features - _missing(chunk) + 1, xp.float64)",
        "tests/_core/test_mixed.py",
    ),
    (
        "twin-keeps-last-labels",
        "stale label",
        "                last.labels[r, chunk.here] = xp.astype(labels, last.labels.dtype)\n",
        "",
        "tests/_core/test_updates.py tests/_core/test_mixed.py",
    ),
)

# ---- the core -----------------------------------------------------------------------------------

among(
    "_core/cpp/assign/exact.hpp",
    (
        "core-last-of-ties",
        "wrong tie",
        "if (d < best) best = d, label = j;",
        "if (d <= best) best = d, label = j;",
    ),
    (
        "core-exact-without-offsets",
        "forgotten weight",
        "if (unit <= 1) d += offsets[j];",
        "if (unit > 1) d += offsets[j];",
    ),
    (
        "core-first-level-is-missing",
        "off by one",
        "++v) missing += levels[v] < 0;",
        "++v) missing += levels[v] <= 0;",
        "tests/_core/test_mixed.py",
    ),
    (
        "core-all-weight-is-observed",
        "forgotten weight",
        "count(weight[v], y == y);",
        "count(weight[v], true);",
        "tests/_core/test_mixed.py",
    ),
)
among(
    "_core/cpp/assign/farthest.hpp",
    (
        "core-farthest-last-of-ties",
        "wrong tie",
        "if (d > out.distance[start]) {",
        "if (d >= out.distance[start]) {",
        "tests/_engine/test_empty.py",
    ),
    (
        "core-farthest-without-weight",
        "forgotten weight",
        "if (!table.weighs(block.first + i) || !out.eligible[start * k + label]) continue;",
        "if (!out.eligible[start * k + label]) continue;",
    ),
)
among(
    "_core/cpp/assign/label.hpp",
    (
        "core-infinite-row-without-weight",
        "forgotten weight",
        "if (!table.weighs(row)) continue;  // such a row may be infinitely far",
        "",
        "tests/laws/test_extremes.py",
    ),
    (
        "core-objective-without-offset",
        "forgotten weight",
        "block.levels_of(i), own) + exactly.offsets[own];",
        "block.levels_of(i), own);",
    ),
    (
        "packed-rows-of-the-first-piece",
        "forgotten",
        "racing.panels = packed.panels + begin * m;",
        "racing.panels = packed.panels;",
        "tests/_engine/test_in_core.py",
    ),
    (
        "powers-in-single-without-slack",
        "forgotten",
        "best.value * above + tiny",
        "best.value + 0 * above * tiny",
        "tests/_core/test_kernels.py",
    ),
)
among(
    "_core/cpp/assign/minkowski.hpp",
    (
        "core-without-the-last-feature",
        "off by one",
        "    for (; v < m; ++v) {\n        const double y",
        "    for (; v + 1 < m; ++v) {\n        const double y",
        "tests/_core/test_mixed.py",
    ),
    (
        "core-largest-is-a-sum",
        "dropped join",
        "return term > sum ? term : sum;",
        "return sum + term;",
        "tests/_core/test_mixed.py",
    ),
)
among(
    "_core/cpp/assign/race.hpp",
    (
        "race-without-mask",
        "forgotten factor",
        "const auto there = y == y;",
        "const auto there = V<T>{} == V<T>{};",
        "tests/_core/test_mixed.py",
    ),
)
among(
    "_core/cpp/assign/settle.hpp",
    (
        "core-always-certain",
        "wrong tie",
        "const auto certain = second - value > slack;",
        "const auto certain = second - value > -slack;",
    ),
    (
        "core-costs-of-the-first-tile",
        "stale rows",
        "block.levels ? block.lookups + first * TILE_ROWS<T> : nullptr",
        "block.levels ? block.lookups : nullptr",
        "tests/_core/test_mixed.py",
    ),
    (
        "bounds-of-doubtful-rows",
        "forgotten case",
        "const V<T> next = certain ? second : value;",
        "const V<T> next = second;",
        "tests/_engine/test_bounds.py",
    ),
)
among(
    "_core/cpp/assign/tables.hpp",
    ("core-own-shift", "sign", "end = -s * moved", "end = s * moved"),
    (
        "core-shared-factor",
        "forgotten weight",
        "normal<T, L>(-2.0 * w * moved)",
        "normal<T, L>(-1.0 * w * moved)",
    ),
)
among(
    "_core/cpp/common/block.hpp",
    (
        "core-keys-of-the-first-block",
        "off by one",
        "block.keys[i] = key_of(table, block.first + i);",
        "block.keys[i] = key_of(table, i);",
    ),
)
among(
    "_core/cpp/common/elementwise.cpp",
    (
        "log-of-tiny-numbers",
        "forgotten case",
        "e = small ? e - 54.0 : e;",
        "",
        "tests/_core/test_elementwise.py",
    ),
    (
        "exp-without-the-rest-of-r",
        "lost digits",
        "(r * r * y + rest)",
        "(r * r * y - rest)",
        "tests/_core/test_elementwise.py",
    ),
    (
        "mean-over-missing-cells",
        "forgotten case",
        "mass = GAPS ? load<D>(old.observed + v) : D{} + old.mass;",
        "mass = D{} + old.mass;",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/common/packing.hpp",
    (
        "packed-rows-without-shift",
        "forgotten",
        "packed.shift[v] = F(shift[v]);",
        "packed.shift[v] = F(0 * shift[v]);",
        "tests/_engine/test_in_core.py",
    ),
    (
        "packed-panels-of-the-first-piece",
        "forgotten",
        "block.panels = packed.panels + begin * m;",
        "block.panels = packed.panels;",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/loop/bound_moves.hpp",
    (
        "bounds-forget-the-step",
        "forgotten",
        "add[j] = float(steps_[j] * (1 + 1e-6));",
        "add[j] = 0;",
        "tests/_engine/test_bounds.py",
    ),
    (
        "bounds-of-the-own-step",
        "wrong index",
        "(steps_[j] == most ? more : most)",
        "more",
        "tests/_engine/test_bounds.py",
    ),
    (
        "bounds-with-the-own-offset",
        "wrong row",
        "least_other[j] = in_units(own[j] == least ? less : least);",
        "least_other[j] = mine[j];",
        "tests/_engine/test_bounds.py",
    ),
    (
        "bounds-of-weights-that-leave-zero",
        "forgotten",
        "const double alpha = change.leaves_zero ? INFINITE : change.most;",
        "const double alpha = change.most;",
        "tests/_engine/test_bounds.py",
    ),
    (
        "bounds-without-shrinking",
        "forgotten factor",
        "shrink[j] = float((shrinking_[j] == least ? less : least) * (1 - 1e-6));",
        "shrink[j] = 1;",
        "tests/_engine/test_bounds.py",
    ),
    (
        "bounds-without-the-unit",
        "forgotten factor",
        "std::sqrt(change.step) * unit * (1 + 1e-6)",
        "std::sqrt(change.step) * (1 + 1e-6)",
        "tests/_engine/test_bounds.py",
    ),
)
among(
    "_core/cpp/loop/loop.hpp",
    (
        "core-loop-moved-cluster-keeps-weights",
        "forgotten",
        "std::copy(problem_.initial, problem_.initial + m(),",
        "std::copy(problem_.initial, problem_.initial,",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-loop-keeps-lost-digits",
        "forgotten",
        "new_.dispersion[i] = passes_.total().squares[i];",
        "",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-labels-by-centers-before-rounding",
        "forgotten",
        "centers.push_back(double(T(found[i])));",
        "centers.push_back(found[i]);",
        "tests/_engine/test_in_core.py",
    ),
    (
        "final-labels-without-rounded-centers",
        "forgotten",
        "const Decision now{by.starts.centers, by.starts.weights, rule_.n_own(), offsets};",
        "const Decision now{known.decision.centers, by.starts.weights, rule_.n_own(), offsets};",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/loop/rules.hpp",
    (
        "core-rule-constant-features-have-weight",
        "forgotten case",
        "if (!rule_.varying[v]) out[v] = 0;",
        "if (!rule_.varying[v]) out[v] = 1;",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-rule-entropies-of-the-last-weights",
        "stale",
        "else update_clusters(dispersion, mass, before, after);\n        measure(after);",
        "else update_clusters(dispersion, mass, before, after);",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-rule-constant-of-each-row",
        "forgotten factor",
        "after.constant * mass[j]",
        "after.constant",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-rule-floor",
        "forgotten",
        "FLOOR * rule_.scatter[v] : dispersion[v]",
        "0.0 : dispersion[v]",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-rule-guard-forgotten",
        "forgotten",
        "row_[v] += own_.guard;",
        "row_[v] += 0;",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-rule-group-weights-forgotten",
        "forgotten factor",
        "? omega[t] * dispersion[members[i]] : INF",
        "? dispersion[members[i]] : INF",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/loop/starts.hpp",
    (
        "core-labels-never-by-the-first-start",
        "forgotten",
        "if (!outcomes[start].given_up && outcomes[start].objective <= lowest",
        "if (start && !outcomes[start].given_up && outcomes[start].objective <= lowest",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/loop/state.hpp",
    (
        "core-loop-loses-observed-cells",
        "forgotten",
        "fell(now.observed[i], peak_observed_[i], j);",
        "",
        "tests/_engine/test_in_core.py",
    ),
    (
        "core-loop-keeps-observed-cells",
        "dropped join",
        "now.observed[i] = any ? now.observed[i] + part.observed[i] : 0;",
        "now.observed[i] = any ? now.observed[i] : 0;",
        "tests/_engine/test_in_core.py",
    ),
    (
        "final-labels-by-bounds-of-other-centers",
        "stale",
        "decision.centers = centers.data(), decision.weights = weights.data();",
        "decision.weights = weights.data();",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/module/accumulation.hpp",
    (
        "core-segments-not-added",
        "dropped join",
        "            if (segment) packing.add(part, out);",
        "            if (segment > 1) packing.add(part, out);",
        "tests/_core/test_bitwise.py tests/_core/test_kernels.py",
    ),
    (
        "core-shared-segments-not-added",
        "dropped join",
        "segment < segments; ++segment)\n                add(part_of(segment).mass",
        "segment + 1 < segments; ++segment)\n                add(part_of(segment).mass",
        "tests/_core/test_bitwise.py tests/_core/test_kernels.py",
    ),
    (
        "core-sums-of-the-block-before",
        "stale",
        "packing().of_starts(out, first, last, [](auto* numbers",
        "packing().of_starts(out, first, first, [](auto* numbers",
        "tests/_core/test_blocks.py",
    ),
    (
        "bounds-of-the-first-start",
        "wrong index",
        "known.copy(start, last_.kept.data()[start], part.begin, part.end, labels);",
        "known.copy(start, 0, part.begin, part.end, labels);",
        "tests/_engine/test_bounds.py",
    ),
    (
        "bounds-move-from-the-first-start",
        "wrong index",
        "before = {last.centers->data() + start * k * m",
        "before = {last.centers->data()",
        "tests/_engine/test_bounds.py",
    ),
)
among(
    "_core/cpp/module/alternate.hpp",
    (
        "objective-of-final-labels-without-terms",
        "forgotten",
        "inertia = end->rule.with_terms(total, end->weighting);",
        "inertia = total;",
        "tests/estimators/test_plain_fits.py",
    ),
)
among(
    "_core/cpp/module/labels.hpp",
    (
        "core-farthest-last-segment-of-ties",
        "wrong tie",
        "if (part_distance[segment * r + start] > distance.data()[start]) {",
        "if (part_distance[segment * r + start] >= distance.data()[start]) {",
        "tests/_engine/test_empty.py",
    ),
    (
        "final-distances-of-the-first-piece",
        "forgotten",
        "parts[task.segment] = kernels<T>().measure(rows, task.part, starts, labels);",
        "parts[0] = kernels<T>().measure(rows, task.part, starts, labels);",
        "tests/_engine/test_in_core.py",
    ),
)
among(
    "_core/cpp/module/points.hpp",
    (
        "core-neighbors-not-joined",
        "dropped join",
        "            mass += other_mass;",
        "            (void)other_mass;",
        "tests/_core/test_slopes.py",
    ),
)
among(
    "_core/cpp/seeding/spread.hpp",
    (
        "spread-worst-candidate",
        "sign",
        "std::min_element(potential_.begin(), potential_.end())",
        "std::max_element(potential_.begin(), potential_.end())",
        "tests/_core/test_spreading.py",
    ),
)
among(
    "_core/cpp/sparse/sparse.cpp",
    (
        "sparse-no-second-look",
        "forgotten case",
        "return n_candidates == 1 && !n_missing;",
        "return !n_missing;",
        "tests/_core/test_sparse.py",
    ),
    (
        "sparse-canceled-squares",
        "forgotten case",
        "    if (canceled) accumulate_twice(by, changes, reference, out);\n",
        "",
        "tests/_core/test_sparse.py",
    ),
    (
        "sparse-canceled-distance",
        "forgotten case",
        "if (n_missing || !(error[j] <= ACCURATE * d[j])) {",
        "if (n_missing) {",
        "tests/_core/test_sparse.py",
    ),
    (
        "sparse-zeros-of-changes",
        "forgotten case",
        "            if (by.zeros[v] < 0) by.zeros[v] = 0;\n",
        "            by.zeros[v] = 0;\n",
        "tests/_core/test_sparse.py",
    ),
    (
        "sparse-minimum-of-stored-cells",
        "forgotten case",
        "if (out.minimum[v] > 0) out.minimum[v] = 0;",
        "",
        "tests/_core/test_sparse.py",
    ),
)
among(
    "_core/cpp/sums/by_label.hpp",
    (
        "core-squares-not-taken-out",
        "sign",
        "square[c] = REMOVE ? square[c] - st * t : square[c] + st * t;",
        "square[c] = square[c] + st * t;",
        "tests/_core/test_updates.py",
    ),
    (
        "core-sums-without-weight",
        "forgotten weight",
        "const D st = C == Cells::plain ? t : t * weight_of<C>(sample_weight, i);",
        "const D st = C != Cells::gaps ? t : t * weight_of<C>(sample_weight, i);",
    ),
    (
        "core-last-row-keeps-its-label",
        "stale label",
        "for (index i = 0; i < block.n_rows; ++i) before[i] = block.labels[i];",
        "for (index i = 0; i + 1 < block.n_rows; ++i) before[i] = block.labels[i];",
        "tests/_core/test_updates.py",
    ),
    ("core-counts-rows-without-weight", "forgotten weight", "rows += s > 0;", "rows += 1;"),
    (
        "core-first-level-not-counted",
        "off by one",
        "if (levels[v] >= 0) counts[levels[v]] += s;",
        "if (levels[v] > 0) counts[levels[v]] += s;",
        "tests/_core/test_mixed.py",
    ),
    (
        "sums-of-overlapping-features-twice",
        "forgotten case",
        "const int done = N == 1 ? int(v - last) : 0;",
        "const int done = 0;",
        "tests/_core/test_kernels.py",
    ),
)
among(
    "_core/cpp/sums/points.hpp",
    (
        "core-neighbors-not-added",
        "dropped join",
        "below_mass += (under & (y == below)) ? s : zero;",
        "below_mass += (under & (y == below)) ? zero : zero;",
        "tests/_core/test_slopes.py",
    ),
    (
        "core-overlap-twice",
        "off by one",
        "add(Lanes<L>{}, m - L, int(v - (m - L)));",
        "add(Lanes<L>{}, m - L, 0);",
        "tests/_core/test_slopes.py",
    ),
    (
        "core-odd-row-twice",
        "off by one",
        "for (int r = 0; r < both; ++r) {\n            const double weight",
        "for (int r = 0; r < 2; ++r) {\n            const double weight",
        "tests/_core/test_slopes.py",
    ),
    (
        "core-third-derivative-without-sign",
        "sign",
        "third += change;",
        "third += absolute<L>(change);",
        "tests/_core/test_slopes.py",
    ),
    (
        "core-rough-slopes-without-weight",
        "forgotten weight",
        "if (!PLAIN) bend *= join<L>(s[0], s[1]);",
        "",
        "tests/_core/test_slopes.py",
    ),
    (
        "core-rough-slopes-of-one-row",
        "dropped join",
        "double(slope[j]) + double(slope[L + j])",
        "double(slope[j])",
        "tests/_core/test_slopes.py",
    ),
    (
        "core-rough-rows-at-the-point",
        "forgotten case",
        "F bend = d == F{} ? F{} : power;",
        "F bend = power;",
        "tests/_core/test_slopes.py",
    ),
)
among(
    "_core/cpp/sums/roots.hpp",
    (
        "core-roots-without-weight",
        "forgotten weight",
        "const double s = table.sample_weight ? table.sample_weight[i] : 1;",
        "const double s = 1;",
        "tests/_core/test_slopes.py",
    ),
)

# ---- estimators ---------------------------------------------------------------------------------

among(
    "estimators/racing.py",
    (
        "race-of-samples-without-weights",
        "forgotten factor",
        "sample_of(source, found.numbers, present, times[-1])",
        "sample_of(source, found.numbers, present, times[-1] / times[-1])",
        "tests/estimators/test_racing.py",
    ),
    (
        "race-without-far-rows",
        "forgotten case",
        "found.is_far | np.isin(found.numbers, drawn[:size])",
        "np.isin(found.numbers, drawn[:size])",
        "tests/estimators/test_racing.py",
    ),
    (
        "race-history-of-the-end",
        "forgotten part",
        "history=history, n_iter=run.n_iter + last.n_iter",
        "history=history, n_iter=last.n_iter",
        "tests/estimators/test_racing.py",
    ),
)

among(
    "estimators/courses.py",
    (
        "a-number-of-starts-races",
        "forgotten case",
        "if not isinstance(estimator.n_init, str) or draws_nothing(estimator):",
        "if draws_nothing(estimator):",
        "tests/estimators/test_racing.py",
    ),
)

among(
    "estimators/starts.py",
    (
        "pattern-weights-forgotten",
        "stale weights",
        "        how = plan.weights\n",
        '        how = how + ""\n',
        "tests/estimators/test_imwk.py tests/_init",
    ),
    (
        "given-centers-run-ten-times",
        "forgotten case",
        "return 1 if only_one else 10",
        "return 10",
        "tests/estimators/test_conventions.py tests/estimators/test_imwk.py",
    ),
    (
        "random-weights-run-once",
        "forgotten case",
        "(is_anomalous(estimator) and not random_weights)",
        "is_anomalous(estimator)",
        "tests/_init tests/estimators",
    ),
)
among(
    "estimators/plan.py",
    (
        "settings-without-types",
        "forgotten case",
        "return kind, values, types, given or init, signs",
        "return kind, values, given or init, signs",
        "tests/estimators/test_plan.py",
    ),
    (
        "settings-of-any-start",
        "forgotten case",
        "return kind, values, types, given or init, signs",
        "return kind, values, types, given, signs",
        "tests/estimators/test_plan.py",
    ),
    (
        "settings-without-signs",
        "forgotten case",
        "signs = _signs(values) if 0.0 in values else None",
        "signs = None",
        "tests/estimators/test_plan.py",
    ),
    (
        "plain-rule-of-all-models",
        "shared state",
        "copied(rule) if rule is before else rule)",
        "rule)",
        "tests/estimators/test_plan.py",
    ),
    (
        "settings-of-any-seed",
        "forgotten case",
        "valid = seed is None or (type(seed) is int and 0 <= seed < 2**32)",
        "valid = True",
        "tests/estimators/test_plan.py",
    ),
    (
        "settings-of-a-base",
        "forgotten case",
        'if "_recipe_of_parameters" not in vars(kind):',
        "if not kind._recipe_of_parameters:",
        "tests/estimators/test_plan.py",
    ),
    (
        "plain-parts-of-another-table",
        "stale",
        '    vars(dissimilarity)["table"] = vars(center)["table"] = table\n',
        "",
        "tests/estimators/test_plan.py",
    ),
    (
        "plain-unequal-spreads",
        "forgotten case",
        "if widest > MOST * narrowest or not (",
        "if not (",
        "tests/estimators/test_plan.py tests/estimators",
    ),
    (
        "plain-columns-of-another-fit",
        "stale",
        '    vars(model).pop("feature_names_in_", None)\n',
        "",
        "tests/estimators/test_plan.py",
    ),
    (
        "plain-strided-rows",
        "forgotten case",
        "not (flags.aligned and flags.forc):",
        "not flags.aligned:",
        "tests/estimators/test_plan.py",
    ),
    (
        "batches-in-the-core-cut-by-labels",
        "needless work",
        "if not self.why_python or not keeps_labels(",
        "if not keeps_labels(",
        "tests/laws/test_batches.py",
    ),
    (
        "plan-of-one-start",
        "stale",
        "        settings.n_starts,\n        model.max_iter,\n",
        "        1,\n        model.max_iter,\n",
        "tests/estimators/test_plan.py",
    ),
)
among(
    "estimators/publish.py",
    (
        "dominant-columns-forgotten",
        "forgotten case",
        'if largest > _CLEAR or "group_weights_" in vars(model):',
        'if "group_weights_" in vars(model):',
        "tests/estimators",
    ),
)
among(
    "estimators/inputs.py",
    (
        "view-makes-no-gaps",
        "forgotten case",
        "return seen.with_gaps(stretch=False) if changed else seen",
        "return seen",
        "tests/estimators/test_convex.py",
    ),
    (
        "weights-below-zero",
        "off by one",
        "if not (weights > 0).any():",
        "if not (weights >= 0).any():",
        "tests/estimators/test_inputs.py tests/estimators/test_conventions.py tests/laws",
    ),
)

# ---- selection ----------------------------------------------------------------------------------

among(
    "selection/indices.py",
    ("search-dunn-own-cluster", "sign", "distance[~together]", "distance[together]"),
    (
        "search-xie-beni-rows",
        "scale",
        "float(len(X) * nearest)",
        "float(len(means) * nearest)",
    ),
    ("search-hartigan-rows", "off by one", "(n_rows - n_clusters - 1)", "(n_rows - n_clusters)"),
    (
        "search-mean-of-equals",
        "rounding",
        "np.where((rows == rows[0]).all(axis=0), rows[0], rows.mean(axis=0))",
        "rows.mean(axis=0)",
    ),
    ("search-each-row-a-cluster", "forgotten case", "n_found >= len(labels)", "False"),
)
among(
    "selection/criteria.py",
    (
        "search-davies-bouldin-sign",
        "sign",
        "Index(_davies_bouldin, -1)",
        "Index(_davies_bouldin)",
    ),
    ("search-silhouette-exponent", "forgotten case", "table.rows(self.p)", "table.rows()"),
    ("search-gap-sign", "sign", "gaps[after] - errors[after]", "gaps[after] + errors[after]"),
    (
        "search-weightless-rows",
        "forgotten case",
        "labels = self.of_counted(partition.labels)",
        "labels = partition.labels",
    ),
)
among(
    "selection/standardized.py",
    ("search-category-scale", "scale", "0.5 ** (1.0 / p)", "1.0"),
    ("search-reference-range", "scale", "rng.uniform(self.low,", "rng.uniform(-self.high,"),
)
among(
    "selection/search.py",
    ("search-ranks-sign", "sign", "score = -mean_ranks(", "score = mean_ranks("),
    (
        "search-worst-rank",
        "forgotten case",
        "worst = np.where(np.isnan(score), -np.inf, score)",
        "worst = np.nan_to_num(score)",
    ),
)
among(
    "selection/candidates.py",
    (
        "search-last-start",
        "wrong tie",
        "best = first_lowest(runs.objective[own])",
        "best = len(runs.objective[own]) - 1",
    ),
    (
        "search-unseeded",
        "forgotten case",
        "return model.set_params(**states)",
        "return model",
    ),
)
among(
    "_support/agreement.py",
    ("search-agreement-with-itself", "off by one", "/ (n - 1) if n > 1", "/ n if n > 1"),
)
among(
    "selection/agreement.py",
    ("search-unknown-rows", "forgotten case", "(y[known], labels[known])", "(y, labels)"),
)
among(
    "_mixture/blocks.py",
    ("mixture-shape-parameters", "off by one", "size * (size + 1) // 2", "size * (size - 1) // 2"),
    ("mixture-volume-forgotten", "forgotten factor", "+ size * np.log(volume)", ""),
    ("mixture-prior-grows", "wrong constant", "prior = PRIOR_ROWS", "prior = size + 2.0"),
    (
        "mixture-blur-in-volume",
        "forgotten factor",
        "kernel).sum(axis=1) / volume",
        "kernel).sum(axis=1)",
    ),
    ("mixture-prior-of-one", "forgotten sum", "else log_prior.sum())", "else log_prior[0])"),
    ("mixture-free-factors", "forgotten", " - n_factors * (n_factors - 1) / 2", ""),
    ("mixture-rest-of-factors", "swapped", "] = means[best]", "] = means[-1]"),
    ("mixture-factors-for-nothing", "forgotten", "log_prior.sum()) - price", "log_prior.sum())"),
    ("mixture-price-of-last", "forgotten sum", "price += more", "price = more"),
)
among(
    "_mixture/sample.py",
    ("mixture-never-coarse", "hard-coded", "COARSE**2 if self.coarse else 0.0", "0.0"),
    ("mixture-kernel-of-steps", "forgotten factor", "step**2 / 12", "step**2"),
    ("mixture-products", "forgotten factor", "numbers * np.sqrt(weight)[:, None]", "numbers * 1.0"),
)
among(
    "_mixture/copies.py",
    ("copies-by-chance", "hard-coded", 'average_method="max"', 'average_method="min"'),
    (
        "copies-of-few-cells",
        "order",
        "alike &= rows >= COMPLETE * levels.shape[0]",
        "alike &= rows <= levels.shape[0]",
    ),
    (
        "copies-vote-in-full",
        "forgotten factor",
        "1.0 / np.bincount(self.same)[self.same]",
        "1.0 * (self.same >= 0)",
    ),
    ("near-copies-never-apart", "off by one", "if parts.size > 2:", "if parts.size > 200:"),
)
among(
    "_mixture/gaps.py",
    ("gaps-of-chance", "hard-coded", "ERRORS / np.sqrt(n_near)", "0.0 * n_near"),
    (
        "gaps-without-shape",
        "forgotten factor",
        "axis = np.linalg.solve(within, apart)",
        "axis = apart",
    ),
    (
        "gaps-beside-peaks",
        "order",
        "peak = np.minimum(left, right)",
        "peak = np.maximum(left, right)",
    ),
)
among(
    "estimators/auto_doubts.py",
    (
        "doubts-of-far-numbers",
        "order",
        "if less < NEARLY",
        "if less > NEARLY",
        "tests/estimators/test_auto_doubts.py",
    ),
    (
        "doubts-despite-categories",
        "hard-coded",
        "by_category < 0.5 * between",
        "by_category < 50.0 * between",
        "tests/estimators/test_auto_doubts.py",
    ),
)
among(
    "_mixture/structure.py",
    (
        "mixture-price-of-levels",
        "off by one",
        "0.5 * (len(counts) - 1) * sample.level_free",
        "0.5 * len(counts) * sample.level_free",
    ),
    ("mixture-price-of-a-group", "forgotten factor", "len(joined) * len(others) * price", "price"),
    ("mixture-own-always", "forgotten case", "> sample.n_rows else (TIED,)", "> 0 else (TIED,)"),
    (
        "mixture-left-of-others",
        "forgotten",
        "_log_det(left, others)",
        "_log_det(correlation, others)",
    ),
)
among(
    "_mixture/singles.py",
    ("mixture-kernel-forgotten", "forgotten case", "(means**2 + kernel)", "(means**2)"),
    ("mixture-common-of-own", "swapped", "(total + PRIOR_ROWS)\n", "total\n"),
)
among(
    "estimators/auto.py",
    ("auto-last-of-near", "swapped", "max() - CLOSE))[0]", "max() - CLOSE))[-1]"),
    ("auto-no-votes", "forgotten", "+= self._starts.by_kmeans(n_clusters)", "+= []"),
)
among(
    "_mixture/parameters.py",
    ("mixture-shares-do-not-sum", "forgotten", "np.log(shares / shares.sum())", "np.log(shares)"),
)
among(
    "_mixture/fitting.py",
    ("mixture-always-converged", "hard-coded", "criterion - history[-2] < tolerance", "True"),
    ("auto-small-clusters-win", "forgotten case", "return not _is_even(fit), -fit", "return -fit"),
    ("mixture-worst-leader", "swapped sign", "-fit.criterion\n", "fit.criterion\n"),
    ("mixture-worst-moves", "swapped sign", "lambda move: -move[0]", "lambda move: move[0]"),
    ("mixture-moves-of-two", "forgotten case", "shape[1] < 3", "shape[1] < 2"),
)

# ---- the loop in the core -----------------------------------------------------------------------

among(
    "_engine/state.py",
    (
        "best-start-by-rounding",
        "wrong tie",
        "np.argmax(objective <= lowest + 1e-12 * abs(lowest))",
        "np.argmax(objective <= lowest)",
    ),
)
among(
    "_core/compiled.py",
    (
        "spread-first-row-without-weight",
        "forgotten weight",
        "(weights / weights.sum()).cumsum(dtype=np.float64)",
        "(np.ones(len(rows)) / len(rows)).cumsum(dtype=np.float64)",
        "tests/_core/test_spreading.py",
    ),
)
among(
    "_init/entities.py",
    (
        "few-rows-of-another-weight",
        "forgotten weight",
        "source.levels is None and source.sample_weight is None and not",
        "source.levels is None and not",
        "tests/_init/test_entities.py tests/_core/test_spreading.py",
    ),
)
among(
    "_core/spreading.py",
    (
        "spread-without-sample-weight",
        "forgotten weight",
        "compiled.spread(rows, weights, seeds",
        "compiled.spread(rows, weights * 0 + 1, seeds",
        "tests/_core/test_spreading.py",
    ),
)
among(
    "_engine/statistics.py",
    (
        "bounds-of-starts-that-have-ended",
        "stale batch",
        "centers, weights = self._last.centers[going], self._last.weights[going]",
        "centers, weights = self._last.centers, self._last.weights",
        "tests/_engine/test_bounds.py",
    ),
    (
        "change-of-the-fingerprint",
        "forgotten",
        "fingerprint = self._total.fingerprint + statistics.fingerprint",
        "fingerprint = statistics.fingerprint",
        "tests/_engine/test_bounds.py",
    ),
)
among(
    "_core/passes.py",
    (
        "bounds-of-recounted-starts",
        "stale",
        "left[name][starts] = _BOUNDS[name]",
        "pass",
        "tests/_engine/test_bounds.py",
    ),
)

# ---- reports ------------------------------------------------------------------------------------

among(
    "_support/separation.py",
    (
        "separation-ties-forgotten",
        "forgotten factor",
        "(below_q - q / 2)",
        "below_q",
        "tests/test_separation.py",
    ),
    (
        "separation-chance-forgotten",
        "forgotten",
        "np.clip((found - chance) / room",
        "np.clip(found / 1.0",
        "tests/test_separation.py",
    ),
    (
        "separation-weights-not-squared",
        "wrong power",
        "weights**2, n_clusters)",
        "weights, n_clusters)",
        "tests/test_separation.py",
    ),
    (
        "separation-whole-for-rest",
        "wrong group",
        "np.maximum(mass.sum(axis=-1, keepdims=True) - mass, 0.0)",
        "np.maximum(mass.sum(axis=-1, keepdims=True) + 0 * mass, 0.0)",
        "tests/test_separation.py",
    ),
)
among(
    "reports/profiles.py",
    (
        "profile-others-with-own",
        "wrong group",
        "outside = 1.0 - np.eye(len(means))",
        "outside = 1.0 + 0 * np.eye(len(means))",
        "tests/reports/test_summarize.py",
    ),
)
among(
    "reports/projection.py",
    (
        "silhouette-with-itself",
        "off by one",
        "np.maximum(own_size - 1.0, 1.0)",
        "np.maximum(own_size, 1.0)",
        "tests/reports/test_summarize.py",
    ),
)
among(
    "reports/stability.py",
    (
        "stability-same-rows",
        "forgotten case",
        "random_state.choice(n_rows, size, replace=False)",
        "np.arange(size)",
        "tests/reports/test_summarize.py",
    ),
)
among(
    "cli/compare.py",
    (
        "consensus-clusters-not-matched",
        "forgotten",
        "matched = linear_sum_assignment(-both)[1]",
        "matched = np.arange(n_clusters)",
        "tests/cli/test_compare.py",
    ),
)
among(
    "cli/explorer.py",
    (
        "explore-any-host",
        "forgotten check",
        'if self.headers.get("Host") not in hosts:',
        "if False:",
        "tests/cli/test_explore.py",
    ),
    (
        "explore-any-token",
        "forgotten check",
        "if not hmac.compare_digest(given.encode(), self.server.token.encode()):",
        "if not given:",
        "tests/cli/test_explore.py",
    ),
)

# ---- sparse rows and streams --------------------------------------------------------------------

among(
    "typing.py",
    (
        "mean-of-two-references",
        "forgotten weight",
        "moved = a.sums + b.sums + b.observed * step",
        "moved = a.sums + b.sums + step",
        "tests/_core/test_sparse.py",
    ),
)
among(
    "sources/directions.py",
    (
        "sparse-directions-without-missing",
        "forgotten case",
        "return kept if known.all() else _with_missing(kept, ~known[:, :-1], spaces)",
        "return kept",
        "tests/estimators/test_sparse.py",
    ),
)
among(
    "_engine/stream.py",
    (
        "stream-decays-the-batch",
        "forgotten weight",
        "total = past.scaled(decay).plus(batch)",
        "total = past.plus(batch).scaled(decay)",
        "tests/estimators/test_streaming.py",
    ),
    (
        "stream-forgets-nothing",
        "forgotten case",
        "gone = past.mass < FORGOTTEN * past.mass.mean(axis=-1, keepdims=True)",
        "gone = past.mass < 0.0",
        "tests/estimators/test_streaming.py",
    ),
    (
        "stream-unseen-mode",
        "forgotten case",
        "counts[..., table.layout.offsets[1:] - 1] = 0.0",
        "counts = counts + 0.0",
        "tests/estimators/test_streaming.py",
    ),
    (
        "stream-table-of-the-batch",
        "stale reference",
        "whole = _sum(stream.whole, whole, decay)",
        "whole = _sum(whole, whole, decay)",
        "tests/estimators/test_streaming.py",
    ),
)

among(
    "selection/candidates.py",
    (
        "batch-starts-of-the-first",
        "wrong branch",
        "if others or any(",
        "if not n_starts or any(",
        "tests/selection/test_search.py",
    ),
)
among(
    "sources/sparse.py",
    (
        "damaged-begins-unseen",
        "missing check",
        "or (np.diff(begins) < 0).any()",
        "or (np.diff(begins) < -(10**9)).any()",
        "tests/estimators/test_sparse.py",
    ),
)
