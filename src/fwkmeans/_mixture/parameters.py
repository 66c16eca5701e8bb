"""Parameters of the mixture, and densities of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fwkmeans._mixture.blocks import Block, block_null, fit_block, free_parameters
from fwkmeans._mixture.rows import Rows
from fwkmeans._mixture.sample import Sample
from fwkmeans._mixture.singles import (
    PRIOR_ROWS,
    expected_variance,
    log_densities,
    moments,
    variances,
)
from fwkmeans._mixture.structure import NOISE, SPEC, TIED, Structure, level_shares
from fwkmeans.typing import FloatArray, IntArray

TailWeights = list[FloatArray | None]


class Parameters(NamedTuple):
    """The mixture. Features that are noise are left out, as they are alike in all clusters."""

    log_shares: FloatArray  # (K,)
    singles: IntArray  # (m,) columns that are in no group
    means: FloatArray  # (K, m)
    variance: FloatArray  # (K, m)
    blocks: tuple[Block, ...]
    log_levels: FloatArray  # (K, L) 0 for levels of noise
    kernel: FloatArray  # (M,)


class MStep(NamedTuple):
    """Parameters of highest criterion, and what belongs to the criterion beside densities."""

    parameters: Parameters
    log_prior: float  # and the log-likelihood of noise
    n_free: int


def m_step(
    sample: Sample, membership: FloatArray, structure: Structure, tails: TailWeights
) -> MStep:
    """Return the parameters that maximize the expected criterion for given memberships."""
    weighted = membership * sample.weight[:, None]
    n_clusters = weighted.shape[1]
    shares = np.maximum(weighted.sum(axis=0), 1e-9)
    prior, n_free = 0.0, n_clusters - 1
    kinds = np.array(structure.singles, dtype=object)
    noise, tied, own = (np.flatnonzero(kinds == kind) for kind in (NOISE, TIED, SPEC))
    prior += float(sample.null[noise].sum())
    n_free += 3 * noise.size + (n_clusters + 1) * tied.size + 2 * n_clusters * own.size
    columns = np.sort(np.concatenate([tied, own]))
    means = variance = np.empty((n_clusters, 0))
    if columns.size:
        found = moments(sample, weighted)
        common, _, separate, _ = variances(sample, n_clusters, found)
        expected = expected_variance(sample, n_clusters)
        one = np.log(common / expected) + expected / common - 1
        prior -= 0.5 * PRIOR_ROWS * float(one[tied].sum())
        both = np.log(separate / expected) + expected / separate - 1
        prior -= 0.5 * PRIOR_ROWS * float(both[:, own].sum())
        means = found[1][:, columns]
        variance = np.where(kinds == TIED, common, separate)[:, columns]
    blocks = []
    for group, weights in zip(structure.groups, tails, strict=True):
        at = np.array(group.columns)
        if group.type == NOISE:
            prior += block_null(sample, at, (group.tail,) if group.tail else ())[0]
            continue
        here = sample.rows.complete(at)
        block, log_prior = fit_block(
            sample,
            at,
            group.type,
            group.tail,
            sample.rows.numbers[here][:, at],
            weighted[here],
            weights,
        )
        blocks.append(block)
        prior += log_prior
        n_free += free_parameters(at.size, group.type, n_clusters)
        n_free += int(np.isfinite(group.tail))
    log_levels = np.zeros((n_clusters, sample.level_column.size))
    if sample.n_categorical:
        told = np.array([kind == SPEC for kind in structure.categories])
        free = sample.n_levels - 1
        prior += float(sample.level_null[~told].sum())
        n_free += int(free[~told].sum() + n_clusters * free[told].sum())
        used = told[sample.level_column]
        logs = np.log(np.maximum(level_shares(sample, weighted)[0], 1e-300))
        log_levels[:, used] = logs[:, used]
        prior += float((sample.frequency * log_levels).sum())
    parameters = Parameters(
        np.log(shares / shares.sum()),
        columns,
        means,
        variance,
        tuple(blocks),
        log_levels,
        sample.kernel,
    )
    return MStep(parameters, prior, n_free)


def log_joint(rows: Rows, parameters: Parameters) -> tuple[FloatArray, TailWeights]:
    """Return the log of share times density, (N, K), and the weights of rows in tails.

    Rows that lack a column of a group count by the columns they have, one by one.
    """
    out = np.tile(parameters.log_shares, (rows.n_rows, 1))
    tails: TailWeights = []
    if parameters.singles.size:
        at = parameters.singles
        out += log_densities(
            rows.numbers[:, at],
            None if rows.observed is None else rows.observed[:, at],
            parameters.means,
            parameters.variance,
            parameters.kernel[at],
        )
    for block in parameters.blocks:
        at = block.columns
        here = rows.complete(at)
        squared = block.squared_distances(rows.numbers[here][:, at])
        out[here] += block.log_densities(squared)
        tails.append(block.tail_weights(squared))
        if not here.all():
            assert rows.observed is not None
            out[~here] += log_densities(
                rows.numbers[~here][:, at],
                rows.observed[~here][:, at],
                block.means,
                block.variance,
                parameters.kernel[at],
            )
    if parameters.log_levels.size:
        out += np.asarray((parameters.log_levels @ rows.levels.T).T)
    return out, tails
