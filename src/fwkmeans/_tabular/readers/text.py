"""CSV files that are read in blocks.

A first pass reads every cell as text and finds out what each column holds, by the rules that a
table in memory is read by (`fwkmeans._tabular.delimited`). Later passes convert cells as they come.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from fwkmeans._support.errors import InputError
from fwkmeans._support.optional import require
from fwkmeans._support.text import quoted, shortened
from fwkmeans._tabular.delimited import (
    BELOW,
    HEAD,
    MOST_BYTES,
    WrongEncodingError,
    as_utf8,
    check_width,
    distinct_columns,
    doubt_quotes,
    first_line,
    first_lines,
    given_names,
    guess_separator,
    guessed_encoding,
    inferred,
    lines_to_skip,
    named_columns,
    refuse_open_quote,
    style_of,
    why_empty,
    with_missing,
    wrong_encoding,
    wrong_row,
    wrong_separator,
)
from fwkmeans._tabular.encodings import encoding_of_mark
from fwkmeans._tabular.format import Format, Remarks
from fwkmeans._tabular.readers.arrow import in_steps
from fwkmeans._tabular.readers.base import BlockReader, Files
from fwkmeans._tabular.titles import after_lines

#: Bytes that are parsed at a time.
_BLOCK = 1 << 22
#: Rows as long as the header that are parsed at a time, at least.
_LINES = 1000
#: Cells that are kept of a column to tell how its numbers or dates are written.
_WITNESSES = 2000
_NUMBERS = ("int", "float")
_NUMBER = re.compile(r"\s*[-+]?[\d.,'\s]*\d[\d.,'\s]*([eE][-+]?\d+)?\s*%?")
_PLAIN = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)
#: So many different texts may be codes, even if most of them look like numbers.
_CODES = 20


def _unlike(form: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda cell: form.fullmatch(cell) is None


class _Column(NamedTuple):
    """What a column holds, as far as it was read."""

    kind: str = "null"  # or int, float, bool, moment, compact, written, code, text
    type: Any = None  # of pyarrow
    witnesses: tuple[str, ...] = ()  # cells that tell how numbers or dates are written
    odd: tuple[int, str] | None = None  # row and text of the first cell that is no number
    rows: int = 0  # that were numbers before


class TextReader(BlockReader):
    """CSV files with the same columns, one after the other.

    Parameters
    ----------
    paths : list of Path
        The files, also compressed by gzip.
    title : str
        What they are called in sentences.
    how : Format
        How they are written, where that is not to be guessed.
    text : list of str
        Columns that hold text, whatever it looks like.
    keys : list of str
        Columns whose cells are kept to the letter.
    only : collection of str
        The columns that will be used; files may differ in the others. None given means all.
    """

    files: Files

    def __init__(
        self,
        paths: Sequence[Path],
        title: str,
        how: Format | None = None,
        text: Sequence[str] = (),
        keys: Sequence[str] = (),
        only: Collection[str] = (),
    ) -> None:
        self.title = title
        self.files = Files(paths)
        self._how = Format() if how is None else how
        self._text, self._keys, self._only = set(text), set(keys), set(only)
        self.remarks = Remarks()
        self._block = _BLOCK
        self._names: list[str] = []
        self._encoding = self._how.encoding or self._marked(self.files.paths[0]) or "utf-8"
        try:
            self._survey()
        except WrongEncodingError as error:
            if self._encoding != "utf-8" or self._how.encoding is not None:
                raise
            self.remarks = Remarks()
            self._encoding = guessed_encoding(title, self._all_bytes(), error, self.remarks)
            self._survey()
        self.n_rows = sum(self._n_rows)
        if not self.n_rows:
            raise InputError(f"{title} has a header but no rows: there is nothing to cluster.")
        self.row_bytes = self.files.n_bytes // self.n_rows

    @property
    def _arrow(self) -> Any:
        return require("pyarrow", "CSV files", "io")

    # ---- the first pass -------------------------------------------------------------------------

    def _survey(self) -> None:
        """Find names and types of the columns, and count the rows."""
        self._separator: str | None = self._how.sep
        self._skip: dict[Path, int] = {}  # lines above the table
        self._names_in: dict[Path, list[str]] = {}  # all columns of each file, as they stand
        self._begin(self.files.paths[0])
        if self._only and self._only <= set(self._names):
            self._names = [name for name in self._names if name in self._only]
        self._columns = [_Column() for _ in self._names]
        self._n_rows: list[int] = []
        for path in self.files.paths:
            if path != self.files.paths[0]:
                self._check_header(path)
            n_rows, last = 0, ""
            for table in self._texts(path):
                for v, cells in enumerate(table.columns):
                    self._columns[v] = self._seen(v, cells, n_rows + sum(self._n_rows))
                n_rows += table.num_rows
                last = table.columns[-1][-1].as_py()
            refuse_open_quote(path.name, partial(self._tail_of, path), last, self._encoding)
            self._n_rows.append(n_rows)
        self.names, self.n_columns = list(self._names), len(self._names)
        self._chosen = list(range(self.n_columns))
        self._types = [self._decided(v) for v in range(self.n_columns)]

    def _begin(self, path: Path) -> None:
        """Look at the first lines of a file: separator, header, and what the columns are called."""
        head = self._begin_of(path, self.remarks)
        lines = first_lines(path.name, head)
        sep = guess_separator(lines) if self._separator is None else self._separator
        self._separator = sep
        with self._opened(path) as file:
            start = file.read(HEAD)
            self.remarks.style = style_of(start, sep, self._encoding, self._how)
            check_width(path.name, sep, chain([start], iter(partial(file.read, HEAD), b"")))
        self._first_line = lines[0]
        self._names = [f"f{v}" for v in range(lines[0].count(sep) + 1)]
        self._has_header = False
        self._block = max(_BLOCK, _LINES * len(lines[0]))
        first = next(self._texts(path, autogenerate=True), None)
        if first is None:
            raise InputError(f"{path} is empty: give a table with a header and rows.")
        if first.num_columns == 1:
            wrong_separator(path.name, sep, lines[0])
        header = [column[0].as_py() for column in first.columns]
        below = [column.slice(1, BELOW).to_pylist() for column in first.columns]
        names, self._has_header = named_columns(path.name, header, below, self._how, self.remarks)
        self._names = distinct_columns(path.name, names, self.remarks)
        self._names_in[path] = self._names

    def _begin_of(self, path: Path, remarks: Remarks) -> memoryview:
        """Return the first lines of the table in a file; what stands above it is skipped."""
        head = self._head_of(path)
        self._skip[path] = lines_to_skip(path.name, head, self._how, remarks)
        found: memoryview = after_lines(head, self._skip[path])
        return found

    def _head_of(self, path: Path) -> memoryview:
        try:
            with self._opened(path) as file:
                data = file.read(HEAD + 8)
        except OSError as error:
            raise _cut(path, 0, error) from None
        if self._encoding == "utf-8":
            found: memoryview = as_utf8(path.name, data, self._encoding)
            return found
        as_utf8(path.name, b"", self._encoding)  # raises if there is no such encoding
        try:
            text = codecs.getincrementaldecoder(self._encoding)().decode(data)
        except UnicodeError:
            raise wrong_encoding(path.name, self._encoding) from None
        return memoryview(text.encode())

    def _tail_of(self, path: Path, n: int) -> bytes:
        """Return the last bytes of a file, unpacked."""
        tail = b""
        with self._opened(path) as file:
            while data := file.read(max(n, 1 << 22)):
                tail = (tail + data)[-n:]
        return tail

    def _check_header(self, path: Path) -> None:
        """Raise if another file has other columns than the first."""
        names = self._names_in[self.files.paths[0]]
        if self._has_header:
            lines = first_lines(path.name, self._begin_of(path, Remarks()))
            if lines[0] != self._first_line:
                found = next(csv.reader([lines[0]], delimiter=str(self._separator)))
                blank = given_names(range(len(found)))
                names = [one or blank[at] for at, one in enumerate(found)]
                names = distinct_columns(path.name, names, Remarks())
                exact = bool({*names} ^ {*self._names}) and not self._only
                if exact or not {*self._names} <= {*names}:
                    raise InputError(
                        f"The header of {path} is {shortened(lines[0], 43, mark='...')!r}, that of "
                        f"{self.files.paths[0]} {shortened(self._first_line, 43, mark='...')!r}: "
                        "give files with the same columns."
                    )
        self._names_in[path] = names

    def _seen(self, v: int, cells: Any, n_before: int) -> _Column:
        """Return what is known of a column after some more of its cells."""
        known, name = self._columns[v], self._names[v]
        if name in self._keys:
            return _Column("text", self._arrow.string())
        cells = with_missing(self._arrow, cells, self._how.missing)
        doubt_quotes(self._arrow, cells, name, str(self._separator), self.remarks)
        if name in self._text or known.kind == "text":
            return known._replace(kind="text", type=self._arrow.string())
        kind, typed = self._kind(cells, name)
        return self._merged(known, _Column(kind, typed), cells, n_before)

    def _kind(self, cells: Any, name: str) -> tuple[str, Any]:
        types, remarks = self._arrow.types, Remarks()
        typed = inferred(self._arrow, cells, name, self._how, str(self._separator), remarks).type
        said = bool(remarks.found([name]))
        if types.is_null(typed):
            return "null", typed
        if types.is_temporal(typed):  # 20240131 is a date if all cells are
            is_compact = str(cells.drop_null()[0]).strip().isdecimal()
            return "compact" if is_compact else "moment", typed
        if types.is_boolean(typed):
            return "bool", typed
        if types.is_string(typed):
            return "code" if said else "text", typed
        if said:
            return "written", typed
        return "int" if types.is_integer(typed) else "float", typed

    def _merged(self, known: _Column, found: _Column, cells: Any, n_before: int) -> _Column:
        """Return what a column holds that has held one thing and now another."""
        text = _Column("text", self._arrow.string(), odd=known.odd)
        if found.kind == "null":
            return known
        kept = self._witnesses(known, found, cells)
        rows = n_before + len(cells)
        if known.kind == "null" and found.kind == "text":
            texts = cells.drop_null().unique().to_pylist()
            forms = [_NUMBER, _PLAIN] if len(texts) > _CODES else []
            forms = [one for one in forms if 4 * sum(map(_unlike(one), texts)) <= len(texts)]
            return text._replace(odd=self._first_odd(known, cells, n_before, forms))
        if known.kind == "compact" and found.kind in _NUMBERS:
            return found._replace(witnesses=kept, rows=rows)
        if found.kind == "compact" and known.kind in _NUMBERS:
            return known._replace(rows=rows)
        if known.kind == "null" or known.kind == found.kind in ("moment", "compact"):
            same = known.type in (None, found.type) or known.kind == "null"
            kind = found.type if same else self._arrow.timestamp("s")
            return _Column(found.kind, kind, kept, known.odd, rows)
        if known.kind == found.kind:
            return known._replace(witnesses=kept, rows=rows)
        both = {known.kind, found.kind}
        if both == {*_NUMBERS}:
            return _Column("float", self._arrow.float64(), kept, known.odd, rows)
        if both <= {*_NUMBERS, "code"}:
            return _Column("code", self._arrow.string(), odd=known.odd, rows=rows)
        if both <= {*_NUMBERS, "written"}:
            return _Column("written", self._arrow.float64(), kept, known.odd, rows)
        if known.kind in (*_NUMBERS, "written") and found.kind == "text":
            forms = [_NUMBER] if known.kind == "written" else [_NUMBER, _PLAIN]
            odd = self._first_odd(known, cells, n_before, forms)
            return text._replace(odd=odd, rows=known.rows)
        return text

    def _witnesses(self, known: _Column, found: _Column, cells: Any) -> tuple[str, ...]:
        """Return some cells that tell how numbers or dates of a column are written."""
        if found.kind in ("text", "code"):
            return known.witnesses
        few = 20 if found.kind in _NUMBERS else _WITNESSES
        if len(known.witnesses) >= few and known.kind == found.kind != "moment":
            return known.witnesses
        some = cells.drop_null().unique().slice(0, few).to_pylist()
        return tuple(dict.fromkeys([*known.witnesses, *some]))[: 10 * _WITNESSES]

    def _first_odd(
        self, known: _Column, cells: Any, n_before: int, forms: Sequence[re.Pattern[str]]
    ) -> tuple[int, str] | None:
        """Return row and text of the first cell that is unlike numbers, by the first such form."""
        texts = cells.to_pylist()
        for is_odd in map(_unlike, forms):
            for at, cell in enumerate(texts):
                if cell is not None and is_odd(cell):
                    return n_before + at + 1, cell
        return known.odd

    def _decided(self, v: int) -> Any:
        """Return the type of a column, and remember what had to be guessed about it."""
        column, name, arrow = self._columns[v], self._names[v], self._arrow
        if column.kind == "null":
            return arrow.null()
        if column.kind == "code":
            cells = arrow.chunked_array([["1", "01"]])
            inferred(arrow, cells, name, self._how, str(self._separator), self.remarks)
        elif column.kind in ("written", "moment", "compact"):
            cells = arrow.chunked_array([list(column.witnesses)], type=arrow.string())
            typed = inferred(arrow, cells, name, self._how, str(self._separator), self.remarks)
            if arrow.types.is_string(typed.type):  # written in several ways
                self._columns[v] = column._replace(kind="text")
                return arrow.string()
        return column.type

    def _all_bytes(self) -> Iterator[bytes]:
        """Yield the files piece by piece, unpacked."""
        for path in self.files.paths:
            with self._opened(path) as file:
                yield from iter(partial(file.read, 1 << 22), b"")

    def _marked(self, path: Path) -> str | None:
        """Return the encoding that a mark at the beginning of a file names."""
        try:
            with self._opened(path) as file:
                return encoding_of_mark(file.read(4))
        except OSError as error:
            raise _cut(path, 0, error) from None

    # ---- every pass -----------------------------------------------------------------------------

    @property
    def head(self) -> Any:
        """The table without its rows."""
        arrow = self._arrow
        fields = [arrow.field(self._names[v], self._types[v]) for v in self._chosen]
        return arrow.schema(fields).empty_table()

    def _select(self, columns: Sequence[int]) -> None:
        self.row_bytes = int(self.row_bytes * len(columns) / self.n_columns)
        self._chosen = [self._chosen[v] for v in columns]

    def about(self, column: int) -> str:
        """Return where a column of numbers holds something else."""
        odd = self._columns[self._chosen[column]].odd
        if odd is None:
            return ""
        row, cell = odd
        return (
            f" It holds {shortened(cell, 43, mark='...')!r} in row {row:,} of {self.title}, and "
            "numbers elsewhere: correct that cell, or leave it empty if it means a missing one."
        )

    def written(self, step: int) -> Iterator[Any]:
        """Yield the rows as they are written: all cells text, none missing."""
        tables = (table for path in self.files.paths for table in self._texts(path))
        return in_steps(self._arrow, tables, step)

    def _pieces(self, step: int) -> Iterator[Any]:
        return in_steps(self._arrow, self._typed(), step)

    def _typed(self) -> Iterator[Any]:
        arrow, n_rows = self._arrow, 0
        names = [self._names[v] for v in self._chosen]
        schema = self.head.schema
        direct = {"int": arrow.int64(), "float": arrow.float64()}
        read = {
            self._names[v]: direct.get(self._columns[v].kind, arrow.string()) for v in self._chosen
        }
        for path in self.files.paths:
            for table in self._parsed(path, read, names):
                columns = [
                    cells
                    if self._columns[v].kind in direct or self._names[v] in self._keys
                    else self._converted(v, cells, n_rows)
                    for v, cells in zip(self._chosen, table.columns, strict=True)
                ]
                n_rows += table.num_rows
                yield arrow.Table.from_arrays(columns, schema=schema)

    def _converted(self, v: int, cells: Any, n_before: int) -> Any:
        """Return text as what the column holds; witnesses tell how it is written."""
        column, name, arrow = self._columns[v], self._names[v], self._arrow
        cells = with_missing(arrow, cells, self._how.missing)
        if column.kind in ("text", "code"):
            return cells
        if column.kind == "null" or cells.null_count == len(cells):
            return arrow.chunked_array([arrow.nulls(len(cells), self._types[v])])
        witnesses = arrow.chunked_array([list(column.witnesses)], type=arrow.string())
        together = arrow.chunked_array([*witnesses.chunks, *cells.chunks], type=arrow.string())
        typed = inferred(
            arrow,
            arrow.chunked_array([together.combine_chunks()], type=arrow.string()),
            name,
            self._how,
            str(self._separator),
            Remarks(),
        )
        if arrow.types.is_string(typed.type):
            last = n_before + len(cells)
            raise InputError(
                f"Column {name!r} of {self.title} is written in several ways: cells of the rows "
                f"{n_before + 1:,} to {last:,} do not go with {quoted(column.witnesses, 3)}. Say "
                "how numbers are written, or take the column as categories.",
                setting="decimal",
            )
        return typed.slice(len(witnesses)).cast(self._types[v])

    def _texts(self, path: Path, *, autogenerate: bool = False) -> Iterator[Any]:
        """Yield the rows of a file as tables of text, no cell missing."""
        names = None if autogenerate else self._names
        kinds = dict.fromkeys(self._names, self._arrow.string())
        return self._parsed(path, kinds, names, careful=True)

    def _parsed(
        self,
        path: Path,
        kinds: dict[str, Any],
        names: Sequence[str] | None,
        *,
        careful: bool = False,
    ) -> Iterator[Any]:
        """Yield the rows of a file as tables of some columns with these types.

        With `careful` one thread parses, so that errors name a row, and cells of text stay as they
        are; without names they are called f0, f1 and so on.
        """
        parser, arrow = require("pyarrow.csv", "CSV files", "io"), self._arrow
        wrong: list[Any] = []

        def refuse(row: Any) -> str:
            wrong.append(row)
            return "error"

        done = 0
        while True:
            reading = parser.ReadOptions(
                block_size=min(self._block, MOST_BYTES),
                use_threads=not careful,
                skip_rows=self._skip[path],
                encoding="utf8" if self._encoding == "utf-8" else self._encoding,
                autogenerate_column_names=names is None,
                column_names=None if names is None else self._names_in[path],
                skip_rows_after_names=int(self._has_header) if names is not None else 0,
            )
            parsing = parser.ParseOptions(
                delimiter=self._separator, newlines_in_values=True, invalid_row_handler=refuse
            )
            converting = parser.ConvertOptions(
                column_types=kinds,
                include_columns=None if names is None else list(names),
                strings_can_be_null=False,
                null_values=list(self._how.missing),
                decimal_point=self._how.decimal or ".",
            )
            try:
                with self._opened(path) as file:
                    skipped = 0
                    reader = parser.open_csv(
                        file,
                        read_options=reading,
                        parse_options=parsing,
                        convert_options=converting,
                    )
                    for batch in reader:
                        table = arrow.Table.from_batches([batch])
                        if skipped < done:  # read before the block was made larger
                            skip = min(done - skipped, table.num_rows)
                            skipped, table = skipped + skip, table.slice(skip)
                        if table.num_rows:
                            done += table.num_rows
                            skipped += table.num_rows
                            yield table
                return
            except (arrow.ArrowInvalid, arrow.ArrowException, UnicodeError, EOFError) as error:
                self.files.check()
                if "straddling" in str(error) and self._block < MOST_BYTES // 8:
                    self._block *= 8  # a row is longer than a block
                    continue
                raise self._sentence(path, error, wrong, done) from None
            except OSError as error:  # what a damaged gzip file leads to
                raise _cut(path, done, error) from None

    def _sentence(self, path: Path, error: Exception, wrong: list[Any], done: int) -> Exception:
        text = str(error)
        if "UTF8" in text or isinstance(error, UnicodeError):
            return wrong_encoding(path.name, self._encoding)
        if wrong:
            return wrong_row(path.name, wrong[0], str(self._separator), self._first_line)
        reason = first_line(error)
        if "Empty CSV" in reason:
            reason = why_empty(self._first_line)
        if "straddling" in reason:
            reason = "a row does not end; is there a single quote?"
        where = f" behind row {done:,}" if done else ""
        return InputError(
            f"{path} cannot be read as CSV{where} ({reason}): check it, or give the separator.",
            setting="sep",
        )

    @contextmanager
    def _opened(self, path: Path) -> Iterator[Any]:
        """Open a file of text, unpacked if it is compressed by gzip."""
        with self._arrow.OSFile(str(path)) as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            if not packed:
                yield raw
                return
            with self._arrow.CompressedInputStream(raw, "gzip") as file:
                yield file


def _cut(path: Path, n_rows: int, error: OSError) -> InputError:
    where = f" behind row {n_rows:,}" if n_rows else ""
    return InputError(
        f"{path} cannot be read{where} ({first_line(error)}): it may be cut short; make it again."
    )
