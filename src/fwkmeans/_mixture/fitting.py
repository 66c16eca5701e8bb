"""The mixture, fitted: memberships, parameters and structure in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from fwkmeans._mixture.blocks import INFINITE
from fwkmeans._mixture.parameters import Parameters, TailWeights, log_joint, m_step
from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.structure import NOISE, SPEC, TIED, VOL, Structure, structure
from fwkmeans.typing import FloatArray, LabelArray

#: A run ends when the criterion rises by less.
TOLERANCE = 2e-3
#: Structures that are tried one after another.
MOST_STRUCTURES = 8


class Family(NamedTuple):
    """What a mixture may be made of."""

    name: str
    compress: bool  # whether columns with heavy tails are compressed
    types: tuple[str, ...]
    tails: tuple[float, ...]
    grouping: bool = True
    coarse: bool = False  # whether small differences are blurred


_ALL, _NORMAL = (TIED, VOL, SPEC), (INFINITE,)
#: Mixtures that fail on different tables.
FAMILIES = (
    Family("normal", False, _ALL, _NORMAL),
    Family("normal, compressed", True, _ALL, _NORMAL),
    Family("coarse", False, _ALL, _NORMAL, coarse=True),
    Family("coarse, compressed", True, _ALL, _NORMAL, coarse=True),
    Family("coarse single features", True, _ALL, _NORMAL, grouping=False, coarse=True),
)
#: The one whose criterion tells the number of clusters.
COUNTING = Family("tied", True, (TIED,), (3.0, 8.0, INFINITE))


class Fit(NamedTuple):
    """A fitted mixture."""

    criterion: float
    membership: FloatArray  # (N, K)
    structure: Structure
    parameters: Parameters
    history: tuple[float, ...]
    converged: bool  # whether the last step gained less than the tolerance

    @property
    def labels(self) -> LabelArray:
        """The likeliest cluster of each row."""
        return np.asarray(self.membership.argmax(axis=1), dtype=np.int32)


def fit_family(sample: Sample, labels: LabelArray, n_clusters: int, family: Family) -> Fit:
    """Return the mixture that is reached from a partition of the rows.

    Structure and memberships are found in turn until a new structure does not raise the
    criterion; then memberships and parameters until they rest.
    """
    membership = np.eye(n_clusters)[labels]
    best: Fit | None = None
    for _ in range(MOST_STRUCTURES):
        found = structure(
            sample, membership, types=family.types, tails=family.tails, grouping=family.grouping
        )
        if best is not None and found == best.structure:
            break
        fit = _alternate(sample, membership, found, [None] * len(found.groups), max_iter=20)
        if best is not None and fit.criterion <= best.criterion:
            break
        best, membership = fit, fit.membership
    assert best is not None
    return polish(sample, best, max_iter=150)


def polish(sample: Sample, fit: Fit, *, max_iter: int) -> Fit:
    """Go on from a fit with the same structure, on these rows or on more of the same table."""
    joint, kept = log_joint(sample.rows, fit.parameters)
    membership = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    tails = _of_all_groups(fit.structure, kept)
    rest = _alternate(sample, membership, fit.structure, tails, max_iter=max_iter)
    return rest._replace(history=(*fit.history, *rest.history))


def _alternate(
    sample: Sample, membership: FloatArray, found: Structure, tails: TailWeights, *, max_iter: int
) -> Fit:
    """Find parameters and memberships in turn, for a fixed structure."""
    history: list[float] = []
    for _ in range(max_iter):
        parameters, prior, n_free = m_step(sample, membership, found, tails)
        joint, kept = log_joint(sample.rows, parameters)
        tails = _of_all_groups(found, kept)
        total = logsumexp(joint, axis=1)
        criterion = float(sample.weight @ total) + prior - 0.5 * n_free * sample.log_n
        membership = np.exp(joint - total[:, None])
        history.append(criterion)
        converged = len(history) > 1 and criterion - history[-2] < TOLERANCE
        if converged:
            break
    return Fit(criterion, membership, found, parameters, tuple(history), converged)


def _of_all_groups(found: Structure, kept: TailWeights) -> TailWeights:
    """Return tail weights for every group; those of noise have none."""
    rest = iter(kept)
    return [None if group.type == NOISE else next(rest) for group in found.groups]
