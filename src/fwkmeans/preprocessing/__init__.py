"""The survey's preparation of a table: range standardization and centered binary columns."""

from fwkmeans.preprocessing.range_standardizer import RangeStandardizer
from fwkmeans.preprocessing.table_encoder import TableEncoder

__all__ = ["RangeStandardizer", "TableEncoder"]
