"""Tables outside of memory that are read again and again, some rows at a time."""

from fwkmeans._tabular.readers.base import BlockReader
from fwkmeans._tabular.readers.mapped import MappedReader
from fwkmeans._tabular.readers.opening import (
    is_iterator,
    is_list_of_paths,
    is_sliced,
    open_reader,
)

__all__ = [
    "BlockReader",
    "MappedReader",
    "is_iterator",
    "is_list_of_paths",
    "is_sliced",
    "open_reader",
]
