"""``fwkmeans predict`` for tables that do not fit into memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fwkmeans._support.ahead import read_ahead
from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format
from fwkmeans._tabular.readers import open_reader
from fwkmeans._tabular.reading import in_common_types
from fwkmeans.cli.errors import raise_if_stopped, with_option
from fwkmeans.cli.output import table_name
from fwkmeans.cli.predict import Strange, columns_of, features_of, using
from fwkmeans.cli.progress import working
from fwkmeans.cli.rows import named as named_clusters
from fwkmeans.cli.sizes import Streaming
from fwkmeans.cli.streaming import (
    CountedReader,
    TableWriter,
    check_streamed_out,
    located,
    named,
    rows_at_a_time,
)


def predict_blocks(
    pipeline: Any,
    table: str,
    out: str,
    how: Format,
    keys: list[str],
    apart_names: list[str],
    streaming: Streaming,
    spreadsheet_safe: bool,
    model: str,
) -> tuple[Any, list[str]]:
    """Assign the rows of a table block by block; return the sizes of clusters and what to say."""
    check_streamed_out(out)
    with using(model):
        known = columns_of(pipeline)
    name = table_name(table)
    n_clusters = len(pipeline[-1].cluster_centers_)
    sizes, strange = np.zeros(n_clusters, dtype=np.int64), Strange()
    with working(f"Reading {name}"):
        inner = named(open_reader(table, streaming.memory, how, known.text, keys))
        for key in keys:
            if key not in (inner.names or ()):
                raise InputError(f"--id {key}: the table has no such column.")
    reader, begin = CountedReader(inner), 0
    pieces = reader.pieces(rows_at_a_time(reader, streaming.memory))
    with (
        working(f"Assigning {reader.n_rows:,} rows"),
        TableWriter(out, inner.remarks.style, spreadsheet_safe) as writer,
        warnings.catch_warnings(),
        using(model),
    ):
        warnings.simplefilter("ignore")
        for piece in read_ahead(pieces):
            raise_if_stopped()
            with located(begin, piece, name):
                features = features_of(pipeline, in_common_types(piece, how, keys), known, name)
                rows = pipeline[:-1].transform(features) if len(pipeline) > 1 else features
                labels = pipeline[-1].predict(rows)
            begin += piece.num_rows
            sizes += np.bincount(labels, minlength=n_clusters)
            columns = named_clusters(pipeline[-1], np.asarray(labels))
            if apart_names:
                apart = np.asarray(pipeline[-1].transform(rows))
                columns |= dict(zip(apart_names, apart.T, strict=True))
            writer.write(piece.select(keys), columns)
            strange.add(pipeline, features)
    told = inner.remarks.found(known.numbers)
    return sizes, [*(with_option(*one) for one in told), *strange.sentences()]
