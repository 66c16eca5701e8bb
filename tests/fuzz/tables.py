"""Random tables, odd and damaged, through the reader and through the command line.

Whatever a file holds, the reader returns a table or raises InputError with a sentence, and the
command line ends with 0, 1 or 2 and a sentence, never with a traceback or a request to report an
error. No row is lost without a word.
"""

import csv
import gzip
import io
import json
import warnings
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from click.testing import CliRunner

from fwkmeans._support.errors import InputError
from fwkmeans._tabular.format import Format, Style
from fwkmeans._tabular.reading import read_table
from fwkmeans.cli import main

NAMES = ("a", "b", "größe", "", " ", "x y", "a,b", 'q"q', "two\nlines", "r\r\nn", "c\rr", "=1+2")
NAMES += ("1", "2.5", "id", "class", "\ufeffm", "\x0b", "name" * 50, "\u202e", "__index_level_0__")
CELLS = ("", "NA", "?", "1", "-1", "0", "007", "1.5", "1,5", "1,234", "45%", "1e9", "-999", "9999")
CELLS += ("1e400", "inf", "-inf", "nan", "99999999999999999999", "true", "False", "x", "y", "größe")
CELLS += ("2020-01-01", "10:30", "2020-01-01 10:30", " 3 ", "=1+2", "@x", "a;b", "a\tb", "\u2028")
CELLS += ("a\rb", "\r", "x\r=1+1", "\r\n", "\n=1", "＝1", ";=1")
CELLS += ("two\nlines", 'q"q', "\x1b[2J", "x" * 200, "'", "#DIV/0!", "0x1F", "1_000", "١٢")
ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-32")


def one_case(rng, folder):
    kind = rng.choice(["csv", "csv", "csv", "gz", "xlsx", "parquet", "feather", "stream"])
    rows = _rows(rng)
    path = folder / f"t.{kind}"
    content, how = _written(rng, kind, rows)
    damaged = rng.random() < (0.4 if kind in ("csv", "xlsx") else 0.8)
    path.write_bytes(_damaged(rng, content) if damaged else content)
    table, style = None, Style()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table, remarks = read_table(str(path), how)
            style = remarks.style
        except InputError:
            pass
        else:
            table.validate(full=True)
            cells = [column.to_pylist() for column in table.columns if _has_plain(column)]
            assert all(len(own) == table.num_rows for own in cells)
            if not damaged:
                expected = len(rows)
                if kind == "xlsx":  # where empty rows are no rows
                    expected = sum(any(map(_cleaned, row)) for row in rows)
                if not any("looks like data" in one.text for one in remarks.found()):
                    expected -= 1
                found = table.num_rows
                assert found == expected, f"{expected} rows were written, {found} read"
    _through_the_command(rng, path, how, table, style)


def _rows(rng):
    """Return a header and rows of text; most columns hold one kind of cell."""
    width, n_rows = int(rng.integers(1, 7)), int(rng.integers(0, 40))
    plain = rng.random() < 0.7
    header = [f"c{v}" for v in range(width)]
    if not plain:
        header = [str(rng.choice(NAMES)) for _ in range(width)]
    columns = []
    for _ in range(width):
        few = rng.choice(CELLS, size=int(rng.integers(1, 5)))
        odd = rng.random(n_rows) < rng.choice([0, 0, 0.1])
        own = [f"{x:.3f}" for x in rng.normal(size=n_rows)]
        if rng.random() < 0.5:
            own = [str(rng.choice(few)) for _ in range(n_rows)]
        columns.append([str(rng.choice(CELLS)) if o else c for o, c in zip(odd, own, strict=True)])
    return [header, *map(list, zip(*columns, strict=True))]


