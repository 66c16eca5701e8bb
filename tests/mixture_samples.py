"""Samples for tests of the mixture."""

import numpy as np

from fwkmeans._mixture import Sample, learn_encoding
from fwkmeans._tabular.layout import Layout


def sample_of(numbers, codes=None, weight=None, *, compress=False, **about):
    """Return rows of a table as the mixture sees them; `codes` are categories, -1 is missing."""
    numbers = np.asarray(numbers, dtype=float)
    n_rows = len(numbers)
    weight = np.ones(n_rows) if weight is None else weight
    codes = np.zeros((n_rows, 0), dtype=int) if codes is None else np.asarray(codes)
    offsets = np.concatenate([[0], np.cumsum(codes.max(axis=0, initial=-1) + 2)])
    layout = Layout(
        np.arange(numbers.shape[1]),
        numbers.shape[1] + np.arange(codes.shape[1]),
        offsets.astype(np.int64),
    )
    levels = np.where(codes >= 0, codes + offsets[:-1], -1).astype(np.int32)
    levels = levels if codes.shape[1] else None
    encoding = learn_encoding(numbers, levels, layout, weight, compress=compress)
    rows = encoding.encode(numbers, levels)
    return Sample(rows, encoding, weight, **about)
