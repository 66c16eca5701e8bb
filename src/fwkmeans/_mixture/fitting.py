"""The mixture, fitted: memberships, parameters and structure in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fwkmeans._mixture.blocks import INFINITE
from fwkmeans._mixture.parameters import Parameters, TailWeights, log_joint, m_step, plan_of
from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.splits import upper_half, used_cells
from fwkmeans._mixture.structure import SPEC, TIED, VOL, Structure, structure
from fwkmeans._mixture.trees import is_even
from fwkmeans._support.agreement import adjusted_rand_score
from fwkmeans.typing import FloatArray, LabelArray

#: A run ends when the criterion rises by less; of more than so many rows, in proportion to them.
TOLERANCE, TOLERANCE_ROWS = 2e-3, 2000
#: Steps of the mixture that goes on until it rests.
MOST_STEPS = 500
#: Structures that are tried one after another.
MOST_STRUCTURES = 8
#: Moves that are made one after another, tried before one is made, and the least it must gain.
MOST_MOVES, TRIED_MOVES, LEAST_GAIN = 10, 3, 1.0
#: What a row may lose in the mean, before memberships follow a move, for it to be tried.
MOST_LOST = 1.0


class Family(NamedTuple):
    """What a mixture may be made of."""

    name: str
    compress: bool  # whether columns with heavy tails are compressed
    types: tuple[str, ...]
    tails: tuple[float, ...]
    grouping: bool = True
    coarse: bool = False  # whether small differences are blurred
    counting: bool = False  # whether its criterion tells the number of clusters
    leaders: int = 3  # starts that go on from their first structure
    factored: bool = False  # whether all columns share few factors


_ALL, _NORMAL = (TIED, VOL, SPEC), (INFINITE,)
#: Mixtures that fail on different tables.
FAMILIES = (
    Family("normal", False, _ALL, _NORMAL),
    Family("normal, compressed", True, _ALL, _NORMAL),
    Family("coarse", False, _ALL, _NORMAL, coarse=True),
    Family("coarse, compressed", True, _ALL, _NORMAL, coarse=True),
    Family("coarse single features", True, _ALL, _NORMAL, grouping=False, coarse=True),
    Family("common factors", True, (TIED, SPEC), _NORMAL, grouping=False, factored=True),
)
#: The one whose criterion tells the number of clusters.
COUNTING = Family("tied", True, (TIED,), (3.0, 8.0, INFINITE), counting=True, leaders=1)
#: The same where clusters have shapes of their own.
COUNTING_SHAPES = COUNTING._replace(name="shapes", types=_ALL)


class Rival(NamedTuple):
    """Another partition that was reached from other starts."""

    agreement: float  # adjusted Rand index
    behind: float  # how much lower its criterion is


class Fit(NamedTuple):
    """A fitted mixture."""

    criterion: float
    membership: FloatArray  # (N, K)
    structure: Structure
    parameters: Parameters
    history: tuple[float, ...]
    converged: bool  # whether the last step gained less than the tolerance
    rivals: tuple[Rival, ...] = ()

    @property
    def labels(self) -> LabelArray:
        """The likeliest cluster of each row."""
        return np.asarray(self.membership.argmax(axis=1), dtype=np.int32)


def fit_family(
    sample: Sample, starts: Sequence[LabelArray], n_clusters: int, family: Family
) -> Fit:
    """Return the best mixture that is reached from several partitions of the rows.

    All starts get a first structure, the leaders go on to better ones, and the first of them until
    it rests. Mixtures with a tiny cluster come last. From the best, clusters are moved.
    """
    firsts = [_restructured(sample, np.eye(n_clusters)[one], family, None) for one in starts]
    leaders = sorted((fit for fit in firsts if fit is not None), key=_rank)[: family.leaders]
    settled = sorted((_settled(sample, fit, family) for fit in leaders), key=_rank)
    rested = [polish(sample, settled[0], max_iter=MOST_STEPS)]
    if len(settled) > 1 and not _is_even(rested[0]) and _is_even(settled[1]):
        rested.append(polish(sample, settled[1], max_iter=MOST_STEPS))
    best = min(rested, key=_rank)
    if not family.counting:
        best = _moved(sample, best, family)
    rivals = (
        Rival(float(adjusted_rand_score(best.labels, fit.labels)), best.criterion - fit.criterion)
        for fit in settled
    )
    return best._replace(rivals=tuple(rivals))


def _settled(sample: Sample, fit: Fit, family: Family) -> Fit:
    """Find structure and memberships in turn, until the criterion does not rise."""
    for _ in range(MOST_STRUCTURES - 1):
        better = _restructured(sample, fit.membership, family, fit)
        if better is None:
            break
        fit = better
    return fit


def _moved(sample: Sample, fit: Fit, family: Family) -> Fit:
    """Dissolve a cluster and split another one, as long as the mixture gets better.

    This takes a third cluster, which stays: of two clusters nothing would be left.
    """
    if fit.membership.shape[1] < 3:
        return fit
    for _ in range(MOST_MOVES):
        better = next(_better_moves(sample, fit, family), None)
        if better is None:
            break
        fit = better
    return fit


def _better_moves(sample: Sample, fit: Fit, family: Family) -> Iterator[Fit]:
    """Yield better mixtures that are reached by the most promising moves.

    A move must be better at once, and when it rests: memberships may still lose a cluster.
    """
    least = _is_even(fit), fit.criterion + LEAST_GAIN
    for membership in _moves(sample, fit):
        new = _restructured(sample, membership, family, None)
        if new is None or (_is_even(new), new.criterion) <= least:
            continue
        new = polish(sample, _settled(sample, new, family), max_iter=MOST_STEPS)
        if (_is_even(new), new.criterion) > least:
            yield new._replace(history=(*fit.history, *new.history))


def _moves(sample: Sample, fit: Fit) -> list[FloatArray]:
    """Return memberships with a cluster dissolved and another split, the most promising first.

    Two steps tell what a split gains; rows that lose their cluster go to the next likeliest. Moves
    that cost too much are left out.
    """
    n_clusters = fit.membership.shape[1]
    cells, labels = used_cells(sample, fit.structure), fit.labels
    before, after = (plan_of(sample, fit.structure, n_clusters + n).n_free for n in (0, 1))
    price = 0.5 * (after - before) * sample.log_n  # of the cluster that is there for a while
    least = fit.criterion - price - MOST_LOST * sample.n_rows
    found: list[tuple[float, int, Fit]] = []
    for split in range(n_clusters):
        here = np.flatnonzero(labels == split)
        aside = here[upper_half(cells[here], sample.weight[here])]
        if not 0 < aside.size < here.size:
            continue
        more = np.hstack([fit.membership, np.zeros((sample.n_rows, 1))])
        more[aside, -1], more[aside, split] = more[aside, split], 0.0
        grown = _alternate(sample, more, fit.structure, None, max_iter=2)
        loss = sample.weight @ np.log(np.maximum(1 - grown.membership, 1e-16))
        others = (k for k in range(n_clusters) if k != split)
        found += [(grown.criterion + float(loss[k]), k, grown) for k in others]
    found.sort(key=lambda move: -move[0])
    return [
        _posterior(np.delete(log_joint(sample.rows, grown.parameters)[0], gone, axis=1))[1]
        for value, gone, grown in found[:TRIED_MOVES]
        if value > least
    ]


def _restructured(
    sample: Sample, membership: FloatArray, family: Family, before: Fit | None
) -> Fit | None:
    """Return a mixture with the structure that suits the memberships; None if it is not better."""
    found = structure(
        sample,
        membership,
        types=family.types,
        tails=family.tails,
        grouping=family.grouping,
        factored=family.factored,
    )
    if before is not None and found == before.structure:
        return None
    fit = _alternate(sample, membership, found, None, max_iter=20)
    return fit if before is None or fit.criterion > before.criterion else None


def _rank(fit: Fit) -> tuple[bool, float]:
    return not _is_even(fit), -fit.criterion


def _is_even(fit: Fit) -> bool:
    return is_even(fit.labels, fit.membership.shape[1])


def polish(sample: Sample, fit: Fit, *, max_iter: int) -> Fit:
    """Go on from a fit with the same structure, on these rows or on more of the same table."""
    joint, tails = log_joint(sample.rows, fit.parameters)
    membership = _posterior(joint)[1]
    rest = _alternate(sample, membership, fit.structure, tails, max_iter=max_iter)
    return rest._replace(history=(*fit.history, *rest.history), rivals=fit.rivals)


def _alternate(
    sample: Sample,
    membership: FloatArray,
    found: Structure,
    tails: TailWeights | None,
    *,
    max_iter: int,
) -> Fit:
    """Find parameters and memberships in turn, for a fixed structure."""
    plan = plan_of(sample, found, membership.shape[1])
    price = 0.5 * plan.n_free * sample.log_n
    tails = [None] * len(plan.groups) if tails is None else tails
    history: list[float] = []
    tolerance = TOLERANCE * max(1.0, sample.n_rows / TOLERANCE_ROWS)
    for _ in range(max_iter):
        parameters, prior = m_step(sample, membership, plan, tails)
        joint, tails = log_joint(sample.rows, parameters, plan)
        total, membership = _posterior(joint)
        criterion = float(sample.weight @ total) + prior - price
        history.append(criterion)
        converged = len(history) > 1 and criterion - history[-2] < tolerance
        if converged:
            break
    return Fit(criterion, membership, found, parameters, tuple(history), converged)


def _posterior(joint: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the log density of each row, and its memberships.

    With few clusters this is several times faster than SciPy's logsumexp and sums along rows.
    """
    top = joint[:, 0]
    for column in joint.T[1:]:
        top = np.maximum(top, column)
    shares = np.exp(joint - top[:, None])
    sums = shares @ np.ones(joint.shape[1])
    shares /= sums[:, None]
    return top + np.log(sums), shares
