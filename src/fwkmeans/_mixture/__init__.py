"""A mixture model that finds groups of features: the engine of `AutoKMeans`.

Rows are drawn from K clusters. Within a cluster the features fall into groups that are independent
of one another. Numbers of a group follow a normal or a heavy-tailed (Student's t) distribution,
categories have frequencies. Each group is of a type that says what its clusters share:

noise
    everything: the group says nothing about the clusters;
tied
    the spread, but not the center;
vol
    the shape, but neither the center nor the size;
spec
    nothing.

The criterion is the logarithm of the likelihood with a weak prior, less half the number of
parameters times the logarithm of the number of rows (BIC). Every row is spread a little (a normal
kernel), so that equal values and rounding cannot make a density infinite.
"""

from fwkmeans._mixture.blocks import Block
from fwkmeans._mixture.columns import ColumnCuts
from fwkmeans._mixture.copies import Copies
from fwkmeans._mixture.factors import factor_null
from fwkmeans._mixture.fitting import (
    COUNTING,
    COUNTING_SHAPES,
    FAMILIES,
    Family,
    Fit,
    fit_family,
    polish,
)
from fwkmeans._mixture.gaps import pieces
from fwkmeans._mixture.parameters import Parameters, log_joint, m_step, plan_of
from fwkmeans._mixture.rows import Encoding, Rows, Table, learn_encoding
from fwkmeans._mixture.sample import Sample, encoded_sample, fixed_sample
from fwkmeans._mixture.splits import used_columns
from fwkmeans._mixture.structure import NOISE, Structure, correlated_groups, leads
from fwkmeans._mixture.trees import Cuts, WardTree

__all__ = [
    "COUNTING",
    "COUNTING_SHAPES",
    "FAMILIES",
    "NOISE",
    "Block",
    "ColumnCuts",
    "Copies",
    "Cuts",
    "Encoding",
    "Family",
    "Fit",
    "Parameters",
    "Rows",
    "Sample",
    "Structure",
    "Table",
    "WardTree",
    "correlated_groups",
    "encoded_sample",
    "factor_null",
    "fit_family",
    "fixed_sample",
    "leads",
    "learn_encoding",
    "log_joint",
    "m_step",
    "pieces",
    "plan_of",
    "polish",
    "used_columns",
]
