"""The survey's preparation of a table, and that of a frame as people have it."""

from fwkmeans.preprocessing.range_standardizer import RangeStandardizer
from fwkmeans.preprocessing.table_encoder import TableEncoder
from fwkmeans.preprocessing.table_preparer import PreparedTable, TablePreparer, prepare_table

__all__ = ["PreparedTable", "RangeStandardizer", "TableEncoder", "TablePreparer", "prepare_table"]
