"""Parameters of the mixture, and densities of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fwkmeans._mixture.blocks import Block, block_null, fit_block, free_parameters
from fwkmeans._mixture.rows import Alone, Cells, Rows
from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.singles import (
    PRIOR_ROWS,
    expected_variance,
    log_densities,
    moments,
    variances,
)
from fwkmeans._mixture.structure import NOISE, SPEC, TIED, Group, Structure, level_shares
from fwkmeans.typing import BoolArray, FloatArray, IntArray

TailWeights = list[FloatArray | None]


class Parameters(NamedTuple):
    """The mixture. Features that are noise are left out, as they are alike in all clusters."""

    log_shares: FloatArray  # (K,)
    singles: IntArray  # (m,) columns that are in no group
    means: FloatArray  # (K, m)
    variance: FloatArray  # (K, m)
    blocks: tuple[Block, ...]
    log_levels: FloatArray  # (K, L) times the vote of the column; 0 for levels of noise
    kernel: FloatArray  # (M,)


class MStep(NamedTuple):
    """Parameters of highest criterion, and what belongs to the criterion beside densities."""

    parameters: Parameters
    log_prior: float  # and the log-likelihood of noise


class Plan(NamedTuple):
    """What a structure asks of every step, for given rows and a number of clusters."""

    singles: IntArray  # (m,) columns alone that are not noise
    is_tied: BoolArray  # (m,)
    groups: tuple[Group, ...]  # those that are not noise
    cells: tuple[Cells, ...]  # of their columns
    used: BoolArray  # (L,) levels of categories that are not noise
    noise: float  # log-likelihood of everything that is
    n_free: float  # near copies of a column share its parameters
    expected: FloatArray  # (M,) variances that clusters have if they share the table's volume
    alone: Alone  # the rows in the columns alone


def plan_of(sample: Sample, structure: Structure, n_clusters: int) -> Plan:
    """Return what every step with a structure needs."""
    is_noise, is_tied, is_own = (
        np.array([kind == one for kind in structure.singles], dtype=bool)
        for one in (NOISE, TIED, SPEC)
    )
    n_free: float = n_clusters - 1 + 3 * int(is_noise.sum()) + (n_clusters + 1) * int(is_tied.sum())
    n_free += 2 * n_clusters * int(is_own.sum())
    noise = float(sample.null[is_noise].sum())
    groups, cells = [], []
    for group in structure.groups:
        at = np.array(group.columns)
        if group.type == NOISE:
            noise += block_null(sample, at, (group.tail,) if group.tail else ())[0]
            continue
        groups.append(group)
        cells.append(sample.rows.cells(at))
        n_free += free_parameters(at.size, group.type, n_clusters, factored=group.factored)
        n_free += int(np.isfinite(group.tail))
    told = np.array([kind == SPEC for kind in structure.categories], dtype=bool)
    free = sample.level_free
    noise += float(sample.level_null[~told].sum())
    n_free += float(free[~told].sum() + n_clusters * free[told].sum())
    singles = np.flatnonzero(is_tied | is_own)
    used = told[sample.level_column]
    return Plan(
        singles,
        is_tied[singles],
        tuple(groups),
        tuple(cells),
        used,
        noise,
        n_free,
        expected_variance(sample, n_clusters),
        sample.rows.alone(singles),
    )


def m_step(sample: Sample, membership: FloatArray, plan: Plan, tails: TailWeights) -> MStep:
    """Return the parameters that maximize the expected criterion for given memberships."""
    weighted = sample.weighted(membership)
    n_clusters = weighted.shape[1]
    total = weighted.sum(axis=0)
    shares = np.maximum(total, 1e-9)
    prior = plan.noise
    means = variance = np.empty((n_clusters, 0))
    if plan.singles.size:
        found = moments(plan.alone, weighted, total)
        kernel, expected = sample.kernel[plan.singles], plan.expected[plan.singles]
        common, own = variances(kernel, expected, found)
        variance = np.where(plan.is_tied, common, own)
        above = np.log(variance / expected) + expected / variance - 1
        times = np.where(plan.is_tied, 1 / n_clusters, 1.0)
        prior -= 0.5 * PRIOR_ROWS * float((above * times).sum())
        means = found[1]
    blocks = []
    for group, (here, numbers), weights in zip(plan.groups, plan.cells, tails, strict=True):
        block, log_prior = fit_block(
            sample,
            np.array(group.columns),
            group.type,
            group.tail,
            numbers,
            weighted[here],
            weights,
            factored=group.factored,
        )
        blocks.append(block)
        prior += log_prior
    log_levels = np.zeros((n_clusters, plan.used.size))
    if plan.used.any():
        logs = sample.level_vote * np.log(np.maximum(level_shares(sample, weighted)[1], 1e-300))
        log_levels[:, plan.used] = logs[:, plan.used]
        prior += float((sample.frequency * log_levels).sum())
    parameters = Parameters(
        np.log(shares / shares.sum()),
        plan.singles,
        means,
        variance,
        tuple(blocks),
        log_levels,
        sample.kernel,
    )
    return MStep(parameters, prior)


def log_joint(
    rows: Rows, parameters: Parameters, plan: Plan | None = None
) -> tuple[FloatArray, TailWeights]:
    """Return the log of share times density, (N, K), and the weights of rows in tails.

    Rows that lack a column of a group count by the columns they have, one by one. The `plan` of
    the rows has their cells at hand.
    """
    tails: TailWeights = []
    if parameters.singles.size:
        at = parameters.singles
        alone = rows.alone(at) if plan is None else plan.alone
        out = log_densities(alone, parameters.means, parameters.variance, parameters.kernel[at])
        out += parameters.log_shares
    else:
        out = np.tile(parameters.log_shares, (rows.n_rows, 1))
    cells: Sequence[Cells] = (
        [rows.cells(block.columns) for block in parameters.blocks] if plan is None else plan.cells
    )
    for block, (here, numbers) in zip(parameters.blocks, cells, strict=True):
        at = block.columns
        squared = block.squared_distances(numbers)
        out[here] += block.log_densities(squared)
        tails.append(block.tail_weights(squared))
        if not isinstance(here, slice):
            alone = rows.alone(at, ~here)
            out[~here] += log_densities(alone, block.means, block.variance, parameters.kernel[at])
    if parameters.log_levels.any():
        out += np.asarray(rows.levels @ parameters.log_levels.T)
    return out, tails