def _written(rng, kind, rows):
    """Return a table as bytes of a file, and how to read it."""
    if kind in ("csv", "gz"):
        sep = str(rng.choice([",", ";", "\t", "|"]))
        encoding = str(rng.choice(ENCODINGS))
        stream = io.StringIO()
        quoting = int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        end = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
        for row in rows:
            line = io.StringIO()  # ended by both, so that either is quoted in a cell
            csv.writer(line, delimiter=sep, quoting=quoting, lineterminator="\r\n").writerow(row)
            stream.write(line.getvalue().removesuffix("\r\n") + end)
        data = stream.getvalue().encode(encoding, "replace")
        if encoding.startswith("utf-8") and rng.random() < 0.1:
            data = b"\xef\xbb\xbf" * int(rng.integers(1, 3)) + data
        told = rng.random() < 0.9
        how = Format(sep=sep, encoding=encoding) if told else Format()
        return (gzip.compress(data) if kind == "gz" else data), how
    stream = io.BytesIO()
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            cells = [_cleaned(cell) for cell in row]
            book.active.append([_number(cell) if rng.random() < 0.8 else cell for cell in cells])
        book.save(stream)
        return _with_wrong_size(rng, stream.getvalue()), Format()
    names = [f"{v}{name}" for v, name in enumerate(rows[0])]
    columns = [_typed(rng, list(own)) for own in zip(*rows[1:], strict=True)] or [pa.nulls(0)]
    table = pa.table(columns, names=names[: len(columns)])
    if kind == "parquet":
        compression = str(rng.choice(["none", "snappy", "zstd"]))
        pyarrow.parquet.write_table(table, stream, compression=compression)
    elif kind == "feather":
        compression = str(rng.choice(["uncompressed", "zstd", "lz4"]))
        pyarrow.feather.write_feather(table, stream, compression=compression)
    else:
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    return stream.getvalue(), Format()


def _cleaned(cell):
    """Return text as a sheet may hold it; formulas have no value until computed."""
    return openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("", cell).lstrip("=")


def _number(cell):
    try:
        value = float(cell)
    except ValueError:
        return cell
    return value if np.isfinite(value) else cell


def _typed(rng, cells):
    """Return a column of one of many types."""
    numbers = [_number(cell) for cell in cells]
    if all(isinstance(one, float) for one in numbers):
        small = [int(min(max(one, -100), 100)) for one in numbers]
        kinds = (pa.float64(), pa.float32(), pa.int8(), pa.int64(), pa.date32(), pa.bool_())
        kind = kinds[int(rng.integers(len(kinds)))]
        if kind == pa.date32():
            return pa.array(small, pa.int32()).cast(kind)
        if kind == pa.bool_():
            return pa.array([one > 0 for one in small])
        return pa.array(small if pa.types.is_integer(kind) else numbers).cast(kind, safe=False)
    texts = pa.array([cell or None for cell in cells], pa.string())
    kinds = (pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string()))
    kind = kinds[int(rng.integers(len(kinds)))]
    return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)


def _with_wrong_size(rng, content):
    """Return a workbook that says that its sheet has two rows or none at all."""
    says = bytes(rng.choice([b'<dimension ref="A1:B2"/>', b""]))
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            begin = data.find(b"<dimension ")
            if begin >= 0:
                data = data[:begin] + says + data[data.find(b"/>", begin) + 2 :]
            new.writestr(name, data)
    return stream.getvalue()


def _damaged(rng, content):
    """Return bytes of which some are changed, lost or repeated."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            break
        at = int(rng.integers(len(data)))
        match int(rng.integers(5)):
            case 0 | 1:
                data[at] ^= 1 << int(rng.integers(8))
            case 2:
                data[at] = int(rng.choice([0, 10, 13, 34, 44, 255]))
            case 3:
                del data[at : at + int(rng.integers(1, 9))]
            case 4:
                del data[at:]
    return bytes(data)


def _has_plain(column):
    return not pa.types.is_temporal(column.type)


def _through_the_command(rng, path, how, table, style):
    """Run a command on the file; `table` is what the reader made of it, if anything.

    What the command writes looks like the file: it has the same separator.
    """
    command = str(rng.choice(["fit", "fit", "compare"]))
    arguments = [command, str(path), "-k", "2", "-a", "K-Means", "--starts", "1", "--jobs", "1"]
    if how.sep is not None:
        arguments += ["--sep", how.sep, "--encoding", how.encoding]
    if table is not None:
        for option in ("--id", "--labels", "--numeric", "--categorical", "--drop"):
            if rng.random() < 0.2:
                arguments += [option, str(rng.choice(table.column_names))]
    out = path.with_suffix(".out.csv")
    arguments += ["--json", "--out", str(out)]
    result = CliRunner().invoke(main, arguments)
    told = result.output
    assert result.exit_code in (0, 1, 2), f"exit code {result.exit_code}: {told}"
    assert "please report" not in told, told
    assert "Traceback" not in told, told
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code:
        assert result.stderr.startswith(("Error: ", "Usage: ")), told
        assert not out.exists(), "there is a result beside an error"
        return
    assert json.loads(result.stdout)["n_rows"] == table.num_rows, "rows were lost"
    with out.open(newline="", encoding="utf-8-sig") as stream:
        written = list(csv.reader(stream, delimiter=style.separator))
    assert len(written) == table.num_rows + 1, "rows were not written"
    assert {len(row) for row in written} == {len(written[0])}, "rows have other columns"
